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
from tape.kernels.pointers import _pointer_to as pointer_to

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
# For `_key`: what mirrors negative numbers, the bits of infinity, the largest integer.
_OF_FLOAT64 = (_MOST64, np.float64(np.inf).view(np.int64), _MOST64)
_OF_FLOAT32 = (_MOST32, np.float32(np.inf).view(np.int32), _MOST32)
_OF_INT64 = (np.int64(0), _MOST64, _MOST64)
_OF_INT32 = (np.int32(0), _MOST32, _MOST32)
_OF_BOOL = (np.int8(0), _MOST8, _MOST8)


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
    elif kind in (_ARGMAX, _ARGMIN):
        flip = -np.int64(kind == _ARGMIN)
        if dtype == _FLOAT64:
            _first_largest(_int64(source), before, reduced, after, _int64(out), _OF_FLOAT64, flip, np.int64)
        else:
            _first_largest(_int32(source), before, reduced, after, _int64(out), _OF_FLOAT32, flip, np.int32)
    else:
        flip = -np.int64(kind in (_MIN, _ALL))
        if dtype in (_FLOAT64, _INT64):
            coding = _OF_FLOAT64 if dtype == _FLOAT64 else _OF_INT64
            _largest(_int64(source), before, reduced, after, _int64(out), coding, flip, np.int64)
        elif dtype == _BOOL:
            _largest(_int8(source), before, reduced, after, _int8(out), _OF_BOOL, flip, np.int8)
        else:
            coding32 = _OF_FLOAT32 if dtype == _FLOAT32 else _OF_INT32
            _largest(_int32(source), before, reduced, after, _int32(out), coding32, flip, np.int32)


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
def _key(bits, coding, flip, integer):  # type: ignore[no-untyped-def]
    """An integer that is larger for a larger element, or with ``flip = -1`` for a smaller; NaN on top."""
    mirror, infinity, most = coding
    if (bits & most) > infinity:
        return most
    return integer(bits ^ ((bits >> 63) & mirror) ^ flip)


@inner
def _element(key, coding, flip, integer):  # type: ignore[no-untyped-def]
    """The bits that have this key."""
    bits = key ^ flip
    return integer(bits ^ ((bits >> 63) & coding[0]))


@inner
def _largest(x, before, reduced, after, out, coding, flip, integer):  # type: ignore[no-untyped-def]
    least = integer(~coding[2])
    for a in range(before):
        if after == 1:
            best = least
            for i in range(a * reduced, (a + 1) * reduced):
                key = _key(x[i], coding, flip, integer)
                best = key if key > best else best
            out[a] = best
        else:
            for b in range(a * after, (a + 1) * after):
                out[b] = least
            for r in range(reduced):
                row = (a * reduced + r) * after
                for b in range(after):
                    key, best = _key(x[row + b], coding, flip, integer), out[a * after + b]
                    out[a * after + b] = key if key > best else best
    for b in range(before * after):
        out[b] = _element(out[b], coding, flip, integer)


@inner
def _ranking(bits, coding, flip, integer):  # type: ignore[no-untyped-def]
    """The key, but the same for both zeros."""
    key = _key(bits, coding, flip, integer)
    return integer(key + (key == -1))


@inner
def _first_largest(x, before, reduced, after, out, coding, flip, integer):  # type: ignore[no-untyped-def]
    for a in range(before):
        if after == 1:
            best, first = integer(~coding[2]), a * reduced
            for start in range(a * reduced, (a + 1) * reduced, _BLOCK):
                largest = integer(~coding[2])
                for i in range(start, min(start + _BLOCK, (a + 1) * reduced)):
                    key = _ranking(x[i], coding, flip, integer)
                    largest = key if key > largest else largest
                if largest > best:
                    best, first = largest, start
            while first < (a + 1) * reduced - 1 and _ranking(x[first], coding, flip, integer) != best:
                first += 1
            out[a] = first - a * reduced
        else:
            for b in range(a * after, (a + 1) * after):
                out[b] = 0
            for r in range(1, reduced):
                for b in range(after):
                    row, place = a * reduced * after + b, a * after + b
                    key = _ranking(x[row + r * after], coding, flip, integer)
                    if key > _ranking(x[row + out[place] * after], coding, flip, integer):
                        out[place] = r
