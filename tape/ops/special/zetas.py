"""The zeta functions of Riemann and Hurwitz."""

from __future__ import annotations

from collections.abc import Callable
from math import log as _log
from math import pi
from typing import Any

from tape.inspect.samples import declare_samples
from tape.ops.elementwise.complex import real
from tape.ops.elementwise.elementary import cos, exp, log, sin
from tape.ops.elementwise.scipy_ufuncs import scipy_ufunc
from tape.ops.elementwise.selection import where
from tape.ops.special.gammas import gamma
from tape.ops.special.polygammas import BERNOULLI, psi

declare_samples("tape.ops.special.zeta(2 + x, 1.5 + v)")


def _by_exponent(x: Any, q: Any) -> Any:
    """Return the derivative by x, term by term in the Euler-Maclaurin formula: DLMF 25.11.5 and 25.11.28."""
    count = 10
    total: Any = 0.0
    for k in range(count):
        total = total - log(q + k) * (q + k) ** (-x)
    a = q + count
    logarithm, power = log(a), a ** (-x)
    total = total - a * power / (x - 1) * (logarithm + 1 / (x - 1)) - power * logarithm / 2
    rising, slope = x / (2 * a), 1 / (2 * a)  # x (x + 1) ... (x + 2k - 2) / (2k)! / a**(2k - 1), derived
    for k, number in enumerate(BERNOULLI, 1):
        total = total + number * power * (slope - rising * logarithm)
        for i in (2 * k - 1, 2 * k):
            scale = (i + 2) * a
            rising, slope = rising * ((x + i) / scale), slope * ((x + i) / scale) + rising / scale
    return total


_hurwitz: Callable[..., Any] = scipy_ufunc(
    "zeta",
    "Hurwitz's zeta function.",
    lambda d, out, x, q: d * _by_exponent(x, q),
    lambda d, out, x, q: -(d * (x * _hurwitz(x + 1, q))),
)


def riemann_slope(x: Any) -> Any:
    """Return the slope; left of -1/2 by reflection, ``zeta(1 - x)`` and the factors of DLMF 25.4.1.

    Near 0, the pole of ``zeta(1 - x)`` would cost all digits.
    """
    is_left = real(x) < -0.5
    left, right = where(is_left, x, -1.0), where(is_left, 2.0, x)
    angle, mirrored = left * (pi / 2), 1 - left
    value = _riemann(mirrored)
    slope = value * (_log(2 * pi) - psi(mirrored)) - _by_exponent(mirrored, 1.0)
    factor = exp(left * _log(2 * pi)) * gamma(mirrored) / pi
    reflected = factor * (slope * sin(angle) + value * (pi / 2) * cos(angle))
    return where(is_left, reflected, _by_exponent(right, 1.0))


_riemann: Callable[..., Any] = scipy_ufunc(
    "riemann_zeta", "Riemann's zeta function.", lambda d, out, x: d * riemann_slope(x)
)


def zeta(x: Any, q: Any = None) -> Any:
    """The Hurwitz zeta function, ``sum(1 / (k + q) ** x)`` over k from 0; the Riemann one without q.

    Parameters
    ----------
    x : array_like or Var
        Larger than 1; without ``q`` any number.
    q : array_like or Var, optional
        Array of a shape that broadcasts with that of ``x``. The derivative by ``x`` is there for positive
        ``q``.

    Returns
    -------
    numpy.ndarray, numpy.number or Var

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.special.zeta(2.0, 1.0)), float(tape.ops.special.zeta(2.0))
    (1.6449340668482..., 1.6449340668482...)
    """
    return _riemann(x) if q is None else _hurwitz(x, q)
