"""Changing dtypes and choosing between arrays, element by element, for compiled code.

Nothing is checked here. What does not fit an integer becomes what the processor makes of it, as in
NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tape.kernels.codes import (
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
)
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import float32s, float64s, int8s, int16s, int32s, int64s, pointer_to
from tape.kernels.compiled.vectors import choose, lanes, load, spread, store


@inner
def cast(source_dtype, out_dtype, source, count, out):  # type: ignore[no-untyped-def]
    """Convert contiguous elements.

    Parameters
    ----------
    source_dtype, out_dtype : int64
        Of `CAST_CODES`, a pair for which `has_cast` is true. Everything but zero is True as a bool, and every
        byte of bools but zero is 1.
    source, out : int64
        Addresses of ``count`` elements.
    count : int64
        How many.
    """
    if source_dtype >= INT8:
        _cast_from_others(source_dtype, out_dtype, source, count, out)
    elif out_dtype >= INT8:
        _cast_to_others(source_dtype, out_dtype, source, count, out)
    elif source_dtype == FLOAT64:
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


@inner
def _cast_from_others(source_dtype, out_dtype, source, count, out):  # type: ignore[no-untyped-def]
    if source_dtype == FLOAT16:
        halves, floats = int16s(source), int32s(out)
        for i in range(count):
            floats[i] = _bits_of_half(halves[i])
    elif source_dtype == UINT64 and out_dtype == FLOAT64:
        _convert(_uint64s(source), float64s(out), count)
    elif source_dtype == UINT64 and out_dtype == FLOAT32:
        _convert(_uint64s(source), float32s(out), count)
    elif source_dtype == INT8:
        _convert(int8s(source), int64s(out), count)
    elif source_dtype == INT16:
        _convert(int16s(source), int64s(out), count)
    elif source_dtype == UINT8:
        _convert(_uint8s(source), int64s(out), count)
    elif source_dtype == UINT16:
        _convert(_uint16s(source), int64s(out), count)
    elif source_dtype == UINT32:
        _convert(_uint32s(source), int64s(out), count)
    else:
        _convert(int64s(source), int64s(out), count)


@inner
def _cast_to_others(source_dtype, out_dtype, source, count, out):  # type: ignore[no-untyped-def]
    if out_dtype == FLOAT16:
        halves = int16s(out)
        if source_dtype == FLOAT64:
            doubles = float64s(source)
            for i in range(count):
                halves[i] = _half_of(_rounded_to_odd(doubles[i]))
        else:
            floats = int32s(source)
            for i in range(count):
                halves[i] = _half_of(floats[i])
    elif source_dtype == FLOAT64:
        doubles, integers = float64s(source), int64s(out)
        for i in range(count):
            x = doubles[i]
            integers[i] = np.int64(x) if x < _BEYOND else np.int64(x - _BEYOND) ^ _TOP
    elif out_dtype == INT8 or out_dtype == UINT8:  # noqa: SIM109
        _convert(int64s(source), int8s(out), count)
    elif out_dtype == INT16 or out_dtype == UINT16:  # noqa: SIM109
        _convert(int64s(source), int16s(out), count)
    elif out_dtype == UINT32:
        _convert(int64s(source), int32s(out), count)
    else:
        _convert(int64s(source), int64s(out), count)


@inner
def _convert(x, out, count):  # type: ignore[no-untyped-def]
    for i in range(count):
        out[i] = x[i]


_uint8s, _uint16s, _uint32s, _uint64s = map(
    pointer_to, (types.uint8, types.uint16, types.uint32, types.uint64)
)
_BEYOND, _TOP = 2.0**63, np.int64(-(2**63))
_MAGIC = np.float32(2.0**112)  # brings the exponent of a half to that of a float
_HALF_TOO_LARGE = np.int32((127 + 16) << 23)  # the bits of the first float with an exponent that halves lack
_HALF_NORMAL = np.int32(113 << 23)  # the bits of the least half that is not subnormal
_DENORMAL = np.int32(((127 - 15) + (23 - 10) + 1) << 23)


@intrinsic
def _as_float(typing_context, bits):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        return builder.bitcast(values[0], ir.FloatType())

    return types.float32(types.int32), generate


@intrinsic
def _as_bits(typing_context, number):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        return builder.bitcast(values[0], ir.IntType(32))

    return types.int32(types.float32), generate


@inner
def _bits_of_half(half):  # type: ignore[no-untyped-def]
    """The bits of the float that a half, given by its bits, is."""
    bits = np.int32(half)
    magnitude = _as_bits(_as_float(np.int32((bits & np.int32(0x7FFF)) << 13)) * _MAGIC)
    if bits & np.int32(0x7C00) == np.int32(0x7C00):
        magnitude = np.int32(magnitude | np.int32(0x7F800000))
    return np.int32(magnitude | np.int32((bits & np.int32(0x8000)) << 16))


@inner
def _half_of(bits):  # type: ignore[no-untyped-def]
    """The bits of the half next to a float, given by its bits; of two, the even one.

    The method is F. Giesen's, ``float_to_half_fast3_rtne``.
    """
    magnitude = np.int32(bits & np.int32(0x7FFFFFFF))
    sign = np.int32((bits >> 16) & np.int32(0x8000))
    if magnitude >= _HALF_TOO_LARGE:
        payload = np.int32(0x7C00 | ((magnitude >> 13) & 0x3FF) | 0x200)
        half = payload if magnitude > np.int32(0x7F800000) else np.int32(0x7C00)
    elif magnitude < _HALF_NORMAL:  # the addition rounds
        half = np.int32(_as_bits(_as_float(magnitude) + _as_float(_DENORMAL)) - _DENORMAL)
    else:
        is_odd = np.int32((magnitude >> 13) & np.int32(1))
        half = np.int32((magnitude - np.int32((127 - 15) << 23) + np.int32(0xFFF) + is_odd) >> 13)
    return np.int16(half | sign)


@inner
def _rounded_to_odd(number):  # type: ignore[no-untyped-def]
    """The bits of a float next to a number; if they differ, the odd one, so that rounding again is right."""
    single = np.float32(number)
    bits = _as_bits(single)
    if np.float64(single) != number:
        if abs(np.float64(single)) > abs(number):
            bits = np.int32(bits - np.int32(1))
        bits = np.int32(bits | np.int32(1))
    return bits


_cast_from = _caster(inner(lambda number: number))
_cast_from_bool = _caster(inner(lambda byte: byte != 0))


@inner
def select(itemsize, condition, x, x_stride, y, y_stride, count, out):  # type: ignore[no-untyped-def]
    """Take elements of ``x`` where ``condition`` is true, of ``y`` elsewhere.

    Parameters
    ----------
    itemsize : int64
        One of `tape.kernels.copies.COPY_ITEMSIZES`.
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
    elif itemsize == 2:
        _select16(condition, x, x_stride, y, y_stride, count, out)
    elif itemsize == 16:
        _select_pairs(int8s(condition), x, x_stride, y, y_stride, count, out)
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


_select64, _select32, _select16, _select8 = map(
    _selector, (types.int64, types.int32, types.int16, types.int8)
)


@inner
def _select_pairs(chosen, x, x_stride, y, y_stride, count, out):  # type: ignore[no-untyped-def]
    xs, ys, outs = int64s(x), int64s(y), int64s(out)
    x_step, y_step = x_stride >> 3, y_stride >> 3
    one, two, other, another = xs[0], xs[1], ys[0], ys[1]  # before anything is written in their place
    for i in range(count):
        p, q = (xs[i * x_step], xs[i * x_step + 1]) if x_step else (one, two)
        r, s = (ys[i * y_step], ys[i * y_step + 1]) if y_step else (other, another)
        outs[2 * i], outs[2 * i + 1] = (p, q) if chosen[i] else (r, s)
