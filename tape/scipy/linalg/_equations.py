"""Systems of linear equations, inverses, least squares, and matrix equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.errors import OptionError, ShapeError, UnsupportedError
from tape.ops import linalg as ops
from tape.ops.linalg.banded import solve_bands, turned_bands
from tape.ops.linalg.packing import dagger, transposed, triangle
from tape.ops.linalg.sylvester import sylvester
from tape.scipy.linalg._arrays import matrix, mirrored, operand, read_triangle, square
from tape.scipy.linalg._building import toeplitz

__all__ = [
    "inv",
    "lstsq",
    "pinv",
    "solve",
    "solve_banded",
    "solve_continuous_lyapunov",
    "solve_discrete_lyapunov",
    "solve_lyapunov",
    "solve_sylvester",
    "solve_toeplitz",
    "solve_triangular",
    "solveh_banded",
]

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
    if kind in ("symmetric", "positive definite"):
        return read_triangle(a, lower) if kind == "symmetric" else mirrored(a, lower)
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


# ---- matrices of few diagonals, and of constant ones -------------------------------------------------------


def solve_banded(
    l_and_u: tuple[int, int],
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve ``a @ x = b``, where a has few diagonals.

    Parameters
    ----------
    l_and_u : tuple of int
        How many diagonals are below and above the main one.
    ab : array_like or Var
        ``(..., l + u + 1, n)``: ``ab[u + i - j, j]`` is element i, j. What lies outside of the matrix is
        not read, and its gradient is 0.
    b : array_like or Var
        ``(n,)``, or ``(..., n, k)``.
    overwrite_ab, overwrite_b, check_finite : bool
        Without effect.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``b``.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    SingularMatrixError
        If the matrix is singular.

    Examples
    --------
    >>> import numpy as np, tape
    >>> ab = np.array([[0.0, 1.0], [2.0, 4.0]])  # of [[2, 1], [0, 4]]
    >>> tape.scipy.linalg.solve_banded((0, 1), ab, np.array([3.0, 4.0]))
    array([1., 1.])
    """
    below, above = l_and_u
    ab, b = matrix("solve_banded", ab), operand(b)
    if (
        ab.shape[-2] != below + above + 1
        or np.ndim(b) < 1
        or b.shape[-2 if np.ndim(b) > 1 else -1] != ab.shape[-1]
    ):
        raise ShapeError(
            f"solve_banded: ab of shape {list(np.shape(ab))} and b of shape {list(np.shape(b))} do not fit "
            f"{below} diagonals below and {above} above. Give {below + above + 1} rows, and as many columns "
            "as b has rows"
        )
    attrs = {"below": int(below), "above": int(above)}
    return solve_bands(ab, b, **attrs) if np.ndim(b) > 1 else solve_bands(ab, b[:, None], **attrs)[..., 0]


def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve ``a @ x = b``, where a is Hermitian, of few diagonals, half of which are given.

    Parameters
    ----------
    ab : array_like or Var
        ``(..., u + 1, n)``: the main diagonal and those above it, or those below it.
    b : array_like or Var
        ``(n,)``, or ``(..., n, k)``.
    overwrite_ab, overwrite_b, check_finite : bool
        Without effect.
    lower : bool
        Whether the lower diagonals are given; then the main one is the first row.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``b``. Unlike in SciPy the matrix need not be positive definite.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    SingularMatrixError
        If the matrix is singular.

    Examples
    --------
    >>> import numpy as np, tape
    >>> ab = np.array([[2.0, 2.0], [1.0, 0.0]])  # of [[2, 1], [1, 2]]
    >>> tape.scipy.linalg.solveh_banded(ab, np.array([3.0, 3.0]), lower=True)
    array([1., 1.])
    """
    ab = matrix("solveh_banded", ab)
    count = ab.shape[-2] - 1
    if lower:
        other = np.conj(turned_bands(ab, count, 0))[..., :-1, :]
        whole = np.concatenate([other, ab], axis=-2)
    else:
        other = np.conj(turned_bands(ab, 0, count))[..., 1:, :]
        whole = np.concatenate([ab, other], axis=-2)
    return solve_banded((count, count), whole, b)


def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """Solve with the matrix that `toeplitz` makes of ``c`` or of ``(c, r)``; as with any other matrix."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return ops.solve(toeplitz(c, r), operand(b))


# ---- matrix equations --------------------------------------------------------------------------------------


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Solve ``a @ x + x @ b = q`` for x.

    Parameters
    ----------
    a, b, q : array_like or Var
        ``(..., m, m)``, ``(..., n, n)`` and ``(..., m, n)``.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., m, n)``.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    SingularMatrixError
        If there is no unique solution.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.solve_sylvester(np.eye(2), np.eye(1), np.ones((2, 1)))
    array([[0.5],
           [0.5]])
    """
    a, b, q = square("solve_sylvester", a), square("solve_sylvester", b), matrix("solve_sylvester", q)
    if q.shape[-2:] != (a.shape[-1], b.shape[-1]):
        raise ShapeError(
            f"solve_sylvester: q of shape {list(q.shape)} does not fit a of shape {list(a.shape)} and b of "
            f"shape {list(b.shape)}. It must be {[a.shape[-1], b.shape[-1]]}"
        )
    return sylvester(a, b, q)


def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Solve ``a @ x + x @ a.conj().T = q`` for x: see `solve_sylvester`."""
    a = square("solve_continuous_lyapunov", a)
    return solve_sylvester(a, dagger(a), q)


solve_lyapunov = solve_continuous_lyapunov


def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Any:
    """Solve ``a @ x @ a.conj().T - x + q = 0`` for x.

    Parameters
    ----------
    a, q : array_like or Var
        ``(n, n)``.
    method : {"direct", "bilinear"}, optional
        By one system of ``n**2`` equations, the way up to n = 9; or by a continuous equation.

    Returns
    -------
    numpy.ndarray or Var
        ``(n, n)``.

    Raises
    ------
    OptionError
        If there is no such method.
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.solve_discrete_lyapunov(np.array([[0.5]]), np.array([[3.0]]))
    array([[4.]])
    """
    a, q = square("solve_discrete_lyapunov", a), square("solve_discrete_lyapunov", q)
    n = a.shape[-1]
    if method not in (None, "direct", "bilinear"):
        raise OptionError(f"solve_discrete_lyapunov: method={method!r}. It must be 'direct' or 'bilinear'")
    if a.shape != q.shape or np.ndim(a) != 2:
        raise ShapeError(
            f"solve_discrete_lyapunov: shapes {list(a.shape)} and {list(q.shape)}. Give two (n, n)"
        )
    dtype = np.result_type(a)
    eye = np.eye(n, dtype=dtype)
    if method == "direct" or (method is None and n < 10):
        system = np.eye(n * n, dtype=dtype) - np.kron(a, np.conj(a))
        return ops.solve(system, q.reshape(n * n)).reshape(n, n)
    turned = dagger(a)
    inverse = ops.inv(turned + eye)
    b = dagger((turned - eye) @ inverse)
    return solve_continuous_lyapunov(b, -2 * (ops.solve(a + eye, q) @ inverse))
