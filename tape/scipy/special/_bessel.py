"""Derivatives of Bessel functions, spherical Bessel functions and Lambert's W, called as in SciPy."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from operator import index
from typing import Any

import numpy as np

from tape.core.operands import as_operand
from tape.errors import OptionError
from tape.numpy._conversion import array
from tape.ops import special
from tape.scipy.special._calls import for_vars

__all__ = [
    "h1vp",
    "h2vp",
    "ivp",
    "jvp",
    "kvp",
    "lambertw",
    "spherical_in",
    "spherical_jn",
    "spherical_kn",
    "spherical_yn",
    "yvp",
]


def _derived(name: str, f: Callable[..., Any], phase: int, v: Any, z: Any, n: Any) -> Any:
    """Return the n-th derivative by z, DLMF 10.6.7 and 10.29.5."""
    try:
        order = index(n)
    except TypeError:
        order = -1
    if order < 0:
        raise OptionError(
            f"{name}: the order of the derivative is {n!r}. It must be a whole number from 0 on"
        )
    v, z = as_operand(v), array(z)
    total: Any = 0.0
    for k in range(order + 1):
        total = total + phase**k * comb(order, k) * f(v - order + 2 * k, z)
    return total / 2**order


@for_vars
def jvp(v: Any, z: Any, n: int = 1) -> Any:
    """Return the n-th derivative of `jv` by z."""
    return _derived("jvp", special.jv, -1, v, z, n)


@for_vars
def yvp(v: Any, z: Any, n: int = 1) -> Any:
    """Return the n-th derivative of `yv` by z."""
    return _derived("yvp", special.yv, -1, v, z, n)


@for_vars
def ivp(v: Any, z: Any, n: int = 1) -> Any:
    """Return the n-th derivative of `iv` by z."""
    return _derived("ivp", special.iv, 1, v, z, n)


@for_vars
def kvp(v: Any, z: Any, n: int = 1) -> Any:
    """Return the n-th derivative of `kv` by z."""
    return (-1) ** n * _derived("kvp", special.kv, 1, v, z, n)


@for_vars
def h1vp(v: Any, z: Any, n: int = 1) -> Any:
    """Return the n-th derivative of `hankel1` by z."""
    return _derived("h1vp", special.hankel1, -1, v, z, n)


@for_vars
def h2vp(v: Any, z: Any, n: int = 1) -> Any:
    """Return the n-th derivative of `hankel2` by z."""
    return _derived("h2vp", special.hankel2, -1, v, z, n)


def _spherical(f: Callable[..., Any], n: Any, z: Any, derivative: bool, below: int, above: int) -> Any:
    n, z = as_operand(n), array(z)
    if not derivative:
        return f(n, z)
    higher = above * (n + 1) * f(n + 1, z)
    if np.ndim(n) == 0:
        return ((below * n * f(n - 1, z) if n else 0) + higher) / (2 * n + 1)
    is_first = np.equal(n, 0)  # which has no function below it
    return (np.where(is_first, 0, below * n * f(np.where(is_first, 1, n) - 1, z)) + higher) / (2 * n + 1)


@for_vars
def spherical_jn(n: Any, z: Any, derivative: bool = False) -> Any:
    """Return the spherical Bessel function of the first kind, or its derivative by z."""
    return _spherical(special.spherical_jn, n, z, derivative, 1, -1)


@for_vars
def spherical_yn(n: Any, z: Any, derivative: bool = False) -> Any:
    """Return the spherical Bessel function of the second kind, or its derivative by z."""
    return _spherical(special.spherical_yn, n, z, derivative, 1, -1)


@for_vars
def spherical_in(n: Any, z: Any, derivative: bool = False) -> Any:
    """Return the modified spherical Bessel function of the first kind, or its derivative by z."""
    return _spherical(special.spherical_in, n, z, derivative, 1, 1)


@for_vars
def spherical_kn(n: Any, z: Any, derivative: bool = False) -> Any:
    """Return the modified spherical Bessel function of the second kind, or its derivative by z."""
    return _spherical(special.spherical_kn, n, z, derivative, -1, -1)


@for_vars
def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Any:
    """Return a branch of Lambert's W function: `tape.ops.special.lambertw`."""
    return special.lambertw(array(z), k, tol)
