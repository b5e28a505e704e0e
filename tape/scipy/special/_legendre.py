"""Legendre functions and spherical harmonics, called as in SciPy, with derivatives by their arguments.

Values are SciPy's. Derivatives are of any order: of Legendre functions by Leibniz' rule, as a power of
``1 - z**2`` times one of Gegenbauer's polynomials (DLMF 14.7.8 and 18.9.19), whose derivatives are again such
polynomials; of functions of angles as differences of neighbouring orders m (DLMF 14.10.2 and 14.30), which
have no gap at the poles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import comb
from operator import index
from typing import Any

import numpy as np

from tape import ops
from tape.core.elementwise import elementwise
from tape.errors import OptionError, UnsupportedError
from tape.numpy._conversion import array
from tape.ops.special.scipy_ufuncs import narrowed, refuse_derivative
from tape.scipy.special._calls import for_vars

__all__ = [
    "assoc_legendre_p",
    "assoc_legendre_p_all",
    "legendre_p",
    "legendre_p_all",
    "sph_harm_y",
    "sph_harm_y_all",
    "sph_legendre_p",
    "sph_legendre_p_all",
]

Function = Callable[..., Any]


def _whole(n: Any) -> Any:
    """Return degrees or orders as integers: rules get them in the dtype of the result."""
    return np.asarray(np.real(n)).astype(np.int64)


# ---- operations: functions of z ----------------------------------------------------------------------------


@cache
def _asked(order: int, branch_cut: int, norm: bool) -> Function:
    """Return the operation that is SciPy's derivative of `assoc_legendre_p` by z, of an order up to 2."""
    from scipy import special

    def forward(n: Any, m: Any, z: Any) -> Any:
        out = special.assoc_legendre_p(
            _whole(n), _whole(m), z, branch_cut=branch_cut, norm=norm, diff_n=order
        )[order]
        return narrowed(out, (z,))

    return _of_z(forward, order, branch_cut, norm)


@cache
def _asked_legendre(order: int) -> Function:
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
def _asked_by_theta(order: int) -> Function:
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
        return _asked_by_theta(0)(n, m, theta)
    up, down = _ladder(n, m)
    higher, lower = _turned(order - 1, n, m + 1, theta), _turned(order - 1, n, m - 1, theta)
    return _sense(theta) * (up * higher - down * lower)


def _sense(theta: Any) -> Any:
    """Return the sign of the sine: SciPy takes its absolute value, so that functions of angles are even."""
    return ops.where(ops.sin(theta) < 0, -1.0, 1.0)


@cache
def _harmonic(by_theta: int, by_phi: int) -> Function:
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
        return _harmonic(0, 0)(n, m, theta, phi)
    up, down = _ladder(n, m)
    turn = ops.exp(1j * phi)
    higher = _turned_harmonic(by_theta - 1, 0, n, m + 1, theta, phi)
    lower = _turned_harmonic(by_theta - 1, 0, n, m - 1, theta, phi)
    return _sense(theta) * (up * (higher / turn) - down * (lower * turn))


# ---- functions ---------------------------------------------------------------------------------------------


def _orders(name: str, diff_n: Any) -> range:
    try:
        order = index(diff_n)
    except TypeError:
        order = -1
    if not 0 <= order <= 2:
        raise OptionError(
            f"{name}: diff_n={diff_n!r}. It must be 0, 1 or 2; derivatives of Vars are of any order"
        )
    return range(order + 1)


def _counts(name: str, *counts: Any) -> list[Any]:
    """Return degrees and orders, which are integers without a derivative."""
    for count in counts:
        refuse_derivative(count, f"{name} by its degree or order", "Pass integers there")
        if np.result_type(count).kind not in "iub":
            raise OptionError(f"{name}: a degree or order is no integer. Pass integers")
    return [count if hasattr(count, "dtype") else np.asarray(count) for count in counts]


def _up_to(name: str, n: Any, m: Any, rank: int) -> tuple[Any, Any]:
    """Return degrees up to n, and orders 0 to m and then -m to -1, along axes before those of an array."""
    try:
        last, most = index(n), index(m)
    except TypeError:
        last = most = -1
    if last < 0:
        raise OptionError(f"{name}: n={n!r}, m={m!r}. They must be integers, n not negative")
    most = abs(most)
    degrees = np.arange(last + 1).reshape(-1, *(1,) * (rank + 1))
    return degrees, np.r_[0 : most + 1, -most:0].reshape(-1, *(1,) * rank)


@for_vars
def legendre_p(n: Any, z: Any, *, diff_n: int = 0) -> Any:
    """Return Legendre's polynomial of degree n at z and its derivatives up to an order, along the first axis.

    Parameters
    ----------
    n : array_like of int
        Of a shape that broadcasts with that of z.
    z : array_like or Var
        Any shape.
    diff_n : {0, 1, 2}
        The order.

    Returns
    -------
    Var
        Of shape ``[diff_n + 1, ...]``.

    Raises
    ------
    OptionError
        If n are no integers, or if there is no such order.

    Examples
    --------
    >>> import tape
    >>> round(float(tape.grad(lambda z: tape.scipy.special.legendre_p(2, z)[0])(0.5)), 12)
    1.5
    """
    orders = _orders("legendre_p", diff_n)
    (n,) = _counts("legendre_p", n)
    return ops.stack([_asked_legendre(k)(n, 0, array(z)) for k in orders])


@for_vars
def legendre_p_all(n: int, z: Any, *, diff_n: int = 0) -> Any:
    """Return `legendre_p` of all degrees up to n, along the second axis."""
    z = array(z)
    degrees, _ = _up_to("legendre_p_all", n, 0, z.ndim)
    orders = _orders("legendre_p_all", diff_n)
    return ops.stack([_asked_legendre(k)(degrees[:, 0], 0, z) for k in orders])


@for_vars
def assoc_legendre_p(
    n: Any, m: Any, z: Any, *, branch_cut: int = 2, norm: bool = False, diff_n: int = 0
) -> Any:
    """Return the associated Legendre function of degree n and order m at z, and its derivatives by z.

    Parameters
    ----------
    n, m : array_like of int
        Of shapes that broadcast with that of z.
    z : array_like or Var
        Any shape.
    branch_cut : {2, 3}
        For complex z: cut off where abs(z) > 1, or between -1 and 1.
    norm : bool
        Whether to normalise.
    diff_n : {0, 1, 2}
        The order up to which derivatives are returned, along the first axis.

    Returns
    -------
    Var
        Of shape ``[diff_n + 1, ...]``.

    Raises
    ------
    OptionError
        If n or m are no integers, or if an option is something else.
    UnsupportedError
        By complex z, at the third derivative.

    Examples
    --------
    >>> import tape
    >>> f = tape.scipy.special.assoc_legendre_p
    >>> round(float(tape.grad(lambda z: f(3, 2, z)[0])(0.0)), 12)  # of 15 z (1 - z**2)
    15.0
    """
    orders = _orders("assoc_legendre_p", diff_n)
    n, m = _counts("assoc_legendre_p", n, m)
    cut = _cut("assoc_legendre_p", branch_cut)
    return ops.stack([_asked(k, cut, bool(norm))(n, m, array(z)) for k in orders])


def _cut(name: str, branch_cut: Any) -> int:
    if np.ndim(branch_cut) or branch_cut not in (2, 3):
        raise OptionError(f"{name}: branch_cut={branch_cut!r}. It must be 2 or 3")
    return int(branch_cut)


@for_vars
def assoc_legendre_p_all(
    n: int, m: int, z: Any, *, branch_cut: int = 2, norm: bool = False, diff_n: int = 0
) -> Any:
    """Return `assoc_legendre_p` of all degrees up to n and orders up to m, along the axes after the first."""
    z = array(z)
    degrees, sizes = _up_to("assoc_legendre_p_all", n, m, z.ndim)
    orders = _orders("assoc_legendre_p_all", diff_n)
    cut = _cut("assoc_legendre_p_all", branch_cut)
    return ops.stack([_asked(k, cut, bool(norm))(degrees, sizes, z) for k in orders])


@for_vars
def sph_legendre_p(n: Any, m: Any, theta: Any, *, diff_n: int = 0) -> Any:
    """Return the spherical Legendre function of degree n and order m, and its derivatives by theta.

    Parameters
    ----------
    n, m : array_like of int
        Of shapes that broadcast with that of theta.
    theta : array_like or Var
        Angles.
    diff_n : {0, 1, 2}
        The order up to which derivatives are returned, along the first axis.

    Returns
    -------
    Var
        Of shape ``[diff_n + 1, ...]``.

    Raises
    ------
    OptionError
        If n or m are no integers, or if there is no such order.

    Examples
    --------
    >>> import tape
    >>> f = tape.scipy.special.sph_legendre_p
    >>> round(float(tape.grad(lambda theta: f(1, 1, theta)[0])(0.0)), 6)  # of -sqrt(3 / 8 / pi) sin(theta)
    -0.345494
    """
    orders = _orders("sph_legendre_p", diff_n)
    n, m = _counts("sph_legendre_p", n, m)
    return ops.stack([_asked_by_theta(k)(n, m, array(theta)) for k in orders])


@for_vars
def sph_legendre_p_all(n: int, m: int, theta: Any, *, diff_n: int = 0) -> Any:
    """Return `sph_legendre_p` of all degrees up to n and orders up to m, along the axes after the first."""
    theta = array(theta)
    degrees, sizes = _up_to("sph_legendre_p_all", n, m, theta.ndim)
    orders = _orders("sph_legendre_p_all", diff_n)
    return ops.stack([_asked_by_theta(k)(degrees, sizes, theta) for k in orders])


@for_vars
def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Return the spherical harmonic of degree n and order m, and its gradient and Hessian by the angles.

    Parameters
    ----------
    n, m : array_like of int
        Of shapes that broadcast with those of the angles.
    theta, phi : array_like or Var
        Polar and azimuthal angle.
    diff_n : {0, 1, 2}
        Whether to return the gradient, and the Hessian.

    Returns
    -------
    Var or tuple of Var
        Complex; the gradient has one more axis of length 2, the Hessian two.

    Raises
    ------
    OptionError
        If n or m are no integers, or if there is no such order.

    Examples
    --------
    >>> import numpy as np, tape
    >>> f = tape.scipy.special.sph_harm_y
    >>> slope = tape.grad(lambda theta: np.real(f(1, 1, theta, np.pi)))(0.0)
    >>> round(float(slope), 6)
    0.345494
    """
    orders = _orders("sph_harm_y", diff_n)
    n, m = _counts("sph_harm_y", n, m)
    return _with_derivatives(orders, n, m, array(theta), array(phi))


@for_vars
def sph_harm_y_all(n: int, m: int, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Return `sph_harm_y` of all degrees up to n and orders up to m, along the first two axes."""
    theta, phi = array(theta), array(phi)
    degrees, sizes = _up_to("sph_harm_y_all", n, m, max(theta.ndim, phi.ndim))
    return _with_derivatives(_orders("sph_harm_y_all", diff_n), degrees, sizes, theta, phi)


def _with_derivatives(orders: range, n: Any, m: Any, theta: Any, phi: Any) -> Any:
    def of(by_theta: int, by_phi: int) -> Any:
        return _harmonic(by_theta, by_phi)(n, m, theta, phi)

    found = [of(0, 0)]
    if len(orders) > 1:
        found.append(ops.stack([of(1, 0), of(0, 1)], axis=-1))
    if len(orders) > 2:
        rows = [ops.stack([of(2, 0), of(1, 1)], axis=-1), ops.stack([of(1, 1), of(0, 2)], axis=-1)]
        found.append(ops.stack(rows, axis=-2))
    return tuple(found) if len(found) > 1 else found[0]
