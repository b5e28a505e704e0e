"""Eigenvalues and eigenvectors of Hermitian matrices of few diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.errors import DTypeError, OptionError, ShapeError, UnsupportedError
from tape.ops.linalg.banded import from_bands
from tape.ops.linalg.hermitian_bands import values_alone, values_and_vectors
from tape.ops.linalg.packing import dagger
from tape.scipy.linalg._arrays import matrix, operand, or_scipy

__all__ = ["eig_banded", "eigh_tridiagonal", "eigvals_banded", "eigvalsh_tridiagonal"]


@or_scipy
def eigh_tridiagonal(
    d: Any,
    e: Any,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    """Return eigenvalues, ascending, and eigenvectors of a real symmetric tridiagonal matrix.

    Parameters
    ----------
    d, e : array_like or Var
        ``(..., n)`` and ``(..., n - 1)``: the main diagonal, and the one beside it.
    eigvals_only : bool
        Return the eigenvalues alone.
    select : {"a", "i"}
        Return all, or those by index; of plain arrays, too, by value: "v".
    select_range : tuple of int, optional
        The first and the last eigenvalue to return.
    check_finite, tol, lapack_driver
        Without effect on Vars.

    Returns
    -------
    tuple of numpy.ndarray or Var, or the first of them
        ``(..., n)`` and ``(..., n, n)``. Derivatives are those of `eigh`; sweeps take its time and memory.

    Raises
    ------
    DTypeError
        If a Var is complex.
    ShapeError
        If the shapes do not fit.
    SingularMatrixError
        In a sweep, by vectors of equal eigenvalues.
    UnsupportedError
        If eigenvalues of a Var are selected by value.

    Examples
    --------
    >>> import numpy as np, tape
    >>> def largest(d, e):
    ...     return tape.scipy.linalg.eigh_tridiagonal(d, e, eigvals_only=True)[-1]
    >>> tape.grad(largest, argnums=(0, 1))(np.zeros(2), np.ones(1))
    (array([0.5, 0.5]), array([1.]))
    """
    d, e = operand(d), operand(e)
    if np.ndim(d) < 1 or np.ndim(e) < 1 or e.shape[-1] != d.shape[-1] - 1:
        raise ShapeError(
            f"eigh_tridiagonal: diagonals of shape {list(np.shape(d))} and {list(np.shape(e))}. The second "
            "must have one less"
        )
    dtype = np.result_type(d, e)
    if dtype.kind == "c" or dtype.char in "eg":
        raise DTypeError(f"eigh_tridiagonal: LAPACK has none of {dtype}. Give real diagonals")
    stack = np.broadcast_shapes(d.shape[:-1], e.shape[:-1])
    beside = np.concatenate([e, np.zeros((*e.shape[:-1], 1), e.dtype)], axis=-1)
    rows = [np.broadcast_to(x, (*stack, d.shape[-1])) for x in (d, beside)]
    whole = from_bands(np.stack(rows, axis=-2), 1, 0)
    return _selected("eigh_tridiagonal", whole, "tridiagonal", 1, eigvals_only, select, select_range)


def eigvalsh_tridiagonal(
    d: Any,
    e: Any,
    select: str = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    """Return the eigenvalues of a real symmetric tridiagonal matrix: see `eigh_tridiagonal`."""
    return eigh_tridiagonal(d, e, True, select, select_range, check_finite, tol, lapack_driver)


@or_scipy
def eig_banded(
    a_band: Any,
    lower: bool = False,
    eigvals_only: bool = False,
    overwrite_a_band: bool = False,
    select: str = "a",
    select_range: Any = None,
    max_ev: int = 0,
    check_finite: bool = True,
) -> Any:
    """Return eigenvalues, ascending, and eigenvectors of a Hermitian matrix of few diagonals.

    Parameters
    ----------
    a_band : array_like or Var
        ``(..., u + 1, n)``: the main diagonal and those above it, or those below it: see `solveh_banded`.
    lower : bool
        Whether the lower diagonals are given.
    eigvals_only, select, select_range
        As for `eigh_tridiagonal`.
    overwrite_a_band, max_ev, check_finite
        Without effect on Vars.

    Returns
    -------
    tuple of numpy.ndarray or Var, or the first of them
        ``(..., n)`` and ``(..., n, n)``. Derivatives are those of `eigh`; sweeps take its time and memory.

    Raises
    ------
    SingularMatrixError
        In a sweep, by vectors of equal eigenvalues.
    UnsupportedError
        If eigenvalues of a Var are selected by value.

    Examples
    --------
    >>> import numpy as np, tape
    >>> def largest(bands):
    ...     return tape.scipy.linalg.eig_banded(bands, lower=True, eigvals_only=True)[-1]
    >>> tape.grad(largest)(np.array([[0.0, 0.0], [1.0, 9.0]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    a_band = matrix("eig_banded", a_band)
    count = a_band.shape[-2] - 1
    whole = from_bands(a_band, count, 0) if lower else dagger(from_bands(a_band, 0, count))
    kind = "lower" if lower else "upper"
    return _selected("eig_banded", whole, kind, count, eigvals_only, select, select_range)


def eigvals_banded(
    a_band: Any,
    lower: bool = False,
    overwrite_a_band: bool = False,
    select: str = "a",
    select_range: Any = None,
    check_finite: bool = True,
) -> Any:
    """Return the eigenvalues of a Hermitian matrix of few diagonals: see `eig_banded`."""
    return eig_banded(
        a_band, lower, eigvals_only=True, overwrite_a_band=overwrite_a_band, select=select,
        select_range=select_range, check_finite=check_finite,
    )  # fmt: skip


def _selected(
    name: str, whole: Any, kind: str, count: int, eigvals_only: bool, select: Any, select_range: Any
) -> Any:
    if select in ("v", "value", 1):
        raise UnsupportedError(
            f"{name}: select={select!r} has no derivative rule, as data decide how many values there are. "
            "Use select='i'"
        )
    if select not in ("a", "all", "i", "index", 0, 2):
        raise OptionError(f"{name}: select={select!r}. It must be 'a' or 'i'")
    n = whole.shape[-1]
    first, last = (0, n - 1) if select in ("a", "all", 0) else select_range
    if n and not 0 <= first <= last < n:
        raise OptionError(f"{name}: select_range={select_range!r} does not lie within 0 and {n - 1}")
    if eigvals_only:
        return values_alone(whole, kind=kind, count=count)[..., first : last + 1]
    w, v = values_and_vectors(whole, kind, count)
    return w[..., first : last + 1], v[..., :, first : last + 1]
