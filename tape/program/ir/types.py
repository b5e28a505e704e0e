"""The vocabulary of type rules: `Rule`, its error, and checks of attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np

from tape.kernels.codes import COPY_ITEMSIZES
from tape.program.ir.values import CannotLower
from tape.program.native.opcodes import OFFSET_BITS

Shape = tuple[int, ...]

MOST_BYTES = 1 << OFFSET_BITS
MOST_AXES = 64


class IllTyped(CannotLower):
    """No instruction has these operands and attributes; the checker makes it a ProgramError with a place."""


class Typed(Protocol):
    """An operand: a `Value` of the builder, or an `Instruction`."""

    shape: Shape
    dtype: np.dtype[Any]


Operands = Sequence[Any]  # Typed
Attrs = tuple[Any, ...]
Type = tuple[Shape, Any]
"""Shape and dtype."""

Rule = Callable[[Operands, Attrs, Any, Any], Type]
"""A type rule.

It takes operands, attributes, and the shape and dtype that the instruction declares. Some instructions have
these as a parameter: the shape of a reshape, the dtype of a cast. Other rules ignore them, and the builder
passes None.
"""


def refuse(reason: str) -> NoReturn:
    """Raise `IllTyped`."""
    raise IllTyped(reason)


def types_of(operands: Sequence[Typed]) -> str:
    """Return the types of operands, for messages."""
    return ", ".join([f"{x.dtype}{list(x.shape)}" for x in operands])


# ---- attributes --------------------------------------------------------------------------------------


def is_shape(shape: Any) -> bool:
    """Return whether this is a tuple of lengths, of no more elements than a program can hold."""
    if not are_ints(shape) or len(shape) > MOST_AXES or min(shape, default=0) < 0:
        return False
    size = 16
    for length in shape:
        size *= max(length, 1)
    return size < MOST_BYTES


def are_ints(numbers: Any) -> bool:
    """Return whether this is a tuple of integers."""
    if type(numbers) is not tuple:
        return False
    for number in numbers:  # noqa: SIM110 - a loop, as this is asked for most instructions of a long program
        if type(number) is not int and not isinstance(number, np.integer):
            return False
    return True


def is_int(number: Any) -> bool:
    """Return whether this is an integer, of Python or NumPy."""
    return type(number) is int or isinstance(number, np.integer)


def index_below(count: int, attrs: tuple[Any, ...]) -> int:
    """Return the only attribute, an index into a list of this length."""
    if len(attrs) != 1 or not is_int(attrs[0]):
        refuse("its attribute must be one integer")
    if not 0 <= attrs[0] < count:
        refuse(f"its attribute {attrs[0]} is out of range: there are {count}")
    return attrs[0]


def refuse_attrs(attrs: Attrs) -> None:
    """Raise unless there are no attributes."""
    if attrs:
        refuse("it takes no attributes")


def require_bools(attrs: tuple[Any, ...], count: int) -> None:
    """Raise unless the attributes are this many bools."""
    if len(attrs) != count or not all(type(attr) is bool for attr in attrs):
        refuse(f"its attributes must be {count} bools")


def refuse_types(operands: Sequence[Typed]) -> NoReturn:
    """Raise for operands of these types."""
    refuse(f"it does not take {types_of(operands)}")


def require_copyable(x: Typed) -> None:
    """Raise unless the machine can copy elements of this value."""
    if x.dtype.itemsize not in COPY_ITEMSIZES:
        refuse(f"elements of {x.dtype} cannot be copied")
