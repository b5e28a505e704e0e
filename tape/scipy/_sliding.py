"""Sums of products within a window that slides over an array, of any number of axes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tape import ops
from tape.scipy._operands import Array

__all__ = ["slid", "slid_along"]

_CONVOLUTIONS = {1: ops.nn.conv1d, 2: ops.nn.conv2d, 3: ops.nn.conv3d}


def slid(x: Array, weights: Array) -> Array:
    """Return ``sum(weights[k] * x[i + k])`` over all k, where the window lies within ``x``.

    Parameters
    ----------
    x, weights : array or Var
        Of the same number of axes, one at least, and the same dtype, real or complex; ``weights`` is along
        no axis longer than ``x``.

    Returns
    -------
    numpy.ndarray or Var
    """
    if x.dtype.kind == "c" or weights.dtype.kind == "c":
        parts = [
            (slid(ops.real(x), part) + 1j * slid(ops.imag(x), part)) if x.dtype.kind == "c" else slid(x, part)
            for part in ((ops.real(weights), ops.imag(weights)) if weights.dtype.kind == "c" else (weights,))
        ]
        return parts[0] + 1j * parts[1] if len(parts) == 2 else parts[0]
    if not x.size or not weights.size:
        shape = [max(n - m + 1, 0) for n, m in zip(x.shape, weights.shape, strict=True)]
        return ops.zeros_like(ops.sum(x) + ops.sum(weights)) + np.zeros(shape, x.dtype)
    if x.ndim > 3:
        lead = x.ndim - 3
        total: Any = None
        sizes = [n - m + 1 for n, m in zip(x.shape[:lead], weights.shape[:lead], strict=True)]
        for offsets in product(*map(range, weights.shape[:lead])):
            part = x[tuple(slice(k, k + n) for k, n in zip(offsets, sizes, strict=True))]
            rows = [slid(part[place], weights[offsets]) for place in np.ndindex(*sizes)]
            stacked = ops.stack(rows)
            total = stacked if total is None else total + stacked
        return ops.reshape(total, (*sizes, *total.shape[1:]))
    out = _CONVOLUTIONS[x.ndim](x[None, None], weights[None, None])
    return out[0, 0]


def slid_along(x: Array, weights: Array, axis: int) -> Array:
    """Return ``sum(weights[k] * x[..., i + k, ...])`` along one axis, for real or complex operands."""
    if x.dtype.kind == "c":
        return slid_along(ops.real(x), weights, axis) + 1j * slid_along(ops.imag(x), weights, axis)
    if weights.dtype.kind == "c":
        return slid_along(x, ops.real(weights), axis) + 1j * slid_along(x, ops.imag(weights), axis)
    moved = ops.moveaxis(x, axis, -1) if axis != x.ndim - 1 else x
    count = moved.shape[-1] - weights.shape[0] + 1
    if not x.size:
        return ops.moveaxis(moved[..., : max(count, 0)], -1, axis)
    rows = ops.reshape(moved, (-1, 1, moved.shape[-1]))
    out = ops.reshape(ops.nn.conv1d(rows, weights[None, None]), (*moved.shape[:-1], count))
    return ops.moveaxis(out, -1, axis) if axis != x.ndim - 1 else out
