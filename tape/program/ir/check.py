"""The type checker of listings: every instruction fits its operands, whoever has written it.

For each kind of instruction there is a rule, which works out the shape and dtype of the result from those of
the operands, or says why there is none. A listing that was read from a file is checked before anything else
looks at it; one that was recorded needs no check, and must pass it. Where values lie in memory is not known
here: that is for `tape.program.runtime.verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tape import errors
from tape.kernels.folds import DTYPE_CODES
from tape.program.ir.instructions import ELEMENTWISE, Instruction, Listing
from tape.program.ir.kinds import (
    RULES,
    Flaw,
    Kind,
    is_shape,
    kind_of,
    number_below,
    number_of,
    of_ufunc,
    refuse,
    told,
    want,
)

__all__ = ["check"]

_BOOL = np.dtype(bool)


def check(listing: Listing) -> None:
    """See that a listing is sound.

    Parameters
    ----------
    listing : Listing
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
    >>> b.listing.outputs = [b.transpose(x).id]
    >>> check(b.listing)
    >>> b.listing.instructions[-1].shape = (2, 3)
    >>> check(b.listing)
    Traceback (most recent call last):
    tape.errors.ProgramError: instruction 1, transpose: it says float64[2, 3], and makes float64[3, 2]
    """
    instructions = listing.instructions
    for id, instruction in enumerate(instructions):
        try:
            _check_form(instruction)
            operands = [_operand(instructions, x, id) for x in instruction.operands]
            shape, dtype = _kind_of(instruction, operands, listing)
            if instruction.shape != shape or instruction.dtype != dtype:
                said, made = (f"{d}{list(s)}" for s, d in (kind_of(instruction), (shape, dtype)))
                refuse(f"it says {said}, and makes {made}")
        except Flaw as flaw:
            raise errors.ProgramError(f"instruction {id}, {instruction.op}: {flaw}") from None
    _check_ends(listing)


def _check_form(instruction: Instruction) -> None:
    """The types of the fields, and that the result is no larger than a program can be."""
    if not isinstance(instruction.op, str) or type(instruction.operands) is not tuple:
        refuse("the fields are of other types")
    if type(instruction.attrs) is not tuple or not isinstance(instruction.dtype, np.dtype):
        refuse("the fields are of other types")
    if instruction.dtype.kind not in "biufc":
        refuse(f"there is no arithmetic on {instruction.dtype}")
    if not is_shape(instruction.shape):
        refuse("its shape is none")


def _operand(instructions: Sequence[Instruction], x: Any, id: int) -> Instruction:
    if type(x) is not int or not 0 <= x < id:
        refuse(f"its operand {errors.describe(x)} does not come before it")
    if instructions[x].op == "guard":
        refuse(f"its operand {x} is a guard, which has no value")
    return instructions[x]


def _kind_of(instruction: Instruction, operands: list[Instruction], listing: Listing) -> Kind:
    """What the result is."""
    op = instruction.op
    if op in ELEMENTWISE:
        return of_ufunc(instruction, operands)
    if op in _SOURCES:
        want(not operands, "it takes no operands")
        return _SOURCES[op](instruction, listing)
    if op == "guard":
        return _of_guard(instruction, operands, listing)
    if op == "callback":
        return _of_callback(instruction, listing)
    rule = RULES.get(op)
    if rule is None:
        refuse("there is no such instruction")
    counts, of = rule
    want(len(operands) in counts, f"it has {len(operands)} operands")
    return of(instruction, operands)


# ---- where values come from -------------------------------------------------------------------------


def _of_input(instruction: Instruction, listing: Listing) -> Kind:
    number = number_of(instruction, len(listing.inputs))
    place = listing.inputs[number]
    want(
        type(place) is int
        and 0 <= place < len(listing.instructions)
        and listing.instructions[place] is instruction,
        f"input {number} is elsewhere",
    )
    return kind_of(instruction)


def _of_constant(instruction: Instruction, listing: Listing) -> Kind:
    array = listing.constants[number_of(instruction, len(listing.constants))]
    return array.shape, array.dtype


def _of_literal(instruction: Instruction, listing: Listing) -> Kind:
    want(len(instruction.attrs) == 2, "it is a dtype and bytes")
    char, data = instruction.attrs
    dtype = instruction.dtype
    want(
        char == dtype.char and type(data) is bytes and len(data) == dtype.itemsize, "its bytes are no number"
    )
    return (), dtype


_SOURCES: dict[str, Callable[[Instruction, Listing], Kind]] = {
    "input": _of_input,
    "constant": _of_constant,
    "literal": _of_literal,
}


# ---- branches and calls ----------------------------------------------------------------------


def _of_guard(instruction: Instruction, operands: list[Instruction], listing: Listing) -> Kind:
    guard = listing.guards[number_of(instruction, len(listing.guards))]
    is_one = len(operands) == 1 and prod(operands[0].shape) == 1 and operands[0].dtype in DTYPE_CODES
    want(is_one, f"it does not read {told(operands)}")
    if guard.kind == "bool":
        want(type(guard.outcome) is bool, "it reads a bool")
    else:
        is_int = guard.kind == "int" and type(guard.outcome) is int
        want(is_int and -(2**63) <= guard.outcome < 2**63, "it reads an integer")
    return (), _BOOL


def _of_callback(instruction: Instruction, listing: Listing) -> Kind:
    want(len(instruction.attrs) in (1, 2), "its attributes are its number, and that of a guard")
    _, places, _ = listing.callbacks[number_below(len(listing.callbacks), instruction.attrs[0])]
    if instruction.guard is not None:
        guard = listing.guards[number_below(len(listing.guards), instruction.guard)]
        found = (instruction.dtype.str, *instruction.shape)
        want(guard.kind == "type" and guard.outcome == found, "its guard is of another type")
    count = sum(place is None for place in places)
    want(len(instruction.operands) == count, f"it has {len(instruction.operands)} operands")
    return kind_of(instruction)


# ---- what goes in and comes out ---------------------------------------------------------------------


def _check_ends(listing: Listing) -> None:
    """Inputs, outputs and guards are where the listing says."""
    instructions = listing.instructions
    for number, id in enumerate(listing.inputs):
        if id is None:
            continue
        if type(id) is not int or not 0 <= id < len(instructions) or instructions[id].op != "input":
            raise errors.ProgramError(f"input {number} is no instruction that is one")
        if instructions[id].attrs != (number,):
            raise errors.ProgramError(f"instruction {id} is another input than {number}")
    for id in listing.outputs:
        if type(id) is not int or not 0 <= id < len(instructions) or instructions[id].op == "guard":
            raise errors.ProgramError(f"the output {errors.describe(id)} is no instruction with a value")
    numbers = [instruction.guard for instruction in instructions if instruction.guard is not None]
    if numbers != list(range(len(listing.guards))):
        raise errors.ProgramError("the guards are not in order, each of them once")
