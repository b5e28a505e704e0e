"""Products of matrices, in tiles of a few rows and vectors whose sums stay in registers.

A tile reads numbers of the first factor wherever they are, and rows of the second one as they lie, masked
where they end, if they are close together. Otherwise, and where the second factor is transposed, a panel of
its columns is packed at a time. BLAS packs both, which few rows are not worth. What is added to a product, in
place or broadcast from elsewhere, is added in registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from tape.kernels.codes import FLOAT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.blas import PLAIN, TURNED, gemm, set_scales
from tape.kernels.compiled.pointers import bits_as_float64, float32s, float64s, int64_at
from tape.kernels.compiled.tiles import VECTOR_BYTES, tile, turning
from tape.kernels.matrices import (
    APART,
    COLUMNS_OF_A_TASK,
    FAR_APART,
    IN_PLACE,
    ROWS_OF_A_TASK,
    ROWS_WORTH_PACKING,
)

HAS_MANY_REGISTERS = VECTOR_BYTES == 64
"""Whether there are 32 vector registers rather than 16: AVX-512 has."""

_LINE = 64  # bytes of the cache
_CACHED = 1 << 19
"""Bytes of the first factor that stay in the second cache from one panel to the next."""


def _product(name: str, number: Any, numbers: Any, as_number: Any) -> Any:
    """The kernel for one dtype; see `product_parameters`."""
    size = number.bitwidth // 8
    lanes, half = VECTOR_BYTES // size, VECTOR_BYTES // size // 2
    wide, uneven = (tile(number, 4, (VECTOR_BYTES, last)) for last in (VECTOR_BYTES, VECTOR_BYTES // 2))
    tall = tile(number, 8, (VECTOR_BYTES, VECTOR_BYTES)) if HAS_MANY_REGISTERS else wide
    narrow, slim = (tile(number, 8, (last,)) for last in (VECTOR_BYTES, VECTOR_BYTES // 2))
    long = tile(number, 1, (VECTOR_BYTES,) * 4)
    turn = turning(number)

    @inner
    def pack(b, b_row, b_column, k, count, out):  # type: ignore[no-untyped-def]
        """Write columns as rows without gaps; those of the factor lie as its strides say."""
        if b_column == size:
            for i in range(k):
                source, target = numbers(b + i * b_row), numbers(out + i * count * size)
                for j in range(count):
                    target[j] = source[j]
            return
        wholes = count - count % 4 if b_row == size else 0
        ends = k - k % 4 if wholes else 0
        for first in range(0, ends, _LINE // size):  # of columns that may be a page apart, a line at a time
            for j in range(0, wholes, 4):
                for i in range(first, min(first + _LINE // size, ends), 4):
                    turn(b + i * b_row + j * b_column, b_column, out + (i * count + j) * size, count * size)
        for i in range(k):
            for j in range(wholes if i < ends else 0, count):
                numbers(out + (i * count + j) * size)[0] = numbers(b + i * b_row + j * b_column)[0]

    @inner
    def panel(  # type: ignore[no-untyped-def]
        columns, m, k, a, a_row, a_column, b, b_row, out, out_row, total, total_row, total_column, factor
    ):  # fmt: skip
        """Compute columns that are as many as a tile has."""
        step = 1 if columns > 2 * lanes else 4 if columns > lanes else 8
        is_tall = HAS_MANY_REGISTERS and lanes + half < columns <= 2 * lanes
        i = 0
        while i < m:  # a range divides, which takes as long as a small product
            left, there, count = a + i * a_row, out + i * out_row, step
            added = total + i * total_row if total else 0
            if is_tall and i + 8 <= m:
                tall(8, k, left, a_row, a_column, b, b_row, there, out_row, added, total_row, total_column,
                     columns - lanes, factor)  # fmt: skip
                count = 8
            elif step == 1:
                long(m - i, k, left, a_row, a_column, b, b_row, there, out_row, added, total_row,
                     total_column, columns - 3 * lanes, factor)  # fmt: skip
            elif columns > lanes + half:
                wide(m - i, k, left, a_row, a_column, b, b_row, there, out_row, added, total_row,
                     total_column, columns - lanes, factor)  # fmt: skip
            elif columns > lanes:
                uneven(m - i, k, left, a_row, a_column, b, b_row, there, out_row, added, total_row,
                       total_column, columns - lanes, factor)  # fmt: skip
            elif columns > half:
                narrow(m - i, k, left, a_row, a_column, b, b_row, there, out_row, added, total_row,
                       total_column, columns, factor)  # fmt: skip
            else:
                slim(m - i, k, left, a_row, a_column, b, b_row, there, out_row, added, total_row,
                     total_column, columns, factor)  # fmt: skip
            i += count

    @inner
    def panels(  # type: ignore[no-untyped-def]
        m, n, k, a, a_row, a_column, b, b_row, b_column, out, out_row, total, total_row, total_column, factor,
        workspace,
    ):  # fmt: skip
        while n > 0:
            columns = min(n, 4 * lanes if m == 1 and n > 3 * lanes else 2 * lanes)
            right, right_row = b, b_row
            if b_column != size or (m >= ROWS_WORTH_PACKING and b_row >= FAR_APART):
                pack(b, b_row, b_column, k, columns, workspace)
                right, right_row = workspace, columns * size
            panel(columns, m, k, a, a_row, a_column, right, right_row, out, out_row, total, total_row,
                  total_column, factor)  # fmt: skip
            n -= columns
            b += columns * b_column
            out += columns * size
            total += columns * total_column if total else 0

    def product(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
        at = parameters
        inner_length, m, n = int64_at(at + 8), int64_at(at + 16), int64_at(at + 24)
        k, adds = int64_at(at + 32), int64_at(at + 40)
        bits = int64_at(at + 48) | int64_at(at + 56) << 22 | int64_at(at + 64) << 44
        factor = as_number(bits_as_float64(bits))
        at += 72  # strides, in elements
        down = (m + ROWS_OF_A_TASK - 1) // ROWS_OF_A_TASK
        blocks = down * ((n + COLUMNS_OF_A_TASK - 1) // COLUMNS_OF_A_TASK)
        cached = max(1, _CACHED // (ROWS_OF_A_TASK * k * size))
        task = start
        while task < stop:
            matrix, row, column, together = task, 0, 0, 1
            if blocks > 1:  # each division takes as long as a small product
                matrix, block = task // blocks, task % blocks
                row, column = block % down * ROWS_OF_A_TASK, block // down * COLUMNS_OF_A_TASK
                together = min(cached, min(stop - task, down - block % down))  # with columns packed once
            i, j = matrix // inner_length, matrix % inner_length
            a = x + size * (i * int64_at(at) + j * int64_at(at + 8) + row * int64_at(at + 16))
            b = y + size * (i * int64_at(at + 32) + j * int64_at(at + 40) + column * int64_at(at + 56))
            c = out + size * (
                i * int64_at(at + 64) + j * int64_at(at + 72) + row * int64_at(at + 80) + column
            )
            d, d_row, d_column = 0, 0, 0
            if adds == IN_PLACE:
                d, d_row, d_column = c, size * int64_at(at + 80), size
            elif adds == APART:
                d = z + size * (i * int64_at(at + 96) + j * int64_at(at + 104))
                d_row, d_column = size * int64_at(at + 112), size * int64_at(at + 120)
                d += row * d_row + column * d_column
            panels(
                min(together * ROWS_OF_A_TASK, m - row), min(COLUMNS_OF_A_TASK, n - column), k, a,
                size * int64_at(at + 16), size * int64_at(at + 24), b, size * int64_at(at + 48),
                size * int64_at(at + 56), c, size * int64_at(at + 80), d, d_row, d_column, factor, workspace,
            )  # fmt: skip
            task += together
        return 1

    product.__qualname__ = name  # code of one name, though of two processes, would be taken for the same
    return inner(product)


@inner
def product_by_rows(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """The same by BLAS, so many rows at a time; it sees the transposes, in reverse order."""
    at, size = parameters, 8 if dtype == FLOAT64 else 4
    inner_length, m, n, k = int64_at(at + 8), int64_at(at + 16), int64_at(at + 24), int64_at(at + 32)
    bits = int64_at(at + 48) | int64_at(at + 56) << 22 | int64_at(at + 64) << 44
    set_scales(size, workspace, bits_as_float64(bits), 1.0 if int64_at(at + 40) == IN_PLACE else 0.0)
    rows = int64_at(at + 200)
    at += 72  # strides, in elements
    a_row, a_column = int64_at(at + 16), int64_at(at + 24)
    b_row, b_column, out_row = int64_at(at + 48), int64_at(at + 56), int64_at(at + 80)
    is_a_plain, is_b_plain = a_column == 1 and a_row >= k, b_column == 1 and b_row >= n
    lda, ldb = a_row if is_a_plain else a_column, b_row if is_b_plain else b_column
    letters = (PLAIN if is_b_plain else TURNED) | (PLAIN if is_a_plain else TURNED) << 8
    blocks = (m + rows - 1) // rows
    for task in range(start, stop):
        matrix, row = task // blocks, task % blocks * rows
        i, j = matrix // inner_length, matrix % inner_length
        a = x + size * (i * int64_at(at) + j * int64_at(at + 8) + row * a_row)
        b = y + size * (i * int64_at(at + 32) + j * int64_at(at + 40))
        c = out + size * (i * int64_at(at + 64) + j * int64_at(at + 72) + row * out_row)
        gemm(blas, workspace, letters, n, min(rows, m - row), k, b, ldb, a, lda, c, out_row, 1)
    return 1


KERNELS = {
    "product_by_rows": product_by_rows,
    "product_of_doubles": _product("product_of_doubles", types.float64, float64s, np.float64),
    "product_of_singles": _product("product_of_singles", types.float32, float32s, np.float32),
}
"""The functions of `tape.kernels.matrices.KERNELS`."""
