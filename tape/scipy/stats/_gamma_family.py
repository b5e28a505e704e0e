"""Continuous distributions made of gamma functions: Student's t, gamma, chi squared and beta.

The formulas are those of SciPy's documentation, in forms that keep their digits in the tails.
"""

from __future__ import annotations

import math

import numpy as np

from tape.ops import special
from tape.ops.special.incomplete import beta_density, gamma_density
from tape.ops.special.student import digamma_step, log_gamma_step
from tape.scipy.stats._constants import LOG_2, LOG_SQRT_2_PI
from tape.scipy.stats._distribution import Array, Continuous


class StudentT(Continuous):
    """``(1 + x^2 / df)^(-(df + 1) / 2) / (sqrt(df) B(1 / 2, df / 2))``; of infinite df the normal one."""

    shapes = ("df",)

    def _logpdf(self, x: Array, df: Array) -> Array:
        is_normal, df = _finite(df)
        constant = log_gamma_step(df / 2) - np.log(df) / 2 - math.log(math.pi) / 2
        out = constant - (df + 1) / 2 * np.log1p(x**2 / df)
        return np.where(is_normal, -(x**2) / 2 - LOG_SQRT_2_PI, out)

    def _cdf(self, x: Array, df: Array) -> Array:
        return special.stdtr(df, x)

    def _sf(self, x: Array, df: Array) -> Array:
        return special.stdtr(df, -x)

    def _ppf(self, q: Array, df: Array) -> Array:
        return special.stdtrit(df, q)

    def _isf(self, q: Array, df: Array) -> Array:
        return -special.stdtrit(df, q)

    def _mean(self, df: Array) -> Array:
        return np.where(df > 1, 0 * _finite(df)[1], np.inf)

    def _var(self, df: Array) -> Array:
        is_finite = df > 2
        variance = np.where(is_finite, 1 + 2 / (np.where(is_finite, df, 3.0) - 2), np.inf)
        return np.where(df > 1, variance, np.nan)

    def _entropy(self, df: Array) -> Array:
        is_normal, df = _finite(df)
        half = df / 2
        constant = np.log(df) / 2 + math.log(math.pi) / 2 - log_gamma_step(half)
        return np.where(is_normal, LOG_SQRT_2_PI + 0.5, constant + (half + 0.5) * digamma_step(half))


def _finite(df: Array) -> tuple[Array, Array]:
    """Return whether the degrees of freedom are infinite, as of a normal distribution; and finite ones."""
    is_normal = df == np.inf
    return is_normal, np.where(is_normal, 1.0, df)


class Gamma(Continuous):
    """``x^(a - 1) exp(-x) / Gamma(a)``, x >= 0."""

    shapes = ("a",)
    bounds = (0, np.inf)
    inner = 1.0

    def _logpdf(self, x: Array, a: Array) -> Array:
        return special.xlogy(a - 1, x) - x - special.gammaln(a)

    def _pdf(self, x: Array, a: Array) -> Array:
        return gamma_density(a, x)

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
    series = LOG_SQRT_2_PI + 0.5 + np.log(large) / 2
    series = series - inverse * (1 / 3 + inverse * (1 / 12 + inverse * (1 / 90 - inverse / 120)))
    return np.where(is_large, series, exact)


class ChiSquared(Continuous):
    """``x^(df / 2 - 1) exp(-x / 2) / (2^(df / 2) Gamma(df / 2))``, x >= 0."""

    shapes = ("df",)
    bounds = (0, np.inf)
    inner = 1.0

    def _logpdf(self, x: Array, df: Array) -> Array:
        half = df / 2
        return special.xlogy(half - 1, x) - x / 2 - special.gammaln(half) - half * LOG_2

    def _pdf(self, x: Array, df: Array) -> Array:
        return gamma_density(df / 2, x / 2) / 2

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
        return gamma_entropy(df / 2) + LOG_2


class Beta(Continuous):
    """``x^(a - 1) (1 - x)^(b - 1) / B(a, b)``, 0 <= x <= 1."""

    shapes = ("a", "b")
    bounds = (0, 1)
    inner = 0.5

    def _logpdf(self, x: Array, a: Array, b: Array) -> Array:
        return special.xlog1py(b - 1, -x) + special.xlogy(a - 1, x) - special.betaln(a, b)

    def _pdf(self, x: Array, a: Array, b: Array) -> Array:
        return beta_density(a, b, x)

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
