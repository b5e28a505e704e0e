"""Systems of linear equations with matrices of few diagonals, and of constant ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.op import Op
from tape.errors import DTypeError, OptionError, ShapeError, SingularMatrixError
from tape.ops import linalg as ops
from tape.ops.linalg.banded import cholesky_of_bands, solve_bands, turned_bands
from tape.ops.linalg.packing import stacked
from tape.ops.linalg.triangular import pair
from tape.scipy._operands import whole
from tape.scipy.linalg._arrays import matrix, number, operand
from tape.scipy.linalg._building import toeplitz

__all__ = [
    "cho_solve_banded",
    "cholesky_banded",
    "matmul_toeplitz",
    "solve_banded",
    "solve_circulant",
    "solve_toeplitz",
    "solveh_banded",
]


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
    below, above = (
        whole(k, "solve_banded: a part of l_and_u") for k in pair("solve_banded", "l_and_u", l_and_u)
    )
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
    attrs = {"below": below, "above": above}
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


def cholesky_banded(
    ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True
) -> Any:
    """Return the diagonals of the triangular factor of positive definite matrices of few diagonals.

    Parameters
    ----------
    ab : array_like or Var
        ``(..., u + 1, n)``: the main diagonal and those above it, or those below it: see `solveh_banded`.
    overwrite_ab, check_finite : bool
        Without effect.
    lower : bool
        Whether the lower diagonals are given, and wanted.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., u + 1, n)``, for `cho_solve_banded`. What lies outside of the matrix is 0, where SciPy leaves
        what was there. Sweeps have the work and the memory of the whole matrix.

    Raises
    ------
    SingularMatrixError
        If a matrix is not positive definite.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.cholesky_banded(np.array([[4.0, 5.0], [2.0, 0.0]]), lower=True)
    array([[2., 2.],
           [1., 0.]])
    """
    ab = matrix("cholesky_banded", ab)
    if ab.shape[-2] == 0:
        raise ShapeError(f"cholesky_banded: shape {list(ab.shape)} has no diagonals. Give the main one")
    if lower:
        return cholesky_of_bands(ab)
    count = ab.shape[-2] - 1
    return np.conj(turned_bands(cholesky_of_bands(np.conj(turned_bands(ab, 0, count))), count, 0))


def _sides(ab: Any, lower: bool) -> tuple[int, int]:
    count = ab.shape[-2] - 1
    return (count, 0) if lower else (0, count)


def cho_solve_banded(
    cb_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve ``a @ x = b``, given the result of `cholesky_banded` of a, and whether it is the lower one.

    Parameters
    ----------
    cb_and_lower : tuple
        The diagonals of the factor, ``(..., u + 1, n)``, and whether it is the lower one.
    b : array_like or Var
        ``(n,)``, or ``(..., n, k)``.
    overwrite_b, check_finite : bool
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
        If the factor is singular.

    Examples
    --------
    >>> import numpy as np, tape
    >>> factor = np.array([[2.0, 2.0], [1.0, 0.0]])  # of [[2, 0], [1, 2]]
    >>> tape.scipy.linalg.cho_solve_banded((factor, True), np.array([4.0, 6.0]))
    array([0.5, 1. ])
    """
    factor, lower = pair("cho_solve_banded", "cb_and_lower", cb_and_lower)
    factor = matrix("cho_solve_banded", factor)
    below, above = _sides(factor, lower)
    other = np.conj(turned_bands(factor, below, above))
    half_way = ((below, above), factor) if lower else ((above, below), other)
    rest = ((above, below), other) if lower else ((below, above), factor)
    return solve_banded(*rest, solve_banded(*half_way, b))


def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: int | None = None) -> Any:
    """Multiply with the matrix that `toeplitz` makes of ``c`` or of ``(c, r)``, by Fourier transforms.

    Parameters
    ----------
    c_or_cr : array_like, Var or tuple of two of these
        The first column, ``(m,)``, or that and the first row, ``(n,)``, whose first element is not read.
    x : array_like or Var
        ``(n,)`` or ``(n, k)``.
    check_finite, workers
        Without effect.

    Returns
    -------
    numpy.ndarray or Var
        ``(m,)`` or ``(m, k)``.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.matmul_toeplitz(([1.0, 2.0], [1.0, 3.0]), np.array([1.0, 1.0])).round(12)
    array([4., 3.])
    """
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    c, x = np.ravel(_transformable("matmul_toeplitz", c)), _transformable("matmul_toeplitz", x)
    r = np.conj(c) if r is None else np.ravel(_transformable("matmul_toeplitz", r))
    m, n = c.shape[0], r.shape[0]
    if np.ndim(x) not in (1, 2) or x.shape[0] != n or not m or not n:
        raise ShapeError(
            f"matmul_toeplitz: a matrix of shape {[m, n]} and x of shape {list(x.shape)}. x must be {[n]} or "
            f"{[n, 'k']}, and nothing empty"
        )
    columns = x[:, None] if np.ndim(x) == 1 else x
    size = m + n - 1
    turned = np.concatenate([c, r[:0:-1]])[:, None]
    if "c" in (turned.dtype.kind, x.dtype.kind):
        product: Any = np.fft.ifft(np.fft.fft(turned, size, 0) * np.fft.fft(columns, size, 0), size, 0)
    else:
        product = np.fft.irfft(np.fft.rfft(turned, size, 0) * np.fft.rfft(columns, size, 0), size, 0)
    return product[:m, 0] if np.ndim(x) == 1 else product[:m]


def solve_circulant(
    c: Any,
    b: Any,
    singular: str = "raise",
    tol: float | None = None,
    caxis: int = -1,
    baxis: int = 0,
    outaxis: int = 0,
) -> Any:
    """Solve with the matrix that `circulant` makes of ``c``, by Fourier transforms.

    Parameters
    ----------
    c : array_like or Var
        The first columns of matrices, along ``caxis``.
    b : array_like or Var
        Right sides, along ``baxis``; the other axes broadcast with those of ``c``.
    singular : {"raise", "lstsq"}
        Raise if a matrix is singular, or return the least-squares solution; then derivatives are those at
        constant rank.
    tol : float, optional
        The absolute value at which an eigenvalue counts as 0; by default the rounding error.
    caxis, baxis, outaxis : int
        Which axes of ``c``, of ``b`` and of the result are along the matrices.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    OptionError
        If ``singular`` is something else.
    ShapeError
        If the shapes do not fit.
    SingularMatrixError
        If a matrix is singular and ``singular`` is "raise".

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.solve_circulant([2.0, 1.0], np.array([4.0, 5.0])).round(12)
    array([1., 2.])
    """
    if singular not in ("raise", "lstsq"):
        raise OptionError(f"solve_circulant: singular={singular!r}. It must be 'raise' or 'lstsq'")
    tol = number("solve_circulant", "tol", tol)
    c, b = (np.atleast_1d(_transformable("solve_circulant", x)) for x in (c, b))
    if c.shape[caxis] != b.shape[baxis] or c.shape[caxis] == 0:
        raise ShapeError(
            f"solve_circulant: c of shape {list(c.shape)} and b of shape {list(b.shape)} have axes of "
            f"{c.shape[caxis]} and {b.shape[baxis]} elements. Give as many, and at least one"
        )
    is_real = "c" not in (c.dtype.kind, b.dtype.kind)
    values = np.fft.fft(np.moveaxis(c, caxis, -1), axis=-1)
    sides = np.fft.fft(np.moveaxis(b, baxis, -1), axis=-1)
    if singular == "raise":
        x = sides / _nonzero_spectrum(values, tol=tol)
    else:
        vanishes = _vanishes(values, tol=tol)
        x = np.where(vanishes, 0, sides / np.where(vanishes, 1, values))
    x = np.fft.ifft(x, axis=-1)
    return np.moveaxis(x.real if is_real else x, -1, outaxis)


def _transformable(name: str, x: Any) -> Any:
    x = operand(x)
    if np.result_type(x).char in "egG":
        raise DTypeError(f"{name}: there are no transforms of {np.result_type(x)}. Convert with astype")
    return x


def _is_small(values: Any, *, tol: float | None) -> Any:
    sizes = np.abs(values)
    if tol is not None:
        return sizes <= tol
    return sizes <= np.max(sizes, axis=-1, keepdims=True, initial=0) * sizes.shape[-1] * np.finfo(float).eps


def _checked_spectrum(values: Any, *, tol: float | None) -> Any:
    if np.any(_is_small(values, tol=tol)):
        raise SingularMatrixError(
            "solve_circulant: a matrix is singular. Use singular='lstsq' for the least-squares solution"
        )
    return values.copy()


_vanishes = Op(_is_small, name="vanishing_spectrum", batch=stacked)
_nonzero_spectrum = Op(
    _checked_spectrum,
    name="nonzero_spectrum",
    batch=stacked,
    vjp=[lambda g, out, values, tol: g],
    jvp=[lambda t, out, values, tol: t],
    explains_errors=False,
)


def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """Solve with the matrix that `toeplitz` makes of ``c`` or of ``(c, r)``; as with any other matrix."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return ops.solve(toeplitz(c, r), operand(b))
