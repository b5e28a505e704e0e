"""The incomplete beta function by its parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
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
    less_log1p,
    log_less_psi,
    log_ratio,
    log_rise,
    nodes,
    rise,
    share,
    stirling,
)


def by_beta_parameters(order_a: int, order_b: int, a: Any, b: Any, x: Any) -> Any:
    """Return the derivative of ``betainc(a, b, x)`` by a and b, each so many times, together at least once.

    Parameters
    ----------
    order_a, order_b : int
        At least 0.
    a, b, x : array_like
        Of shapes that broadcast; NaN outside of ``a > 0``, ``b > 0``, ``0 <= x <= 1``.

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> from tape.ops.special.by_parameters import by_beta_parameters
    >>> by_beta_parameters(1, 0, 1.0, 1.0, 0.5).round(12)  # of x**a, 0.5 * log(0.5)
    np.float64(-0.34657359028)
    """
    return in_blocks(lambda a, b, x: _beta_block(order_a, order_b, a, b, x), a, b, x)


def _beta_block(m: int, n: int, a: Array, b: Array, x: Array) -> Array:
    y = 1 - x
    is_valid = (a > 0) & (b > 0) & (x >= 0) & (y >= 0)
    out = np.where(is_valid, 0.0, np.nan)
    is_inside = is_valid & (a < np.inf) & (b < np.inf) & (x > 0) & (y > 0)
    is_left = x <= 0.5 / np.maximum(b, 1)
    is_right = ~is_left & (y <= 0.5 / np.maximum(a, 1))
    is_low = ~is_left & ~is_right & (x * b <= y * a)
    is_high = ~is_left & ~is_right & ~is_low
    fill(out, is_inside & is_left, lambda a, b, x, y: _beta_series(m, n, a, b, x), a, b, x, y)
    fill(out, is_inside & is_right, lambda a, b, x, y: -_beta_series(n, m, b, a, y), a, b, x, y)
    for is_there, sign, orders, arrays in (
        (is_low, 1, (m, n), (a, b, x, y)), (is_high, -1, (n, m), (b, a, y, x))
    ):  # fmt: skip
        is_slow = arrays[0] < SMALL
        fill(out, is_inside & is_there & is_slow, _turned(_beta_between, sign, orders), *arrays)
        fill(out, is_inside & is_there & ~is_slow, _turned(_beta_below, sign, orders), *arrays)
    return out


def _turned(function: Callable[..., Array], sign: int, orders: tuple[int, int]) -> Callable[..., Array]:
    return lambda *arrays: sign * function(*orders, *arrays)


def _beta_series(m: int, n: int, a: Array, b: Array, x: Array) -> Array:
    """Return the derivative for small x: of ``x^a / (a B(a, b))`` times a sum.

    The sum is that of ``(1 - b) (2 - b) ... (k - b) / k! x^k a / (a + k)``.
    """
    from scipy import special

    def cumulant(i: int, j: int) -> Array:
        if i and j:
            return special.polygamma(i + j - 1, a + b)
        if i:
            return (np.log(x) if i == 1 else 0.0) + rise(i - 1, a + 1, b - 1)
        return rise(j - 1, b, a)

    sums: dict[tuple[int, int], Any] = {(i, j): 0.0 for i in range(m + 1) for j in range(n + 1)}
    terms = [np.ones_like(x), *(np.zeros_like(x) for _ in range(n))]  # Taylor coefficients by b
    for k in range(64):
        for i, j in sums:
            sums[i, j] = sums[i, j] + math.factorial(j) * terms[j] * share(i, a, k)
        before = [np.zeros_like(x), *terms[:-1]]
        terms = [
            (term * (k + 1 - b) - lower) * (x / (k + 1)) for term, lower in zip(terms, before, strict=True)
        ]
    by_b = special.gammaln(a + 1) - log_rise(b, a)
    by_a = np.log(a) + special.gammaln(b) - log_rise(a, b)
    scale = np.exp(a * np.log(x) - np.where(a > b, by_a, by_b))
    return scale * sum(
        math.comb(m, i) * math.comb(n, j) * bell(cumulant, m - i, n - j) * s for (i, j), s in sums.items()
    )


def _beta_below(m: int, n: int, a: Array, b: Array, x: Array, y: Array) -> Array:
    high = _log_odds(a, b, x, y)
    p = a / (a + b)
    width = np.sqrt(2 * FALL / (b * p)) + FALL / a
    for _ in range(12):  # by Newton from above; the exponent is convex
        end = high - width
        fallen = _beta_exponent(a, b, end) - _beta_exponent(a, b, high)
        slope = a * (np.expm1(end) / (1 + p * np.expm1(end))) * (b / (a + b))
        width = width + (fallen - FALL) / slope
    return _beta_integral(m, n, a, b, high - width, high)


def _beta_between(m: int, n: int, a: Array, b: Array, x: Array, y: Array) -> Array:
    first = 0.5 / np.maximum(b, 1)
    low = _log_odds(a, b, first, 1 - first)
    return _beta_series(m, n, a, b, first) + _beta_integral(m, n, a, b, low, _log_odds(a, b, x, y))


def _log_odds(a: Array, b: Array, x: Array, y: Array) -> Array:
    """Return ``log(x / y)``, less that of the mode, ``log(a / b)``."""
    return log_ratio(x * b, y * a)


def _beta_exponent(a: Array, b: Array, v: Array) -> Array:
    """Return the logarithm of the density at the mode less that at the log-odds v from there."""
    is_turned = a > b
    p = np.where(is_turned, b, a) / (a + b)
    v = np.where(is_turned, -v, v)
    is_near = np.abs(v) < 1
    near = np.where(is_near, v, 0.0)
    by_parts = p * expm1_less(near) - less_log1p(p * np.expm1(near))
    is_right = v > 0
    right, left = np.where(is_right, v, 0.0), np.where(is_right, 0.0, v)
    to_right = (1 - p) * right + np.log(p + (1 - p) * np.exp(-right))
    far = np.where(is_right, to_right, np.log1p(p * np.expm1(left)) - p * left)
    return (a + b) * np.where(is_near, by_parts, far)


def _log_growth(p: Array, q: Array, v: Array) -> Array:
    """Return ``log(t / p)`` at the log-odds v from those of p, where q is 1 - p."""
    is_direct = (v < 0) | (p >= 0.5)
    direct = -np.log1p(q * np.expm1(np.where(is_direct, -v, 0.0)))
    return np.where(is_direct, direct, v - np.log1p(p * np.expm1(np.where(is_direct, 0.0, v))))


def _beta_integral(m: int, n: int, a: Array, b: Array, low: Array, high: Array) -> Array:
    """Integrate the derivative of the density over the log-odds from the mode."""
    from scipy import special

    v, weights = nodes(low, high)
    total = a + b
    p, q = (a / total)[:, None], (b / total)[:, None]
    rest = log_less_psi(total)

    def cumulant(i: int, j: int) -> Array:
        if i and j:
            return special.polygamma(i + j - 1, total)[:, None]
        if i == 1:
            return _log_growth(p, q, v) + (log_less_psi(a) - rest)[:, None]
        if j == 1:
            return _log_growth(q, p, -v) + (log_less_psi(b) - rest)[:, None]
        return (rise(i - 1, a, b) if i else rise(j - 1, b, a))[:, None]

    densities = np.exp(-_beta_exponent(a[:, None], b[:, None], v)) * weights
    scale = np.sqrt(a / total * b / (2 * np.pi)) * np.exp(stirling(total) - stirling(a) - stirling(b))
    return scale * np.sum(densities * bell(cumulant, m, n), axis=1)
