"""Piecewise polynomials: evaluation, derivatives, antiderivatives and integrals, by all they are made of."""

from __future__ import annotations

import operator
from math import prod
from typing import Any

import numpy as np

from tape import errors, ops
from tape.scipy._operands import Array, axis_at, double, real_double, require, trailing
from tape.transforms._record import copied

__all__ = ["PPoly"]


class PPoly:
    """A piecewise polynomial: ``sum(c[m, i] * (x - x[i])**(k - m) for m in range(k + 1))``.

    As `scipy.interpolate.PPoly`. It is differentiable by its coefficients, its breakpoints and the points
    at which it is evaluated. Intervals are half-open, but for the last one.

    Parameters
    ----------
    c : array_like or Var
        ``(k + 1, n, ...)``: the coefficients, of the highest power first.
    x : array_like or Var
        ``(n + 1,)``: the breakpoints, increasing.
    extrapolate : bool or "periodic", optional
        Whether points outside get the values of the outermost polynomials (the default), those of a
        periodic continuation, or NaN.
    axis : int
        The axis of the results, in place of which the axes of the points come.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If the breakpoints are not increasing.

    Examples
    --------
    >>> import numpy as np, tape
    >>> parts = tape.scipy.interpolate.PPoly([[1.0, 2.0], [0.0, 1.0]], [0.0, 1.0, 2.0])
    >>> parts([0.5, 1.5])
    array([0.5, 2. ])
    >>> tape.elementwise_grad(parts)(np.array([0.5, 1.5]))
    array([1., 2.])
    """

    def __init__(self, c: Any, x: Any, extrapolate: bool | str | None = None, axis: int = 0) -> None:
        c, x = double(c), real_double(x, "PPoly: the breakpoints")
        if c.ndim > 1 and not 0 <= axis < c.ndim - 1:
            raise errors.ShapeError(f"PPoly: axis is {axis}. It must be in 0, ..., {c.ndim - 2}")
        if axis and c.ndim > 1:
            c = ops.moveaxis(c, (axis, axis + 1), (0, 1))
        if c.ndim < 2 or x.ndim != 1 or not c.shape[0] or c.shape[1] != x.size - 1 or x.size < 2:
            raise errors.ShapeError(
                f"PPoly: coefficients and breakpoints of shapes {list(c.shape)} and {list(x.shape)}. They "
                "must be (k + 1, n, ...) and (n + 1,), of one interval at least"
            )
        require(ops.all(ops.diff(x) >= 0), "PPoly: the breakpoints must be increasing")
        self._set(c, x, extrapolate, axis)

    def _set(self, c: Array, x: Array, extrapolate: bool | str | None, axis: int) -> None:
        """Take coefficients and breakpoints that are known to fit."""
        self.c, self.x, self.axis = c, x, axis
        self.extrapolate = _checked_extrapolate(True if extrapolate is None else extrapolate)

    @classmethod
    def construct_fast(cls, c: Any, x: Any, extrapolate: bool | str | None = None, axis: int = 0) -> PPoly:
        """Return one of coefficients that fit, with the axis of the intervals second."""
        made = PPoly.__new__(PPoly)
        made._set(double(c), double(x), extrapolate, axis)
        return made

    def __call__(self, x: Any, nu: int = 0, extrapolate: bool | str | None = None) -> Array:
        """Return the values at points of any shape, or those of the derivative of order ``nu``."""
        x = real_double(x, "PPoly: points")
        extrapolate = self.extrapolate if extrapolate is None else _checked_extrapolate(extrapolate)
        first, last = ops.getitem(self.x, 0), ops.getitem(self.x, -1)
        if extrapolate == "periodic":
            x = first + ops.remainder(x - first, last - first)
        coefficients = _derived(self.c, _order(nu))
        out = _evaluated(coefficients, self.x, x)
        if not extrapolate:
            is_inside = (x >= first) & (x <= last)
            out = ops.where(trailing(is_inside, out.ndim - x.ndim), out, np.nan)
        return turned(out, x.ndim, self.axis)

    def derivative(self, nu: int = 1) -> PPoly:
        """Return the derivative of order ``nu``; of a negative order, the antiderivative."""
        if _order(nu, is_signed=True) < 0:
            return self.antiderivative(-nu)
        return self.construct_fast(_derived(self.c, nu), self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> PPoly:
        """Return the antiderivative of order ``nu``, zero at the first breakpoint with its derivatives."""
        if _order(nu, is_signed=True) <= 0:
            return self.derivative(-nu)
        c = self.c
        for _ in range(nu):
            c = _integrated(c, self.x)
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return self.construct_fast(c, self.x, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: bool | str | None = None) -> Array:
        """Return the integral from ``a`` to ``b``, numbers or Vars of no axes."""
        extrapolate = self.extrapolate if extrapolate is None else _checked_extrapolate(extrapolate)
        a, b = (real_double(end, "PPoly.integrate: an end") for end in (a, b))
        if a.ndim or b.ndim:
            raise errors.ShapeError(
                f"PPoly.integrate: ends of shapes {list(a.shape)} and {list(b.shape)}. Give two numbers"
            )
        total = PPoly.construct_fast(_integrated(self.c, self.x), self.x, extrapolate is not False)
        if extrapolate != "periodic":
            is_inside: Any = True
            if extrapolate is False:
                is_inside = ops.all((ops.stack([a, b]) >= self.x[0]) & (ops.stack([a, b]) <= self.x[-1]))
            found = total(b) - total(a)
            return ops.where(is_inside, found, np.nan) if is_inside is not True else found
        first, period = self.x[0], self.x[-1] - self.x[0]
        whole = total(self.x[-1])
        ends = []
        for end in (a, b):
            times = ops.floor((end - first) / period)
            ends.append(times * whole + total(end - times * period))
        return ends[1] - ends[0]

    def solve(self, *args: Any, **kwargs: Any) -> np.ndarray:
        """Return where the polynomials have a value, as SciPy; of plain numbers only."""
        return self._plain("solve").solve(*args, **kwargs)

    def roots(self, *args: Any, **kwargs: Any) -> np.ndarray:
        """Return the real roots, as SciPy; of plain numbers only."""
        return self._plain("roots").roots(*args, **kwargs)

    def _plain(self, method: str) -> Any:
        from scipy import interpolate

        from tape.scipy._operands import refusing_vars

        made = refusing_vars(
            interpolate.PPoly.construct_fast,
            f"PPoly.{method}",
            "calls, derivative, antiderivative and integrate; tape.root differentiates a root",
        )
        return made(self.c, self.x, self.extrapolate, self.axis)


def turned(out: Array, count: int, axis: int) -> Array:
    """Return results with the axes of the points, so many in front, at the place of the axis of data."""
    if not axis or not count:
        return out
    return ops.moveaxis(out, tuple(range(count)), tuple(range(axis, axis + count)))


def interval_of(knots: Array, x: Array, first: int, last: int) -> Array:
    """Return the number of the interval of each point, at least ``first`` and at most ``last``."""
    inner = ops.getitem(knots, slice(first + 1, last + 1))
    return ops.searchsorted(inner, x, side="right") + first


def _evaluated(c: Array, knots: Array, x: Array) -> Array:
    """Return the values of polynomials at points, ``(*x.shape, ...)``, by Horner's rule."""
    place = interval_of(knots, x, 0, c.shape[1] - 1)
    distance = trailing(x - ops.getitem(knots, place), c.ndim - 2)
    parts = ops.getitem(c, (slice(None), place))
    out = parts[0]
    if c.shape[0] == 1:
        return ops.where(ops.isnan(distance), distance, out)
    for power in range(1, c.shape[0]):
        out = out * distance + parts[power]
    return out


def _derived(c: Array, nu: int) -> Array:
    """Return the coefficients of the derivative of order ``nu``."""
    if not nu:
        return c
    degree = c.shape[0] - 1
    if nu > degree:
        return 0.0 * ops.getitem(c, slice(-1, None))
    powers = np.arange(degree, nu - 1, -1)
    factors = np.array([float(prod(range(p - nu + 1, p + 1))) for p in powers])
    return ops.getitem(c, slice(None, degree - nu + 1)) * factors.reshape(-1, *(1,) * (c.ndim - 1))


def _integrated(c: Array, knots: Array) -> Array:
    """Return the coefficients of the continuous antiderivative that is zero at the first breakpoint."""
    count = c.shape[0]
    divisors = np.arange(count, 0, -1.0).reshape(-1, *(1,) * (c.ndim - 1))
    raised = c / divisors
    widths = trailing(ops.diff(knots), c.ndim - 2)
    areas = raised[0]
    for power in range(1, count):
        areas = areas * widths + raised[power]
    areas = areas * widths
    zero = np.zeros((1, *c.shape[2:]))
    starts = ops.concatenate([zero, ops.cumsum(ops.getitem(areas, slice(None, -1)), axis=0)])
    return ops.concatenate([raised, ops.expand_dims(starts, 0)])


def _order(nu: Any, *, is_signed: bool = False) -> int:
    try:
        order = operator.index(nu)
    except TypeError:
        order = -1
        is_signed = False
    if order < 0 and not is_signed:
        raise errors.OptionError(f"the order of a derivative is {nu!r}. It must be an int, 0 or more")
    return order


def _checked_extrapolate(extrapolate: Any) -> bool | str:
    if isinstance(extrapolate, str) and extrapolate != "periodic":
        raise errors.OptionError(f"extrapolate is {extrapolate!r}. It must be True, False or 'periodic'")
    return extrapolate if extrapolate == "periodic" else bool(extrapolate)


def prepared(x: Any, y: Any, axis: int, what: str) -> tuple[Array, Array, int]:
    """Return data points, their values with the axis in front, and that axis counted from the first."""
    x, y = copied(real_double(x, f"{what}: x")), double(y)
    if x.ndim != 1 or x.size < 2 or y.ndim < 1:
        raise errors.ShapeError(
            f"{what}: x and y have shapes {list(x.shape)} and {list(y.shape)}. x must be (n,), with two "
            "elements at least"
        )
    axis = axis_at(y, axis, what)
    if y.shape[axis] != x.size:
        raise errors.ShapeError(
            f"{what}: y has shape {list(y.shape)}, for {x.size} points along axis {axis}. Give one value "
            "for each point"
        )
    y = ops.moveaxis(y, axis, 0) if axis else y
    require(ops.all(ops.isfinite(x)) & ops.all(ops.isfinite(y)), f"{what}: x and y must be finite")
    require(ops.all(ops.diff(x) > 0), f"{what}: x must be strictly increasing. Sort the points first")
    return x, y, axis
