"""Reductions of a contiguous (before, reduced, after) view to (before, after), for compiled code.

Largest and smallest elements are found among integers: the bits of a float, read as an integer and
mirrored below zero, are ordered as the floats are, and NaN can be put on top. So one loop serves
floats and integers, "max" and "min", and LLVM makes SIMD of it, which it does not of comparisons that
must propagate NaN.

Nothing is checked here: `has_fold` says what there is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from tape.kernels._jit import inner
from tape.kernels.pointers import pointer_to

__all__ = ["DTYPE_CODES", "FOLDS", "fold", "has_fold"]

_SUM, _PROD, _MAX, _MIN, _ANY, _ALL, _ARGMAX, _ARGMIN = range(8)
FOLDS = {
    "sum": _SUM, "prod": _PROD, "max": _MAX, "min": _MIN, "any": _ANY, "all": _ALL,
    "argmax": _ARGMAX, "argmin": _ARGMIN,
}  # fmt: skip
"""The first argument of `fold`."""

_FLOAT64, _FLOAT32, _INT64, _BOOL, _INT32 = range(5)
DTYPE_CODES = {
    np.dtype(np.float64): _FLOAT64,
    np.dtype(np.float32): _FLOAT32,
    np.dtype(np.int64): _INT64,
    np.dtype(np.bool_): _BOOL,
    np.dtype(np.int32): _INT32,
}
"""What kernels call the dtypes they know."""

_SUPPORTED = {
    "sum": (np.float64, np.float32, np.int64),
    "prod": (np.float64, np.float32),
    "max": (np.float64, np.float32, np.int64, np.int32),
    "min": (np.float64, np.float32, np.int64, np.int32),
    "any": (np.bool_,),
    "all": (np.bool_,),
    "argmax": (np.float64, np.float32),
    "argmin": (np.float64, np.float32),
}

_BLOCK = 512  # elements added in their own dtype before the total, in float64, takes them up
_SEARCHED = 128  # elements whose largest is found by SIMD before one of them is looked for

_float64, _float32 = pointer_to(types.float64), pointer_to(types.float32)
_int64, _int32, _int8 = pointer_to(types.int64), pointer_to(types.int32), pointer_to(types.int8)


def has_fold(kind: str, dtype: Any) -> bool:
    """Whether `fold` does this reduction of this dtype.

    Parameters
    ----------
    kind : str
        A NumPy function: "sum", "max", "argmax", ...
    dtype : dtype_like
        Of the elements. "sum", "prod", "max" and "min" keep it, "any" and "all" are of bool, "argmax"
        and "argmin" make int64.

    Examples
    --------
    >>> from tape.kernels.folds import has_fold
    >>> has_fold("sum", "float32"), has_fold("sum", "float16"), has_fold("median", "float32")
    (True, False, False)
    """
    return np.dtype(dtype) in _SUPPORTED.get(kind, ())


_MOST64, _MOST32, _MOST8 = np.int64(2**63 - 1), np.int32(2**31 - 1), np.int8(127)
# Tables, by dtype or kind, for `_key`. Were these numbers chosen by conditions, LLVM would make a version
# of each loop for each of them, some without SIMD.
_MIRRORS = np.array([_MOST64, _MOST32, 0, 0, 0])
_INFINITIES = np.array(
    [np.float64(np.inf).view(np.int64), np.float32(np.inf).view(np.int32), _MOST64, _MOST8, _MOST32]
)
_FLIPS = np.array([0, 0, 0, -1, 0, -1, 0, -1])
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
        if dtype == _FLOAT64:
            _sum(_float64(source), before, reduced, after, _float64(out), 0.0, 0.0)
        elif dtype == _FLOAT32:
            _sum(_float32(source), before, reduced, after, _float32(out), np.float32(0), 0.0)
        else:
            _sum(_int64(source), before, reduced, after, _int64(out), np.int64(0), np.int64(0))
    elif kind == _PROD:
        if dtype == _FLOAT64:
            _product(_float64(source), before, reduced, after, _float64(out), 1.0)
        else:
            _product(_float32(source), before, reduced, after, _float32(out), np.float32(1))
    else:
        _extreme(kind, dtype, source, before, reduced, after, out)


# ---- sums and products ---------------------------------------------------------------------------


@inner
def _sum(x, before, reduced, after, out, zero, wide_zero):  # type: ignore[no-untyped-def]
    for a in range(before):
        if after == 1:
            total = wide_zero
            for start in range(a * reduced, (a + 1) * reduced, _BLOCK):
                part = zero
                for i in range(start, min(start + _BLOCK, (a + 1) * reduced)):
                    part += x[i]
                total += part
            out[a] = total
        else:
            for b in range(a * after, (a + 1) * after):
                out[b] = zero
            for r in range(reduced):
                row = (a * reduced + r) * after
                for b in range(after):
                    out[a * after + b] += x[row + b]


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


# ---- largest and smallest elements ---------------------------------------------------------------


@inner
def _extreme(kind, dtype, source, before, reduced, after, out):  # type: ignore[no-untyped-def]
    mirror, infinity, flip, itemsize = _MIRRORS[dtype], _INFINITIES[dtype], _FLIPS[kind], _ITEMSIZES[dtype]
    mirror32, infinity32, flip32 = np.int32(mirror), np.int32(infinity), np.int32(flip)
    if kind >= _ARGMAX:
        if dtype == _FLOAT64:
            coding = (mirror, infinity, flip, _MOST64)
            _first_largest(_int64(source), before, reduced, after, _int64(out), coding, np.int64)
        else:
            coding32 = (mirror32, infinity32, flip32, _MOST32)
            _first_largest(_int32(source), before, reduced, after, _int64(out), coding32, np.int32)
    elif itemsize == 8:
        coding = (mirror, infinity, flip, _MOST64)
        _largest(_int64(source), before, reduced, after, _int64(out), coding, np.int64)
    elif itemsize == 1:
        coding8 = (np.int8(mirror), np.int8(infinity), np.int8(flip), _MOST8)
        _largest(_int8(source), before, reduced, after, _int8(out), coding8, np.int8)
    else:
        coding32 = (mirror32, infinity32, flip32, _MOST32)
        _largest(_int32(source), before, reduced, after, _int32(out), coding32, np.int32)


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
