"""Reductions of a contiguous (before, reduced, after) view to (before, after), for compiled code.

Largest and smallest elements are found among integers: the bits of a float, read as an integer and
mirrored below zero, are ordered as the floats are, and NaN can be put on top. So one loop serves
floats and integers, "max" and "min", and LLVM makes SIMD of it, which it does not of comparisons that
must propagate NaN. Rows of floats, and few columns of them, are compared as floats, by vectors.

Nothing is checked here: `has_fold` says what there is.
"""

from __future__ import annotations

import numpy as np

from tape.kernels.codes import BOOL, FLOAT32, FLOAT64, FOLDS
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import float32s, float64s, int8s, int32s, int64s
from tape.kernels.compiled.sums import NARROW, sum_elements
from tape.kernels.compiled.vectors import (
    VECTOR_BYTES,
    above,
    have_nan,
    highest,
    lanes,
    larger,
    load,
    multiply,
    spread,
    store,
)

_SUM, _PROD, _MAX, _MIN, _ANY, _ALL, _ARGMAX, _ARGMIN = FOLDS.values()


_SEARCHED = 128  # elements whose largest is found by SIMD before one of them is looked for


_MOST64, _MOST32 = np.int64(2**63 - 1), np.int32(2**31 - 1)
# Tables, by dtype or kind, for `_key`. Were these numbers chosen by conditions, LLVM would make a version
# of each loop for each of them, some without SIMD.
_MIRRORS = np.array([_MOST64, _MOST32, 0, 0, 0])
_INFINITIES = np.array(
    [np.float64(np.inf).view(np.int64), np.float32(np.inf).view(np.int32), _MOST64, 0, _MOST32]
)
_FLIPS = np.array([0, 0, 0, -1, 0, 0, 0, -1])
_ITEMSIZES = np.array([8, 4, 8, 1, 4])


@inner
def fold(kind, dtype, source, before, reduced, after, out):  # type: ignore[no-untyped-def]
    """Reduce the middle axis. Only sums, products, "any" and "all" may have ``reduced == 0``.

    Parameters
    ----------
    kind, dtype : int64
        Of `FOLDS` and `DTYPE_CODES`, a pair for which `has_fold` is true.
    source, out : int64
        Addresses of ``before * reduced * after`` and of ``before * after`` elements.
    before, reduced, after : int64
        Lengths.
    """
    if kind == _SUM:
        if dtype == FLOAT64:
            doubles = float64s(source)
            sum_elements(doubles, doubles, before, reduced, after, float64s(out), 0.0, 0.0)
        elif dtype == FLOAT32:
            floats = float32s(source)
            sum_elements(floats, floats, before, reduced, after, float32s(out), np.float32(0), 0.0)
        elif dtype == BOOL:
            _count(int8s(source), before, reduced, after, int64s(out))
        else:
            integers, zero = int64s(source), np.int64(0)
            sum_elements(integers, integers, before, reduced, after, int64s(out), zero, zero)
    elif kind == _PROD:
        if dtype == FLOAT64:
            _product(float64s(source), before, reduced, after, float64s(out), 1.0)
        else:
            _product(float32s(source), before, reduced, after, float32s(out), np.float32(1))
    elif _ANY <= kind <= _ALL:
        _search(int8s(source), before, reduced, after, int8s(out), np.int8(kind == _ALL))
    else:
        _extreme(kind, dtype, source, before, reduced, after, out)


# ---- counts, products, any and all -------------------------------------------------------------------


@inner
def _count(x, before, reduced, after, out):  # type: ignore[no-untyped-def]
    """How many bytes are not 0."""
    for a in range(before):
        if after == 1:
            count = np.int64(0)
            for i in range(a * reduced, (a + 1) * reduced):
                count += np.int64(x[i] != 0)
            out[a] = count
            continue
        for b in range(a * after, (a + 1) * after):
            out[b] = 0
        for r in range(reduced):
            row = (a * reduced + r) * after
            for b in range(after):
                out[a * after + b] += np.int64(x[row + b] != 0)


@inner
def _product(x, before, reduced, after, out, one):  # type: ignore[no-untyped-def]
    for a in range(before):
        if after == 1:
            total = one
            for i in range(a * reduced, (a + 1) * reduced):
                total *= x[i]
            out[a] = total
        else:
            for b in range(a * after, (a + 1) * after):
                out[b] = one
            for r in range(reduced):
                row = (a * reduced + r) * after
                for b in range(after):
                    out[a * after + b] *= x[row + b]


@inner
def _search(x, before, reduced, after, out, is_all):  # type: ignore[no-untyped-def]
    """Whether any byte is not 0, or with ``is_all == 1`` all are: "all" is that none is 0, turned twice."""
    for a in range(before):
        if after == 1:
            found = np.int8(0)
            for i in range(a * reduced, (a + 1) * reduced):
                found |= np.int8(x[i] != 0) ^ is_all
            out[a] = found ^ is_all
            continue
        for b in range(a * after, (a + 1) * after):
            out[b] = 0
        for r in range(reduced):
            row = (a * reduced + r) * after
            for b in range(after):
                out[a * after + b] |= np.int8(x[row + b] != 0) ^ is_all
        for b in range(a * after, (a + 1) * after):
            out[b] ^= is_all


# ---- largest and smallest elements ---------------------------------------------------------------


@inner
def _extreme(kind, dtype, source, before, reduced, after, out):  # type: ignore[no-untyped-def]
    mirror, infinity, flip, itemsize = _MIRRORS[dtype], _INFINITIES[dtype], _FLIPS[kind], _ITEMSIZES[dtype]
    mirror32, infinity32, flip32 = np.int32(mirror), np.int32(infinity), np.int32(flip)
    by_vectors = kind <= _MIN and (after == 1 or (after * itemsize >= VECTOR_BYTES and after <= NARROW))
    if by_vectors and dtype == FLOAT64:
        sign = 1.0 if kind == _MAX else -1.0
        _largest_floats(float64s(source), before, reduced, after, float64s(out), sign)
    elif by_vectors and dtype == FLOAT32:
        sign32 = np.float32(1) if kind == _MAX else np.float32(-1)
        _largest_floats(float32s(source), before, reduced, after, float32s(out), sign32)
    elif kind >= _ARGMAX:
        if dtype == FLOAT64:
            coding = (mirror, infinity, flip, _MOST64)
            _first_largest(int64s(source), before, reduced, after, int64s(out), coding, np.int64)
        else:
            coding32 = (mirror32, infinity32, flip32, _MOST32)
            _first_largest(int32s(source), before, reduced, after, int64s(out), coding32, np.int32)
    elif itemsize == 8:
        coding = (mirror, infinity, flip, _MOST64)
        _largest(int64s(source), before, reduced, after, int64s(out), coding, np.int64)
    else:
        coding32 = (mirror32, infinity32, flip32, _MOST32)
        _largest(int32s(source), before, reduced, after, int32s(out), coding32, np.int32)


@inner
def _largest_floats(x, before, reduced, after, out, sign):  # type: ignore[no-untyped-def]
    """Of elements times a sign, which is also that of the results."""
    if after > 1:
        _largest_of_columns(x, before, reduced, after, out, sign)
    elif reduced < lanes(x):
        for a in range(0, before, 4):  # the last row more than once, rather than a loop of its own
            b, c, d = min(a + 1, before - 1), min(a + 2, before - 1), min(a + 3, before - 1)
            p, q, r, s = x[a * reduced], x[b * reduced], x[c * reduced], x[d * reduced]
            p, q, r, s = sign * p, sign * q, sign * r, sign * s
            for i in range(1, reduced):
                p = larger(p, sign * x[a * reduced + i])
                q = larger(q, sign * x[b * reduced + i])
                r = larger(r, sign * x[c * reduced + i])
                s = larger(s, sign * x[d * reduced + i])
            out[a], out[b], out[c], out[d] = sign * p, sign * q, sign * r, sign * s
    else:
        _largest_of_rows(x, before, reduced, out, sign)


@inner
def _largest_of_rows(x, before, reduced, out, sign):  # type: ignore[no-untyped-def]
    width, signs = lanes(x), spread(sign)
    for a in range(before):
        i, last = a * reduced, (a + 1) * reduced - width
        p = load(x, last)
        found = have_nan(p, p)
        p = multiply(signs, p)
        if i + 4 * width < last:
            q = r = s = p
            while i + 4 * width < last:
                j, k, m, n = load(x, i), load(x, i + width), load(x, i + 2 * width), load(x, i + 3 * width)
                found |= have_nan(j, k) | have_nan(m, n)
                p, q = above(multiply(signs, j), p), above(multiply(signs, k), q)
                r, s = above(multiply(signs, m), r), above(multiply(signs, n), s)
                i += 4 * width
            p = above(above(p, q), above(r, s))
        while i < last:
            j = load(x, i)
            found |= have_nan(j, j)
            p = above(multiply(signs, j), p)
            i += width
        out[a] = sign * highest(p) if found == 0 else np.nan


@inner
def _largest_of_columns(x, before, reduced, after, out, sign):  # type: ignore[no-untyped-def]
    signs = spread(sign)
    for a in range(before):
        column = 0
        while column < after:
            column = min(column, after - lanes(x))  # the last vector may hold what another had
            i = a * reduced * after + column
            p = q = multiply(signs, load(x, i))
            for _ in range((reduced - 1) // 2):
                p = larger(p, multiply(signs, load(x, i + after)))
                q = larger(q, multiply(signs, load(x, i + 2 * after)))
                i += 2 * after
            if reduced % 2 == 0:
                p = larger(p, multiply(signs, load(x, i + after)))
            store(out, a * after + column, multiply(signs, larger(p, q)))
            column += lanes(x)


@inner
def _key(bits, coding, integer):  # type: ignore[no-untyped-def]
    """An integer that is larger for a larger element, or with ``flip == -1`` for a smaller; NaN on top."""
    mirror, infinity, flip, most = coding
    key = integer(bits ^ ((bits >> 63) & mirror) ^ flip)
    return most if (bits & most) > infinity else key


@inner
def _element(key, coding, integer):  # type: ignore[no-untyped-def]
    """The bits that have this key."""
    mirror, _, flip, _ = coding
    bits = key ^ flip
    return integer(bits ^ ((bits >> 63) & mirror))


@inner
def _largest(x, before, reduced, after, out, coding, integer):  # type: ignore[no-untyped-def]
    least = integer(~coding[3])
    for a in range(before):
        if after == 1:
            best = least
            for i in range(a * reduced, (a + 1) * reduced):
                key = _key(x[i], coding, integer)
                best = key if key > best else best
            out[a] = best
        else:
            for b in range(a * after, (a + 1) * after):
                out[b] = least
            for r in range(reduced):
                row = (a * reduced + r) * after
                for b in range(after):
                    key, best = _key(x[row + b], coding, integer), out[a * after + b]
                    out[a * after + b] = key if key > best else best
    for b in range(before * after):
        out[b] = _element(out[b], coding, integer)


@inner
def _ranking(bits, coding, integer):  # type: ignore[no-untyped-def]
    """The key, but the same for both zeros."""
    key = _key(bits, coding, integer)
    return integer(key + (key == -1))


@inner
def _first_largest(x, before, reduced, after, out, coding, integer):  # type: ignore[no-untyped-def]
    for a in range(before):
        if after == 1:
            best, first = integer(~coding[3]), a * reduced
            for start in range(a * reduced, (a + 1) * reduced, _SEARCHED):
                largest = integer(~coding[3])
                for i in range(start, min(start + _SEARCHED, (a + 1) * reduced)):
                    key = _ranking(x[i], coding, integer)
                    largest = key if key > largest else largest
                if largest > best:
                    best, first = largest, start
            while first < (a + 1) * reduced - 1 and _ranking(x[first], coding, integer) != best:
                first += 1
            out[a] = first - a * reduced
        else:
            for b in range(after):
                start, best, first = a * reduced * after + b, integer(~coding[3]), 0
                for r in range(reduced):
                    key = _ranking(x[start + r * after], coding, integer)
                    if key > best:
                        best, first = key, r
                out[a * after + b] = first
