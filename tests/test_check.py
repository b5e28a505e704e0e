"""The checker refuses IR that has been tampered with, and says why."""

from contextlib import nullcontext
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

import tape
from tape import errors, ops
from tape.program.ir import matrices
from tape.program.ir.builder import Builder
from tape.program.ir.check import check
from tape.program.ir.instructions import Guard, Instruction
from tape.program.ir.loops import BYTES
from tape.program.ir.rewrite import rewrite
from tape.program.ir.table import INSTRUCTIONS
from tape.program.ir.types import IllTyped, is_shape
from tape.program.ir.values import Value
from tape.program.record.recording import record
from tests.op_table import TWO_OF_EACH, one_of_each
from tests.test_program import gradient
from tests.tiers import takes_long

FLOAT = np.dtype(float)


def test_tampered_instructions_are_refused_with_a_reason():
    args = (np.ones((2, 3)), np.ones((3, 4)))
    ir = rewrite(record(lambda x, y: np.sum(np.exp(x) @ y, axis=0), args, {}, "f"))
    check(ir)
    by_op = {instruction.op: instruction for instruction in ir.instructions}
    for op, changes, match in (
        ("exp", {"operands": (9,)}, "does not come before it"),
        ("exp", {"operands": (True,)}, "does not come before it"),
        ("exp", {"dtype": np.dtype(int)}, "declared int64.2, 3., inferred float64.2, 3."),
        ("exp", {"attrs": (1,)}, "no attributes"),
        ("exp", {"op": "explode"}, "no such instruction"),
        ("matmul", {"shape": (2, 3)}, "declared float64.2, 3., inferred float64.2, 4."),
        ("matmul", {"operands": (0, 0)}, "do not fit together"),
        ("fold", {"attrs": ("median", (0,))}, "no median of float64"),
        ("fold", {"attrs": ("sum", (0, 2))}, "do not follow each other"),
        ("fold", {"attrs": ("sum", (2,))}, "not those of its operand"),
        ("fold", {"shape": (-4,)}, "is not a shape, or too large"),
        ("fold", {"shape": (2**30, 2**30)}, "is not a shape, or too large"),
        ("exp", {"op": None}, "a field has the wrong type"),
        ("exp", {"operands": [0]}, "a field has the wrong type"),
        ("exp", {"attrs": []}, "a field has the wrong type"),
        ("exp", {"dtype": "float64"}, "a field has the wrong type"),
        ("exp", {"dtype": np.dtype("U3")}, "no arithmetic on <U3"),
    ):
        instruction = by_op[op]
        old = {name: getattr(instruction, name) for name in changes}
        for name, value in changes.items():
            setattr(instruction, name, value)
        with pytest.raises(errors.ProgramError, match=match):
            check(ir)
        for name, value in old.items():
            setattr(instruction, name, value)
    for name, value, match in (
        ("outputs", [99], "is not an instruction with a value"),
        ("outputs", [len(ir.instructions)], "is not an instruction with a value"),
        ("outputs", [-1], "is not an instruction with a value"),
        ("outputs", [True], "is not an instruction with a value"),
        ("inputs", [1, 0], "input 0 is another instruction"),
        ("inputs", [0, 99], "input 1 is "),
        ("inputs", [0, len(ir.instructions)], "input 1 is "),
        ("inputs", [0, -1], "input 1 is "),
        ("inputs", [0, True], "input 1 is "),
        ("inputs", ["0", 1], "input 0 is "),
        ("inputs", [0, 2], "input 1 is "),
        ("guards", [None], "guards are not in order"),
    ):
        old = getattr(ir, name)
        setattr(ir, name, value)
        with pytest.raises(errors.ProgramError, match=match):
            check(ir)
        setattr(ir, name, old)
    check(ir)


def test_of_a_block_of_results_only_results_are_read():
    """What lies between them nothing has written."""
    b = Builder()
    x = b.input((2, 2), FLOAT)
    values, vectors = matrices.gufunc(b, "eigh_lo", x)
    b.ir.outputs = [values.id, vectors.id]
    check(b.ir)
    part, block = b.ir.instructions[values.id], b.ir.instructions[values.id].operands[0]
    part.shape = (3,)  # float64[2], and what lies behind it
    with pytest.raises(errors.ProgramError, match="eigh_lo has no result of 24 bytes at byte 0"):
        check(b.ir)
    part.shape = (2,)
    b.ir.outputs = [block]
    with pytest.raises(errors.ProgramError, match="of which only parts can be read"):
        check(b.ir)
    b.ir.outputs = [b.cast(Value(b, block, "eigh_lo", b.ir.instructions[block].shape, BYTES), FLOAT).id]
    with pytest.raises(errors.ProgramError, match="reads a block of results of eigh_lo"):
        check(b.ir)


@pytest.mark.parametrize("attrs", [(), ("zero",), (0.0,), (True,), (None,), (0, 0), ((0,),)])
def test_the_number_of_an_input_is_one_integer(attrs):
    b = Builder()
    b.ir.outputs = [b.input((2,), FLOAT).id]
    check(b.ir)
    b.ir.instructions[0].attrs = attrs
    with pytest.raises(errors.ProgramError, match="its attribute must be one integer"):
        check(b.ir)


@pytest.mark.parametrize("number", [-1, 1, 2**70])
def test_the_number_of_an_input_is_that_of_one_that_is_there(number):
    b = Builder()
    b.ir.outputs = [b.input((2,), FLOAT).id]
    b.ir.instructions[0].attrs = (number,)
    with pytest.raises(errors.ProgramError, match="is out of range"):
        check(b.ir)


@pytest.mark.parametrize(
    ("x", "y", "out"),
    [
        ((3,), (3, 4), (4,)), ((2, 3), (3,), (2,)), ((3,), (3,), ()),
        ((2, 1, 1, 2, 3), (3, 4), (2, 1, 1, 2, 4)), ((2, 3), (2, 1, 1, 3, 4), (2, 1, 1, 2, 4)),
    ],
)  # fmt: skip
def test_products_are_of_matrices_and_their_stacks(x, y, out):
    b = Builder()
    x, y = b.input(x, FLOAT), b.input(y, FLOAT)
    b.ir.instructions.append(Instruction("matmul", (x.id, y.id), (), out, FLOAT))
    with pytest.raises(errors.ProgramError, match="are no matrices"):
        check(b.ir)


@pytest.mark.parametrize(
    ("x", "y", "out"),
    [((2, 3), (3, 4), (2, 4)), ((5, 6, 2, 3), (3, 4), (5, 6, 2, 4)), ((2, 3), (5, 6, 3, 4), (5, 6, 2, 4))],
)
def test_products_have_up_to_four_axes(x, y, out):
    b = Builder()
    x, y = b.input(x, FLOAT), b.input(y, FLOAT)
    b.ir.instructions.append(Instruction("matmul", (x.id, y.id), (), out, FLOAT))
    check(b.ir)


def test_a_guard_is_no_result():
    ir = rewrite(record(lambda x: x if x[0] > 0 else -x, (np.ones(2),), {}, "f"))
    check(ir)
    ir.outputs = [k for k, instruction in enumerate(ir.instructions) if instruction.op == "guard"]
    assert ir.outputs
    with pytest.raises(errors.ProgramError, match="is not an instruction with a value"):
        check(ir)


def test_stacks_of_matrices_go_together():
    b = Builder()
    x, y = b.input((2, 3, 4), FLOAT), b.input((3, 4, 5), FLOAT)
    b.ir.instructions.append(Instruction("matmul", (x.id, y.id), (), (2, 3, 5), FLOAT))
    with pytest.raises(errors.ProgramError, match="do not broadcast together"):
        check(b.ir)


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min", "any", "all"])
@pytest.mark.parametrize(
    ("shape", "axes"), [((0, 3), (0,)), ((2, 0, 3), (1, 2)), ((0,), (0,)), ((3, 0), (0,))]
)
def test_folds_of_nothing(kind, shape, axes):
    """There are sums and products of no elements, but no extremes."""
    b = Builder()
    dtype = bool if kind in ("any", "all") else float
    x = b.input(shape, np.dtype(dtype))
    kept = tuple(n for axis, n in enumerate(shape) if axis not in axes)
    b.ir.instructions.append(Instruction("fold", (x.id,), (kind, axes), kept, x.dtype))
    b.ir.outputs = [len(b.ir.instructions) - 1]
    if kind in ("sum", "prod", "any", "all") or all(shape[axis] for axis in axes):
        check(b.ir)
    else:
        with pytest.raises(errors.ProgramError, match="of no elements"):
            check(b.ir)


def tamperings(instruction):
    """Changes that make another instruction of it, or none."""
    yield {"attrs": (*instruction.attrs, "more")}
    yield {"shape": (*instruction.shape, 7)}
    if instruction.op not in ("cast", "literal", "input", "constant", "callback"):
        yield {"dtype": np.dtype(np.float16)}
    if instruction.operands:
        yield {"operands": instruction.operands[1:]} if instruction.op != "concatenate" else {"operands": ()}
        yield {"operands": (-1, *instruction.operands[1:])}
    if instruction.op not in ("concatenate", "callback"):
        yield {"operands": (*instruction.operands, 0, 0)}


@takes_long
def test_every_instruction_is_checked_for_its_attributes_shape_dtype_and_operands():
    """In the programs of all operations: each kind of instruction is tampered with once."""
    seen = set()
    for case in one_of_each(TWO_OF_EACH):
        args = case.args()
        if any(a.dtype.kind == "c" for a in args):
            continue
        ir = rewrite(record(gradient(case) if case.has_derivative else case.on(ops), tuple(args), {}, "f"))
        check(ir)
        for instruction in ir.instructions:
            if instruction.op in seen or instruction.op in ("input", "constant", "guard"):
                continue
            seen.add(instruction.op)
            for changes in tamperings(instruction):
                old = {name: getattr(instruction, name) for name in changes}
                for name, value in changes.items():
                    setattr(instruction, name, value)
                with pytest.raises(errors.ProgramError):
                    check(ir)
                for name, value in old.items():
                    setattr(instruction, name, value)
    assert len(seen) > 60


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("bool", 1),
        ("bool", None),
        ("int", True),
        ("int", 1.0),
        ("int", 2**63),
        ("int", -(2**63) - 1),
        ("x", 1),
    ],
)
def test_guards_have_outcomes_of_their_kind(kind, outcome):
    ir = rewrite(record(lambda x: x if int(np.sum(x)) > 3 else -x, (np.ones(3),), {}, "f"))
    check(ir)
    ir.guards[0] = replace(ir.guards[0], kind=kind, outcome=outcome)
    with pytest.raises(errors.ProgramError):
        check(ir)


@pytest.mark.parametrize("outcome", [-(2**63), -1000, 0, 2**63 - 1])
def test_a_guard_may_have_any_int_of_64_bits_as_its_outcome(outcome):
    ir = rewrite(record(lambda x: x if int(np.sum(x)) == 3 else -x, (np.ones(3),), {}, "f"))
    ir.guards[0] = replace(ir.guards[0], kind="int", outcome=outcome)
    check(ir)


@pytest.mark.parametrize("outcome", [3, None, ("<i8", -1), ("<i8", 2.0), ("<i8",), ("<i8", 1 << 40)])
def test_guards_of_a_length_have_types_as_outcomes(outcome):
    ir = rewrite(record(lambda x: np.flatnonzero(x) * 2, (np.ones(3),), {}, "f"))
    check(ir)
    ir.guards[0] = replace(ir.guards[0], outcome=outcome)
    with pytest.raises(errors.ProgramError, match=r"its outcome must be a type|is out of range"):
        check(ir)


@pytest.mark.parametrize(
    "changes",
    [{"kind": "bool"}, {"outcome": ("<f4", 2)}, {"outcome": ("<f8", 3)}, {"outcome": ("<f8", 2, 1)}],
)
def test_guards_of_callbacks_have_the_type_of_the_result(changes):
    args = np.arange(9.0).reshape(3, 3), np.array([True, False, True]), np.array([0, 1])
    ir = rewrite(record(lambda x, m, i: x[m, i], args, {}, "f"))
    check(ir)
    assert (ir.guards[0].kind, ir.guards[0].outcome) == ("type", ("<f8", 2))
    ir.guards[0] = replace(ir.guards[0], **changes)
    with pytest.raises(errors.ProgramError, match="its guard is of another type"):
        check(ir)


def test_bodies_of_loops_have_no_guards():
    ir = rewrite(record(lambda x: tape.fori_loop(0, 5, lambda k, s: s * 1.5, x), (np.ones(3),), {}, "f"))
    check(ir)
    (loop,) = [one.attrs[0] for one in ir.instructions if one.op == "loop"]
    loop.body.guards.append(Guard("bool", True))
    with pytest.raises(errors.ProgramError, match="its body has guards of its own"):
        check(ir)


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        (0, "instruction 0 is not input 1"), (1, "input 1 is not an input instruction"),
        (2, "input 1 is not an input instruction"), (-1, "input 1 is not an input instruction"),
        (True, "input 1 is not an input instruction"), (None, None),
    ],
)  # fmt: skip
def test_each_input_is_an_instruction_of_its_own(place, reason):
    ir = rewrite(record(lambda x: np.sin(x), (np.ones(3),), {}, "f"))
    ir.inputs.append(place)
    with pytest.raises(errors.ProgramError, match=reason) if reason else nullcontext():
        check(ir)


# ---- type rules, one by one ---------------------------------------------------------------------------


class Operand(NamedTuple):
    """All that a rule may read of an operand."""

    shape: tuple[int, ...]
    dtype: np.dtype


def of(kind, *shape):
    return Operand(shape, np.dtype(kind))


def f8(*shape):
    return of("f8", *shape)


def i8(*shape):
    return of("i8", *shape)


LONG = 1 << 31
ACCEPTED = [
    # instruction, operands, attributes, and the type of the result; what is declared is the same
    ("guard", [of("?")], (0,), of("?")),
    ("guard", [f8(1, 1)], (0,), of("?")),
    ("exp", [of("f4", 2)], (), of("f4", 2)),
    ("add", [f8(2, 1), f8(3)], (), f8(2, 3)),
    ("add", [f8(), f8(0)], (), f8(0)),
    ("less", [of("f4"), of("f4")], (), of("?")),
    ("where", [of("?", 3), of("i4", 2, 1), of("i4")], (), of("i4", 2, 3)),
    ("where", [of("?"), of("c8"), of("c8")], (), of("c8")),
    ("cast", [i8(2)], (), of("f4", 2)),
    ("cast", [f8()], (), of("?")),
    ("reshape", [f8(2, 3)], (), f8(3, 1, 2)),
    ("reshape", [f8(0, 3)], (), f8(0)),
    ("transpose", [f8(2, 3, 4)], ((2, 0, 1),), f8(4, 2, 3)),
    ("transpose", [f8()], ((),), f8()),
    ("broadcast", [f8(3, 1)], (), f8(2, 3, 4)),
    ("broadcast", [f8(1)], (), f8(0)),
    ("slice", [f8(5, 4)], ((4, 0), (-2, 3)), f8(3, 2)),
    ("slice", [f8(5)], ((0,), (0,)), f8(0)),
    ("slice", [f8(5)], ((9,), (9,)), f8(0)),
    ("slice", [f8(5)], ((4,), (7,)), f8(1)),
    ("fold", [f8(2, 3, 4)], ("max", (1, 2)), f8(2)),
    ("fold", [f8(2, 3, 4)], ("argmin", (1,)), i8(2, 4)),
    ("fold", [f8(2, 0)], ("sum", (1,)), f8(2)),
    ("fold", [f8(0, 2)], ("max", (1,)), f8(0)),
    ("fold", [of("?", 2, 0)], ("any", (0, 1)), of("?")),
    ("sum_product", [f8(2, 3), f8(2, 3)], ("sum", (0,)), f8(3)),
    ("scan", [f8(2, 3)], ("sum", 1, False), f8(2, 3)),
    ("scan", [f8(2, 3), f8(2, 3)], ("linear", 0, True), f8(2, 3)),
    ("matmul", [f8(2, 3), f8(3, 4)], (), f8(2, 4)),
    ("matmul", [of("f4", 5, 1, 2, 3), of("f4", 6, 3, 4)], (2.0,), of("f4", 5, 6, 2, 4)),
    ("matmul", [f8(LONG - 1, 1), f8(1, 1)], (), f8(LONG - 1, 1)),
    ("matmul_add", [f8(4), f8(2, 3), f8(3, 4)], (1.0,), f8(2, 4)),
    ("solve", [f8(3, 3), f8(2, 3)], (), f8(2, 3)),
    ("solve", [f8(5, 3, 3), f8(5, 2, 3)], (), f8(5, 2, 3)),
    ("triangular_solve", [f8(1, 1), f8(1, 1)], (True, False, True), f8(1, 1)),
    ("cholesky", [of("f4", 2, 3, 3)], (False,), of("f4", 2, 3, 3)),
    ("take", [of("i4", 2, 3, 4), i8(5)], (1,), of("i4", 2, 5, 4)),
    ("take", [f8(2), i8(0)], (0,), f8(0)),
    ("ravel_index", [i8(3), i8(3)], ((4, 5), True), i8(3)),
    ("add_at", [f8(2, 3), f8(2, 2)], ((0, 2), (1, -2)), f8(2, 3)),
    ("add_at", [f8(2, 3), f8(5, 3), i8(5)], (0,), f8(2, 3)),
    ("put", [of("?", 4), of("?", 2)], ((0,), (3,)), of("?", 4)),
    ("concatenate", [f8(2, 0, 4), f8(2, 3, 4), f8(2, 1, 4)], (1,), f8(2, 4, 4)),
    ("concatenate", [of("c8", 2)], (0,), of("c8", 2)),
    ("literal", [], ("d", bytes(8)), f8()),
    ("reals", [of("c8", 3)], (), of("f4", 3, 2)),
    ("complexes", [f8(3, 2)], (), of("c16", 3)),
    ("numpy_matmul", [f8(5, 2, 3), f8(3, 4)], (), f8(5, 2, 4)),
    ("require", [i8(3), of("?")], (), i8(3)),
    ("kernel", [f8(6)], ("argsort", (2, 3)), i8(2, 3)),
    ("inv", [f8(5, 1, 3, 3)], (), f8(5, 1, 3, 3)),
    ("eigvalsh_lo", [of("c16", 2, 3, 3)], (), f8(2, 3)),
    ("numpy_solve", [of("c16", 3, 3), of("c16", 2, 3, 4)], (), of("c16", 2, 3, 4)),
    ("qr_reduced", [f8(4, 3), f8(3)], (), f8(4, 3)),
    ("qr_reduced", [f8(3, 4), f8(3)], (), f8(3, 3)),
    ("qr_complete", [f8(2, 4, 3), f8(2, 3)], (), f8(2, 4, 4)),
    ("fft", [of("F", 5, 8), of("f4")], (6,), of("F", 5, 6)),
    ("rfft_n_even", [f8(8), f8()], (2,), of("c16", 2)),
    ("vecdot", [of("c8", 5, 3), of("c8", 3)], (), of("c8", 5)),
]
REFUSED = [
    # the same with one thing changed, the type that is declared, and why not
    ("guard", [f8(2)], (0,), of("?"), "it reads one number"),
    ("guard", [f8(0)], (0,), of("?"), "it reads one number"),
    ("guard", [of("c16")], (0,), of("?"), "it reads one number"),
    ("exp", [of("?", 2)], (), f8(2), "it does not take bool"),
    ("exp", [f8()], (1,), f8(), "no attributes"),
    ("add", [f8(2), f8(3)], (), f8(3), "do not broadcast"),
    ("add", [f8(2), of("f4", 2)], (), f8(2), r"it does not take float64\[2\], float32\[2\]"),
    ("where", [i8(3), f8(3), f8(3)], (), f8(3), "it does not take int64"),
    ("where", [of("?", 3), f8(3), of("f4", 3)], (), f8(3), "it does not take bool"),
    ("where", [of("?", 3), f8(3), f8(2)], (), f8(3), "do not broadcast"),
    ("where", [of("?"), of("c32"), of("c32")], (), of("c32"), "elements of complex256 cannot be copied"),
    ("where", [of("?", 3), f8(3), f8(3)], (1,), f8(3), "no attributes"),
    ("cast", [of("c16")], (), f8(), "no conversion from complex128 to float64"),
    ("cast", [f8()], (), of("c16"), "no conversion from float64 to complex128"),
    ("cast", [f8()], (1,), f8(), "no attributes"),
    ("reshape", [f8(2, 3)], (), f8(5), "another number of elements"),
    ("reshape", [f8(2, 3)], ((6,),), f8(6), "no attributes"),
    ("transpose", [f8(2, 3)], ((0, 0),), f8(2, 2), "a permutation"),
    ("transpose", [f8(2, 3)], ((0,),), f8(2), "a permutation"),
    ("transpose", [f8(2, 3)], ((0, 1, 1),), f8(2, 3), "a permutation"),
    ("transpose", [f8(2, 3)], ((0, 2),), f8(2, 3), "a permutation"),
    ("transpose", [f8(2, 3)], ([1, 0],), f8(3, 2), "a permutation"),
    ("transpose", [f8(2, 3)], ((1, 0), 0), f8(3, 2), "a permutation"),
    ("broadcast", [f8(2, 3)], (), f8(3), "does not broadcast to"),
    ("broadcast", [f8(2)], (), f8(3), "does not broadcast to"),
    ("broadcast", [f8(3, 2)], (), f8(2, 3, 1), "does not broadcast to"),
    ("broadcast", [f8(1)], (1,), f8(3), "no attributes"),
    ("slice", [f8(5)], ((0,), (2,)), f8(4), "outside of the array"),
    ("slice", [f8(5)], ((-1,), (1,)), f8(1), "outside of the array"),
    ("slice", [f8(5)], ((5,), (1,)), f8(1), "outside of the array"),
    ("slice", [f8(5)], ((1,), (-1,)), f8(3), "outside of the array"),
    ("slice", [f8(5)], ((0,), (5,)), f8(2), "outside of the array"),
    ("slice", [f8(5)], ((0,), (0,)), f8(2), "outside of the array"),
    ("slice", [f8(5)], ((1 << 40,), (1,)), f8(0), "outside of the array"),
    ("slice", [f8(5)], ((0,), (-(1 << 40),)), f8(0), "outside of the array"),
    ("slice", [f8(5, 4)], ((0,), (1,)), f8(5, 4), "another number of axes"),
    ("slice", [f8(5)], ((0, 0), (1,)), f8(5), "another number of axes"),
    ("slice", [f8(5)], ((0,), (1, 1)), f8(5), "another number of axes"),
    ("slice", [f8(5)], ((0,), (1,)), f8(5, 1), "another number of axes"),
    ("slice", [f8(5)], ((0.0,), (1,)), f8(5), "starts and steps"),
    ("slice", [f8(5)], ((0,), (1.0,)), f8(5), "starts and steps"),
    ("slice", [f8(5)], ((0,),), f8(5), "starts and steps"),
    ("slice", [f8(5)], ((0,), (1,), (5,)), f8(5), "starts and steps"),
    ("fold", [f8(2, 3, 4)], ("max", (0, 2)), f8(3), "do not follow each other"),
    ("fold", [f8(2, 3, 4)], ("max", (1, 0)), f8(4), "do not follow each other"),
    ("fold", [f8(2, 3)], ("max", (-1,)), f8(2), "not those of its operand"),
    ("fold", [f8(2, 3)], ("max", (1, 2)), f8(2), "not those of its operand"),
    ("fold", [f8(2, 3)], ("max", ()), f8(2, 3), "a kind and axes"),
    ("fold", [f8(2, 3)], (7, (1,)), f8(2), "a kind and axes"),
    ("fold", [f8(2, 3)], ("max", (1,), 0), f8(2), "a kind and axes"),
    ("fold", [f8(2, 3)], ("max", 1), f8(2), "a kind and axes"),
    ("fold", [of("?", 2)], ("argmax", (0,)), i8(), "there is no argmax of bool"),
    ("fold", [f8(2, 0)], ("argmax", (1,)), i8(2), "no argmax of no elements"),
    ("fold", [f8(0, 2)], ("min", (0, 1)), f8(), "no min of no elements"),
    ("sum_product", [f8(2), f8(1)], ("sum", (0,)), f8(), "it does not take"),
    ("sum_product", [f8(2), of("f4", 2)], ("sum", (0,)), f8(), "it does not take"),
    ("sum_product", [i8(2), i8(2)], ("sum", (0,)), i8(), "it does not take"),
    ("sum_product", [f8(2), f8(2)], ("max", (0,)), f8(), "its kind must be sum"),
    ("sum_product", [f8(2), f8(2)], (), f8(), "its kind must be sum"),
    ("sum_product", [f8(2), f8(2)], ("sum", (1,)), f8(), "not those of its operand"),
    ("scan", [f8(2)], ("sum", 1, False), f8(2), "its axis is not one"),
    ("scan", [f8(2)], ("sum", -1, False), f8(2), "its axis is not one"),
    ("scan", [f8(2)], ("sum", False, False), f8(2), "its axis is not one"),
    ("scan", [f8(2)], ("sum", 0, 0), f8(2), "a kind, an axis and a direction"),
    ("scan", [f8(2)], ("sum", 0), f8(2), "a kind, an axis and a direction"),
    ("scan", [f8(2)], (0, 0, False), f8(2), "a kind, an axis and a direction"),
    ("scan", [of("?", 2)], ("sum", 0, False), of("?", 2), "no cumulative sum of bool"),
    ("scan", [f8(2)], ("linear", 0, False), f8(2), "it takes 2 operands, and has 1"),
    ("scan", [f8(2), f8(2)], ("sum", 0, False), f8(2), "it takes 1 operands, and has 2"),
    ("scan", [f8(2), f8(1)], ("linear", 0, False), f8(2), "of one type"),
    ("scan", [f8(2), of("f4", 2)], ("linear", 0, False), f8(2), "of one type"),
    ("matmul", [f8(2, 3), f8(3, 4)], (2,), f8(2, 4), "must be a float"),
    ("matmul", [f8(2, 3), f8(3, 4)], (2.0, 2.0), f8(2, 4), "must be a float"),
    ("matmul", [f8(2, 3), of("f4", 3, 4)], (), f8(2, 4), "it does not take"),
    ("matmul", [i8(2, 3), i8(3, 4)], (), i8(2, 4), "it does not take"),
    ("matmul", [f8(3), f8(3, 4)], (), f8(4), "are no matrices"),
    ("matmul", [f8(2, 3), f8(3)], (), f8(2), "are no matrices"),
    ("matmul", [f8(1, 1, 1, 2, 3), f8(3, 4)], (), f8(1, 1, 1, 2, 4), "are no matrices"),
    ("matmul", [f8(2, 3), f8(1, 1, 1, 3, 4)], (), f8(1, 1, 1, 2, 4), "are no matrices"),
    ("matmul", [f8(2, 3), f8(2, 3)], (), f8(2, 3), "do not fit together"),
    ("matmul", [f8(0, 3), f8(3, 4)], (), f8(0, 4), "too small or too large"),
    ("matmul", [f8(LONG, 1), f8(1, 1)], (), f8(LONG, 1), "too small or too large"),
    ("matmul", [f8(2, 2, 3), f8(3, 3, 4)], (), f8(3, 2, 4), "do not broadcast"),
    ("matmul_add", [f8(3), f8(2, 3), f8(3, 4)], (1.0,), f8(2, 4), "cannot be added to a product"),
    ("matmul_add", [f8(1, 2, 4), f8(2, 3), f8(3, 4)], (1.0,), f8(2, 4), "cannot be added to a product"),
    ("matmul_add", [of("f4", 4), f8(2, 3), f8(3, 4)], (1.0,), f8(2, 4), "cannot be added to a product"),
    ("matmul_add", [f8(4), f8(2, 3), f8(3, 4)], (), f8(2, 4), "must be a float"),
    ("solve", [f8(3, 3), f8(2, 3)], (1,), f8(2, 3), "no attributes"),
    ("solve", [f8(3, 3), of("f4", 2, 3)], (), f8(2, 3), "it does not take"),
    ("solve", [i8(3, 3), i8(2, 3)], (), i8(2, 3), "it does not take"),
    ("solve", [f8(3, 2), f8(2, 2)], (), f8(2, 2), "no system of equations"),
    ("solve", [f8(3, 3), f8(3, 2)], (), f8(3, 2), "no system of equations"),
    ("solve", [f8(2, 3, 3), f8(2, 3)], (), f8(2, 3), "no system of equations"),
    ("solve", [f8(2, 3, 3), f8(4, 2, 3)], (), f8(4, 2, 3), "no system of equations"),
    ("solve", [f8(1, 1, 3, 3), f8(1, 1, 2, 3)], (), f8(1, 1, 2, 3), "no system of equations"),
    ("solve", [f8(3), f8(3)], (), f8(3), "no system of equations"),
    ("solve", [f8(0, 0), f8(1, 0)], (), f8(1, 0), "no system of equations"),
    ("solve", [f8(1, 1), f8(LONG, 1)], (), f8(LONG, 1), "no system of equations"),
    ("triangular_solve", [f8(1, 1), f8(1, 1)], (True, False), f8(1, 1), "must be 3 bools"),
    ("triangular_solve", [f8(1, 1), f8(1, 1)], (True, False, 1), f8(1, 1), "must be 3 bools"),
    ("cholesky", [f8(3, 3)], (True, True), f8(3, 3), "must be 1 bools"),
    ("cholesky", [f8(3, 2)], (True,), f8(3, 2), "no system of equations"),
    ("take", [of("c32", 2), i8(5)], (0,), of("c32", 5), "elements of complex256 cannot be copied"),
    ("take", [f8(2), of("i4", 5)], (0,), f8(5), "a vector of int64"),
    ("take", [f8(2), i8()], (0,), f8(), "a vector of int64"),
    ("take", [f8(2), i8(5, 1)], (0,), f8(5, 1), "a vector of int64"),
    ("take", [f8(2), i8(5)], (1,), f8(5), "its attribute 1 is out of range: there are 1"),
    ("take", [f8(2), i8(5)], (-1,), f8(5), "its attribute -1 is out of range"),
    ("take", [f8(2), i8(5)], (True,), f8(5), "must be one integer"),
    ("take", [f8(2), i8(5)], (0, 0), f8(5), "must be one integer"),
    ("ravel_index", [i8(3), i8(3)], ((4,), True), i8(3), "as many as its operands"),
    ("ravel_index", [i8(3)], ((-4,), True), i8(3), "as many as its operands"),
    ("ravel_index", [i8(3)], ((4,), 1), i8(3), "lengths and a bool"),
    ("ravel_index", [i8(3)], ((4,),), i8(3), "lengths and a bool"),
    ("ravel_index", [i8(3), i8(1)], ((4, 5), True), i8(3), "it does not take"),
    ("ravel_index", [of("i4", 3)], ((4,), True), of("i4", 3), "it does not take"),
    ("add_at", [f8(2, 3), of("f4", 2, 2)], ((0, 0), (1, 1)), f8(2, 3), "it does not take"),
    ("add_at", [i8(4), i8(2)], ((0,), (1,)), i8(4), "it does not take"),
    ("add_at", [f8(4), f8(5)], ((0,), (1,)), f8(4), "outside of the array"),
    ("add_at", [f8(2, 3), f8(5, 2), i8(5)], (0,), f8(2, 3), "its values .* do not fit"),
    ("add_at", [f8(2, 3), f8(4, 3), i8(5)], (0,), f8(2, 3), "its values .* do not fit"),
    ("add_at", [f8(2, 3), f8(5, 3), of("i4", 5)], (0,), f8(2, 3), "a vector of int64"),
    ("add_at", [f8(2, 3), f8(5, 3), i8(5)], (2,), f8(2, 3), "out of range"),
    ("put", [f8(4), of("f4", 2)], ((0,), (1,)), f8(4), "it does not take"),
    ("put", [of("c32", 4), of("c32", 2)], ((0,), (1,)), of("c32", 4), "cannot be copied"),
    ("put", [f8(4), f8(2)], ((3,), (1,)), f8(4), "outside of the array"),
    ("concatenate", [f8(2, 3), f8(3, 3)], (1,), f8(2, 6), "do not fit together"),
    ("concatenate", [f8(2, 3), f8(2, 4)], (0,), f8(4, 3), "do not fit together"),
    ("concatenate", [f8(2), f8(2, 1)], (0,), f8(4), "do not fit together"),
    ("concatenate", [f8(2), of("f4", 2)], (0,), f8(4), "do not fit together"),
    ("concatenate", [of("c32", 2)], (0,), of("c32", 2), "cannot be copied"),
    ("concatenate", [f8()], (0,), f8(), "out of range"),
    ("literal", [], ("d", bytes(4)), f8(), "not one number of its dtype"),
    ("literal", [], ("U", bytes(8)), f8(), "not one number of its dtype"),
    ("literal", [], ("f8", bytes(8)), f8(), "not one number of its dtype"),
    ("literal", [], ("d", 0), f8(), "a dtype and bytes"),
    ("literal", [], (0, bytes(8)), f8(), "a dtype and bytes"),
    ("literal", [], ("d", bytes(8), 0), f8(), "a dtype and bytes"),
    ("kernel", [f8(4)], ("max_pool", (1,), 0), f8(4), "a name and integers"),
    ("kernel", [f8(4)], (0, (1,)), f8(4), "a name and integers"),
    ("kernel", [f8(4)], ("max_pool", 1), f8(4), "a name and integers"),
    ("kernel", [f8(6)], ("argsort", (2, 3)), i8(2, 2), "its result has 6 elements"),
    (
        "kernel",
        [f8(LONG - 1, LONG - 1)] * 2,
        ("cholesky_pullback", (1, LONG - 1)),
        f8(LONG - 1, LONG - 1),
        "it needs too much memory",
    ),
    ("reals", [f8(3)], (), f8(3, 2), "it does not take float64"),
    ("complexes", [f8(3)], (), of("c16"), "it does not take float64"),
    ("complexes", [f8(2, 3)], (), of("c16", 2), "it does not take float64"),
    ("complexes", [i8(3, 2)], (), of("c16", 3), "it does not take int64"),
    ("numpy_matmul", [f8(1, 1, 2, 3), f8(3, 4)], (), f8(1, 1, 2, 4), "stacks along more than one axis"),
    ("numpy_matmul", [f8(2, 3), f8(1, 1, 3, 4)], (), f8(1, 1, 2, 4), "stacks along more than one axis"),
    ("numpy_matmul", [f8(2, 3), of("f4", 3, 4)], (), f8(2, 4), "it does not take float64"),
    ("require", [f8(3), of("?", 1)], (), f8(3), "it does not take"),
    ("require", [f8(3), f8()], (), f8(3), "it does not take"),
    ("require", [of("c32", 3), of("?")], (), of("c32", 3), "cannot be copied"),
    ("svd_f", [f8(1 << 17, 1)], (), f8(), "its results are too large"),
    ("inv", [of("f4", 3, 3)], (), of("f4", 3, 3), "inv does not take dtypes 'f'"),
    ("inv", [f8(3, 3)], (3,), f8(3, 3), "inv takes 0 lengths, and has 1"),
    ("inv", [f8(3, 3)], (3.0,), f8(3, 3), "its attributes must be lengths"),
    ("inv", [f8(3)], (), f8(3), "inv does not take an array of 1 axes there"),
    ("inv", [f8(3, 2)], (), f8(3, 2), "m is 2 here and 3 there"),
    ("inv", [f8(0, 3, 3)], (), f8(0, 3, 3), "inv takes no empty stacks"),
    ("inv", [f8(0, 0)], (), f8(0, 0), "inv takes no arrays that are empty or as large"),
    ("inv", [f8(LONG, LONG)], (), f8(LONG, LONG), "inv takes no arrays that are empty or as large"),
    ("fft", [of("c16", 8), f8()], (), of("c16", 8), "fft takes 1 lengths, and has 0"),
    ("fft", [of("c16", 8), f8()], (0,), of("c16", 0), "fft takes no arrays that are empty"),
    ("rfft_n_even", [f8(8), f8()], (1,), of("c16", 1), "rfft_n_even takes no m below 2"),
    ("qr_reduced", [f8(4, 3), f8(2)], (), f8(4, 2), "k is not the lesser of m and n"),
    ("qr_reduced", [f8(3, 4), f8(4)], (), f8(3, 4), "k is not the lesser of m and n"),
    (
        "numpy_solve",
        [of("c16", 2, 3, 3), of("c16", 4, 3, 1)],
        (),
        of("c16", 4, 3, 1),
        "numpy_solve takes stacks of one shape",
    ),
]


@pytest.mark.parametrize(("op", "operands", "attrs", "result"), ACCEPTED)
def test_the_type_of_a_result(op, operands, attrs, result):
    shape, dtype = INSTRUCTIONS[op].rule(operands, attrs, result.shape, result.dtype)
    assert (shape, np.dtype(dtype)) == result
    assert INSTRUCTIONS[op].takes(len(operands))


@pytest.mark.parametrize(("op", "operands", "attrs", "declared", "reason"), REFUSED)
def test_what_no_instruction_takes(op, operands, attrs, declared, reason):
    with pytest.raises(IllTyped, match=reason):
        INSTRUCTIONS[op].rule(operands, attrs, declared.shape, declared.dtype)


@pytest.mark.parametrize(
    ("shape", "is_one"),
    [
        ((), True), ((0,), True), ((2, 3), True), ((np.int64(2),), True), ((1,) * 64, True),
        ((1,) * 65, False), ((-1,), False), ((3, -1), False), ([2], False), ((2.0,), False), ((True,), False),
        (2, False), (((1 << 36) - 1,), True), ((1 << 36,), False), ((1 << 18, 1 << 18), False),
        ((1 << 36, 0), False),
    ],
)  # fmt: skip
def test_shapes_are_lengths_of_no_more_than_a_program_can_hold(shape, is_one):
    assert bool(is_shape(shape)) is is_one
