"""Functions defined by integrals: sine, cosine and Fresnel integrals, dilogarithm, Faddeeva, Owen's T."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

from tape.inspect.samples import declare_samples
from tape.ops.elementwise.elementary import cos, cosh, exp, log, sin, sinh
from tape.ops.elementwise.scipy_ufuncs import Function, component, declare_several, scipy_ufunc, truncated
from tape.ops.elementwise.selection import where
from tape.ops.special.hypergeometric import hyp0f1, hyp2f1
from tape.ops.special.normal import erf
from tape.ops.special.windows import sinc
from tape.ops.special.zetas import riemann_slope

__all__ = ["expn", "fresnel", "owens_t", "powm1", "shichi", "sici", "spence", "wofz", "wrightomega", "zetac"]

declare_samples(
    "scipy.special.expn(2, x)",
    "scipy.special.fresnel, scipy.special.shichi, scipy.special.sici, scipy.special.spence(x)",
    "scipy.special.wofz, scipy.special.wrightomega(x)",
    "scipy.special.zetac(2 + x)",
    "scipy.special.owens_t, scipy.special.powm1(x, v)",
)


expn: Function = scipy_ufunc(
    "expn",
    "The generalised exponential integral of whole order n, differentiable by x.",
    None,
    lambda d, out, n, x: -(d * _below_expn(n, x)),
)


def _below_expn(n: Any, x: Any) -> Any:
    n = truncated(n)
    is_first = n == 0  # of order 0 it is exp(-x) / x
    at = where(is_first, x, 1.0)
    return where(is_first, exp(-at) / at * (1 + 1 / at), expn(where(is_first, 1, n) - 1, x))


def _spence_slope(z: Any) -> Any:
    """Return ``log(z) / (1 - z)``; near 1 as a hypergeometric function, whose derivatives do not cancel."""
    w = z - 1
    is_close = abs(w) < 0.5
    far = where(is_close, 2.0, z)
    return where(is_close, -hyp2f1(1.0, 1.0, 2.0, where(is_close, -w, 0.0)), log(far) / (1 - far))


spence = scipy_ufunc(
    "spence",
    "Spence's function, the dilogarithm of ``1 - z``.",
    lambda d, out, z: d * _spence_slope(z),
)
wofz = scipy_ufunc(
    "wofz",
    "The Faddeeva function ``exp(-z**2) erfc(-1j z)``.",
    lambda d, out, z: d * (2j / sqrt(pi) - 2 * z * out),
)
wrightomega = scipy_ufunc(
    "wrightomega",
    "The w for which ``w + log(w)`` is z.",
    lambda d, out, z: d * (out / (1 + out)),
)
owens_t = scipy_ufunc(
    "owens_t",
    "Owen's T function of h and a.",
    lambda d, out, h, a: -(d * (exp(-h * h / 2) * erf(a * h * sqrt(0.5)) / sqrt(8 * pi))),
    lambda d, out, h, a: d * (exp(-h * h * (1 + a * a) / 2) / (2 * pi * (1 + a * a))),
)
powm1 = scipy_ufunc(
    "powm1",
    "``x**y - 1``, exact where that is small.",
    lambda d, out, x, y: d * (y * x ** (y - 1)),
    lambda d, out, x, y: d * (x**y * log(x)),
)
zetac = scipy_ufunc("zetac", "Riemann's zeta function less 1.", lambda d, out, x: d * riemann_slope(x))


# ---- pairs -----------------------------------------------------------------------------------------------


_si = component("sici", 0, "si", lambda d, out, x: d * sinc(x / pi))
_ci = component("sici", 1, "ci", lambda d, out, x: d * (cos(x) / x))
_shi = component("shichi", 0, "shi", lambda d, out, x: d * _sinhc(x))
_chi = component("shichi", 1, "chi", lambda d, out, x: d * (cosh(x) / x))
_fresnel_s = component("fresnel", 0, "s", lambda d, out, x: d * sin(x * x * (pi / 2)))
_fresnel_c = component("fresnel", 1, "c", lambda d, out, x: d * cos(x * x * (pi / 2)))


def _sinhc(x: Any) -> Any:
    """Return ``sinh(x) / x``: near 0 a Bessel function, of which derivatives do not cancel."""
    is_near = abs(x) < 1
    far = where(is_near, 1.0, x)
    near = where(is_near, x, 0.0)
    return where(is_near, hyp0f1(1.5, near * near / 4), sinh(far) / far)


def sici(x: Any) -> tuple[Any, Any]:
    """The sine and the cosine integral.

    Parameters
    ----------
    x : array_like or Var
        Any shape.

    Returns
    -------
    si, ci : numpy.ndarray, numpy.number or Var

    Examples
    --------
    >>> import tape
    >>> si, ci = tape.ops.special.sici(1.0)
    >>> round(float(si), 6), round(float(ci), 6)
    (0.946083, 0.337404)
    """
    return _si(x), _ci(x)


def shichi(x: Any) -> tuple[Any, Any]:
    """The hyperbolic sine and cosine integral.

    Parameters
    ----------
    x : array_like or Var
        Any shape.

    Returns
    -------
    shi, chi : numpy.ndarray, numpy.number or Var

    Examples
    --------
    >>> import tape
    >>> shi, chi = tape.ops.special.shichi(1.0)
    >>> round(float(shi), 6), round(float(chi), 6)
    (1.057251, 0.837867)
    """
    return _shi(x), _chi(x)


def fresnel(x: Any) -> tuple[Any, Any]:
    """Fresnel's integrals of ``sin(pi t^2 / 2)`` and ``cos(pi t^2 / 2)``, from 0 to x.

    Parameters
    ----------
    x : array_like or Var
        Any shape.

    Returns
    -------
    s, c : numpy.ndarray, numpy.number or Var

    Examples
    --------
    >>> import tape
    >>> s, c = tape.ops.special.fresnel(1.0)
    >>> round(float(s), 6), round(float(c), 6)
    (0.438259, 0.779893)
    """
    return _fresnel_s(x), _fresnel_c(x)


declare_several("sici", sici)
declare_several("shichi", shichi)
declare_several("fresnel", fresnel)
