"""Choosing between arrays, and what a choice passes back to them: one pass, where NumPy takes several.

NumPy's `where` branches at every element, which costs ten times what moving the memory does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.kernels._jit import AVOIDED, KERNEL_DTYPES, kernel
from tape.kernels.reduce import sums_between

__all__ = ["extremes_share", "select", "share"]

_LARGE = 1024  # elements; below, NumPy is as fast, and numba need not be woken up


def select(condition: Any, x: Any, y: Any) -> Any:
    """``numpy.where(condition, x, y)``.

    Parameters
    ----------
    condition, x, y : array_like
        That broadcast. There is one pass for a large C-ordered array of bools and what broadcasts to its
        shape: C-ordered arrays, float32 or float64 both, or one of these and a number.

    Returns
    -------
    numpy.ndarray
        What NumPy returns.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.choices import select
    >>> select(np.array([True, False]), np.array([1.0, 2.0]), 0)
    array([1., 0.])
    """
    if type(condition) is np.ndarray and condition.size >= _LARGE and condition.dtype == bool:
        like = x if type(x) is np.ndarray else y
        if type(like) is np.ndarray and _is_for_kernels(condition, like.dtype):
            shape = condition.shape
            xs, ys = _flat(x, shape, like.dtype), _flat(y, shape, like.dtype)
            if xs is not None and ys is not None:
                out = np.empty(shape, like.dtype)
                _select(condition.reshape(-1), xs, ys, out.reshape(-1))
                return out
    return np.where(condition, x, y)


def share(d: Any, x: Any, y: Any, choice: str) -> np.ndarray | None:
    """What of ``d`` goes to ``x`` when one of x and y is chosen: all, half where they are equal, or nothing.

    Parameters
    ----------
    d : array_like
        What is shared.
    x, y : array_like
        That broadcast to the shape of ``d``.
    choice : {"maximum", "minimum", "fmax", "fmin"}
        The ufunc that chose.

    Returns
    -------
    numpy.ndarray or None
        Of the shape of ``d``. None unless this is for large C-ordered arrays, float32 or float64 all, and
        numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.choices import share
    >>> share(np.ones(2000), np.linspace(-1.0, 1.0, 2000), 0.0, "maximum")[[0, -1]]
    array([0., 1.])
    """
    if type(d) is not np.ndarray or not _is_for_kernels(d, d.dtype):
        return None
    xs, ys = _flat(x, d.shape, d.dtype), _flat(y, d.shape, d.dtype)
    if xs is None or ys is None:
        return None
    out = np.empty(d.shape, d.dtype)
    sign = d.dtype.type(1 if choice in ("maximum", "fmax") else -1)
    _share(d.reshape(-1), xs, ys, sign, choice in ("fmax", "fmin"), out.reshape(-1))
    return out


def extremes_share(g: Any, x: Any, extremes: Any) -> np.ndarray | None:
    """What of ``g`` goes to each element of ``x``: all to the extreme one, equal ones share it.

    Parameters
    ----------
    g, extremes : array_like
        Of the shape of ``x``, with axes of length one in place of those along which extremes were sought.
    x : array_like
        Of any shape.

    Returns
    -------
    numpy.ndarray or None
        Of the shape of ``x``. None unless these are large C-ordered arrays, float32 or float64 all, and
        the axes are one run of axes.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.choices import extremes_share
    >>> x = np.arange(2000.0).reshape(2, 1000)
    >>> extremes_share(np.full((2, 1), 3.0), x, x.max(axis=1, keepdims=True))[:, -2:]
    array([[0., 3.],
           [0., 3.]])
    """
    if type(x) is not np.ndarray or not _is_for_kernels(x, x.dtype):
        return None
    steps = sums_between(x.shape, extremes.shape)
    tops, gs = (_flat(operand, extremes.shape, x.dtype) for operand in (extremes, g))
    if len(steps) != 1 or tops is None or gs is None:
        return None
    before, reduced, after = steps[0]
    out = np.empty(x.shape, x.dtype)
    each = (before, reduced, after)
    _share_extremes(
        gs.reshape(before, after), x.reshape(each), tops.reshape(before, after), out.reshape(each)
    )
    return out


def _is_for_kernels(x: np.ndarray, dtype: np.dtype[Any]) -> bool:
    return x.size >= _LARGE and x.flags.c_contiguous and dtype in KERNEL_DTYPES and not AVOIDED


def _flat(operand: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray | None:
    """All elements of an operand in a broadcast shape, contiguous, or the only one; None for what is no such."""
    if type(operand) in (int, float):  # these take the dtype of what they meet
        operand = np.array(operand, dtype)
    if not isinstance(operand, (np.ndarray, np.generic)) or operand.dtype != dtype:
        return None
    if operand.shape == shape:
        return operand.reshape(-1) if operand.flags.c_contiguous else None
    if operand.ndim > len(shape):
        return None
    if operand.size == 1:
        return operand.reshape(1)
    try:
        return np.ascontiguousarray(np.broadcast_to(operand, shape)).reshape(-1)
    except ValueError:
        return None


# A loop for each combination of arrays and numbers: LLVM does not tell them apart before the loop.


@kernel
def _select(condition, x, y, out):  # type: ignore[no-untyped-def]
    one, other = x[0], y[0]
    if x.size == out.size and y.size == out.size:
        for i in range(out.size):
            p, q = x[i], y[i]  # both read at each element, or there is a branch
            out[i] = p if condition[i] else q
    elif x.size == out.size:
        for i in range(out.size):
            p = x[i]
            out[i] = p if condition[i] else other
    else:
        for i in range(out.size):
            q = y[i] if y.size == out.size else other
            out[i] = one if condition[i] else q


@kernel
def _share(d, x, y, sign, skips_nan, out):  # type: ignore[no-untyped-def]
    half, nothing = d.dtype.type(0.5), d.dtype.type(0)
    one, other = x[0], y[0]
    if x.size < out.size:
        for i in range(out.size):
            g, q = d[i], y[i]
            rest = half * g if one == q else nothing
            out[i] = g if (sign * one > sign * q) | (skips_nan & (q != q) & (one == one)) else rest
    elif y.size < out.size:
        for i in range(out.size):
            g, p = d[i], x[i]
            rest = half * g if p == other else nothing
            out[i] = g if (sign * p > sign * other) | (skips_nan & (other != other) & (p == p)) else rest
    else:
        for i in range(out.size):
            g, p, q = d[i], x[i], y[i]
            rest = half * g if p == q else nothing
            out[i] = g if (sign * p > sign * q) | (skips_nan & (q != q) & (p == p)) else rest


@kernel
def _share_extremes(g, x, extremes, out):  # type: ignore[no-untyped-def]
    before, reduced, after = x.shape
    nothing = g.dtype.type(0)
    shares = np.empty(after, g.dtype)
    for a in range(before):
        if after == 1:
            row, result, top, taken = x[a].reshape(reduced), out[a].reshape(reduced), extremes[a, 0], g[a, 0]
            ties = 0
            for r in range(reduced):
                ties += row[r] == top
            if ties > 1:
                taken = g.dtype.type(taken / ties)
            for r in range(reduced):
                result[r] = taken if row[r] == top else nothing
        else:
            shares[:] = 0
            for r in range(reduced):
                for b in range(after):
                    shares[b] += x[a, r, b] == extremes[a, b]
            for b in range(after):
                shares[b] = g[a, b] / shares[b] if shares[b] > 1 else g[a, b]
            for r in range(reduced):
                for b in range(after):
                    out[a, r, b] = shares[b] if x[a, r, b] == extremes[a, b] else nothing
