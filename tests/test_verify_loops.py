"""The verifier of loops: what each row of one may hold, by hand and in programs."""

import numpy as np
import pytest

from tape import errors
from tape.program.native.opcodes import (
    ARENA,
    BY_COUNT,
    BY_COUNT_BACK,
    BY_FLAG,
    FIELDS,
    LITERALS,
    REGISTERS,
    SLOT_BITS,
    WIDTH,
    opcode,
    packed,
)
from tape.program.runtime.slots import Body, Slot, slots_of
from tape.program.runtime.verify import verify
from tests.test_loop_instructions import LOOPED, W, X, gradient, program_of, routines
from tests.tiers import some

INPUT, OUTPUT = 3, 4
MEMORY = [
    Slot(1024, 64, True), Slot(512, 64, True), Slot(64, 16, False), Slot(512, 8, False), Slot(512, 8, True),
    Slot(512, 1, True),
]  # fmt: skip
BODIES = [
    Body(
        {
            3: Slot(24, 8, False),
            4: Slot(16, 8, False),
            5: Slot(8, 8, False),
            8: Slot(24, 8, True),
            9: Slot(8, 8, False),
        },
        {6: Slot(16, 8, True), 7: Slot(32, 8, True), 10: Slot(8, 8, True)},
    ),
    Body({}, {}),
]
"""A constant, a state, an element, a state that is overwritten, one that is collected; what states become and
what is collected."""
ROWS = [
    (
        "loop",
        {
            "body": 0, "length": 4, "bindings": 3, "states": 3, "portion": 2, "ends": 0, "x": 0, "moving": 2,
            "left": 5, "compiled": 0,
        },
    ),
    ("stacking", {"slot": 7, "step": 32, "bytes": 32, "out": packed(OUTPUT, 384)}),
    ("binding", {"slot": 5, "step": -8, "bytes": 8, "x": packed(INPUT, 24)}),
    ("binding", {"slot": 3, "step": 0, "bytes": 24, "x": packed(INPUT, 488)}),
    (
        "state",
        {
            "slot_in": 4, "slot_out": 6, "bytes": 16, "first": packed(INPUT, 0), "out": packed(OUTPUT, 0),
            "spare": packed(ARENA, 1008),
        },
    ),
    ("kept_state", {"slot_in": 8, "bytes": 24, "first": packed(INPUT, 48), "out": packed(OUTPUT, 24)}),
    (
        "collected_state",
        {
            "slot_in": 9, "slot_out": 10, "bytes": 8, "first": packed(INPUT, 80), "out": packed(OUTPUT, 56),
            "array": packed(ARENA, 992), "step": 8, "before": 1,
        },
    ),
]  # fmt: skip
OPERANDS = {"x", "out", "first", "spare", "array"}
LOOPS = ("loop", "binding", "stacking", "state", "kept_state", "collected_state")
EACH_FIELD = [(k, field) for k, (name, _) in enumerate(ROWS) for field in FIELDS[name]]


def verified(*rows):
    code = np.zeros(WIDTH * len(rows), np.int64)
    for k, (name, fields) in enumerate(rows):
        code[k * WIDTH : k * WIDTH + 1 + len(fields)] = [
            opcode(name),
            *[fields[field] for field in FIELDS[name]],
        ]
    verify(code, len(rows), MEMORY, [], BODIES)


def changed(k, **changes):
    rows = list(ROWS)
    rows[k] = (rows[k][0], {**rows[k][1], **changes})
    return rows


def test_a_loop_that_fits_exactly_is_accepted():
    verified(*ROWS)
    verified(*ROWS, *ROWS)
    verified(*changed(0, length=0))
    verified(*changed(0, length=1))
    verified(("loop", {**ROWS[0][1], "body": 1, "length": 9, "bindings": 0, "states": 0, "moving": 0}))
    for ends in (BY_COUNT, BY_COUNT_BACK):
        verified(*changed(0, ends=ends, x=packed(INPUT, 504)))


def test_a_flag_is_the_first_state_and_one_byte(monkeypatch):
    body = Body({3: Slot(8, 8, False), 4: Slot(0, 8, False)}, {5: Slot(8, 8, True), 6: Slot(1, 1, True)})
    monkeypatch.setitem(globals(), "BODIES", [body])
    head = (
        "loop",
        {
            "body": 0,
            "length": 9,
            "bindings": 0,
            "states": 2,
            "portion": 1,
            "ends": BY_FLAG,
            "x": 0,
            "moving": 0,
            "left": 0,
            "compiled": 0,
        },
    )  # fmt: skip
    places = {"first": packed(INPUT, 0), "out": packed(OUTPUT, 0), "spare": packed(ARENA, 64)}
    number = ("state", {"slot_in": 3, "slot_out": 5, "bytes": 8, **places})
    flag = ("state", {"slot_in": 4, "slot_out": 6, "bytes": 1, **places})
    verified(head, flag, number)
    with pytest.raises(errors.ProgramError, match="ends"):
        verified(head, number, flag)
    monkeypatch.setitem(globals(), "BODIES", [Body({}, {})])
    with pytest.raises(errors.ProgramError, match="ends"):
        verified(("loop", {**head[1], "states": 0}))


@pytest.mark.parametrize("size", [-1, -8, -(2**60)])
def test_a_state_of_no_bytes_has_no_negative_number_of_them(monkeypatch, size):
    """A loop of no steps copies it."""
    empty = Body({3: Slot(0, 8, False)}, {4: Slot(0, 8, True)})
    monkeypatch.setitem(globals(), "BODIES", [empty])
    places = {"first": packed(INPUT, 0), "out": packed(OUTPUT, 0), "spare": packed(ARENA, 64)}
    head = ("loop", {**ROWS[0][1], "length": 0, "bindings": 0, "states": 1, "moving": 0})
    verified(head, ("state", {"slot_in": 3, "slot_out": 4, "bytes": 0, **places}))
    with pytest.raises(errors.ProgramError, match="bytes"):
        verified(head, ("state", {"slot_in": 3, "slot_out": 4, "bytes": size, **places}))


@pytest.mark.parametrize(("k", "field"), EACH_FIELD)
def test_each_field_of_a_loop_is_checked(k, field):
    """One more, one less, and numbers that wrap around: refused, but for those that touch nothing else."""
    value = ROWS[k][1][field]
    is_operand = field in OPERANDS
    others = [-(2**62), 2**48 + 1, 2**61, 2**63 - 1, -(2**63)]
    if not is_operand:
        others += [value + 1, -1, 2**31, 2**40]
    if field not in ("step", "length", "portion", "before") and not is_operand:
        others.append(value - 1)
    for new in others:
        if field in ("portion", "left") and 1 <= new <= 2**48:
            continue
        with pytest.raises(errors.ProgramError, match=rf"row \d \(({'|'.join(LOOPS)})\)"):
            verified(*changed(k, **{field: new}))


@pytest.mark.parametrize("k", range(1, len(ROWS)))
def test_operands_of_loops_stay_in_their_slots(k):
    name, fields = ROWS[k]
    for field in set(fields) & OPERANDS:
        is_written = field in ("out", "spare", "array")
        slot = fields[field] >> SLOT_BITS
        for wrong in (
            packed(slot, MEMORY[slot].size),
            packed(len(MEMORY), 0),
            packed(REGISTERS, 512),
            packed(slot, (1 << 40) - 64),
        ):
            with pytest.raises(errors.ProgramError, match=rf"\({name}\), {field}"):
                verified(*changed(k, **{field: wrong}))
        with pytest.raises(errors.ProgramError, match=rf"\({name}\), {field}.*multiple"):
            verified(*changed(k, **{field: fields[field] + 4 * (1 if field in ("first", "out") else -1)}))
        if is_written:
            for slot in (INPUT, LITERALS):
                with pytest.raises(errors.ProgramError, match=rf"\({name}\), {field}.*read-only"):
                    verified(*changed(k, **{field: packed(slot, 0)}))


@pytest.mark.parametrize(
    "rows",
    [
        ROWS[1:],
        ROWS[:6],
        ROWS[:4],
        ROWS[:3],
        [ROWS[0], ROWS[2], ROWS[2], *ROWS[3:]],
        [ROWS[0], ROWS[1], ROWS[2], ROWS[4], ROWS[3], *ROWS[5:]],
        [ROWS[0], ROWS[4], ROWS[1], ROWS[2], ROWS[3], *ROWS[5:]],
        [ROWS[0], ROWS[1], ROWS[0], *ROWS[2:]],
        [*ROWS[:5], ROWS[5], ROWS[5]],
        [*ROWS, ROWS[1]],
        [*ROWS, ROWS[3]],
        [*ROWS, ROWS[4]],
        changed(0, bindings=2, states=2),
        changed(0, bindings=4, states=0),
        changed(0, bindings=0, states=0),
        changed(0, moving=1),
        changed(0, moving=4),
        changed(0, moving=-1),
        changed(0, left=-1),
        changed(0, compiled=1),
        changed(0, compiled=-1),
        changed(0, body=1),
        changed(0, ends=BY_FLAG),
        changed(0, ends=BY_COUNT, x=packed(INPUT, 508)),
        changed(0, ends=BY_COUNT, x=packed(INPUT, 512)),
        changed(0, ends=BY_COUNT_BACK, x=packed(len(MEMORY), 0)),
        changed(1, step=24),
        changed(1, step=0),
        changed(1, step=-24),
        changed(4, out=packed(ARENA, 1000)),
        changed(4, spare=packed(OUTPUT, 8)),
        changed(4, spare=packed(OUTPUT, 0)),
        changed(4, first=packed(OUTPUT, 0)),
        changed(4, first=packed(ARENA, 1008)),
        changed(4, slot_in=3),
        changed(4, slot_out=7),
        changed(3, slot=6),
        changed(1, slot=3),
        changed(2, step=-16),
        changed(2, step=248),
        changed(3, slot=8),
        changed(4, slot_in=8),
        changed(5, slot_in=4, bytes=16),
        changed(5, slot_in=9, bytes=8),
        changed(5, out=packed(ARENA, 1004)),
        changed(6, slot_in=8),
        changed(6, step=4),
        changed(6, step=0),
        changed(6, before=2),
        changed(6, out=packed(ARENA, 1016)),
        changed(6, array=packed(OUTPUT, 32)),
        changed(6, array=packed(ARENA, 1000)),
    ],
)
def test_loops_that_do_not_belong_together_are_refused(rows):
    with pytest.raises(errors.ProgramError):
        verified(*rows)


@pytest.mark.parametrize(
    ("k", "changes", "written", "other"),
    [
        (4, {"first": packed(OUTPUT, 0)}, "out", "first"),
        (4, {"first": packed(OUTPUT, 8)}, "out", "first"),
        (4, {"spare": packed(OUTPUT, 8)}, "out", "spare"),
        (4, {"first": packed(ARENA, 1000)}, "spare", "first"),
        (5, {"first": packed(OUTPUT, 40)}, "out", "first"),
        (6, {"first": packed(OUTPUT, 56)}, "out", "first"),
        (6, {"first": packed(ARENA, 1016)}, "array", "first"),
        (6, {"array": packed(OUTPUT, 48)}, "array", "out"),
    ],
)
def test_what_states_write_lies_apart(k, changes, written, other):
    """And the message names what is written."""
    with pytest.raises(errors.ProgramError, match=rf"{written}: it overlaps {other}"):
        verified(*changed(k, **changes))


@pytest.mark.parametrize("case", some(LOOPED, every=5), ids=lambda case: case.__name__)
def test_words_of_loops_in_programs_are_checked(case):
    """Every word of every row of a loop, changed to numbers that fit nowhere."""
    program = program_of(gradient(case), X, W)
    for routine in routines(program):
        calls = [id for id, step in enumerate(routine.plan.instructions) if step.op == "callback"]
        bodies = [Body.of(body.plan) for body in routine.bodies]
        for at in range(routine.rows):
            name = list(FIELDS)[routine.code[at * WIDTH]]
            if name not in LOOPS:
                continue
            for k in range(len(FIELDS[name])):
                for wrong in (-(2**60), 2**60, 2**63 - 1):
                    code = routine.code.copy()
                    code[at * WIDTH + 1 + k] = wrong
                    with pytest.raises(errors.ProgramError):
                        verify(code, routine.rows, slots_of(routine.plan), calls, bodies)
