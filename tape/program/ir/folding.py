"""Reductions and scans as instructions.

Broadcast elements are multiplied instead of summed. Axes that do not follow each other are reduced one run of
neighbours after the other.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tape.kernels.codes import has_fold
from tape.program.ir import conversions
from tape.program.ir.conversions import PARTS
from tape.program.ir.identities import both_ways
from tape.program.ir.promotion import aligned, broadcast_shapes
from tape.program.ir.values import CannotLower, Value
from tape.program.native.functions import FOLDING

if TYPE_CHECKING:
    from tape.program.ir.builder import Builder

Shape = tuple[int, ...]


def fold(b: Builder, kind: str, value: Value, axes: Any = None, keepdims: bool = False) -> Value:
    """Reduce over axes; ``kind`` is sum, prod, max, min, any, all, argmax or argmin."""
    axes = range(value.ndim) if axes is None else axes if isinstance(axes, tuple) else (axes,)
    gone = tuple(sorted({axis % value.ndim for axis in axes}))
    kept = tuple([1 if i in gone else length for i, length in enumerate(value.shape)])
    shape = tuple([length for i, length in enumerate(value.shape) if i not in gone])
    result = _folded(b, kind, value, gone, shape)
    return b.reshape(result, kept) if keepdims else result


def _folded(b: Builder, kind: str, value: Value, axes: tuple[int, ...], shape: Shape) -> Value:
    is_choice = kind in ("sum", "prod", "max", "min", "any", "all")
    if kind in ("any", "all") and not value.size:
        return b.broadcast(b.literal(kind == "all"), shape)
    is_special = kind in FOLDING and not has_fold(kind, value.dtype)
    if is_choice and not is_special and all(value.shape[axis] == 1 for axis in axes):
        only = b.reshape(value, shape)
        is_float = only.dtype.kind == "f"
        return (
            only + b.literal(0, only.dtype) if kind == "sum" and is_float else only
        )  # NumPy's of -0.0 is 0.0
    if is_special or (kind in FOLDING and b.as_numpy and value.dtype.kind == "f"):
        if not axes:
            return value
        if axes[-1] - axes[0] == len(axes) - 1:
            return b.push("numpy_fold", (value,), (kind, axes))
        if b.as_numpy or value.dtype == np.float16:  # which rounds the more often
            raise CannotLower("NumPy reduces axes that do not follow each other at once")
    source = b.operands_if(value, "broadcast")
    if kind == "sum" and source is not None and not is_special:
        (core,) = source
        padded = aligned(core.shape, value.ndim)
        spread = [axis for axis in axes if padded[axis] == 1 != value.shape[axis]]
        count = prod(value.shape[axis] for axis in spread)
        if spread and count:
            short = tuple([1 if i in spread else length for i, length in enumerate(value.shape)])
            smaller = b.broadcast(b.reshape(core, padded), short)
            return b.fold("sum", smaller * b.literal(count, value.dtype), axes)
    if kind == "sum" and value.dtype.kind == "f" and not (b.as_numpy or is_special):
        scaled = _scaled_sum(b, value, axes)
        if scaled is not None:
            return scaled
    if source is not None and value.size and not is_special:
        (core,) = source
        padded = aligned(core.shape, value.ndim)
        short = tuple([1 if i not in axes and padded[i] == 1 else n for i, n in enumerate(value.shape)])
        if short != value.shape:  # all reductions along these axes are the same
            once = b.broadcast(b.reshape(core, padded), short)
            return b.broadcast(b.fold(kind, once, axes, keepdims=False), shape)
    if axes[-1] - axes[0] != len(axes) - 1:  # with other axes between: one run of axes after the other
        run = next(k for k in range(len(axes)) if axes[k:] == tuple(range(axes[k], axes[-1] + 1)))
        return b.fold(kind, b.fold(kind, value, axes[run:]), axes[:run])
    # Bools are counted as they are, without integers made of them.
    counted = b.operands_if(value, "cast") if kind == "sum" and value.dtype == np.int64 else None
    if counted is not None and counted[0].dtype == bool:
        value = counted[0]
    return b.push("fold", (value,), (kind, axes))


def _scaled_sum(b: Builder, value: Value, axes: tuple[int, ...]) -> Value | None:
    """Sum before a change of sign, or a product with 2 or 1/2: fewer numbers, and exact. Else return None."""
    opposite = b.operands_if(value, "negative")
    if opposite is not None:
        return b.literal(0, value.dtype) - b.fold("sum", opposite[0], axes)  # a sum of -0.0 is 0.0
    for factor, rest in both_ways(b.operands_if(value, "multiply")):
        number = b.known(factor)
        if number is not None and abs(number) in (0.5, 2) and rest.shape == value.shape:
            total = b.fold("sum", rest, axes)
            total = total if number > 0 else b.literal(0, value.dtype) - total
            return total * b.literal(abs(number), value.dtype)
    return None


def position(b: Builder, kind: str, value: Value, axis: int | None, keepdims: bool) -> Value:
    """Return the index of the largest or smallest element; ``kind`` is argmax or argmin."""
    if value.dtype.kind in "biu" and value.dtype.itemsize <= 4:
        value = b.value(value, np.result_type(value.dtype, np.float32))  # holds all of them exactly
    if axis is not None:
        return b.fold(kind, value, axis, keepdims)
    flat = b.fold(kind, b.reshape(value, (value.size,)), 0)
    return b.reshape(flat, (1,) * value.ndim) if keepdims else flat


def scan(
    b: Builder, kind: str, x: Value, axis: int, backwards: bool = False, factors: Value | None = None
) -> Value:
    """Accumulate along an axis; ``kind`` is min, or a key of `tape.kernels.codes.SCANS`."""
    if kind == "min":
        return -b.scan("max", -x, axis, backwards)
    given = (x,) if factors is None else (x, factors)
    dtype = np.result_type(*[value.dtype for value in given])
    if kind in ("sum", "prod") and dtype.kind in "biu":
        dtype = np.dtype(np.int64)
    if kind == "sum" and dtype in PARTS:  # each part by itself
        pairs = scan(b, kind, conversions.reals(b, b.value(x, dtype)), axis % x.ndim, backwards)
        return conversions.complexes(b, pairs)
    shape = broadcast_shapes(*[value.shape for value in given])
    operands = [b.broadcast(b.value(value, dtype), shape) for value in given]
    if not prod(shape) or shape[axis] == 1:
        return operands[0]
    return b.push("scan", operands, (kind, axis % len(shape), backwards))
