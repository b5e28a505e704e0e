"""Conversions between dtypes, and between complex numbers and their parts, as instructions.

The kernel `tape.kernels.convert.cast` converts between few pairs of dtypes. All others go by way of int64, or
of a wider float, where that gives what NumPy's own conversion does: narrow integers and halves widen exactly,
and NumPy rounds integers to float32 before it rounds them to float16.

Complex numbers are views of pairs of floats, and the other way round: ``reals`` has an axis more than its
operand, ``complexes`` one less.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tape.kernels.codes import CAST_CODES, has_cast
from tape.program.ir.promotion import broadcast_shapes
from tape.program.ir.values import CannotLower, Value

if TYPE_CHECKING:
    from tape.program.ir.builder import Builder

_INT64, _UINT64 = np.dtype(np.int64), np.dtype(np.uint64)
_HALF, _SINGLE, _DOUBLE = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
PARTS: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.complex128): _DOUBLE,
    np.dtype(np.complex64): _SINGLE,
}
"""The dtype of the real and the imaginary part of complex numbers."""


@cache
def route(source: np.dtype[Any], target: np.dtype[Any]) -> tuple[np.dtype[Any], ...]:
    """Return the dtypes that real numbers pass on their way from one to another, which is the last.

    Raises
    ------
    CannotLower
        For other dtypes than those of `tape.kernels.convert.CAST_CODES`.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.ir.conversions import route
    >>> route(np.dtype(np.int8), np.dtype(np.float16))
    (dtype('int64'), dtype('float32'), dtype('float16'))
    """
    if source not in CAST_CODES or target not in CAST_CODES:
        raise CannotLower(f"there is no conversion from {source} to {target}")
    if has_cast(source, target):
        return (target,)
    between: np.dtype[Any] = _INT64
    if source == _HALF or (target == _HALF and source.itemsize > 2):
        between = _SINGLE
    elif target == _UINT64 and source == _SINGLE:
        between = _DOUBLE
    return (*route(source, between), *route(between, target))


def converted(b: Builder, value: Value, dtype: np.dtype[Any]) -> Value:
    """Return elements in another dtype; of complex numbers the real parts, if that is real."""
    part, wanted = PARTS.get(value.dtype), PARTS.get(dtype)
    if part is not None and wanted is not None:
        return complexes(b, converted(b, reals(b, value), wanted))
    if part is not None:
        if dtype.kind == "b":
            return b.elementwise("not_equal", value, b.literal(0, value.dtype))
        return b.cast(real(b, value), dtype)
    if wanted is not None:
        return joined(b, b.cast(value, wanted), b.literal(0, wanted))
    for step in route(value.dtype, dtype):
        value = b.push("cast", (value,), dtype=step)
    return value


def reals(b: Builder, value: Value) -> Value:
    """Return complex numbers as pairs of floats, along a new last axis."""
    if value.op == "complexes":
        (pairs,) = b.operands_of(b.ir.instructions[value.id])
        return pairs
    if (number := b.known(value)) is not None and number.real.tobytes() == number.imag.tobytes():
        return b.broadcast(b.literal(number.real, PARTS[value.dtype]), (*value.shape, 2))
    return b.push("reals", (value,))


def complexes(b: Builder, pairs: Value) -> Value:
    """Return pairs of floats, along the last axis, as complex numbers."""
    if pairs.op == "reals":
        (value,) = b.operands_of(b.ir.instructions[pairs.id])
        return value
    return b.push("complexes", (pairs,))


def real(b: Builder, value: Value) -> Value:
    """Return the real parts of complex numbers."""
    return _part(b, value, 0)


def imag(b: Builder, value: Value) -> Value:
    """Return the imaginary parts of complex numbers."""
    return _part(b, value, 1)


def _part(b: Builder, value: Value, number: int) -> Value:
    known = b.known(value)
    if known is not None:
        part = known.imag if number else known.real
        return b.broadcast(b.literal(part, PARTS[value.dtype]), value.shape)
    if (source := b.operands_if(value, "broadcast")) is not None:
        return b.broadcast(_part(b, source[0], number), value.shape)
    ndim = value.ndim
    starts, steps = (*(0,) * ndim, number), (1,) * (ndim + 1)
    return b.reshape(b.slice(reals(b, value), starts, steps, (*value.shape, 1)), value.shape)


def joined(b: Builder, re: Any, im: Any) -> Value:
    """Return the complex numbers with these parts, floats of one dtype."""
    re, im = b.value(re), b.value(im)
    shape = broadcast_shapes(re.shape, im.shape)
    parts = [b.reshape(b.broadcast(x, shape), (*shape, 1)) for x in (re, im)]
    return complexes(b, b.concatenate(parts, len(shape)))
