"""Functions of several results: scaled Airy, complex Kelvin, integrals of Airy and Bessel functions.

Sources of the derivatives: DLMF 9.2.1 (Airy), 10.61.3 (Kelvin), and the integrands. Some of SciPy's values
are wrong or short of digits, and are computed otherwise here: the integrals of Airy functions up to 9.25,
that of K0 from 3 on, and modified Fresnel integrals of negative numbers.
"""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from tape.core.elementwise import elementwise
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.complex import real
from tape.ops.elementwise.elementary import exp, sqrt
from tape.ops.elementwise.rounding import floor
from tape.ops.elementwise.scipy_ufuncs import (
    Function,
    component,
    declare_several,
    in_float64,
    narrowed,
    scipy_ufunc,
    ufunc_named,
)
from tape.ops.elementwise.selection import logical_and, sign, where
from tape.ops.special.airy import airy, kelvin_series
from tape.ops.special.bessel import i0, j0, k0, y0
from tape.ops.special.by_parameters.numbers import FALL, in_blocks, nodes

__all__ = [
    "airye", "besselpoly", "it2i0k0", "it2j0y0", "itairy", "kelvin", "modfresnelm", "modfresnelp",
]  # fmt: skip

declare_samples(
    "scipy.special.airye, scipy.special.it2i0k0, scipy.special.it2j0y0(1 + x)",
    "tape.ops.special.itairy(1 + x)",
    "scipy.special.kelvin, scipy.special.modfresnelm, scipy.special.modfresnelp(1 + x)",
    "scipy.special.besselpoly(x, 1.5, 2.5)",
)

# ---- Airy ------------------------------------------------------------------------------------------------

# The scale of ai is exp(s), that of bi exp(-abs(real(s))), with s = 2 / 3 z sqrt(z), whose slope is sqrt(z).


def _root(z: Any) -> Any:
    """Return the square root; of negative real numbers its real part, 0."""
    if z.dtype.kind == "c":
        return sqrt(z)
    is_positive = z > 0
    return where(is_positive, sqrt(where(is_positive, z, 1.0)), 0.0)


def _pull_scaled(d: Any, out: Any, z: Any, slope: Any) -> Any:
    """Apply the reverse rule of a function times ``exp(-abs(real(s)))``, of this slope without the factor."""
    root = _root(z)
    return d * slope - sign(real(z * root)) * real(d * out) * root


def _push_scaled(t: Any, out: Any, z: Any, slope: Any) -> Any:
    root = _root(z)
    return t * slope - sign(real(z * root)) * real(root * t) * out


_aie: Function = component("airye", 0, "eai", lambda d, out, z: d * (_aipe(z) + _root(z) * out))
_aipe: Function = component("airye", 1, "eaip", lambda d, out, z: d * (z * _aie(z) + _root(z) * out))
_bie: Any = component("airye", 2, "ebi", lambda d, out, z: _pull_scaled(d, out, z, _bipe(z)))
_bipe: Any = component("airye", 3, "ebip", lambda d, out, z: _pull_scaled(d, out, z, z * _bie(z)))
_bie.op.jvp = [lambda t, out, z: _push_scaled(t, out, z, _bipe(z))]
_bipe.op.jvp = [lambda t, out, z: _push_scaled(t, out, z, z * _bie(z))]


def airye(z: Any) -> tuple[Any, Any, Any, Any]:
    """The scaled Airy functions and, scaled alike, their derivatives.

    Parameters
    ----------
    z : array_like or Var
        Any shape. Of negative real numbers the first two are NaN.

    Returns
    -------
    eai, eaip, ebi, ebip : numpy.ndarray, numpy.number or Var
        The first two times ``exp(s)``, the others times ``exp(-abs(real(s)))``, where s is
        ``2 / 3 * z * sqrt(z)``. Where real(s) is 0, the derivative of the latter factor is taken as 0.

    Examples
    --------
    >>> import tape
    >>> [round(float(value), 6) for value in tape.ops.special.airye(1.0)]
    [0.263514, -0.309977, 0.619912, 0.478729]
    """
    return _aie(z), _aipe(z), _bie(z), _bipe(z)


def _airy_integral(name: str, k: int, sense: int) -> Function:
    """Declare a result of `itairy`, by quadrature where SciPy's series lose digits; k is 0 or 2."""

    def part(x: Any) -> Any:
        t, weights = nodes(0 * x, sense * x)
        return sense * np.sum(weights * ufunc_named("airy")(t)[k], axis=1)

    def forward(x: Any) -> Any:
        theirs = ufunc_named("itairy")(x)[k // 2 + (1 - sense)]
        is_near = np.abs(x) < 9.25  # from there on they are asymptotic
        found = np.where(is_near, in_blocks(part, np.where(is_near, x, 0.0)), theirs)
        return narrowed(found[()], (x,))

    return elementwise(
        forward,
        lambda d, out, x: d * airy(sense * x)[k],
        name=f"itairy_{name}",
        doc=f"The result {name} of itairy.",
    )


_apt, _bpt = _airy_integral("apt", 0, 1), _airy_integral("bpt", 2, 1)
_ant, _bnt = _airy_integral("ant", 0, -1), _airy_integral("bnt", 2, -1)


def itairy(x: Any) -> tuple[Any, Any, Any, Any]:
    """Integrals of the Airy functions from 0 to x, and of the same of negative arguments.

    Parameters
    ----------
    x : array_like or Var
        Any shape.

    Returns
    -------
    apt, bpt, ant, bnt : numpy.ndarray, numpy.floating or Var
        Of ai(t), bi(t), ai(-t) and bi(-t).

    Examples
    --------
    >>> import tape
    >>> [round(float(value), 6) for value in tape.ops.special.itairy(1.0)]
    [0.236317, 0.872769, 0.465674, 0.373005]
    """
    return _apt(x), _bpt(x), _ant(x), _bnt(x)


# ---- Kelvin ----------------------------------------------------------------------------------------------


def _over(out: Any, x: Any) -> Any:
    is_near = abs(x) < 1
    near, far = where(is_near, x, 0.0), where(is_near, 1.0, x)
    return where(is_near, kelvin_series(near, 2) + 1j * kelvin_series(near, 1), out / far)


_be: Function = component("kelvin", 0, "be", lambda d, out, x: d * _bep(x))
_ke: Function = component("kelvin", 1, "ke", lambda d, out, x: d * _kep(x))
_bep: Function = component("kelvin", 2, "bep", lambda d, out, x: d * (1j * _be(x) - _over(out, x)))
_kep: Function = component("kelvin", 3, "kep", lambda d, out, x: d * (1j * _ke(x) - out / x))


def kelvin(x: Any) -> tuple[Any, Any, Any, Any]:
    """Kelvin's functions as complex numbers, and their derivatives.

    Parameters
    ----------
    x : array_like or Var
        Any shape.

    Returns
    -------
    be, ke, bep, kep : numpy.ndarray, numpy.complexfloating or Var
        ``ber + 1j * bei``, ``ker + 1j * kei`` and their derivatives.

    Examples
    --------
    >>> import tape
    >>> [complex(value.round(4)) for value in tape.ops.special.kelvin(1.0)[:2]]
    [(0.9844+0.2496j), (0.2867-0.495j)]
    """
    return _be(x), _ke(x), _bep(x), _kep(x)


# ---- integrals of Bessel functions -----------------------------------------------------------------------


def _less_one_over_x(f: Function, turn: float, x: Any) -> Any:
    """Return ``(f(x) - 1) / x`` of `i0`, or of `j0`, whose power series alternates; near 0 by that series."""
    is_near = abs(x) < 1
    near, far = where(is_near, x, 0.0), where(is_near, 1.0, x)
    square = turn * near * near / 4
    series: Any = 1.0
    for k in range(10, 1, -1):
        series = 1 + square / (k * k) * series
    return where(is_near, turn * near / 4 * series, (f(far) - 1) / far)


def _k0_integral(x: Any) -> Any:
    """Return the integral of ``k0(t) / t`` from x on; of large x that of ``exp1(x cosh(u))`` over u."""
    is_far = x > 3
    far = np.where(is_far, x, 3.0)
    step = np.arccosh(1 + FALL / far) / 64
    terms = ufunc_named("exp1")(far * np.cosh(np.multiply.outer(np.arange(65), step)))
    theirs = ufunc_named("it2i0k0")(np.where(is_far, 1.0, x))[1]
    return np.where(is_far, step * (np.sum(terms, axis=0) - terms[0] / 2), theirs)


_it2i0 = component("it2i0k0", 0, "ii0", lambda d, out, x: d * _less_one_over_x(i0, 1.0, x))
_it2k0 = elementwise(
    lambda x: narrowed(_k0_integral(x)[()], (x,)),
    lambda d, out, x: -(d * (k0(x) / x)),
    name="it2i0k0_ik0",
    doc="The result ik0 of it2i0k0.",
)
_it2j0 = component("it2j0y0", 0, "ij0", lambda d, out, x: -(d * _less_one_over_x(j0, -1.0, x)))
_it2y0 = component("it2j0y0", 1, "iy0", lambda d, out, x: -(d * (y0(x) / x)))


def it2i0k0(x: Any) -> tuple[Any, Any]:
    """Integrals of ``(i0(t) - 1) / t`` from 0 to x, and of ``k0(t) / t`` from x on.

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
    >>> [round(float(value), 6) for value in tape.ops.special.it2i0k0(1.0)]
    [0.128979, 0.208518]
    """
    return _it2i0(x), _it2k0(x)


def it2j0y0(x: Any) -> tuple[Any, Any]:
    """Integrals of ``(1 - j0(t)) / t`` from 0 to x, and of ``y0(t) / t`` from x on.

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
    >>> [round(float(value), 6) for value in tape.ops.special.it2j0y0(1.0)]
    [0.121165, 0.395273]
    """
    return _it2j0(x), _it2y0(x)


besselpoly: Function = scipy_ufunc(
    "besselpoly",
    "The integral of ``t**lmb * jv(nu, 2 * a * t)`` from 0 to 1, of a, lmb and nu, differentiable by a.",
    lambda d, out, a, lmb, nu: d * _besselpoly_slope(a, lmb, nu),
    None,
    None,
)


def _besselpoly_slope(a: Any, lmb: Any, nu: Any) -> Any:
    is_root = logical_and(a == 0, logical_and(nu < 1, nu != floor(nu)))  # there jv has an infinite slope
    slope = besselpoly(a, lmb + 1, nu - 1) - besselpoly(a, lmb + 1, nu + 1)
    return where(is_root, np.inf, slope)


# ---- modified Fresnel integrals --------------------------------------------------------------------------


def _half_turn(sense: int, x: Any) -> Any:
    return exp(sense * 1j * (x * x))


def _modified_fresnel(name: str, letter: str, sense: int) -> tuple[Function, Function]:
    """Declare both results: the integral of ``exp(sense * 1j * t**2)`` from x on, and the same scaled."""
    start = complex(1, -sense) / (2 * pi) ** 0.5  # exp(-sense * 1j * pi / 4) / sqrt(pi)

    def forward(x: Any) -> Any:
        plain, scaled = ufunc_named(name)(
            x
        )  # of negative x, SciPy's first result is that of another function
        angle = in_float64(x) ** 2
        found = np.where(x < 0, scaled * np.exp(sense * 1j * angle) / start, plain)
        return narrowed(found.astype(plain.dtype)[()], (x,))

    return (
        elementwise(
            forward,
            lambda d, out, x: -(d * _half_turn(sense, x)),
            name=f"{name}_f{letter}",
            doc=f"The result f{letter} of {name}.",
        ),
        component(name, 1, f"k{letter}", lambda d, out, x: d * (x * out * (-2j * sense) - start)),
    )


_fp, _kp = _modified_fresnel("modfresnelp", "p", 1)
_fm, _km = _modified_fresnel("modfresnelm", "m", -1)


def modfresnelp(x: Any) -> tuple[Any, Any]:
    """The modified Fresnel integral of ``exp(1j * t**2)`` from x on, plain and scaled.

    Parameters
    ----------
    x : array_like or Var
        Any shape.

    Returns
    -------
    fp, kp : numpy.ndarray, numpy.complexfloating or Var
        kp is fp times ``exp(-1j * (x**2 + pi / 4)) / sqrt(pi)``.

    Examples
    --------
    >>> import tape
    >>> [complex(value.round(4)) for value in tape.ops.special.modfresnelp(1.0)]
    [(-0.2779+0.3164j), (0.2078+0.1152j)]
    """
    return _fp(x), _kp(x)


def modfresnelm(x: Any) -> tuple[Any, Any]:
    """The modified Fresnel integral of ``exp(-1j * t**2)`` from x on, plain and scaled.

    Parameters
    ----------
    x : array_like or Var
        Any shape.

    Returns
    -------
    fm, km : numpy.ndarray, numpy.complexfloating or Var
        km is fm times ``exp(1j * (x**2 + pi / 4)) / sqrt(pi)``.

    Examples
    --------
    >>> import tape
    >>> [complex(value.round(4)) for value in tape.ops.special.modfresnelm(1.0)]
    [(-0.2779-0.3164j), (0.2078-0.1152j)]
    """
    return _fm(x), _km(x)


for _function in (airye, it2i0k0, it2j0y0, itairy, kelvin, modfresnelm, modfresnelp):
    declare_several(_function.__name__, _function)
