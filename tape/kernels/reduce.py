"""Sums over axes: the reduction that undoes broadcasting.

Whatever the rank, adjacent axes that share a fate (summed or kept) are one axis to the kernel, so
every case is a chain of sums over the middle axis of a (before, summed, after) view. The chain is
worked out once for each pair of shapes. Elements are added in the order in which NumPy adds them.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from tape.kernels.codes import KERNEL_DTYPES
from tape.kernels.eager import AVOIDED, is_avoided, machine_code
from tape.kernels.headers import is_plain

_SUM_ROWS, _SUM_MIDDLE = map(machine_code, ("sum_rows", "sum_middle"))


def sum_middle(x, out):  # type: ignore[no-untyped-def]
    before, summed, after = x.shape
    for a in range(before):
        for b in range(after):
            out[a, b] = 0
        for r in range(summed):
            for b in range(after):
                out[a, b] += x[a, r, b]


def sum_rows(x, out):  # type: ignore[no-untyped-def]
    rows, columns = x.shape
    for j in range(columns):
        out[j] = 0
    for i in range(rows):
        for j in range(columns):
            out[j] += x[i, j]


@lru_cache(maxsize=4096)
def sums_between(shape: tuple[int, ...], target: tuple[int, ...]) -> tuple[tuple[int, int, int], ...]:
    """The sums that take an array from one shape to another that broadcasts to it.

    Parameters
    ----------
    shape, target : tuple of int
        The two.

    Returns
    -------
    tuple of tuple
        For each sum, one after the other, the array's shape with axes merged: (before, summed, after).

    Raises
    ------
    ValueError
        If ``target`` does not broadcast to ``shape``.

    Examples
    --------
    >>> from tape.kernels.reduce import sums_between
    >>> sums_between((2, 3, 4, 5), (2, 1, 1, 5))
    ((2, 12, 5),)
    """
    if np.broadcast_shapes(shape, target) != shape:
        raise ValueError(f"{target} does not broadcast to {shape}")
    padded = (1,) * (len(shape) - len(target)) + target
    groups: list[tuple[int, bool]] = []  # (length, is summed), adjacent ones alike merged
    for length, goal in zip(shape, padded, strict=True):
        is_summed = goal != length
        if length == 1:
            continue
        if groups and groups[-1][1] == is_summed:
            groups[-1] = (groups[-1][0] * length, is_summed)
        else:
            groups.append((length, is_summed))
    steps = []
    for i, (length, is_summed) in enumerate(groups):
        if is_summed:  # left to right: what lies before has been summed already
            before = prod(size for size, gone in groups[:i] if not gone)
            steps.append((before, length, prod(size for size, _ in groups[i + 1 :])))
    return tuple(steps)


def sum_to_shape(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum ``x`` down to a shape that broadcasts to its own.

    Parameters
    ----------
    x : numpy.ndarray
        Any dtype and layout; float32 and float64 in C order take the kernel, the rest NumPy.
    shape : tuple of int
        Must broadcast to ``x.shape``.

    Returns
    -------
    numpy.ndarray or numpy.generic
        Of the given shape and of the dtype of ``x``.

    Raises
    ------
    ValueError
        If ``shape`` does not broadcast to ``x.shape``.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.reduce import sum_to_shape
    >>> sum_to_shape(np.ones((2, 3)), (3,))
    array([2., 2., 2.])
    """
    if not shape:
        return np.add.reduce(x, axis=None, dtype=x.dtype.type)
    if x.dtype not in KERNEL_DTYPES or not is_plain(x) or (AVOIDED and is_avoided()):
        return _sum_with_numpy(x, shape)
    if x.ndim == 2 and len(shape) == 1 and 1 < shape[0] == x.shape[1] and len(x) != 1:  # a bias: no chain
        out = np.empty(shape, x.dtype)
        _SUM_ROWS[x.dtype.char](x, out)
        return out
    if not x.size:
        return _sum_with_numpy(x, shape)
    steps = sums_between(x.shape, shape)
    if not steps:
        return x.reshape(shape)
    out = np.empty(shape, x.dtype)
    for i, (before, summed, after) in enumerate(steps):
        target = out if i == len(steps) - 1 else np.empty((before, after), x.dtype)
        if after == 1:
            np.add.reduce(x.reshape(before, summed), axis=1, out=target.reshape(before))
        else:
            _SUM_MIDDLE[x.dtype.char](x.reshape(before, summed, after), target.reshape(before, after))
        x = target
    return out


def _sum_with_numpy(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The same by NumPy alone: for dtypes, layouts and sizes the kernel has no case for."""
    if np.broadcast_shapes(shape, x.shape) != x.shape:
        raise ValueError(f"{shape} does not broadcast to {x.shape}")
    extra = x.ndim - len(shape)
    goals = (1,) * extra + shape  # an axis of length one is no sum: -0.0 stays
    axes = tuple([i for i, goal in enumerate(goals) if goal == 1 != x.shape[i]])
    summed = np.add.reduce(x, axis=axes, dtype=x.dtype.type, keepdims=True) if axes else x
    return summed.reshape(shape)
