"""Piecewise cubic interpolation: Hermite, splines, shape-preserving (pchip) and Akima's.

Each class finds the slopes at the points by operations, so that the interpolant is differentiable by points
and values; `PPoly` evaluates it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors, ops
from tape.scipy._banded import solve_banded
from tape.scipy._operands import Array, double, operand, quiet, require, trailing
from tape.scipy.interpolate._piecewise import PPoly, prepared

__all__ = ["Akima1DInterpolator", "CubicHermiteSpline", "CubicSpline", "PchipInterpolator"]


class CubicHermiteSpline(PPoly):
    """The piecewise cubic of given values and slopes, as `scipy.interpolate.CubicHermiteSpline`.

    Parameters
    ----------
    x : array_like or Var
        ``(n,)``: the points, strictly increasing.
    y, dydx : array_like or Var
        Values and slopes: n along ``axis``.
    axis : int
        The axis of the points.
    extrapolate : bool or "periodic", optional
        As for `PPoly`.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If the points are not strictly increasing, or not finite.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.interpolate.CubicHermiteSpline([0.0, 1.0], [0.0, 1.0], [0.0, 0.0])([0.25, 0.5])
    array([0.15625, 0.5    ])
    """

    def __init__(
        self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: bool | str | None = None
    ) -> None:
        x, values, axis = prepared(x, y, axis, "CubicHermiteSpline")
        slopes = double(dydx)
        if slopes.shape != operand(y).shape:
            raise errors.ShapeError(
                f"CubicHermiteSpline: y and dydx have shapes {list(operand(y).shape)} and "
                f"{list(slopes.shape)}, which must be the same"
            )
        slopes = ops.moveaxis(slopes, axis, 0) if axis else slopes
        require(ops.all(ops.isfinite(slopes)), "CubicHermiteSpline: dydx must be finite")
        self._set(_hermite(x, values, slopes), x, extrapolate, axis)


class CubicSpline(PPoly):
    """The twice continuously differentiable piecewise cubic, as `scipy.interpolate.CubicSpline`.

    Parameters
    ----------
    x : array_like or Var
        ``(n,)``: the points, strictly increasing.
    y : array_like or Var
        The values: n along ``axis``.
    axis : int
        The axis of the points.
    bc_type : str or pair
        ``"not-a-knot"``, ``"periodic"``, ``"clamped"`` or ``"natural"``; or one condition for each end, one
        of these words or ``(order, value)`` with the first or second derivative there, which may be a Var.
    extrapolate : bool or "periodic", optional
        As for `PPoly`; by default periodic for a periodic spline.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If the points are not strictly increasing, a condition is unknown, or the first and last values of a
        periodic spline differ.

    Examples
    --------
    >>> import numpy as np, tape
    >>> x = np.arange(5.0)
    >>> round(float(tape.scipy.interpolate.CubicSpline(x, x**3)(2.5)), 12)
    15.625
    >>> tape.grad(lambda y: tape.scipy.interpolate.CubicSpline(x, y)(2.0))(x**3).round(12) + 0.0
    array([0., 0., 1., 0., 0.])
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        axis: int = 0,
        bc_type: Any = "not-a-knot",
        extrapolate: bool | str | None = None,
    ) -> None:
        x, y, axis = prepared(x, y, axis, "CubicSpline")
        conditions = _conditions(bc_type, y)
        if extrapolate is None:
            extrapolate = "periodic" if conditions[0] == "periodic" else True
        slopes = _spline_slopes(x, y, conditions)
        self._set(_hermite(x, y, slopes), x, extrapolate, axis)


class PchipInterpolator(PPoly):
    """The monotone piecewise cubic of Fritsch and Butland, as `scipy.interpolate.PchipInterpolator`.

    Parameters
    ----------
    x : array_like or Var
        ``(n,)``: the points, strictly increasing.
    y : array_like or Var
        The values, real: n along ``axis``.
    axis : int
        The axis of the points.
    extrapolate : bool, optional
        As for `PPoly`.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If the points are not strictly increasing.
    DTypeError
        If the values are complex.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.interpolate.PchipInterpolator([0.0, 1.0, 2.0], [0.0, 1.0, 1.0])([0.5, 1.5])
    array([0.6875, 1.    ])
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: bool | str | None = None) -> None:
        x, y, axis = prepared(x, y, axis, "PchipInterpolator")
        _check_real(y, "PchipInterpolator")
        self._set(_hermite(x, y, _monotone_slopes(x, y)), x, extrapolate, axis)


class Akima1DInterpolator(PPoly):
    """Akima's piecewise cubic, as `scipy.interpolate.Akima1DInterpolator`.

    Parameters
    ----------
    x : array_like or Var
        ``(n,)``: the points, strictly increasing.
    y : array_like or Var
        The values, real: n along ``axis``.
    axis : int
        The axis of the points.
    method : {"akima", "makima"}
        Akima's slopes, or modified ones, which overshoot less.
    extrapolate : bool, optional
        As for `PPoly`, by default False.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If the points are not strictly increasing, or the method is unknown.
    DTypeError
        If the values are complex.

    Examples
    --------
    >>> import tape
    >>> float(tape.scipy.interpolate.Akima1DInterpolator([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])(1.5))
    2.25
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        axis: int = 0,
        *,
        method: str = "akima",
        extrapolate: bool | str | None = None,
    ) -> None:
        if method not in ("akima", "makima"):
            raise errors.OptionError(
                f"Akima1DInterpolator: method is {method!r}. It must be 'akima' or 'makima'"
            )
        x, y, axis = prepared(x, y, axis, "Akima1DInterpolator")
        _check_real(y, "Akima1DInterpolator")
        slopes = _akima_slopes(x, y, method == "makima")
        self._set(_hermite(x, y, slopes), x, False if extrapolate is None else extrapolate, axis)


def _check_real(y: Array, what: str) -> None:
    if y.dtype.kind == "c":
        raise errors.DTypeError(f"{what}: y must be real, not {errors.describe(y)}. Take its np.real")


def _hermite(x: Array, y: Array, slopes: Array) -> Array:
    """Return the coefficients of the cubics with these values and slopes at the points."""
    widths = trailing(ops.diff(x), y.ndim - 1)
    secants = ops.diff(y, axis=0) / widths
    before, after = slopes[:-1], slopes[1:]
    bend = (before + after - 2 * secants) / widths
    return ops.stack([bend / widths, (secants - before) / widths - bend, before, y[:-1]])


# ---- splines ---------------------------------------------------------------------------------------


def _conditions(bc_type: Any, y: Array) -> list[Any]:
    """Return the condition at each end: a word, or the order and value of a derivative."""
    if isinstance(bc_type, str):
        if bc_type == "periodic":
            with quiet():
                is_closed = ops.abs(y[0] - y[-1]) <= 1e-15 + 1e-15 * ops.abs(y[-1])
            require(ops.all(is_closed), "CubicSpline: the first and last values of a periodic spline differ")
        bc_type = (bc_type, bc_type)
    elif len(bc_type) != 2 or any(isinstance(one, str) and one == "periodic" for one in bc_type):
        raise errors.OptionError(
            f"CubicSpline: bc_type is {bc_type!r}. Give one condition for each end; 'periodic' is for both"
        )
    return [_condition(one, y) for one in bc_type]


def _condition(condition: Any, y: Array) -> Any:
    shape = y.shape[1:]
    if isinstance(condition, str):
        if condition in ("clamped", "natural"):
            return (1 if condition == "clamped" else 2), np.zeros(shape)
        if condition in ("not-a-knot", "periodic"):
            return condition
        raise errors.OptionError(
            f"CubicSpline: bc_type is {condition!r}. Take not-a-knot, periodic, clamped, natural, or "
            "(order, value)"
        )
    try:
        order, value = condition
    except (TypeError, ValueError):
        order, value = None, None
    if order not in (1, 2):
        raise errors.OptionError(
            "CubicSpline: a condition is the first or second derivative, (1, value) or (2, value)"
        )
    value = double(value)
    if value.shape != shape:
        raise errors.ShapeError(
            f"CubicSpline: a derivative at an end has shape {list(value.shape)}. It must be {list(shape)}"
        )
    return order, value


def _spline_slopes(x: Array, y: Array, conditions: list[Any]) -> Array:
    """Return the slopes of a spline at the points, by a tridiagonal system."""
    count = x.size
    dx = ops.diff(x)
    dxr = trailing(dx, y.ndim - 1)
    secants = ops.diff(y, axis=0) / dxr
    if count == 2:
        ends = ("not-a-knot", "periodic")
        conditions = [(1, secants[0]) if isinstance(c, str) and c in ends else c for c in conditions]
    start, end = conditions
    if count == 3 and isinstance(start, str) and start == "periodic":
        slope = ops.sum(secants / dxr, axis=0) / ops.sum(1 / dxr, axis=0)
        return ops.stack([slope] * 3)
    if count == 3 and isinstance(start, str) and isinstance(end, str):  # a parabola
        middle = (dxr[0] * secants[1] + dxr[1] * secants[0]) / (dxr[0] + dxr[1])
        return ops.stack([2 * secants[0] - middle, middle, 2 * secants[1] - middle])
    inner = 3 * (dxr[1:] * secants[:-1] + dxr[:-1] * secants[1:])
    if isinstance(start, str) and start == "periodic":
        return _periodic_slopes(dx, dxr, secants, inner)
    first, last = _end_row(start, dx, dxr, secants, y), _end_row(end, dx, dxr, secants, y, is_last=True)
    return _tridiagonal(
        ops.concatenate([dx[1:], ops.stack([last[1]])]),
        ops.concatenate([ops.stack([first[0]]), 2 * (dx[:-1] + dx[1:]), ops.stack([last[0]])]),
        ops.concatenate([ops.stack([first[1]]), dx[:-1]]),
        ops.concatenate([ops.expand_dims(first[2], 0), inner, ops.expand_dims(last[2], 0)]),
    )


def _end_row(
    condition: Any, dx: Array, dxr: Array, secants: Array, y: Array, is_last: bool = False
) -> tuple[Any, Any, Any]:
    """Return the diagonal element, the one beside it and the right-hand side of the first or last row."""
    near, next_to = (-1, -2) if is_last else (0, 1)
    if isinstance(condition, str):
        both = dx[near] + dx[next_to]
        known = (dxr[near] + 2 * both) * dxr[next_to] * secants[near] + dxr[near] ** 2 * secants[next_to]
        return dx[next_to], both, known / both
    order, value = condition
    if order == 1:
        return 1.0, 0.0, value
    bend = 0.5 * value * dx[near] ** 2
    rise = 3 * secants[near] * dx[near]
    return 2 * dx[near], dx[near], rise + bend if is_last else rise - bend


def _tridiagonal(below: Array, diagonal: Array, above: Array, right: Array) -> Array:
    zero = np.zeros(1)
    ab = ops.stack([ops.concatenate([zero, above]), diagonal, ops.concatenate([below, zero])])
    if not right.size:
        return right
    columns = ops.reshape(right, (right.shape[0], -1))
    return ops.reshape(solve_banded(ab, columns, lower=1, upper=1), right.shape)


def _periodic_slopes(dx: Array, dxr: Array, secants: Array, inner: Array) -> Array:
    """Return the slopes of a periodic spline: the last unknown is eliminated from a cyclic system."""
    right = ops.concatenate([3 * (dxr[:1] * secants[-1:] + dxr[-1:] * secants[:1]), inner[:-1]])
    last_right = inner[-1]
    before = ops.concatenate([dx[-1:], dx[:-1]])  # the width of the interval before each point
    below, diagonal, above = dx[1:-1], 2 * (before + dx)[:-1], before[:-2]
    size = dx.size - 1
    coupling = ops.concatenate([-dx[:1], np.zeros(size - 2), -dx[-3:-2]])
    columns = trailing(coupling, right.ndim - 1)
    coupled = _tridiagonal(below, diagonal, above, ops.broadcast_to(columns, right.shape))
    free = _tridiagonal(below, diagonal, above, right)
    by_first, by_last, own = dx[-2], dx[-1], 2 * (dx[-1] + dx[-2])
    last = (last_right - by_first * free[0] - by_last * free[-1]) / (
        own + by_first * coupled[0] + by_last * coupled[-1]
    )
    slopes = free + last * coupled
    return ops.concatenate([slopes, ops.expand_dims(last, 0), slopes[:1]])


# ---- local slopes ----------------------------------------------------------------------------------


def _monotone_slopes(x: Array, y: Array) -> Array:
    """Return weighted harmonic means of the secants' slopes, zero where these differ in sign."""
    widths = trailing(ops.diff(x), y.ndim - 1)
    secants = ops.diff(y, axis=0) / widths
    if x.size == 2:
        return ops.concatenate([secants, secants])
    before, after = secants[:-1], secants[1:]
    is_flat = (ops.sign(before) != ops.sign(after)) | (before == 0) | (after == 0)
    left, right = 2 * widths[1:] + widths[:-1], widths[1:] + 2 * widths[:-1]
    safe = [ops.where(is_flat, 1.0, part) for part in (before, after)]
    inner = ops.where(is_flat, 0.0, (left + right) / (left / safe[0] + right / safe[1]))
    first = _end_slope(widths[0], widths[1], secants[0], secants[1])
    last = _end_slope(widths[-1], widths[-2], secants[-1], secants[-2])
    return ops.concatenate([ops.expand_dims(first, 0), inner, ops.expand_dims(last, 0)])


def _end_slope(near: Array, other: Array, secant: Array, next_one: Array) -> Array:
    """Return the slope at an end by three points, limited to keep the shape (Moler, section 3.6)."""
    slope = ((2 * near + other) * secant - near * next_one) / (near + other)
    is_wrong = ops.sign(slope) != ops.sign(secant)
    is_steep = (ops.sign(secant) != ops.sign(next_one)) & (ops.abs(slope) > 3 * ops.abs(secant))
    return ops.where(is_wrong, 0.0, ops.where(is_steep, 3 * secant, slope))


def _akima_slopes(x: Array, y: Array, is_modified: bool) -> Array:
    widths = trailing(ops.diff(x), y.ndim - 1)
    secants = ops.diff(y, axis=0) / widths
    if x.size == 2:
        return ops.concatenate([secants, secants])
    one_before = 2 * secants[:1] - secants[1:2]
    one_after = 2 * secants[-1:] - secants[-2:-1]
    m = ops.concatenate(
        [2 * one_before - secants[:1], one_before, secants, one_after, 2 * one_after - secants[-1:]]
    )
    change = ops.abs(ops.diff(m, axis=0))
    if is_modified:
        change = change + 0.5 * ops.abs(m[1:] + m[:-1])
    after, before = change[2:], change[:-2]
    total = after + before
    if not total.size:
        return m[1:-2]
    is_bent = total > 1e-9 * ops.max(total)
    share = before / ops.where(is_bent, total, 1.0)
    return ops.where(is_bent, m[1:-2] + share * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))
