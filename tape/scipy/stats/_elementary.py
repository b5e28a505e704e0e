"""Continuous distributions, each a class of elementary formulas for ``loc = 0`` and ``scale = 1``.

The formulas are those of SciPy's documentation, in forms that keep their digits in the tails.
"""

from __future__ import annotations

import math

import numpy as np

from tape.ops import special
from tape.ops.special.incomplete import power_times
from tape.scipy.stats._constants import LOG_2, LOG_SQRT_2_PI, log1mexp
from tape.scipy.stats._distribution import Array, Continuous


class Normal(Continuous):
    """``exp(-x^2 / 2) / sqrt(2 pi)``."""

    def _logpdf(self, x: Array) -> Array:
        return -(x**2) / 2 - LOG_SQRT_2_PI

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
        return LOG_SQRT_2_PI + 0.5


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


class LogNormal(Continuous):
    """``exp(-log(x)^2 / (2 s^2)) / (s x sqrt(2 pi))``, x > 0."""

    shapes = ("s",)
    bounds = (0, np.inf)
    inner = 1.0

    def _logpdf(self, x: Array, s: Array) -> Array:
        is_zero = x == 0
        log = np.log(np.where(is_zero, 1.0, x))
        return np.where(is_zero, -np.inf, -((log / s) ** 2) / 2 - log - np.log(s) - LOG_SQRT_2_PI)

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
        return LOG_SQRT_2_PI + 0.5 + np.log(s)


class Laplace(Continuous):
    """``exp(-abs(x)) / 2``.

    Probabilities have a slope at 0, where the absolute value has none: each side has its own formula.
    """

    def _logpdf(self, x: Array) -> Array:
        return -np.abs(x) - LOG_2

    def _cdf(self, x: Array) -> Array:
        is_upper = x > 0
        half = np.exp(np.where(is_upper, -x, x)) / 2
        return np.where(is_upper, 1 - half, half)

    def _sf(self, x: Array) -> Array:
        return self._cdf(-x)

    def _logcdf(self, x: Array) -> Array:
        is_upper = x > 0
        fall = np.where(is_upper, -x, x)
        return np.where(is_upper, np.log1p(-np.exp(fall) / 2), fall - LOG_2)

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
        return 1 + LOG_2


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

    def _pdf(self, x: Array, c: Array) -> Array:
        return c * power_times(x, c - 1, -(x**c))

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
