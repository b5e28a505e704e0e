"""Legendre functions and spherical harmonics as operations, with derivatives of any order.

Values are SciPy's. Derivatives are of any order: of Legendre functions by Leibniz' rule, as a power of
``1 - z**2`` times one of Gegenbauer's polynomials (DLMF 14.7.8 and 18.9.19), whose derivatives are again such
polynomials; of functions of angles as differences of neighbouring orders m (DLMF 14.10.2 and 14.30), which
have no gap at the poles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import comb
from typing import Any

import numpy as np

from tape import ops
from tape.core.elementwise import elementwise
from tape.errors import UnsupportedError
from tape.ops.elementwise.scipy_ufuncs import narrowed

__all__ = ["associated_by_z", "harmonic_by_angles", "legendre_by_z", "spherical_by_theta"]

Function = Callable[..., Any]


def _whole(n: Any) -> Any:
    """Return degrees or orders as integers: rules get them in the dtype of the result."""
    return np.asarray(np.real(n)).astype(np.int64)


# ---- operations: functions of z ----------------------------------------------------------------------------


@cache
def associated_by_z(order: int, branch_cut: int, norm: bool) -> Function:
    """Return the operation that is SciPy's derivative of `assoc_legendre_p` by z, of an order up to 2."""
    from scipy import special

    def forward(n: Any, m: Any, z: Any) -> Any:
        out = special.assoc_legendre_p(
            _whole(n), _whole(m), z, branch_cut=branch_cut, norm=norm, diff_n=order
        )[order]
        return narrowed(out, (z,))

    return _of_z(forward, order, branch_cut, norm)


@cache
def legendre_by_z(order: int) -> Function:
    """Return the operation that is SciPy's derivative of `legendre_p`; its second operand is 0."""
    from scipy import special

    def forward(n: Any, m: Any, z: Any) -> Any:
        return narrowed(special.legendre_p(_whole(n), z, diff_n=order)[order], (z,))

    return _of_z(forward, order, 2, norm=False)


@cache
def _by_z(order: int, branch_cut: int, norm: bool) -> Function:
    """Return the operation that is the derivative by z of this order, also where SciPy's has gaps."""
    from scipy import special

    def forward(n: Any, m: Any, z: Any) -> Any:
        if np.result_type(z).kind != "c":
            return narrowed(_leibniz(order, norm, n, m, z)[()], (z,))
        if order > 2:
            raise UnsupportedError(
                f"assoc_legendre_p of complex numbers has no derivative of order {order}. Pass real numbers, "
                "or differentiate less often"
            )
        out = special.assoc_legendre_p(
            _whole(n), _whole(m), z, branch_cut=branch_cut, norm=norm, diff_n=order
        )[order]
        return narrowed(out, (z,))

    return _of_z(forward, order, branch_cut, norm)


def _of_z(forward: Function, order: int, branch_cut: int, norm: bool) -> Function:
    return elementwise(
        forward,
        None,
        None,
        lambda d, out, n, m, z: d * _by_z(order + 1, branch_cut, norm)(n, m, z),
        name="assoc_legendre_p",
        doc=f"The derivative of order {order} of the associated Legendre function by z.",
    )


def _leibniz(order: int, norm: bool, n: Any, m: Any, z: Any) -> Any:
    """Return the derivative of ``(1 - z**2)**(m / 2)`` times a polynomial of degree n - m, on arrays."""
    from scipy import special

    n, m, z = np.broadcast_arrays(_whole(n), _whole(m), np.asarray(z, np.float64))
    size = np.abs(m)
    is_there = size <= n
    n, size = np.where(is_there, n, size), np.asarray(size)
    total = np.zeros(z.shape)
    powers: dict[tuple[int, int], Any] = {(0, 0): np.ones(z.shape)}  # of z and, less size / 2, of 1 - z**2
    with np.errstate(all="ignore"):
        base = 1 - z * z
        change = special.gammaln(n - size + 1.0) - special.gammaln(n + size + 1.0)
        shift = (np.log(n + 0.5) + change) / 2 if norm else np.where(m < 0, change, 0.0)
        for i in range(order + 1):
            root = sum(
                np.where(c == 0, 0.0, c * z**s * base ** (np.where(c == 0, 0, size / 2 - q)))
                for (s, q), c in powers.items()
            )
            total = total + comb(order, i) * root * _polynomial(order - i, n, size, z, shift)
            powers = _derived(powers, size)
        sign = np.where((m > 0) & (m % 2 == 1), -1.0, 1.0)
    return np.where(is_there, total * sign, np.where(np.isnan(z), np.nan, 0.0))


def _derived(powers: dict[tuple[int, int], Any], size: Any) -> dict[tuple[int, int], Any]:
    found: dict[tuple[int, int], Any] = {}
    for (s, q), c in powers.items():
        if s:
            found[s - 1, q] = found.get((s - 1, q), 0.0) + s * c
        found[s + 1, q + 1] = found.get((s + 1, q + 1), 0.0) - (size - 2 * q) * c
    return found


def _polynomial(order: int, n: Any, m: Any, z: Any, shift: Any) -> Any:
    """Return the derivative of order m + order of Legendre's polynomial of degree n, times ``exp(shift)``."""
    from scipy import special

    k, degree = m + order, n - m - order
    is_there, is_small = degree >= 0, k <= 80
    small = special.factorial2(np.where(is_small, np.maximum(2 * k - 1, 1), 1)) * np.exp(shift)
    large = np.exp(special.gammaln(2 * k + 1.0) - special.gammaln(k + 1.0) - k * np.log(2) + shift)
    found = special.eval_gegenbauer(np.where(is_there, degree, 0), k + 0.5, z)
    return np.where(is_there, np.where(is_small, small, large) * found, 0.0)


# ---- operations: functions of angles -----------------------------------------------------------------------


@cache
def spherical_by_theta(order: int) -> Function:
    """Return the operation that is SciPy's derivative of `sph_legendre_p` by theta, of an order up to 2."""
    from scipy import special

    return elementwise(
        lambda n, m, theta: narrowed(
            special.sph_legendre_p(_whole(n), _whole(m), theta, diff_n=order)[order], (theta,)
        ),
        None,
        None,
        lambda d, out, n, m, theta: d * _turned(order + 1, n, m, theta),
        name="sph_legendre_p",
        doc=f"The derivative of order {order} of the spherical Legendre function.",
    )


def _ladder(n: Any, m: Any) -> tuple[Any, Any]:
    """Return the factors of the functions of orders m + 1 and m - 1 in the derivative by theta."""
    n, m = ops.real(n), ops.real(m)
    up, down = (n - m) * (n + m + 1), (n + m) * (n - m + 1)
    return ops.sqrt(ops.maximum(up, 0.0)) / 2, ops.sqrt(ops.maximum(down, 0.0)) / 2


def _turned(order: int, n: Any, m: Any, theta: Any) -> Any:
    """Return the derivative of `sph_legendre_p` by theta."""
    if not order:
        return spherical_by_theta(0)(n, m, theta)
    up, down = _ladder(n, m)
    higher, lower = _turned(order - 1, n, m + 1, theta), _turned(order - 1, n, m - 1, theta)
    return _sense(theta) * (up * higher - down * lower)


def _sense(theta: Any) -> Any:
    """Return the sign of the sine: SciPy takes its absolute value, so that functions of angles are even."""
    return ops.where(ops.sin(theta) < 0, -1.0, 1.0)


@cache
def harmonic_by_angles(by_theta: int, by_phi: int) -> Function:
    """Return the operation that is SciPy's derivative of `sph_harm_y`, of orders that add up to 2 at most."""
    from scipy import special

    order = by_theta + by_phi
    place = (..., *(0,) * by_theta, *(1,) * by_phi)

    def forward(n: Any, m: Any, theta: Any, phi: Any) -> Any:
        out = special.sph_harm_y(_whole(n), _whole(m), theta, phi, diff_n=order)
        return narrowed(out[order][place] if order else out, (theta, phi))

    return elementwise(
        forward,
        None,
        None,
        lambda d, out, n, m, theta, phi: d * _turned_harmonic(by_theta + 1, by_phi, n, m, theta, phi),
        lambda d, out, n, m, theta, phi: d * (out * (1j * m)),
        name="sph_harm_y",
        doc=f"The derivative of a spherical harmonic, {by_theta} times by theta and {by_phi} times by phi.",
    )


def _turned_harmonic(by_theta: int, by_phi: int, n: Any, m: Any, theta: Any, phi: Any) -> Any:
    if by_phi:
        return (1j * m) ** by_phi * _turned_harmonic(by_theta, 0, n, m, theta, phi)
    if not by_theta:
        return harmonic_by_angles(0, 0)(n, m, theta, phi)
    up, down = _ladder(n, m)
    turn = ops.exp(1j * phi)
    higher = _turned_harmonic(by_theta - 1, 0, n, m + 1, theta, phi)
    lower = _turned_harmonic(by_theta - 1, 0, n, m - 1, theta, phi)
    return _sense(theta) * (up * (higher / turn) - down * (lower * turn))
