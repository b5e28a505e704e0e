"""Images between their pixels: by splines of coefficients that a filter has found.

The coefficients are the solution of a linear system along each axis. Beyond the ends an image goes on as its
mode says, which decides about the filter, the coordinates and the neighbours that are read.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tape import errors, ops
from tape.scipy._operands import Array, double, operand, real_double, require
from tape.scipy.ndimage._arguments import checked_mode, for_each, image, of_floats
from tape.scipy.ndimage._splines import checked_order, filtered_by

__all__ = ["affine_transform", "map_coordinates", "shift", "zoom"]

_PADDED = 12
"""As many pixels as SciPy puts around an image whose extension has no filter of its own."""


# ---- values between pixels -------------------------------------------------------------------------


def _prepared(x: Array, order: int, mode: str, cval: Any, prefilter: bool) -> tuple[Array, int]:
    """Return coefficients, and how many of them are before the image along each axis."""
    if order < 2 or not prefilter:
        return double(x), 0
    padded = 0
    if mode in ("nearest", "grid-constant"):
        padded = _PADDED
        options = {"constant_values": cval} if mode == "grid-constant" else {}
        x = ops.pad(x, padded, mode="edge" if mode == "nearest" else "constant", **options)
    return filtered_by(x, order, mode), padded


def _mapped(c: Array, size: int, mode: str) -> tuple[Array, Array | None]:
    """Return coordinates within an axis, and which ones were not outside, if that counts."""
    last = size - 1
    if mode in ("nearest", "grid-constant"):
        return c, None
    if mode == "constant":
        is_inside = (c >= 0) & (c <= last)
        return ops.where(is_inside, c, 0.0), is_inside
    if size == 1:
        return 0.0 * c, None
    if mode in ("reflect", "grid-mirror"):
        c = ops.where((c >= 0) & (c <= last), c, ops.remainder(c, 2.0 * size))
        return ops.where(c >= size, 2 * size - 1 - c, c), None
    if mode == "grid-wrap":
        is_outside = (c < 0) | (c > last)
        moved = c - size * ops.floor(c / size)
        return ops.where(is_outside, moved, c), None
    if mode == "wrap":  # as SciPy, the last pixel before the first one, of which both are the same place
        before = c + last * (ops.floor(-c / last) + 1)
        return ops.where(c < 0, before, ops.where(c > last, c - last * ops.floor(c / last), c)), None
    period = 2.0 * last
    c = ops.where((c >= 0) & (c <= last), c, ops.remainder(c, period))
    return ops.where(c > last, period - c, c), None


def _neighbour(place: Array, size: int, mode: str) -> tuple[Array, Array | None]:
    """Return positions of pixels within an axis, and which ones were not outside, if that counts."""
    if mode == "grid-constant":
        is_inside = (place >= 0) & (place < size)
        return ops.clip(place, 0, size - 1), is_inside
    if mode == "nearest":
        return ops.clip(place, 0, size - 1), None
    if mode == "grid-wrap":
        return ops.remainder(place, size), None
    if mode in ("reflect", "grid-mirror"):
        place = ops.remainder(place, 2 * size)
        return ops.minimum(place, 2 * size - 1 - place), None
    if size == 1:
        return 0 * place, None
    place = ops.remainder(place, 2 * size - 2)
    return ops.minimum(place, 2 * size - 2 - place), None


def _weights(c: Array, order: int) -> tuple[Array, list[Array]]:
    """Return the first pixel whose spline reaches a coordinate, and the weights from there on."""
    shifted = c if order % 2 else c + 0.5
    start = ops.floor(shifted)
    t = shifted - start
    weights: list[Any] = [np.ones(t.shape)]
    for degree in range(1, order + 1):
        raised: list[Any] = []
        for n in range(degree + 1):
            left = weights[n - 1] * (t + (degree - n)) / degree if n else 0.0
            right = weights[n] * ((n + 1) - t) / degree if n < degree else 0.0
            raised.append(left + right)
        weights = raised
    if not order:
        weights = [np.ones(t.shape)]
    return ops.astype(start, np.int64) - order // 2, weights


class _Axis:
    """Along one axis: the pixels that are read for each coordinate, and their weights."""

    def __init__(self, c: Array, size: int, padded: int, order: int, mode: str) -> None:
        c, self.is_inside = _mapped(c + padded if padded else c, size, mode)
        start, self.weights = _weights(c, order)
        own = "mirror" if mode in ("constant", "wrap") else mode
        self.places, self.is_pixel = [], []
        for k in range(order + 1):
            place, is_pixel = _neighbour(start + k, size, own)
            self.places.append(place)
            self.is_pixel.append(is_pixel)


def _finished(out: Array, x: Array) -> Array:
    """Return a result in the dtype of the image."""
    return out if out.dtype == x.dtype else ops.astype(out, x.dtype)


@of_floats
def map_coordinates(
    input: Any, coordinates: Any, output: Any = None, order: int = 3, mode: str = "constant",
    cval: Any = 0.0, prefilter: bool = True,
) -> Array:  # fmt: skip
    """Return an image at given coordinates, as `scipy.ndimage.map_coordinates`.

    Parameters
    ----------
    input : array_like or Var
        The image, of d axes.
    coordinates : array_like or Var
        ``(d, ...)``: where, counted in pixels.
    output : None
        Others are for plain arrays.
    order : int
        Of the splines: 0 is the nearest pixel, 1 linear, up to 5.
    mode : str
        How the image is extended: constant, nearest, mirror, reflect, wrap, grid-constant or grid-wrap.
    cval : float
        The value outside for a constant extension.
    prefilter : bool
        Whether the image is filtered first, so that splines go through its pixels.

    Returns
    -------
    numpy.ndarray or Var
        Of shape ``coordinates.shape[1:]``, in the dtype of the image.

    Raises
    ------
    OptionError
        If the order or the mode is unknown.
    ShapeError
        If there is not a coordinate for each axis.

    Examples
    --------
    >>> import numpy as np, tape
    >>> image = np.arange(12.0).reshape(3, 4)
    >>> tape.scipy.ndimage.map_coordinates(image, [[0.5, 1.0], [0.5, 2.0]], order=1)
    array([2.5, 6. ])
    >>> at = lambda c: tape.scipy.ndimage.map_coordinates(image, c, order=1)[0]
    >>> tape.grad(at)(np.array([[0.5], [0.5]])).ravel()
    array([4., 1.])
    """
    what = "map_coordinates"
    x, c = image(input, what), real_double(coordinates, "ndimage.map_coordinates: coordinates")
    order = checked_order(order, what)
    checked_mode(mode, what)
    if c.ndim < 2 or c.shape[0] != x.ndim:
        raise errors.ShapeError(
            f"ndimage.map_coordinates: coordinates of shape {list(c.shape)} for an image of shape "
            f"{list(x.shape)}. They must be ({x.ndim}, ...)"
        )
    return _finished(_at(x, [c[k] for k in range(x.ndim)], order, mode, cval, prefilter), x)


def _at(x: Array, coordinates: list[Array], order: int, mode: str, cval: Any, prefilter: bool) -> Array:
    """Return the image at coordinates of all axes, of one shape."""
    filtered, padded = _prepared(x, order, mode, cval, prefilter)
    if mode in ("constant", "grid-constant") and not padded and not filtered.size:
        return ops.zeros_like(coordinates[0]) + cval
    axes = [_Axis(c, size, padded, order, mode) for c, size in zip(coordinates, filtered.shape, strict=True)]
    total: Any = None
    for corner in product(range(order + 1), repeat=len(axes)):
        part = ops.getitem(filtered, tuple(axis.places[k] for axis, k in zip(axes, corner, strict=True)))
        for axis, k in zip(axes, corner, strict=True):
            if axis.is_pixel[k] is not None:
                part = ops.where(axis.is_pixel[k], part, cval)
        for axis, k in zip(axes, corner, strict=True):
            part = part * axis.weights[k] if order else part
        total = part if total is None else total + part
    for axis in axes:
        if axis.is_inside is not None:
            total = ops.where(axis.is_inside, total, cval)
    return total


def _axis_by_axis(
    x: Array, coordinates: list[Array], order: int, mode: str, cval: Any, prefilter: bool
) -> Array:
    """Return the image at a grid of coordinates, given along each axis."""
    out, padded = _prepared(x, order, mode, cval, prefilter)
    is_inside: Any = None
    for k, c in enumerate(coordinates):
        axis = _Axis(c, out.shape[k], padded, order, mode)
        behind = (1,) * (out.ndim - k - 1)
        lead = (slice(None),) * k
        total: Any = None
        for place, is_pixel, weight in zip(axis.places, axis.is_pixel, axis.weights, strict=True):
            part = ops.getitem(out, (*lead, place))
            if is_pixel is not None:
                part = ops.where(ops.reshape(is_pixel, (-1, *behind)), part, cval)
            part = part * ops.reshape(weight, (-1, *behind)) if order else part
            total = part if total is None else total + part
        out = total
        if axis.is_inside is not None:
            inside = ops.reshape(axis.is_inside, (-1, *behind))
            is_inside = inside if is_inside is None else is_inside & inside
    return out if is_inside is None else ops.where(is_inside, out, cval)


@of_floats
def shift(
    input: Any, shift: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> Array:  # fmt: skip
    """Shift an image by any number of pixels, as `scipy.ndimage.shift`.

    Parameters
    ----------
    input : array_like or Var
        The image, of d axes.
    shift : scalar or Var, or sequence of d
        How far to shift along the axes.
    output, order, mode, cval, prefilter
        As for `map_coordinates`.

    Returns
    -------
    numpy.ndarray or Var
        In the shape and dtype of the image.

    Raises
    ------
    OptionError, ShapeError
        As `map_coordinates`.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.ndimage.shift([1.0, 2.0, 4.0], 0.5, order=1)
    array([0. , 1.5, 3. ])
    """
    x = image(input, "shift")
    order = checked_order(order, "shift")
    checked_mode(mode, "shift")
    steps = _parts(shift, x.ndim, "shift")
    grid = [np.arange(float(n)) - step for n, step in zip(x.shape, steps, strict=True)]
    return _finished(_axis_by_axis(x, grid, order, mode, cval, prefilter), x)


@of_floats
def zoom(
    input: Any, zoom: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True, *, grid_mode: bool = False,
) -> Array:  # fmt: skip
    """Enlarge an image, as `scipy.ndimage.zoom`; it is differentiable by the image.

    Parameters
    ----------
    input : array_like or Var
        The image, of d axes.
    zoom : float or sequence of d float
        The factor along the axes.
    output, order, mode, cval, prefilter
        As for `map_coordinates`.
    grid_mode : bool
        Whether distances are between edges of pixels and not between their centres.

    Returns
    -------
    numpy.ndarray or Var
        In the dtype of the image.

    Raises
    ------
    OptionError, ShapeError
        As `map_coordinates`.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.ndimage.zoom([1.0, 2.0, 4.0], 5 / 3, order=1)
    array([1. , 1.5, 2. , 3. , 4. ])
    """
    x = image(input, "zoom")
    order = checked_order(order, "zoom")
    checked_mode(mode, "zoom")
    factors = for_each(zoom, x.ndim, "zoom", "zoom")
    sizes = [
        int(ops.round(n * ops.astype(factor, np.float64))) for n, factor in zip(x.shape, factors, strict=True)
    ]
    if any(size < 0 for size in sizes):
        raise errors.OptionError(f"ndimage.zoom: zoom is {zoom!r}. It must not be negative")
    if all(factor == 1 for factor in factors) and prefilter:
        return ops.copy(x)
    grid = []
    for n, size in zip(x.shape, sizes, strict=True):
        if grid_mode:
            grid.append((np.arange(float(size)) + 0.5) * (n / size if size else 1.0) - 0.5)
        else:
            grid.append(np.arange(float(size)) * ((n - 1) / (size - 1) if size > 1 else 1.0))
    return _finished(_axis_by_axis(x, grid, order, mode, cval, prefilter), x)


@of_floats
def affine_transform(
    input: Any, matrix: Any, offset: Any = 0.0, output_shape: Any = None, output: Any = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Array:  # fmt: skip
    """Transform an image: at o it is the given one at ``matrix @ o + offset``, as SciPy's function.

    Parameters
    ----------
    input : array_like or Var
        The image, of d axes.
    matrix : array_like or Var
        ``(d, d)``; or ``(d,)``, a diagonal one; or ``(d, d + 1)`` or ``(d + 1, d + 1)``, with the offset.
    offset : scalar or Var, or sequence of d
        The offset.
    output_shape : tuple of int, optional
        By default that of the image.
    output, order, mode, cval, prefilter
        As for `map_coordinates`.

    Returns
    -------
    numpy.ndarray or Var
        In the dtype of the image.

    Raises
    ------
    OptionError, ShapeError
        As `map_coordinates`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> image, turn = np.arange(4.0).reshape(2, 2), np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> tape.scipy.ndimage.affine_transform(image, turn, offset=[0.0, 1.0], order=1)
    array([[1., 3.],
           [0., 2.]])
    """
    what = "affine_transform"
    x, matrix = image(input, what), real_double(matrix, "ndimage.affine_transform: the matrix")
    order = checked_order(order, what)
    checked_mode(mode, what)
    d = x.ndim
    shape = x.shape if output_shape is None else tuple(output_shape)
    if matrix.ndim == 2 and matrix.shape in ((d, d + 1), (d + 1, d + 1)):
        require(
            ops.all(matrix[d:] == np.eye(d + 1)[d : matrix.shape[0]]),
            f"ndimage.affine_transform: the last row of homogeneous coordinates must be {[0] * d + [1]}",
        )
        offset, matrix = matrix[:d, d], matrix[:d, :d]
    if matrix.shape not in ((d,), (d, d)) or len(shape) != d:
        raise errors.ShapeError(
            f"ndimage.affine_transform: a matrix of shape {list(matrix.shape)} for {d} axes, to a result of "
            f"{len(shape)}. It must be ({d}, {d})"
        )
    starts = _parts(offset, d, what)
    if matrix.ndim == 1:
        grid = [np.arange(float(n)) * matrix[k] + starts[k] for k, n in enumerate(shape)]
        return _finished(_axis_by_axis(x, grid, order, mode, cval, prefilter), x)
    places = np.indices(shape, dtype=float)
    coordinates = [ops.tensordot(matrix[k], places, 1) + starts[k] for k in range(d)]
    return _finished(_at(x, coordinates, order, mode, cval, prefilter), x)


def _parts(value: Any, count: int, what: str) -> list[Any]:
    """Return one number for each axis."""
    value = operand(value)
    if value.ndim == 0:
        return [value] * count
    if value.shape != (count,):
        raise errors.ShapeError(f"ndimage.{what}: {list(value.shape)} numbers for {count} axes")
    return [value[k] for k in range(count)]
