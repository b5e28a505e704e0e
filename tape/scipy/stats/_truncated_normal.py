"""The normal distribution between two bounds.

The formulas are those of SciPy's documentation, in forms that keep their digits in the tails.
"""

from __future__ import annotations

import numpy as np

from tape.ops import special
from tape.scipy.stats._constants import LOG_SQRT_2_PI, log1mexp
from tape.scipy.stats._distribution import Array, Continuous


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
        return -(x**2) / 2 - LOG_SQRT_2_PI - log_mass(a, b)

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
        return LOG_SQRT_2_PI + 0.5 + log_mass(a, b) + (_times(at_a, a) - _times(at_b, b)) / 2

    def _densities(self, a: Array, b: Array) -> tuple[Array, Array]:
        mass = log_mass(a, b)
        return np.exp(-(a**2) / 2 - LOG_SQRT_2_PI - mass), np.exp(-(b**2) / 2 - LOG_SQRT_2_PI - mass)


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
