"""Legendre functions and spherical harmonics, called as in SciPy, with derivatives by their arguments."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from tape import ops
from tape.errors import DTypeError, OptionError
from tape.numpy._conversion import array
from tape.ops.elementwise.scipy_ufuncs import refuse_derivative
from tape.scipy.special._calls import for_vars
from tape.scipy.special._legendre_operations import (
    associated_by_z,
    harmonic_by_angles,
    legendre_by_z,
    spherical_by_theta,
)

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
    return ops.stack([legendre_by_z(k)(n, 0, array(z)) for k in orders])


@for_vars
def legendre_p_all(n: int, z: Any, *, diff_n: int = 0) -> Any:
    """Return `legendre_p` of all degrees up to n, along the second axis."""
    z = array(z)
    degrees, _ = _up_to("legendre_p_all", n, 0, z.ndim)
    orders = _orders("legendre_p_all", diff_n)
    return ops.stack([legendre_by_z(k)(degrees[:, 0], 0, z) for k in orders])


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
    return ops.stack([associated_by_z(k, cut, bool(norm))(n, m, array(z)) for k in orders])


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
    return ops.stack([associated_by_z(k, cut, bool(norm))(degrees, sizes, z) for k in orders])


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
    return ops.stack([spherical_by_theta(k)(n, m, array(theta)) for k in orders])


@for_vars
def sph_legendre_p_all(n: int, m: int, theta: Any, *, diff_n: int = 0) -> Any:
    """Return `sph_legendre_p` of all degrees up to n and orders up to m, along the axes after the first."""
    theta = array(theta)
    degrees, sizes = _up_to("sph_legendre_p_all", n, m, theta.ndim)
    orders = _orders("sph_legendre_p_all", diff_n)
    return ops.stack([spherical_by_theta(k)(degrees, sizes, theta) for k in orders])


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
    return _with_derivatives(orders, n, m, _angle("sph_harm_y", theta), _angle("sph_harm_y", phi))


@for_vars
def sph_harm_y_all(n: int, m: int, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Return `sph_harm_y` of all degrees up to n and orders up to m, along the first two axes."""
    theta, phi = _angle("sph_harm_y_all", theta), _angle("sph_harm_y_all", phi)
    degrees, sizes = _up_to("sph_harm_y_all", n, m, max(theta.ndim, phi.ndim))
    return _with_derivatives(_orders("sph_harm_y_all", diff_n), degrees, sizes, theta, phi)


def _angle(name: str, angle: Any) -> Any:
    """Return a real angle as floats: the dtype of the result tells no more whether it was complex."""
    found = array(angle)
    kind = np.result_type(found).kind
    if kind == "c":
        raise DTypeError(f"{name}: an angle is complex. Pass real angles")
    return found if kind == "f" else ops.astype(found, np.float64)


def _with_derivatives(orders: range, n: Any, m: Any, theta: Any, phi: Any) -> Any:
    def of(by_theta: int, by_phi: int) -> Any:
        return harmonic_by_angles(by_theta, by_phi)(n, m, theta, phi)

    found = [of(0, 0)]
    if len(orders) > 1:
        found.append(ops.stack([of(1, 0), of(0, 1)], axis=-1))
    if len(orders) > 2:
        rows = [ops.stack([of(2, 0), of(1, 1)], axis=-1), ops.stack([of(1, 1), of(0, 2)], axis=-1)]
        found.append(ops.stack(rows, axis=-2))
    return tuple(found) if len(found) > 1 else found[0]
