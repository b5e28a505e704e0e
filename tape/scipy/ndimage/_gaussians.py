"""Images smoothed by Gaussians, which are differentiable by their standard deviations, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors, ops
from tape.scipy._operands import Array, axis_at, operand
from tape.scipy.ndimage._arguments import chosen_axes, for_each, image, is_batched, is_whole, of_floats
from tape.scipy.ndimage._filters import along
from tape.transforms.stop import stop_gradient

__all__ = ["gaussian_filter", "gaussian_filter1d", "gaussian_gradient_magnitude", "gaussian_laplace"]


def _gaussian(sigma: Any, order: int, truncate: float, radius: Any, what: str) -> Array:
    """Return the weights of a Gaussian, or of its derivative; they are differentiable by sigma."""
    if operand(sigma).dtype.kind == "c" or np.ndim(sigma):
        raise errors.DTypeError(f"ndimage.{what}: sigma is {errors.describe(sigma)}. Give a real number")
    if not is_whole(order) or order < 0:
        raise errors.OptionError(f"ndimage.{what}: the order is {order!r}. It must be an int, 0 or more")
    if radius is None and is_batched(sigma):
        raise errors.UnsupportedError(
            f"ndimage.{what}: the standard deviations of a batch would have windows of different sizes. Pass "
            "the same radius= for all"
        )
    if radius is None:
        radius = int(ops.astype(ops.floor(truncate * stop_gradient(sigma) + 0.5), np.int64))
    if not is_whole(radius) or radius < 0:
        raise errors.OptionError(f"ndimage.{what}: the radius is {radius!r}. It must be an int, 0 or more")
    x = np.arange(-radius, radius + 1)
    variance = sigma * sigma
    bell = ops.exp(-0.5 / variance * x**2)
    bell = bell / ops.sum(bell)
    powers: list[Any] = [1.0]  # the coefficients of a polynomial in x, which multiplies the bell
    for _ in range(order):
        longer: list[Any] = [0.0] * (len(powers) + 1)
        for k, c in enumerate(powers):
            if k:
                longer[k - 1] = longer[k - 1] + k * c
            longer[k + 1] = longer[k + 1] - c / variance
        powers = longer
    if order:
        bell = bell * sum((c * x**k for k, c in enumerate(powers)), start=0.0)
    return ops.flip(bell)


@of_floats
def gaussian_filter1d(
    input: Any, sigma: Any, axis: int = -1, order: int = 0, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, truncate: float = 4.0, *, radius: int | None = None,
) -> Array:  # fmt: skip
    """Smooth an image along an axis by a Gaussian, or a derivative of it, as SciPy's function of this name.

    Parameters
    ----------
    input : array_like or Var
        The image, of any shape.
    sigma : scalar or Var
        The standard deviation.
    axis : int
        The axis.
    order : int
        The order of the derivative.
    output : None
        Others are for plain arrays.
    mode, cval
        As for `correlate1d`.
    truncate : float
        How many standard deviations the window reaches.
    radius : int, optional
        The radius of the window; by default ``round(truncate * sigma)``, which is a constant.

    Returns
    -------
    numpy.ndarray or Var
        In the shape and dtype of the image.

    Raises
    ------
    OptionError
        If the order or radius is negative, or the mode unknown.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.ndimage.gaussian_filter1d([0.0, 0.0, 1.0, 0.0, 0.0], 0.5).round(3)
    array([0.   , 0.106, 0.787, 0.106, 0.   ])
    """
    what = "gaussian_filter1d"
    x = image(input, what)
    weights = operand(_gaussian(sigma, order, truncate, radius, what))
    return along(x, weights, axis_at(x, axis, what), mode, cval, 0, what)


@of_floats
def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Array:  # fmt: skip
    """Smooth an image by a Gaussian along several axes, as `scipy.ndimage.gaussian_filter`.

    Parameters
    ----------
    input : array_like or Var
        The image, of any shape.
    sigma : scalar or Var, or sequence of these
        The standard deviations along the axes.
    order, mode, radius
        As for `gaussian_filter1d`, one for all axes or one for each.
    output : None
        Others are for plain arrays.
    cval, truncate
        As for `gaussian_filter1d`.
    axes : int or sequence of int, optional
        The axes; by default all.

    Returns
    -------
    numpy.ndarray or Var
        In the shape and dtype of the image.

    Raises
    ------
    OptionError, ShapeError
        As `gaussian_filter1d`, and for a wrong number of options.

    Examples
    --------
    >>> import numpy as np, tape
    >>> image = np.zeros((3, 3))
    >>> image[1, 1] = 1.0
    >>> tape.scipy.ndimage.gaussian_filter(image, 0.5)[1].round(3)
    array([0.084, 0.619, 0.084])
    """
    what = "gaussian_filter"
    x = image(input, what)
    axes = chosen_axes(axes, x.ndim, what)
    settings = [
        for_each(given, len(axes), name, what)
        for name, given in (("sigma", sigma), ("order", order), ("mode", mode), ("radius", radius))
    ]
    for axis, s, k, how, r in zip(axes, *settings, strict=True):
        if is_batched(s) or s > 1e-15:
            x = along(x, operand(_gaussian(s, k, truncate, r, what)), axis, how, cval, 0, what)
    return x


@of_floats
def gaussian_laplace(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None,
    **kwargs: Any,
) -> Array:  # fmt: skip
    """Return the sum of second derivatives of an image smoothed by Gaussians, as SciPy's function.

    Parameters, result and errors are those of `gaussian_filter`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.ndimage.gaussian_laplace(np.arange(9.0) ** 2, 1.0)[4].round(2).item()
    2.0
    """
    orders = _second_orders(input, axes, "gaussian_laplace")
    if not orders:
        return image(input, "gaussian_laplace")
    return _sum_of(orders, input, sigma, mode, cval, axes, kwargs)


def _second_orders(input: Any, axes: Any, what: str, order: int = 2) -> list[list[int]]:
    count = len(chosen_axes(axes, np.ndim(input), what))
    return [[order * (k == j) for k in range(count)] for j in range(count)]


def _sum_of(
    orders: list[list[int]], input: Any, sigma: Any, mode: Any, cval: Any, axes: Any, kwargs: Any,
    is_squared: bool = False,
) -> Array:  # fmt: skip
    total: Any = None
    for order in orders:
        part = gaussian_filter(input, sigma, order, None, mode, cval, axes=axes, **kwargs)
        part = part * part if is_squared else part
        total = part if total is None else total + part
    return total


@of_floats
def gaussian_gradient_magnitude(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None,
    **kwargs: Any,
) -> Array:  # fmt: skip
    """Return the length of the gradient of an image smoothed by Gaussians, as SciPy's function.

    Parameters, result and errors are those of `gaussian_filter`; where it is zero, so is its derivative.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.ndimage.gaussian_gradient_magnitude(np.arange(9.0) * 3, 1.0)[4].round(2).item()
    3.0
    """
    orders = _second_orders(input, axes, "gaussian_gradient_magnitude", 1)
    if not orders:
        return image(input, "gaussian_gradient_magnitude")
    squares = _sum_of(orders, input, sigma, mode, cval, axes, kwargs, is_squared=True)
    is_zero = squares == 0
    return ops.where(is_zero, 0.0, ops.sqrt(ops.where(is_zero, 1.0, squares)))
