"""Airy, Kelvin, Struve and Hankel functions, integrals of Bessel ones: DLMF 9, 10.6, 10.61, 10.65, 11.4."""

from __future__ import annotations

from math import factorial, pi, sqrt
from typing import Any

from tape.inspect.samples import declare_samples
from tape.ops.elementwise.scipy_ufuncs import Function, component, declare_several, scipy_ufunc
from tape.ops.elementwise.selection import where
from tape.ops.special.bessel import i0, j0, k0, y0
from tape.ops.special.gammas import rgamma

__all__ = [
    "airy",
    "bei",
    "beip",
    "ber",
    "berp",
    "hankel1",
    "hankel1e",
    "hankel2",
    "hankel2e",
    "iti0k0",
    "itj0y0",
    "itmodstruve0",
    "itstruve0",
    "kei",
    "keip",
    "ker",
    "kerp",
    "modstruve",
    "struve",
]

declare_samples(
    "scipy.special.hankel1, scipy.special.hankel1e, scipy.special.hankel2, scipy.special.hankel2e(1, x)",
    "scipy.special.modstruve, scipy.special.struve(1, x)",
    "scipy.special.airy, scipy.special.iti0k0, scipy.special.itj0y0(x)",
)

# ---- Airy ------------------------------------------------------------------------------------------------

_ai: Function = component("airy", 0, "ai", lambda d, out, x: d * _aip(x))
_aip: Function = component("airy", 1, "aip", lambda d, out, x: d * (x * _ai(x)))
_bi: Function = component("airy", 2, "bi", lambda d, out, x: d * _bip(x))
_bip: Function = component("airy", 3, "bip", lambda d, out, x: d * (x * _bi(x)))


def airy(x: Any) -> tuple[Any, Any, Any, Any]:
    """The Airy functions and their derivatives.

    Parameters
    ----------
    x : array_like or Var
        Any shape.

    Returns
    -------
    ai, aip, bi, bip : numpy.ndarray, numpy.number or Var

    Examples
    --------
    >>> import tape
    >>> [round(float(value), 6) for value in tape.ops.special.airy(0.0)]
    [0.355028, -0.258819, 0.614927, 0.448288]
    """
    return _ai(x), _aip(x), _bi(x), _bip(x)


declare_several("airy", airy)

# ---- Kelvin ----------------------------------------------------------------------------------------------


# A quotient that is only replaced at 0 by its limit would have no derivatives there.


def kelvin_series(x: Any, first: int) -> Any:
    """Return, for x of less than 1, `beip` (first is 1) or `berp` (2) divided by x: DLMF 10.65.1.

    Examples
    --------
    >>> from tape.ops.special.airy import kelvin_series
    >>> kelvin_series(0.0, 1), kelvin_series(0.0, 2)
    (0.5, -0.0)
    """
    square = x * x
    fourth = square * square
    total: Any = 0.0
    for k in range(first + 10, 0, -2):
        total = (-1.0) ** (k // 2) * 2 * k / (4.0**k * factorial(k) ** 2) + fourth * total
    return total if first == 1 else square * total


def _ratio(out: Any, x: Any, first: int) -> Any:
    is_near = abs(x) < 1
    series = kelvin_series(where(is_near, x, 0.0), first)
    return where(is_near, series, out / where(is_near, 1.0, x))


ber: Function = scipy_ufunc("ber", "Kelvin's function ber.", lambda d, out, x: d * berp(x))
bei: Function = scipy_ufunc("bei", "Kelvin's function bei.", lambda d, out, x: d * beip(x))
ker: Function = scipy_ufunc("ker", "Kelvin's function ker.", lambda d, out, x: d * kerp(x))
kei: Function = scipy_ufunc("kei", "Kelvin's function kei.", lambda d, out, x: d * keip(x))
berp: Function = scipy_ufunc(
    "berp", "The derivative of ber.", lambda d, out, x: -(d * (bei(x) + _ratio(out, x, 2)))
)
beip: Function = scipy_ufunc(
    "beip", "The derivative of `bei`.", lambda d, out, x: d * (ber(x) - _ratio(out, x, 1))
)
kerp: Function = scipy_ufunc("kerp", "The derivative of `ker`.", lambda d, out, x: d * -(kei(x) + out / x))
keip: Function = scipy_ufunc("keip", "The derivative of `kei`.", lambda d, out, x: d * (ker(x) - out / x))

# ---- Struve ----------------------------------------------------------------------------------------------


def _first_term(v: Any, x: Any) -> Any:
    return (x / 2) ** v * (rgamma(v + 1.5) / (2 * sqrt(pi)))


struve: Function = scipy_ufunc(
    "struve",
    "Struve's function of order v, differentiable by x.",
    None,
    lambda d, out, v, x: d * ((struve(v - 1, x) - struve(v + 1, x)) / 2 + _first_term(v, x)),
)
modstruve: Function = scipy_ufunc(
    "modstruve",
    "The modified Struve function of order v, differentiable by x.",
    None,
    lambda d, out, v, x: d * ((modstruve(v - 1, x) + modstruve(v + 1, x)) / 2 + _first_term(v, x)),
)
itstruve0 = scipy_ufunc(
    "itstruve0", "The integral of Struve's function of order 0.", lambda d, out, x: d * struve(0.0, x)
)
itmodstruve0 = scipy_ufunc(
    "itmodstruve0",
    "The integral of the modified Struve function of order 0.",
    lambda d, out, x: d * modstruve(0.0, x),
)

# ---- Hankel ----------------------------------------------------------------------------------------------


def _hankel(name: str, kind: str, turn: complex) -> Function:
    """Declare a Hankel function, times ``exp(turn * z)``."""
    found: list[Function] = []

    def slope(v: Any, z: Any) -> Any:
        (function,) = found
        return (function(v - 1, z) - function(v + 1, z)) / 2

    function = scipy_ufunc(
        name,
        f"The Hankel function of the {kind} kind, of order v, {'scaled, ' if turn else ''}by z.",
        None,
        lambda d, out, v, z: d * (slope(v, z) + turn * out),
    )
    found.append(function)
    return function


hankel1 = _hankel("hankel1", "first", 0)
hankel1e = _hankel("hankel1e", "first", -1j)
hankel2 = _hankel("hankel2", "second", 0)
hankel2e = _hankel("hankel2e", "second", 1j)

# ---- integrals of Bessel functions -------------------------------------------------------------------------

_itj0 = component("itj0y0", 0, "ij0", lambda d, out, x: d * j0(x))
_ity0 = component("itj0y0", 1, "iy0", lambda d, out, x: d * y0(x))
_iti0 = component("iti0k0", 0, "ii0", lambda d, out, x: d * i0(x))
_itk0 = component("iti0k0", 1, "ik0", lambda d, out, x: d * k0(x))


def itj0y0(x: Any) -> tuple[Any, Any]:
    """Integrals of the Bessel functions `j0` and `y0` from 0 to x.

    Parameters
    ----------
    x : array_like or Var
        Any shape.

    Returns
    -------
    ij0, iy0 : numpy.ndarray, numpy.floating or Var

    Examples
    --------
    >>> import tape
    >>> [round(float(value), 6) for value in tape.ops.special.itj0y0(1.0)]
    [0.91973, -0.637069]
    """
    return _itj0(x), _ity0(x)


def iti0k0(x: Any) -> tuple[Any, Any]:
    """Integrals of the modified Bessel functions `i0` and `k0` from 0 to x.

    Parameters
    ----------
    x : array_like or Var
        Any shape.

    Returns
    -------
    ii0, ik0 : numpy.ndarray, numpy.floating or Var

    Examples
    --------
    >>> import tape
    >>> [round(float(value), 6) for value in tape.ops.special.iti0k0(1.0)]
    [1.086521, 1.24251]
    """
    return _iti0(x), _itk0(x)


declare_several("itj0y0", itj0y0)
declare_several("iti0k0", iti0k0)
