"""Discrete distributions, each a class of formulas for ``loc = 0``.

Binomial coefficients are beta functions, which keep their digits where those of gamma functions cancel.
"""

from __future__ import annotations

import numpy as np

from tape.ops import special
from tape.ops.special.incomplete import beta_density, gamma_density
from tape.scipy.stats._distribution import Array, Discrete
from tape.transforms.loops.capacity import is_met
from tape.transforms.stop import stop_gradient

_FEWEST_TERMS = 32
_NEGLIGIBLE = 1e-20
"""Probability of all terms that are left out of an entropy."""


class Poisson(Discrete):
    """``mu^k exp(-mu) / k!``."""

    shapes = ("mu",)

    def _is_valid(self, mu: Array) -> Array:
        return mu >= 0

    def _logpmf(self, k: Array, mu: Array) -> Array:
        return special.xlogy(k, mu) - special.gammaln(k + 1) - mu

    def _pmf(self, k: Array, mu: Array) -> Array:
        return gamma_density(k + 1, mu)

    def _cdf(self, k: Array, mu: Array) -> Array:
        return special.gammaincc(k + 1, mu)

    def _sf(self, k: Array, mu: Array) -> Array:
        return special.gammainc(k + 1, mu)

    def _mean(self, mu: Array) -> Array:
        return mu

    def _var(self, mu: Array) -> Array:
        return mu

    def _entropy(self, mu: Array) -> Array:
        return _summed_entropy(self, mu)


class Binomial(Discrete):
    """``n! / (k! (n - k)!) p^k (1 - p)^(n - k)``.

    Derivatives by n are those of gamma functions of a real n, though there is a distribution for whole
    numbers only. Outside of the support there are none, nor of the probability 1 of all counts.
    """

    shapes = ("n", "p")

    def _is_valid(self, n: Array, p: Array) -> Array:
        return (n >= 0) & (n == np.floor(n)) & (p >= 0) & (p <= 1)

    def _support(self, n: Array, p: Array) -> tuple[Array, Array]:
        return 0, n

    def _logpmf(self, k: Array, n: Array, p: Array) -> Array:
        left = n - k
        ways = -np.log1p(n) - special.betaln(left + 1, k + 1)
        return ways + special.xlogy(k, p) + special.xlog1py(left, -p)

    def _pmf(self, k: Array, n: Array, p: Array) -> Array:
        return beta_density(k + 1, n - k + 1, p) / (n + 1)

    def _cdf(self, k: Array, n: Array, p: Array) -> Array:
        is_last = k >= n
        return np.where(is_last, 1.0, special.betaincc(k + 1, np.where(is_last, 1.0, n - k), p))

    def _sf(self, k: Array, n: Array, p: Array) -> Array:
        is_last = k >= n
        return np.where(is_last, 0.0, special.betainc(k + 1, np.where(is_last, 1.0, n - k), p))

    def _mean(self, n: Array, p: Array) -> Array:
        return n * p

    def _var(self, n: Array, p: Array) -> Array:
        return n * p * (1 - p)

    def _entropy(self, n: Array, p: Array) -> Array:
        return _summed_entropy(self, n, p)


class NegativeBinomial(Discrete):
    """``Gamma(k + n) / (k! Gamma(n)) p^n (1 - p)^k``."""

    shapes = ("n", "p")

    def _is_valid(self, n: Array, p: Array) -> Array:
        return (n > 0) & (p > 0) & (p <= 1)

    def _logpmf(self, k: Array, n: Array, p: Array) -> Array:
        ways = -np.log(n + k) - special.betaln(n, k + 1)
        return ways + n * np.log(p) + special.xlog1py(k, -p)

    def _pmf(self, k: Array, n: Array, p: Array) -> Array:
        return beta_density(n, k + 1, p) * p / (n + k)

    def _cdf(self, k: Array, n: Array, p: Array) -> Array:
        return special.betainc(n, k + 1, p)

    def _sf(self, k: Array, n: Array, p: Array) -> Array:
        return special.betaincc(n, k + 1, p)

    def _mean(self, n: Array, p: Array) -> Array:
        return n * (1 - p) / p

    def _var(self, n: Array, p: Array) -> Array:
        return n * (1 - p) / p**2

    def _entropy(self, n: Array, p: Array) -> Array:
        return _summed_entropy(self, n, p)


class Geometric(Discrete):
    """``(1 - p)^(k - 1) p``, k >= 1."""

    shapes = ("p",)
    bounds = (1, np.inf)

    def _is_valid(self, p: Array) -> Array:
        return (p > 0) & (p <= 1)

    def _logpmf(self, k: Array, p: Array) -> Array:
        return special.xlog1py(k - 1, -p) + np.log(p)

    def _pmf(self, k: Array, p: Array) -> Array:
        return p * _failures(k - 1, p)

    def _cdf(self, k: Array, p: Array) -> Array:
        is_certain = p == 1
        inside = np.where(is_certain, 0.5, p)
        return np.where(is_certain, 1 - _failures(k, p), -np.expm1(np.log1p(-inside) * k))

    def _sf(self, k: Array, p: Array) -> Array:
        return _failures(k, p)

    def _logsf(self, k: Array, p: Array) -> Array:
        return np.log1p(-p) * k

    def _mean(self, p: Array) -> Array:
        return 1 / p

    def _var(self, p: Array) -> Array:
        return (1 - p) / p**2

    def _entropy(self, p: Array) -> Array:
        return (special.entr(p) + special.entr(1 - p)) / p


def _failures(k: Array, p: Array) -> Array:
    """Return ``(1 - p)^k`` with all digits of a small p, and with its slopes where p is 1."""
    is_certain = p == 1
    rest, inside = np.where(is_certain, 1 - p, 1.0), np.where(is_certain, 0.5, p)
    return np.where(is_certain, rest**k, np.exp(np.log1p(-inside) * k))


class Bernoulli(Discrete):
    """p for 1, 1 - p for 0."""

    shapes = ("p",)
    bounds = (0, 1)

    def _is_valid(self, p: Array) -> Array:
        return (p >= 0) & (p <= 1)

    def _logpmf(self, k: Array, p: Array) -> Array:
        return special.xlogy(k, p) + special.xlog1py(1 - k, -p)

    def _pmf(self, k: Array, p: Array) -> Array:
        return np.where(k == 1, p, 1 - p)

    def _cdf(self, k: Array, p: Array) -> Array:
        return np.where(k == 1, 1.0, 1 - p)

    def _sf(self, k: Array, p: Array) -> Array:
        return np.where(k == 1, 0.0, p)

    def _mean(self, p: Array) -> Array:
        return p

    def _var(self, p: Array) -> Array:
        return p * (1 - p)

    def _entropy(self, p: Array) -> Array:
        return special.entr(p) + special.entr(1 - p)


def _summed_entropy(distribution: Discrete, *shapes: Array) -> Array:
    """Return the entropy, term by term over all k that have a probability worth adding.

    How many these are is a guard of a program, or of a batch: one of few numbers.
    """
    count, fixed = _FEWEST_TERMS, stop_gradient(list(shapes))
    while not is_met(np.all(~(distribution.sf(count - 1, *fixed) > _NEGLIGIBLE))):  # NaN of what is invalid
        count *= 2
    k = np.arange(float(count))
    spread = [shape[..., None] if np.ndim(shape) else shape for shape in shapes]
    p = distribution.pmf(k, *spread)
    return np.sum(np.where(p > 0, special.entr(np.where(p > 0, p, 1.0)), 0.0), axis=-1)
