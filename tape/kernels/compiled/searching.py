"""Searching in a sorted vector, and interpolation between its elements.

All positions of a search halve their intervals in step, so that their memory is read side by side. Intervals
are as long for all of them, whatever stands in the vector: no position leaves it.
"""

from __future__ import annotations

import numpy as np

from tape.kernels.codes import FLOAT32, FLOAT64, INT32, INT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import float32s, float64s, int8s, int32s, int64_at, int64s
from tape.kernels.searching import KEYS_OF_A_TASK

_FEW = 32  # elements that all keys are compared with


_SOME = 64  # keys whose intervals are halved in step


@inner
def _less(a, b):  # type: ignore[no-untyped-def]
    """NumPy's order: NaN comes last."""
    return (a < b) | ((b != b) & (a == a))


@inner
def _search(blas, dtype, parameters, start, stop, x, keys, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out[k] = searchsorted(x, keys[k])``."""
    length, count, is_right = (
        int64_at(parameters), int64_at(parameters + 8), int64_at(parameters + 16)
    )  # fmt: skip
    first, last, found = start * KEYS_OF_A_TASK, min(stop * KEYS_OF_A_TASK, count), int64s(out)
    if dtype == FLOAT64:
        _searched(float64s(x), length, 1, float64s(keys), first, last, is_right, found)
    elif dtype == FLOAT32:
        _searched(float32s(x), length, 1, float32s(keys), first, last, is_right, found)
    elif dtype == INT64:
        _searched(int64s(x), length, 1, int64s(keys), first, last, is_right, found)
    elif dtype == INT32:
        _searched(int32s(x), length, 1, int32s(keys), first, last, is_right, found)
    else:
        _searched(int8s(x), length, 1, int8s(keys), first, last, is_right, found)
    return 1


@inner
def _searched(x, length, step, keys, first, last, is_right, found):  # type: ignore[no-untyped-def]
    """Count the elements before each key: from the last one on if the step is -1."""
    begin = 0 if step == 1 else length - 1
    if length <= _FEW:
        _compared(x, begin, length, step, keys, first, last, is_right, found)
        return
    while first < last:
        some = min(_SOME, last - first)
        for k in range(first, first + some):
            found[k] = 0
        left = length
        while left > 1:
            half = left >> 1
            for k in range(first, first + some):
                element, key = x[begin + step * (found[k] + half - 1)], keys[k]
                is_before = _less(element, key) if is_right == 0 else not _less(key, element)
                found[k] += half if is_before else 0
            left -= half
        if left == 1:
            for k in range(first, first + some):
                element, key = x[begin + step * found[k]], keys[k]
                is_before = _less(element, key) if is_right == 0 else not _less(key, element)
                found[k] += 1 if is_before else 0
        first += some


@inner
def _compared(x, begin, length, step, keys, first, last, is_right, found):  # type: ignore[no-untyped-def]
    """Compare each key with all elements, which vector instructions do fastest for few of them."""
    while first < last:
        end = min(first + _SOME, last)
        for k in range(first, end):
            found[k] = 0
        for j in range(length):
            element = x[begin + step * j]
            if is_right == 0:
                for k in range(first, end):
                    found[k] += _less(element, keys[k])
            else:
                for k in range(first, end):
                    found[k] += 1 - _less(keys[k], element)
        first = end


@inner
def _digitize(blas, dtype, parameters, start, stop, x, keys, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out[k] = digitize(keys[k], x)``; 0 if the edges are in no order."""
    length, count, is_right = (
        int64_at(parameters), int64_at(parameters + 8), int64_at(parameters + 16)
    )  # fmt: skip
    first, last, found = start * KEYS_OF_A_TASK, min(stop * KEYS_OF_A_TASK, count), int64s(out)
    if dtype == FLOAT64:
        return _digitized(float64s(x), length, float64s(keys), first, last, is_right, found)
    if dtype == FLOAT32:
        return _digitized(float32s(x), length, float32s(keys), first, last, is_right, found)
    if dtype == INT64:
        return _digitized(int64s(x), length, int64s(keys), first, last, is_right, found)
    return _digitized(int32s(x), length, int32s(keys), first, last, is_right, found)


@inner
def _digitized(x, length, keys, first, last, is_right, found):  # type: ignore[no-untyped-def]
    way = _direction(x, length)
    if way == 0:
        return 0
    if way < 0 and _has_nan(x, length):
        _searched_in_turn(x, length, keys, first, last, 1 - is_right, found)
    else:
        _searched(x, length, way, keys, first, last, 1 - is_right, found)
    if way < 0:
        for k in range(first, last):
            found[k] = length - found[k]
    return 1


@inner
def _has_nan(x, length):  # type: ignore[no-untyped-def]
    for k in range(length):  # noqa: SIM110 (numba compiles no generators here)
        if x[k] != x[k]:
            return True
    return False


@inner
def _searched_in_turn(x, length, keys, first, last, is_right, found):  # type: ignore[no-untyped-def]
    """Search from the last element on as NumPy does, each key from where the one before it was found.

    Among NaN elements are in no order, though they never increase, and it is these steps that decide what is
    found: see ``binsearch`` in NumPy's ``npysort/binsearch.cpp``.
    """
    low, high = 0, length
    for k in range(last):
        key, before = keys[k], keys[max(k - 1, 0)]
        is_behind = _less(before, key) if is_right == 0 else not _less(key, before)
        if is_behind:
            high = length
        else:
            low, high = 0, min(high + 1, length)
        while low < high:
            middle = low + ((high - low) >> 1)
            element = x[length - 1 - middle]
            is_before = _less(element, key) if is_right == 0 else not _less(key, element)
            if is_before:
                low = middle + 1
            else:
                high = middle
        if k >= first:
            found[k] = low


@inner
def _direction(x, length):  # type: ignore[no-untyped-def]
    """1 if elements do not decrease, -1 if they do and never increase, else 0; all compared as doubles."""
    begin = 1
    while begin < length and float(x[begin]) == float(x[0]):
        begin += 1
    if begin >= length:
        return 1
    way = 1 if float(x[0]) < float(x[begin]) else -1
    for k in range(begin + 1, length):
        before, here = float(x[k - 1]), float(x[k])
        if (before > here and way > 0) or (before < here and way < 0):
            return 0
    return way


# ---- interpolation ---------------------------------------------------------------------------------------


@inner
def _on_line(x, x0, y0, x1, y1):  # type: ignore[no-untyped-def]
    """The line through two points, as `numpy.interp` computes it."""
    slope = (y1 - y0) / (x1 - x0)
    y = slope * (x - x0) + y0
    if np.isnan(y):
        y = slope * (x - x1) + y1
        if np.isnan(y) and y0 == y1:
            y = y0
    return y


@inner
def _interp(blas, dtype, parameters, start, stop, x, xp, fp, workspace, out):  # type: ignore[no-untyped-def]
    """``out[k] = interp(x[k], xp, fp)``."""
    count, length = int64_at(parameters), int64_at(parameters + 8)
    keys, knots, values, outs = float64s(x), float64s(xp), float64s(fp), float64s(out)
    places, end = int64s(out), length - 1
    first, last = start * KEYS_OF_A_TASK, min(stop * KEYS_OF_A_TASK, count)
    _searched(knots, length, 1, keys, first, last, 1, places)  # the number of knots up to each position
    for k in range(first, last):
        key, at = keys[k], min(max(places[k] - 1, 0), end)
        if key != key and length > 1:
            outs[k] = key
        elif key > knots[end]:
            outs[k] = values[end]
        elif key < knots[0]:
            outs[k] = values[0]
        elif at == end or knots[at] == key:
            outs[k] = values[at]
        else:
            outs[k] = _on_line(key, knots[at], values[at], knots[at + 1], values[at + 1])
    return 1


KERNELS = {"search": _search, "digitize": _digitize, "interp": _interp}
"""The functions of `tape.kernels.searching.KERNELS`."""
