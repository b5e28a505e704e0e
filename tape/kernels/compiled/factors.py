"""The derivative of Cholesky factors for compiled code: block by block, most of it by BLAS (Murray 2016).

By triangular solves the derivative takes 4 n^3 multiplications, this way 2/3 n^3, without memory of its own.
"""

from __future__ import annotations

from typing import Any

from tape.kernels.codes import FLOAT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.blas import PLAIN, TURNED, gemm, set_scales
from tape.kernels.compiled.pointers import float32s, float64s, int64_at
from tape.kernels.factors import BLOCK
from tape.kernels.kernel import BLAS_ARGUMENTS


@inner
def _subtract_product(blas, workspace, is_turned, m, n, k, a, lda, b, ldb, c, ldc):  # type: ignore[no-untyped-def]
    """``c -= a @ b``, or ``a.T @ b``; rows first, so Fortran sees the transposes in reverse order."""
    if m == 0 or n == 0 or k == 0:
        return
    letters = PLAIN | (TURNED if is_turned else PLAIN) << 8
    gemm(blas, workspace, letters, n, m, k, b, ldb, a, lda, c, ldc, 1)


def _puller(view: Any, itemsize: int) -> Any:
    """Return the kernel for one matrix of elements of this type."""

    @inner
    def unblocked(n, size, x, g):  # type: ignore[no-untyped-def]
        """Pull back through the factor of a block, of rows ``n`` elements apart; algorithm of level 2."""
        for i in range(size - 1, -1, -1):
            left = view(x + i * n * itemsize)
            mine = view(g + i * n * itemsize)
            scale, total = 1 / left[i], mine[i]
            for p in range(i + 1, size):
                total -= view(x + p * n * itemsize)[i] * view(g + p * n * itemsize)[i] * scale
            mine[i] = total * scale
            for p in range(i + 1, size):
                row = view(g + p * n * itemsize)
                row[i] *= scale
                factor, below = row[i], view(x + p * n * itemsize)
                for q in range(i):
                    mine[q] -= factor * below[q]
                    row[q] -= factor * left[q]
            factor = mine[i]
            for q in range(i):
                mine[q] -= factor * left[q]
            mine[i] = factor / 2

    @inner
    def divided(n, size, rows, d, c, turned):  # type: ignore[no-untyped-def]
        """``c = c @ inv(d)`` for a triangular block, column by column of ``c``, which are rows in between."""
        for q in range(size):
            column = view(turned + q * rows * itemsize)
            for i in range(rows):
                column[i] = view(c + i * n * itemsize)[q]
        for q in range(size - 1, -1, -1):
            row, column = view(d + q * n * itemsize), view(turned + q * rows * itemsize)
            scale = 1 / row[q]
            for i in range(rows):
                column[i] *= scale
            for p in range(q):
                factor, other = row[p], view(turned + p * rows * itemsize)
                for i in range(rows):
                    other[i] -= factor * column[i]
        for i in range(rows):
            row = view(c + i * n * itemsize)
            for q in range(size):
                row[q] = view(turned + q * rows * itemsize)[i]

    @inner
    def pulled(blas, n, x, g, out, workspace):  # type: ignore[no-untyped-def]
        for i in range(n):
            row, given = view(out + i * n * itemsize), view(g + i * n * itemsize)
            for k in range(n):
                row[k] = given[k] if k <= i else 0
        set_scales(itemsize, workspace, -1, 1)
        both = workspace + 8 * BLAS_ARGUMENTS
        turned = both + BLOCK * BLOCK * itemsize
        stop = n
        while stop > 0:
            first = max(stop - BLOCK, 0)
            size, rows = stop - first, n - stop
            diagonal, below = (first * n + first) * itemsize, (stop * n + first) * itemsize
            left, corner = first * n * itemsize, stop * n * itemsize
            divided(n, size, rows, x + diagonal, out + below, turned)
            _subtract_product(
                blas, workspace, False, rows, first, size, out + below, n, x + left, n, out + corner, n
            )
            _subtract_product(
                blas, workspace, True, size, size, rows, out + below, n, x + below, n, out + diagonal, n
            )
            unblocked(n, size, x + diagonal, out + diagonal)
            for i in range(size):
                row, sums = view(out + diagonal + i * n * itemsize), view(both + i * size * itemsize)
                for k in range(i + 1):
                    sums[k] = row[k]
                    view(both + k * size * itemsize)[i] = row[k]
                sums[i] = 2 * row[i]
                for k in range(i + 1, size):
                    row[k] = 0
            _subtract_product(
                blas, workspace, True, size, first, rows, out + below, n, x + corner, n, out + left, n
            )
            _subtract_product(
                blas, workspace, False, size, first, size, both, size, x + left, n, out + left, n
            )
            stop = first

    return pulled


_pulled64, _pulled32 = _puller(float64s, 8), _puller(float32s, 4)


@inner
def cholesky_pullback(  # type: ignore[no-untyped-def]
    blas, dtype, parameters, start, stop, x, y, z, workspace, out
):
    """Pull adjoints ``y`` of lower factors ``x`` back to what was factorized, for some matrices."""
    n = int64_at(parameters + 8)
    for k in range(start, stop):
        if dtype == FLOAT64:
            step = k * n * n * 8
            _pulled64(blas, n, x + step, y + step, out + step, workspace)
        else:
            step = k * n * n * 4
            _pulled32(blas, n, x + step, y + step, out + step, workspace)
    return 1


KERNELS = {"cholesky_pullback": cholesky_pullback}
"""The functions of `tape.kernels.factors.KERNELS`."""
