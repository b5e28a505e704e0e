"""Loops in programs: IR, machine, files, listings, against eager code and a naive interpreter."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import tape
from tape import errors, tree
from tape.program.ir.builder import Builder
from tape.program.ir.check import check
from tape.program.ir.instructions import Instruction
from tape.program.ir.loops import ALIGNMENT, Block, all_ir
from tape.program.native.opcodes import (
    FIELDS,
    WIDTH,
    opcode,
)
from tape.program.runtime import pauses
from tests import naive_program
from tests.naive_loops import CASES, TAPE, WHILES
from tests.test_loops import UNROLLED, assert_alike, data, loss_of
from tests.tiers import grid, rounds, some, takes_long

X, W = data(5)
LOOPED = [case for case in CASES if case.__name__ not in UNROLLED]
SAVED = [case for case in LOOPED if case.__name__ != "other_dtypes"]  # of which argmin runs in Python


def program_of(f, *args):
    return naive_program.program_of(f, *args)


def leaves_of(*args):
    return [np.asarray(leaf) for leaf in tree.flatten(args)[0]]


def gradient(case):
    return tape.grad(loss_of(case, TAPE), (0, 1))


# ---- IR and machine ------------------------------------------------------------------------------------


@grid(
    ids=lambda value: getattr(value, "__name__", str(value)), case=LOOPED, kind=["value", "gradient", "jvp"]
)
def test_the_machine_equals_the_interpreter_of_ir(case, kind):
    f = {
        "value": lambda x, w: case(TAPE, x, w),
        "gradient": gradient(case),
        "jvp": lambda x, w: tape.jvp(loss_of(case, TAPE), (x, w), (w * x, w)),
    }[kind]
    program = program_of(f, X, W)
    for seed in range(2):
        x, w = data(5, seed)
        computed = [k for k, out in enumerate(program.known) if out is None]
        found = leaves_of(program(x, w))
        for k, expected in zip(computed, naive_program.run(program.ir, [x, w]), strict=True):
            np.testing.assert_allclose(found[k], expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("case", LOOPED, ids=lambda case: case.__name__)
def test_ir_of_loops_passes_the_check(case):
    program = program_of(gradient(case), X, W)
    for ir in all_ir(program.ir):
        check(ir)
    for routine in routines(program):
        assert all(np.diff([0, *routine.origins]) >= 0)


def routines(routine):
    return [routine, *[one for body in routine.bodies for one in routines(body)]]


def loops_of(program):
    return [i.attrs[0] for ir in all_ir(program.ir) for i in ir.instructions if i.op == "loop"]


def _without_operand(loop):
    loop.operands = loop.operands[1:]


def _with_attrs(make):
    def tamper(instruction):
        instruction.attrs = make(*instruction.attrs)

    return tamper


WRONG_LOOPS = {
    "no attribute": _with_attrs(lambda loop: ()),
    "two": _with_attrs(lambda loop: (loop, loop)),
    "a number": _with_attrs(lambda loop: (5,)),
    "a negative length": _with_attrs(lambda loop: (replace(loop, length=-1),)),
    "another length": _with_attrs(lambda loop: (replace(loop, length=loop.length + 1),)),
    "a length that no memory has": _with_attrs(lambda loop: (replace(loop, length=2**60),)),
    "a constant less": _with_attrs(lambda loop: (replace(loop, constants=loop.constants - 1),)),
    "a constant more": _with_attrs(lambda loop: (replace(loop, constants=loop.constants + 1),)),
    "negative constants": _with_attrs(lambda loop: (replace(loop, constants=-1),)),
    "a state less": _with_attrs(lambda loop: (replace(loop, states=loop.states - 1),)),
    "more states": _with_attrs(lambda loop: (replace(loop, states=9),)),
    "negative states": _with_attrs(lambda loop: (replace(loop, states=-1),)),
    "an operand less": _without_operand,
}


@pytest.mark.parametrize("name", WRONG_LOOPS)
@pytest.mark.parametrize("reverse", [False, True])
def test_loops_that_do_not_fit_their_body_are_refused(name, reverse):
    def f(x, w):
        return tape.scan(lambda c, x: (np.tanh(c * w + x[:2]), c[0]), w * 2, x, reverse=reverse)

    program = program_of(f, X, W[:2])
    check(program.ir)
    (loop,) = [i for i in program.ir.instructions if i.op == "loop"]
    WRONG_LOOPS[name](loop)
    with pytest.raises(errors.ProgramError):
        check(program.ir)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"length": 2**30}, "its results are too large"),
        ({"ends_by": "flag"}, "its first state does not say whether there is a next step"),
        ({"ends_by": "flag", "states": 0}, "its first state does not say whether there is a next step"),
        ({"ends_by": "count"}, "its number of steps is float64"),
    ],
)
def test_loops_say_how_long_they_are_and_collect_what_fits_into_memory(changes, reason):
    program = program_of(lambda x: tape.scan(lambda c, _: (np.sin(c), c * 2), x, None, length=5), X)
    check(program.ir)
    (instruction,) = [i for i in program.ir.instructions if i.op == "loop"]
    instruction.attrs = (replace(instruction.attrs[0], **changes),)
    with pytest.raises(errors.ProgramError, match=reason):
        check(program.ir)


@pytest.mark.parametrize(
    ("attrs", "changes"),
    [
        ((), {}), ((0, 0), {}), (("0",), {}), ((True,), {}), ((-64,), {}), ((1,), {}), ((32,), {}),
        ((64,), {"shape": (9,)}), ((2**40,), {}), ((0,), {"shape": (2**40,)}),
        ((0,), {"operands": (0,)}), ((0,), {"operands": (1,)}),
    ],
)  # fmt: skip
def test_parts_lie_in_a_block_of_bytes_at_what_they_are_aligned_to(attrs, changes):
    b = Builder()
    number, bytes = b.input((), np.dtype(float)), b.input((2, 64), np.dtype(np.uint8))
    block = b.input((128,), np.dtype(np.uint8))
    for offset, size in ((0, 16), (64, 8), (0, 1), (64, 0)):
        b.ir.instructions.append(Instruction("part", (block.id,), (offset,), (size,), np.dtype(float)))
    check(b.ir)
    fields = {"operands": (block.id,), "shape": (1,), "dtype": np.dtype(float), **changes}
    b.ir.instructions.append(Instruction(op="part", attrs=attrs, **fields))
    assert (number.id, bytes.id) == (0, 1)
    with pytest.raises(errors.ProgramError, match="part"):
        check(b.ir)


def test_results_that_nothing_uses_are_not_computed():
    def f(x, w):
        (a, _), (_, _, zs) = tape.scan(
            lambda c, x: ((np.tanh(c[0] * x), c[1] + np.exp(x)), (c[0], np.log(np.abs(x)), c[0] * w)),
            (w, w),
            x,
        )
        return a, zs

    (loop,) = loops_of(program_of(f, X, W))
    kinds = {instruction.op for instruction in loop.body.instructions}
    assert (loop.states, len(loop.outputs)) == (1, 2)
    assert not kinds & {"exp", "log", "absolute"}


def test_a_state_that_only_feeds_itself_is_dropped():
    def f(x, w):
        return tape.scan(lambda c, x: ((c[0] + x, np.sin(c[1])), None), (w, w), x)[0][0]

    (loop,) = loops_of(program_of(f, X, W))
    assert (loop.states, loop.constants, len(loop.body.inputs)) == (1, 0, 2)


def test_what_is_used_at_several_depths_is_pruned_at_all():
    def f(x, w):
        def outer(c, row):
            (d, _), ys = tape.scan(lambda d, e: ((d[0] * e, np.exp(d[1])), np.cos(e)), (c, c), row)
            return d, (ys, np.sin(d))

        return tape.scan(outer, w, x)[0]

    outer, inner = loops_of(program_of(f, X, W))
    assert (outer.states, len(outer.outputs)) == (inner.states, len(inner.outputs)) == (1, 1)


@pytest.mark.parametrize(
    ("results", "count"),
    [
        (lambda c, after: (), 0),
        (lambda c, after: (c[0],), 1),
        (lambda c, after: (after[0],), 1),
        (lambda c, after: (c[0], c[0]), 1),
        (lambda c, after: (c[1], c[0]), 2),
        (lambda c, after: (after[0], c[1]), 2),
        (lambda c, after: (after[0], after[1]), 2),
        (lambda c, after: (c[0] * 2.0, after[1]), 1),
    ],
)
@pytest.mark.parametrize("is_one", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_states_that_are_collected_are_written_where_they_are_collected(results, count, is_one, reverse):
    """Each of them once; the same numbers in two states are two."""

    def f(x, w):
        def step(c, x):
            after = np.tanh(c[0] * x), np.sin(c[1] + x)
            after = (after[0], after[0]) if is_one else after
            return after, results(c, after)

        return tape.scan(step, (w, w * 0.5), x, reverse=reverse)

    program = program_of(f, X, W)
    assert_alike(program(X, W), f(X, W))
    kinds = program.code[: program.rows * WIDTH : WIDTH].tolist()
    assert kinds.count(opcode("collected_state")) == count


def test_blocks_lie_apart_and_aligned():
    block = Block(
        [((3,), np.dtype("f4")), ((), np.dtype("?")), ((0, 2), np.dtype("f8")), ((9,), np.dtype("f8"))]
    )
    ends = [part.offset + part.size for part in block.parts]
    assert all(part.offset % ALIGNMENT == 0 for part in block.parts)
    assert all(end <= after.offset for end, after in zip(ends, block.parts[1:], strict=False))
    assert block.size >= max(ends)
    assert [part.size for part in block.parts] == [12, 1, 0, 72]


@pytest.mark.parametrize("case", some(LOOPED, every=5), ids=lambda case: case.__name__)
@pytest.mark.parametrize("threads", ["1", "3"])
def test_stopping_in_a_loop_changes_no_number(monkeypatch, case, threads):
    """In every step, and in the middle of what is in it."""
    expected = gradient(case)(X, W)
    monkeypatch.setenv("TAPE_NUM_THREADS", threads)
    monkeypatch.setattr(pauses, "BETWEEN", 10.0)
    compiled = tape.compile(gradient(case))
    compiled(X, W)
    (program,) = compiled.programs.values()
    portions = [
        routine.code[at * WIDTH + 1 + FIELDS["loop"].index("portion")]
        for routine in routines(program)
        for at in range(routine.rows)
        if routine.code[at * WIDTH] == opcode("loop")
    ]
    assert min(portions) == 1
    for _ in range(3):
        assert_alike(compiled(X, W), expected, 1e-5)


def test_constants_and_literals_of_bodies_are_their_own():
    a, b = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 2.0])

    def f(x, w):
        def step(c, x):
            table = np.array([0.25, 0.5, 0.75])
            return c * a * table + 0.125 * x, tape.scan(lambda d, e: (d + e * b * 0.375, None), c, x)[0]

        return tape.scan(step, w, x)

    program = program_of(f, X, W)
    assert_alike(program(X, W), f(X, W))
    a *= 2
    b += 1
    assert_alike(program(X, W), f(X, W))


def test_donated_arguments_are_carried():
    f = tape.compile(lambda w, x: tape.scan(lambda c, x: (c * 0.5 + x, None), w, x)[0], donate=0)
    w = W.copy()
    for _ in range(4):
        expected = tape.scan(lambda c, x: (c * 0.5 + x, None), w.copy(), X)[0]
        w = f(w, X)
        assert_alike(w, expected)


def test_a_guard_on_a_loop_has_two_paths():
    def f(x, w):
        c, ys = tape.scan(lambda c, x: (np.sin(c + x), c), w, x)
        return tape.scan(lambda d, y: (d * y, None), c, ys)[0] if np.sum(c) > 0 else np.sum(ys)

    compiled = tape.compile(f)
    for seed in range(8):
        x, w = data(3, seed)
        assert_alike(compiled(x, w), f(x, w))
    assert len(compiled.programs) == 2


@pytest.mark.parametrize("n", [1, 1000])
def test_large_arrays_in_loops(n):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(3, 40 * n)), rng.normal(size=40 * n)

    def f(x, w):
        return tape.scan(lambda c, x: (np.tanh(c * x) + w, np.exp(-c * c)), w, x)

    assert_alike(program_of(f, x, w)(x, w), f(x, w))


def test_long_loops_run_as_a_program_while_they_are_recorded():
    x, w = data(3000)
    f = tape.value_and_grad(loss_of(CASES[0], TAPE), (0, 1))
    start = time.perf_counter()
    first = tape.compile(f)(x, w)
    assert time.perf_counter() - start < 5  # 0.1 s; a step in Python takes 50 us
    assert_alike(first, f(x, w))


# ---- files ---------------------------------------------------------------------------------------------


@grid(ids=lambda value: getattr(value, "__name__", str(value)), case=SAVED, is_gradient=[False, True])
def test_saved_loops_give_the_same_numbers(tmp_path, case, is_gradient):
    f = gradient(case) if is_gradient else lambda x, w: case(TAPE, x, w)
    program = program_of(f, X, W)
    program.save(tmp_path / "loop.tape")
    loaded = tape.load(tmp_path / "loop.tape")
    for seed in range(2):
        x, w = data(5, seed)
        found, expected = leaves_of(loaded(x, w)), leaves_of(program(x, w))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
    assert [len(each) for each in routines(loaded)] == [len(each) for each in routines(program)]


def test_loops_with_callbacks_cannot_be_saved(tmp_path):
    doubled = tape.Op(lambda x: 2 * x, name="doubled", vjp=[lambda g, out, x: 2 * g], data_dependent=False)
    program = program_of(lambda x: tape.map(doubled, x), X)
    with pytest.raises(errors.UnsupportedError, match="doubled"):
        program.save(tmp_path / "loop.tape")
    assert not (tmp_path / "loop.tape").exists()


# ---- listings ------------------------------------------------------------------------------------------


@takes_long
@pytest.mark.parametrize("case", LOOPED, ids=lambda case: case.__name__)
def test_programs_with_loops_are_described(case):
    program = program_of(gradient(case), X, W)
    text = str(program)
    assert "loop(" in text
    explained = program.explain()
    assert "loops" in str(explained)
    profile = program.profile(X, W, repeats=1)
    assert profile.timings
    assert str(profile)
    assert repr(program)


def test_a_listing_shows_the_body_of_each_loop_once():
    program = program_of(lambda x, w: CASES[0](TAPE, x, w)[0], X, W)
    text = str(program)
    assert text.count("tanh(") == 1
    assert "steps=5" in text
    assert text.count("in0[k]") == 1


@pytest.mark.parametrize("case", WHILES, ids=lambda case: case.__name__)
def test_room_for_steps_that_were_not_taken_is_no_value(case):
    """There are arbitrary numbers, of what used the memory before."""
    program = program_of(gradient(case), X, W)
    for leaves in data(5), (np.full_like(X, np.nan), W), data(5, 1):
        program(*leaves)
        expected = np.isfinite(leaves[0]).all()
        assert not expected or not tape.find_nonfinite(program, *leaves)


def test_nonfinite_values_are_found_in_programs_with_loops():
    program = program_of(lambda x, w: np.sum(CASES[0](TAPE, x, w)[1] * 2), X, W)
    assert not tape.find_nonfinite(program, X, W)
    wrong = X.copy()
    wrong[2] = np.nan
    assert tape.find_nonfinite(program, wrong, W)
    with np.errstate(all="ignore"):
        big = program_of(lambda x, w: tape.scan(lambda c, x: (c * 1e200, c), w, x)[1] * x, X, W)
        assert "loop" in str(tape.find_nonfinite(big, X, W))


# ---- signals, threads, errors --------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
@pytest.mark.parametrize("has_callback", some([False, True], every=2))
def test_ctrl_c_ends_a_long_loop(has_callback):
    step = "np.sort(np.sin(c) + x)" if has_callback else "np.sin(c) + x"
    code = f"""
        import signal
        import numpy as np, tape

        signal.signal(signal.SIGINT, signal.default_int_handler)  # off in the background
        f = lambda w, n: tape.fori_loop(0, n, lambda i, c: {step.replace(" + x", " + 1e-9 * i")}, w)
        short, long = tape.compile(lambda w: f(w, 10)), tape.compile(lambda w: f(w, 3_000_000))
        w = np.ones(3)
        expected = short(w)
        for turn in range(2):
            print("ready", flush=True)
            try:
                while True:
                    long(w)
            except KeyboardInterrupt:
                pass
            assert np.array_equal(short(w), expected)
        print("stopped", flush=True)
        import os
        os._exit(0)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        timer = threading.Timer(120, process.kill)
        timer.start()
        lines = []
        try:
            while len(lines) < 10 and (line := process.stdout.readline()) == "ready\n":
                lines.append(line)
                time.sleep(0.5)
                process.send_signal(signal.SIGINT)
            assert line == "stopped\n", lines
        finally:
            timer.cancel()
            process.kill()


def test_a_handler_that_raises_between_steps_leaves_the_program_usable(monkeypatch):
    monkeypatch.setattr(pauses, "BETWEEN", 100.0)
    f = tape.compile(gradient(CASES[0]))
    expected = f(X, W)

    class Interrupted(BaseException):
        pass

    (program,) = f.programs.values()
    call, calls = program._call, []

    def interrupting(*args):
        calls.append(args)
        if len(calls) % 3 == 0:
            raise Interrupted
        return call(*args)

    for _ in range(3):
        with monkeypatch.context() as patch:
            patch.setattr(program, "_call", interrupting)
            with pytest.raises(Interrupted):
                program(X, W)
        assert_alike(program(X, W), expected)


@pytest.mark.parametrize("length", [1, 7])
def test_random_loops_of_ir(length):
    """Carries and results that are inputs, of each other or of themselves, and views."""
    for seed in range(rounds(60, plain=20)):
        rng = np.random.default_rng([seed, length])
        f = random_loop(rng)
        args = rng.normal(size=(length, 2, 3)), rng.normal(size=(2, 3)), rng.normal(size=3)
        compiled, program = naive_program.compiled_for(f, *args)
        expected = leaves_of(f(*args))
        for found in (leaves_of(compiled(*args)), naive_program.run(program.ir, args)):
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12, err_msg=str(seed))


def random_loop(rng):
    """A scan whose next carry and results are drawn from the values of its body."""
    operations = [
        lambda a, b: a + b,
        lambda a, b: a * b,
        lambda a, b: np.sin(a),
        lambda a, b: a[::-1],
        lambda a, b: np.broadcast_to(a[0], (2, 3)),
        lambda a, b: a[:, ::-1] * b,
        lambda a, b: np.tanh(a @ np.ones((3, 3)) * 0.2) + b,
        lambda a, b: a.reshape(3, 2).T,
        lambda a, b: a * 0 + np.sum(b, axis=0),
    ]
    steps = [
        (rng.integers(len(operations)), rng.integers(6), rng.integers(6)) for _ in range(rng.integers(1, 7))
    ]
    after, results = rng.integers(0, 4 + len(steps), 3), rng.integers(0, 4 + len(steps), rng.integers(0, 4))
    reverse = bool(rng.integers(2))

    def f(xs, a, w):
        def step(c, x):
            values = [*c, x, np.broadcast_to(w, (2, 3))]
            values = values[:4]
            for k, i, j in steps:
                values.append(operations[k](values[-1 - i % len(values)], values[j % len(values)]))
            values += [values[-1]] * 4
            return tuple(np.clip(values[k], -4, 4) if k > 3 else values[k] for k in after), [
                values[k] for k in results
            ]

        return tape.scan(step, (a, a * w, a[::-1]), xs, reverse=reverse)

    return f
