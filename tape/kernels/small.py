"""What kernels of small matrices take and need; their code is in `tape.kernels.compiled.small`."""

from __future__ import annotations

from tape.kernels.kernel import Kernel, Needs

MOST_ROWS = 8
SCRATCH = 3 * MOST_ROWS * MOST_ROWS  # of LAPACK: sizes and pivots, a matrix, right-hand sides

LANES = 16  # matrices at a time
NUMBERS = 3 + MOST_ROWS  # for each of them, to work with


def _needs(matrices: int, n: int, width: int) -> tuple[int, int, int]:
    """Return elements of workspace, tasks, and work."""
    if min(matrices, n) < 1:
        raise ValueError("a length is not positive")
    if n > MOST_ROWS or width > 2 * MOST_ROWS:
        raise ValueError("the matrices are not small")
    workspace = SCRATCH + LANES * (n * (width | 1) + NUMBERS)
    return 2 * workspace, -(-matrices // LANES), matrices * n * n * width


def _needs_of_det(parameters: tuple[int, ...]) -> Needs:
    matrices, n = parameters
    return Needs((matrices * n * n,), matrices, *_needs(matrices, n, n))


def _needs_of_inv(parameters: tuple[int, ...]) -> Needs:
    matrices, n = parameters
    return Needs((matrices * n * n,), matrices * n * n, *_needs(matrices, n, n))


def _needs_of_solve(parameters: tuple[int, ...]) -> Needs:
    matrices, n, columns = parameters
    if columns < 1:
        raise ValueError("a length is not positive")
    size = matrices * n * columns
    return Needs((matrices * n * n, size), size, *_needs(matrices, n, n + columns))


def _needs_of_cholesky(parameters: tuple[int, ...]) -> Needs:
    matrices, n, _ = parameters
    return Needs((matrices * n * n,), matrices * n * n, *_needs(matrices, n, n))


_SINGULAR = "a matrix is singular. Look at its null space"


_NOT_POSITIVE = "a matrix is not positive definite. Look at its least eigenvalue"


_SIZES = {"matrices": 1, "rows": 1}


KERNELS = {
    "small_det": Kernel(_SIZES, _needs_of_det, "getrf"),
    "small_inv": Kernel(_SIZES, _needs_of_inv, "gesv", failure=_SINGULAR),
    "small_solve": Kernel({**_SIZES, "columns": 1}, _needs_of_solve, "gesv", failure=_SINGULAR),
    "small_cholesky": Kernel({**_SIZES, "is_upper": 1}, _needs_of_cholesky, "potrf", failure=_NOT_POSITIVE),
}


"""Of stacks of float64 matrices, ``(matrices, rows, rows)``, as `numpy.linalg` has them."""
