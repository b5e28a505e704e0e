"""Unpooling: elements of windows at the positions that the largest elements had, zeros elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tape.core.nesting import traced
from tape.core.node import plain
from tape.core.operands import as_operand
from tape.errors import DTypeError, OptionError, ShapeError
from tape.ops.nn.geometry import Counts, image_shape, per_axis, wholes
from tape.ops.nn.pooling import Option
from tape.ops.structure.shape import reshape
from tape.ops.structure.writing import set_at


def _unpool(
    name: str, rank: int, x: Any, indices: Any, size: Any, stride: Any, padding: Any, output_size: Any
) -> Any:
    x, indices = as_operand(x), as_operand(indices)
    lead, counts = image_shape(name, x, rank)[:2], image_shape(name, x, rank)[2:]
    if np.shape(indices) != x.shape:
        raise ShapeError(f"{name}: x has shape {list(x.shape)}, indices has {list(np.shape(indices))}")
    if indices.dtype.kind not in "iu":
        raise DTypeError(
            f"{name}: indices of {indices.dtype}. They must be ints, as `max_pool{rank}d` returns"
        )
    spatial = _spatial(name, counts, size, stride, padding, output_size)
    length = prod(spatial)
    if indices.size and np.any((traced(indices) < 0) | (traced(indices) >= length)):
        low, high = np.min(plain(indices)), np.max(plain(indices))
        raise OptionError(
            f"{name}: indices from {low} to {high} do not lie within the {length} elements of "
            f"{list(spatial)}. Pass output_size, the sizes that were pooled"
        )
    planes = prod(lead)
    at = (np.arange(planes)[:, np.newaxis], reshape(indices, (planes, prod(counts))))
    out = set_at(np.zeros((planes, length), x.dtype), reshape(x, (planes, prod(counts))), at)
    return reshape(out, (*x.shape[: x.ndim - rank], *spatial))


def _spatial(name: str, counts: Counts, size: Any, stride: Any, padding: Any, output_size: Any) -> Counts:
    """Return the spatial sizes of the result, which may be those of anything that is pooled to ``counts``."""
    rank = len(counts)
    window = per_axis(name, "kernel_size", size, rank, 1)
    steps = window if stride is None else per_axis(name, "stride", stride, rank, 1)
    pads = per_axis(name, "padding", padding, rank, 0)
    axes = zip(counts, window, steps, pads, strict=True)
    usual = tuple([(count - 1) * step - 2 * pad + extent for count, extent, step, pad in axes])
    if output_size is None:
        return usual
    asked = wholes(name, "output_size", output_size, 1)[-rank:]
    if len(asked) != rank or any(abs(n - m) >= step for n, m, step in zip(asked, usual, steps, strict=True)):
        raise OptionError(
            f"{name}: output_size={output_size!r}. It must be {rank} ints that differ from {list(usual)} by "
            f"less than the stride {list(steps)}"
        )
    return asked


def max_unpool1d(
    x: Any, indices: Any, kernel_size: Option, stride: Option | None = None, padding: Option = 0,
    output_size: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """Put elements back where the largest ones of windows were, in signals. Like `max_unpool2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> y, places = tape.nn.max_pool1d(np.array([[3.0, 1.0, 2.0, 5.0]]), 2, return_indices=True)
    >>> tape.nn.max_unpool1d(y, places, 2)
    array([[3., 0., 0., 5.]])
    """
    return _unpool("max_unpool1d", 1, x, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    x: Any, indices: Any, kernel_size: Option, stride: Option | None = None, padding: Option = 0,
    output_size: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """Put elements back where the largest ones of windows were, in images.

    Parameters
    ----------
    x : array_like or Var
        ``(N, C, height, width)``, or ``(C, height, width)``.
    indices : array_like of int
        Of the shape of x: where each element goes, counted through height and width of the result, as
        `max_pool2d` returns it with ``return_indices=True``. Of elements that go to the same place, which
        there may be where windows overlap, the last one is kept.
    kernel_size, stride, padding : int or tuple of int
        Those of `max_pool2d`.
    output_size : sequence of int, optional
        ``(..., height, width)`` of the result: less than a stride from ``(height - 1) * stride - 2 * padding
        + kernel_size``, which it is by default.

    Returns
    -------
    numpy.ndarray or Var
        ``(N, C, height, width)``; 0 where nothing goes.

    Raises
    ------
    ShapeError
        If x has the wrong number of axes, or indices have another shape.
    OptionError
        If an index lies outside of the result, or ``output_size`` is another one; or an option is no int.
    DTypeError
        If indices are not ints.

    Examples
    --------
    >>> import numpy as np, tape
    >>> y, places = tape.nn.max_pool2d(np.arange(16.0).reshape(1, 4, 4), 2, return_indices=True)
    >>> tape.nn.max_unpool2d(y, places, 2)
    array([[[ 0.,  0.,  0.,  0.],
            [ 0.,  5.,  0.,  7.],
            [ 0.,  0.,  0.,  0.],
            [ 0., 13.,  0., 15.]]])
    """
    return _unpool("max_unpool2d", 2, x, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    x: Any, indices: Any, kernel_size: Option, stride: Option | None = None, padding: Option = 0,
    output_size: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """Put elements back where the largest ones of windows were, in volumes. Like `max_unpool2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> y, places = tape.nn.max_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2, return_indices=True)
    >>> tape.nn.max_unpool3d(y, places, 2).ravel()
    array([0., 0., 0., 0., 0., 0., 0., 7.])
    """
    return _unpool("max_unpool3d", 3, x, indices, kernel_size, stride, padding, output_size)
