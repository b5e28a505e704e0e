"""Schur forms, Hessenberg forms, balanced matrices, and diagonal forms in real numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg as original

from tape.errors import OptionError, ShapeError, UnsupportedError
from tape.ops.linalg import balancing
from tape.ops.linalg import hessenberg as _hessenberg
from tape.ops.linalg import schur as _schur
from tape.scipy._operands import is_recorded
from tape.scipy.linalg._arrays import operand, square

__all__ = ["cdf2rdf", "hessenberg", "matrix_balance", "rsf2csf", "schur"]


def schur(
    a: Any,
    output: str = "real",
    lwork: int | None = None,
    overwrite_a: bool = False,
    sort: Any = None,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """Return T and Z with ``a = Z @ T @ Z.conj().T``: a triangle, and an orthonormal basis.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``.
    output : {"real", "complex"}
        Of real matrices: whether pairs of complex eigenvalues are blocks of two rows, or T is complex.
    lwork, overwrite_a, check_finite
        Without effect.
    sort : {"lhp", "rhp", "iuc", "ouc"}, optional
        Put eigenvalues of the left or right half plane, inside or outside of the unit circle, in front. Of
        plain arrays it may be a function, too.

    Returns
    -------
    tuple of numpy.ndarray or Var
        ``(..., n, n)`` each; with ``sort`` the number of eigenvalues in front, too. Vectors are determined up
        to signs, those of pairs of eigenvalues up to right angles, and complex ones up to factors of absolute
        value 1: results that depend on these are arbitrary, and so are their derivatives.

    Raises
    ------
    OptionError
        If there is no such output or sort.
    SingularMatrixError
        In a sweep, if eigenvalues are equal; or, of a real form, if a pair is that of a rotation times a
        number, which can turn freely.
    UnsupportedError
        If ``a`` is a Var and ``sort`` a function.

    Examples
    --------
    >>> import numpy as np, tape
    >>> T, Z = tape.scipy.linalg.schur(np.array([[1.0, 2.0], [0.0, 3.0]]))
    >>> T
    array([[1., 2.],
           [0., 3.]])
    """
    if output not in ("real", "complex", "r", "c"):
        raise OptionError(f"schur: output={output!r}. It must be 'real' or 'complex'")
    if callable(sort):
        if is_recorded(a):
            raise UnsupportedError("schur: a function as sort has no derivative rule. Name a sort of SciPy's")
        return tuple(original.schur(a, output, sort=sort))
    if sort not in (None, "lhp", "rhp", "iuc", "ouc"):
        raise OptionError(f"schur: sort={sort!r}. It must be 'lhp', 'rhp', 'iuc' or 'ouc'")
    a = square("schur", a)
    if output in ("complex", "c"):
        a = a.astype(np.result_type(a, np.complex64))
    T, Z, count = _schur.schur(a, sort)
    return (T, Z) if sort is None else (T, Z, count)


def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """Return the complex Schur form of a real one.

    Parameters
    ----------
    T, Z : array_like or Var
        ``(..., n, n)`` each, as `schur` returns them. Below the diagonal only pairs of rows are read.
    check_finite : bool
        Without effect.

    Returns
    -------
    T, Z : numpy.ndarray or Var
        ``(..., n, n)``: a triangle, and a basis, up to factors as those of `schur`.

    Raises
    ------
    ShapeError
        If the shapes differ.
    SingularMatrixError
        In a sweep, if eigenvalues are equal.

    Examples
    --------
    >>> import numpy as np, tape
    >>> T, Z = tape.scipy.linalg.rsf2csf(np.array([[0.0, 2.0], [-2.0, 0.0]]), np.eye(2))
    >>> np.diagonal(T).round(12) + 0.0
    array([0.+2.j, 0.-2.j])
    """
    T, Z = square("rsf2csf", T), square("rsf2csf", Z)
    if T.shape != Z.shape:
        raise ShapeError(f"rsf2csf: shapes {list(T.shape)} and {list(Z.shape)}. Give two of one shape")
    if T.dtype.kind == "c":
        return T, Z.astype(np.result_type(T, Z))
    form, turn = _schur.complex_form(T)
    return form, Z @ turn


def hessenberg(a: Any, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return H, and Q, with ``a = Q @ H @ Q.conj().T``: a triangle with one more diagonal, and a basis.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``.
    calc_q : bool
        Return Q, too.
    overwrite_a, check_finite : bool
        Without effect.

    Returns
    -------
    tuple of numpy.ndarray or Var, or the first of them
        ``(..., n, n)`` each.

    Raises
    ------
    SingularMatrixError
        In a sweep, if an element beside the diagonal of H is 0, after which Q can turn freely.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.hessenberg(np.array([[1.0, 2.0, 2.0], [3.0, 4.0, 1.0], [4.0, 5.0, 6.0]])).round(2)
    array([[ 1.  , -2.8 , -0.4 ],
           [-5.  ,  8.16,  1.88],
           [ 0.  , -2.12,  1.84]])
    """
    h, q = _hessenberg.hessenberg(square("hessenberg", a))
    return (h, q) if calc_q else h


def matrix_balance(
    A: Any, permute: bool = True, scale: bool = True, separate: bool = False, overwrite_a: bool = False
) -> tuple[Any, Any]:
    """Return a matrix with rows and columns of like size, similar to A, and what it is transformed by.

    Parameters
    ----------
    A : array_like or Var
        ``(..., n, n)``.
    permute, scale : bool
        Whether rows and columns may be put in another order, and scaled by powers of two.
    separate : bool
        Return the scaling and the order instead of the matrix that does both.
    overwrite_a : bool
        Without effect.

    Returns
    -------
    B : numpy.ndarray or Var
        ``(..., n, n)``, with ``B = inv(T) @ A @ T``.
    T : numpy.ndarray or Var, or tuple of two
        ``(..., n, n)``; or ``(..., n)`` each: both without derivative.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.matrix_balance(np.array([[1.0, 1024.0], [1.0, 1.0]]), separate=True)
    (array([[ 1., 32.],
           [32.,  1.]]), (array([32.,  1.]), array([0, 1])))
    """
    A = square("matrix_balance", A)
    scaling, order = balancing.balance(A, permute=bool(permute), scale=bool(scale))
    rows = np.take_along_axis(A, order[..., :, None], axis=-2)
    ordered = np.take_along_axis(rows, order[..., None, :], axis=-1)
    B = ordered * scaling[..., None, :] / scaling[..., :, None]
    if separate:
        return B, (scaling, order)
    return B, np.where(np.arange(A.shape[-1])[:, None] == order[..., None, :], scaling[..., None, :], 0)


def cdf2rdf(w: Any, v: Any) -> tuple[Any, Any]:
    """Return real matrices of pairs of complex eigenvalues and eigenvectors.

    Parameters
    ----------
    w, v : array_like or Var
        ``(..., n)`` and ``(..., n, n)``: eigenvalues and eigenvectors, complex ones in conjugate pairs, the
        first of each before the second.

    Returns
    -------
    wr, vr : numpy.ndarray or Var
        ``(..., n, n)``: real blocks along the diagonal, and real vectors, with ``vr @ wr`` for ``v * w``.

    Raises
    ------
    OptionError
        If there is an odd number of complex eigenvalues.
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.cdf2rdf(np.array([1 + 2j, 1 - 2j]), np.array([[1, 1], [1j, -1j]]))[0]
    array([[ 1.,  2.],
           [-2.,  1.]])
    """
    w, v = operand(w), operand(v)
    if np.ndim(w) < 1 or np.shape(v) != (*w.shape, w.shape[-1]):
        raise ShapeError(
            f"cdf2rdf: eigenvalues of shape {list(np.shape(w))} and vectors of shape {list(np.shape(v))}. "
            "Give a square matrix of vectors for each row of values"
        )
    n = w.shape[-1]
    own, partner = np.arange(n), balancing.partners(w)
    is_own = own == own[:, None]
    is_other = (own == partner[..., :, None]) & ~is_own
    wr = np.where(is_own, np.real(w)[..., :, None], np.where(is_other, np.imag(w)[..., :, None], 0))
    if v.dtype.kind != "c":
        v = v.astype(np.result_type(v, np.complex64))
    is_first, is_second = partner > own, partner < own
    half, one = v.dtype.type(0.5), v.dtype.type(1)
    with_own = np.where(is_first, 1j * half, np.where(is_second, half, one))
    with_other = np.where(is_first, half, -1j * half)
    parts = np.where(is_own, with_own[..., :, None], np.where(is_other, with_other[..., :, None], 0))
    return wr, np.real(v @ parts)
