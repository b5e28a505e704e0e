"""The checker refuses IR that has been tampered with, and says why."""

from dataclasses import replace

import numpy as np
import pytest

from tape import errors, ops
from tape.program.ir.builder import Builder
from tape.program.ir.check import check
from tape.program.ir.instructions import Instruction
from tape.program.ir.rewrite import rewrite
from tape.program.record.recording import record
from tests.op_table import TWO_OF_EACH
from tests.test_program import gradient

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


def test_every_instruction_is_checked_for_its_attributes_shape_dtype_and_operands():
    """In the programs of all operations: each kind of instruction is tampered with once."""
    seen = set()
    for case in TWO_OF_EACH:
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
