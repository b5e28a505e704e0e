"""Matrices with constant diagonals, and matrices made of others."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.errors import OptionError, ShapeError
from tape.scipy._operands import whole
from tape.scipy.linalg._arrays import as_array

__all__ = [
    "block_diag",
    "circulant",
    "convolution_matrix",
    "diagsvd",
    "hankel",
    "khatri_rao",
    "toeplitz",
]


def toeplitz(c: Any, r: Any = None) -> Any:
    """Return matrices with constant diagonals.

    Parameters
    ----------
    c : array_like or Var
        ``(..., m)``: the first column.
    r : array_like or Var, optional
        ``(..., n)``: the first row, whose first element is not read; by default the conjugate of ``c``.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., m, n)``.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.linalg.toeplitz([1.0, 2.0], [1.0, 5.0, 6.0])
    array([[1., 5., 6.],
           [2., 1., 5.]])
    """
    c = as_vector(c)
    r = np.conj(c) if r is None else as_vector(r)
    m, n = c.shape[-1], r.shape[-1]
    values = joined(c[..., ::-1], r[..., 1:])
    return values[..., np.arange(m - 1, -1, -1)[:, None] + np.arange(n)]


def circulant(c: Any) -> Any:
    """Return matrices whose columns are turns of the first one.

    Parameters
    ----------
    c : array_like or Var
        ``(..., n)``.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n, n)``.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.linalg.circulant([1.0, 2.0, 3.0])
    array([[1., 3., 2.],
           [2., 1., 3.],
           [3., 2., 1.]])
    """
    c = as_vector(c)
    n = c.shape[-1]
    return c[..., (np.arange(n)[:, None] - np.arange(n)) % max(n, 1)]


def hankel(c: Any, r: Any = None) -> Any:
    """Return matrices with constant diagonals from the right to the left.

    Parameters
    ----------
    c : array_like or Var
        ``(..., m)``: the first column.
    r : array_like or Var, optional
        ``(..., n)``: the last row, whose first element is not read; zeros by default.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., m, n)``.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.linalg.hankel([1.0, 2.0], [9.0, 3.0, 4.0])
    array([[1., 2., 3.],
           [2., 3., 4.]])
    """
    c = as_vector(c)
    r = np.zeros(c.shape, c.dtype) if r is None else as_vector(r)
    values = joined(c, r[..., 1:])
    return values[..., np.arange(c.shape[-1])[:, None] + np.arange(r.shape[-1])]


def block_diag(*arrs: Any) -> Any:
    """Return the matrix with these matrices along its diagonal, and zeros elsewhere.

    Parameters
    ----------
    *arrs : array_like or Var
        ``(..., m, n)`` each; numbers and vectors are one row.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., sum of m, sum of n)``.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.linalg.block_diag([[1.0, 2.0]], 3.0)
    array([[1., 2., 0.],
           [0., 0., 3.]])
    """
    blocks = [as_array(block) for block in arrs or ([],)]
    blocks = [block if np.ndim(block) > 1 else np.reshape(block, (1, -1)) for block in blocks]
    stack = np.broadcast_shapes(*(block.shape[:-2] for block in blocks))
    dtype = np.result_type(*(block.dtype for block in blocks))
    width = sum(block.shape[-1] for block in blocks)
    rows, before = [], 0
    for block in blocks:
        m, n = block.shape[-2:]
        spread = np.broadcast_to(block, (*stack, m, n))
        after = width - before - n
        left, right = (np.zeros((*stack, m, count), dtype) for count in (before, after))
        rows.append(np.concatenate([left, spread, right], axis=-1))
        before += n
    return np.concatenate(rows, axis=-2)


def khatri_rao(a: Any, b: Any) -> Any:
    """Return the Kronecker products of the columns of two matrices.

    Parameters
    ----------
    a, b : array_like or Var
        ``(..., m, n)`` and ``(..., k, n)``.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., m * k, n)``.

    Raises
    ------
    ShapeError
        If they have not as many columns.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.linalg.khatri_rao([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]])
    array([[ 5., 12.],
           [15., 24.]])
    """
    a, b = as_array(a), as_array(b)
    if np.ndim(a) < 2 or np.ndim(b) < 2 or a.shape[-1] != b.shape[-1]:
        raise ShapeError(
            f"khatri_rao: shapes {[*np.shape(a)]} and {[*np.shape(b)]}. Give matrices of as many columns"
        )
    product = a[..., :, None, :] * b[..., None, :, :]
    return product.reshape(*product.shape[:-3], a.shape[-2] * b.shape[-2], a.shape[-1])


def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """Return the matrix that convolves vectors of n elements with another one.

    Parameters
    ----------
    a : array_like or Var
        ``(..., m)``, of at least one element.
    n : int
        Number of columns.
    mode : {"full", "valid", "same"}
        Which part of the convolution: see `numpy.convolve`.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., k, n)``, where k is ``m + n - 1``, ``max(m, n) - min(m, n) + 1`` or ``max(m, n)``.

    Raises
    ------
    OptionError
        If n is not positive, or there is no such mode.
    ShapeError
        If there are no elements.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.linalg.convolution_matrix([1.0, 2.0], 2)
    array([[1., 0.],
           [2., 1.],
           [0., 2.]])
    """
    a = as_vector(a)
    m = a.shape[-1]
    n = whole(n, "convolution_matrix: n")
    if n <= 0:
        raise OptionError(f"convolution_matrix: n={n!r}. It must be positive")
    if mode not in ("full", "valid", "same"):
        raise OptionError(f"convolution_matrix: mode={mode!r}. It must be 'full', 'valid' or 'same'")
    if m == 0:
        raise ShapeError("convolution_matrix: a has no elements. Give at least one")
    extra = {"full": 0, "valid": 2 * (min(m, n) - 1), "same": min(m, n) - 1}[mode]
    first = {"full": 0, "valid": min(m, n) - 1, "same": extra // 2}[mode]
    offsets = np.arange(first, first + m + n - 1 - extra)[:, None] - np.arange(n)
    return _picked(a, offsets)


def diagsvd(s: Any, M: int, N: int) -> Any:
    """Return the matrix of singular values, between the left and the right vectors.

    Parameters
    ----------
    s : array_like or Var
        ``(..., k)``.
    M, N : int
        The shape of the matrix; one of both must be k.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., M, N)``.

    Raises
    ------
    ShapeError
        If neither is k, or one is less.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.linalg.diagsvd([3.0, 2.0], 2, 3)
    array([[3., 0., 0.],
           [0., 2., 0.]])
    """
    s = as_vector(s)
    k, M, N = s.shape[-1], whole(M, "diagsvd: M"), whole(N, "diagsvd: N")
    if k != min(M, N):
        raise ShapeError(f"diagsvd: {k} values for a matrix of shape {[M, N]}. Give {min(M, N)}")
    is_diagonal = np.eye(M, N, dtype=bool)
    return np.where(is_diagonal, s[..., np.minimum(np.arange(M), max(k - 1, 0))[:, None]], zero_of(s))


def _picked(values: Any, index: np.ndarray) -> Any:
    """Return elements of the last axis by index, 0 where there are none."""
    is_there = (index >= 0) & (index < values.shape[-1])
    return np.where(is_there, values[..., np.where(is_there, index, 0)], zero_of(values))


def zero_of(x: Any) -> Any:
    """Return a 0 of the same dtype."""
    return np.zeros((), x.dtype)


def as_vector(x: Any) -> Any:
    """Return an array of one axis at least."""
    x = as_array(x)
    return x if np.ndim(x) else np.reshape(x, (1,))


def joined(first: Any, second: Any) -> Any:
    """Return two stacks of vectors as one of longer ones."""
    stack = np.broadcast_shapes(first.shape[:-1], second.shape[:-1])
    parts = [np.broadcast_to(x, (*stack, x.shape[-1])) for x in (first, second)]
    return np.concatenate(parts, axis=-1)
