"""Functions that the derivatives share: differences without cancellation, nodes of integrals, blocks."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray

FALL = 40.0
"""The logarithm of the factor by which a density falls up to the end of a decaying integral."""
SMALL = 20.0
"""Below this parameter the density falls slowly towards its end, and the series is taken there."""
_BLOCK = 1024
"""How many elements are integrated at once: their nodes fit into the cache."""


def log_ratio(x: Array, y: Array) -> Array:
    """Return ``log(x / y)``; by their difference where that is exact."""
    is_near = (x > y / 2) & (x < 2 * y)
    near = np.log1p(np.where(is_near, x - y, 0.0) / y)
    return np.where(is_near, near, np.log(x) - np.log(y))


def expm1_less(v: Array) -> Array:
    """Return ``exp(v) - 1 - v``."""
    is_small = np.abs(v) < 0.5
    small = np.where(is_small, v, 0.0)
    series = np.zeros_like(v)
    for k in range(16, 1, -1):
        series = (series + 1) * small / k if k > 2 else (series + 1) * small * small / 2
    return np.where(is_small, series, np.expm1(v) - v)


def less_log1p(m: Array) -> Array:
    """Return ``m - log(1 + m)``: with ``r = m / (2 + m)``, the logarithm is ``2 atanh(r)``."""
    is_small = np.abs(m) < 0.5
    small = np.where(is_small, m, 0.0)
    r = small / (2 + small)
    series = np.zeros_like(r)
    for k in range(18, 0, -1):
        series = series * r * r + 1 / (2 * k + 1)
    return np.where(is_small, r * small - 2 * r**3 * series, m - np.log1p(np.where(m > -1, m, 0.0)))


def stirling(z: Array) -> Array:
    """Return what Stirling's formula for ``log(Gamma(z))`` lacks, DLMF 5.11.1."""
    from scipy import special

    is_large = z >= 12
    small, large = np.where(is_large, 1.0, z), np.where(is_large, z, 12.0)
    y = 1 / (large * large)
    series = (
        1 / 12 + y * (-1 / 360 + y * (1 / 1260 + y * (-1 / 1680 + y * (1 / 1188 - y * 691 / 360360))))
    ) / large
    exact = special.gammaln(small) - (small - 0.5) * np.log(small) + small - math.log(2 * math.pi) / 2
    return np.where(is_large, series, exact)


def log_rise(z: Array, m: Array) -> Array:
    """Return ``log(Gamma(z + m) / Gamma(z))``."""
    from scipy import special

    is_large = z >= 12
    large = np.where(is_large, z, 12.0)
    end = large + m
    series = (large - 0.5) * np.log1p(m / large) + m * (np.log(end) - 1) + stirling(end) - stirling(large)
    return np.where(is_large, series, special.gammaln(z + m) - special.gammaln(z))


def log_less_psi(z: Array) -> Array:
    """Return ``log(z) - psi(z)``, DLMF 5.11.2."""
    from scipy import special

    is_large = z >= 15
    small, large = np.where(is_large, 1.0, z), np.where(is_large, z, 15.0)
    y = 1 / (large * large)
    series = y * (1 / 12 + y * (-1 / 120 + y * (1 / 252 + y * (-1 / 240 + y * (1 / 132 - y * 691 / 32760)))))
    return np.where(is_large, series + 1 / (2 * large), np.log(small) - special.psi(small))


def rise(n: int, z: Array, m: Array) -> Array:
    """Return ``polygamma(n, z + m) - polygamma(n, z)``; for small m by an integral."""
    from scipy import special

    is_close = np.abs(m) < z / 2
    step = np.where(is_close, m, 0.0)
    points, weights = _legendre(16)
    between = z[:, None] + step[:, None] * (points + 1) / 2
    integral = step / 2 * np.sum(special.polygamma(n + 1, between) * weights, axis=1)
    return np.where(is_close, integral, special.polygamma(n, z + m) - special.polygamma(n, z))


@cache
def _legendre(count: int) -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(count)


def nodes(low: Array, high: Array) -> tuple[Array, Array]:
    """Return the nodes between two ends, along a new axis, and their weights."""
    points, weights = _legendre(64)
    half = ((high - low) / 2)[:, None]
    return low[:, None] + half * (points + 1), half * weights


def fill(out: Array, is_there: Array, function: Callable[..., Array], *arrays: Array) -> None:
    """Write a function of the elements that a mask chooses to these places of ``out``."""
    if is_there.any():
        out[is_there] = function(*(array[is_there] for array in arrays))


def in_blocks(
    function: Callable[..., Array], *operands: Any, size: int = _BLOCK, dtype: Any = np.float64
) -> Array:
    """Broadcast operands, and compute a function of vectors block by block, without warnings."""
    arrays = np.broadcast_arrays(*(np.asarray(operand, dtype) for operand in operands))
    flat = [array.ravel() for array in arrays]
    out = np.empty(flat[0].shape, dtype)
    with np.errstate(all="ignore"):
        for start in range(0, len(out), size):
            part = slice(start, start + size)
            out[part] = function(*(array[part] for array in flat))
    return out.reshape(arrays[0].shape)


def share(i: int, a: Array, k: int) -> Any:
    """Return the derivative of order i by a of ``a / (a + k)``."""
    if i == 0:
        return a / (a + k) if k else 1.0
    return -k * (-1.0) ** i * math.factorial(i) / (a + k) ** (i + 1) if k else 0.0
