"""B-splines: evaluation by de Boor's recurrence, and interpolation.

The recurrence (C. de Boor, "A Practical Guide to Splines", chapter X) runs on all points at once, in
operations, so that values are differentiable by knots, coefficients and points.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tape import errors, ops
from tape.scipy._banded import solve_banded
from tape.scipy._operands import Array, axis_at, double, quiet, real_double, require, trailing
from tape.scipy.interpolate._piecewise import interval_of, turned

__all__ = ["BSpline", "make_interp_spline"]


class BSpline:
    """A spline as a sum of B-splines, as `scipy.interpolate.BSpline`.

    Parameters
    ----------
    t : array_like or Var
        ``(n + k + 1,)``: the knots, not decreasing.
    c : array_like or Var
        The coefficients: n at least along ``axis``.
    k : int
        The degree.
    extrapolate : bool or "periodic"
        Whether points outside of ``t[k], ..., t[n]`` get the values of the outermost polynomials, those of a
        periodic continuation, or NaN.
    axis : int
        The axis of the coefficients, in place of which the axes of the points come.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If the knots decrease or are all the same, or the degree is negative.

    Examples
    --------
    >>> import numpy as np, tape
    >>> t = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 2.0])
    >>> spline = tape.scipy.interpolate.BSpline(t, [0.0, 1.0, 1.0, 0.0], 2)
    >>> spline([0.5, 1.0])
    array([0.75, 1.  ])
    >>> tape.grad(lambda c: tape.scipy.interpolate.BSpline(t, c, 2)(1.0))(np.ones(4))
    array([0. , 0.5, 0.5, 0. ])
    """

    def __init__(self, t: Any, c: Any, k: int, extrapolate: bool | str = True, axis: int = 0) -> None:
        t, c, k = real_double(t, "BSpline: the knots"), double(c), operator.index(k)
        if k < 0:
            raise errors.OptionError(f"BSpline: the degree is {k}. It must not be negative")
        count = t.size - k - 1
        if t.ndim != 1 or c.ndim < 1:
            raise errors.ShapeError(
                f"BSpline: t and c have shapes {list(t.shape)} and {list(c.shape)}. t must be a vector, and "
                "c have an axis"
            )
        self.axis = axis_at(c, axis, "BSpline")
        c = ops.moveaxis(c, self.axis, 0) if self.axis else c
        if count < k + 1 or c.shape[0] < count:
            raise errors.ShapeError(
                f"BSpline: {t.size} knots and {c.shape[0]} coefficients of degree {k}. Give {2 * k + 2} "
                f"knots at least, and as many coefficients as knots less {k + 1}"
            )
        require(ops.all(ops.diff(t) >= 0) & ops.all(ops.isfinite(t)), "BSpline: knots must not decrease")
        require(t[k] < t[count], "BSpline: there must be two different inner knots")
        self._set(t, c, k, extrapolate if extrapolate == "periodic" else bool(extrapolate))

    def _set(self, t: Array, c: Array, k: int, extrapolate: bool | str) -> None:
        """Take knots and coefficients that are known to fit."""
        self.t, self.c, self.k, self.extrapolate = t, c, k, extrapolate

    @classmethod
    def construct_fast(cls, t: Any, c: Any, k: int, extrapolate: bool | str = True, axis: int = 0) -> BSpline:
        """Return one of knots and coefficients that fit, with the axis of the coefficients first."""
        made = BSpline.__new__(BSpline)
        made.axis = axis
        made._set(t, c, k, extrapolate)
        return made

    @property
    def tck(self) -> tuple[Array, Array, int]:
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    def __call__(self, x: Any, nu: int = 0, extrapolate: bool | str | None = None) -> Array:
        """Return the values at points of any shape, or those of the derivative of order ``nu``."""
        x = real_double(x, "BSpline: points")
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        k, last = self.k, self.t.shape[0] - self.k - 2
        low, high = self.t[k], self.t[last + 1]
        if isinstance(extrapolate, str) and extrapolate == "periodic":
            x = low + ops.remainder(x - low, high - low)
        nu = operator.index(nu)
        if nu < 0:
            raise errors.OptionError(f"BSpline: the order of a derivative is {nu}. It must not be negative")
        place = interval_of(self.t, x, k, last)
        weights = basis(self.t, x, place, k, nu)
        parts = ops.getitem(self.c, ops.expand_dims(place, 0) + np.arange(-k, 1).reshape(-1, *(1,) * x.ndim))
        out = ops.sum(trailing(weights, self.c.ndim - 1) * parts, axis=0)
        is_known = (x >= low) & (x <= high) if not extrapolate else x == x
        if not extrapolate or k <= nu:  # others are NaN where x is
            out = ops.where(trailing(is_known, out.ndim - x.ndim), out, np.nan)
        return turned(out, x.ndim, self.axis)

    def derivative(self, nu: int = 1) -> BSpline:
        """Return the derivative of order ``nu``, a spline of lower degree."""
        if operator.index(nu) < 0:
            return self.antiderivative(-nu)
        t, k = self.t, self.k
        if nu > k:
            raise errors.OptionError(f"BSpline: a spline of degree {k} has no derivative of order {nu}")
        c = self.c[: t.shape[0] - k - 1]
        for _ in range(nu):
            widths = t[k + 1 : -1] - t[1 : -k - 1]
            safe = ops.where(widths == 0, 1.0, widths)
            c = (c[1:] - c[:-1]) * k / trailing(safe, c.ndim - 1)
            t, k = t[1:-1], k - 1
        return self.construct_fast(t, c, k, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """Return the antiderivative of order ``nu``, a spline of higher degree."""
        if operator.index(nu) < 0:
            return self.derivative(-nu)
        t, c, k = self.t, self.c[: self.t.shape[0] - self.k - 1], self.k
        for _ in range(nu):
            widths = trailing(t[k + 1 :] - t[: -k - 1], c.ndim - 1)
            summed = ops.cumsum(c * widths, axis=0) / (k + 1)
            c = ops.concatenate([np.zeros((1, *c.shape[1:])), summed])
            t, k = ops.concatenate([t[:1], t, t[-1:]]), k + 1
        is_periodic = isinstance(self.extrapolate, str)
        return self.construct_fast(t, c, k, False if is_periodic else self.extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: bool | str | None = None) -> Array:
        """Return the integral from ``a`` to ``b``, numbers or Vars of no axes."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        a, b = (real_double(end, "BSpline.integrate: an end") for end in (a, b))
        if a.ndim or b.ndim:
            raise errors.ShapeError(
                f"BSpline.integrate: ends of shapes {list(a.shape)} and {list(b.shape)}. Give two numbers"
            )
        whole = self.antiderivative()
        whole.axis = 0
        low, high = self.t[self.k], self.t[self.t.shape[0] - self.k - 1]
        if isinstance(extrapolate, str) and extrapolate == "periodic":
            period = high - low
            over = whole(high, extrapolate=True) - whole(low, extrapolate=True)
            ends = []
            for end in (a, b):
                times = ops.floor((end - low) / period)
                ends.append(times * over + whole(end - times * period, extrapolate=True))
            return ends[1] - ends[0]
        if not extrapolate:
            a, b = (ops.clip(end, low, high) for end in (a, b))
        return whole(b, extrapolate=True) - whole(a, extrapolate=True)


def basis(t: Array, x: Array, place: Array, k: int, nu: int = 0) -> Array:
    """Return the values of the k + 1 B-splines that are not zero in an interval, or their derivatives.

    Parameters
    ----------
    t : array or Var
        The knots.
    x : array or Var
        The points, of any shape.
    place : array or Var
        For each of them an ``i`` with ``t[i] <= x < t[i + 1]``, unless it is outside of all.
    k, nu : int
        The degree, and the order of the derivative.

    Returns
    -------
    numpy.ndarray or Var
        ``(k + 1, *x.shape)``: of the B-splines number ``i - k, ..., i``.
    """
    around = ops.expand_dims(place, 0) + np.arange(1 - k, k + 1).reshape(-1, *(1,) * x.ndim)
    knots = ops.getitem(t, around)  # number i + m is at m + k - 1
    values: list[Any] = [np.ones(x.shape)]
    for degree in range(1, k + 1):
        raised: list[Any] = [0.0] * (degree + 1)
        for n in range(1, degree + 1):
            right, left = knots[n + k - 1], knots[n - degree + k - 1]
            width = right - left
            weight = ops.where(width == 0, 0.0, values[n - 1] / ops.where(width == 0, 1.0, width))
            if degree > k - nu:
                raised[n - 1] = raised[n - 1] - degree * weight
                raised[n] = degree * weight
            else:
                raised[n - 1] = raised[n - 1] + weight * (right - x)
                raised[n] = weight * (x - left)
        values = raised
    if nu > k:
        return np.zeros((k + 1, *x.shape))
    return ops.stack([value + 0.0 * x if np.shape(value) != x.shape else value for value in values])


# ---- interpolation ---------------------------------------------------------------------------------


def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> BSpline:
    """Return the spline through given points, as `scipy.interpolate.make_interp_spline`.

    Parameters
    ----------
    x : array_like or Var
        ``(n,)``: the points, strictly increasing.
    y : array_like or Var
        The values: n along ``axis``.
    k : int
        The degree.
    t : array_like or Var, optional
        The knots; by default they follow from the points and ``bc_type``.
    bc_type : str or pair, optional
        ``"not-a-knot"`` (the default), ``"periodic"``, ``"clamped"``, ``"natural"``; or for each end None,
        one of the last two, or a list of ``(order, value)``: derivatives there, which may be Vars.
    axis : int
        The axis of the points.
    check_finite : bool
        Whether numbers are checked to be finite.

    Returns
    -------
    BSpline

    Raises
    ------
    ShapeError
        If the shapes do not fit, or there are more or fewer conditions than unknowns.
    OptionError
        If the points are not strictly increasing, or a condition is unknown.
    SingularMatrixError
        If no spline of these knots interpolates at these points.

    Examples
    --------
    >>> import numpy as np, tape
    >>> x = np.linspace(0.0, 1.0, 6)
    >>> float(tape.scipy.interpolate.make_interp_spline(x, x**3)(0.5).round(12))
    0.125
    """
    what = "make_interp_spline"
    x, y, k = real_double(x, f"{what}: x"), double(y), operator.index(k)
    axis = axis_at(y, axis, what) if y.ndim else 0
    if x.ndim != 1 or not y.ndim or y.shape[axis] != x.size:
        raise errors.ShapeError(
            f"{what}: x and y have shapes {list(x.shape)} and {list(y.shape)}. Give one value for each point "
            f"along axis {axis}"
        )
    if k < 0:
        raise errors.OptionError(f"{what}: the degree is {k}. It must not be negative")
    y = ops.moveaxis(y, axis, 0) if axis else y
    if check_finite:
        require(ops.all(ops.isfinite(x)) & ops.all(ops.isfinite(y)), f"{what}: x and y must be finite")
    require(ops.all(ops.diff(x) > 0), f"{what}: x must be strictly increasing. Sort the points first")
    is_periodic = isinstance(bc_type, str) and bc_type == "periodic"
    starts, ends = ([], []) if is_periodic else _conditions(bc_type, y)
    if is_periodic:
        if t is not None:
            raise errors.OptionError(
                f"{what}: knots of a periodic spline follow from its points. Leave out t"
            )
        with quiet():
            is_closed = ops.abs(y[0] - y[-1]) <= 1e-15 + 1e-5 * ops.abs(y[-1])
        require(ops.all(is_closed), f"{what}: the first and last values of a periodic spline differ")
    if k < 2 and t is None:
        if starts or ends:
            raise errors.OptionError(f"{what}: there is nothing to choose at the ends for degree {k}")
        knots = [x[:1], x, x[-1:]] if k else [x, x[-1:]]
        return BSpline.construct_fast(ops.concatenate(knots), y, k, axis=axis)
    if is_periodic:
        return _periodic(x, y, _periodic_knots(x, k), k, axis)
    if t is None:
        if x.size < k + 1 and not (starts or ends):
            raise errors.ShapeError(f"{what}: {x.size} points of degree {k}. Give {k + 1} points at least")
        t = _padded(x, k) if starts or ends else _not_a_knot(x, k)
    t = real_double(t, f"{what}: t")
    unknowns = t.size - k - 1
    if t.ndim != 1 or unknowns < x.size or unknowns - x.size != len(starts) + len(ends):
        raise errors.ShapeError(
            f"{what}: {t.size} knots and {x.size} points of degree {k}, with {len(starts)} and {len(ends)} "
            f"conditions at the ends. There must be {unknowns - x.size} conditions"
        )
    require(ops.all(ops.diff(t) >= 0), f"{what}: knots must not decrease")
    require((x[0] >= t[k]) & (x[-1] <= t[unknowns]), f"{what}: points must be within the inner knots")
    return BSpline.construct_fast(t, _coefficients(x, y, t, k, starts, ends), k, axis=axis)


def _conditions(bc_type: Any, y: Array) -> tuple[list[Any], list[Any]]:
    """Return the orders and values of the derivatives that are given at each end."""
    if bc_type is None or (isinstance(bc_type, str) and bc_type == "not-a-knot"):
        return [], []
    pair = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    if len(pair) != 2:
        raise errors.OptionError("make_interp_spline: bc_type is a word, or a pair of conditions")
    found = []
    for one in pair:
        if isinstance(one, str):
            if one not in ("clamped", "natural"):
                raise errors.OptionError(
                    f"make_interp_spline: bc_type is {one!r}. Take not-a-knot, periodic, clamped, natural, "
                    "or a list of (order, value)"
                )
            one = [(1 if one == "clamped" else 2, np.zeros(y.shape[1:]))]
        found.append([(operator.index(order), double(value)) for order, value in one or ()])
    return found[0], found[1]


def _coefficients(x: Array, y: Array, t: Array, k: int, starts: list[Any], ends: list[Any]) -> Array:
    """Return the coefficients of the interpolating spline: a system with k diagonals on either side."""
    unknowns = t.size - k - 1
    rows: list[Any] = []
    columns: list[Any] = []
    values: list[Any] = []
    known: list[Any] = []
    for group, offset, point, at in (
        (starts, 0, x[0], k),
        (ends, unknowns - len(ends), x[-1], unknowns - 1),
    ):
        for number, (order, value) in enumerate(group):
            if not 0 <= order <= k:
                raise errors.OptionError(
                    f"make_interp_spline: a condition has the derivative of order {order}, for degree {k}"
                )
            rows.append(np.full(k + 1, offset + number))
            columns.append(np.arange(at - k, at + 1))
            values.append(basis(t, point, np.asarray(at), k, order))
            known.append(ops.expand_dims(ops.broadcast_to(value, y.shape[1:]), 0))
    place = interval_of(t, x, k, unknowns - 1)
    row = np.broadcast_to(np.arange(len(starts), len(starts) + x.size), (k + 1, x.size))
    column = ops.expand_dims(place, 0) + np.arange(-k, 1)[:, None]
    ab = np.zeros((2 * k + 1, unknowns))
    ab = ops.add_at(ab, basis(t, x, place, k), (k + row - column, column))
    for i, j, at_end in zip(rows, columns, values, strict=True):
        ab = ops.add_at(ab, at_end, (k + i - j, j))
    right = ops.concatenate([*known[: len(starts)], y, *known[len(starts) :]])
    if not right.size:
        return np.zeros((unknowns, *y.shape[1:]))
    flat = ops.reshape(right, (unknowns, -1))
    return ops.reshape(solve_banded(ab, flat, lower=k, upper=k), right.shape)


def _not_a_knot(x: Array, k: int) -> Array:
    """Return the points as knots, without those next to the ends (de Boor, chapter XIII)."""
    half = (k + 1) // 2 if k % 2 else k // 2
    inner = x if k % 2 else (x[1:] + x[:-1]) / 2
    return ops.concatenate([ops.repeat(x[:1], k + 1), inner[half:-half], ops.repeat(x[-1:], k + 1)])


def _padded(x: Array, k: int) -> Array:
    return ops.concatenate([ops.repeat(x[:1], k), x, ops.repeat(x[-1:], k)])


def _periodic_knots(x: Array, k: int) -> Array:
    """Return knots on a circle."""
    if k % 2 == 0:
        half = ops.diff(x)[:-1] / 2
        x = ops.concatenate([x[:1], x[1:-1] - half, x[-1:]])
    widths = ops.diff(x)
    around = np.arange(k) % (x.size - 1)
    before = x[0] - ops.flip(ops.cumsum(ops.getitem(ops.flip(widths), around)))
    after = x[-1] + ops.cumsum(ops.getitem(widths, around))
    return ops.concatenate([before, x, after])


def _periodic(x: Array, y: Array, t: Array, k: int, axis: int) -> BSpline:
    """Return the periodic spline: coefficients n - 1 apart are the same."""
    period = x.size - 1
    place = interval_of(t, x[:-1], k, t.size - k - 2)
    column = ops.remainder(ops.expand_dims(place, 0) + np.arange(-k, 1)[:, None], period)
    row = np.broadcast_to(np.arange(period), (k + 1, period))
    matrix = ops.add_at(np.zeros((period, period)), basis(t, x[:-1], place, k), (row, column))
    flat = ops.reshape(y[:-1], (period, -1))
    solved = ops.reshape(ops.solve(matrix, flat), (period, *y.shape[1:]))
    c = ops.getitem(solved, np.arange(t.size - k - 1) % period)
    return BSpline.construct_fast(t, c, k, "periodic", axis)
