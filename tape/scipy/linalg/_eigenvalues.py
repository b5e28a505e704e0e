"""Eigenvalues and eigenvectors, of generalised problems too."""

from __future__ import annotations

from typing import Any

from tape.errors import OptionError, UnsupportedError
from tape.ops import linalg as ops
from tape.ops.linalg.packing import dagger
from tape.ops.linalg.triangular import pair
from tape.scipy._operands import whole
from tape.scipy.linalg._arrays import mirrored, square

__all__ = ["eig", "eigh", "eigvals", "eigvalsh"]


def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: str | None = None,
) -> Any:
    """Return eigenvalues, ascending, and eigenvectors of Hermitian matrices.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``; one triangle is read.
    b : array_like or Var, optional
        ``(..., n, n)``, positive definite: of a generalised problem; one triangle is read.
    lower : bool
        Which triangle.
    eigvals_only : bool
        Return the eigenvalues alone.
    overwrite_a, overwrite_b, check_finite, driver
        Without effect.
    type : {1, 2, 3}
        The problem ``a @ v = w b @ v``, ``a @ b @ v = w v`` or ``b @ a @ v = w v``.
    subset_by_index : tuple of int, optional
        The first and the last eigenvalue to return.
    subset_by_value : optional
        Refused: how many these are depends on data.

    Returns
    -------
    tuple of numpy.ndarray or Var, or one of these
        ``(..., n)`` and ``(..., n, n)``. Vectors have ``v.conj().T @ b @ v = 1``; of type 3, by the inverse.

    Raises
    ------
    OptionError
        If there is no such type.
    UnsupportedError
        With ``subset_by_value``.
    SingularMatrixError
        If b is not positive definite; in a sweep, by vectors of equal eigenvalues.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.eigh(np.diag([2.0, 9.0]), np.diag([1.0, 3.0]), eigvals_only=True)
    array([2., 3.])
    """
    if type not in (1, 2, 3):
        raise OptionError(f"eigh: type={type!r}. It must be 1, 2 or 3")
    if subset_by_value is not None:
        raise UnsupportedError(
            "eigh: subset_by_value has no derivative rule, as data decide how many eigenvalues there are. "
            "Use subset_by_index"
        )
    a = square("eigh", a)
    if b is None:
        w, v = _ordinary(a, lower, eigvals_only)
    else:
        w, v = _generalised(mirrored(a, lower), square("eigh", b), lower, eigvals_only, type)
    if subset_by_index is not None:
        first, last = pair("eigh", "subset_by_index", subset_by_index)
        first, last = (whole(k, "eigh: an end of subset_by_index") for k in (first, last))
        if not 0 <= first <= last < a.shape[-1]:
            raise OptionError(
                f"eigh: subset_by_index={subset_by_index!r}. It must be within 0 and {a.shape[-1] - 1}, the "
                "smaller end first"
            )
        w = w[..., first : last + 1]
        v = None if v is None else v[..., :, first : last + 1]
    return w if eigvals_only else (w, v)


def _ordinary(a: Any, lower: bool, eigvals_only: bool) -> tuple[Any, Any]:
    triangle = "L" if lower else "U"
    if eigvals_only:
        return ops.eigvalsh(a, triangle), None
    w, v = ops.eigh(a, triangle)
    return w, v


def _generalised(a: Any, b: Any, lower: bool, eigvals_only: bool, type: int) -> tuple[Any, Any]:
    """Reduce to an ordinary problem by the Cholesky factor of b, as LAPACK does."""
    factor = ops.cholesky(b) if lower else dagger(ops.cholesky(b, upper=True))
    if type == 1:
        left = ops.solve_triangular(factor, a, lower=True)
        reduced = dagger(ops.solve_triangular(factor, dagger(left), lower=True))
    else:
        reduced = dagger(factor) @ a @ factor
    reduced = (reduced + dagger(reduced)) / 2
    if eigvals_only:
        return ops.eigvalsh(reduced), None
    w, y = ops.eigh(reduced)
    v = factor @ y if type == 3 else ops.solve_triangular(factor, y, "C", lower=True)
    return w, v


def eigvalsh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: str | None = None,
) -> Any:
    """Return the eigenvalues of Hermitian matrices, ascending: see `eigh`."""
    return eigh(
        a, b, lower=lower, eigvals_only=True, type=type, subset_by_index=subset_by_index,
        subset_by_value=subset_by_value,
    )  # fmt: skip


def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Return eigenvalues, always complex, and right eigenvectors of square matrices.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``.
    b : array_like or Var, optional
        ``(..., n, n)``, of full rank: of the generalised problem ``a @ v = w b @ v``.
    left, homogeneous_eigvals : bool
        Refused.
    right : bool
        Whether to return vectors.
    overwrite_a, overwrite_b, check_finite : bool
        Without effect.

    Returns
    -------
    tuple of numpy.ndarray or Var, or the first of them
        ``(..., n)`` and ``(..., n, n)``.

    Raises
    ------
    UnsupportedError
        With ``left`` or ``homogeneous_eigvals``.
    SingularMatrixError
        If b is singular; in a sweep, if there is no basis of eigenvectors.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.eig(np.diag([2.0, 3.0]), right=False)
    array([2.+0.j, 3.+0.j])
    """
    if left or homogeneous_eigvals:
        raise UnsupportedError(
            "eig: left vectors and homogeneous eigenvalues have no derivative rule. Take right vectors, and "
            "for left ones those of a.conj().T"
        )
    a = square("eig", a)
    problem = a if b is None else ops.solve(square("eig", b), a)
    if not right:
        return ops.eigvals(problem) + 0j
    w, v = ops.eig(problem)
    return w + 0j, v


def eigvals(
    a: Any,
    b: Any = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Return the eigenvalues of square matrices, always complex: see `eig`."""
    return eig(a, b, right=False, homogeneous_eigvals=homogeneous_eigvals)
