"""Rows that become one loop over lanes: the same bits as the machine's, and nothing written beside them."""

import ctypes
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tape
from tape.kernels.codes import FOLDS, PAIRS, SHORT
from tape.kernels.loading import native
from tape.program.hot import compiling, lanes
from tape.program.native.functions import DATA_TABLE, FUNCTION_TABLE, loop_number, prepare
from tape.program.native.opcodes import (
    ARENA,
    CODE,
    COMPILED_FROM,
    DATA,
    FUNCTIONS,
    ROWS,
    SLOTS,
    WIDTH,
    opcode,
    packed,
)
from tape.program.runtime.liveness import live_behind
from tape.program.runtime.slots import Slot
from tape.program.runtime.verify import verify
from tests.test_hot import leaves, program_of
from tests.test_loop_instructions import routines
from tests.tiers import rounds, takes_long

INPUT, OUTPUT, NUMBERS = 3, 4, 5
RUNS = 8  # that each slot has
DOUBLE = np.dtype(float)
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1e-310]


# ---- rows by hand -----------------------------------------------------------------------------------------


@st.composite
def codes(draw):
    """Rows of arithmetic on runs of lanes, most of them where others are, and one that is something else."""
    length = draw(st.sampled_from([16, 24, 33, 64, 130]))
    size = 8 * length

    def place(runs=1, is_written=False):
        slot = draw(st.sampled_from([ARENA, ARENA, OUTPUT] if is_written else [ARENA, ARENA, INPUT, OUTPUT]))
        run = draw(st.integers(0, RUNS - runs))
        shift = 8 * draw(st.integers(0, length - 1)) if draw(st.integers(0, 19)) == 0 and run else 0
        return packed(slot, run * size - shift)

    rows, tables = [], []
    count = draw(st.integers(2, 12))
    for _ in range(count):
        kinds = ["unary", "binary", "binary", "pair", "fold", "sum_product", "store", "copy"]
        kind = draw(st.sampled_from([*kinds, *(["short", "shorts"] if length <= 64 else [])]))
        runs = draw(st.integers(1, 3))
        number = packed(NUMBERS, 8 * draw(st.integers(0, 3)))
        out = place(runs, is_written=True)
        if kind == "unary":
            name = draw(st.sampled_from(["negative", "sqrt", "absolute", "square", "reciprocal", "floor"]))
            rows.append(
                [opcode(kind), loop_number(name, (DOUBLE,) * 2), runs * length, 8, 8, place(runs), out]
            )
        elif kind == "binary":
            name = draw(st.sampled_from(["add", "subtract", "multiply", "divide", "divide", "maximum"]))
            form = draw(st.sampled_from(["aa", "an", "na"]))
            operands = [place(runs) if letter == "a" else number for letter in form]
            strides = [8 * (letter == "a") for letter in form]
            rows.append(
                [opcode(kind), loop_number(name, (DOUBLE,) * 3), runs * length, *strides, 8, *operands, out]
            )
        elif kind == "pair":
            first, second, form = draw(st.sampled_from(sorted(PAIRS)))
            operands = [place(runs) if letter == "a" else number for letter in form]
            strides = [8 * (letter == "a") for letter in form]
            rows.append(
                [opcode(kind), PAIRS[first, second, form], runs * length, 8, *strides, *operands, out]
            )
        elif kind in ("fold", "sum_product"):
            reduced = draw(st.integers(1, 4))
            operands = [place(reduced) for _ in range(1 + (kind == "sum_product"))]
            which = [FOLDS[draw(st.sampled_from(["sum", "sum", "prod"]))], 0] if kind == "fold" else [0]
            out = place(1, is_written=True)
            assume(not any(x - size < out < x + reduced * size for x in operands))
            rows.append([opcode(kind), *which, 1, reduced, length, *operands, out])
        elif kind == "store":
            at = [len(tables), len(tables) + 2]
            tables += [2, length, 3 * size, 8]
            out = packed(OUTPUT, size * draw(st.integers(0, RUNS - 4)))
            rows.append([opcode(kind), 8, 2 * length, 2, *at, place(2), out])
        elif kind == "copy":
            rows.append([opcode(kind), runs * size, place(runs), out])
        else:
            entries = []
            for _ in range(1 if kind == "short" else 3):
                name, letter, form = draw(st.sampled_from(sorted(SHORT)))
                x, y = place(), place()
                if letter == "s":  # of nothing that is computed as float64: the sign of NaN is not determined
                    x, y = (packed(INPUT, size * draw(st.integers(0, RUNS - 1))) for _ in range(2))
                x, y = (number, y) if form == "first" else (x, number) if form == "second" else (x, y)
                one = name in ("negative", "square", "reciprocal", "sqrt", "absolute")
                n = length if letter == "f" else 2 * length
                entries.append([SHORT[name, letter, form], n, 0 if one else x, y, place(1, is_written=True)])
            if kind == "short":
                rows.append([opcode(kind), *entries[0]])
            else:
                rows.append([opcode(kind), len(entries), len(tables)])
                tables += [number for entry in entries for number in entry]
    code = np.zeros(len(rows) * WIDTH + len(tables), np.int64)
    for k, row in enumerate(rows):
        if row[0] == opcode("store"):
            row[4], row[5] = row[4] + len(rows) * WIDTH, row[5] + len(rows) * WIDTH
        elif row[0] == opcode("shorts"):
            row[2] += len(rows) * WIDTH
        code[k * WIDTH : k * WIDTH + len(row)] = row
    code[len(rows) * WIDTH :] = tables
    return length, len(rows), code


class Memory:
    """A frame, and what its slots are."""

    def __init__(self, length, code, rows, seed):
        rng = np.random.default_rng(seed)
        self.slots = {}
        for slot, count in (
            (ARENA, RUNS * length),
            (INPUT, RUNS * length),
            (OUTPUT, RUNS * length),
            (NUMBERS, 4),
        ):
            values = rng.normal(size=count)
            places = rng.integers(0, count, size=min(4, count // 4))
            values[places] = rng.choice(SPECIAL, len(places))
            self.slots[slot] = values
        self.code = code
        self.frame = np.zeros(SLOTS + 6, np.int64)
        self.frame[CODE], self.frame[ROWS] = code.ctypes.data, rows
        self.frame[FUNCTIONS], self.frame[DATA] = FUNCTION_TABLE.ctypes.data, DATA_TABLE.ctypes.data
        for slot, array in self.slots.items():
            self.frame[SLOTS + slot] = array.ctypes.data

    def run(self):
        prepare()
        machine = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(native().addresses["run"])
        with np.errstate(all="ignore"):
            assert machine(self.frame.ctypes.data, 0) == self.frame[ROWS]

    def contents(self, slot):
        values = self.slots[slot]
        return np.where(np.isnan(values), np.nan, values).tobytes()


def put_in_place(code, segments, live):
    if not segments:
        return None
    engine, addresses = compiling.compile_segments(segments, live)
    assert min(addresses) >= COMPILED_FROM
    code[[segment.start * WIDTH for segment in segments]] = addresses
    return engine


def slots(length):
    size = 8 * RUNS * length
    return [
        Slot(size, 8, True), Slot(0, 64, True), Slot(0, 16, False), Slot(size, 8, False), Slot(size, 8, True),
        Slot(32, 8, False),
    ]  # fmt: skip


@settings(max_examples=rounds(60))
@given(codes(), st.integers(0, 2**16))
def test_lanes_do_what_rows_do(case, seed):
    length, rows, code = case
    claims = verify(code, rows, slots(length))
    expected = Memory(length, code, rows, seed)
    expected.run()
    segments = lanes.segments_of(code, rows)
    stops = [segment.stop for segment in segments]
    found = Memory(length, code.copy(), rows, seed)
    live = live_behind(code, rows, claims, 8 * RUNS * length, stops)
    engine = put_in_place(found.code, segments, live)
    found.run()
    assert [found.contents(slot) for slot in (INPUT, OUTPUT, NUMBERS)] == [
        expected.contents(slot) for slot in (INPUT, OUTPUT, NUMBERS)
    ], engine
    # And all that is read of the arena is there: as if everything were.
    everything = Memory(length, code.copy(), rows, seed)
    engine = put_in_place(everything.code, segments, [np.ones_like(words) for words in live])
    everything.run()
    assert everything.contents(ARENA) == expected.contents(ARENA), engine


def test_segments_are_as_long_as_they_can_be():
    add = loop_number("add", (DOUBLE,) * 3)

    def row(k):
        x, y, out = packed(INPUT, 0), packed(INPUT, 256), packed(OUTPUT, 256 * k)
        return [opcode("binary"), add, 32, 8, 8, 8, x, y, out]

    rows = [row(0), row(1), [opcode("pause")], row(2), [opcode("pause")], row(3), row(4), row(5)]
    code = np.zeros(len(rows) * WIDTH, np.int64)
    for k, one in enumerate(rows):
        code[k * WIDTH : k * WIDTH + len(one)] = one
    assert [(segment.start, segment.stop) for segment in lanes.segments_of(code, len(rows))] == [
        (0, 2),
        (5, 8),
    ]


def test_rows_of_a_group_stay_there():
    add = loop_number("add", (DOUBLE,) * 3)
    x, out = packed(INPUT, 0), packed(OUTPUT, 0)
    one = [opcode("binary"), add, 32, 8, 8, 8, x, x, out]
    rows = [one, one, [opcode("blocks"), 3, 32, 16, 32, 0, 3], one, one, one, one, one]
    code = np.zeros(len(rows) * WIDTH, np.int64)
    for k, row in enumerate(rows):
        code[k * WIDTH : k * WIDTH + len(row)] = row
    assert [(segment.start, segment.stop) for segment in lanes.segments_of(code, len(rows))] == [
        (0, 2),
        (6, 8),
    ]


def test_what_overlaps_is_not_one_loop():
    """The second row reads what the first has written, one lane further on."""
    add = loop_number("add", (DOUBLE,) * 3)
    rows = [
        [opcode("binary"), add, 32, 8, 8, 8, packed(INPUT, 0), packed(INPUT, 0), packed(ARENA, 256)],
        [opcode("binary"), add, 32, 8, 8, 8, packed(ARENA, 248), packed(INPUT, 0), packed(OUTPUT, 0)],
        [opcode("binary"), add, 32, 8, 0, 8, packed(INPUT, 0), packed(OUTPUT, 64), packed(OUTPUT, 256)],
    ]
    code = np.zeros(len(rows) * WIDTH, np.int64)
    for k, one in enumerate(rows):
        code[k * WIDTH : k * WIDTH + len(one)] = one
    assert lanes.segments_of(code, len(rows)) == []


# ---- programs -------------------------------------------------------------------------------------------


def oscillators(x):
    def step(state, x):
        place, speed = state
        force = -place / np.sqrt(1 + place * place + speed[::1] ** 2) + x
        speed = speed * 0.99 + 0.1 * force
        return (place + 0.1 * speed, speed), np.sum(np.stack([place, speed, force]) ** 2, axis=0)

    (place, speed), energies = tape.scan(step, (x[0], x[1]), x)
    return np.sum(place * speed) + np.sum(energies)


def grid(x):
    def step(state):
        rows, k = state
        return np.concatenate([rows[1:] * 0.5 + rows[:-1], rows[:1] - x[k % len(x)]]), k + 1

    start = np.stack([x[0], x[0] * 2, -x[0]])
    return np.sum(np.sqrt(np.abs(tape.while_loop(lambda state: state[1] < len(x), step, (start, 0))[0])))


def spread(x):
    """Of a long state, results are written by the rows of a group."""

    def step(state, x):
        state = state * 0.999 + 0.001 * x
        return state, (-state, state * state, state * 0.5)

    state, (a, b, c) = tape.scan(step, x[0], x[1:])
    return np.sum(state) + np.sum(a * b - c)


@takes_long
@pytest.mark.parametrize("count", [16, 33, 130, 300, 3000])
@pytest.mark.parametrize("f", [oscillators, grid, spread])
def test_programs_with_lanes_change_no_bit(f, count):
    inputs = [np.random.default_rng(seed).normal(size=(20, count)) for seed in range(4)]
    of = tape.value_and_grad(f)
    with patch("tape.program.runtime.routine.watched", lambda *_: set()):
        plain = tape.compile(of)
        plain(inputs[0])
        expected = [leaves(plain(x)) for x in inputs]
    for after in (1, 7, 30):
        with patch.object(compiling, "steps_before", lambda _, after=after: after):
            compiled = tape.compile(of)
            compiled(inputs[0])
            assert [leaves(compiled(x)) for x in inputs] == expected
        program = program_of(compiled)
        changed = [
            routine.running[at * WIDTH] >= COMPILED_FROM
            for routine in routines(program)
            for at in range(routine.rows)
        ]
        assert any(changed) is not (f is spread and count == 3000)  # a group, with nothing behind it
        assert str(program.profile(inputs[0]))
        assert leaves(compiled(inputs[0])) == expected[0]


def test_groups_of_the_value_alone_change_no_bit():
    x = np.random.default_rng(0).normal(size=3000)

    def f(x):
        def step(state, _):
            state = state * 0.999 + 0.001
            return state, (-state, state * state, state * 0.5)

        return tape.scan(step, x, np.zeros(20))

    with patch.object(compiling, "steps_before", lambda _: 2):
        compiled = tape.compile(f)
        results = [leaves(compiled(x)) for _ in range(4)]
    assert all(result == results[1] for result in results)


def test_copies_of_smaller_elements_lie_anywhere():
    """The last element of what is copied shares a word with what lies behind it."""

    def f(t, b, c, d):
        def step(state, _):
            t, b, c, d = state
            q, half = t * np.float32(0.99), np.float32(0.5)
            d = np.sqrt(d * d + 0.5)
            held, d = q[4:36], d / (d + 1.0)
            q = np.concatenate([b, q[3:]])
            whole = np.concatenate([held, b * half, c * half])
            last = np.reshape(whole, (3, 31))[1:]
            return (q, np.reshape(last, -1)[:3], np.reshape(last, -1)[2:60], d), last

        return tape.scan(step, (t, b, c, d), np.zeros(8))

    rng = np.random.default_rng(0)
    args = [*[rng.normal(size=count).astype(np.float32) for count in (93, 3, 58)], rng.normal(size=32)]
    with patch("tape.program.runtime.routine.watched", lambda *_: set()):
        plain = tape.compile(f)
        plain(*args)
        expected = leaves(plain(*args))
    with patch.object(compiling, "steps_before", lambda _: 2):
        compiled = tape.compile(f)
        compiled(*args)
        for _ in range(3):
            assert leaves(compiled(*args)) == expected


def test_a_run_is_read_if_any_word_of_it_is():
    run = lanes.Run("positive", 16, (packed(INPUT, 0),), (False,), packed(ARENA, 52))
    segment = lanes.Segment(0, 2, 16, [run])
    for word, is_read in ((5, False), (6, True), (22, True), (23, False)):
        live = np.zeros(40, bool)
        live[word] = True
        assert lanes._Function(segment, live).is_read(run.out) is is_read


def test_rows_are_described_as_they_were_encoded():
    x = np.random.default_rng(0).normal(size=(20, 64))
    with patch.object(compiling, "steps_before", lambda _: 2):
        compiled = tape.compile(tape.value_and_grad(oscillators))
        compiled(x), compiled(x)
        before = str(program_of(compiled))
        compiled(x)
    assert str(program_of(compiled)) == before


def test_loops_of_few_elements_are_not_watched():
    for count, is_watched in ((2000, True), (16, False)):
        compiled = tape.compile(lambda x: tape.scan(lambda s, x: (s / np.sqrt(x + s * s), None), x[0], x)[0])
        x = np.ones((50, count))
        compiled(x), compiled(x)
        (program,) = compiled.programs.values()
        assert bool(program._watched) is is_watched
