"""Sums with weights that repeat along some axes, of an array or of products of matrices: in tiles.

A tile reads weights once for several rows. No product is written to memory, and none of the weights again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from tape.kernels.codes import FLOAT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import int64_at
from tape.kernels.compiled.tiles import VECTOR_BYTES, TileOfVectors, TileOfWeightedProducts, tile
from tape.kernels.kernel import PARTIAL

_ROWS = 4
_ROWS_OF_PRODUCTS = 3  # coordinates of points, mostly


def _sums(number: Any, one: Any) -> Any:
    size, widths = number.bitwidth // 8, (VECTOR_BYTES, VECTOR_BYTES)
    wide, narrow = (tile(number, _ROWS, of, TileOfVectors) for of in (widths, widths[:1]))
    lanes = VECTOR_BYTES // size

    @inner
    def sums(rows, columns, length, x, x_row, x_step, y, out):  # type: ignore[no-untyped-def]
        """``out[j, :] = sum(x[j, :, :] * y)``, over the first axis of ``y``; strides of ``x`` are given."""
        row = columns * size
        for at in range(0, length, PARTIAL):
            some = min(PARTIAL, length - at)
            for first in range(0, row, 2 * lanes * size):
                width, j = min(2 * lanes, columns - first // size), 0
                while j < rows:
                    left, right = x + j * x_row + at * x_step + first, y + at * row + first
                    there = out + j * row + first
                    total = there if at else 0
                    if width > lanes:
                        wide(rows - j, some, left, x_row, x_step, right, row, there, row, total, row, size,
                             width - lanes, one)  # fmt: skip
                    else:
                        narrow(rows - j, some, left, x_row, x_step, right, row, there, row, total, row, size,
                               width, one)  # fmt: skip
                    j += _ROWS

    return sums


_double_sums, _single_sums = _sums(types.float64, 1.0), _sums(types.float32, np.float32(1))


@inner
def _weighted_sums(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out[b, i, j, k] = sum(x[b, i, :, j, k] * y[b, :, k])``."""
    size = 8 if dtype == FLOAT64 else 4
    outer, length = int64_at(parameters + 8), int64_at(parameters + 16)
    rows, columns = int64_at(parameters + 24), int64_at(parameters + 32)
    task = start
    while task < stop:
        batch, together = task // outer, 1
        if rows == 1:  # tiles have rows of several tasks
            together = min(stop, (batch + 1) * outer) - task
        left, right = x + size * task * length * rows * columns, y + size * batch * length * columns
        there, step = out + size * task * rows * columns, size * rows * columns
        x_row = step * length if rows == 1 else size * columns
        if dtype == FLOAT64:
            _double_sums(max(rows, together), columns, length, left, x_row, step, right, there)
        else:
            _single_sums(max(rows, together), columns, length, left, x_row, step, right, there)
        task += together
    return 1


def _products(number: Any, one: Any) -> Any:
    size, widths = number.bitwidth // 8, (VECTOR_BYTES, VECTOR_BYTES)
    wide, narrow = (
        tile(number, _ROWS_OF_PRODUCTS, of, TileOfWeightedProducts) for of in (widths, widths[:1])
    )
    lanes = VECTOR_BYTES // size

    @inner
    def products(start, stop, rows, length, shared, columns, x, y, weights, out):  # type: ignore[no-untyped-def]
        """``out[j, :] = sum(weights * (x[:, j] @ y))``, over the first axis, for some of the rows."""
        row, step = columns * size, shared * size
        for first in range(0, row, 2 * lanes * size):
            width, j = min(2 * lanes, columns - first // size), start
            while j < stop:
                left, right, there = x + j * step, weights + first, out + j * row + first
                if width > lanes:
                    wide(stop - j, length, left, step, rows * step, right, row, there, row, y + first, row,
                         shared, width - lanes, one)  # fmt: skip
                else:
                    narrow(stop - j, length, left, step, rows * step, right, row, there, row, y + first, row,
                           shared, width, one)  # fmt: skip
                j += _ROWS_OF_PRODUCTS

    return products


_double_products, _single_products = _products(types.float64, 1.0), _products(types.float32, np.float32(1))


@inner
def _weighted_products(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out[j, k] = sum(z[:, k] * (x[:, j] @ y)[:, k])``."""
    length, rows = int64_at(parameters), int64_at(parameters + 8)
    shared, columns = int64_at(parameters + 16), int64_at(parameters + 24)
    if dtype == FLOAT64:
        _double_products(start, stop, rows, length, shared, columns, x, y, z, out)
    else:
        _single_products(start, stop, rows, length, shared, columns, x, y, z, out)
    return 1


KERNELS = {"weighted_sums": _weighted_sums, "weighted_products": _weighted_products}
"""The functions of `tape.kernels.weighted.KERNELS`."""
