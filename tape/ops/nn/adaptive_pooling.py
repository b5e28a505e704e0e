"""Adaptive pooling: a given number of windows, of whatever size that takes.

A single window is a reduction. Axes that split evenly are pooled as in `tape.ops.nn.pooling`. Otherwise
windows overlap and differ in size, which no kernel of pooling does, and are reduced one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from tape.core.operands import as_operand
from tape.errors import ShapeError
from tape.ops.nn import pooling
from tape.ops.nn.geometry import Counts, check_real, image_shape, per_axis
from tape.ops.reduction import reductions
from tape.ops.structure.indexing import getitem
from tape.ops.structure.joining import stack
from tape.ops.structure.shape import reshape

OutputSize = int | Sequence[int | None] | None


def _wanted(name: str, output_size: OutputSize, spatial: Counts) -> Counts:
    """Return the number of windows along each axis."""
    given = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * len(spatial)
    if len(given) == len(spatial):
        given = [length if n is None else n for n, length in zip(given, spatial, strict=True)]
    if not all(spatial):
        raise ShapeError(f"{name}: there is nothing in {list(spatial)} elements to pool")
    return per_axis(name, "output_size", given, len(spatial), 1)


def _adaptive(
    name: str,
    rank: int,
    x: Any,
    output_size: OutputSize,
    pool: Callable[..., Any],
    reduced: Callable[..., Any],
) -> Any:
    x = as_operand(x)
    spatial = image_shape(name, x, rank)[2:]
    counts = _wanted(name, output_size, spatial)
    axes = tuple(range(-rank, 0))
    if counts == (1,) * rank:
        return reduced(x, axes, keepdims=True)
    if not any(length % count for length, count in zip(spatial, counts, strict=True)):
        return pool(x, [length // count for length, count in zip(spatial, counts, strict=True)])
    windows = [
        [slice(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]
        for length, count in zip(spatial, counts, strict=True)
    ]
    results = [reduced(getitem(x, (..., *window)), axes) for window in product(*windows)]
    return reshape(stack(results, axis=-1), (*x.shape[:-rank], *counts))


def _adaptive_max(name: str, rank: int, x: Any, output_size: OutputSize, pool: Callable[..., Any]) -> Any:
    x = as_operand(x)
    image_shape(name, x, rank)
    check_real(name, x)
    return _adaptive(name, rank, x, output_size, pool, reductions.max)


def adaptive_avg_pool1d(x: Any, output_size: OutputSize) -> Any:
    """Means of a given number of windows, of signals ``(N, C, length)``. Like `adaptive_avg_pool2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.adaptive_avg_pool1d(np.array([[1.0, 2.0, 6.0]]), 2)
    array([[1.5, 4. ]])
    """
    return _adaptive("adaptive_avg_pool1d", 1, x, output_size, pooling.avg_pool1d, reductions.mean)


def adaptive_avg_pool2d(x: Any, output_size: OutputSize) -> Any:
    """Means of a given number of windows, of images; of one window for global pooling.

    Along an axis of n elements, window i of m goes from ``floor(i * n / m)`` to ``ceil((i + 1) * n / m)``.

    Parameters
    ----------
    x : array_like or Var
        ``(N, C, height, width)``, or ``(C, height, width)``: the result then has no batch axis.
    output_size : int, tuple of int, or None
        The number of windows: along all axes, or along each; None for the number of elements.

    Returns
    -------
    numpy.ndarray or Var
        ``(N, C, *output_size)``. Where axes do not split evenly, every window is a node of its own.

    Raises
    ------
    ShapeError
        If x has the wrong number of axes, or is empty along those of the windows.
    OptionError
        If ``output_size`` is less than 1, or no int.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.adaptive_avg_pool2d(np.arange(16.0).reshape(1, 4, 4), 1)
    array([[[7.5]]])
    """
    return _adaptive("adaptive_avg_pool2d", 2, x, output_size, pooling.avg_pool2d, reductions.mean)


def adaptive_avg_pool3d(x: Any, output_size: OutputSize) -> Any:
    """Means of a given number of windows, of volumes. Like `adaptive_avg_pool2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.adaptive_avg_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 1)
    array([[[[3.5]]]])
    """
    return _adaptive("adaptive_avg_pool3d", 3, x, output_size, pooling.avg_pool3d, reductions.mean)


def adaptive_max_pool1d(x: Any, output_size: OutputSize) -> Any:
    """The largest elements of a given number of windows, of signals. Like `adaptive_max_pool2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.adaptive_max_pool1d(np.array([[3.0, 1.0, 6.0]]), 2)
    array([[3., 6.]])
    """
    return _adaptive_max("adaptive_max_pool1d", 1, x, output_size, pooling.max_pool1d)


def adaptive_max_pool2d(x: Any, output_size: OutputSize) -> Any:
    """The largest elements of a given number of windows, of images.

    Parameters, result and errors are those of `adaptive_avg_pool2d`; complex numbers raise a DTypeError.
    Equally large elements share the derivative evenly.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.adaptive_max_pool2d(np.arange(16.0).reshape(1, 4, 4), (2, 1))
    array([[[ 7.],
            [15.]]])
    """
    return _adaptive_max("adaptive_max_pool2d", 2, x, output_size, pooling.max_pool2d)


def adaptive_max_pool3d(x: Any, output_size: OutputSize) -> Any:
    """The largest elements of a given number of windows, of volumes. Like `adaptive_max_pool2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.adaptive_max_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 1)
    array([[[[7.]]]])
    """
    return _adaptive_max("adaptive_max_pool3d", 3, x, output_size, pooling.max_pool3d)
