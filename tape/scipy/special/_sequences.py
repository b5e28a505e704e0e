"""Functions of all orders up to one at once, with their derivatives: called as in SciPy, of one number.

Values are SciPy's. The slope of the first result is the second, and that of the second is by the differential
equation (DLMF 12.2.2, 14.2.2); of those with a regular point at 0 by a formula without gap there.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from tape.core.op import Op
from tape.errors import OptionError, ShapeError, UnsupportedError, describe
from tape.numpy._conversion import array
from tape.ops import special
from tape.ops.elementwise.scipy_ufuncs import narrowed, refuse_derivative
from tape.scipy.special._calls import in_double

__all__ = ["lmbda", "lqmn", "lqn", "pbdn_seq", "pbdv_seq", "pbvv_seq", "riccati_jn", "riccati_yn"]

Function = Callable[..., Any]


def _pair(name: str, second: Callable[..., Any]) -> Function:
    """Declare SciPy's function of settings and a number as two operations of the number.

    ``second(f, slope, z, **settings)`` is the slope of the second result.
    """

    def result(k: int) -> Function:
        def forward(z: Any, **settings: Any) -> Any:
            import scipy.special

            given = np.asarray(z, np.result_type(z, np.float64))[()]  # some take nothing but numbers
            is_endless = name == "lmbda" and np.isnan(given)  # at NaN SciPy's function ends the process
            found = getattr(scipy.special, name)(*settings.values(), 1.0 if is_endless else given)[k]
            return narrowed(found * np.nan if is_endless else found, (z,))

        return forward

    values: Function = Op(
        result(0),
        jvp=[lambda t, out, z, **settings: t * slopes(z, **settings)],
        name=f"{name}_values",
        data_dependent=False,
    )
    slopes: Function = Op(
        result(1),
        jvp=[lambda t, out, z, **settings: t * second(values(z, **settings), out, z, **settings)],
        name=f"{name}_slopes",
        data_dependent=False,
    )
    return lambda z, **settings: (values(z, **settings), slopes(z, **settings))


def _count(name: str, n: Any, *, is_whole: bool = True) -> Any:
    """Return a degree or order, which is no Var with a derivative, and not negative.

    Those below 0 SciPy counts otherwise than its own documentation.
    """
    refuse_derivative(n, f"{name} by its order", "Pass a number there")
    try:
        count = index(n) if is_whole else float(n)
    except (TypeError, ValueError):
        count = -1
    if not count >= 0:
        raise OptionError(
            f"{name}: an order is {n!r}. It must be {'an integer' if is_whole else 'a number'} from 0 on"
        )
    return count


def _number(name: str, z: Any) -> Any:
    z = array(z)
    if z.ndim:
        raise ShapeError(f"{name} takes one number, not shape {list(z.shape)}. Use tape.vmap for several")
    return z


def _axis(count: int, z: Any) -> Any:
    """Return the numbers from 0 up to this one, along an axis before those of an array."""
    return np.arange(count + 1.0).reshape(-1, *(1,) * z.ndim)


# ---- Bessel ------------------------------------------------------------------------------------------------


def _lambda_orders(v: float) -> Any:
    return v - int(v) + np.arange(int(v) + 1)


def _lambda_slope(f: Any, slope: Any, x: Any, v: float) -> Any:
    order, square = _lambda_orders(v), -x * x / 4
    return -special.hyp0f1(order + 2, square) / (2 * (order + 1)) + x * x / (
        4 * (order + 1) * (order + 2)
    ) * special.hyp0f1(order + 3, square)


_lmbda = _pair("lmbda", _lambda_slope)


@in_double
def lmbda(v: Any, x: Any) -> Any:
    """Return Jahnke and Emden's lambda functions of all orders up to v, and their derivatives, of one number.

    Parameters
    ----------
    v : float
        Not negative; the orders are whole numbers apart.
    x : float or Var
        One number.

    Returns
    -------
    vl, dl : Var
        Of shape ``[int(v) + 1]``.

    Raises
    ------
    OptionError
        If v is negative.
    ShapeError
        If x is not one number.

    Examples
    --------
    >>> import tape
    >>> round(float(tape.grad(lambda x: tape.scipy.special.lmbda(0, x)[0][0])(1.0)), 6)  # of j0
    -0.440051
    """
    return _lmbda(_number("lmbda", x), v=_count("lmbda", v, is_whole=False))


def _riccati_slope(f: Function) -> Function:
    def second(value: Any, slope: Any, x: Any, n: int) -> Any:
        order = np.arange(n + 1)
        neighbours = f(np.abs(order - 1), x) + f(order + 1, x)
        return order * (order + 1) / (2 * order + 1) * neighbours - x * f(order, x)

    return second


_riccati_jn = _pair("riccati_jn", _riccati_slope(special.spherical_jn))
_riccati_yn = _pair("riccati_yn", _riccati_slope(special.spherical_yn))


@in_double
def riccati_jn(n: Any, x: Any) -> Any:
    """Return ``x * spherical_jn(k, x)`` of all k up to n, and the derivatives, of one number x."""
    return _riccati_jn(_number("riccati_jn", x), n=_count("riccati_jn", n))


@in_double
def riccati_yn(n: Any, x: Any) -> Any:
    """Return ``x * spherical_yn(k, x)`` of all k up to n, and the derivatives, of one number x."""
    return _riccati_yn(_number("riccati_yn", x), n=_count("riccati_yn", n))


# ---- parabolic cylinder ------------------------------------------------------------------------------------


def _cylinder_slope(f: Any, slope: Any, x: Any, v: float) -> Any:
    return (x * x / 4 - (v - int(v) + np.arange(f.shape[0]) + 0.5)) * f


_pbdn_seq = _pair("pbdn_seq", _cylinder_slope)
_pbdv_seq = _pair("pbdv_seq", _cylinder_slope)
_pbvv_seq = _pair("pbvv_seq", _cylinder_slope)


@in_double
def pbdn_seq(n: Any, z: Any) -> Any:
    """Return parabolic cylinder functions D of whole orders up to n, and their derivatives, of one number.

    Parameters
    ----------
    n : int
        Not negative.
    z : float or Var
        One real number.

    Returns
    -------
    dv, dp : Var
        Of shape ``[max(n, 1) + 1]``, complex.

    Raises
    ------
    OptionError
        If n is negative, or no integer.
    ShapeError
        If z is not one number.
    UnsupportedError
        If z is complex: SciPy's values lack a factor there.

    Examples
    --------
    >>> import numpy as np, tape
    >>> first = lambda z: np.real(tape.scipy.special.pbdn_seq(1, z)[0][1])  # z exp(-z**2 / 4)
    >>> float(tape.grad(first)(0.0))
    1.0
    """
    z = _number("pbdn_seq", z)
    if z.dtype.kind == "c":
        raise UnsupportedError(
            f"pbdn_seq takes Vars of real numbers, not {describe(z)}: SciPy's values off the real axis lack "
            "the phase of exp(-z**2 / 4). Compute them from that and polynomials"
        )
    return _pbdn_seq(z, v=_count("pbdn_seq", n))


@in_double
def pbdv_seq(v: Any, x: Any) -> Any:
    """Return parabolic cylinder functions D of orders up to v, and their derivatives, of one real number."""
    return _pbdv_seq(_number("pbdv_seq", x), v=_count("pbdv_seq", v, is_whole=False))


@in_double
def pbvv_seq(v: Any, x: Any) -> Any:
    """Return parabolic cylinder functions V of orders up to v, and their derivatives, of one real number."""
    return _pbvv_seq(_number("pbvv_seq", x), v=_count("pbvv_seq", v, is_whole=False))


# ---- Legendre functions of the second kind -----------------------------------------------------------------


def _lqn_slope(f: Any, slope: Any, z: Any, n: int) -> Any:
    degree = _axis(n, z)
    return (2 * z * slope - degree * (degree + 1) * f) / (1 - z * z)


def _lqmn_slope(f: Any, slope: Any, z: Any, m: int, n: int) -> Any:
    order, degree = _axis(m, z)[:, None], _axis(n, z)
    width = 1 - z * z
    return (2 * z * slope - (degree * (degree + 1) - order * order / width) * f) / width


_lqn = _pair("lqn", _lqn_slope)
_lqmn = _pair("lqmn", _lqmn_slope)


@in_double
def lqn(n: Any, z: Any) -> Any:
    """Return Legendre's functions of the second kind of degrees up to n, and their derivatives by z.

    Parameters
    ----------
    n : int
        Not negative.
    z : array_like or Var
        Any shape.

    Returns
    -------
    qn, qd : Var
        Of shape ``[n + 1, ...]``.

    Raises
    ------
    OptionError
        If n is negative, or no integer.

    Examples
    --------
    >>> import tape
    >>> round(float(tape.grad(lambda z: tape.scipy.special.lqn(0, z)[0][0])(0.5)), 6)  # of atanh
    1.333333
    """
    return _lqn(array(z), n=_count("lqn", n))


@in_double
def lqmn(m: Any, n: Any, z: Any) -> Any:
    """Return the associated functions of `lqn`, of shape ``[m + 1, n + 1, ...]``, and their derivatives."""
    return _lqmn(array(z), m=_count("lqmn", m), n=_count("lqmn", n))
