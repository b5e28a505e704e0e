"""Loops that are compiled once they have run long: the same bits as the machine's, whatever the steps do."""

import ctypes
import gc
import os
import signal
import threading
import time
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape.kernels.codes import SCALARS
from tape.kernels.loading import native
from tape.program.hot import compiling
from tape.program.hot.loops import count_of, entries_of, text_of
from tape.program.native.opcodes import ARENA, FIELDS, SLOTS, WIDTH, opcode, packed
from tests.test_loop_instructions import routines
from tests.tiers import rounds, takes_long

NUMBERS, COUNTS, FLAGS = 3, 4, 5
SHARED = 32  # bytes of the arena
WHERE = {"f": (NUMBERS, 8), "i": (COUNTS, 8), "b": (FLAGS, 1)}
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e300, -1e-310, 709.9, 0.3]
LOOP, LEFT, COMPILED = opcode("loop"), *(1 + FIELDS["loop"].index(field) for field in ("left", "compiled"))


# ---- entries --------------------------------------------------------------------------------------------


@st.composite
def entries(draw):
    """Scalar code on numbers of each type, and on a few bytes of the arena that all types share.

    What is read of these has been written as the same type: the sign of NaN is not determined.
    """
    held = {}  # the type of what has been written to the arena, by its first byte

    def read(letter):
        slot, size = WHERE[letter]
        places = [packed(slot, size * k) for k in range(4)]
        places += [packed(ARENA, offset) for offset, other in held.items() if other == letter]
        places += (
            [packed(ARENA, SHARED + 8 * k) for k in range(2)] if letter == "f" else []
        )  # of floats alone
        return draw(st.sampled_from(places))

    def written(letter):
        slot, size = WHERE[letter]
        if draw(st.booleans()):
            return packed(slot, size * draw(st.integers(0, 3)))
        offset = size * draw(st.integers(0, (SHARED + 16 * (letter == "f")) // size - 1))
        for other in [x for x in held if x < offset + size and offset < x + WHERE[held[x]][1]]:
            del held[other]
        held[offset] = letter
        return packed(ARENA, offset)

    made = []
    for _ in range(draw(st.integers(1, 25))):
        name, signature = draw(st.sampled_from(sorted(SCALARS)))
        given, _, out = signature.partition("->")
        operands = [read(letter) for letter in given]
        x, y = operands[0], operands[-1]
        end = read("f") if name == "multiply_add" else written(out) if out else x
        made.append([SCALARS[name, signature], x, y, end])
    return made


class Memory:
    """A frame, and what its slots are."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.numbers = rng.choice(SPECIAL, 4)
        self.counts = rng.choice([0, 1, -1, 7, -(2**63), 2**63 - 1], 4)
        self.flags = rng.choice([0, 1, 255], 4).astype(np.uint8)
        self.arena = rng.choice(SPECIAL, SHARED // 8 + 2)
        self.frame = np.zeros(SLOTS + 6, np.int64)
        self.frame[0] = rng.integers(2)
        for slot, array in ((ARENA, self.arena), (3, self.numbers), (4, self.counts), (5, self.flags)):
            self.frame[SLOTS + slot] = array.ctypes.data

    def contents(self):
        return [
            np.where(np.isnan(self.numbers), np.nan, self.numbers).tobytes(),
            self.counts.tolist(),
            self.flags.tolist(),
        ]


_run = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(native().addresses["scalars"])


def steps_of(rows, made):
    code = compiling.compiled(text_of(rows, made))
    return code, ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(code.address("steps"))


NO_STATES = [[LOOP, *[0] * (WIDTH - 1)]]


@settings(max_examples=rounds(60))
@given(entries(), st.integers(0, 2**16), st.integers(1, 3))
def test_entries_do_what_the_machine_does(made, seed, count):
    expected, found = Memory(seed), Memory(seed)
    table = np.array(made, np.int64)
    for _ in range(count):
        _run(expected.frame.ctypes.data, table.ctypes.data, len(made))
    engine, steps = steps_of(NO_STATES, made)
    assert steps(found.frame.ctypes.data, count, 0) == count
    assert found.contents() == expected.contents(), engine


@pytest.mark.parametrize("key", sorted(SCALARS), ids=" ".join)
def test_each_operation_does_what_the_machine_does(key):
    given, _, out = key[1].partition("->")
    (x, y), end = (WHERE[letter][0] for letter in (given * 2)[:2]), WHERE[out or "b"][0]
    made = [[SCALARS[key], packed(x, 0), packed(y, WHERE[given[0]][1] * (len(given) - 1)), packed(end, 0)]]
    if key[0] == "condition":
        made.append([SCALARS["where", "ff->f"], packed(NUMBERS, 0), packed(NUMBERS, 8), packed(NUMBERS, 16)])
    _, steps = steps_of(NO_STATES, made)
    table = np.array(made, np.int64)
    for seed in range(60):
        expected, found = Memory(seed), Memory(seed)
        _run(expected.frame.ctypes.data, table.ctypes.data, len(made))
        steps(found.frame.ctypes.data, 1, 1)
        assert found.contents() == expected.contents()


# ---- loops ------------------------------------------------------------------------------------------------


def running(x):
    """States that are overwritten, and what is collected of them."""

    def step(state, x):
        total, best = state
        total = total * 0.9 + x
        return (total, np.maximum(best, total)), total * best

    (total, best), products = tape.scan(step, (x[0], x[0]), x)
    return total - best + np.sum(np.sin(products))


def fibonacci(x):
    """A state that takes the place of another."""

    def step(_, pair):
        a, b = pair
        return b, np.tanh(a + b * x[1])

    return tape.fori_loop(0, len(x), step, (x[0], x[-1]))[1]


def halving(x):
    """It ends by what it computes; an int and a bool are among its states."""

    def step(state):
        value, count, is_odd = state
        return np.where(is_odd, value * 0.5, value - 0.1), count + 1, ~is_odd

    def goes_on(state):
        return (np.abs(state[0]) > 0.01) & (state[1] < 5 * len(x))

    value, count, is_odd = tape.while_loop(goes_on, step, (x[0], 0, False))
    return value * x[1] + count + is_odd


def nested(x):
    def outer(total, a):
        def inner(total, b):
            return total + np.cos(a * b), None

        return tape.scan(inner, total, x)[0], total

    total, before = tape.scan(outer, x[0], x[::-1])
    return total + np.sum(before)


FUNCTIONS = [running, fibonacci, halving, nested]
DERIVED = [tape.value_and_grad, lambda f: lambda x: tape.jvp(f, (x,), (np.cos(x),))]


def loops_of(program):
    """The rows of all loops, in all bodies."""
    for routine in routines(program):
        table = routine.running[: routine.rows * WIDTH].reshape(-1, WIDTH)
        yield from (row for row in table if row[0] == LOOP)


def program_of(f):
    (program,) = f.programs.values()
    return program


def leaves(result):
    return [np.asarray(leaf).tobytes() for leaf in tape.tree.leaves(result)]


@takes_long
@pytest.mark.parametrize("size", [2, 3, 4, 5, 9, 40])
@pytest.mark.parametrize("of", DERIVED, ids=["reverse", "forward"])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_compiled_steps_change_no_bit(f, of, size):
    """Wherever the loop is when they are compiled: its steps are counted over runs."""
    inputs = [np.random.default_rng(seed).uniform(-2, 2, size) for seed in range(8)]
    with (
        patch.object(compiling, "watched", lambda *_: set()),
        patch("tape.program.runtime.routine.watched", lambda *_: set()),
    ):
        plain = tape.compile(of(f))
        expected = [leaves(plain(x)) for x in inputs]
    for after in (1, 2, 3, size, 2 * size + 1):
        with patch.object(compiling, "steps_before", lambda _, after=after: after):
            compiled = tape.compile(of(f))
            assert [leaves(compiled(x)) for x in inputs] == expected
            rows = [row for row in loops_of(program_of(compiled)) if row[COMPILED]]
            assert rows or size == 2


def test_a_loop_is_compiled_once_its_steps_are_worth_it():
    with patch.object(compiling, "steps_before", lambda _: 100):
        f, x, seen = tape.compile(running), np.linspace(0, 1, 30), []
        for _ in range(6):
            f(x)
            (row,) = loops_of(program_of(f))
            seen.append((int(row[LEFT]), bool(row[COMPILED])))
    assert seen == [(70, False), (40, False), (10, False), (0, True), (0, True), (0, True)]


def test_what_takes_long_to_compile_waits_longer():
    def steps_before(count):
        code = np.zeros(WIDTH, np.int64)
        code[:2] = opcode("scalars"), count
        return compiling.steps_before(SimpleNamespace(code=code, rows=1))

    times = [count * steps_before(count) for count in (1, 10, 100, 1000)]
    assert times == sorted(times)
    assert steps_before(10**6) == 0


def test_a_loop_of_arrays_is_never_compiled():
    def f(x):
        return np.sum(tape.scan(lambda total, x: (total @ total + x, None), np.eye(3), x)[0])

    with patch.object(compiling, "steps_before", lambda _: 1):
        compiled = tape.compile(f)
        for _ in range(3):
            compiled(np.ones((9, 3, 3)))
    assert [(row[LEFT], row[COMPILED]) for row in loops_of(program_of(compiled))] == [(0, 0)]


def test_threads_may_run_a_loop_while_it_is_compiled():
    x = np.linspace(-1, 1, 200)
    expected = leaves(tape.value_and_grad(running)(x))
    with patch.object(compiling, "steps_before", lambda _: 500):
        compiled = tape.compile(tape.value_and_grad(running))
        compiled(x)
        found = []

        def work():
            found.extend([leaves(compiled(x)) for _ in range(40)])

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for one, other in zip(found[0], expected, strict=True):
        np.testing.assert_allclose(np.frombuffer(one), np.frombuffer(other), rtol=1e-12)
    assert len(found) == 160
    assert all(one == found[0] for one in found)


@takes_long
def test_code_goes_with_its_program():
    with patch.object(compiling, "steps_before", lambda _: 1):
        for seed in range(5):
            compiled = tape.compile(tape.value_and_grad(running))
            result = [leaves(compiled(np.arange(9.0) + seed)) for _ in range(3)]
            assert result[1] == result[2]
            del compiled
            gc.collect()


def test_rows_that_are_no_scalar_code_have_no_entries():
    code = np.zeros(2 * WIDTH, np.int64)
    code[0], code[WIDTH] = opcode("scalar"), opcode("guard")
    assert entries_of(code, 1) == [[0, 0, 0, 0]]
    assert [count_of(code, rows) for rows in range(3)] == [0, 1, 0]


def test_the_environment_can_leave_loops_as_they_are(monkeypatch):
    monkeypatch.setenv("TAPE_HOT_LOOPS", "0")
    f, x = tape.compile(running), np.linspace(0, 1, 9)
    f(x), f(x)
    (row,) = loops_of(program_of(f))
    assert (row[LEFT], row[COMPILED]) == (0, 0)


def test_reports_say_which_loops_are_compiled():
    with patch.object(compiling, "steps_before", lambda _: 1):
        f, x = tape.compile(running), np.linspace(0, 1, 50)
        with patch.object(compiling, "compiled", side_effect=RuntimeError):
            f(x)
        assert ", compiled" not in str(program_of(f).explain())
        f = tape.compile(running)
        f(x)
    assert ", compiled" in str(program_of(f).explain())


def test_a_profile_tells_what_takes_how_much_of_a_compiled_step():
    with patch.object(compiling, "steps_before", lambda _: 1):
        f, x = tape.compile(nested), np.linspace(0, 1, 50)
        for _ in range(3):
            f(x)
    program = program_of(f)
    kept = [int(row[COMPILED]) for row in loops_of(program)]
    assert sum(map(bool, kept)) == 1
    assert sum(timing.seconds for timing in program.profile(x).timings) > 0
    assert [int(row[COMPILED]) for row in loops_of(program)] == kept
    assert leaves(f(x)) == leaves(program(x))


def test_a_loop_whose_code_cannot_be_made_runs_on():
    def fails(text, **_):
        raise RuntimeError("no memory for code")

    with patch.object(compiling, "steps_before", lambda _: 1), patch.object(compiling, "compiled", fails):
        compiled = tape.compile(running)
        x = np.linspace(0, 1, 9)
        results = [leaves(compiled(x)) for _ in range(4)]
    assert all(result == results[0] for result in results)


def test_ctrl_c_while_a_loop_is_compiled_leaves_it_for_another_time():
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    x = np.linspace(0, 1, 9)
    with patch.object(compiling, "steps_before", lambda _: 1):
        f = tape.compile(running)
        with patch.object(compiling, "compiled", interrupted), pytest.raises(KeyboardInterrupt):
            f(x)
        results = [leaves(f(x)) for _ in range(3)]
    (row,) = loops_of(program_of(f))
    assert row[COMPILED]
    assert all(result == results[0] for result in results)


def test_programs_are_made_while_a_loop_is_compiled():
    """By another thread, a signal handler, or a process that is forked meanwhile: nothing waits for ever."""
    x, made = np.linspace(0, 1, 9), []

    def compile_something(text, **settings):
        other = tape.compile(lambda x: np.sum(np.sin(x)))
        made.append([other(x), other(x)])
        return compile_text(text, **settings)

    compile_text = compiling.compiled
    with patch.object(compiling, "steps_before", lambda _: 1):
        f = tape.compile(running)
        with patch.object(compiling, "compiled", compile_something):
            thread = threading.Thread(target=f, args=(x,), daemon=True)
            thread.start()
            thread.join(60)
    assert not thread.is_alive()
    assert len(made) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_process_that_is_forked_while_a_loop_is_compiled_compiles_its_own():
    x = np.linspace(0, 1, 9)
    with patch.object(compiling, "steps_before", lambda _: 12):  # in the second call
        f, other = tape.compile(running), tape.compile(fibonacci)
        f(x), other(x)
        assert not any(row[COMPILED] for g in (f, other) for row in loops_of(program_of(g)))
        thread = threading.Thread(target=lambda: [f(x) for _ in range(3)])
        thread.start()
        pid = os.fork()
        if not pid:
            os._exit(0 if leaves(other(x)) == leaves(other(x)) else 1)
        thread.join()
        begin = time.monotonic()
        while (ended := os.waitpid(pid, os.WNOHANG)) == (0, 0) and time.monotonic() < begin + 60:
            time.sleep(0.01)
        if ended == (0, 0):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    assert ended == (pid, 0)
