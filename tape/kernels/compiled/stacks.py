"""Stacks of products of tiny matrices: one vector of columns each, a few rows at a time.

BLAS looks at the sizes of a product first, as the tiles of large ones do, which takes longer than these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from tape.kernels.codes import FLOAT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import bits_as_float64, int64_at
from tape.kernels.compiled.tiles import tile
from tape.kernels.matrices import IN_PLACE, NOTHING
from tape.kernels.stacks import PRODUCTS_OF_A_TASK

_ROWS = 4


def _products(number: Any, as_number: Any) -> Any:
    size = number.bitwidth // 8
    few = tile(number, _ROWS, (4 * size,))

    @inner
    def products(parameters, start, stop, x, y, z, out):  # type: ignore[no-untyped-def]
        at = parameters
        inner_length, m, n = int64_at(at + 8), int64_at(at + 16), int64_at(at + 24)
        k, adds = int64_at(at + 32), int64_at(at + 40)
        bits = int64_at(at + 48) | int64_at(at + 56) << 22 | int64_at(at + 64) << 44
        factor = as_number(bits_as_float64(bits))
        at += 72  # strides, in elements
        a_outer, a_inner = size * int64_at(at), size * int64_at(at + 8)
        a_row, a_column = size * int64_at(at + 16), size * int64_at(at + 24)
        b_outer, b_inner, b_row = size * int64_at(at + 32), size * int64_at(at + 40), size * int64_at(at + 48)
        c_outer, c_inner = size * int64_at(at + 64), size * int64_at(at + 72)
        c_row = size * int64_at(at + 80)
        d_outer, d_inner = size * int64_at(at + 96), size * int64_at(at + 104)
        d_row, d_column = size * int64_at(at + 112), size * int64_at(at + 120)
        if adds == IN_PLACE:
            z, d_outer, d_inner, d_row, d_column = out, c_outer, c_inner, c_row, size
        i, j = start // inner_length, start % inner_length
        for _ in range(start, stop):
            a, b = x + i * a_outer + j * a_inner, y + i * b_outer + j * b_inner
            c, d = out + i * c_outer + j * c_inner, z + i * d_outer + j * d_inner
            row = 0
            while row < m:
                total = d + row * d_row if adds != NOTHING else 0
                few(
                    m - row, k, a + row * a_row, a_row, a_column, b, b_row, c + row * c_row, c_row, total,
                    d_row, d_column, n, factor,
                )  # fmt: skip
                row += _ROWS
            j += 1
            if j == inner_length:  # a division takes as long as a product
                i, j = i + 1, 0

    return products


_doubles, _singles = _products(types.float64, np.float64), _products(types.float32, np.float32)


@inner
def _products_of_stack(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out[s] = factor * x[s] @ y[s] + total[s]``, of 64 elements of a stack in each task."""
    count = int64_at(parameters) * int64_at(parameters + 8)
    start, stop = start * PRODUCTS_OF_A_TASK, min(stop * PRODUCTS_OF_A_TASK, count)
    if dtype == FLOAT64:
        _doubles(parameters, start, stop, x, y, z, out)
    else:
        _singles(parameters, start, stop, x, y, z, out)
    return 1


KERNELS = {"products_of_stack": _products_of_stack}
"""The function of `tape.kernels.stacks.KERNELS`."""
