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
        return share(a, x, log_mass(a, b))

    def _sf(self, x: Array, a: Array, b: Array) -> Array:
        return share(x, b, log_mass(a, b))

    def _logcdf(self, x: Array, a: Array, b: Array) -> Array:
        total, is_low, smaller = self._smaller_share(x, a, b)
        inside = np.where(is_low, x, self._inside(a, b))
        return np.where(is_low, log_mass(a, inside) - total, np.log1p(-smaller))

    def _logsf(self, x: Array, a: Array, b: Array) -> Array:
        total, is_low, smaller = self._smaller_share(x, a, b)
        inside = np.where(is_low, self._inside(a, b), x)
        return np.where(is_low, np.log1p(-smaller), log_mass(inside, b) - total)

    def _smaller_share(self, x: Array, a: Array, b: Array) -> tuple[Array, Array, Array]:
        """Return the logarithm of the mass, whether less of it is below x than above, and that share."""
        total = log_mass(a, b)
        below, above = share(a, x, total), share(x, b, total)
        is_low = below < above
        return total, is_low, np.where(is_low, below, above)

    def _ppf(self, q: Array, a: Array, b: Array) -> Array:
        is_left = a < 0
        low = np.where(is_left, a, -b)  # of the mirrored distribution, if it is the upper tail
        high = np.where(is_left, b, -a)
        log_share = np.where(is_left, np.log(q), np.log1p(-q))
        is_bounded = low > -np.inf
        beyond = np.where(is_bounded, special.log_ndtr(np.where(is_bounded, low, -1.0)), -np.inf)
        found = special.ndtri_exp(np.logaddexp(beyond, log_share + log_mass(low, high)))
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
        return _density(a, mass), _density(b, mass)


def _density(end: Array, mass: Array) -> Array:
    """Return the density at an end, which is 0 at an infinite one."""
    is_finite = np.abs(end) < np.inf
    at = np.where(is_finite, end, 0.0)
    return np.where(is_finite, np.exp(-(at**2) / 2 - LOG_SQRT_2_PI - mass), 0.0)


def _times(density: Array, end: Array) -> Array:
    """Return the product of the density at an end and a distance, which is 0 at an infinite end."""
    is_finite = np.abs(end) < np.inf
    return np.where(is_finite, density * np.where(is_finite, end, 0.0), 0.0)


def log_mass(a: Array, b: Array) -> Array:
    """Return the logarithm of the probability of a standard normal number between a and b."""
    is_tail, of_high, fall = _tail(a, b)
    return np.where(is_tail, of_high + log1mexp(fall), np.log1p(-_outside(is_tail, a, b)))


def share(a: Array, b: Array, total: Array) -> Array:
    """Return that probability, divided by one of this logarithm; 0, but with slopes, where a is b."""
    is_tail, of_high, fall = _tail(a, b)
    tail = -np.exp(of_high - np.where(is_tail, total, 0.0)) * np.expm1(-fall)
    middle = (1 - _outside(is_tail, a, b)) * np.exp(-np.where(is_tail, 0.0, total))
    return np.where(is_tail, tail, middle)


def _tail(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Return whether 0 is outside, the logarithm of all beyond the near end, and its fall to the far end."""
    is_upper, is_lower = a > 0, b <= 0
    low, high = np.where(is_upper, -b, a), np.where(is_upper, -a, b)
    is_tail = is_upper | is_lower
    is_bounded = is_tail & (low > -np.inf)
    of_high = special.log_ndtr(np.where(is_tail, high, -1.0))
    of_low = special.log_ndtr(np.where(is_bounded, low, -2.0))
    fall = np.where(is_bounded, of_high - of_low, np.inf)
    return is_tail, of_high, np.where(is_tail, fall, 1.0)


def _outside(is_tail: Array, a: Array, b: Array) -> Array:
    """Return the probability below a or above b, if 0 is between them."""
    return special.ndtr(np.where(is_tail, -1.0, a)) + special.ndtr(np.where(is_tail, -1.0, -b))
