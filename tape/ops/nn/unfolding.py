"""Windows of images as columns of a matrix, and columns summed to images: each transposes the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tape.core.batch_rules import elementwise
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.errors import ShapeError
from tape.inspect.costs import declare_cost, free, passes
from tape.kernels.windows import taps
from tape.ops.nn.geometry import (
    Counts,
    Paddings,
    computed,
    image_shape,
    paddings,
    per_axis,
    window_counts,
)
from tape.ops.structure.shape import reshape

Option = int | Sequence[int]
Padding = int | Sequence[int | Sequence[int]]

# ---- the operations --------------------------------------------------------------------------------
#
# On images ``(..., height, width)`` and columns ``(..., *kernel, *windows)``, with the same axes in front.


def _places(
    spatial: Counts, size: Counts, stride: Counts, padding: Paddings, dilation: Counts
) -> Iterator[tuple[Any, Any]]:
    """Yield, for each position of the kernel, the elements of an image it meets and their columns."""
    counts = window_counts("unfold", spatial, size, stride, padding, dilation)
    for tap in taps(spatial, size, counts, stride, padding, dilation):
        yield (..., *tap.seen), (..., *tap.position, *tap.windows)


def _columns_shape(x: Counts, **at: Any) -> Counts:
    return (*x[:-2], *at["size"], *window_counts("unfold", x[-2:], **at))


def _unfold_forward(x: np.ndarray, **at: Any) -> np.ndarray:
    columns = np.zeros(_columns_shape(x.shape, **at), x.dtype)
    for seen, place in _places(x.shape[-2:], **at):
        columns[place] = x[seen]
    return columns


def _fold_forward(columns: np.ndarray, *, spatial: Counts, **at: Any) -> np.ndarray:
    x = np.zeros((*columns.shape[:-4], *spatial), columns.dtype)
    for seen, place in _places(spatial, **at):
        x[seen] += columns[place]
    return x


def _lower_unfold(b: Any, x: Any, **at: Any) -> Any:
    shape = _columns_shape(x.shape, **at)
    columns = b.broadcast(b.literal(0, x.dtype), shape)
    for seen, place in _places(x.shape[-2:], **at):
        columns = columns + b.written(b.read(x, seen), place, shape)
    return columns


def _lower_fold(b: Any, columns: Any, spatial: Counts, **at: Any) -> Any:
    shape = (*columns.shape[:-4], *spatial)
    x = b.broadcast(b.literal(0, columns.dtype), shape)
    for seen, place in _places(spatial, **at):
        x = x + b.written(b.read(columns, place), seen, shape)
    return x


_unfold: Op = Op(
    _unfold_forward,
    name="unfold",
    vjp=[lambda g, out, x, **at: _fold(g, spatial=x.shape[-2:], **at)],
    linear=True,
    batch=elementwise,  # there may be any axes in front
    lower=_lower_unfold,
)
declare_cost(free, _unfold)

_fold: Op = Op(
    partial(computed, _fold_forward),
    name="fold",
    vjp=[lambda g, out, columns, spatial, **at: _unfold(g, **at)],
    linear=True,
    batch=elementwise,  # there may be any axes in front
    lower=_lower_fold,
)
declare_cost(passes(1), _fold)


# ---- the functions ---------------------------------------------------------------------------------


def _options(name: str, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> dict[str, Any]:
    return {
        "size": per_axis(name, "kernel_size", kernel_size, 2, 1),
        "stride": per_axis(name, "stride", stride, 2, 1),
        "padding": paddings(name, padding, 2),
        "dilation": per_axis(name, "dilation", dilation, 2, 1),
    }


def unfold(
    x: Any, kernel_size: Option, dilation: Option = 1, padding: Padding = 0, stride: Option = 1
) -> Any:
    """Return windows of images as the columns of a matrix.

    Parameters
    ----------
    x : array_like or Var
        ``(N, C, height, width)``, or ``(C, height, width)``: the result then has no batch axis.
    kernel_size : int or tuple of int
        Size of the windows.
    dilation, padding, stride
        Same as for `conv2d`, in numbers.

    Returns
    -------
    numpy.ndarray or Var
        ``(N, C * kernel height * kernel width, windows)``, row after row of windows.

    Raises
    ------
    ShapeError
        If x has the wrong number of axes, or a window is larger than the padded x.
    OptionError
        If ``kernel_size``, ``stride`` or ``dilation`` is less than 1, padding less than 0, or one is not an
        int.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.unfold(np.arange(6.0).reshape(1, 2, 3), 2)
    array([[0., 1.],
           [1., 2.],
           [3., 4.],
           [4., 5.]])
    """
    x = as_operand(x)
    spatial = image_shape("unfold", x, 2)[2:]
    at = _options("unfold", kernel_size, dilation, padding, stride)
    counts = window_counts("unfold", spatial, **at)
    columns = _unfold(x, **at)
    return reshape(columns, (*x.shape[:-3], x.shape[-3] * prod(at["size"]), prod(counts)))


def fold(
    x: Any,
    output_size: Option,
    kernel_size: Option,
    dilation: Option = 1,
    padding: Padding = 0,
    stride: Option = 1,
) -> Any:
    """Sum columns of a matrix where `unfold` would have taken them from: its transpose.

    Parameters
    ----------
    x : array_like or Var
        ``(N, C * kernel height * kernel width, windows)``, or without the first axis.
    output_size : int or tuple of int
        ``(height, width)`` of the images.
    kernel_size, dilation, padding, stride
        Same as for `unfold`.

    Returns
    -------
    numpy.ndarray or Var
        ``(N, C, height, width)``, or without the first axis. Where no window is, this is 0.

    Raises
    ------
    ShapeError
        If x is not what windows of such images have, or one is larger than the padded image.
    OptionError
        If a number is less than 1, or padding less than 0, or one is not an int.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.fold(np.ones((4, 2)), (2, 3), 2)
    array([[[1., 2., 1.],
            [1., 2., 1.]]])
    """
    x = as_operand(x)
    spatial = per_axis("fold", "output_size", output_size, 2, 1)
    at = _options("fold", kernel_size, dilation, padding, stride)
    counts, taps_of_each = window_counts("fold", spatial, **at), prod(at["size"])
    if np.ndim(x) not in (2, 3) or x.shape[-2] % taps_of_each or x.shape[-1] != prod(counts):
        raise ShapeError(
            f"fold: x has shape {list(np.shape(x))}. It must be (N, C * {taps_of_each}, {prod(counts)}), or "
            f"without N: there are {list(counts)} windows of {list(at['size'])} in {list(spatial)} elements"
        )
    channels = x.shape[-2] // taps_of_each
    columns = reshape(x, (*x.shape[:-2], channels, *at["size"], *counts))
    return _fold(columns, spatial=spatial, **at)
