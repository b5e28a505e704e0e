"""Integrals of scores: how a sample moves with a parameter of its distribution, at a fixed probability.

A sample x with the distribution function F(x; a) and the density p follows ``F(x(a); a) = u``, so that
``dx/da = -F_a / p``: implicit reparametrisation (Figurnov, Mohamed, Mnih, "Implicit Reparameterization
Gradients", 2018). With the score ``s(t) = d log p(t) / da``, that is an integral of ``s(t) p(t) /
p(x)`` over all t below x, times -1, or over all t above x, as both together are zero. Where the score is
monotonic, one of the two has an integrand of one sign: the one on the side where ``s(x)`` has the sign of the
tail. So nothing cancels, and Gauss-Legendre quadrature over the range where the integrand is larger than
rounding is exact to about 1e-13.

The derivative of such an integral by a parameter, x being held, is that of the integrand:
``s_i(t) (s_j(t) - s_j(x)) + d s_i / d a_j``.

Everything here is for plain arrays of one axis.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2
_NEGLIGIBLE = 42.0
"""Where a logarithm has fallen by so much, e**-42, the integrand is less than rounding."""

Exponent = Callable[[np.ndarray], np.ndarray]


def reach(exponent: Exponent, guess: np.ndarray, most: np.ndarray | float = np.inf) -> np.ndarray:
    """Return v > 0 where a concave falling exponent is about ``-_NEGLIGIBLE``; at most ``most``."""
    high = np.minimum(guess, most)
    for _ in range(60):
        is_short = (exponent(high) > -_NEGLIGIBLE) & (high < most)
        if not is_short.any():
            break
        high = np.where(is_short, np.minimum(2 * high, most), high)
    low = np.zeros_like(high)
    for _ in range(12):  # halving: twice the range needed is no harm
        middle = (low + high) / 2
        is_enough = exponent(middle) <= -_NEGLIGIBLE
        low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
    return high


def integral(
    exponent: Exponent, length: np.ndarray, factors: Callable[[np.ndarray], tuple[np.ndarray, ...]]
) -> list[np.ndarray]:
    """Return integrals of several factors times ``exp(exponent(v))`` over v from 0 to a length."""
    totals: list[np.ndarray] = []
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        v = node * length
        mass = weight * length * np.exp(exponent(v))
        parts = [mass * factor for factor in factors(v)]
        totals = [a + b for a, b in zip(totals, parts, strict=True)] if totals else parts
    return totals
