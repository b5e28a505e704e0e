"""Largest elements and sums of windows of plain arrays, and their derivatives.

Arguments are those that `tape.ops.nn.pooling` has checked. Padding is never the largest element, and adds
nothing. These take every dtype and work without compiled code; programs use `tape.kernels.windowed`, for
floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.kernels.windows import output_lengths, taps

Pairs = Sequence[tuple[int, int]]


def max_pool(
    x: np.ndarray, window: Sequence[int], stride: Sequence[int], padding: Pairs, dilation: Sequence[int]
) -> np.ndarray:
    """The largest element of each window; NaN if there is one in it.

    Parameters
    ----------
    x : numpy.ndarray
        ``(..., *spatial)``, real: the last axes, as many as a window has.
    window, stride, dilation : sequence of int
        For each spatial axis.
    padding : sequence of (int, int)
        Places before the first element and behind the last, for each spatial axis.

    Returns
    -------
    numpy.ndarray
        ``(..., *windows)``. Of a window that lies in the padding, the lowest number of the dtype.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.pooling import max_pool
    >>> max_pool(np.array([3.0, 1.0, 2.0, 5.0]), (2,), (2,), ((1, 1),), (1,))
    array([3., 2., 5.])
    """
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min if x.dtype.kind in "iu" else False
    y = _windows(x, window, stride, padding, dilation, lowest)
    for _, seen, windows in _taps(x, y, window, stride, padding, dilation):
        part = y[windows]
        np.maximum(part, x[seen], out=part)
    return y


def max_pool_vjp(
    g: np.ndarray, x: np.ndarray, y: np.ndarray, window: Sequence[int], stride: Sequence[int],
    padding: Pairs, dilation: Sequence[int],
) -> np.ndarray:  # fmt: skip
    """The derivative of ``sum(g * max_pool(x))`` by x; elements that are equally large share it evenly.

    Parameters
    ----------
    g : numpy.ndarray
        ``(..., *windows)``.
    x, window, stride, padding, dilation
        As for `max_pool`.
    y : numpy.ndarray
        ``max_pool(x, ...)``.

    Returns
    -------
    numpy.ndarray
        Of the shape of ``x`` and the dtype of ``g``.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.pooling import max_pool, max_pool_vjp
    >>> x = np.array([3.0, 3.0, 2.0, 5.0])
    >>> y = max_pool(x, (2,), (2,), ((0, 0),), (1,))
    >>> max_pool_vjp(np.ones(2), x, y, (2,), (2,), ((0, 0),), (1,))
    array([0.5, 0.5, 0. , 1. ])
    """
    found = list(_taps(x, y, window, stride, padding, dilation))
    share = g / _ties(x, y, found).astype(g.dtype)
    out = np.zeros(x.shape, g.dtype)
    for _, seen, windows in found:
        out[seen] += np.where(_is_tied(x[seen], y[windows]), share[windows], 0)
    return out


def max_pool_jvp(
    t: np.ndarray, x: np.ndarray, y: np.ndarray, window: Sequence[int], stride: Sequence[int],
    padding: Pairs, dilation: Sequence[int],
) -> np.ndarray:  # fmt: skip
    """The mean of ``t`` where the elements of x are the largest of a window: transposes `max_pool_vjp`.

    Parameters
    ----------
    t : numpy.ndarray
        Of the shape of ``x``.
    x, y, window, stride, padding, dilation
        As for `max_pool_vjp`.

    Returns
    -------
    numpy.ndarray
        Of the shape of ``y`` and the dtype of ``t``.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.pooling import max_pool, max_pool_jvp
    >>> x = np.array([3.0, 3.0, 2.0, 5.0])
    >>> y = max_pool(x, (2,), (2,), ((0, 0),), (1,))
    >>> max_pool_jvp(np.arange(4.0), x, y, (2,), (2,), ((0, 0),), (1,))
    array([0.5, 3. ])
    """
    found = list(_taps(x, y, window, stride, padding, dilation))
    out = np.zeros(y.shape, t.dtype)
    for _, seen, windows in found:
        out[windows] += np.where(_is_tied(x[seen], y[windows]), t[seen], 0)
    out /= _ties(x, y, found).astype(t.dtype)
    return out


def sum_pool(
    x: np.ndarray, window: Sequence[int], stride: Sequence[int], padding: Pairs, dilation: Sequence[int]
) -> np.ndarray:
    """The sum of each window.

    Parameters
    ----------
    x, window, stride, padding, dilation
        As for `max_pool`, of any dtype.

    Returns
    -------
    numpy.ndarray
        ``(..., *windows)``, of the dtype of ``x``.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.pooling import sum_pool
    >>> sum_pool(np.array([3.0, 1.0, 2.0, 5.0]), (2,), (2,), ((1, 1),), (1,))
    array([3., 3., 5.])
    """
    y = _windows(x, window, stride, padding, dilation, 0)
    for _, seen, windows in _taps(x, y, window, stride, padding, dilation):
        y[windows] += x[seen]
    return y


def sum_pool_vjp(
    g: np.ndarray, spatial: Sequence[int], window: Sequence[int], stride: Sequence[int], padding: Pairs,
    dilation: Sequence[int],
) -> np.ndarray:  # fmt: skip
    """The derivative of ``sum(g * sum_pool(x))`` by x.

    Parameters
    ----------
    g : numpy.ndarray
        ``(..., *windows)``.
    spatial : sequence of int
        Of x.
    window, stride, padding, dilation
        As for `max_pool`.

    Returns
    -------
    numpy.ndarray
        ``(..., *spatial)``, of the dtype of ``g``.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.pooling import sum_pool_vjp
    >>> sum_pool_vjp(np.array([1.0, 10.0]), (3,), (2,), (1,), ((0, 0),), (1,))
    array([ 1., 11., 10.])
    """
    out = np.zeros((*g.shape[: g.ndim - len(spatial)], *spatial), g.dtype)
    for _, seen, windows in _taps(out, g, window, stride, padding, dilation):
        out[seen] += g[windows]
    return out


def _windows(
    x: np.ndarray, window: Sequence[int], stride: Sequence[int], padding: Pairs, dilation: Sequence[int],
    number: Any,
) -> np.ndarray:  # fmt: skip
    """A number for each window."""
    first = x.ndim - len(window)
    outputs = output_lengths(x.shape[first:], window, stride, padding, dilation)
    return np.full((*x.shape[:first], *outputs), number, x.dtype)


def _taps(
    x: np.ndarray, y: np.ndarray, window: Sequence[int], stride: Sequence[int], padding: Pairs,
    dilation: Sequence[int],
) -> Any:  # fmt: skip
    """Of each tap its number, and what to index x and y with."""
    first = x.ndim - len(window)
    found = taps(x.shape[first:], window, y.shape[first:], stride, padding, dilation)
    return [(k, (..., *tap.seen), (..., *tap.windows)) for k, tap in enumerate(found)]


def _is_tied(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether elements are the largest of their windows: a NaN is, wherever it is."""
    return (x == y) | (x != x)


def _ties(x: np.ndarray, y: np.ndarray, found: Any) -> np.ndarray:
    """How many elements of each window are the largest, and 1 where there is none."""
    count = np.zeros(y.shape, np.int64)
    for _, seen, windows in found:
        count[windows] += _is_tied(x[seen], y[windows])
    return np.maximum(count, 1)
