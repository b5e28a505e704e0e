"""The gamma function and functions derived from it: beta, binomial coefficients, incomplete integrals.

The derivatives of the gamma function are `digamma` and then `polygamma`: see `tape.ops.special.polygamma`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

from tape.core import batch_rules
from tape.core.failures import NUMPY_ERRORS
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.errors import OptionError
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.complex import real
from tape.ops.elementwise.elementary import cos, exp, log1p, sin
from tape.ops.elementwise.rounding import floor, rint
from tape.ops.elementwise.scipy_ufuncs import narrowed, scipy_ufunc
from tape.ops.elementwise.selection import logical_and, logical_not, logical_or, where
from tape.ops.special.polygammas import BERNOULLI, psi

__all__ = [
    "beta",
    "betaln",
    "binom",
    "gamma",
    "gammaln",
    "gammasgn",
    "loggamma",
    "multigammaln",
    "poch",
    "rgamma",
]

declare_samples(
    "scipy.special.binom(2 + x, v)",
    "tape.ops.special.multigammaln(2 + x, 2)",
)

gamma: Callable[..., Any] = scipy_ufunc("gamma", "The gamma function.", lambda d, out, x: d * (out * psi(x)))
gammasgn = scipy_ufunc("gammasgn", "The sign of the gamma function; of derivative zero.", None)
gammaln = scipy_ufunc(
    "gammaln", "The logarithm of the absolute value of the gamma function.", lambda d, out, x: d * psi(x)
)
loggamma = scipy_ufunc(
    "loggamma",
    "The principal branch of the logarithm of the gamma function; NaN for negative real numbers.",
    lambda d, out, x: d * psi(x),
)


def _rgamma_slope(x: Any) -> Any:
    """Return the slope; by reflection left of 1/2: ``1 / gamma(x) = gamma(1 - x) sin(pi x) / pi``."""
    is_left = real(x) < 0.5
    left, right = where(is_left, x, 0.0), where(is_left, 1.0, x)
    mirrored = 1 - left
    reflected = gamma(mirrored) * (cos(pi * left) - psi(mirrored) * sin(pi * left) / pi)
    return where(is_left, reflected, -(rgamma(right) * psi(right)))


rgamma: Callable[..., Any] = scipy_ufunc(
    "rgamma",
    "One over the gamma function; 0 at its poles, with the derivative there.",
    lambda d, out, x: d * _rgamma_slope(x),
)


# Differences of digamma far out, left of 0 too, are small, and are computed otherwise. A distance to 0 of
# less than 1 costs as many digits as it is small.


def _rise(z: Any, m: Any) -> Any:
    """Return ``psi(z + m) - psi(z)``, without cancellation far out, and across the poles left of 0."""
    is_left = logical_and(z < 0.5, z + m < 0.5)
    by_reflection = _rise_right(where(is_left, 1 - z - m, z), m)
    is_turned = logical_not(logical_or(_is_pole(z), _is_pole(z + m)))  # or, from pole to pole, it is 0
    is_turned = logical_and(is_turned, is_left)
    turned, distance = where(is_turned, z, 0.25), where(is_turned, m, 0.5)
    cotangents = pi * _sin_pi(distance) / (_sin_pi(turned) * _sin_pi(turned + distance))
    return where(is_turned, cotangents, 0) + where(is_left, -by_reflection, by_reflection)


def _sin_pi(x: Any) -> Any:
    nearest = rint(x)
    parity = nearest - 2 * floor(nearest / 2)  # remainder takes ten times as long
    return (1 - 2 * parity) * sin(pi * (x - nearest))


def _rise_right(z: Any, m: Any) -> Any:
    """Return the same right of 0; far out from the asymptotic series, DLMF 5.11.2, term by term."""
    is_far = logical_and(z > _FAR, abs(m) < z / 2)
    near, step = where(is_far, 1, z), where(is_far, 1, m)
    far, way = where(is_far, z, _FAR), where(is_far, m, 1)
    end = far + way
    u, v = 1 / (far * far), 1 / (end * end)
    value: Any = 0.0  # of the polynomial at v, and its divided difference between u and v
    slope: Any = 0.0
    for k in range(6, 0, -1):
        slope = value + u * slope
        value = BERNOULLI[k - 1] / (2 * k) + v * value
    slope = value + u * slope
    series = log1p(way / far) + way / (2 * far * end) + way * (far + end) * u * v * slope
    return where(is_far, series, psi(near + step) - psi(near))


_FAR = 40.0


def _is_pole(x: Any) -> Any:
    return logical_and(x <= 0, x == rint(x))


def _is_zero(z: Any, m: Any) -> Any:
    """Return whether ``gamma(z + m) / gamma(z)`` is 0."""
    return logical_and(_is_pole(z), logical_not(_is_pole(z + m)))


def _slope_at_zero(z: Any, m: Any, top: Callable[[Any, Any], Any]) -> Any:
    """Return the derivative by z of ``top(z, m) / (gamma(z) * gamma(1 - z))`` where that is 0, else 0.

    The divisor is ``pi / sin(pi * z)``; the logarithmic derivative of ``top`` by z is that of
    ``gamma(z + m) * gamma(1 - z)``.
    """
    is_zero = _is_zero(z, m)
    z, m = where(is_zero, z, 0), where(is_zero, m, 1)
    slope = cos(pi * z) + (psi(z + m) - psi(1 - z)) * sin(pi * z) / pi
    return where(is_zero, top(z, m) * slope, 0)


def _poch_by_z(out: Any, z: Any, m: Any) -> Any:
    is_zero = _is_zero(z, m)
    return where(
        is_zero,
        _slope_at_zero(z, m, lambda z, m: gamma(z + m) * gamma(1 - z)),
        out * _rise(where(is_zero, 1, z), where(is_zero, 1, m)),
    )


poch: Callable[..., Any] = scipy_ufunc(
    "poch",
    "The rising factorial ``gamma(z + m) / gamma(z)``, of z and m; by m it has no derivative, but NaN, where "
    "both are poles.",
    lambda d, out, z, m: d * _poch_by_z(out, z, m),
    lambda d, out, z, m: d * (out * psi(z + m)),
)


def _beta_by_a(out: Any, a: Any, b: Any) -> Any:
    """Return the slope; where the value is 0, ``gamma(a + b)`` is infinite and is reflected."""
    is_pole = logical_or(_is_pole(a), _is_pole(b))
    is_zero = logical_and(_is_pole(a + b), logical_not(is_pole))
    regular = -(out * _rise(where(is_zero, 1, a), where(is_zero, 1, b)))
    a, b = where(is_zero, a, 0.25), where(is_zero, b, 0.25)
    total = a + b
    mirrored = 1 - total
    size = gammasgn(a) * gammasgn(b) * exp(gammaln(a) + gammaln(b) + gammaln(mirrored))
    slope = cos(pi * total) + (psi(a) - psi(mirrored)) * sin(pi * total) / pi
    return where(is_zero, size * slope, regular)


beta: Callable[..., Any] = scipy_ufunc(
    "beta",
    "The beta function ``gamma(a) * gamma(b) / gamma(a + b)``.",
    lambda d, out, a, b: d * _beta_by_a(out, a, b),
    lambda d, out, a, b: d * _beta_by_a(out, b, a),
)
betaln: Callable[..., Any] = scipy_ufunc(
    "betaln",
    "The logarithm of the absolute value of the beta function.",
    lambda d, out, a, b: -(d * _rise(a, b)),
    lambda d, out, a, b: -(d * _rise(b, a)),
)


def _binom_at_zero(a: Any, b: Any) -> Any:
    """Return the slope by a of ``gamma(a + b + 1) / (gamma(a + 1) * gamma(b + 1))`` where that is 0."""
    return _slope_at_zero(a + 1, b, lambda z, m: beta(z + m, 1 - z))


def _binom_by_n(out: Any, n: Any, k: Any) -> Any:
    is_zero = _is_zero(n - k + 1, k)
    regular = out * _rise(where(is_zero, 1, n - k + 1), where(is_zero, 1, k))
    return where(is_zero, _binom_at_zero(n - k, k), regular)


def _binom_by_k(out: Any, n: Any, k: Any) -> Any:
    """Return the slope; where the value is 0, ``out`` times that of the finite divisor is, and has slopes."""
    is_above, is_below = _is_zero(n - k + 1, k), _is_zero(k + 1, n - k)
    start = where(is_below, n - k, k) + 1
    steps = where(is_below, k, where(is_above, n - k, n - 2 * k))
    smooth = out * _rise(start, steps)
    return where(is_below, -smooth, smooth) + _binom_at_zero(k, n - k) - _binom_at_zero(n - k, k)


binom = scipy_ufunc(
    "binom",
    "The binomial coefficient, n over k.",
    lambda d, out, n, k: d * _binom_by_n(out, n, k),
    lambda d, out, n, k: d * _binom_by_k(out, n, k),
)


def _multigammaln_forward(a: Any, *, d: int) -> Any:
    from scipy.special import multigammaln  # imported late: see `tape.ops.elementwise.scipy_ufuncs`

    return narrowed(multigammaln(a, d), (a,))[()]


def _multigammaln_partial(g: Any, out: Any, a: Any, d: int) -> Any:
    slope = psi(a)
    for j in range(1, d):
        slope = slope + psi(a - j / 2)
    return g * slope


def _lower_multigammaln(b: Any, a: Any, d: int) -> Any:
    total = b.elementwise("special.loggamma", a) + d * (d - 1) / 4 * np.log(np.pi).item()
    for j in range(1, d):
        total = total + b.elementwise("special.loggamma", a - j / 2)
    return total


_multigammaln = Op(
    _multigammaln_forward,
    name="multigammaln",
    vjp=[_multigammaln_partial],
    jvp=[_multigammaln_partial],
    batch=batch_rules.elementwise,
    lower=_lower_multigammaln,
)


def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the multivariate gamma function.

    Parameters
    ----------
    a : array_like or Var
        Any shape; larger than ``(d - 1) / 2``.
    d : int
        The dimension, at least 1.

    Returns
    -------
    numpy.ndarray, numpy.floating or Var
        Array of the shape of ``a``.

    Raises
    ------
    OptionError
        If ``d`` is no positive whole number.
    ShapeError
        If an ``a`` is too small, as in SciPy. A compiled program does not look at it, and returns NaN or
        an infinity there.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.special.multigammaln(1.5, 1)), float(tape.ops.special.gammaln(1.5))
    (-0.12078223763524..., -0.12078223763524...)
    """
    try:
        is_dimension = d >= 1 and d == int(d)
    except NUMPY_ERRORS:
        is_dimension = False
    if not is_dimension:
        raise OptionError(f"multigammaln: the dimension d is {d!r}. It must be a positive whole number")
    return _multigammaln(as_operand(a), d=int(d))
