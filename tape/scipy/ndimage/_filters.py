"""Linear filters of images: an image is extended beyond its ends, and a window slides over it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors, ops
from tape.scipy._operands import Array, axis_at, operand
from tape.scipy._sliding import slid, slid_along
from tape.scipy.ndimage._arguments import (
    PADDING,
    checked_mode,
    chosen_axes,
    for_each,
    image,
    of_floats,
)

__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "laplace",
    "prewitt",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
]


def _extended(x: Array, widths: list[tuple[int, int]], mode: str, cval: Any) -> Array:
    """Return an image with so many elements before and after it along each axis."""
    if not any(before or after for before, after in widths):
        return x
    options = {"constant_values": cval} if PADDING[mode] == "constant" else {}
    return ops.pad(x, widths, mode=PADDING[mode], **options)


def along(x: Array, weights: Array, axis: int, mode: Any, cval: Any, origin: int, what: str) -> Array:
    """Return sums of products with a window along an axis."""
    size = weights.shape[0] if weights.ndim == 1 else 0
    if not size or not -(size // 2) <= origin <= (size - 1) // 2:
        raise errors.OptionError(
            f"ndimage.{what}: weights of shape {list(weights.shape)} with origin {origin}. They must be a "
            "vector, and the origin within it"
        )
    checked_mode(mode, what)
    before = size // 2 + origin
    widths = [(0, 0)] * x.ndim
    widths[axis] = (before, size - 1 - before)
    if not x.size:
        return x
    return slid_along(_extended(x, widths, mode, cval), _like(weights, x), axis)


def _like(weights: Array, x: Array) -> Array:
    """Return weights in the precision of an image."""
    width = np.finfo(x.dtype).dtype
    wanted = np.result_type(width, np.complex64) if weights.dtype.kind == "c" else width
    return weights if weights.dtype == wanted else ops.astype(weights, wanted)


@of_floats
def correlate1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Array:  # fmt: skip
    """Correlate an image with weights along an axis, as `scipy.ndimage.correlate1d`.

    Parameters
    ----------
    input : array_like or Var
        The image, of any shape.
    weights : array_like or Var
        ``(m,)``.
    axis : int
        The axis.
    output : None
        Others are for plain arrays.
    mode : str
        How the image is extended: reflect, mirror, nearest, constant or wrap.
    cval : float
        The value outside for a constant extension.
    origin : int
        Where the window is: 0 centres it, positive numbers shift it to the left.

    Returns
    -------
    numpy.ndarray or Var
        In the shape and dtype of the image.

    Raises
    ------
    OptionError
        If the origin is outside of the window, or the mode unknown.
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.ndimage.correlate1d([1.0, 2.0, 4.0], [1.0, 2.0])
    array([ 3.,  5., 10.])
    """
    x, weights = image(input, "correlate1d"), operand(weights)
    weights = ops.conjugate(weights) if weights.dtype.kind == "c" else weights
    return along(x, weights, axis_at(x, axis, "correlate1d"), mode, cval, origin, "correlate1d")


@of_floats
def convolve1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Array:  # fmt: skip
    """Convolve an image with weights along an axis, as `scipy.ndimage.convolve1d`.

    Parameters, result and errors are those of `correlate1d`.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.ndimage.convolve1d([1.0, 2.0, 4.0], [1.0, 2.0])
    array([ 4.,  8., 12.])
    """
    x, weights = image(input, "convolve1d"), operand(weights)
    origin = -origin - (1 if weights.ndim and weights.shape[0] % 2 == 0 else 0)
    axis = axis_at(x, axis, "convolve1d")
    return along(x, ops.flip(weights), axis, mode, cval, origin, "convolve1d")


def _windowed(
    x: Array, weights: Array, mode: Any, cval: Any, origin: Any, axes: Any, is_convolved: bool, what: str
) -> Array:
    axes = chosen_axes(axes, x.ndim, what)
    if weights.ndim != len(axes) or not weights.size:
        raise errors.ShapeError(
            f"ndimage.{what}: weights of shape {list(weights.shape)} for {len(axes)} axes of an image of "
            f"shape {list(x.shape)}. They need an axis for each"
        )
    checked_mode(mode, what)
    origins = for_each(origin, len(axes), "origin", what)
    if is_convolved:
        weights = ops.flip(weights)
        origins = [-o - (1 - size % 2) for o, size in zip(origins, weights.shape, strict=True)]
    widths, shape = [(0, 0)] * x.ndim, [1] * x.ndim
    for axis, size, o in zip(axes, weights.shape, origins, strict=True):
        if not -(size // 2) <= o <= (size - 1) // 2:
            raise errors.OptionError(f"ndimage.{what}: origin {origin!r} is outside of the window")
        before = size // 2 + o
        widths[axis], shape[axis] = (before, size - 1 - before), size
    if not x.size:
        return x
    order = np.argsort(axes)
    weights = ops.transpose(weights, order.tolist()) if order.tolist() != sorted(order) else weights
    return slid(_extended(x, widths, mode, cval), _like(ops.reshape(weights, tuple(shape)), x))


@of_floats
def correlate(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0,
    *, axes: Any = None,
) -> Array:  # fmt: skip
    """Correlate an image with weights, as `scipy.ndimage.correlate`.

    Parameters
    ----------
    input : array_like or Var
        The image, of any shape.
    weights : array_like or Var
        An axis for each of the image, or of ``axes``.
    output : None
        Others are for plain arrays.
    mode : str
        How the image is extended: reflect, mirror, nearest, constant or wrap.
    cval : float
        The value outside for a constant extension.
    origin : int or sequence of int
        Where the window is along each axis: 0 centres it.
    axes : int or sequence of int, optional
        The axes; by default all.

    Returns
    -------
    numpy.ndarray or Var
        In the shape and dtype of the image.

    Raises
    ------
    OptionError
        If an origin is outside of the window, or the mode unknown.
    ShapeError
        If the weights have another number of axes.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.ndimage.correlate(np.eye(3), np.ones((3, 3)))
    array([[5., 3., 1.],
           [3., 3., 3.],
           [1., 3., 5.]])
    """
    x, weights = image(input, "correlate"), operand(weights)
    weights = ops.conjugate(weights) if weights.dtype.kind == "c" else weights
    return _windowed(x, weights, mode, cval, origin, axes, False, "correlate")


@of_floats
def convolve(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0,
    *, axes: Any = None,
) -> Array:  # fmt: skip
    """Convolve an image with weights, as `scipy.ndimage.convolve`.

    Parameters, result and errors are those of `correlate`.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.ndimage.convolve([[1.0, 2.0, 4.0]], [[1.0, 0.0, 0.0]])
    array([[2., 4., 4.]])
    """
    x, weights = image(input, "convolve"), operand(weights)
    return _windowed(x, weights, mode, cval, origin, axes, True, "convolve")


# ---- means and differences -------------------------------------------------------------------------


def _mean(x: Array, size: Any, axis: int, mode: Any, cval: Any, origin: int, what: str) -> Array:
    if size < 1 or not 0 <= size // 2 + origin < size:
        raise errors.OptionError(
            f"ndimage.{what}: size {size!r} with origin {origin}. The size must be positive, and the origin "
            "within the window"
        )
    weights = np.full(int(size), 1.0 / size)
    return along(x, weights, axis, mode, cval, origin, what)


@of_floats
def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Array:  # fmt: skip
    """Return means over a window along an axis, as `scipy.ndimage.uniform_filter1d`.

    Parameters
    ----------
    input : array_like or Var
        The image, of any shape.
    size : int
        The length of the window.
    axis, output, mode, cval, origin
        As for `correlate1d`.

    Returns
    -------
    numpy.ndarray or Var
        In the shape and dtype of the image.

    Raises
    ------
    OptionError
        If the size is not positive, or the origin outside of the window.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.ndimage.uniform_filter1d([0.0, 3.0, 6.0], 3)
    array([1., 3., 5.])
    """
    x = image(input, "uniform_filter1d")
    axis = axis_at(x, axis, "uniform_filter1d")
    return _mean(x, size, axis, mode, cval, origin, "uniform_filter1d")


@of_floats
def uniform_filter(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0,
    *, axes: Any = None,
) -> Array:  # fmt: skip
    """Return means over windows, as `scipy.ndimage.uniform_filter`.

    Parameters
    ----------
    input : array_like or Var
        The image, of any shape.
    size, mode, origin
        As for `uniform_filter1d`, one for all axes or one for each.
    output : None
        Others are for plain arrays.
    cval : float
        The value outside for a constant extension.
    axes : int or sequence of int, optional
        The axes; by default all.

    Returns
    -------
    numpy.ndarray or Var
        In the shape and dtype of the image.

    Raises
    ------
    OptionError, ShapeError
        As `uniform_filter1d`, and for a wrong number of options.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.ndimage.uniform_filter(np.diag([9.0, 0.0, 9.0]))[1].round(9)
    array([2., 2., 2.])
    """
    what = "uniform_filter"
    x = image(input, what)
    axes = chosen_axes(axes, x.ndim, what)
    settings = [
        for_each(given, len(axes), name, what)
        for name, given in (("size", size), ("mode", mode), ("origin", origin))
    ]
    for axis, length, how, o in zip(axes, *settings, strict=True):
        if length > 1:
            x = _mean(x, length, axis, how, cval, o, what)
    return x


def _edges(input: Any, axis: int, mode: Any, cval: Any, smoothing: list[float], what: str) -> Array:
    x = image(input, what)
    axis = axis_at(x, axis, what)
    modes = for_each(mode, x.ndim, "mode", what)
    out = along(x, np.array([-1.0, 0.0, 1.0]), axis, modes[axis], cval, 0, what)
    for other in range(x.ndim):
        if other != axis:
            out = along(out, np.array(smoothing), other, modes[other], cval, 0, what)
    return out


@of_floats
def sobel(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Array:
    """Return Sobel's differences along an axis, smoothed along the others, as `scipy.ndimage.sobel`.

    Parameters, result and errors are those of `correlate1d`, without weights; the mode may be one for each
    axis.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.ndimage.sobel(np.arange(9.0).reshape(3, 3))[1]
    array([4., 8., 4.])
    """
    return _edges(input, axis, mode, cval, [1.0, 2.0, 1.0], "sobel")


@of_floats
def prewitt(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Array:
    """Return Prewitt's differences along an axis, as `scipy.ndimage.prewitt`.

    Parameters, result and errors are those of `sobel`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.ndimage.prewitt(np.arange(9.0).reshape(3, 3))[1]
    array([3., 6., 3.])
    """
    return _edges(input, axis, mode, cval, [1.0, 1.0, 1.0], "prewitt")


@of_floats
def laplace(
    input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None
) -> Array:
    """Return the sum of second differences along the axes, as `scipy.ndimage.laplace`.

    Parameters, result and errors are those of `uniform_filter`, without a size.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.ndimage.laplace(np.arange(5.0) ** 2)
    array([ 1.,  2.,  2.,  2., -7.])
    """
    x = image(input, "laplace")
    axes = chosen_axes(axes, x.ndim, "laplace")
    if not axes:
        return x
    modes = for_each(mode, len(axes), "mode", "laplace")
    weights = np.array([1.0, -2.0, 1.0])
    parts = [along(x, weights, axis, how, cval, 0, "laplace") for axis, how in zip(axes, modes, strict=True)]
    return sum(parts[1:], start=parts[0])
