"""Matrices of polynomials, of distances and of populations."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.errors import OptionError, ShapeError
from tape.scipy.linalg._arrays import operand
from tape.scipy.linalg._building import as_vector, joined, zero_of

__all__ = ["companion", "fiedler", "fiedler_companion", "leslie"]


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


def fiedler(a: Any) -> Any:
    """Return the matrix of absolute differences of numbers.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n)``; complex ones, too.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n, n)``; of equal numbers the derivative is 0.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.linalg.fiedler([1.0, 4.0, 5.0])
    array([[0., 3., 4.],
           [3., 0., 1.],
           [4., 1., 0.]])
    """
    a = as_vector(a)
    if np.size(a) == 0:
        return np.zeros((0,))
    return np.abs(a[..., :, None] - a[..., None, :])


def fiedler_companion(a: Any) -> Any:
    """Return the companion matrix of a polynomial that has five diagonals.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n)``: coefficients, highest power first; the first not 0.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n - 1, n - 1)``; of less than two coefficients, ``(..., 0)``.

    Raises
    ------
    OptionError
        If the first is a plain 0.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.linalg.fiedler_companion([2.0, 4.0, 6.0, 8.0])
    array([[-2., -3.,  1.],
           [ 1.,  0.,  0.],
           [ 0., -4.,  0.]])
    """
    a = operand(as_vector(a))
    n = a.shape[-1] - 1
    if n < 1:
        return a[..., :0]
    if type(a) is np.ndarray and np.any(a[..., 0] == 0):
        raise OptionError("fiedler_companion: the leading coefficient is 0. Leave it out")
    ratios = a[..., 1:] / a[..., :1]
    source = np.full((n, n), -1)  # which ratio, -1 for none
    even = np.arange(0, n - 1, 2)
    source[even, even + 1] = even + 1
    odd = np.arange(2, n, 2)
    source[odd, odd - 1] = odd
    source[0, 0] = 0
    ones = np.zeros((n, n))
    ones[np.arange(3, n, 2), np.arange(1, n - 2, 2)] = 1
    ones[np.arange(0, n - 2, 2), np.arange(2, n, 2)] = 1
    ones[1:2, 0] = 1
    return np.where(source < 0, ones.astype(ratios.dtype), -ratios[..., np.maximum(source, 0)])


def leslie(f: Any, s: Any) -> Any:
    """Return the matrix of a population of age classes.

    Parameters
    ----------
    f : array_like or Var
        ``(..., n)``: how many descendants each class has, the first row.
    s : array_like or Var
        ``(..., n - 1)``: which share survives, below the diagonal; at least one.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n, n)``.

    Raises
    ------
    ShapeError
        If the lengths do not fit.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.linalg.leslie([0.5, 2.0], [0.25])
    array([[0.5 , 2.  ],
           [0.25, 0.  ]])
    """
    f, s = as_vector(f), as_vector(s)
    n = f.shape[-1]
    if s.shape[-1] != n - 1 or n < 2:
        raise ShapeError(
            f"leslie: f of shape {list(f.shape)} and s of shape {list(s.shape)}. s must have one less, and "
            "at least one"
        )
    values = joined(f, s)
    source = np.full((n, n), -1)
    source[0] = np.arange(n)
    source[np.arange(1, n), np.arange(n - 1)] = n + np.arange(n - 1)
    return np.where(source < 0, zero_of(values), values[..., np.maximum(source, 0)])
