"""`RegularGridInterpolator`: values on a grid of any number of dimensions."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tape import errors, ops
from tape.scipy._operands import Array, inexact, operand, real_double, require, trailing
from tape.scipy.interpolate._bsplines import basis, make_interp_spline
from tape.scipy.interpolate._piecewise import interval_of
from tape.transforms.loops.capacity import is_met

__all__ = ["RegularGridInterpolator", "interpn"]

_DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}


class RegularGridInterpolator:
    """A function through values on a grid, as `scipy.interpolate.RegularGridInterpolator`.

    Parameters
    ----------
    points : sequence of array_like or Var
        For each dimension ``(n,)``: strictly increasing or decreasing.
    values : array_like or Var
        ``(n1, ..., nd, ...)``.
    method : {"linear", "nearest", "slinear", "cubic", "quintic"}
        The last three are tensor products of splines.
    bounds_error : bool
        Whether points outside raise an error.
    fill_value : scalar or Var, optional
        The value outside; None extrapolates.
    solver, solver_args
        Not needed: SciPy solves for the coefficients of splines by it.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If the points of a dimension are not monotonic, the method is unknown, or, at a call, if a point is
        out of bounds.

    Notes
    -----
    SciPy solves for the coefficients of splines iteratively, to about six digits; here they are exact.

    Examples
    --------
    >>> import numpy as np, tape
    >>> x, y = np.array([0.0, 1.0]), np.array([0.0, 1.0, 2.0])
    >>> f = tape.scipy.interpolate.RegularGridInterpolator((x, y), np.outer(x, y))
    >>> f([[0.5, 1.5], [1.0, 0.5]])
    array([0.75, 0.5 ])
    >>> tape.grad(lambda p: f(p)[0])(np.array([0.5, 1.5]))
    array([1.5, 0.5])
    """

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
        *,
        solver: Any = None,
        solver_args: Any = None,
    ) -> None:
        self._check_method(method)
        values = inexact(values)
        if len(points) > values.ndim:
            raise errors.ShapeError(
                f"RegularGridInterpolator: {len(points)} dimensions for values of shape {list(values.shape)}"
            )
        grid = []
        for k, given in enumerate(points):
            p = real_double(given, "RegularGridInterpolator: points")
            if p.ndim != 1 or p.size != values.shape[k]:
                raise errors.ShapeError(
                    f"RegularGridInterpolator: points of shape {list(p.shape)} in dimension {k}, for "
                    f"{values.shape[k]} values"
                )
            if not is_met(ops.all(ops.diff(p) > 0)):
                p, values = ops.flip(p), ops.flip(values, axis=k)
                require(
                    ops.all(ops.diff(p) > 0),
                    f"RegularGridInterpolator: points of dimension {k} must be strictly monotonic",
                )
            grid.append(p)
        self.grid, self.values, self.method = tuple(grid), values, method
        self.bounds_error = bounds_error
        self.fill_value = fill_value
        self._check_degree(method)
        self._own = self._spline(method) if method in _DEGREES else None

    def _check_method(self, method: Any) -> None:
        if method not in ("linear", "nearest", *_DEGREES):
            raise errors.OptionError(
                f"RegularGridInterpolator: method is {method!r}. Take linear, nearest, slinear, cubic or "
                "quintic; PchipInterpolator is for one dimension"
            )

    def _check_degree(self, method: str) -> None:
        degree = _DEGREES.get(method, 0)
        for k, p in enumerate(self.grid):
            if p.shape[0] < degree + 1:
                raise errors.ShapeError(
                    f"RegularGridInterpolator: {p.shape[0]} points in dimension {k}. Method {method} needs "
                    f"{degree + 1}"
                )

    def __call__(self, xi: Any, method: str | None = None, *, nu: Any = None) -> Array:
        """Return the values at points ``(..., d)``; with ``nu`` of partial derivatives of splines."""
        method = self.method if method is None else method
        self._check_method(method)
        self._check_degree(method)
        if nu is not None and method not in _DEGREES:
            raise errors.OptionError(f"RegularGridInterpolator: method {method!r} has no nu; splines have")
        count = len(self.grid)
        is_list = not isinstance(xi, tuple)  # one point is a list of points there
        xi = _joined(xi)
        if not xi.ndim or xi.shape[-1] != count:
            raise errors.ShapeError(
                f"RegularGridInterpolator: points of shape {list(xi.shape)}. Their last axis must have "
                f"{count} coordinates"
            )
        xi = ops.expand_dims(xi, 0) if xi.ndim == 1 and is_list else xi
        coordinates = [xi[..., k] for k in range(count)]
        is_outside = [(x < p[0]) | (x > p[-1]) for x, p in zip(coordinates, self.grid, strict=True)]
        if self.bounds_error:
            require(
                ~ops.any(ops.stack(is_outside)) & ~ops.any(ops.isnan(xi)),
                "RegularGridInterpolator: a point is out of bounds. Pass bounds_error=False and a fill_value",
            )
        if method in _DEGREES:
            out = self._by_splines(coordinates, method, [0] * count if nu is None else list(nu))
        else:
            out = self._by_corners(coordinates, method)
        behind = out.ndim - (xi.ndim - 1)
        if not self.bounds_error:
            if self.fill_value is not None:
                out = ops.where(
                    trailing(ops.any(ops.stack(is_outside), axis=0), behind), self.fill_value, out
                )
            out = ops.where(trailing(ops.any(ops.isnan(xi), axis=-1), behind), np.nan, out)
        return out

    def _by_corners(self, coordinates: list[Array], method: str) -> Array:
        behind = self.values.ndim - len(coordinates)
        sides = []
        for x, p in zip(coordinates, self.grid, strict=True):
            if p.shape[0] == 1:
                zero = ops.astype(ops.isnan(x), int) * 0
                sides.append([(zero, 1.0 + 0.0 * x)])
                continue
            place = interval_of(p, x, 0, p.shape[0] - 2)
            start = ops.getitem(p, place)
            share = (x - start) / (ops.getitem(p, place + 1) - start)
            if method == "nearest":
                sides.append([(ops.where(share <= 0.5, place, place + 1), None)])
            else:
                sides.append([(place, 1 - share), (place + 1, share)])
        total: Any = None
        for corner in product(*sides):
            part = ops.getitem(self.values, tuple(place for place, _ in corner))
            for _, share in corner:
                part = part if share is None else part * trailing(share, behind)
            total = part if total is None else total + part
        return total

    def _spline(self, method: str) -> tuple[list[Array], Array]:
        """Return the knots in each dimension, and the coefficients of the spline through all values."""
        knots, c = [], self.values
        for k, p in enumerate(self.grid):
            spline = make_interp_spline(p, c, _DEGREES[method], axis=k)
            knots.append(spline.t)
            c = ops.moveaxis(spline.c, 0, k)
        return knots, c

    def _by_splines(self, coordinates: list[Array], method: str, nu: list[int]) -> Array:
        degree, count = _DEGREES[method], len(coordinates)
        own = self._own if method == self.method else None
        knots, c = self._spline(method) if own is None else own
        ndim = coordinates[0].ndim
        positions, weights = [], []
        for k, (x, t) in enumerate(zip(coordinates, knots, strict=True)):
            place = interval_of(t, x, degree, t.shape[0] - degree - 2)
            shape = tuple(degree + 1 if axis == k else 1 for axis in range(count))
            steps = np.arange(-degree, 1).reshape(*shape, *(1,) * ndim)
            positions.append(ops.reshape(place, ((1,) * count + place.shape)) + steps)
            weights.append(ops.reshape(basis(t, x, place, degree, nu[k]), (*shape, *x.shape)))
        parts = ops.getitem(c, tuple(positions))
        for weight in weights:
            parts = parts * trailing(weight, c.ndim - count)
        return ops.sum(parts, axis=tuple(range(count)))


def _joined(xi: Any) -> Array:
    """Return points as one array: a tuple holds an array for each coordinate."""
    if isinstance(xi, tuple):
        parts = ops.broadcast_arrays(*[real_double(x, "points") for x in xi])
        return ops.stack(list(parts), axis=-1)
    return real_double(operand(xi), "RegularGridInterpolator: points")


def interpn(
    points: Any,
    values: Any,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = np.nan,
) -> Array:
    """Interpolate on a grid: `RegularGridInterpolator`, called once, as `scipy.interpolate.interpn`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.interpolate.interpn(([0.0, 1.0], [0.0, 1.0]), np.eye(2), [0.25, 0.5])
    array([0.5])
    """
    found = RegularGridInterpolator(points, values, method, bounds_error, fill_value)
    return found(_joined(xi))
