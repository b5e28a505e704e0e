"""Distributions of Kolmogorov and Smirnov, their inverses, and Tukey's lambda distribution.

Kolmogorov's is differentiated series by series (the Jacobi theta function and its transform, which converge
for large and for small arguments), Smirnov's term by term: Birnbaum and Tingey 1951.
"""

from __future__ import annotations

import math
from functools import cache
from math import pi, sqrt
from typing import Any

import numpy as np

from tape.core.elementwise import elementwise
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.elementary import exp
from tape.ops.elementwise.scipy_ufuncs import Function, narrowed, scipy_ufunc, truncated
from tape.ops.elementwise.selection import isnan, where
from tape.ops.special.by_parameters import bell
from tape.ops.special.by_parameters.numbers import in_blocks

__all__ = ["kolmogi", "kolmogorov", "smirnov", "smirnovi", "tklmbda"]

declare_samples(
    "scipy.special.kolmogorov(1 + x)",
    "scipy.special.kolmogi(x / 9)",
    "scipy.special.smirnov, scipy.special.smirnovi(7, x / 9)",
    "scipy.special.tklmbda(x, 0.4)",
)

# ---- Kolmogorov ------------------------------------------------------------------------------------------


def _kolmogorov_slope(x: Any) -> Any:
    is_large, is_small = x > 0.8, x > 0.03  # below that it is less than the smallest number
    large, small = where(is_large, x, 1.0), where(is_small, where(is_large, 0.5, x), 0.5)
    right: Any = 0.0
    for k in range(6, 0, -1):
        right = right + (-1.0) ** k * 8 * k * k * exp(large * large * (-2 * k * k))
    left: Any = 0.0
    square = small * small
    for k in range(4, 0, -1):
        rate = (2 * k - 1) ** 2 * pi**2 / 8
        left = left + exp(-rate / square) * (1 - 2 * rate / square)
    slope = where(is_large, right * large, where(is_small, left * sqrt(2 * pi) / square, 0.0))
    return where(isnan(x), np.nan, slope)


kolmogorov = scipy_ufunc(
    "kolmogorov",
    "The survival function of Kolmogorov's distribution.",
    lambda d, out, x: d * _kolmogorov_slope(x),
)
kolmogi = scipy_ufunc(
    "kolmogi",
    "The x for which ``kolmogorov(x)`` is p.",
    lambda d, out, p: d / _kolmogorov_slope(out),
)

# ---- Smirnov ---------------------------------------------------------------------------------------------


def _smirnov_derivative(order: int, n: Any, x: Any) -> Any:
    return in_blocks(
        lambda n, x: np.array([_smirnov_sum(order, *pair) for pair in zip(n, x, strict=True)]), n, x
    )


def _smirnov_sum(order: int, n: float, x: float) -> float:
    """Sum the derivatives of ``binom(n, j) x (x + j / n)**(j - 1) (1 - x - j / n)**(n - j)`` over j."""
    from scipy import special

    if not (n >= 1 and 0 <= x <= 1):
        return np.nan
    first = math.prod(n - i for i in range(order)) * (-1.0) ** order * (1 - x) ** max(n - order, 0)
    j = np.arange(1, np.ceil(n * (1 - x)))  # of those after it 1 - x - j / n is not positive
    up, down = x + j / n, 1 - x - j / n

    def cumulant(i: int, _: int) -> Any:
        return (-1.0) ** (i - 1) * math.factorial(i - 1) * ((j - 1) / up**i + (n - j) * (-1.0) ** i / down**i)

    logs = special.gammaln(n + 1) - special.gammaln(j + 1) - special.gammaln(n - j + 1)
    terms = np.exp(logs + (j - 1) * np.log(up) + (n - j) * np.log(down))
    return first + float(np.sum(terms * (x * bell(cumulant, order) + order * bell(cumulant, order - 1))))


@cache
def _smirnov_by_x(order: int) -> Function:
    """Return the operation that is the derivative of `smirnov` by x, of this order."""
    return elementwise(
        lambda n, x: narrowed(_smirnov_derivative(order, n, x)[()], (x,)),
        None,
        lambda d, out, n, x: d * _smirnov_by_x(order + 1)(n, x),
        name="smirnov_by_x",
        doc=f"The derivative of order {order} of `smirnov` by x.",
    )


smirnov = scipy_ufunc(
    "smirnov",
    "The survival function of Smirnov's distribution for n numbers, differentiable by x.",
    None,
    lambda d, out, n, x: d * _smirnov_by_x(1)(truncated(n), x),
)
smirnovi = scipy_ufunc(
    "smirnovi",
    "The x for which ``smirnov(n, x)`` is p, of n and p, differentiable by p.",
    None,
    lambda d, out, n, p: d / _smirnov_by_x(1)(truncated(n), out),
)

# ---- Tukey -----------------------------------------------------------------------------------------------


def _tukey_density(x: Any, lmbda: Any) -> Any:
    """Return the slope of the inverse, inverted; that is ``p**(lmbda - 1) + (1 - p)**(lmbda - 1)``."""
    below, above = tklmbda(x, lmbda), tklmbda(-x, lmbda)
    is_inside = (below > 0) & (above > 0)
    p, q = where(is_inside, below, 0.5), where(is_inside, above, 0.5)
    density = where(is_inside, 1 / (p ** (lmbda - 1) + q ** (lmbda - 1)), 0.0)
    return where(isnan(below), np.nan, density)


tklmbda: Function = scipy_ufunc(
    "tklmbda",
    "The distribution function of Tukey's lambda distribution, of x and lmbda, differentiable by x.",
    lambda d, out, x, lmbda: d * _tukey_density(x, lmbda),
    None,
)
