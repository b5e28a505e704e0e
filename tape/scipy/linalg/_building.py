"""Matrices made of vectors and of other matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.errors import ShapeError
from tape.scipy.linalg._arrays import as_array, operand

__all__ = ["block_diag", "circulant", "companion", "hankel", "khatri_rao", "toeplitz"]


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
    c = _vector("toeplitz", c)
    r = np.conj(c) if r is None else _vector("toeplitz", r)
    m, n = c.shape[-1], r.shape[-1]
    values = _joined(c[..., ::-1], r[..., 1:])
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
    c = _vector("circulant", c)
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
    c = _vector("hankel", c)
    r = np.zeros(c.shape, c.dtype) if r is None else _vector("hankel", r)
    values = _joined(c, r[..., 1:])
    return values[..., np.arange(c.shape[-1])[:, None] + np.arange(r.shape[-1])]


def companion(a: Any) -> Any:
    """Return the companion matrix of a polynomial.

    Parameters
    ----------
    a : array_like or Var
        ``(n,)``: coefficients, highest power first; at least two, the first not 0.

    Returns
    -------
    numpy.ndarray or Var
        ``(n - 1, n - 1)``.

    Raises
    ------
    ShapeError
        If there are less than two.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.linalg.companion([2.0, 4.0, 6.0])
    array([[-2., -3.],
           [ 1.,  0.]])
    """
    a = operand(a)
    n = np.size(a)
    if n < 2 or np.ndim(a) > 1:
        raise ShapeError(f"companion: coefficients of shape {list(a.shape)}. Give a vector of two or more")
    first = (-a[1:] / a[0])[None]
    return np.concatenate([first, np.eye(n - 2, n - 1, dtype=a.dtype)])


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


def _vector(name: str, x: Any) -> Any:
    x = as_array(x)
    return x if np.ndim(x) else np.reshape(x, (1,))


def _joined(first: Any, second: Any) -> Any:
    stack = np.broadcast_shapes(first.shape[:-1], second.shape[:-1])
    parts = [np.broadcast_to(x, (*stack, x.shape[-1])) for x in (first, second)]
    return np.concatenate(parts, axis=-1)
