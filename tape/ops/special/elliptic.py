"""Elliptic integrals of the first and second kind, by the parameter m, and Jacobi's functions.

The derivatives of complete integrals are hypergeometric functions, which have no cancellation at 0. Those of
incomplete ones by m are Carlson's integral R_D (DLMF 19.25.5, 19.25.9 and 19.18.1), which has no derivative
here: a second one by m is refused.
"""

from __future__ import annotations

from math import pi
from typing import Any

from tape.core.elementwise import elementwise
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.elementary import cos, sin, sqrt
from tape.ops.elementwise.rounding import rint
from tape.ops.elementwise.scipy_ufuncs import (
    Function,
    component,
    declare_several,
    narrowed,
    refuse_derivative,
    scipy_ufunc,
    ufunc_named,
)
from tape.ops.special.hypergeometric import hyp2f1

__all__ = ["agm", "ellipe", "ellipeinc", "ellipj", "ellipk", "ellipkinc", "ellipkm1"]

declare_samples(
    "scipy.special.ellipj, scipy.special.ellipeinc, scipy.special.ellipkinc(x, 0.3)",
    "scipy.special.ellipe, scipy.special.ellipk(x - 1)",
    "scipy.special.agm(x, v)",
)


def _first_by_m(m: Any) -> Any:
    return hyp2f1(0.5, 0.5, 2.0, m) / (1 - m) * (pi / 8)


def _second_by_m(m: Any) -> Any:
    return hyp2f1(0.5, 1.5, 2.0, m) * (-pi / 8)


ellipk = scipy_ufunc(
    "ellipk", "The complete elliptic integral of the first kind.", lambda d, out, m: d * _first_by_m(m)
)
ellipkm1 = scipy_ufunc(
    "ellipkm1",
    "The complete elliptic integral of the first kind, of ``p = 1 - m``, exact near 0.",
    lambda d, out, p: -(d * hyp2f1(0.5, 0.5, 2.0, 1 - p) / p * (pi / 8)),
)
ellipe = scipy_ufunc(
    "ellipe", "The complete elliptic integral of the second kind.", lambda d, out, m: d * _second_by_m(m)
)

_carlson = elementwise(
    lambda x, y, z: narrowed(ufunc_named("elliprd")(x, y, z), (x, y, z)),
    None,
    None,
    None,
    name="elliprd",
    doc="R_D.",
)


def _rd(x: Any, y: Any, z: Any) -> Any:
    for operand in (x, y, z):
        refuse_derivative(
            operand,
            "an incomplete elliptic integral, twice by m,",
            "Pass a number for m",
        )
    return _carlson(x, y, z)


def _incomplete_by_m(phi: Any, m: Any, complete: Any, is_first: bool) -> Any:
    periods = rint(phi / pi)
    rest = phi - periods * pi
    s, c = sin(rest), cos(rest)
    square, inner = c * c, 1 - m * (s * s)
    part = s * s * s / 6 * (_rd(square, 1.0, inner) if is_first else -_rd(square, inner, 1.0))
    return part + 2 * periods * complete(m)


ellipkinc = scipy_ufunc(
    "ellipkinc",
    "The incomplete elliptic integral of the first kind, of phi and m.",
    lambda d, out, phi, m: d / sqrt(1 - m * sin(phi) ** 2),
    lambda d, out, phi, m: d * _incomplete_by_m(phi, m, _first_by_m, True),
)
ellipeinc = scipy_ufunc(
    "ellipeinc",
    "The incomplete elliptic integral of the second kind, of phi and m.",
    lambda d, out, phi, m: d * sqrt(1 - m * sin(phi) ** 2),
    lambda d, out, phi, m: d * _incomplete_by_m(phi, m, _second_by_m, False),
)


def _mean_by(out: Any, a: Any, b: Any) -> Any:
    """Return the derivative by a: the mean is ``pi / 4 (a + b) / K(k^2)``, with ``k = (a - b) / (a + b)``."""
    total = a + b
    k = (a - b) / total
    square = k * k
    by_k = _first_by_m(square) * (2 * k)
    return out / total - out * by_k / _complete(square) * (2 * b / (total * total))


_complete = ellipk

agm = scipy_ufunc(
    "agm",
    "The arithmetic-geometric mean, differentiable where both numbers are positive.",
    lambda d, out, a, b: d * _mean_by(out, a, b),
    lambda d, out, a, b: d * _mean_by(out, b, a),
)


# ---- Jacobi's functions ----------------------------------------------------------------------------------


_sn: Function = component("ellipj", 0, "sn", lambda d, out, u, m: d * (_cn(u, m) * _dn(u, m)), None)
_cn: Function = component("ellipj", 1, "cn", lambda d, out, u, m: -(d * (_sn(u, m) * _dn(u, m))), None)
_dn: Function = component("ellipj", 2, "dn", lambda d, out, u, m: -(d * (m * _sn(u, m) * _cn(u, m))), None)
_ph = component("ellipj", 3, "ph", lambda d, out, u, m: d * _dn(u, m), None)


def ellipj(u: Any, m: Any) -> tuple[Any, Any, Any, Any]:
    """Jacobi's elliptic functions, differentiable by the argument.

    Parameters
    ----------
    u, m : array_like or Var
        Argument and parameter, of shapes that broadcast.

    Returns
    -------
    sn, cn, dn, ph : numpy.ndarray, numpy.floating or Var
        The functions, and the amplitude.

    Raises
    ------
    UnsupportedError
        If ``m`` is a Var that carries a derivative.

    Examples
    --------
    >>> import tape
    >>> sn, cn, dn, ph = tape.ops.special.ellipj(0.0, 0.5)
    >>> float(sn), float(cn), float(dn), float(ph)
    (0.0, 1.0, 1.0, 0.0)
    """
    refuse_derivative(
        m,
        "scipy.special.ellipj by its second argument",
        "Pass a number or an array there",
    )
    return _sn(u, m), _cn(u, m), _dn(u, m), _ph(u, m)


declare_several("ellipj", ellipj)
