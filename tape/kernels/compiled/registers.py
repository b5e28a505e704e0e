"""Emitting loops over whole registers, in LLVM's language: for what numba would compute number by number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils

WORD = ir.IntType(64)
ELEMENTS = {"f": ir.DoubleType(), "s": ir.FloatType()}
"""By the letters that operations on arrays call their dtypes."""
_LANE = ir.IntType(32)


def over_registers(builder: Any, count: Any, lanes: int, compute_at: Callable[[Any, int], None]) -> None:
    """Emit a loop over whole registers of elements, and what is left in halves, quarters and so on.

    ``compute_at`` emits what is done to so many elements from an index on.
    """
    stop = builder.and_(count, WORD(-lanes))
    with cgutils.for_range_slice(builder, WORD(0), stop, WORD(lanes), WORD) as (i, _):
        compute_at(i, lanes)
    while lanes > 1:
        lanes //= 2
        some = builder.and_(count, WORD(lanes))
        with builder.if_then(cgutils.is_not_null(builder, some)):
            compute_at(builder.and_(count, WORD(-2 * lanes)), lanes)


def repeated(builder: Any, number: Any, lanes: int) -> Any:
    """Return a register with a number in all lanes."""
    empty = ir.Constant(ir.VectorType(number.type, lanes), ir.Undefined)
    first = builder.insert_element(empty, number, _LANE(0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(_LANE, lanes), [0] * lanes))


def read(builder: Any, place: Any, lanes: int) -> Any:
    """Return a register with the elements from a place on."""
    element = place.type.pointee
    pointer = builder.bitcast(place, ir.VectorType(element, lanes).as_pointer())
    return builder.load(pointer, align=width(element))


def write(builder: Any, found: Any, place: Any) -> None:
    """Write a register to a place."""
    pointer = builder.bitcast(place, found.type.as_pointer())
    builder.store(found, pointer, align=width(found.type.element))


def width(element: Any) -> int:
    """Return the bytes of an element."""
    return 8 if isinstance(element, ir.DoubleType) else 4
