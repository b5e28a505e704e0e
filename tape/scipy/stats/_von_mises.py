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
from tape.transforms.stop import stop_gradient


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
        angle, turns = self._turned(np.where(is_finite, x, 0.0))
        is_upper = angle > 0
        lower = np.where(is_upper, -angle, angle)
        tail = self._integral(lambda x: 1.0, self._start(lower, kappa), lower, kappa)
        return np.where(is_finite, turns + np.where(is_upper, 1 - tail, tail), np.where(x > 0, 1.0, 0.0))

    def _sf(self, x: Array, kappa: Array) -> Array:
        return self._cdf(-x, kappa)

    def _logcdf(self, x: Array, kappa: Array) -> Array:
        angle, turns = self._turned(np.where(np.abs(x) != np.inf, x, 0.0))
        is_tail = (turns == 0) & (angle < 0)
        tail = self._log_tail(np.where(is_tail, angle, -1.0), kappa)
        return np.where(is_tail, tail, super()._logcdf(np.where(is_tail, 0.0, x), kappa))

    def _logsf(self, x: Array, kappa: Array) -> Array:
        return self._logcdf(-x, kappa)

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

    def _turned(self, x: Array) -> tuple[Array, Array]:
        """Return an angle between -pi and pi, and the number of turns to the given one."""
        turns = np.round(x / (2 * math.pi))
        return x - 2 * math.pi * turns, turns

    def _start(self, angle: Array, kappa: Array) -> Array:
        """Return the angle below which the density is less than exp(-40) of that at a negative one."""
        angle, kappa = stop_gradient((angle, kappa))
        square = np.sin(angle / 2) ** 2 + 20 / np.maximum(kappa, 1.0)
        return -2 * np.arcsin(np.sqrt(np.minimum(square, 1.0)))

    def _log_tail(self, angle: Array, kappa: Array) -> Array:
        """Return the logarithm of the probability below a negative angle, from densities beside the last."""
        nodes, weights = _legendre()
        start = self._start(angle, kappa)
        half = (angle - start) / 2
        below = half[..., None] * (nodes - 1)  # what is added to the angle
        fall = -2 * np.sin(angle[..., None] + below / 2) * np.sin(below / 2)  # of the cosine
        shares = np.exp((kappa[..., None] if np.ndim(kappa) else kappa) * fall)
        integral = half * np.sum(shares * weights, axis=-1) / (2 * math.pi * special.i0e(kappa))
        return kappa * special.cosm1(angle) + np.log(integral)

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
