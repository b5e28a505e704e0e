"""Adding to parts of an array, positions from several indices, and single numbers, for compiled code."""

from __future__ import annotations

import numpy as np

from tape.kernels._jit import inner
from tape.kernels.pointers import array_at

__all__ = ["add_store", "ravel_index", "read_integer"]

_float64, _float32 = array_at(np.float64), array_at(np.float32)
_int64, _int32, _bool = array_at(np.int64), array_at(np.int32), array_at(np.int8)


@inner
def add_store(source, dtype, ndim, dims, strides, count, out):  # type: ignore[no-untyped-def]
    """Add a contiguous source to a strided part of an array.

    Parameters
    ----------
    source, out : int
        Addresses; of the first element of the part.
    dtype : int
        0 for float64, 1 for float32.
    ndim : int
        Of the part.
    dims, strides : int
        Addresses of int64 tables; strides in bytes.
    count : int
        Elements in all.
    """
    if dtype == 0:
        _add_part(_float64(source, count), _float64, 8, ndim, dims, strides, count, out)
    else:
        _add_part(_float32(source, count), _float32, 4, ndim, dims, strides, count, out)


@inner
def _add_part(x, view, itemsize, ndim, dims, strides, count, out):  # type: ignore[no-untyped-def]
    lengths, steps = _int64(dims, ndim), _int64(strides, ndim)
    last = lengths[ndim - 1] if ndim else 1
    step = steps[ndim - 1] if ndim else itemsize
    at = 0
    while at < count:
        row = out
        left = at // last
        for axis in range(ndim - 2, -1, -1):
            row += (left % lengths[axis]) * steps[axis]
            left //= lengths[axis]
        if step == itemsize:
            target = view(row, last)
            for k in range(last):
                target[k] += x[at + k]
        else:
            for k in range(last):
                view(row + k * step, 1)[0] += x[at + k]
        at += last


@inner
def ravel_index(count, length, flags, so_far, index, out):  # type: ignore[no-untyped-def]
    """``out = so_far * length + index``, for positions along one more axis; False if one is out of range.

    Parameters
    ----------
    count, length : int
        How many positions; how long the axis is.
    flags : int
        1: negative positions count from the end; 2: there are earlier axes.
    so_far, index, out : int
        Addresses of int64 arrays.
    """
    before, x, result = _int64(so_far, count), _int64(index, count), _int64(out, count)
    for k in range(count):
        i = x[k]
        if i < 0 and flags & 1:
            i += length
        if not 0 <= i < length:
            return False
        result[k] = before[k] * length + i if flags & 2 else i
    return True


@inner
def read_integer(dtype, is_truth, address):  # type: ignore[no-untyped-def]
    """A number as an integer, or whether it is not 0.

    Parameters
    ----------
    dtype : int
        0 to 4: float64, float32, int64, bool, int32.
    is_truth : int
        1 for whether it is not 0.
    address : int
        Of the number.
    """
    if dtype == 2:
        number = float(_int64(address, 1)[0]) if is_truth else 0.0
        integer = _int64(address, 1)[0]
    elif dtype == 3:
        integer = int(_bool(address, 1)[0])
        number = float(integer)
    elif dtype == 4:
        integer = int(_int32(address, 1)[0])
        number = float(integer)
    else:
        number = _float64(address, 1)[0] if dtype == 0 else float(_float32(address, 1)[0])
        integer = int(number)
    if is_truth:
        return 1 if number != 0 else 0
    return integer
