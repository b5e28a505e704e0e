"""Sums over the differences of pairs, in tiles of a few rows and vectors; no difference goes to memory.

Each partial sum has at most `PARTIAL` terms before it joins the others, as those of long rows in `sums`. All
elements of a result are summed in the same order: equal pairs have equal distances.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from tape.kernels.codes import FLOAT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import float32s, float64s, int64_at
from tape.kernels.compiled.tiles import VECTOR_BYTES, TileOfDifferences, TileOfSquares, tile
from tape.kernels.differences import ROWS_OF_A_TASK
from tape.kernels.kernel import PARTIAL

_WIDE, _NARROW = 4, 8
"""Rows of tiles of two vectors, and of one."""


def _tiles(kind: Any, number: Any) -> Any:
    widths = (VECTOR_BYTES, VECTOR_BYTES)
    return tile(number, _WIDE, widths, kind), tile(number, _NARROW, widths[:1], kind)


def _squares(number: Any, one: Any) -> Any:
    size, (wide, narrow) = number.bitwidth // 8, _tiles(TileOfSquares, number)
    lanes = VECTOR_BYTES // size

    @inner
    def squares(rows, columns, length, x, y, out):  # type: ignore[no-untyped-def]
        """``out[i, j] = sum((x[i, :] - y[:, j]) ** 2)``."""
        x_row, y_row = length * size, columns * size
        for first in range(0, columns, 2 * lanes):
            width = min(2 * lanes, columns - first)
            for at in range(0, length, PARTIAL):
                some = min(PARTIAL, length - at)
                right, i = y + at * y_row + first * size, 0
                while i < rows:
                    left, there = x + i * x_row + at * size, out + i * y_row + first * size
                    total = there if at else 0
                    if width > lanes:
                        wide(rows - i, some, left, x_row, size, right, y_row, there, y_row, total, y_row,
                             size, width - lanes, one)  # fmt: skip
                        i += _WIDE
                    else:
                        narrow(rows - i, some, left, x_row, size, right, y_row, there, y_row, total, y_row,
                               size, width, one)  # fmt: skip
                        i += _NARROW

    return squares


def _differences(number: Any, numbers: Any, one: Any) -> Any:
    size, (wide, narrow) = number.bitwidth // 8, _tiles(TileOfDifferences, number)
    lanes = VECTOR_BYTES // size

    @inner
    def differences(rows, columns, length, weights, row, step, x, y, out):  # type: ignore[no-untyped-def]
        """``out[i, j] = sum(weights[:, i] * (x[:, j] - y[i, j]))``; strides of the weights are given."""
        out_row = columns * size
        sums = numbers(out)
        for k in range(rows * columns):
            sums[k] = 0
        for first in range(0, columns, 2 * lanes):
            width = min(2 * lanes, columns - first)
            for at in range(0, length, PARTIAL):
                some = min(PARTIAL, length - at)
                right, i = x + at * out_row + first * size, 0
                while i < rows:
                    left, place = weights + i * row + at * step, i * out_row + first * size
                    if width > lanes:
                        wide(rows - i, some, left, row, step, right, out_row, out + place, out_row, y + place,
                             out_row, size, width - lanes, one)  # fmt: skip
                        i += _WIDE
                    else:
                        narrow(rows - i, some, left, row, step, right, out_row, out + place, out_row,
                               y + place, out_row, size, width, one)  # fmt: skip
                        i += _NARROW

    return differences


_double_squares, _single_squares = _squares(types.float64, 1.0), _squares(types.float32, np.float32(1))
_double_differences = _differences(types.float64, float64s, 1.0)
_single_differences = _differences(types.float32, float32s, np.float32(1))


@inner
def _squared_distances(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out[b, i, j] = sum((x[b, i, :] - y[b, :, j]) ** 2)``."""
    size = 8 if dtype == FLOAT64 else 4
    rows, columns, length = int64_at(parameters + 8), int64_at(parameters + 16), int64_at(parameters + 24)
    blocks = (rows + ROWS_OF_A_TASK - 1) // ROWS_OF_A_TASK
    for task in range(start, stop):
        batch, first = task // blocks, task % blocks * ROWS_OF_A_TASK
        some, at = min(ROWS_OF_A_TASK, rows - first), batch * rows + first
        left, right = x + size * at * length, y + size * batch * length * columns
        if dtype == FLOAT64:
            _double_squares(some, columns, length, left, right, out + size * at * columns)
        else:
            _single_squares(some, columns, length, left, right, out + size * at * columns)
    return 1


@inner
def _weighted_differences(blas, dtype, parameters, start, stop, weights, x, y, workspace, out):  # type: ignore[no-untyped-def]
    """``out[b, i, j] = sum(weights[b, :, i] * (x[b, :, j] - y[b, i, j]))``; or of ``weights[b, i, :]``."""
    size = 8 if dtype == FLOAT64 else 4
    rows, columns, length = int64_at(parameters + 8), int64_at(parameters + 16), int64_at(parameters + 24)
    row, step = size, size * rows
    if int64_at(parameters + 32):
        row, step = size * length, size
    blocks = (rows + ROWS_OF_A_TASK - 1) // ROWS_OF_A_TASK
    for task in range(start, stop):
        batch, first = task // blocks, task % blocks * ROWS_OF_A_TASK
        some, place = min(ROWS_OF_A_TASK, rows - first), size * (batch * rows + first) * columns
        left, right = weights + size * batch * length * rows, x + size * batch * length * columns
        left += first * row
        if dtype == FLOAT64:
            _double_differences(some, columns, length, left, row, step, right, y + place, out + place)
        else:
            _single_differences(some, columns, length, left, row, step, right, y + place, out + place)
    return 1


KERNELS = {"squared_distances": _squared_distances, "weighted_differences": _weighted_differences}
"""The functions of `tape.kernels.differences.KERNELS`."""
