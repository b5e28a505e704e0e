"""Bases of ranges and null spaces, angles between subspaces, and the turn from one matrix to another."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg as original

from tape.errors import ShapeError
from tape.ops import linalg as ops
from tape.ops.linalg.packing import dagger
from tape.ops.linalg.polar import unitary_factor
from tape.ops.linalg.subspaces import leading, null_basis, range_basis
from tape.scipy._operands import is_recorded
from tape.scipy.linalg._arrays import matrix, number

__all__ = ["null_space", "orth", "orthogonal_procrustes", "subspace_angles"]


def _one(name: str, A: Any, rcond: Any) -> tuple[Any, float]:
    """Return a matrix, and the share of the largest singular value that counts as 0."""
    A, share = matrix(name, A), number(name, "rcond", rcond)
    if np.ndim(A) != 2:
        raise ShapeError(
            f"{name}: a stack of matrices of shape {list(A.shape)}, whose results may differ in shape. Call "
            "it for each matrix"
        )
    return A, float(np.finfo(A.dtype).eps) * max(A.shape) if share is None else share


def orth(A: Any, rcond: float | None = None) -> Any:
    """Return an orthonormal basis of the range of a matrix: its left singular vectors.

    Parameters
    ----------
    A : array_like or Var
        ``(m, n)``; plain arrays may be stacks.
    rcond : float, optional
        Share of the largest singular value below which one counts as 0; by default ``max(m, n) * eps``.

    Returns
    -------
    numpy.ndarray or Var
        ``(m, rank)``. Derivatives are those of `svd`, which singular vectors of equal values have not.

    Raises
    ------
    ShapeError
        If a Var is a stack of matrices.
    SingularMatrixError
        In a sweep, by vectors of equal singular values, or, forwards, if the rank is less than m and n.

    Examples
    --------
    >>> import numpy as np, tape
    >>> abs(tape.scipy.linalg.orth(np.array([[3.0, 6.0], [4.0, 8.0]]))).round(12)
    array([[0.6],
           [0.8]])
    """
    if not is_recorded(A) and np.ndim(A) > 2:
        return original.orth(A, rcond)
    A, share = _one("orth", A, rcond)
    u, s, _ = ops.svd(A, full_matrices=False)
    return leading(u, s, rtol=share)


def null_space(
    A: Any,
    rcond: float | None = None,
    *,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Return an orthonormal basis of the null space of a matrix.

    Parameters
    ----------
    A : array_like or Var
        ``(m, n)``; plain arrays may be stacks.
    rcond : float, optional
        Share of the largest singular value below which one counts as 0; by default ``max(m, n) * eps``.
    overwrite_a, check_finite, lapack_driver
        Without effect.

    Returns
    -------
    numpy.ndarray or Var
        ``(n, n - rank)``. The basis is one of many. Its derivative is the least change that keeps it a basis,
        at constant rank, ``-pinv(A) @ dA @ basis``, and not that of LAPACK's choice, which may turn within
        the space: right for whatever depends on the space alone.

    Raises
    ------
    ShapeError
        If a Var is a stack of matrices.

    Examples
    --------
    >>> import numpy as np, tape
    >>> abs(tape.scipy.linalg.null_space(np.array([[3.0, 4.0]]))).round(12)
    array([[0.8],
           [0.6]])
    """
    if not is_recorded(A) and np.ndim(A) > 2:
        return original.null_space(A, rcond)
    A, share = _one("null_space", A, rcond)
    return null_basis(A, rtol=share)


def subspace_angles(A: Any, B: Any) -> Any:
    """Return the angles between the ranges of two matrices, the largest first.

    Parameters
    ----------
    A, B : array_like or Var
        ``(m, n)`` and ``(m, k)``; plain arrays may be stacks.

    Returns
    -------
    numpy.ndarray or Var
        As many as the lesser rank. Derivatives are those at constant ranks; that of an angle which is 0, or
        a right one, is 0.

    Raises
    ------
    ShapeError
        If they have not as many rows, or a Var is a stack of matrices.

    Notes
    -----
    By sines and cosines together (Björck and Golub 1973), so that small and right angles among others keep
    their digits.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.subspace_angles(np.array([[1.0], [0.0]]), np.array([[1.0], [1.0]])).round(6)
    array([0.785398])
    """
    if not is_recorded(A, B) and max(np.ndim(A), np.ndim(B)) > 2:
        return original.subspace_angles(A, B)
    (A, share), (B, other_share) = (_one("subspace_angles", x, None) for x in (A, B))
    if A.shape[0] != B.shape[0]:
        raise ShapeError(
            f"subspace_angles: {A.shape[0]} and {B.shape[0]} rows. Give matrices of as many rows"
        )
    one, other = range_basis(A, rtol=share), range_basis(B, rtol=other_share)
    if one.shape[1] < other.shape[1]:
        one, other = other, one
    along = dagger(one) @ other
    return np.arctan2(ops.svdvals(other - one @ along), ops.svdvals(along)[::-1])


def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """Return the orthogonal matrix that turns A nearest to B, and the sum of singular values of ``A.T @ B``.

    Parameters
    ----------
    A, B : array_like or Var
        ``(..., m, n)``.
    check_finite : bool
        Without effect.

    Returns
    -------
    R : numpy.ndarray or Var
        ``(..., n, n)``.
    scale : numpy.ndarray or Var
        ``(...,)``.

    Raises
    ------
    ShapeError
        If the shapes differ.
    SingularMatrixError
        In a sweep, if ``A.T @ B`` is singular.

    Examples
    --------
    >>> import numpy as np, tape
    >>> A = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> R, scale = tape.scipy.linalg.orthogonal_procrustes(A, A[:, ::-1])
    >>> R.round(12) + 0.0
    array([[0., 1.],
           [1., 0.]])
    """
    A, B = matrix("orthogonal_procrustes", A), matrix("orthogonal_procrustes", B)
    if A.shape != B.shape:
        raise ShapeError(
            f"orthogonal_procrustes: shapes {list(A.shape)} and {list(B.shape)}. Give equal ones"
        )
    product = dagger(A) @ B
    return unitary_factor(product), np.sum(ops.svdvals(product), axis=-1)
