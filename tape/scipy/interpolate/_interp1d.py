"""`interp1d`: linear, by the nearest, previous or next value, or by splines."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors, ops
from tape.core.node import Handle
from tape.scipy._operands import Array, axis_at, inexact, operand, real_double, require, trailing
from tape.scipy.interpolate._bsplines import make_interp_spline
from tape.scipy.interpolate._piecewise import turned

__all__ = ["interp1d"]

_SPLINES = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}
_KINDS = ("linear", "nearest", "nearest-up", "previous", "next")


class interp1d:
    """A function through given points, as `scipy.interpolate.interp1d`.

    Parameters
    ----------
    x : array_like or Var
        ``(n,)``: the points, in any order.
    y : array_like or Var
        The values: n along ``axis``.
    kind : str or int
        ``"linear"``, ``"nearest"``, ``"nearest-up"``, ``"previous"``, ``"next"``, ``"zero"``, ``"slinear"``,
        ``"quadratic"``, ``"cubic"``, or the degree of a spline.
    axis : int
        The axis of the points.
    copy : bool
        Has no effect: what is computed belongs to the function.
    bounds_error : bool, optional
        Whether points outside raise an error: by default unless ``fill_value`` is "extrapolate".
    fill_value : array_like or Var, or a pair of these, or "extrapolate"
        The values outside, below and above.
    assume_sorted : bool
        Whether ``x`` is increasing.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If the kind is unknown, or, at a call, if a point is out of bounds.

    Examples
    --------
    >>> import numpy as np, tape
    >>> x, y = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 4.0])
    >>> tape.scipy.interpolate.interp1d(x, y)([0.5, 1.5])
    array([0.5, 2.5])
    >>> tape.grad(lambda y: tape.scipy.interpolate.interp1d(x, y, kind="quadratic")(0.5))(y)
    array([ 0.375,  0.75 , -0.125])
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: str | int = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        if kind not in _SPLINES and kind not in _KINDS and type(kind) is not int:
            names = ", ".join((*_KINDS, *_SPLINES))
            raise errors.OptionError(f"interp1d: kind is {kind!r}. Take one of {names}, or a degree")
        x, y = real_double(x, "interp1d: x"), inexact(y)
        if x.ndim != 1 or not y.ndim:
            raise errors.ShapeError(
                f"interp1d: x and y have shapes {list(x.shape)} and {list(y.shape)}. x must be a vector, "
                "and y have an axis"
            )
        self.axis = axis_at(y, axis, "interp1d")
        degree = _SPLINES[kind] if isinstance(kind, str) and kind in _SPLINES else kind
        least = 1 if isinstance(degree, str) else degree + 1
        if y.shape[self.axis] != x.size or x.size < least:
            raise errors.ShapeError(
                f"interp1d: y has shape {list(y.shape)} for {x.size} points along axis {self.axis}. Give one "
                f"value for each point, {least} at least"
            )
        y = ops.moveaxis(y, self.axis, 0) if self.axis else y
        if not assume_sorted:
            order = ops.argsort(x, kind="stable")
            x, y = ops.getitem(x, order), ops.getitem(y, order)
        self.x, self._y, self._kind = x, y, kind
        self.y = ops.moveaxis(y, 0, self.axis) if self.axis else y
        self.bounds_error = bounds_error
        self._set_fill(fill_value)
        self._spline = None
        if not isinstance(degree, str):
            self._spline = make_interp_spline(x, y, degree, check_finite=False)

    def _set_fill(self, fill_value: Any) -> None:
        """Take the values outside: a pair of arrays, or None for extrapolation."""
        self.fill_value = fill_value
        self._outside: tuple[Array, Array] | None = None
        shape = self._y.shape[1:]
        if isinstance(fill_value, str):
            if fill_value != "extrapolate":
                raise errors.OptionError(f"interp1d: fill_value is {fill_value!r}, not 'extrapolate'")
            if self.bounds_error:
                raise errors.OptionError("interp1d: points cannot be extrapolated and raise an error")
            self.bounds_error = False
            if self._kind in ("previous", "next"):
                nothing = np.full(shape, np.nan)
                is_next = self._kind == "next"
                self._outside = (self._y[0], nothing) if is_next else (nothing, self._y[-1])
            return
        pair = fill_value if isinstance(fill_value, tuple) and len(fill_value) == 2 else (fill_value,) * 2
        below, above = map(operand, pair)
        try:
            self._outside = ops.broadcast_to(below, shape), ops.broadcast_to(above, shape)
        except errors.ShapeError:
            raise errors.ShapeError(
                f"interp1d: fill_value has shapes {list(below.shape)} and {list(above.shape)}, which do not "
                f"broadcast to {list(shape)}"
            ) from None
        if self.bounds_error is None:
            self.bounds_error = True

    def __call__(self, x: Any) -> Array:
        """Return the values at points of any shape."""
        x = real_double(x, "interp1d: points")
        values = self._spline(x) if self._spline is not None else self._nearby(x)
        if self._outside is None:
            return turned(values, x.ndim, self.axis)
        is_below, is_above = x < self.x[0], x > self.x[-1]
        if self.bounds_error:
            require(
                ~ops.any(is_below | is_above),
                "interp1d: a point is out of bounds. Pass bounds_error=False, with a fill_value or "
                "fill_value='extrapolate'",
            )
            return turned(values, x.ndim, self.axis)
        count = values.ndim - x.ndim
        below, above = self._outside
        values = ops.where(trailing(is_below, count), below, values)
        return turned(ops.where(trailing(is_above, count), above, values), x.ndim, self.axis)

    def _nearby(self, x: Array) -> Array:
        """Return values by the points on either side."""
        knots, y, kind, count = self.x, self._y, self._kind, self.x.shape[0]
        if kind == "linear":
            if count == 1:
                return ops.getitem(y, ops.zeros_like(ops.astype(ops.isnan(x), int)))
            after = ops.clip(ops.searchsorted(knots, x), 1, count - 1)
            start, width = ops.getitem(knots, after - 1), ops.getitem(knots, after)
            low, high = ops.getitem(y, after - 1), ops.getitem(y, after)
            slope = (high - low) / trailing(width - start, y.ndim - 1)
            return slope * trailing(x - start, y.ndim - 1) + low
        if kind in ("nearest", "nearest-up"):
            middles = knots[1:] / 2.0 + knots[:-1] / 2.0
            place = ops.searchsorted(middles, x, side="left" if kind == "nearest" else "right")
        elif kind == "previous":
            place = ops.clip(ops.searchsorted(_moved(knots, -np.inf), x), 1, count) - 1
        else:
            place = ops.clip(ops.searchsorted(_moved(knots, np.inf), x, side="right"), 0, count - 1)
        return ops.getitem(y, place)


def _moved(knots: Array, towards: float) -> Array:
    """Return the points moved by one bit."""
    return ops.nextafter(knots, towards) if isinstance(knots, Handle) else np.nextafter(knots, towards)
