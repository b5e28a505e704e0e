"""Interpolation as in `scipy.interpolate`: by points, by values, and where it is evaluated."""

from typing import Any

import numpy as np
from scipy import interpolate

import tape
from tests import naive
from tests.op_table.case import Argument, Case, complexes, real
from tests.op_table.signal import _at_offset, knots
from tests.tiers import is_full

between = _at_offset(-0.5, 0.1)  # of the knots: the first before all of them
inside = _at_offset(0.5, 0.05)
more_knots = Argument((6,), lambda rng, shape: np.arange(6) + rng.uniform(-0.1, 0.1, shape))
waves = Argument(
    (6,), lambda rng, shape: np.resize([0.0, 1.0, 3.0, 2.5, 4.0, 1.0], shape) + rng.uniform(0, 0.1, shape)
)
spline_knots = Argument(
    (9,),
    lambda rng, shape: np.array([-0.5, -0.3, -0.2, 1, 2, 3, 4.1, 4.4, 4.6]) + rng.uniform(-0.05, 0.05, shape),
)
grid_points = Argument((3, 2), lambda rng, shape: rng.integers(0, 3, shape) + rng.uniform(0.25, 0.4, shape))


def of(name: str, *arguments: Argument, note: str = "", options: Any = None) -> Case:
    """A case of an interpolator that is made of points and values, and then called."""
    options = options or {}

    def call(ns: Any, q: Any, x: Any, y: Any) -> Any:
        return getattr(module(ns), name)(x, y, **options)(q)

    return Case(f"scipy.interpolate.{name}{note} like ints", call, *arguments)


def module(ns: Any) -> Any:
    return interpolate if ns is naive else tape.scipy.interpolate


def of_slopes(ns: Any, q: Any, x: Any, y: Any, slope: Any) -> Any:
    ends = ((1, slope), (2, 2 * slope))
    return module(ns).CubicSpline(x, y, bc_type=ends)(q, 1)


def closed(ns: Any, q: Any, x: Any, y: Any) -> Any:
    y = np.concatenate([y, y[:1]])
    return module(ns).CubicSpline(x, y, bc_type="periodic")(q)


def area(ns: Any, x: Any, y: Any, b: Any) -> Any:
    return module(ns).CubicSpline(x, y).integrate(0.3, 2.5 + b)


def on_grid(ns: Any, q: Any, x: Any, v: Any, method: str = "linear") -> Any:
    exact = {"solver": _solver} if ns is naive and method == "cubic" else {}
    return module(ns).RegularGridInterpolator((x, np.arange(4.0)), v, method=method, **exact)(q)


def _solver(a: Any, b: Any, **tolerances: Any) -> Any:
    from scipy.sparse.linalg import spsolve

    return spsolve(a, b), 0


# "ints" marks what SciPy computes in double precision whatever comes in.

PLAIN = [
    of("CubicSpline", between(4), knots, real(4, 2)),
    Case("scipy.interpolate.BSpline like ints", lambda ns, q, t, c: module(ns).BSpline(t, c, 2)(q),
         inside(3), spline_knots, real(6)),
]  # fmt: skip
ALL = [
    *PLAIN,
    *(of("interp1d", q(3), knots, real(4), note=f" {kind}", options={"kind": kind, **options})
      for kind, q, options in (
          ("linear", inside, {}), ("linear", between, {"fill_value": "extrapolate"}), ("cubic", inside, {}))),
    Case("scipy.interpolate.interp1d nearest like ints",
         lambda ns, q, x, y: module(ns).interp1d(x, y, "nearest", axis=0)(q + 0.2),
         inside(3), knots, real(4, 2)),
    of("CubicSpline", inside(2), more_knots, complexes(6), note=" natural", options={"bc_type": "natural"}),
    Case("scipy.interpolate.CubicSpline ends like ints", of_slopes, inside(2), knots, real(4), real()),
    Case("scipy.interpolate.CubicSpline periodic like ints", closed, between(2, 2), more_knots, real(5)),
    Case("scipy.interpolate.CubicSpline integral like ints", area, knots, real(4), real()),
    of("PchipInterpolator", inside(3), more_knots, waves),
    of("Akima1DInterpolator", inside(3), more_knots, waves),
    Case("scipy.interpolate.make_interp_spline like ints",
         lambda ns, q, x, y: module(ns).make_interp_spline(x, y, 2, axis=1)(q - 0.2),
         inside(3), more_knots, real(2, 6)),
    Case("scipy.interpolate.RegularGridInterpolator like ints", on_grid, grid_points, knots, real(4, 4)),
    Case("scipy.interpolate.RegularGridInterpolator cubic like ints",
         lambda ns, q, x, v: on_grid(ns, q, x, v, "cubic"), grid_points, knots, real(4, 4)),
]  # fmt: skip
CASES = ALL if is_full() else PLAIN
