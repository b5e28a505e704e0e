"""Error functions, and the normal distribution."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

from tape.core import series
from tape.core.elementwise import elementwise
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.complex import imag, real
from tape.ops.elementwise.elementary import exp
from tape.ops.elementwise.scipy_ufuncs import PREFIX, narrowed, scipy_ufunc, ufunc_named
from tape.ops.elementwise.selection import logical_and, where

__all__ = [
    "dawsn",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfi",
    "erfinv",
    "log_ndtr",
    "ndtr",
    "ndtri",
    "ndtri_exp",
]

declare_samples("scipy.special.ndtri_exp(-x)")

_SLOPE = 2 / sqrt(pi)  # of erf at 0

erf = scipy_ufunc(
    "erf",
    "The error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to x.",
    lambda d, out, x: d * (_SLOPE * exp(-(x * x))),
    taylor=series.erf,
)
erfc = scipy_ufunc(
    "erfc", "``1 - erf(x)``, without cancellation.", lambda d, out, x: -(d * (_SLOPE * exp(-(x * x))))
)
erfi = scipy_ufunc(
    "erfi",
    "The imaginary error function, ``-1j * erf(1j * x)``.",
    lambda d, out, x: d * (_SLOPE * exp(x * x)),
)
erfinv = scipy_ufunc(
    "erfinv",
    "The x for which ``erf(x)`` is y; at -1 and 1 the value and the derivative are infinite.",
    lambda d, out, y: d * (exp(out * out) / _SLOPE),
)
erfcinv = scipy_ufunc(
    "erfcinv",
    "The x for which ``erfc(x)`` is y; at 0 and 2 the value and the derivative are infinite.",
    lambda d, out, y: -(d * (exp(out * out) / _SLOPE)),
)

# Far out, the derivatives of these two are small differences: from there on they are taken from the
# derivative of the asymptotic series, DLMF 7.12.1, which has all digits.
_FAR = 20.0


def _tail(x: Any, sign: int) -> Any:
    """Return the sum of ``(2k + 1)!! (sign / (2 x**2))**k``."""
    step = sign / (2 * (x * x))
    total: Any = 1.0
    for k in range(9, 0, -1):
        total = 1 + (2 * k + 1) * step * total
    return total


def _erfcx_slope(out: Any, x: Any) -> Any:
    is_far = real(x) > _FAR
    far, near = where(is_far, x, _FAR), where(is_far, 0.0, x)
    return where(is_far, -(_SLOPE / 2) * _tail(far, -1) / (far * far), 2 * near * out - _SLOPE)


erfcx: Callable[..., Any] = scipy_ufunc(
    "erfcx", "``exp(x**2) * erfc(x)``, without overflow.", lambda d, out, x: d * _erfcx_slope(out, x)
)


def _dawsn_slope(out: Any, x: Any) -> Any:
    is_far = logical_and(abs(real(x)) > _FAR, 2 * abs(imag(x)) < abs(real(x)))
    far, near = where(is_far, x, _FAR), where(is_far, 0.0, x)
    return where(is_far, -0.5 * _tail(far, 1) / (far * far), 1 - 2 * near * out)


dawsn = scipy_ufunc(
    "dawsn",
    "Dawson's function, ``exp(-x**2)`` times the integral of ``exp(t**2)`` from 0 to x.",
    lambda d, out, x: d * _dawsn_slope(out, x),
)

_DENSITY = 1 / sqrt(2 * pi)  # of the normal distribution at 0

ndtr = scipy_ufunc(
    "ndtr",
    "The distribution function of the normal distribution.",
    lambda d, out, x: d * (_DENSITY * exp(-(x * x) / 2)),
)
ndtri = scipy_ufunc(
    "ndtri",
    "The x for which ``ndtr(x)`` is y; at 0 and 1 the value and the derivative are infinite.",
    lambda d, out, y: d * (exp(out * out / 2) / _DENSITY),
)


def _hazard_forward(x: Any) -> Any:
    return narrowed(2 * _DENSITY / ufunc_named("erfcx")(-sqrt(0.5) * x), (x,))


# Of Laplace's continued fraction, as a series: 1 / x times these times powers of 1 / x**2, less x, is the
# hazard far out. OEIS A000698.
_HAZARD = (1, 2, 10, 74, 706, 8162, 110410, 1708394, 29752066, 576037442)


def _hazard_slope(out: Any, x: Any) -> Any:
    is_far = real(x) < -_FAR
    far, near = where(is_far, x, -_FAR), where(is_far, 0.0, x)
    step = -1 / (far * far)
    total: Any = 0.0
    for k in range(len(_HAZARD), 0, -1):
        total = ((2 * k - 1) * _HAZARD[k - 1] + total) * step
    return where(is_far, -1 - total, -(out * (near + out)))


_hazard: Callable[..., Any] = elementwise(
    _hazard_forward,
    lambda d, out, x: d * _hazard_slope(out, x),
    lower=lambda b, x: 2 * _DENSITY / b.elementwise(f"{PREFIX}erfcx", -sqrt(0.5) * x),
    name="hazard",
    doc="The derivative of `log_ndtr`, density over distribution function, accurate far out too.",
)
log_ndtr = scipy_ufunc(
    "log_ndtr",
    "The logarithm of the distribution function of the normal distribution.",
    lambda d, out, x: d * _hazard(x),
)
ndtri_exp = scipy_ufunc(
    "ndtri_exp",
    "The x for which ``log_ndtr(x)`` is y; at 0 the value is infinite.",
    lambda d, out, y: d / _hazard(out),
)
