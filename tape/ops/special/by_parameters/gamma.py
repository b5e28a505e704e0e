"""The incomplete gamma function by its parameter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tape.ops.special.by_parameters.bell import bell
from tape.ops.special.by_parameters.numbers import (
    FALL,
    SMALL,
    Array,
    expm1_less,
    fill,
    in_blocks,
    log_less_psi,
    log_ratio,
    nodes,
    share,
    stirling,
)


def by_gamma_parameter(order: int, a: Any, x: Any) -> Any:
    """Return the derivative of ``gammainc(a, x)`` by a, of an order of at least 1.

    Parameters
    ----------
    order : int
        At least 1.
    a, x : array_like
        Of shapes that broadcast; NaN outside of ``a > 0``, ``x >= 0``.

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> from tape.ops.special.by_parameters import by_gamma_parameter
    >>> by_gamma_parameter(1, 2.0, 1.0).round(12)
    np.float64(-0.276196045703)
    """
    return in_blocks(lambda a, x: _gamma_block(order, a, x), a, x)


def _gamma_block(n: int, a: Array, x: Array) -> Array:
    out = np.where((a > 0) & (x >= 0), 0.0, np.nan)
    is_inside = (a > 0) & (a < np.inf) & (x > 0) & (x < np.inf)
    is_near, is_low = x <= 0.5, x <= a
    fill(out, is_inside & is_near, lambda a, x: _gamma_series(n, a, x), a, x)
    fill(out, is_inside & ~is_near & ~is_low, lambda a, x: -_gamma_above(n, a, x), a, x)
    fill(out, is_inside & ~is_near & is_low & (a < SMALL), lambda a, x: _gamma_between(n, a, x), a, x)
    fill(out, is_inside & ~is_near & is_low & (a >= SMALL), lambda a, x: _gamma_below(n, a, x), a, x)
    return out


def _gamma_series(n: int, a: Array, x: Array) -> Array:
    """Return the derivative for small x: ``x^a / Gamma(a + 1)`` times ``sum((-x)^k / k! a / (a + k))``."""
    from scipy import special  # imported late: see `tape.ops.elementwise.scipy_ufuncs`

    def cumulant(i: int, j: int) -> Array:
        return (np.log(x) if i == 1 else 0.0) - special.polygamma(i - 1, a + 1)

    sums = [0.0] * (n + 1)
    term = np.ones_like(x)
    for k in range(18):
        sums = [s + term * share(i, a, k) for i, s in enumerate(sums)]
        term = term * (-x / (k + 1))
    scale = np.exp(a * np.log(x) - special.gammaln(a + 1))
    return scale * sum(math.comb(n, i) * bell(cumulant, n - i) * s for i, s in enumerate(sums))


def _gamma_above(n: int, a: Array, x: Array) -> Array:
    low = log_ratio(x, a)
    with np.errstate(divide="ignore"):
        width = np.minimum(np.sqrt(2 * FALL / a), FALL / (a * np.expm1(low)))
    for _ in range(4):  # from above, towards where it has fallen
        width = np.minimum(width, np.log1p((FALL + a * width) / x))
    return _gamma_integral(n, a, low, low + width)


def _gamma_below(n: int, a: Array, x: Array) -> Array:
    high = log_ratio(x, a)
    third = FALL / (3 * a)
    with np.errstate(divide="ignore"):
        width = np.minimum(third + np.sqrt(third**2 + 2 * FALL / a), FALL / np.abs(a * np.expm1(high)))
    return _gamma_integral(n, a, high - width, high)


def _gamma_between(n: int, a: Array, x: Array) -> Array:
    rest = _gamma_series(n, a, np.full_like(x, 0.5))
    return rest + _gamma_integral(n, a, np.log(0.5 / a), log_ratio(x, a))


def _gamma_integral(n: int, a: Array, low: Array, high: Array) -> Array:
    """Integrate the derivative of the density over ``log(t / a)``."""
    from scipy import special

    v, weights = nodes(low, high)
    shift = [log_less_psi(a), *(-special.polygamma(i, a) for i in range(1, n))]
    densities = np.exp(-a[:, None] * expm1_less(v)) * weights
    polynomial = bell(lambda i, j: v + shift[0][:, None] if i == 1 else shift[i - 1][:, None], n)
    scale = np.sqrt(a / (2 * np.pi)) * np.exp(-stirling(a))
    return scale * np.sum(densities * polynomial, axis=1)
