"""The von Mises distribution, of angles."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy import stats

from tape.core.elementwise import elementwise
from tape.core.node import Handle
from tape.ops import special
from tape.ops.elementwise.scipy_ufuncs import refuse_derivative
from tape.scipy.stats._distribution import Array, Continuous


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
