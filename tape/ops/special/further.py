"""Functions of degrees, parabolic cylinder, Wright's Bessel and Legendre functions, and the Voigt profile."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

from tape.inspect.samples import declare_samples
from tape.ops.elementwise.complex import imag, real
from tape.ops.elementwise.elementary import exp
from tape.ops.elementwise.scipy_ufuncs import (
    Function,
    component,
    declare_several,
    refuse_derivative,
    scipy_ufunc,
)
from tape.ops.elementwise.selection import where
from tape.ops.special.airy import struve
from tape.ops.special.integrals import wofz

__all__ = [
    "cosdg", "cotdg", "it2struve0", "log_wright_bessel", "lpmv", "pbdv", "pbvv", "pbwa", "radian", "sindg",
    "tandg", "voigt_profile", "wright_bessel",
]  # fmt: skip

declare_samples(
    "scipy.special.pbdv, scipy.special.pbvv, scipy.special.pbwa(1.5, x)",
    "scipy.special.wright_bessel, scipy.special.log_wright_bessel(1.5, 2.5, x)",
    "scipy.special.lpmv(1, 3, x)",
    "scipy.special.radian(x, v, 2.0)",
    "scipy.special.voigt_profile(x, v, 0.4)",
)

_DEGREE = pi / 180

sindg: Function = scipy_ufunc("sindg", "The sine of degrees.", lambda d, out, x: d * (cosdg(x) * _DEGREE))
cosdg: Function = scipy_ufunc(
    "cosdg", "The cosine of degrees.", lambda d, out, x: -(d * (sindg(x) * _DEGREE))
)
tandg = scipy_ufunc("tandg", "The tangent of degrees.", lambda d, out, x: d * ((1 + out * out) * _DEGREE))
cotdg = scipy_ufunc(
    "cotdg", "The cotangent of degrees.", lambda d, out, x: -(d * ((1 + out * out) * _DEGREE))
)
radian = scipy_ufunc(
    "radian",
    "The angle of degrees, minutes and seconds.",
    lambda d, out, degrees, m, s: d * _DEGREE,
    lambda d, out, degrees, m, s: d * (_DEGREE / 60),
    lambda d, out, degrees, m, s: d * (_DEGREE / 3600),
)


def _struve_over_x(x: Any) -> Any:
    """Return Struve's function of order 0 divided by x; near 0 by its power series, DLMF 11.2.1."""
    is_near = abs(x) < 1
    near, far = where(is_near, x, 0.0), where(is_near, 1.0, x)
    square = near * near / 4
    series: Any = 1.0
    for k in range(12, 0, -1):
        series = 1 - square / (k + 0.5) ** 2 * series
    return where(is_near, 2 / pi * series, struve(0.0, far) / far)


it2struve0 = scipy_ufunc(
    "it2struve0",
    "The integral of Struve's function of order 0 over its argument, from x on.",
    lambda d, out, x: -(d * _struve_over_x(x)),
)
wright_bessel: Function = scipy_ufunc(
    "wright_bessel",
    "Wright's generalised Bessel function of a, b and x, differentiable by x.",
    None,
    None,
    lambda d, out, a, b, x: d * wright_bessel(a, a + b, x),
)
log_wright_bessel: Function = scipy_ufunc(
    "log_wright_bessel",
    "The logarithm of `wright_bessel`, differentiable by x.",
    None,
    None,
    lambda d, out, a, b, x: d * exp(log_wright_bessel(a, a + b, x) - out),
)
lpmv: Function = scipy_ufunc(
    "lpmv",
    "The associated Legendre function of order m and degree v, differentiable by x between -1 and 1.",
    None,
    None,
    lambda d, out, m, v, x: d * (((m + v) * lpmv(m, v - 1, x) - v * x * out) / (1 - x * x)),
)


# ---- Voigt -----------------------------------------------------------------------------------------------


def _voigt_slope(x: Any, sigma: Any, gamma: Any) -> tuple[Any, Any]:
    """Return the argument of the Faddeeva function, and its derivative there."""
    z = (x + 1j * gamma) / (sigma * sqrt(2))
    return z, 2j / sqrt(pi) - 2 * z * wofz(z)


def _voigt_by_x(x: Any, sigma: Any, gamma: Any) -> Any:
    return real(_voigt_slope(x, sigma, gamma)[1]) / (2 * sqrt(pi) * sigma * sigma)


def _voigt_by_sigma(out: Any, x: Any, sigma: Any, gamma: Any) -> Any:
    z, slope = _voigt_slope(x, sigma, gamma)
    return -out / sigma - real(slope * z) / (sqrt(2 * pi) * sigma * sigma)


def _voigt_by_gamma(x: Any, sigma: Any, gamma: Any) -> Any:
    return -imag(_voigt_slope(x, sigma, gamma)[1]) / (2 * sqrt(pi) * sigma * sigma)


voigt_profile = scipy_ufunc(
    "voigt_profile",
    "The density of a normal plus a Cauchy number, of x, sigma and gamma, sigma positive.",
    lambda d, out, x, sigma, gamma: d * _voigt_by_x(x, sigma, gamma),
    lambda d, out, x, sigma, gamma: d * _voigt_by_sigma(out, x, sigma, gamma),
    lambda d, out, x, sigma, gamma: d * _voigt_by_gamma(x, sigma, gamma),
)


# ---- parabolic cylinder functions: w'' is w times a polynomial, DLMF 12.2 ---------------------------------

_pbd: Function = component("pbdv", 0, "d", None, lambda d, out, v, x: d * _pbdp(v, x))
_pbdp: Function = component(
    "pbdv", 1, "dp", None, lambda d, out, v, x: d * ((x * x / 4 - v - 0.5) * _pbd(v, x))
)
_pbv: Function = component("pbvv", 0, "v", None, lambda d, out, v, x: d * _pbvp(v, x))
_pbvp: Function = component(
    "pbvv", 1, "vp", None, lambda d, out, v, x: d * ((x * x / 4 - v - 0.5) * _pbv(v, x))
)
_pbw: Function = component("pbwa", 0, "w", None, lambda d, out, a, x: d * _pbwp(a, x))
_pbwp: Function = component("pbwa", 1, "wp", None, lambda d, out, a, x: d * ((a - x * x / 4) * _pbw(a, x)))


def _pair(name: str, first: Function, second: Function, doc: str) -> Function:
    def call(v: Any, x: Any) -> tuple[Any, Any]:
        refuse_derivative(v, f"scipy.special.{name} by its first argument", "Pass a number or an array there")
        return first(v, x), second(v, x)

    call.__name__, call.__qualname__, call.__doc__ = name, name, doc
    declare_several(name, call)
    return call


pbdv = _pair("pbdv", _pbd, _pbdp, "The parabolic cylinder function D of v and x, and its derivative by x.")
pbvv = _pair("pbvv", _pbv, _pbvp, "The parabolic cylinder function V of v and x, and its derivative by x.")
pbwa = _pair("pbwa", _pbw, _pbwp, "The parabolic cylinder function W of a and x, and its derivative by x.")
