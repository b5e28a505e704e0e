"""Stacks of matrices, one after the other, by LAPACK and BLAS, for compiled code: `numpy.linalg` at its core.

Sizes and letters come as addresses, which is how Fortran takes them; they are int64 numbers, of which a BLAS
with 32-bit integers reads the lower half. Fortran's matrices are the transposes of NumPy's. All functions
stop at the first matrix that has no result.

Stacks of small matrices are faster by `tape.kernels.small`.
"""

from __future__ import annotations

from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import (
    call5,
    call8,
    call11,
    float32s,
    float64s,
    int32_at,
    int64_at,
    set_int64,
)


@inner
def solve(function, batch, sizes, itemsize, a, pivots, x, info):  # type: ignore[no-untyped-def]
    """Solve ``a @ column = row`` for each row of ``x``, in place; False if a matrix is singular.

    Parameters
    ----------
    function : int
        Address of LAPACK's gesv.
    batch : int
        How many matrices.
    sizes : int
        Address of two numbers: rows of a matrix of ``a``, and of ``x``.
    itemsize : int
        8 for float64, 4 for float32.
    a : int
        Address of the transposed matrices, C-contiguous; overwritten.
    pivots, info : int
        Addresses of as many int64 numbers as a matrix has rows, and of one.
    x : int
        Address of the right-hand sides, C-contiguous.
    """
    n, columns = int64_at(sizes), int64_at(sizes + 8)
    for _ in range(batch):
        set_int64(info, 0)
        call8(function, (sizes, sizes + 8, a, sizes, pivots, x, sizes, info))
        if int32_at(info) != 0:
            return False
        a += n * n * itemsize
        x += n * columns * itemsize
    return True


@inner
def cholesky(function, batch, size, letter, itemsize, x, info):  # type: ignore[no-untyped-def]
    """Factorize matrices in place; False if one is not positive definite.

    Parameters
    ----------
    function : int
        Address of LAPACK's potrf.
    batch, itemsize, info : int
        As in `solve`.
    size, letter : int
        Addresses of the number of rows, and of "U" for the lower factor or "L" for the upper.
    x : int
        Address of the matrices, C-contiguous. The factor's triangle is read; the other becomes zeros.
    """
    n = int64_at(size)
    is_lower = int32_at(letter) & 0xFF == 85  # "U"
    for _ in range(batch):
        set_int64(info, 0)
        call5(function, (letter, size, x, size, info))
        if int32_at(info) != 0:
            return False
        for row in range(n):
            start, stop = (row + 1, n) if is_lower else (0, row)
            for k in range(row * n + start, row * n + stop):
                if itemsize == 8:
                    float64s(x)[k] = 0
                else:
                    float32s(x)[k] = 0
        x += n * n * itemsize
    return True


@inner
def triangular_solve(function, batch, numbers, itemsize, step, a, x):  # type: ignore[no-untyped-def]
    """Solve triangular systems for each row of ``x``, in place; False if there is a zero on a diagonal.

    Parameters
    ----------
    function : int
        Address of BLAS's trsm.
    batch, itemsize, x : int
        As in `solve`.
    numbers : int
        Address of five numbers: rows of a matrix of ``a``, and of ``x``; the leading dimension of ``a``;
        the letters of side, triangle, transposition and diagonal, one byte each; 1 in the dtype.
    step : int
        Bytes from matrix to matrix in ``a``.
    a : int
        Address of the matrices.
    """
    n, columns, leading = int64_at(numbers), int64_at(numbers + 8), int64_at(numbers + 16)
    letters = numbers + 24
    reads_diagonal = int32_at(letters) >> 24 == 78  # "N": not of ones
    for _ in range(batch):
        if reads_diagonal:
            at = a
            for _ in range(n):
                bits = int64_at(at) if itemsize == 8 else int32_at(at) << 32
                if bits << 1 == 0:  # of either sign
                    return False
                at += (leading + 1) * itemsize
        call11(
            function,
            (
                letters, letters + 1, letters + 2, letters + 3, numbers, numbers + 8, numbers + 32,
                a, numbers + 16, x, numbers,
            ),
        )  # fmt: skip
        a += step
        x += n * columns * itemsize
    return True
