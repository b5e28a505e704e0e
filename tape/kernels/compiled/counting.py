"""Counting numbers, sums of weights by number, places of what is true, and runs of equal elements.

How long their results are depends on data. They are told a length, which a guard of the program compares with
the right one afterwards: until then all they have to do is to stay inside of it.
"""

from __future__ import annotations

import numpy as np

from tape.kernels.codes import FLOAT32, FLOAT64, INT32, INT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import float32s, float64s, int8s, int32s, int64_at, int64s
from tape.kernels.counting import MOST


@inner
def _count(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out = bincount(x)`` up to a length; 0 for a number that is negative, or too large."""
    count, length = int64_at(parameters), int64_at(parameters + 8)
    numbers, counts = int64s(x), int64s(out)
    if start == stop:
        return 1
    for k in range(length):
        counts[k] = 0
    for k in range(count):
        number = numbers[k]
        if number < 0 or number > MOST:
            return 0
        if number < length:
            counts[number] += 1
    return 1


@inner
def _weigh(blas, dtype, parameters, start, stop, weights, x, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out = bincount(x, weights)`` up to a length; 0 for a number that is negative, or too large."""
    count, length = int64_at(parameters), int64_at(parameters + 8)
    numbers, parts, sums = int64s(x), float64s(weights), float64s(out)
    if start == stop:
        return 1
    for k in range(length):
        sums[k] = 0.0
    for k in range(count):
        number = numbers[k]
        if number < 0 or number > MOST:
            return 0
        if number < length:
            sums[number] += parts[k]
    return 1


@inner
def _places(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out = flatnonzero(x)`` up to a length, filled up with zeros; 0 if it must be as long, and is not."""
    size, length, is_strict = int64_at(parameters), int64_at(parameters + 8), int64_at(parameters + 16)
    flags, places = int8s(x), int64s(out)
    if start == stop:
        return 1
    at = 0
    for k in range(size):
        if flags[k] != 0:
            if at < length:
                places[at] = k
            at += 1
    for k in range(at, length):
        places[k] = 0
    return 1 if at == length or is_strict == 0 else 0


@inner
def _runs(blas, dtype, parameters, start, stop, x, order, z, workspace, out):  # type: ignore[no-untyped-def]
    """Of a vector and the order that sorts it: how many runs of equal elements there are; for each element
    the number of its run; for each run the first position in the order, and its length. Zeros fill up.
    """
    size, merges = int64_at(parameters), int64_at(parameters + 8)
    if start == stop:
        return 1
    if dtype == FLOAT64:
        return _runs_of(float64s(x), int64s(order), size, merges, out)
    if dtype == FLOAT32:
        return _runs_of(float32s(x), int64s(order), size, merges, out)
    if dtype == INT64:
        return _runs_of(int64s(x), int64s(order), size, merges, out)
    if dtype == INT32:
        return _runs_of(int32s(x), int64s(order), size, merges, out)
    return _runs_of(int8s(x), int64s(order), size, merges, out)


@inner
def _runs_of(x, order, size, merges, out):  # type: ignore[no-untyped-def]
    number, firsts = int64s(out + 8), int64s(out + 8 + 8 * size)
    counts = int64s(out + 8 + 16 * size)
    for k in range(size):
        number[k] = 0
        counts[k] = 0
        firsts[k] = 0
    at, before = -1, x[0]
    for k in range(size):
        place = order[k]
        if np.uint64(place) >= np.uint64(size):
            return 0
        here = x[place]
        is_same = (here == before) | ((here != here) & (before != before) & (merges != 0))
        if k == 0 or not is_same:
            at += 1
            firsts[at] = place
        number[place] = at
        counts[at] += 1
        before = here
    int64s(out)[0] = at + 1
    return 1


KERNELS = {"count": _count, "weigh": _weigh, "places": _places, "runs": _runs}
"""The functions of `tape.kernels.counting.KERNELS`."""
