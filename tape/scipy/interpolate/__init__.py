"""Interpolation as in `scipy.interpolate`, differentiable by points, values, and where it is evaluated.

`interp1d`; `CubicSpline`, `CubicHermiteSpline`, `PchipInterpolator`, `Akima1DInterpolator` and `PPoly`;
`BSpline` and `make_interp_spline`; `RegularGridInterpolator` and `interpn`. Results are in double precision,
as SciPy's. At a point where two pieces meet, a derivative is that of the piece that SciPy takes the value
from. All other names are SciPy's own, for plain numbers.

Examples
--------
>>> import numpy as np, tape
>>> from tape.scipy.interpolate import CubicSpline
>>> x, y = np.linspace(0.0, 3.0, 7), np.sin(np.linspace(0.0, 3.0, 7))
>>> tape.elementwise_grad(CubicSpline(x, y))(np.array([0.0, 1.0])).round(2)
array([1.01, 0.54])
"""

from scipy import interpolate as _interpolate

from tape.scipy._operands import refusing
from tape.scipy.interpolate._bsplines import BSpline, make_interp_spline
from tape.scipy.interpolate._cubic import (
    Akima1DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    PchipInterpolator,
)
from tape.scipy.interpolate._grid import RegularGridInterpolator, interpn
from tape.scipy.interpolate._interp1d import interp1d
from tape.scipy.interpolate._piecewise import PPoly

__all__ = [
    "Akima1DInterpolator",
    "BSpline",
    "CubicHermiteSpline",
    "CubicSpline",
    "PPoly",
    "PchipInterpolator",
    "RegularGridInterpolator",
    "interp1d",
    "interpn",
    "make_interp_spline",
]

__getattr__, __dir__ = refusing(
    _interpolate,
    globals(),
    "scipy.interpolate",
    "interp1d, CubicSpline, PchipInterpolator, Akima1DInterpolator, BSpline, make_interp_spline and "
    "RegularGridInterpolator",
)
