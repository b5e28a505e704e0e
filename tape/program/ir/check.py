"""The checker of IR of unknown origin: each instruction fits its operands, and each reference exists.

What a type rule says must be what the instruction declares. IR that was read from a file is checked before
anything else looks at it; what was recorded needs no check, and must pass it. Where values lie in memory is
not known here: that is for `tape.program.runtime.verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tape import errors
from tape.program.ir.instructions import IR, Instruction
from tape.program.ir.loops import BYTES, Block, Packed, Part
from tape.program.ir.table import INSTRUCTIONS
from tape.program.ir.types import IllTyped, index_below, is_shape, refuse
from tape.program.native.gufuncs import GUFUNCS, layout_of


def check(ir: IR) -> None:
    """Check that IR is sound.

    Parameters
    ----------
    ir : IR
        Of any origin.

    Raises
    ------
    ProgramError
        If an operand does not come before its use, a shape or dtype is not that of the result, an attribute
        is out of range, or anything is not of the type it should be.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.ir.builder import Builder
    >>> from tape.program.ir.check import check
    >>> b = Builder()
    >>> x = b.input((2, 3), np.dtype(float))
    >>> b.ir.outputs = [b.transpose(x).id]
    >>> check(b.ir)
    >>> b.ir.instructions[-1].shape = (2, 3)
    >>> check(b.ir)
    Traceback (most recent call last):
    tape.errors.ProgramError: instruction 1, transpose: declared float64[2, 3], inferred float64[3, 2]
    """
    instructions = ir.instructions
    for id, instruction in enumerate(instructions):
        try:
            _check_form(instruction)
            operands = [_operand(instructions, x, id) for x in instruction.operands]
            _check_type(instruction, operands)
            for operand in operands:
                _check_read(instruction, operand, ir)
            if instruction.op in _REFERENCES:
                _REFERENCES[instruction.op](instruction, ir)
        except IllTyped as flaw:
            raise errors.ProgramError(f"instruction {id}, {instruction.op}: {flaw}") from None
    _check_ends(ir)


def _check_form(instruction: Instruction) -> None:
    """Check the types of the fields, and that the result is no larger than a program can be."""
    if not isinstance(instruction.op, str) or type(instruction.operands) is not tuple:
        refuse("a field has the wrong type")
    if type(instruction.attrs) is not tuple or not isinstance(instruction.dtype, np.dtype):
        refuse("a field has the wrong type")
    if instruction.dtype.kind not in "biufc":
        refuse(f"there is no arithmetic on {instruction.dtype}")
    if not is_shape(instruction.shape):
        refuse(f"{errors.describe(instruction.shape)} is not a shape, or too large")


def _operand(instructions: Sequence[Instruction], x: Any, id: int) -> Instruction:
    if type(x) is not int or not 0 <= x < id:
        refuse(f"operand {errors.describe(x)} does not come before it")
    if instructions[x].op == "guard":
        refuse(f"operand {x} is a guard, which has no value")
    return instructions[x]


def _check_read(instruction: Instruction, operand: Instruction, ir: IR) -> None:
    """Check that of a block of results only results are read: between them is memory that nothing writes."""
    block = _block_of(operand, ir)
    if block is None:
        return
    if instruction.op != "part":
        refuse(f"it reads a block of results of {operand.op}, of which only parts can be read")
    size = prod(instruction.shape) * instruction.dtype.itemsize
    if not any(part.offset == instruction.attrs[0] and size <= part.size for part in block):
        refuse(f"{operand.op} has no result of {size} bytes at byte {instruction.attrs[0]}")


def _block_of(instruction: Instruction, ir: IR) -> list[Part] | None:
    """Return the results that an instruction writes into one block, if it does."""
    if instruction.dtype != BYTES:
        return None
    if instruction.op == "loop":
        loop = instruction.attrs[0]
        return loop.block.parts[: len(loop.outputs)]
    if instruction.op == "callback":
        op = ir.callbacks[instruction.attrs[0]][0]
        return op.block.parts if isinstance(op, Packed) else None
    if instruction.op in GUFUNCS:
        operands = [ir.instructions[x] for x in instruction.operands]
        chars = "".join([x.dtype.char for x in operands])
        layout = layout_of(instruction.op, [x.shape for x in operands], chars, instruction.attrs)
        return Block(layout.results).parts if len(layout.results) > 1 else None
    return None


def _check_type(instruction: Instruction, operands: list[Instruction]) -> None:
    """Check that an instruction takes these operands, and that its result is what it declares."""
    definition = INSTRUCTIONS.get(instruction.op)
    if definition is None or definition.role == "planned":
        refuse("no such instruction")
    if not definition.takes(len(operands)):
        refuse(
            f"it takes {', '.join(definition.operands) or 'no operands'}, and has {len(operands)} operands"
        )
    shape, dtype = definition.rule(operands, instruction.attrs, instruction.shape, instruction.dtype)
    if instruction.shape != shape or instruction.dtype != dtype:
        refuse(f"declared {instruction.type_text}, inferred {dtype}{list(shape)}")


# ---- references to what the IR holds beside its instructions ------------------------------------------


def _check_input(instruction: Instruction, ir: IR) -> None:
    number = index_below(len(ir.inputs), instruction.attrs)
    place = ir.inputs[number]
    if (
        type(place) is not int
        or not 0 <= place < len(ir.instructions)
        or ir.instructions[place] is not instruction
    ):
        refuse(f"input {number} is another instruction")


def _check_constant(instruction: Instruction, ir: IR) -> None:
    array = ir.constants[index_below(len(ir.constants), instruction.attrs)]
    if array.shape != instruction.shape or array.dtype != instruction.dtype:
        refuse(f"declared {instruction.type_text}, but the array is {array.dtype}{list(array.shape)}")


def _check_guard(instruction: Instruction, ir: IR) -> None:
    guard = ir.guards[index_below(len(ir.guards), instruction.attrs[:1])]
    if guard.kind == "type":
        _, *shape = guard.outcome if type(guard.outcome) is tuple else refuse("its outcome must be a type")
        index_below(len(shape), instruction.attrs[1:])
        if not is_shape(tuple(shape)):
            refuse("its outcome must be a type")
    elif len(instruction.attrs) != 1:
        refuse("its attribute must be the number of a guard")
    elif guard.kind == "bool":
        if type(guard.outcome) is not bool:
            refuse("its outcome must be a bool")
    elif guard.kind != "int" or type(guard.outcome) is not int or not -(2**63) <= guard.outcome < 2**63:
        refuse("its outcome must be a bool or an integer")


def _check_callback(instruction: Instruction, ir: IR) -> None:
    if len(instruction.attrs) not in (1, 2):
        refuse("its attributes must be its number, and the number of a guard if it has one")
    _, places, _ = ir.callbacks[index_below(len(ir.callbacks), instruction.attrs[:1])]
    if len(instruction.attrs) == 2:
        guard = ir.guards[index_below(len(ir.guards), instruction.attrs[1:])]
        if guard.kind != "type" or guard.outcome != (instruction.dtype.str, *instruction.shape):
            refuse("its guard is of another type")
    if len(instruction.operands) != sum(place is None for place in places):
        refuse(f"it does not take {len(instruction.operands)} operands")


def _check_loop(instruction: Instruction, ir: IR) -> None:
    if instruction.attrs[0].body.guards:
        refuse("its body has guards of its own")


_REFERENCES: dict[str, Callable[[Instruction, IR], None]] = {
    "input": _check_input,
    "constant": _check_constant,
    "guard": _check_guard,
    "loop": _check_loop,
    "callback": _check_callback,
}


# ---- inputs and outputs ------------------------------------------------------------------------------


def _check_ends(ir: IR) -> None:
    """Check that inputs, outputs and guards are where the IR says."""
    instructions = ir.instructions
    for number, id in enumerate(ir.inputs):
        if id is None:
            continue
        if type(id) is not int or not 0 <= id < len(instructions) or instructions[id].op != "input":
            raise errors.ProgramError(f"input {number} is not an input instruction")
        if instructions[id].attrs != (number,):
            raise errors.ProgramError(f"instruction {id} is not input {number}")
    for id in ir.outputs:
        if type(id) is not int or not 0 <= id < len(instructions) or instructions[id].op == "guard":
            raise errors.ProgramError(f"output {errors.describe(id)} is not an instruction with a value")
        if _block_of(instructions[id], ir) is not None:
            raise errors.ProgramError(f"output {id} is a block of results, of which only parts can be read")
    numbers = [instruction.guard for instruction in instructions if instruction.guard is not None]
    if numbers != list(range(len(ir.guards))):
        raise errors.ProgramError("the guards are not in order, each of them once")
