"""Copies between a contiguous array and a strided one, for compiled code: broadcasting, transposes, slices.

A strided array is an address, lengths, and strides in bytes, which may be negative or, where it is
read, zero. Elements are moved as integers of their size, whatever they are. Nothing is checked here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from tape.kernels.compiled import vectors
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import int8s, int16s, int32s, int64_at, int64s, pointer_to, set_int64
from tape.kernels.compiled.tiles import turning

_WIDTH = vectors.VECTOR_BYTES
_REPEATED = 8 * _WIDTH  # bytes: short rows that repeat are copied so many bytes at a time
_FEW = 4  # rows and columns of a square that is transposed in registers
_STRIP = 16  # columns of a transpose copied together: their cache lines stay in L1 from row to row

_turn = turning(types.float64)


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
            height, depth = rows, planes - plane
            if left < depth * rows * columns:
                depth = left // (rows * columns)
        row_bytes = columns * itemsize
        is_flat = height <= 4 and depth > height  # planes of few rows: a row of all of them, then the next
        inner_rows, outer_rows = (depth, height) if is_flat else (height, depth)
        inner_step, outer_step = (plane_step, row_step) if is_flat else (row_step, plane_step)
        inner_bytes, outer_bytes = row_bytes, height * width * itemsize
        if is_flat:
            inner_bytes, outer_bytes = height * row_bytes, row_bytes
        first = dense
        for _ in range(outer_rows):
            if is_load:
                source, source_row, source_step, out, out_row, out_step = (
                    place, inner_step, step, dense, inner_bytes, itemsize,
                )  # fmt: skip
            else:
                source, source_row, source_step, out, out_row, out_step = (
                    dense, inner_bytes, itemsize, place, inner_step, step,
                )  # fmt: skip
            copy_plane(itemsize, source, source_row, source_step, out, out_row, out_step, inner_rows, width)
            place += outer_step
            dense += outer_bytes
        dense = first + depth * height * width * itemsize
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
    if out_step == itemsize and source_step == itemsize:
        size = columns * itemsize
        if source_row == 0 and out_row == size and 0 < size <= 4 * _WIDTH and rows * size > _REPEATED:
            once = _REPEATED // size  # rows that are repeated together
            _copy_rows(source, source_row, out, out_row, once, size)
            whole = rows // once
            _copy_rows(out, 0, out + once * size, once * size, whole - 1, once * size)
            done = whole * once
            _copy_rows(source, source_row, out + done * size, out_row, rows - done, size)
        else:
            _copy_rows(source, source_row, out, out_row, rows, size)
    elif source_step == 0 and out_step == itemsize == 8 == source_row and out_row == 8 * columns <= 32:
        _repeat_each(source, out, rows, columns)
    elif out_step == itemsize and source_step == 0 and itemsize != 16:
        _fill_rows(itemsize, source, source_row, out, out_row, rows, columns * itemsize)
    elif itemsize == 8:
        is_done = False
        if out_step == source_row == 8:
            is_done = _turn_plane(source, source_step, out, out_row, columns, rows)
        elif source_step == out_row == 8:
            is_done = _turn_plane(source, source_row, out, out_step, rows, columns)
        if not is_done:
            _copy_plane64(source, source_row, source_step, out, out_row, out_step, rows, columns)
    elif itemsize == 4:
        _copy_plane32(source, source_row, source_step, out, out_row, out_step, rows, columns)
    elif itemsize == 2:
        _copy_plane16(source, source_row, source_step, out, out_row, out_step, rows, columns)
    elif itemsize == 16:  # halves of elements
        _copy_plane64(source, source_row, source_step, out, out_row, out_step, rows, columns)
        _copy_plane64(source + 8, source_row, source_step, out + 8, out_row, out_step, rows, columns)
    else:
        _copy_plane8(source, source_row, source_step, out, out_row, out_step, rows, columns)


@inner
def _copy_rows(source, source_row, out, out_row, rows, size):  # type: ignore[no-untyped-def]
    """Rows of ``size`` bytes. Short ones are written without a loop, some of their bytes more than once."""
    if size > 4 * _WIDTH:
        for _ in range(rows):
            words, out_words = int64s(source), int64s(out)
            for i in range(size >> 3):
                out_words[i] = words[i]
            set_int64(out + size - 8, int64_at(source + size - 8))
            source += source_row
            out += out_row
    elif size >= _WIDTH:
        last = size - _WIDTH
        second, third = min(_WIDTH, last), min(2 * _WIDTH, last)
        for _ in range(rows):
            x, y = int8s(source), int8s(out)
            if size > 2 * _WIDTH:
                vectors.store(y, second, vectors.load(x, second))
                vectors.store(y, third, vectors.load(x, third))
            p, s = vectors.load(x, 0), vectors.load(x, last)
            vectors.store(y, 0, p)
            vectors.store(y, last, s)
            source += source_row
            out += out_row
    elif size >= 8:
        last = size - 8
        second, third = min(8, last), min(16, last)
        for _ in range(rows):
            if size > 16:
                set_int64(out + second, int64_at(source + second))
                set_int64(out + third, int64_at(source + third))
            first_word, last_word = int64_at(source), int64_at(source + last)
            set_int64(out, first_word)
            set_int64(out + last, last_word)
            source += source_row
            out += out_row
    elif size >= 4:
        for _ in range(rows):
            first_half, last_half = int32s(source)[0], int32s(source + size - 4)[0]
            int32s(out)[0], int32s(out + size - 4)[0] = first_half, last_half
            source += source_row
            out += out_row
    else:
        for _ in range(rows):
            for place in range(size):
                int8s(out + place)[0] = int8s(source + place)[0]
            source += source_row
            out += out_row


@inner
def _fill_rows(itemsize, source, source_row, out, out_row, rows, size):  # type: ignore[no-untyped-def]
    """Rows of ``size`` bytes, of one element each, repeated; written as `_copy_rows` does."""
    if size > 4 * _WIDTH:
        for _ in range(rows):
            word, out_words = _word(itemsize, source), int64s(out)
            for i in range(size >> 3):
                out_words[i] = word
            set_int64(out + size - 8, word)
            source += source_row
            out += out_row
    elif size >= _WIDTH:
        last = size - _WIDTH
        second, third = min(_WIDTH, last), min(2 * _WIDTH, last)
        for _ in range(rows):
            y, words = int8s(out), vectors.spread(_word(itemsize, source))
            vectors.store(y, 0, words)
            if size > 2 * _WIDTH:
                vectors.store(y, second, words)
                vectors.store(y, third, words)
            vectors.store(y, last, words)
            source += source_row
            out += out_row
    elif size >= 8:
        last = size - 8
        second, third = min(8, last), min(16, last)
        for _ in range(rows):
            word = _word(itemsize, source)
            set_int64(out, word)
            if size > 16:
                set_int64(out + second, word)
                set_int64(out + third, word)
            set_int64(out + last, word)
            source += source_row
            out += out_row
    else:
        for _ in range(rows):
            word, y = _word(itemsize, source), int8s(out)
            if size >= 4:
                int32s(out)[0] = int32s(out + size - 4)[0] = np.int32(word)
            else:
                for place in range(size):
                    y[place] = word
                    word >>= 8
            source += source_row
            out += out_row


@inner
def _repeat_each(source, out, rows, columns):  # type: ignore[no-untyped-def]
    """Each of ``rows`` words two to four times: loops without a loop inside, which LLVM makes SIMD of."""
    words, out_words = int64s(source), int64s(out)
    if columns == 2:
        for i in range(rows):
            out_words[2 * i] = out_words[2 * i + 1] = words[i]
    elif columns == 3:
        for i in range(rows):
            out_words[3 * i] = out_words[3 * i + 1] = out_words[3 * i + 2] = words[i]
    elif columns == 4:
        for i in range(rows):
            word = words[i]
            out_words[4 * i] = out_words[4 * i + 1] = out_words[4 * i + 2] = out_words[4 * i + 3] = word
    else:
        for i in range(rows):
            out_words[i] = words[i]


@inner
def _word(itemsize, source):  # type: ignore[no-untyped-def]
    """An element repeated to 8 bytes."""
    if itemsize == 8:
        return int64s(source)[0]
    if itemsize == 4:
        return (np.int64(int32s(source)[0]) & 0xFFFFFFFF) * 0x100000001
    if itemsize == 2:
        return (np.int64(int16s(source)[0]) & 0xFFFF) * 0x1000100010001
    return (np.int64(int8s(source)[0]) & 0xFF) * 0x101010101010101


@inner
def _turn_plane(source, source_row, out, out_row, rows, columns):  # type: ignore[no-untyped-def]
    """Transpose ``rows`` by ``columns`` words, where that takes less time than word by word; return whether.

    Squares that are not whole overlap the ones before them.
    """
    if min(rows, columns) >= _FEW:
        first = 0
        while first < rows:  # ranges with steps take divisions
            column, end = 0, min(first + _STRIP, rows)
            while column < columns:
                j, i = min(column, columns - _FEW), first
                while i < end:
                    row = min(i, rows - _FEW)
                    place, out_place = source + row * source_row, out + j * out_row
                    _turn(place + 8 * j, source_row, out_place + 8 * row, out_row)
                    i += _FEW
                column += _FEW
            first += _STRIP
    elif 1 < columns < _FEW and source_row == 8 * columns:
        _split(source, out, out_row, rows, columns)
    elif 1 < rows < _FEW and out_row == 8 * rows:
        _join(source, source_row, out, columns, rows)
    else:
        return False
    return True


@inner
def _split(source, out, out_row, count, parts):  # type: ignore[no-untyped-def]
    """Words in groups of two or three: the first ones of all groups, then the second ones, and so on."""
    words, first, second = int64s(source), int64s(out), int64s(out + out_row)
    if parts == 2:
        for i in range(count):
            first[i], second[i] = words[2 * i], words[2 * i + 1]
    else:
        third = int64s(out + 2 * out_row)
        for i in range(count):
            first[i], second[i], third[i] = words[3 * i], words[3 * i + 1], words[3 * i + 2]


@inner
def _join(source, source_row, out, count, parts):  # type: ignore[no-untyped-def]
    """Groups of two or three words, from the first ones of all groups, the second ones, and so on."""
    words, first, second = int64s(out), int64s(source), int64s(source + source_row)
    if parts == 2:
        for i in range(count):
            words[2 * i], words[2 * i + 1] = first[i], second[i]
    else:
        third = int64s(source + 2 * source_row)
        for i in range(count):
            words[3 * i], words[3 * i + 1], words[3 * i + 2] = first[i], second[i], third[i]


def _plane_copier(kind: Any) -> Callable[..., None]:
    """`copy_plane` for elements of the size of this type, any of whose steps may be other than that."""
    view = pointer_to(kind)

    @inner
    def copy(source, source_row, source_step, out, out_row, out_step, rows, columns):  # type: ignore[no-untyped-def]
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


_copy_plane64, _copy_plane32, _copy_plane16, _copy_plane8 = map(
    _plane_copier, (types.int64, types.int32, types.int16, types.int8)
)
