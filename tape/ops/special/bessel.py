"""Bessel functions: each derivative is given by recurrences between neighbouring orders, DLMF 10.6 and 10.29.

None is differentiable by its order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tape.inspect.samples import declare_samples
from tape.ops.elementwise.complex import imag, real
from tape.ops.elementwise.scipy_ufuncs import scipy_ufunc, truncated
from tape.ops.elementwise.selection import isinf, sign, where

__all__ = [
    "i0",
    "i0e",
    "i1",
    "i1e",
    "iv",
    "ive",
    "j0",
    "j1",
    "jn",
    "jv",
    "jve",
    "k0",
    "k0e",
    "k1",
    "k1e",
    "kn",
    "kv",
    "kve",
    "y0",
    "y1",
    "yn",
    "yv",
    "yve",
]

declare_samples("scipy.special.jn, scipy.special.kn, scipy.special.yn(2, x)")

Function = Callable[..., Any]


def _mean(f: Function, n: Any, x: Any) -> Any:
    return (f(n - 1, x) + f(n + 1, x)) / 2


def _half_difference(f: Function, n: Any, x: Any) -> Any:
    return (f(n - 1, x) - f(n + 1, x)) / 2


def _from_infinity(out: Any, x: Any, slope: Callable[[Any], Any]) -> Any:
    """Return a slope; where the function is infinite, the opposite infinity, not a difference of two."""
    is_infinite = isinf(out)
    return where(is_infinite, -out, slope(where(is_infinite, 1, x)))


def _known_at_zero(scaled: Function, plain: Function) -> Function:
    """Return a scaled function; at 0, where SciPy lacks negative orders, the plain one: the factor is 1."""

    def function(v: Any, x: Any) -> Any:
        is_zero = x == 0
        return where(is_zero, plain(v, where(is_zero, x, 1)), scaled(v, where(is_zero, 1, x)))

    return function


# ---- of any order --------------------------------------------------------------------------------

jv: Function = scipy_ufunc(
    "jv",
    "The Bessel function of the first kind, of order v, at x.",
    None,
    lambda d, out, v, x: d * _half_difference(jv, v, x),
)
jn = jv
yv: Function = scipy_ufunc(
    "yv",
    "The Bessel function of the second kind, of order v, at x.",
    None,
    lambda d, out, v, x: d * _from_infinity(out, x, lambda x: _half_difference(yv, v, x)),
)
yn: Function = scipy_ufunc(
    "yn",
    "The Bessel function of the second kind, of whole order n, at x.",
    None,
    lambda d, out, n, x: d * _from_infinity(out, x, lambda x: _half_difference(yn, truncated(n), x)),
)
iv: Function = scipy_ufunc(
    "iv",
    "The modified Bessel function of the first kind, of order v, at x.",
    None,
    lambda d, out, v, x: d * _mean(iv, v, x),
)
kv: Function = scipy_ufunc(
    "kv",
    "The modified Bessel function of the second kind, of order v, at x.",
    None,
    lambda d, out, v, x: -(d * _mean(kv, v, x)),
)
kn: Function = scipy_ufunc(
    "kn",
    "The modified Bessel function of the second kind, of whole order n, at x.",
    None,
    lambda d, out, n, x: -(d * _mean(kn, truncated(n), x)),
)
kve: Function = scipy_ufunc(
    "kve",
    "``kv(v, x) * exp(x)``.",
    None,
    lambda d, out, v, x: d * _from_infinity(out, x, lambda x: out - _mean(kve, v, x)),
)


# Factors that depend on the real or on the imaginary part alone are not holomorphic: of
# ``exp(-abs(real(x)))``, the tangent has the real part of that of x, and the adjoint is real.

ive: Function = scipy_ufunc(
    "ive",
    "``iv(v, x) * exp(-abs(real(x)))``; where real(x) is 0, the derivative of the factor is taken as 0.",
    None,
    lambda d, out, v, x: d * _ive_mean(v, x) - sign(real(x)) * real(d * out),
    jvp=lambda t, out, v, x: t * _ive_mean(v, x) - sign(real(x)) * real(t) * out,
)


_ive_known = _known_at_zero(ive, iv)


def _ive_mean(v: Any, x: Any) -> Any:
    return (_ive_known(v - 1, x) + ive(v + 1, x)) / 2


def _scaled_by_imag(name: str, plain: Function, doc: str) -> Function:
    """Return an ordinary Bessel function times ``exp(-abs(imag(x)))``."""

    def half_difference(v: Any, x: Any) -> Any:
        return (known(v - 1, x) - function(v + 1, x)) / 2

    def pull(d: Any, out: Any, v: Any, x: Any) -> Any:
        slope = d * half_difference(v, x)
        return slope + 1j * sign(imag(x)) * real(d * out) if x.dtype.kind == "c" else slope

    def push(t: Any, out: Any, v: Any, x: Any) -> Any:
        slope = t * half_difference(v, x)
        return slope - sign(imag(x)) * imag(t) * out if x.dtype.kind == "c" else slope

    function = scipy_ufunc(name, doc, None, pull, jvp=push)
    known = _known_at_zero(function, plain)
    return function


jve = _scaled_by_imag(
    "jve",
    jv,
    "``jv(v, x) * exp(-abs(imag(x)))``; where imag(x) is 0, the derivative of the factor is taken as 0.",
)
yve = _scaled_by_imag(
    "yve",
    yv,
    "``yv(v, x) * exp(-abs(imag(x)))``; where imag(x) is 0, the derivative of the factor is taken as 0.",
)


# ---- of order 0 and 1 ----------------------------------------------------------------------------

# Order 2 is the slow way. Where a function is infinite at 0, ``out / x`` does; for j1 and i1 it would cancel.

j0: Function = scipy_ufunc(
    "j0", "The Bessel function of the first kind of order 0.", lambda d, out, x: -(d * j1(x))
)
j1: Function = scipy_ufunc(
    "j1",
    "The Bessel function of the first kind of order 1.",
    lambda d, out, x: d * ((j0(x) - jv(2, x)) / 2),
)
y0: Function = scipy_ufunc(
    "y0", "The Bessel function of the second kind of order 0.", lambda d, out, x: -(d * y1(x))
)
y1: Function = scipy_ufunc(
    "y1",
    "The Bessel function of the second kind of order 1.",
    lambda d, out, x: d * _from_infinity(out, x, lambda x: y0(x) - out / x),
)
i0: Function = scipy_ufunc(
    "i0", "The modified Bessel function of the first kind of order 0.", lambda d, out, x: d * i1(x)
)
i1: Function = scipy_ufunc(
    "i1",
    "The modified Bessel function of the first kind of order 1.",
    lambda d, out, x: d * ((i0(x) + iv(2, x)) / 2),
)
k0: Function = scipy_ufunc(
    "k0", "The modified Bessel function of the second kind of order 0.", lambda d, out, x: -(d * k1(x))
)
k1: Function = scipy_ufunc(
    "k1",
    "The modified Bessel function of the second kind of order 1.",
    lambda d, out, x: -(d * (k0(x) + out / x)),
)


_FAR = 1e3
_TERMS = [1.0]
for _k in range(1, 8):
    _TERMS.append(_TERMS[-1] * ((2 * _k - 1) ** 2 - 4) / (8 * _k))


def _slope_of_i1e(x: Any, out: Any) -> Any:
    """Return the derivative of i1e; far out by its asymptotic series, where two large terms would cancel.

    There it is ``sum(terms * u**k) * sqrt(u / (2 * pi))`` with ``u = 1 / x``, DLMF 10.40.1.
    """
    is_near = abs(x) < _FAR
    near, u = where(is_near, x, 0.0), where(is_near, 0.0, 1 / abs(where(is_near, 1.0, x)))
    series, slope = 0.0, 0.0
    for term in reversed(_TERMS):
        slope = slope * u + series
        series = series * u + term
    far = -abs(out) * u * (0.5 + u * slope / series)
    return where(is_near, (i0e(near) + ive(2, near)) / 2 - sign(x) * out, far)


i0e: Function = scipy_ufunc(
    "i0e",
    "``i0(x) * exp(-abs(x))``; at 0 the derivative is taken as 0.",
    lambda d, out, x: d * (i1e(x) - sign(x) * out),
)
i1e: Function = scipy_ufunc(
    "i1e",
    "``i1(x) * exp(-abs(x))``.",
    lambda d, out, x: d * _slope_of_i1e(x, out),
)
k0e: Function = scipy_ufunc(
    "k0e",
    "``k0(x) * exp(x)``.",
    lambda d, out, x: d * _from_infinity(out, x, lambda x: out - k1e(x)),
)
k1e: Function = scipy_ufunc(
    "k1e",
    "``k1(x) * exp(x)``.",
    lambda d, out, x: d * _from_infinity(out, x, lambda x: out - k0e(x) - out / x),
)
