"""Selecting: the elements of rows that sorting would put at some positions, without sorting the rows.

A sample of a row gives two bounds that are most likely on either side of the element wanted. One pass counts
the elements below, at and between the bounds, and keeps those between, a few per cent, which are sorted by
NumPy's routine (Floyd and Rivest, "Expected time bounds for selection", 1975). Positions next to each other
share a pass. Where bounds turn out wrong, and in short rows, the whole row is sorted. NaN are last.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from tape.kernels.codes import FLOAT32, FLOAT64, INT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import call3, float32s, float64s, int32s, int64_at, int64s
from tape.kernels.selection import BLOCK

_SHORT = 512


"""Elements up to which it is faster to sort a row."""


_MOST_PASSES = 8


"""Passes over a row from which on it is faster to sort it."""


_C_INT = 0xFFFFFFFF


# Where the numbers of a window are: how many elements are below the lower bound, up to it, below the upper
# one, up to that; how many elements of the row are numbers. In the workspace, the two bounds come first, then
# the window, then the elements that are kept.
_BELOW, _FROM, _TO, _UPTO, _NUMBERS = range(5)


_WINDOW, _KEPT = 16, 64


_SINGLES = np.float32(-np.inf), np.float32(np.inf), np.float32(np.nan), np.float32(0)


_DOUBLES = -np.inf, np.inf, np.nan, 0.0


_INTS = np.int32(-(2**31)), np.int32(2**31 - 1), np.int32(0), np.int32(0)


_LONGS = np.int64(-(2**63)), np.int64(2**63 - 1), np.int64(0), np.int64(0)


"""The least number, the largest, NaN if there is one, and 0."""


@inner
def _sort_whole(numpy_sort, row, length, kept, kept_at, window):  # type: ignore[no-untyped-def]
    for k in range(length):
        kept[k] = row[k]
    window[_BELOW] = window[_FROM] = 0
    window[_TO] = window[_UPTO] = length
    return call3(numpy_sort, (kept_at, length, 0)) & _C_INT == 0


@inner
def _bracket(numpy_sort, row, length, k, low, high, kept, kept_at, bounds, window):  # type: ignore[no-untyped-def]
    """Find a window that has most likely the k-th of the elements that are numbers."""
    size, place, count = min(length, int(length ** (2 / 3)) + 1), 12345, 0
    step = length // size
    for i in range(size):  # one at random in each part of the row
        place = (place * 1103515245 + 12345) & 0x7FFFFFFF
        value = row[i * step + (place >> 8) % step]
        kept[count] = value
        count += value == value
    if not count or call3(numpy_sort, (kept_at, count, 0)) & _C_INT:
        return
    at, margin = k * count // window[_NUMBERS], int(2 * sqrt(count)) + 1
    lower = kept[at - margin] if at >= margin else low
    upper = kept[at + margin] if at + margin < count else high
    below = up_to = above = count = 0
    for start in range(0, length, BLOCK):
        stop = min(start + BLOCK, length)
        for i in range(start, stop):
            value = row[i]
            below += value < lower
            up_to += value <= lower
            above += value <= upper
        for i in range(start, stop):
            value = row[i]
            kept[count] = value
            count += (value > lower) & (value < upper)
    if call3(numpy_sort, (kept_at, count, 0)) & _C_INT:
        return
    bounds[0], bounds[1] = lower, upper
    window[_BELOW], window[_FROM], window[_TO], window[_UPTO] = below, up_to, up_to + count, above


@inner
def _first_of(kept, value, count):  # type: ignore[no-untyped-def]
    """Return where a value is first among sorted elements."""
    start, stop = 0, count
    while start < stop:
        middle = (start + stop) // 2
        if kept[middle] < value:
            start = middle + 1
        else:
            stop = middle
    return start


@inner
def _occurrence(row, length, value, is_nan, number):  # type: ignore[no-untyped-def]
    """Return where a value occurs for the n-th time, counted from 0; -1 if it does not."""
    for start in range(0, length, BLOCK):
        stop, count = min(start + BLOCK, length), 0
        for i in range(start, stop):
            count += row[i] == value
        if is_nan:
            count = 0
            for i in range(start, stop):
                count += row[i] != row[i]
        if number < count:
            for i in range(start, stop):
                if row[i] == value or (is_nan and row[i] != row[i]):
                    if number == 0:
                        return i
                    number -= 1
        number -= count
    return -1


@inner
def _count_numbers(row, length):  # type: ignore[no-untyped-def]
    count = 0
    for k in range(length):
        count += row[k] == row[k]
    return count


@inner
def _select(numpy_sort, row, length, numbers_of, at, count, kept, kept_at, bounds, window, out, places):  # type: ignore[no-untyped-def]
    """Select from a row: elements, or their places in the order of a stable sort; return 0 if it cannot."""
    low, high, nan, zero = numbers_of
    numbers, passes = _count_numbers(row, length), 0
    window[_NUMBERS] = numbers
    window[_BELOW] = window[_UPTO] = 0
    for c in range(count):
        k = at[c]
        if np.uint64(k) >= np.uint64(length):
            return 0
        is_nan = k >= numbers
        if not is_nan and (k < window[_BELOW] or k >= window[_UPTO]):
            if length > _SHORT and passes < _MOST_PASSES:
                _bracket(numpy_sort, row, length, k, low, high, kept, kept_at, bounds, window)
                passes += 1
            if k < window[_BELOW] or k >= window[_UPTO]:
                passes = _MOST_PASSES
                if not _sort_whole(numpy_sort, row, length, kept, kept_at, window):
                    return 0
        start, stop = window[_FROM], window[_TO]
        if is_nan:
            value, first = nan, numbers
        elif k < start:
            value, first = bounds[0], window[_BELOW]
        elif k < stop:
            value = kept[k - start]
            first = start + _first_of(kept, value, k - start) if places else k
        else:
            value, first = bounds[1], stop
        if places:
            place = _occurrence(row, length, value, is_nan, k - first)
            if place < 0:
                return 0
            int64s(places)[c] = place
        else:
            out[c] = value
    if not places:
        out[count] = nan if numbers < length else zero
    return 1


@inner
def _over_rows(numpy_sort, dtype, parameters, start, stop, x, at, workspace, out, finds):  # type: ignore[no-untyped-def]
    length, count, has_each = int64_at(parameters + 8), int64_at(parameters + 16), int64_at(parameters + 24)
    size = 8 if dtype in (FLOAT64, INT64) else 4
    window, kept = int64s(workspace + _WINDOW), workspace + _KEPT
    for a in range(start, stop):
        row, wanted = x + a * size * length, int64s(at + 8 * a * count * has_each)
        target = out if finds else out + a * size * (count + 1)
        places = out + 8 * a * count if finds else 0
        if dtype == FLOAT64:
            is_done = _select(
                numpy_sort, float64s(row), length, _DOUBLES, wanted, count, float64s(kept), kept,
                float64s(workspace), window, float64s(target), places,
            )  # fmt: skip
        elif dtype == FLOAT32:
            is_done = _select(
                numpy_sort, float32s(row), length, _SINGLES, wanted, count, float32s(kept), kept,
                float32s(workspace), window, float32s(target), places,
            )  # fmt: skip
        elif dtype == INT64:
            is_done = _select(
                numpy_sort, int64s(row), length, _LONGS, wanted, count, int64s(kept), kept,
                int64s(workspace), window, int64s(target), places,
            )  # fmt: skip
        else:
            is_done = _select(
                numpy_sort, int32s(row), length, _INTS, wanted, count, int32s(kept), kept,
                int32s(workspace), window, int32s(target), places,
            )  # fmt: skip
        if not is_done:
            return 0
    return 1


@inner
def _values(numpy_sort, dtype, parameters, start, stop, x, at, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out[a] = sort(x[a])[at[a]]``, and in one column more NaN if there is one in the row, else 0."""
    return _over_rows(numpy_sort, dtype, parameters, start, stop, x, at, workspace, out, False)


@inner
def _places(numpy_sort, dtype, parameters, start, stop, x, at, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out[a] = argsort(x[a], stable=True)[at[a]]``."""
    return _over_rows(numpy_sort, dtype, parameters, start, stop, x, at, workspace, out, True)


_BETWEEN, _EQUAL, _ABOVE, _NAN = range(4)


@inner
def _append(row, length, lower, has_lower, upper, which, block, out, count):  # type: ignore[no-untyped-def]
    """Append the positions of some elements; return how many there are then."""
    for start in range(0, length, BLOCK):
        stop, found = min(start + BLOCK, length), 0
        for i in range(start, stop):
            value = row[i]
            block[found] = i
            if which == _EQUAL:
                found += value == upper
            elif which == _NAN:
                found += value != value
            elif which == _ABOVE:
                found += (value > lower) | ((not has_lower) & (value == value))
            else:
                found += (value < upper) & ((value > lower) | (not has_lower))
        found = min(found, length - count)
        for i in range(found):
            out[count + i] = block[i]
        count += found
    return count


@inner
def _partition_row(row, length, pivots, count, block, out):  # type: ignore[no-untyped-def]
    """Order the positions of a row by pivots in ascending order; return 0 if some are missing."""
    done, lower, has_lower = 0, pivots[0], False
    for c in range(count):
        pivot = pivots[c]
        if pivot != pivot:
            break
        if not (has_lower and pivot <= lower):
            done = _append(row, length, lower, has_lower, pivot, _BETWEEN, block, out, done)
            done = _append(row, length, lower, has_lower, pivot, _EQUAL, block, out, done)
        lower, has_lower = pivot, True
    done = _append(row, length, lower, has_lower, lower, _ABOVE, block, out, done)
    if done < length:
        done = _append(row, length, lower, has_lower, lower, _NAN, block, out, done)
    return done == length


@inner
def _partition(blas, dtype, parameters, start, stop, x, pivots, z, workspace, out):  # type: ignore[no-untyped-def]
    """Order positions in rows: those of elements below the first pivot, equal to it, and so on; NaN last."""
    length, count = int64_at(parameters + 8), int64_at(parameters + 16)
    size, block = 8 if dtype in (FLOAT64, INT64) else 4, int64s(workspace)
    for a in range(start, stop):
        row, at, order = x + a * size * length, pivots + a * size * count, int64s(out + 8 * a * length)
        if dtype == FLOAT64:
            is_done = _partition_row(float64s(row), length, float64s(at), count, block, order)
        elif dtype == FLOAT32:
            is_done = _partition_row(float32s(row), length, float32s(at), count, block, order)
        elif dtype == INT64:
            is_done = _partition_row(int64s(row), length, int64s(at), count, block, order)
        else:
            is_done = _partition_row(int32s(row), length, int32s(at), count, block, order)
        if not is_done:
            return 0
    return 1


KERNELS = {"ranked": _values, "ranked_places": _places, "partition_order": _partition}
"""The functions of `tape.kernels.selection.KERNELS`."""
