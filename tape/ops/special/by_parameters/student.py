"""Student's distribution function by the degrees of freedom."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tape.ops.special.by_parameters.bell import bell
from tape.ops.special.by_parameters.numbers import FALL, SMALL, Array, fill, in_blocks, less_log1p, nodes

_STEP = (1 / 8, -1 / 192, 1 / 640, -17 / 14336, 31 / 18432)
"""Coefficients of ``log(Gamma(z + 1 / 2) / (Gamma(z) sqrt(z)))`` in odd powers of ``-1 / z``: Fields 1966."""


def by_degrees_of_freedom(order: int, df: Any, t: Any) -> Any:
    """Return the derivative of ``stdtr(df, t)`` by df, of an order of at least 1.

    Parameters
    ----------
    order : int
        At least 1.
    df, t : array_like
        Of shapes that broadcast; NaN outside of ``df > 0``.

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> from tape.ops.special.by_parameters import by_degrees_of_freedom
    >>> by_degrees_of_freedom(1, 3.0, 0.0)
    array(0.)
    """
    return in_blocks(lambda df, t: _student_block(order, df, t), df, t)


def _student_block(n: int, df: Array, t: Array) -> Array:
    out = np.where((df > 0) & (t == t), 0.0, np.nan)
    z = np.abs(t)
    is_inside = (df > 0) & (df < np.inf) & (z > 0) & (z < np.inf)
    is_far, is_central = z * z >= df, z <= 1.5
    is_between = ~is_far & ~is_central
    fill(out, is_inside & is_far, lambda df, z: -_student_series(n, df, z), df, z)
    fill(out, is_inside & ~is_far & is_central, lambda df, z: _student_integral(n, df, 0 * z, z), df, z)
    fill(out, is_inside & is_between & (df < SMALL), lambda df, z: -_student_between(n, df, z), df, z)
    fill(out, is_inside & is_between & (df >= SMALL), lambda df, z: -_student_above(n, df, z), df, z)
    return np.where(t < 0, -out, out)


def _student_constant(i: int, df: Array) -> Array:
    """Return the derivative of order i of ``log(Gamma((df + 1) / 2) / (Gamma(df / 2) sqrt(df / 2)))``."""
    from scipy import special

    is_large = df > 50
    small, large = np.where(is_large, 1.0, df), np.where(is_large, df, 50.0)
    series = np.zeros_like(df)
    for k, c in reversed(list(enumerate(_STEP))):
        power = 2 * k + 1
        rising = (-1.0) ** i * math.prod(range(power, power + i))
        series = series - c * rising * 2.0**power * large ** (-power - i)
    if i == 0:
        exact = special.gammaln((small + 1) / 2) - special.gammaln(small / 2) - np.log(small / 2) / 2
    else:
        step = special.polygamma(i - 1, (small + 1) / 2) - special.polygamma(i - 1, small / 2)
        exact = 0.5**i * step + (-1.0) ** i * math.factorial(i - 1) / (2 * small**i)
    return np.where(is_large, series, exact)


def _power_cumulant(i: int, df: Array, square: Array, offset: Any) -> Array:
    """Return the derivative of order i >= 1 of ``(df / 2 + offset) log(df / (df + square))``."""
    c = square / (df + square)
    r = df / (df + square)
    if i == 1:
        curved = np.where(c < 0.5, -less_log1p(-c), c - np.log1p(square / df))
        return curved / 2 + offset * c / df
    first = 2 * offset * (i - 1) * -c * sum(r**k for k in range(i))
    second = df * c * c * sum((k + 1) * r**k for k in range(i - 1))
    return (-1.0) ** i * math.factorial(i - 2) / (2 * df**i) * (first + second)


def _student_series(n: int, df: Array, z: Array) -> Array:
    """Return the derivative of the probability above z, ``z^2 >= df``: half of the beta series."""
    half = df[:, None] / 2
    square = (z * z)[:, None]
    k = np.arange(64)
    coefficients = np.cumprod(np.concatenate([[1.0], (k[:-1] + 0.5) / (k[:-1] + 1)]))

    def cumulant(i: int, j: int) -> Array:
        ends = (-1.0) ** i * math.factorial(i - 1) * 0.5**i / (half + k) ** i
        constant = _student_constant(i, df) - (-1.0) ** i * math.factorial(i - 1) / (2 * df**i)
        return _power_cumulant(i, df[:, None], square, k) + ends + constant[:, None]

    logs = (half + k) * -np.log1p(square / df[:, None]) - np.log(half + k)
    scale = _student_constant(0, df) + np.log(df / 2) / 2 - math.log(math.pi) / 2
    terms = coefficients * np.exp(logs + scale[:, None]) * bell(cumulant, n)
    return np.sum(terms, axis=1) / 2


def _student_above(n: int, df: Array, z: Array) -> Array:
    low = np.log(z)
    fall = (df + 1) / 2 * np.log1p(z * z / df) - low + FALL
    high = low + FALL / ((df + 1) * (z * z / (df + z * z)) - 1)
    for _ in range(6):  # from above
        high = np.minimum(high, np.log(df * np.expm1(2 * (fall + high) / (df + 1))) / 2)
    return _student_integral(n, df, low, high, by_log=True)


def _student_between(n: int, df: Array, z: Array) -> Array:
    end = np.sqrt(df)
    return _student_series(n, df, end) + _student_integral(n, df, z, end)


def _student_integral(n: int, df: Array, low: Array, high: Array, by_log: bool = False) -> Array:
    """Integrate the derivative of the density over t, or over its logarithm."""
    t, weights = nodes(low, high)
    if by_log:
        t = np.exp(t)
        weights = weights * t
    square, of = t * t, df[:, None]
    exponents = -(of + 1) / 2 * np.log1p(square / of)

    def cumulant(i: int, j: int) -> Array:
        return _power_cumulant(i, of, square, 0.5) + _student_constant(i, df)[:, None]

    scale = np.exp(_student_constant(0, df)) / math.sqrt(2 * math.pi)
    return scale * np.sum(np.exp(exponents) * weights * bell(cumulant, n), axis=1)
