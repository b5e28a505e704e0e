"""Adding to parts of an array, positions from several indices, and single numbers, for compiled code."""

from __future__ import annotations

import numpy as np

from tape.kernels.codes import NO_INTEGER
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import float32s, float64s, int8s, int32s, int64_at, int64s

_BEYOND = 2.0**63


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
    itemsize = 4 if dtype else 8
    columns, step = count, itemsize
    if ndim > 0:
        columns, step = int64_at(dims + 8 * (ndim - 1)), int64_at(strides + 8 * (ndim - 1))
    at = 0
    while at < count:
        row, left = out, at // columns
        for axis in range(ndim - 2, -1, -1):
            length = int64_at(dims + 8 * axis)
            row += left % length * int64_at(strides + 8 * axis)
            left //= length
        if dtype:
            x32, target32 = float32s(source + 4 * at), float32s(row)
            if step == 4:
                for k in range(columns):
                    target32[k] += x32[k]
            else:
                for k in range(columns):
                    float32s(row + k * step)[0] += x32[k]
        else:
            x, target = float64s(source + 8 * at), float64s(row)
            if step == 8:
                for k in range(columns):
                    target[k] += x[k]
            else:
                for k in range(columns):
                    float64s(row + k * step)[0] += x[k]
        at += columns


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
    before, positions, flat = int64s(so_far), int64s(index), int64s(out)
    least, outside = -length if flags & 1 else 0, 0
    for k in range(count):
        position = positions[k]  # read once: another thread may be writing there
        outside |= (position < least) | (position >= length)
        position += length if position < 0 else 0
        flat[k] = before[k] * length + position if flags & 2 else position
    return outside == 0


@inner
def read_integer(dtype, is_truth, address):  # type: ignore[no-untyped-def]
    """A number as an integer, or whether it is not 0; `NO_INTEGER` for floats that none of 64 bits is near.

    Parameters
    ----------
    dtype : int
        0 to 4: float64, float32, int64, bool, int32.
    is_truth : int
        1 for whether it is not 0.
    address : int
        Of the number.
    """
    if dtype == 0 or dtype == 1:
        number = float64s(address)[0] if dtype == 0 else np.float64(float32s(address)[0])
        if is_truth:
            return np.int64(number != 0)
        return np.int64(number) if abs(number) < _BEYOND else np.int64(NO_INTEGER)
    if dtype == 2:
        integer = int64s(address)[0]
    elif dtype == 3:
        integer = np.int64(int8s(address)[0] != 0)
    else:
        integer = np.int64(int32s(address)[0])
    return np.int64(integer != 0) if is_truth else integer
