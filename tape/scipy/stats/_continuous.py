"""Continuous distributions, each a class of formulas for ``loc = 0`` and ``scale = 1``.

The formulas are those of SciPy's documentation, in forms that keep their digits in the tails.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy import stats

from tape.core.elementwise import elementwise
from tape.core.node import Handle
from tape.ops import special
from tape.ops.special.scipy_ufuncs import refuse_derivative
from tape.ops.special.student import digamma_step, log_gamma_step
from tape.scipy.stats._distribution import Array, Continuous

_LOG_SQRT_2_PI = math.log(2 * math.pi) / 2
_LOG_2 = math.log(2)


class Normal(Continuous):
    """``exp(-x^2 / 2) / sqrt(2 pi)``."""

    def _logpdf(self, x: Array) -> Array:
        return -(x**2) / 2 - _LOG_SQRT_2_PI

    def _cdf(self, x: Array) -> Array:
        return special.ndtr(x)

    def _sf(self, x: Array) -> Array:
        return special.ndtr(-x)

    def _logcdf(self, x: Array) -> Array:
        return special.log_ndtr(x)

    def _logsf(self, x: Array) -> Array:
        return special.log_ndtr(-x)

    def _ppf(self, q: Array) -> Array:
        return special.ndtri(q)

    def _isf(self, q: Array) -> Array:
        return -special.ndtri(q)

    def _mean(self) -> Array:
        return 0.0

    def _var(self) -> Array:
        return 1.0

    def _entropy(self) -> Array:
        return _LOG_SQRT_2_PI + 0.5


class StudentT(Continuous):
    """``(1 + x^2 / df)^(-(df + 1) / 2) / (sqrt(df) B(1 / 2, df / 2))``."""

    shapes = ("df",)

    def _logpdf(self, x: Array, df: Array) -> Array:
        constant = log_gamma_step(df / 2) - np.log(df) / 2 - math.log(math.pi) / 2
        return constant - (df + 1) / 2 * np.log1p(x**2 / df)

    def _cdf(self, x: Array, df: Array) -> Array:
        return special.stdtr(df, x)

    def _sf(self, x: Array, df: Array) -> Array:
        return special.stdtr(df, -x)

    def _ppf(self, q: Array, df: Array) -> Array:
        return special.stdtrit(df, q)

    def _isf(self, q: Array, df: Array) -> Array:
        return -special.stdtrit(df, q)

    def _mean(self, df: Array) -> Array:
        return np.where(df > 1, 0 * df, np.inf)

    def _var(self, df: Array) -> Array:
        is_finite = df > 2
        variance = np.where(is_finite, df / (np.where(is_finite, df, 3.0) - 2), np.inf)
        return np.where(df > 1, variance, np.nan)

    def _entropy(self, df: Array) -> Array:
        half = df / 2
        constant = np.log(df) / 2 + math.log(math.pi) / 2 - log_gamma_step(half)
        return constant + (half + 0.5) * digamma_step(half)


class Gamma(Continuous):
    """``x^(a - 1) exp(-x) / Gamma(a)``, x >= 0."""

    shapes = ("a",)
    bounds = (0, np.inf)
    inner = 1.0

    def _logpdf(self, x: Array, a: Array) -> Array:
        return special.xlogy(a - 1, x) - x - special.gammaln(a)

    def _cdf(self, x: Array, a: Array) -> Array:
        return special.gammainc(a, x)

    def _sf(self, x: Array, a: Array) -> Array:
        return special.gammaincc(a, x)

    def _ppf(self, q: Array, a: Array) -> Array:
        return special.gammaincinv(a, q)

    def _isf(self, q: Array, a: Array) -> Array:
        return special.gammainccinv(a, q)

    def _mean(self, a: Array) -> Array:
        return a

    def _var(self, a: Array) -> Array:
        return a

    def _entropy(self, a: Array) -> Array:
        return gamma_entropy(a)


def gamma_entropy(a: Array) -> Array:
    """Return the entropy of a gamma distribution; by Stirling's series where its terms cancel."""
    is_large = a > 200
    small = np.where(is_large, 1.0, a)
    large = np.where(is_large, a, 200.0)
    exact = small + special.gammaln(small) + (1 - small) * special.digamma(small)
    inverse = 1 / large
    series = _LOG_SQRT_2_PI + 0.5 + np.log(large) / 2
    series = series - inverse * (1 / 3 + inverse * (1 / 12 + inverse * (1 / 90 - inverse / 120)))
    return np.where(is_large, series, exact)


class ChiSquared(Continuous):
    """``x^(df / 2 - 1) exp(-x / 2) / (2^(df / 2) Gamma(df / 2))``, x >= 0."""

    shapes = ("df",)
    bounds = (0, np.inf)
    inner = 1.0

    def _logpdf(self, x: Array, df: Array) -> Array:
        half = df / 2
        return special.xlogy(half - 1, x) - x / 2 - special.gammaln(half) - half * _LOG_2

    def _cdf(self, x: Array, df: Array) -> Array:
        return special.gammainc(df / 2, x / 2)

    def _sf(self, x: Array, df: Array) -> Array:
        return special.gammaincc(df / 2, x / 2)

    def _ppf(self, q: Array, df: Array) -> Array:
        return 2 * special.gammaincinv(df / 2, q)

    def _isf(self, q: Array, df: Array) -> Array:
        return 2 * special.gammainccinv(df / 2, q)

    def _mean(self, df: Array) -> Array:
        return df

    def _var(self, df: Array) -> Array:
        return 2 * df

    def _entropy(self, df: Array) -> Array:
        return gamma_entropy(df / 2) + _LOG_2


class Beta(Continuous):
    """``x^(a - 1) (1 - x)^(b - 1) / B(a, b)``, 0 <= x <= 1."""

    shapes = ("a", "b")
    bounds = (0, 1)
    inner = 0.5

    def _logpdf(self, x: Array, a: Array, b: Array) -> Array:
        return special.xlog1py(b - 1, -x) + special.xlogy(a - 1, x) - special.betaln(a, b)

    def _cdf(self, x: Array, a: Array, b: Array) -> Array:
        return special.betainc(a, b, x)

    def _sf(self, x: Array, a: Array, b: Array) -> Array:
        return special.betaincc(a, b, x)

    def _ppf(self, q: Array, a: Array, b: Array) -> Array:
        return special.betaincinv(a, b, q)

    def _isf(self, q: Array, a: Array, b: Array) -> Array:
        return special.betainccinv(a, b, q)

    def _mean(self, a: Array, b: Array) -> Array:
        return a / (a + b)

    def _var(self, a: Array, b: Array) -> Array:
        total = a + b
        return a * b / (total**2 * (total + 1))

    def _entropy(self, a: Array, b: Array) -> Array:
        total = a + b
        ends = (a - 1) * special.digamma(a) + (b - 1) * special.digamma(b)
        return special.betaln(a, b) - ends + (total - 2) * special.digamma(total)


class Exponential(Continuous):
    """``exp(-x)``, x >= 0."""

    bounds = (0, np.inf)
    inner = 1.0

    def _logpdf(self, x: Array) -> Array:
        return -x

    def _cdf(self, x: Array) -> Array:
        return -np.expm1(-x)

    def _sf(self, x: Array) -> Array:
        return np.exp(-x)

    def _logcdf(self, x: Array) -> Array:
        return log1mexp(x)

    def _logsf(self, x: Array) -> Array:
        return -x

    def _ppf(self, q: Array) -> Array:
        return -np.log1p(-q)

    def _isf(self, q: Array) -> Array:
        return -np.log(q)

    def _mean(self) -> Array:
        return 1.0

    def _var(self) -> Array:
        return 1.0

    def _entropy(self) -> Array:
        return 1.0


def log1mexp(x: Array) -> Array:
    """Return ``log(1 - exp(-x))`` of x >= 0, exact at both ends."""
    is_small = x < _LOG_2
    small, large = np.where(is_small, x, 0.5), np.where(is_small, 1.0, x)
    return np.where(is_small, np.log(-np.expm1(-small)), np.log1p(-np.exp(-large)))


class LogNormal(Continuous):
    """``exp(-log(x)^2 / (2 s^2)) / (s x sqrt(2 pi))``, x > 0."""

    shapes = ("s",)
    bounds = (0, np.inf)
    inner = 1.0

    def _logpdf(self, x: Array, s: Array) -> Array:
        is_zero = x == 0
        log = np.log(np.where(is_zero, 1.0, x))
        return np.where(is_zero, -np.inf, -((log / s) ** 2) / 2 - log - np.log(s) - _LOG_SQRT_2_PI)

    def _cdf(self, x: Array, s: Array) -> Array:
        return special.ndtr(np.log(x) / s)

    def _sf(self, x: Array, s: Array) -> Array:
        return special.ndtr(-np.log(x) / s)

    def _logcdf(self, x: Array, s: Array) -> Array:
        return special.log_ndtr(np.log(x) / s)

    def _logsf(self, x: Array, s: Array) -> Array:
        return special.log_ndtr(-np.log(x) / s)

    def _ppf(self, q: Array, s: Array) -> Array:
        return np.exp(s * special.ndtri(q))

    def _isf(self, q: Array, s: Array) -> Array:
        return np.exp(-s * special.ndtri(q))

    def _mean(self, s: Array) -> Array:
        return np.exp(s**2 / 2)

    def _var(self, s: Array) -> Array:
        return np.expm1(s**2) * np.exp(s**2)

    def _entropy(self, s: Array) -> Array:
        return _LOG_SQRT_2_PI + 0.5 + np.log(s)


class Laplace(Continuous):
    """``exp(-abs(x)) / 2``."""

    def _logpdf(self, x: Array) -> Array:
        return -np.abs(x) - _LOG_2

    def _cdf(self, x: Array) -> Array:
        half = np.exp(-np.abs(x)) / 2
        return np.where(x > 0, 1 - half, half)

    def _sf(self, x: Array) -> Array:
        return self._cdf(-x)

    def _logcdf(self, x: Array) -> Array:
        size = np.abs(x)
        return np.where(x > 0, np.log1p(-np.exp(-size) / 2), -size - _LOG_2)

    def _logsf(self, x: Array) -> Array:
        return self._logcdf(-x)

    def _ppf(self, q: Array) -> Array:
        is_upper = q > 0.5
        size = np.log(2 * np.where(is_upper, 1 - q, q))
        return np.where(is_upper, -size, size)

    def _isf(self, q: Array) -> Array:
        return -self._ppf(q)

    def _mean(self) -> Array:
        return 0.0

    def _var(self) -> Array:
        return 2.0

    def _entropy(self) -> Array:
        return 1 + _LOG_2


class Logistic(Continuous):
    """``exp(-x) / (1 + exp(-x))^2``."""

    def _logpdf(self, x: Array) -> Array:
        return special.log_expit(x) + special.log_expit(-x)

    def _cdf(self, x: Array) -> Array:
        return special.expit(x)

    def _sf(self, x: Array) -> Array:
        return special.expit(-x)

    def _logcdf(self, x: Array) -> Array:
        return special.log_expit(x)

    def _logsf(self, x: Array) -> Array:
        return special.log_expit(-x)

    def _ppf(self, q: Array) -> Array:
        return special.logit(q)

    def _isf(self, q: Array) -> Array:
        return -special.logit(q)

    def _mean(self) -> Array:
        return 0.0

    def _var(self) -> Array:
        return math.pi**2 / 3

    def _entropy(self) -> Array:
        return 2.0


class Uniform(Continuous):
    """1 where 0 <= x <= 1."""

    bounds = (0, 1)
    inner = 0.5

    def _logpdf(self, x: Array) -> Array:
        return 0.0 * x

    def _cdf(self, x: Array) -> Array:
        return 1.0 * x

    def _ppf(self, q: Array) -> Array:
        return 1.0 * q

    def _mean(self) -> Array:
        return 0.5

    def _var(self) -> Array:
        return 1 / 12

    def _entropy(self) -> Array:
        return 0.0


class Cauchy(Continuous):
    """``1 / (pi (1 + x^2))``."""

    def _logpdf(self, x: Array) -> Array:
        return -math.log(math.pi) - 2 * np.log(np.hypot(1.0, x))  # the square of x may overflow

    def _cdf(self, x: Array) -> Array:
        return np.arctan2(1, -x) / math.pi

    def _sf(self, x: Array) -> Array:
        return np.arctan2(1, x) / math.pi

    def _ppf(self, q: Array) -> Array:
        return -self._isf(q)

    def _isf(self, q: Array) -> Array:
        """By the cotangent near the ends, the tangent in the middle: each is exact where q is."""
        is_middle = np.abs(q - 0.5) < 0.25
        middle = np.tan(math.pi * (0.5 - np.where(is_middle, q, 0.5)))
        near_end = np.where(is_middle, 0.25, np.where(q < 0.5, q, q - 1))
        return np.where(is_middle, middle, 1 / np.tan(math.pi * near_end))

    def _mean(self) -> Array:
        return np.nan

    def _var(self) -> Array:
        return np.nan

    def _entropy(self) -> Array:
        return math.log(4 * math.pi)


class WeibullMin(Continuous):
    """``c x^(c - 1) exp(-x^c)``, x >= 0."""

    shapes = ("c",)
    bounds = (0, np.inf)
    inner = 1.0

    def _logpdf(self, x: Array, c: Array) -> Array:
        return np.log(c) + special.xlogy(c - 1, x) - x**c

    def _cdf(self, x: Array, c: Array) -> Array:
        return -np.expm1(-(x**c))

    def _sf(self, x: Array, c: Array) -> Array:
        return np.exp(-(x**c))

    def _logcdf(self, x: Array, c: Array) -> Array:
        return log1mexp(x**c)

    def _logsf(self, x: Array, c: Array) -> Array:
        return -(x**c)

    def _ppf(self, q: Array, c: Array) -> Array:
        return (-np.log1p(-q)) ** (1 / c)

    def _isf(self, q: Array, c: Array) -> Array:
        return (-np.log(q)) ** (1 / c)

    def _mean(self, c: Array) -> Array:
        return special.gamma(1 + 1 / c)

    def _var(self, c: Array) -> Array:
        return special.gamma(1 + 2 / c) - special.gamma(1 + 1 / c) ** 2

    def _entropy(self, c: Array) -> Array:
        return -np.euler_gamma / c - np.log(c) + np.euler_gamma + 1


class Pareto(Continuous):
    """``b / x^(b + 1)``, x >= 1."""

    shapes = ("b",)
    bounds = (1, np.inf)
    inner = 2.0

    def _logpdf(self, x: Array, b: Array) -> Array:
        return np.log(b) - (b + 1) * np.log(x)

    def _cdf(self, x: Array, b: Array) -> Array:
        return -np.expm1(-b * np.log(x))

    def _sf(self, x: Array, b: Array) -> Array:
        return x ** (-b)

    def _logcdf(self, x: Array, b: Array) -> Array:
        return log1mexp(b * np.log(x))

    def _logsf(self, x: Array, b: Array) -> Array:
        return -b * np.log(x)

    def _ppf(self, q: Array, b: Array) -> Array:
        return (1 - q) ** (-1 / b)

    def _isf(self, q: Array, b: Array) -> Array:
        return q ** (-1 / b)

    def _mean(self, b: Array) -> Array:
        is_finite = b > 1
        return np.where(is_finite, b / (np.where(is_finite, b, 2.0) - 1), np.inf)

    def _var(self, b: Array) -> Array:
        is_finite = b > 2
        of = np.where(is_finite, b, 3.0)
        return np.where(is_finite, of / ((of - 1) ** 2 * (of - 2)), np.inf)

    def _entropy(self, b: Array) -> Array:
        return 1 + 1 / b - np.log(b)


class TruncatedNormal(Continuous):
    """The standard normal distribution between a and b.

    Probabilities of intervals are taken on that side of zero on which they keep their digits.
    """

    shapes = ("a", "b")

    def _is_valid(self, a: Array, b: Array) -> Array:
        return a < b

    def _support(self, a: Array, b: Array) -> tuple[Array, Array]:
        return a, b

    def _inside(self, a: Array, b: Array) -> Array:
        low, high = np.where(a > -np.inf, a, b - 1), np.where(b < np.inf, b, a + 1)
        return np.where((a == -np.inf) & (b == np.inf), 0.0, low / 2 + high / 2)

    def _logpdf(self, x: Array, a: Array, b: Array) -> Array:
        return -(x**2) / 2 - _LOG_SQRT_2_PI - log_mass(a, b)

    def _cdf(self, x: Array, a: Array, b: Array) -> Array:
        return np.exp(log_mass(a, x) - log_mass(a, b))

    def _sf(self, x: Array, a: Array, b: Array) -> Array:
        return np.exp(log_mass(x, b) - log_mass(a, b))

    def _logcdf(self, x: Array, a: Array, b: Array) -> Array:
        return self._log_shares(x, a, b)[0]

    def _logsf(self, x: Array, a: Array, b: Array) -> Array:
        return self._log_shares(x, a, b)[1]

    def _log_shares(self, x: Array, a: Array, b: Array) -> tuple[Array, Array]:
        """Return the logarithms of both probabilities; the larger one from the smaller one."""
        mass = log_mass(a, b)
        below, above = log_mass(a, x) - mass, log_mass(x, b) - mass
        is_low = below < above
        rest = np.log1p(-np.exp(np.where(is_low, below, above)))
        return np.where(is_low, below, rest), np.where(is_low, rest, above)

    def _ppf(self, q: Array, a: Array, b: Array) -> Array:
        is_left = a < 0
        low = np.where(is_left, a, -b)  # of the mirrored distribution, if it is the upper tail
        high = np.where(is_left, b, -a)
        share = np.where(is_left, np.log(q), np.log1p(-q))
        found = special.ndtri_exp(np.logaddexp(special.log_ndtr(low), share + log_mass(low, high)))
        return np.minimum(np.maximum(np.where(is_left, found, -found), a), b)

    def _isf(self, q: Array, a: Array, b: Array) -> Array:
        return -self._ppf(q, -b, -a)

    def _mean(self, a: Array, b: Array) -> Array:
        at_a, at_b = self._densities(a, b)
        return at_a - at_b

    def _var(self, a: Array, b: Array) -> Array:
        at_a, at_b = self._densities(a, b)
        mean = at_a - at_b
        return 1 + _times(at_a, a - mean) - _times(at_b, b - mean)

    def _entropy(self, a: Array, b: Array) -> Array:
        at_a, at_b = self._densities(a, b)
        return _LOG_SQRT_2_PI + 0.5 + log_mass(a, b) + (_times(at_a, a) - _times(at_b, b)) / 2

    def _densities(self, a: Array, b: Array) -> tuple[Array, Array]:
        mass = log_mass(a, b)
        return np.exp(-(a**2) / 2 - _LOG_SQRT_2_PI - mass), np.exp(-(b**2) / 2 - _LOG_SQRT_2_PI - mass)


def _times(density: Array, end: Array) -> Array:
    """Return the product of the density at an end and a distance, which is 0 at an infinite end."""
    is_finite = np.abs(end) < np.inf
    return np.where(is_finite, density * np.where(is_finite, end, 0.0), 0.0)


def log_mass(a: Array, b: Array) -> Array:
    """Return the logarithm of the probability of a standard normal number between a and b."""
    is_upper, is_lower = a > 0, b <= 0
    low, high = np.where(is_upper, -b, a), np.where(is_upper, -a, b)
    is_tail = is_upper | is_lower
    of_high = special.log_ndtr(np.where(is_tail, high, -1.0))
    of_low = special.log_ndtr(np.where(is_tail, low, -2.0))
    is_nothing = of_low == -np.inf
    rest = log1mexp(of_high - np.where(is_nothing, -1.0, of_low))
    tail = np.where(is_nothing, of_high, of_high + np.where(is_nothing, 0.0, rest))
    middle = np.log1p(-special.ndtr(np.where(is_tail, -1.0, a)) - special.ndtr(np.where(is_tail, -1.0, -b)))
    return np.where(is_tail, tail, middle)


class VonMises(Continuous):
    """``exp(kappa cos(x)) / (2 pi I0(kappa))``, of period 2 pi.

    Probabilities and variance are integrals by a Gauss-Legendre rule, which has all digits of a double.
    """

    shapes = ("kappa",)

    def _is_valid(self, kappa: Array) -> Array:
        return kappa >= 0

    def _logpdf(self, x: Array, kappa: Array) -> Array:
        return kappa * special.cosm1(x) - np.log(2 * math.pi * special.i0e(kappa))

    def _cdf(self, x: Array, kappa: Array) -> Array:
        is_finite = np.abs(x) != np.inf
        turns = np.round(np.where(is_finite, x, 0.0) / (2 * math.pi))
        angle, end = np.where(is_finite, x, 0.0) - 2 * math.pi * turns, self._end(kappa)
        angle = np.minimum(np.maximum(angle, -end), end)
        is_upper = angle > 0
        tail = self._integral(lambda x: 1.0, -end, np.where(is_upper, -angle, angle), kappa)
        return np.where(is_finite, turns + np.where(is_upper, 1 - tail, tail), np.where(x > 0, 1.0, 0.0))

    def _sf(self, x: Array, kappa: Array) -> Array:
        return self._cdf(-x, kappa)

    def _ppf(self, q: Array, kappa: Array) -> Array:
        refuse_derivative(kappa, "vonmises.ppf by kappa", "Pass a number, or tape.stop_gradient(kappa)")
        return _vonmises_ppf(q, kappa)

    def _isf(self, q: Array, kappa: Array) -> Array:
        return -self._ppf(q, kappa)

    def _mean(self, kappa: Array) -> Array:
        return 0.0 * kappa

    def _var(self, kappa: Array) -> Array:
        return 2 * self._integral(lambda x: x**2, 0.0, self._end(kappa), kappa)

    def _entropy(self, kappa: Array) -> Array:
        scaled = special.i0e(kappa)
        return kappa * (1 - special.i1e(kappa) / scaled) + np.log(2 * math.pi * scaled)

    def _end(self, kappa: Array) -> Array:
        """Return the angle beyond which there is nothing that a double would show."""
        return np.minimum(math.pi, 14 / np.sqrt(np.maximum(kappa, 1.0)))

    def _integral(self, f: Callable[[Array], Array], low: Array, high: Array, kappa: Array) -> Array:
        """Return the integral of a function times the density."""
        nodes, weights = _legendre()
        half = np.asarray(high - low) / 2 if not isinstance(high - low, Handle) else (high - low) / 2
        x = (half + low)[..., None] + half[..., None] * nodes
        exponents = (kappa[..., None] if np.ndim(kappa) else kappa) * special.cosm1(x)
        return half * np.sum(f(x) * np.exp(exponents) * weights, axis=-1) / (2 * math.pi * special.i0e(kappa))


@cache
def _legendre() -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(80)


_vonmises_ppf = elementwise(
    lambda q, kappa: stats.vonmises.ppf(q, kappa),
    lambda d, out, q, kappa: d * 2 * math.pi * special.i0e(kappa) / np.exp(kappa * special.cosm1(out)),
    None,
    name="vonmises_ppf",
    doc="The angle up to which there is the probability q, of q and kappa, differentiable by q.",
)
