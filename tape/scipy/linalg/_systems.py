"""Systems of linear equations, inverses and least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.errors import OptionError, UnsupportedError
from tape.ops import linalg as ops
from tape.ops.linalg.packing import transposed, triangle
from tape.scipy.linalg._arrays import matrix, mirrored, operand, read_triangle, square

__all__ = ["inv", "lstsq", "pinv", "pinvh", "solve", "solve_triangular"]

_STRUCTURES: dict[str | None, str] = {
    None: "general", "gen": "general", "sym": "symmetric", "her": "hermitian", "pos": "positive definite",
    **{name: name for name in ("general", "symmetric", "hermitian", "positive definite", "banded", "diagonal",
                               "tridiagonal", "upper triangular", "lower triangular")},
}  # fmt: skip


def _structure(name: str, assume_a: Any) -> str:
    if assume_a not in _STRUCTURES:
        raise OptionError(f"{name}: assume_a={assume_a!r}. It must be one of {list(_STRUCTURES)[1:]}")
    return _STRUCTURES[assume_a]


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Any:
    """Solve ``a @ x = b`` for x.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``.
    b : array_like or Var
        ``(n,)``, or ``(..., n, k)``.
    lower : bool
        The triangle that is read of what is assumed to be symmetric, Hermitian or positive definite.
    overwrite_a, overwrite_b, check_finite : bool
        Without effect.
    assume_a : str, optional
        The structure of ``a``, in SciPy's words: only its elements are read, and the others get no gradient.
    transposed : bool
        Solve with the transposed matrix, for real ones.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``b``, and of the stack of matrices.

    Raises
    ------
    OptionError
        If there is no such structure, or for the transpose of complex matrices.
    ShapeError
        If the shapes do not fit.
    SingularMatrixError
        If a matrix is singular, or not positive definite though assumed to be.

    Examples
    --------
    >>> import numpy as np, tape
    >>> a = np.array([[2.0, 9.0], [0.0, 4.0]])
    >>> tape.scipy.linalg.solve(a, np.array([2.0, 2.0]), lower=True, assume_a="pos")
    array([1. , 0.5])
    """
    kind = _structure("solve", assume_a)
    a, b = square("solve", a), operand(b)
    if transposed and np.result_type(a).kind == "c":
        raise OptionError("solve: transposed=True is for real matrices. Transpose the matrix")
    if kind in ("upper triangular", "lower triangular"):
        return ops.solve_triangular(a, b, int(transposed), kind == "lower triangular")
    if kind == "positive definite":
        return ops.cho_solve((ops.cholesky(a, upper=not lower), bool(lower)), b)
    a = _assumed(a, kind, lower)
    return ops.solve(_transposed(a) if transposed else a, b)


_transposed = transposed


def _assumed(a: Any, kind: str, lower: bool) -> Any:
    """Return the matrix that is read if that structure is assumed."""
    if kind == "hermitian":
        return mirrored(a, lower)
    if kind == "symmetric":
        return read_triangle(a, lower)
    if kind == "diagonal":
        return np.where(np.eye(a.shape[-1], dtype=bool), a, 0)
    if kind == "tridiagonal":
        near = np.abs(np.subtract.outer(np.arange(a.shape[-1]), np.arange(a.shape[-1]))) < 2
        return np.where(near, a, 0)
    if kind in ("upper triangular", "lower triangular"):
        return triangle(a, kind == "lower triangular", False)
    return a


def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve ``a @ x = b``, where a triangle of ``a`` is read: `tape.ops.linalg.solve_triangular`."""
    return ops.solve_triangular(square("solve_triangular", a), operand(b), trans, lower, unit_diagonal)


def inv(
    a: Any,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    assume_a: str | None = None,
    lower: bool = False,
) -> Any:
    """Return the inverses of matrices, of an assumed structure if one is given: see `solve`."""
    kind = _structure("inv", assume_a)
    a = square("inv", a)
    if kind == "positive definite":
        eye = np.broadcast_to(np.eye(a.shape[-1], dtype=np.result_type(a)), a.shape)
        return ops.cho_solve((ops.cholesky(a, upper=not lower), bool(lower)), eye)
    return ops.inv(_assumed(a, kind, lower))


def pinv(
    a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True
) -> Any:
    """Return the pseudoinverses of matrices; derivatives are those at constant rank.

    Parameters
    ----------
    a : array_like or Var
        ``(..., m, n)``.
    atol : float, optional
        Refused with a positive value: singular values are compared with the largest one alone.
    rtol : float, optional
        Share of the largest singular value below which one counts as 0; by default ``max(m, n) * eps``.
    return_rank : bool
        Return the rank too.
    check_finite : bool
        Without effect.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n, m)``; with the rank, a tuple.

    Raises
    ------
    UnsupportedError
        With ``atol``.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.pinv(np.array([[2.0], [0.0]]))
    array([[0.5, 0. ]])
    """
    a = matrix("pinv", a)
    if atol is not None and atol != 0:
        raise UnsupportedError("pinv: atol has no derivative rule. Use rtol, which is relative")
    share = max(a.shape[-2:]) * np.finfo(np.result_type(a)).eps if rtol is None else rtol
    inverse = ops.pinv(a, rtol=share)
    return (inverse, ops.matrix_rank(a, rtol=share)) if return_rank else inverse


def pinvh(
    a: Any,
    atol: Any = None,
    rtol: Any = None,
    lower: bool = True,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """Return the pseudoinverses of Hermitian matrices, of which one triangle is read: see `pinv`.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``.
    atol, rtol, return_rank, check_finite
        As for `pinv`, by the absolute values of eigenvalues.
    lower : bool
        Which triangle.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n, n)``; with the rank, a tuple.

    Raises
    ------
    UnsupportedError
        With ``atol``.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.pinvh(np.array([[2.0, 9.0], [0.0, 0.0]]))
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    a = mirrored(square("pinvh", a), lower)
    if atol is not None and atol != 0:
        raise UnsupportedError("pinvh: atol has no derivative rule. Use rtol, which is relative")
    share = a.shape[-1] * np.finfo(np.result_type(a)).eps if rtol is None else rtol
    inverse = ops.pinv(a, rtol=share, hermitian=True)
    return (inverse, ops.matrix_rank(a, rtol=share, hermitian=True)) if return_rank else inverse


def lstsq(
    a: Any,
    b: Any,
    cond: float | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Return the least-squares solution, sums of squared residuals, rank and singular values.

    Parameters
    ----------
    a : array_like or Var
        ``(m, n)``.
    b : array_like or Var
        ``(m,)`` or ``(m, k)``.
    cond : float, optional
        Share of the largest singular value below which one counts as 0; by default the rounding error.
    overwrite_a, overwrite_b, check_finite, lapack_driver
        Without effect.

    Returns
    -------
    tuple
        The sums of squares are empty unless the rank is n and m is larger; of a vector b, a number.

    Examples
    --------
    >>> import numpy as np, tape
    >>> x, squares, rank, s = tape.scipy.linalg.lstsq(np.ones((2, 1)), np.array([1.0, 3.0]))
    >>> x, round(float(squares), 12), int(rank)
    (array([2.]), 2.0, 1)
    """
    a, b = matrix("lstsq", a), operand(b)
    eps = float(np.finfo(np.result_type(a, b)).eps)
    x, squares, rank, s = ops.lstsq(a, b, eps if cond is None else cond)
    if np.ndim(b) == 1 and np.shape(squares) == (1,):
        squares = squares[0]
    return x, squares, rank, s
