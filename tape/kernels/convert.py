"""Changing dtypes and choosing between arrays, element by element, for compiled code.

Nothing is checked here. What does not fit an integer becomes what the processor makes of it, as in
NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from tape.kernels._jit import inner
from tape.kernels.folds import FLOAT32, FLOAT64, INT32, INT64
from tape.kernels.pointers import float32s, float64s, int8s, int32s, int64s, pointer_to
from tape.kernels.vectors import choose, lanes, load, spread, store


@inner
def cast(source_dtype, out_dtype, source, count, out):  # type: ignore[no-untyped-def]
    """Convert contiguous elements.

    Parameters
    ----------
    source_dtype, out_dtype : int64
        Of `DTYPE_CODES`. Everything but zero is True as a bool, and every byte of bools but zero is 1.
    source, out : int64
        Addresses of ``count`` elements.
    count : int64
        How many.
    """
    if source_dtype == FLOAT64:
        _cast_from(float64s(source), out_dtype, count, out)
    elif source_dtype == FLOAT32:
        _cast_from(float32s(source), out_dtype, count, out)
    elif source_dtype == INT64:
        _cast_from(int64s(source), out_dtype, count, out)
    elif source_dtype == INT32:
        _cast_from(int32s(source), out_dtype, count, out)
    else:
        _cast_from_bool(int8s(source), out_dtype, count, out)


def _caster(read: Callable[..., Any]) -> Callable[..., None]:
    """`cast` of elements that are read by a function."""

    @inner
    def cast_from(x, dtype, count, out):  # type: ignore[no-untyped-def]
        if dtype == FLOAT64:
            doubles = float64s(out)
            for i in range(count):
                doubles[i] = read(x[i])
        elif dtype == FLOAT32:
            floats = float32s(out)
            for i in range(count):
                floats[i] = read(x[i])
        elif dtype == INT64:
            integers = int64s(out)
            for i in range(count):
                integers[i] = np.int64(read(x[i]))
        elif dtype == INT32:
            shorts = int32s(out)
            for i in range(count):
                shorts[i] = np.int32(read(x[i]))
        else:
            bools = int8s(out)
            for i in range(count):
                bools[i] = x[i] != 0

    return cast_from


_cast_from = _caster(inner(lambda number: number))
_cast_from_bool = _caster(inner(lambda byte: byte != 0))


@inner
def select(itemsize, condition, x, x_stride, y, y_stride, count, out):  # type: ignore[no-untyped-def]
    """Take elements of ``x`` where ``condition`` is true, of ``y`` elsewhere.

    Parameters
    ----------
    itemsize : int64
        One of `COPY_ITEMSIZES`.
    condition : int64
        Address of ``count`` bools.
    x, y : int64
        Addresses of ``count`` elements, or of one.
    x_stride, y_stride : int64
        ``itemsize``, or 0 where there is one element.
    count : int64
        How many.
    out : int64
        Address of ``count`` elements; it may be ``x``, ``y`` or, for bools, ``condition``.
    """
    if itemsize == 8:
        _select64(condition, x, x_stride, y, y_stride, count, out)
    elif itemsize == 4:
        _select32(condition, x, x_stride, y, y_stride, count, out)
    else:
        _select8(condition, x, x_stride, y, y_stride, count, out)


def _selector(kind: Any) -> Callable[..., None]:
    """`select` for elements of the size of this type."""
    view = pointer_to(kind)

    @inner
    def choose_all(condition, x, x_stride, y, y_stride, count, out):  # type: ignore[no-untyped-def]
        # Single elements are read before anything is written: the result may take their place.
        chosen, xs, ys, outs = int8s(condition), view(x), view(y), view(out)
        one, other = xs[0], ys[0]
        ones, others = spread(one), spread(other)
        i, width = 0, lanes(outs)
        while i + 4 * width <= count:
            j, k, m = i + width, i + 2 * width, i + 3 * width
            p0 = p1 = p2 = p3 = ones
            q0 = q1 = q2 = q3 = others
            if x_stride:
                p0, p1, p2, p3 = load(xs, i), load(xs, j), load(xs, k), load(xs, m)
            if y_stride:
                q0, q1, q2, q3 = load(ys, i), load(ys, j), load(ys, k), load(ys, m)
            p0, p1 = choose(chosen, i, p0, q0), choose(chosen, j, p1, q1)
            p2, p3 = choose(chosen, k, p2, q2), choose(chosen, m, p3, q3)
            store(outs, i, p0)
            store(outs, j, p1)
            store(outs, k, p2)
            store(outs, m, p3)
            i += 4 * width
        while i + width <= count:
            p = load(xs, i) if x_stride else ones
            q = load(ys, i) if y_stride else others
            store(outs, i, choose(chosen, i, p, q))
            i += width
        while i < count:
            first = xs[i] if x_stride else one
            second = ys[i] if y_stride else other
            outs[i] = first if chosen[i] else second
            i += 1

    return choose_all


_select64, _select32, _select8 = map(_selector, (types.int64, types.int32, types.int8))
