"""Noncentral distributions: sums over Poisson's distribution, and integrals over a chi distribution.

A noncentral chi-squared or F distribution function is ``sum(weight_j f(a + j))``, with weights of Poisson's
distribution. The terms are largest where their ratio, which falls with j, is 1, and are summed over a window
around there. Student's noncentral one is the mean of normal probabilities over the scale, over whose
logarithm the trapezoidal rule integrates: the integrand has one maximum and falls exponentially on both
sides.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, expm1, factorial, pi, sqrt
from typing import Any

import numpy as np

from tape.ops.special.by_parameters.bell import bell
from tape.ops.special.by_parameters.beta import by_beta_parameters
from tape.ops.special.by_parameters.gamma import by_gamma_parameter
from tape.ops.special.by_parameters.numbers import FALL, Array, expm1_less, in_blocks, log_less_psi, stirling

_REACH = 9.5
"""How far to sum, in standard deviations of the terms around the largest one."""


def _mixed(
    is_valid: Callable[..., Array], product: Callable[..., Array], gap: Callable[..., Array], term: Any
) -> Callable[..., Any]:
    """Return the function of arrays that sums ``weight_j term(j, ...)`` where ``j (j + gap)`` is ``product``.

    The last operand but one is the mean of the Poisson distribution, half of the noncentrality.
    """
    from scipy import special  # imported late: see `tape.ops.elementwise.scipy_ufuncs`

    def block(*given: Array) -> Array:
        is_there = is_valid(*given)
        operands = [np.where(is_there, operand, 0.5) for operand in given]
        half, apart, height = operands[-2], gap(*operands), product(*operands)
        root = np.sqrt(apart * apart + 4 * height)
        is_apart = apart > 0
        safe = np.where(is_apart, apart + root, 1.0)
        peak = np.where(is_apart, 2 * height / safe, (root - apart) / 2)
        reach = _REACH * np.sqrt(peak + 1) + 25
        start = np.maximum(0.0, np.floor(peak - reach))
        j = start[:, None] + np.arange(np.ceil(np.max(peak + reach - start, initial=1.0)))
        logs = special.xlogy(j, half[:, None]) - half[:, None] - special.gammaln(j + 1)
        columns = [operand[:, None] for operand in operands]
        return np.where(is_there, np.sum(np.exp(logs) * term(j, *columns), axis=1), np.nan)

    return lambda *operands: in_blocks(block, *operands, size=64)


# ---- gamma -----------------------------------------------------------------------------------------------


def _is_gamma(a: Array, half: Array, x: Array) -> Array:
    return (a > 0) & (a < np.inf) & (half >= 0) & (half < np.inf) & (x >= 0)


def _mixed_gamma(term: Callable[..., Array], a: Any, half: Any, x: Any) -> Any:
    """Sum; of infinite x nothing is left, and what is at 0 is that of a small number."""
    is_infinite = np.asarray(x) == np.inf
    inside = np.where(is_infinite, 1.0, x)
    sums = _mixed(_is_gamma, lambda a, half, x: half * x, lambda a, half, x: a, term)
    return np.where(is_infinite, 0.0, sums(a, half, inside))


def gamma_mixture(order: int, a: Any, half: Any, x: Any) -> Any:
    """Return the mean over j of the derivative of ``gammainc(a + j, x)`` by a, of an order of at least 1.

    Examples
    --------
    >>> from tape.ops.special.by_parameters.mixtures import gamma_mixture
    >>> gamma_mixture(1, 2.0, 0.0, 1.0).round(12)
    np.float64(-0.276196045703)
    """
    return _mixed_gamma(lambda j, a, half, x: by_gamma_parameter(order, a + j, x), a, half, x)


def gamma_density_mixture(order: int, a: Any, half: Any, x: Any) -> Any:
    """Return the mean over j of ``x^(a + j - 1) exp(-x) / Gamma(a + j)``, derived by a.

    Examples
    --------
    >>> from tape.ops.special.by_parameters.mixtures import gamma_density_mixture
    >>> gamma_density_mixture(0, 1.0, 0.0, 0.0)
    array(1.)
    """
    from scipy import special

    def term(j: Array, a: Array, half: Array, x: Array) -> Array:
        c = a + j
        is_zero = x == 0
        logarithm = np.log(np.where(is_zero, 1.0, x))
        density = np.exp((c - 1) * logarithm - x - special.gammaln(c))
        first = logarithm - special.psi(c)
        found = density * bell(lambda i, _: first if i == 1 else -special.polygamma(i - 1, c), order)
        return np.where(is_zero, _at_end(c, order), found)

    return _mixed_gamma(term, a, half, x)


def _at_end(c: Array, order: int) -> Array:
    """Return what a power of ``c - 1`` is at 0; its derivatives by c are infinite where it is not 0."""
    at_one = np.nan if order else 1.0
    return np.where(c > 1, 0.0, np.where(c == 1, at_one, np.nan if order else np.inf))


# ---- beta ------------------------------------------------------------------------------------------------


def _is_beta(a: Array, b: Array, half: Array, x: Array) -> Array:
    is_positive = (a > 0) & (a < np.inf) & (b > 0) & (b < np.inf)
    return is_positive & (half >= 0) & (half < np.inf) & (x >= 0) & (x <= 1)


def _mixed_beta(term: Callable[..., Array], *operands: Any) -> Any:
    """Sum around where ``half x (a + b + j)`` is ``j (a + j)``."""
    return _mixed(
        _is_beta,
        lambda a, b, half, x: half * x * (a + b),
        lambda a, b, half, x: a - half * x,
        term,
    )(*operands)


def beta_mixture(order_a: int, order_b: int, a: Any, b: Any, half: Any, x: Any) -> Any:
    """Return the mean over j of the derivative of ``betainc(a + j, b, x)`` by a and b, not of order 0.

    Examples
    --------
    >>> from tape.ops.special.by_parameters.mixtures import beta_mixture
    >>> beta_mixture(1, 0, 1.0, 1.0, 0.0, 0.5).round(12)
    np.float64(-0.34657359028)
    """
    return _mixed_beta(
        lambda j, a, b, half, x: by_beta_parameters(order_a, order_b, a + j, b, x), a, b, half, x
    )


def beta_density_mixture(order_a: int, order_b: int, lift: int, a: Any, b: Any, half: Any, x: Any) -> Any:
    """Return the mean of ``Gamma(c + b + lift) / (Gamma(c) Gamma(b)) x^(c - 1) (1 - x)^(b - 1)``, c = a + j.

    It is derived by a and b.

    Examples
    --------
    >>> from tape.ops.special.by_parameters.mixtures import beta_density_mixture
    >>> beta_density_mixture(0, 0, 0, 1.0, 1.0, 0.0, 0.5).round(12)
    np.float64(1.0)
    """
    from scipy import special

    def term(j: Array, a: Array, b: Array, half: Array, x: Array) -> Array:
        c, order = a + j, order_a + order_b
        total = c + b + lift
        is_low, is_high = x == 0, x == 1
        inside = np.where(is_low | is_high, 0.5, x)

        def cumulant(m: int, n: int) -> Any:
            if m + n > 1:
                shared = special.polygamma(m + n - 1, total)
                return shared if m and n else shared - special.polygamma(m + n - 1, c if m else b)
            own = np.log(inside) - special.psi(c) if m else np.log1p(-inside) - special.psi(b)
            return special.psi(total) + own

        logs = special.gammaln(total) - special.gammaln(c) - special.gammaln(b)
        density = np.exp(logs + (c - 1) * np.log(inside) + (b - 1) * np.log1p(-inside))
        found = density * bell(cumulant, order_a, order_b)
        low = np.where(c > 1, 0.0, np.nan if order else np.where(c < 1, np.inf, np.exp(logs)))
        high = np.where(b > 1, 0.0, np.nan if order else np.where(b < 1, np.inf, np.exp(logs)))
        return np.where(is_low, low, np.where(is_high, high, found))

    return _mixed_beta(term, a, b, half, x)


# ---- Student ---------------------------------------------------------------------------------------------


def _each(function: Callable[..., float], *operands: Any) -> Any:
    """Apply a function of numbers to the elements of arrays that broadcast."""
    arrays = np.broadcast_arrays(*(np.asarray(operand, np.float64) for operand in operands))
    with np.errstate(all="ignore"):
        found = [function(*map(float, each)) for each in zip(*(a.ravel() for a in arrays), strict=True)]
    return np.array(found, np.float64).reshape(arrays[0].shape)


def student_mean(order: int, power: int | None, df: Any, nc: Any, t: Any) -> Any:
    """Return the mean of a normal probability below ``t s - nc`` over the scale s, derived by df.

    Parameters
    ----------
    order : int
        How often; at least 1 without a power.
    power : int or None
        With one, the mean is that of ``s**power`` times the normal density instead.
    df, nc, t : array_like
        Of shapes that broadcast; NaN outside of ``df > 0``.

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> from tape.ops.special.by_parameters.mixtures import student_mean
    >>> student_mean(0, 1, 1.0, 0.0, 0.0).round(12)  # Cauchy's density, 1 / pi
    np.float64(0.318309886184)
    """
    from scipy import special

    def one(df: float, nc: float, t: float) -> float:
        if not (0 < df < np.inf and np.isfinite(nc) and t == t):
            return np.nan
        if not np.isfinite(t) or (power is None and t == 0):
            return 0.0
        side = 1.0 if t < nc else -1.0  # the probability on the side where it is small, with its sign

        def logarithm(w: Any, less: Callable[[Any], Any]) -> Any:
            z = t * np.exp(w) - nc
            normal = special.log_ndtr(side * z) if power is None else power * w - z * z / 2
            return normal - df / 2 * less(2 * w)

        def slope(w: float) -> float:
            s = exp(w)
            z = t * s - nc
            if power is None:
                ratio = exp(-z * z / 2 - special.log_ndtr(side * z)) / sqrt(2 * pi)
                return df * (1 - s * s) + side * t * s * ratio
            return df * (1 - s * s) + power - z * t * s

        low, high = _ends(lambda w: float(logarithm(w, lambda v: expm1(v) - v)), slope)
        if np.isnan(low + high):  # of hardly any degrees of freedom there are too many powers of ten
            return np.nan
        count = int(max(200, np.ceil((high - low) / 0.08)))
        w = np.linspace(low, high, count + 1)
        half = np.array([df / 2])
        shift = float(log_less_psi(half)[0]) / 2

        def cumulant(i: int, _: int) -> Any:
            if i == 1:
                return shift - expm1_less(2 * w) / 2
            power_part = (-1.0) ** i * factorial(i - 2) / (2 * df ** (i - 1))
            return power_part - float(special.polygamma(i - 1, df / 2)) / 2**i

        terms = np.exp(logarithm(w, expm1_less)) * bell(cumulant, order)
        scale = sqrt(df / pi) * np.exp(-float(stirling(half)[0]))
        scale *= side if power is None else 1 / sqrt(2 * pi)
        return float(np.sum(terms) * (high - low) / count * scale)

    return _each(one, df, nc, t)


def _ends(logarithm: Callable[[float], float], slope: Callable[[float], float]) -> tuple[float, float]:
    """Return where a function with one maximum has fallen from there, on both sides."""
    low, high = -300.0, 300.0
    while high - low > 1e-9 * (1 + abs(low)):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    floor = logarithm(low) - FALL
    ends = []
    for sense in (-1, 1):
        width = 1e-7
        while logarithm(low + sense * width) > floor and width < 1e5:
            width *= 2 if width < 1e-3 else 1.4
        ends.append(low + sense * width if width < 1e5 else np.nan)
    return ends[0], ends[1]
