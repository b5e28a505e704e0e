"""Copies between a contiguous array and a strided one, for compiled code: broadcasting, transposes, slices.

A strided array is an address, lengths, and strides in bytes, which may be negative or, where it is
read, zero. Elements are moved as integers of their size, whatever they are. Nothing is checked here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from tape.kernels._jit import inner
from tape.kernels.pointers import int64_at, pointer_to

__all__ = ["COPY_ITEMSIZES", "copy_plane", "load", "store"]

COPY_ITEMSIZES = (1, 4, 8)
"""Sizes of elements there are copies for, in bytes."""

_STRIP = 16  # columns of a transpose copied together: their cache lines stay in L1 from row to row


@inner
def load(source, itemsize, ndim, dims, strides, start, count, out):  # type: ignore[no-untyped-def]
    """Copy elements ``start`` to ``start + count`` in C order of a strided array to contiguous memory.

    Parameters
    ----------
    source : int64
        Address of the strided array's first element.
    itemsize : int64
        One of `COPY_ITEMSIZES`.
    ndim, dims, strides : int64
        Number of axes, and the addresses of their lengths and of their strides in bytes, int64 each.
    start, count : int64
        Which elements.
    out : int64
        Address of ``count`` elements.
    """
    _copy(source, itemsize, ndim, dims, strides, start, count, out, np.int64(1))


@inner
def store(source, itemsize, ndim, dims, strides, count, out):  # type: ignore[no-untyped-def]
    """Copy contiguous elements to the first ``count`` elements in C order of a strided array.

    Parameters are those of `load`, but the strided array is ``out``.
    """
    _copy(out, itemsize, ndim, dims, strides, np.int64(0), count, source, np.int64(0))


@inner
def _copy(strided, itemsize, ndim, dims, strides, start, count, dense, is_load):  # type: ignore[no-untyped-def]
    # The last three axes make a block of planes of rows of columns; dividing for each row would cost more
    # than copying a short one. Numbers for the flag and for 0: numba makes a copy for each literal.
    columns, rows, planes, step, row_step, plane_step = 1, 1, 1, itemsize, 0, 0
    if ndim > 0:
        columns, step = int64_at(dims + 8 * (ndim - 1)), int64_at(strides + 8 * (ndim - 1))
    if ndim > 1:
        rows, row_step = int64_at(dims + 8 * (ndim - 2)), int64_at(strides + 8 * (ndim - 2))
    if ndim > 2:
        planes, plane_step = int64_at(dims + 8 * (ndim - 3)), int64_at(strides + 8 * (ndim - 3))
    end = start + count
    while start < end:  # planes as far as they are whole, rows of a plane, a part of a row
        place, plane, row, column = strided, 0, 0, 0
        if start > 0:
            block, column = start // columns, start % columns
            block, row = block // rows, block % rows
            block, plane = block // planes, block % planes
            for axis in range(ndim - 4, -1, -1):
                length = int64_at(dims + 8 * axis)
                place += block % length * int64_at(strides + 8 * axis)
                block //= length
            place += plane * plane_step + row * row_step + column * step
        depth, height, width, left = 1, 1, columns, end - start
        if column > 0 or left < columns:
            width = min(columns - column, left)
        elif row > 0 or left < rows * columns:
            height = min(rows - row, left // columns)
        else:
            height = rows
            depth = (
                planes if left == planes * rows * columns else min(planes - plane, left // (rows * columns))
            )
        row_bytes = columns * itemsize
        for _ in range(depth):
            if is_load:
                source, source_row, source_step, out, out_row, out_step = (
                    place, row_step, step, dense, row_bytes, itemsize,
                )  # fmt: skip
            else:
                source, source_row, source_step, out, out_row, out_step = (
                    dense, row_bytes, itemsize, place, row_step, step,
                )  # fmt: skip
            copy_plane(itemsize, source, source_row, source_step, out, out_row, out_step, height, width)
            place += plane_step
            dense += height * width * itemsize
        start += depth * height * width


@inner
def copy_plane(  # type: ignore[no-untyped-def]
    itemsize, source, source_row, source_step, out, out_row, out_step, rows, columns
):
    """Copy ``rows`` by ``columns`` elements between two strided matrices.

    Parameters
    ----------
    itemsize : int64
        One of `COPY_ITEMSIZES`.
    source, source_row, source_step : int64
        Address of the first element, strides in bytes from row to row and from column to column.
    out, out_row, out_step : int64
        Likewise.
    rows, columns : int64
        Lengths.
    """
    if source_row == columns * source_step and out_row == columns * out_step:  # one long row
        rows, columns = 1, rows * columns
    if itemsize == 8:
        _copy_plane64(source, source_row, source_step, out, out_row, out_step, rows, columns)
    elif itemsize == 4:
        _copy_plane32(source, source_row, source_step, out, out_row, out_step, rows, columns)
    else:
        _copy_plane8(source, source_row, source_step, out, out_row, out_step, rows, columns)


def _plane_copier(kind: Any) -> Callable[..., None]:
    """`copy_plane` for elements of the size of this type."""
    view, itemsize = pointer_to(kind), kind.bitwidth // 8

    @inner
    def copy(source, source_row, source_step, out, out_row, out_step, rows, columns):  # type: ignore[no-untyped-def]
        if out_step == itemsize and source_step == itemsize:
            for i in range(rows):
                row, out_row_of = view(source + i * source_row), view(out + i * out_row)
                for j in range(columns):
                    out_row_of[j] = row[j]
            return
        if out_step == itemsize and source_step == 0:
            for i in range(rows):
                row, out_row_of = view(source + i * source_row), view(out + i * out_row)
                value = row[0]
                for j in range(columns):
                    out_row_of[j] = value
            return
        is_transposed = abs(source_row) < abs(source_step) or abs(out_row) < abs(out_step)
        strip = _STRIP if is_transposed else columns
        first = 0
        while first < columns:  # a range with a step that is not a constant could raise
            for i in range(rows):
                place, out_place = source + i * source_row, out + i * out_row
                for j in range(first, min(first + strip, columns)):
                    view(out_place + j * out_step)[0] = view(place + j * source_step)[0]
            first += strip

    return copy


_copy_plane64, _copy_plane32, _copy_plane8 = map(_plane_copier, (types.int64, types.int32, types.int8))
