"""The coefficients of splines through the pixels of an image: a filter along each axis, which SciPy runs."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tape import errors, ops
from tape.core.batch_rules import along_axes
from tape.core.op import Op
from tape.inspect.costs import declare_cost
from tape.scipy._operands import Array, axis_at, double, real_double
from tape.scipy.ndimage._arguments import checked_mode, is_whole

__all__ = ["spline_filter", "spline_filter1d"]

_FEW = 100
_EXTENSIONS = {
    "reflect": "reflect", "grid-mirror": "reflect", "nearest": "reflect", "grid-wrap": "grid-wrap",
}  # fmt: skip
"""The extensions that have a filter; for the others it is that of ``mirror``."""


def _filter_forward(x: Any, *, order: int, axis: int, mode: str) -> Any:
    from scipy import ndimage

    return ndimage.spline_filter1d(x, order, axis, output=np.float64, mode=mode)


def _filter_adjoint(g: Any, out: Any, x: Any, order: int, axis: int, mode: str) -> Any:
    """Return the transpose: the matrix is symmetric, for ``mirror`` once its outer rows count half.

    That of ``reflect`` is not, as SciPy starts its recurrences approximately: for few pixels this matters.
    """
    size = g.shape[axis]
    if mode == "reflect" and size < _FEW:
        matrix = _filter_forward(np.eye(size), order=order, axis=0, mode=mode)
        return ops.moveaxis(ops.tensordot(matrix.T, g, axes=(1, axis)), 0, axis)
    if mode != "mirror" or size < 2:
        return _filter(g, order=order, axis=axis, mode=mode)
    shape = [1] * g.ndim
    shape[axis] = size
    weights = np.ones(size)
    weights[[0, -1]] = 0.5
    weights = weights.reshape(shape)
    return _filter(g / weights, order=order, axis=axis, mode=mode) * weights


_filter: Op = Op(
    _filter_forward,
    name="spline_filter",
    vjp=[_filter_adjoint],
    linear=True,
    batch=along_axes,
    data_dependent=False,
    doc="The coefficients of the spline through the elements along an axis.",
)
declare_cost(lambda out, shapes, attrs: 12 * prod(out), _filter)


def filtered_by(x: Array, order: int, mode: str) -> Array:
    """Return coefficients along all axes, in double precision."""
    x = double(x)
    if order < 2 or not x.size:
        return x
    if x.dtype.kind == "c":
        return filtered_by(ops.real(x), order, mode) + 1j * filtered_by(ops.imag(x), order, mode)
    for axis in range(x.ndim):
        if x.shape[axis] > 1:
            x = _filter(x, order=order, axis=axis, mode=_EXTENSIONS.get(mode, "mirror"))
    return x


def checked_order(order: Any, what: str, least: int = 0) -> int:
    if not is_whole(order) or not least <= order <= 5:
        raise errors.OptionError(f"ndimage.{what}: the order is {order!r}. It must be {least}, ..., 5")
    return int(order)


def spline_filter1d(
    input: Any, order: int = 3, axis: int = -1, output: Any = np.float64, mode: str = "mirror"
) -> Array:
    """Return the coefficients of splines along an axis, as `scipy.ndimage.spline_filter1d`.

    Parameters
    ----------
    input : array_like or Var
        The image, of any shape, real.
    order : int
        Of the splines, up to 5.
    axis : int
        The axis.
    output : dtype
        ``float64``; others are for plain arrays.
    mode : str
        How the image is extended.

    Returns
    -------
    numpy.ndarray or Var
        In double precision.

    Raises
    ------
    OptionError
        If the order or the mode is unknown.
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.ndimage.spline_filter1d([1.0, 2.0, 4.0], order=2).round(6)
    array([0.75, 1.75, 4.75])
    """
    x = real_double(input, "ndimage.spline_filter1d: the image")
    order = checked_order(order, "spline_filter1d")
    checked_mode(mode, "spline_filter1d")
    if output is not np.float64:
        raise errors.OptionError("ndimage.spline_filter1d: output must be np.float64")
    axis = axis_at(x, axis, "ndimage.spline_filter1d")
    if order < 2 or not x.size:
        return x
    return _filter(x, order=order, axis=axis, mode=_EXTENSIONS.get(mode, "mirror"))


def spline_filter(input: Any, order: int = 3, output: Any = np.float64, mode: str = "mirror") -> Array:
    """Return the coefficients of splines along all axes, as `scipy.ndimage.spline_filter`.

    Parameters, result and errors are those of `spline_filter1d`, without an axis.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.ndimage.spline_filter(np.ones((2, 2)))
    array([[1., 1.],
           [1., 1.]])
    """
    order = checked_order(order, "spline_filter", 2)
    x = real_double(input, "ndimage.spline_filter: the image")
    for axis in range(x.ndim):
        x = spline_filter1d(x, order, axis, output, mode)
    return x
