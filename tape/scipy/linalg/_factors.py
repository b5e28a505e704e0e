"""Factorizations: Cholesky, LDL, LU, QR, singular values, polar."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg as original

from tape.errors import OptionError, ShapeError, describe
from tape.ops import linalg as ops
from tape.ops.linalg.ldl import ldl as _ldl
from tape.ops.linalg.lu import order_of, packed_lu, pivots
from tape.ops.linalg.packing import dagger, transposed, triangle
from tape.ops.linalg.polar import unitary_factor
from tape.ops.linalg.triangular import pair
from tape.scipy.linalg._arrays import matrix, mirrored, operand, read_triangle, square

__all__ = [
    "cho_factor",
    "cho_solve",
    "cholesky",
    "ldl",
    "lu",
    "lu_factor",
    "lu_solve",
    "polar",
    "qr",
    "svd",
    "svdvals",
]


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the triangular factor of positive definite matrices, the upper one by default.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``; the triangle of the factor is read.
    lower : bool
        Return the lower factor.
    overwrite_a, check_finite : bool
        Without effect.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n, n)``.

    Raises
    ------
    SingularMatrixError
        If a matrix is not positive definite.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.cholesky(np.diag([4.0, 9.0]))
    array([[2., 0.],
           [0., 3.]])
    """
    return ops.cholesky(square("cholesky", a), upper=not lower)


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """Return the factor and whether it is the lower one, for `cho_solve`; the other triangle is zeros."""
    return cholesky(a, lower), bool(lower)


def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve ``a @ x = b``, given the factor of ``a``: `tape.ops.linalg.cho_solve`."""
    c, lower = c_and_lower
    return ops.cho_solve((square("cho_solve", c), bool(lower)), operand(b))


def ldl(
    A: Any, lower: bool = True, hermitian: bool = True, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, Any, Any]:
    """Return lu, d and perm with ``A = lu @ d @ lu.conj().T``, for matrices that need not be definite.

    Parameters
    ----------
    A : array_like or Var
        ``(..., n, n)``; one triangle is read.
    lower : bool
        Which triangle, and which ``lu[perm]`` is.
    hermitian : bool
        Whether complex matrices are Hermitian, or symmetric, with ``lu.T``.
    overwrite_a, check_finite : bool
        Without effect.

    Returns
    -------
    lu, d : numpy.ndarray or Var
        ``(..., n, n)`` each: d has blocks of one or two rows, which data decide.
    perm : numpy.ndarray or Var of int
        ``(..., n)``, without derivative.

    Raises
    ------
    SingularMatrixError
        In a sweep, if A is singular.

    Examples
    --------
    >>> import numpy as np, tape
    >>> lu, d, perm = tape.scipy.linalg.ldl(np.array([[2.0, 9.0], [1.0, -1.0]]))
    >>> lu, d
    (array([[1. , 0. ],
           [0.5, 1. ]]), array([[ 2. ,  0. ],
           [ 0. , -1.5]]))
    """
    A = square("ldl", A)
    whole = mirrored(A, lower) if hermitian else read_triangle(A, lower)
    return _ldl(whole, lower=bool(lower), hermitian=bool(hermitian))


# ---- LU --------------------------------------------------------------------------------------------------


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """Return the factors of square matrices in one, and exchanges of rows, for `lu_solve`.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``.
    overwrite_a, check_finite : bool
        Without effect.

    Returns
    -------
    lu : numpy.ndarray or Var
        ``(..., n, n)``: U, and below its diagonal L without its diagonal of ones.
    piv : numpy.ndarray or Var of int
        ``(..., n)``: which row each row was exchanged with, in turn.

    Raises
    ------
    ShapeError
        If the matrices are not square.

    Examples
    --------
    >>> import numpy as np, tape
    >>> lu, piv = tape.scipy.linalg.lu_factor(np.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> lu, piv
    (array([[4.  , 4.  ],
           [0.25, 1.  ]]), array([1, 1]))
    """
    a = square("lu_factor", a)
    found = pivots(a)
    return packed_lu(_ordered(a, order_of(found, rows=a.shape[-2]))), found


def _ordered(a: Any, order: Any) -> Any:
    return np.take_along_axis(a, order[..., None], axis=-2)


def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve ``a @ x = b``, given the result of `lu_factor` of ``a``.

    Parameters
    ----------
    lu_and_piv : tuple
        As `lu_factor` returns it.
    b : array_like or Var
        ``(n,)``, or ``(..., n, k)``.
    trans : {0, 1, 2}
        Solve with the matrix, its transpose, or its conjugate transpose.
    overwrite_b, check_finite : bool
        Without effect.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    OptionError
        If ``trans`` is something else.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.scipy import linalg
    >>> linalg.lu_solve(linalg.lu_factor(np.array([[0.0, 2.0], [4.0, 0.0]])), np.array([2.0, 8.0]))
    array([2., 1.])
    """
    if trans not in (0, 1, 2):
        raise OptionError(f"lu_solve: trans={trans!r}. It must be 0, 1 or 2")
    packed, piv = pair("lu_solve", "lu_and_piv", lu_and_piv)
    packed, b = square("lu_solve", packed), operand(b)
    rows = packed.shape[-2]
    if not np.ndim(b) or b.shape[-2 if np.ndim(b) > 1 else -1] != rows:
        raise ShapeError(f"lu_solve: b has shape {list(np.shape(b))}, and the matrix {rows} rows")
    columns = b[:, None] if np.ndim(b) == 1 else b
    piv = piv if hasattr(piv, "shape") else np.asarray(piv)
    if np.shape(piv) != packed.shape[:-1] or piv.dtype.kind not in "iu":
        raise ShapeError(f"lu_solve: piv is {describe(piv)}. It must hold an int for each of {rows} rows")
    order = order_of(piv, rows=rows)
    stack = np.broadcast_shapes(packed.shape[:-2], columns.shape[:-2])
    columns = np.broadcast_to(columns, (*stack, *columns.shape[-2:]))
    order = np.broadcast_to(order, (*stack, order.shape[-1]))
    if trans == 0:
        half_way = ops.solve_triangular(packed, _ordered(columns, order), 0, True, True)
        x = ops.solve_triangular(packed, half_way)
    else:
        half_way = ops.solve_triangular(packed, columns, trans)
        x = _ordered(ops.solve_triangular(packed, half_way, trans, True, True), np.argsort(order, axis=-1))
    return x[..., 0] if np.ndim(b) == 1 else x


def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> tuple[Any, ...]:
    """Return p, l and u with ``a = p @ l @ u``: a permutation, and triangular matrices.

    Parameters
    ----------
    a : array_like or Var
        ``(..., m, n)``.
    permute_l : bool
        Return ``p @ l`` and u.
    overwrite_a, check_finite : bool
        Without effect.
    p_indices : bool
        Return the permutation as indices, with ``a = l[p] @ u``.

    Returns
    -------
    tuple of numpy.ndarray or Var
        With k the lesser of m and n: ``(..., m, m)``, ``(..., m, k)`` and ``(..., k, n)``. The permutation
        has no derivative.

    Raises
    ------
    SingularMatrixError
        In a sweep, if a leading part of the ordered matrix is singular.

    Examples
    --------
    >>> import numpy as np, tape
    >>> p, l, u = tape.scipy.linalg.lu(np.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> l, u
    (array([[1.  , 0.  ],
           [0.25, 1.  ]]), array([[4., 4.],
           [0., 1.]]))
    """
    a = matrix("lu", a)
    m, n = a.shape[-2:]
    k = min(m, n)
    order = order_of(pivots(a), rows=m)
    ordered = _ordered(a, order)
    packed = packed_lu(ordered[..., :k, :k])
    left = triangle(packed, True, True) + np.eye(k, dtype=packed.dtype)
    right = triangle(packed, False, False)
    if m > n:
        rest = ops.solve_triangular(packed, transposed(ordered[..., k:, :]), 1)
        left = np.concatenate([left, transposed(rest)], axis=-2)
    elif n > m:
        rest = ops.solve_triangular(packed, ordered[..., :, k:], 0, True, True)
        right = np.concatenate([right, rest], axis=-1)
    back = np.argsort(order, axis=-1)
    if permute_l:
        return _ordered(left, back), right
    if p_indices:
        return back, left, right
    return (back[..., :, None] == np.arange(m)) * np.ones((), np.finfo(packed.dtype).dtype), left, right


# ---- QR, singular values, polar ----------------------------------------------------------------------------


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: int | None = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """Return q and r with ``a = q @ r``: orthonormal columns, and an upper triangle.

    Parameters
    ----------
    a : array_like or Var
        ``(..., m, n)``.
    overwrite_a, lwork, check_finite
        Without effect.
    mode : {"full", "r", "economic"}
        A whole basis; r alone, in a tuple; or only as many columns as are needed.
    pivoting : bool
        Refused, as is ``mode="raw"``.

    Returns
    -------
    tuple of numpy.ndarray or Var

    Raises
    ------
    OptionError
        If there is no such mode, or with ``pivoting``.

    Examples
    --------
    >>> import numpy as np, tape
    >>> q, r = tape.scipy.linalg.qr(np.array([[3.0], [4.0]]), mode="economic")
    >>> abs(r)
    array([[5.]])
    """
    if mode not in ("full", "r", "economic"):
        raise OptionError(f"qr: mode={mode!r}. It must be 'full', 'r' or 'economic'")
    if pivoting:
        raise OptionError("qr: pivoting=True has no derivative rule. Order the columns first")
    a = matrix("qr", a)
    if mode == "economic":
        return tuple(ops.qr(a))
    q, r = ops.qr(a, "complete")
    return (r,) if mode == "r" else (q, r)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Return the singular value decomposition ``u * s @ vh``: `tape.ops.linalg.svd`."""
    found = ops.svd(matrix("svd", a), full_matrices=bool(full_matrices), compute_uv=bool(compute_uv))
    return tuple(found) if compute_uv else found


def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the singular values of matrices, the largest first."""
    return ops.svdvals(matrix("svdvals", a))


def polar(a: Any, side: str = "right") -> tuple[Any, Any]:
    """Return u and p with ``a = u @ p``, or ``a = p @ u``: orthonormal, and positive semidefinite.

    Parameters
    ----------
    a : array_like or Var
        ``(..., m, n)``, of full rank where derivatives are needed.
    side : {"right", "left"}
        On which side p is. On the right m must be at least n, on the left at most.

    Returns
    -------
    u, p : numpy.ndarray or Var

    Raises
    ------
    OptionError
        If there is no such side.
    ShapeError
        If p would be singular on that side.
    SingularMatrixError
        In a sweep, if the rank is lower.

    Examples
    --------
    >>> import numpy as np, tape
    >>> u, p = tape.scipy.linalg.polar(np.array([[0.0, -2.0], [3.0, 0.0]]))
    >>> u.round(12) + 0.0, p.round(12)
    (array([[ 0., -1.],
           [ 1.,  0.]]), array([[3., 0.],
           [0., 2.]]))
    """
    if side not in ("right", "left"):
        raise OptionError(f"polar: side={side!r}. It must be 'right' or 'left'")
    a = matrix("polar", a)
    m, n = a.shape[-2:]
    if (m < n) if side == "right" else (m > n):
        if type(a) is np.ndarray:
            return tuple(original.polar(a, side))
        raise ShapeError(
            f"polar: of shape {list(a.shape)} the positive factor on the {side} is singular, and has no "
            "derivative. Take the other side"
        )
    tall = a if side == "right" else dagger(a)
    u = unitary_factor(tall)
    p = dagger(u) @ tall
    p = (p + dagger(p)) / 2
    return (u, p) if side == "right" else (dagger(u), p)
