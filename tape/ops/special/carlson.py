"""Carlson's symmetric elliptic integrals, differentiable by every argument, to any order.

Each is an integral of powers over t from 0 on, DLMF 19.16 and 19.23.8: ``t**c (t + x)**-a (t + y)**-b ...``.
A derivative by x is -a times the same with a + 1 in place of a. What is not one of SciPy's functions is
integrated here, by the trapezoidal rule in ``log(t)``, which converges geometrically, as the integrand is
analytic there and falls exponentially on both sides. Of positive numbers all its terms are positive.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tape.core.elementwise import elementwise
from tape.errors import UnsupportedError
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.scipy_ufuncs import Function, narrowed, scipy_ufunc
from tape.ops.special.by_parameters.numbers import Array, in_blocks

__all__ = ["elliprc", "elliprd", "elliprf", "elliprg", "elliprj"]

declare_samples(
    "scipy.special.elliprc(x, 1 + v)",
    "scipy.special.elliprd, scipy.special.elliprf, scipy.special.elliprg(x, v, 1.5)",
    "scipy.special.elliprj(x, v, 1.5, 0.5)",
)

_STEP = 0.4
"""In ``log(t)``: the error is about ``exp(-2 pi angle / step)``, with the angle from the negative axis."""
_DIGITS = 38.0
"""The logarithm of the error."""
_NEAREST = 0.1
"""The smallest angle from the negative axis."""
_FALL = 40.0
"""The logarithm by which the integrand falls at both ends."""


def _integrate(power: int, exponents: tuple[float, ...], *operands: Array) -> Array:
    """Integrate ``t**power`` times each ``(t + operand)**-exponent`` over t from 0 on."""
    ends = np.stack(operands)
    angle = np.min(np.where(ends == 0, np.pi, np.pi - np.abs(np.angle(ends))), initial=np.pi)
    if angle < _NEAREST:
        raise UnsupportedError(
            "a derivative of Carlson's elliptic integrals is asked for at, or close to, a negative argument, "
            "where the integral is a principal value or cut. Differentiate at positive ones, of elliprc and "
            "elliprj by DLMF 19.2.20 and 19.20.14"
        )
    is_zero, sizes = ends == 0, np.abs(ends)
    rates = np.array(exponents)[:, None]
    rise = power + 1 - np.sum(rates * is_zero, axis=0)  # the power of t towards 0, and from the largest on
    fall = sum(exponents) - power - 1
    least = np.min(np.where(is_zero, np.inf, sizes), axis=0)
    most = np.max(sizes, axis=0)
    is_there = (rise > 0) & np.isfinite(least) & np.isfinite(most)
    low = np.log(np.where(is_there, least, 1.0)) - _FALL / np.where(is_there, rise, 1.0)
    high = np.log(np.where(is_there, most, 1.0)) + _FALL / fall
    widest = min(_STEP, 2 * np.pi * angle / _DIGITS) if ends.dtype.kind == "c" else _STEP
    count = int(np.ceil(np.max((high - low) / widest, initial=1.0)))
    step = (high - low) / count
    t = np.exp(low + step * np.arange(count + 1)[:, None])
    terms = np.log(t) * (power + 1)
    for end, exponent in zip(ends, exponents, strict=True):
        terms = terms - exponent * np.log(t + end)
    found = step * np.sum(np.exp(terms), axis=0)
    edge = np.where(np.isposinf(most), 0.0, np.inf)  # where it falls to nothing, and where it diverges
    return np.where(is_there, found, np.where(np.isnan(most), np.nan, edge))


@cache
def _integral(power: int, exponents: tuple[float, ...]) -> Function:
    """Return the operation of as many operands as there are exponents."""

    def slope(k: int) -> Function:
        raised = tuple(e + (j == k) for j, e in enumerate(exponents))
        return lambda d, out, *operands: d * (_integral(power, raised)(*operands) * -exponents[k])

    def forward(*operands: Any) -> Any:
        dtype = np.result_type(*operands, np.float64)
        found = in_blocks(lambda *ends: _integrate(power, exponents, *ends), *operands, size=256, dtype=dtype)
        return narrowed(found[()], operands)

    return elementwise(
        forward,
        *map(slope, range(len(exponents))),
        name="elliptic_integral",
        doc=f"An integral of powers {exponents} of sums, times the power {power}.",
    )


def _declare(name: str, doc: str, scale: float, power: int, *exponents: float) -> Function:
    """Declare a function of SciPy's that is ``scale`` times an integral; of RG its derivatives are."""

    def slope(k: int) -> Function:
        raised = tuple(e + (j == k) for j, e in enumerate(exponents))
        factor = scale * (1 if power else -exponents[k])
        return lambda d, out, *operands: d * (_integral(power, raised)(*operands) * factor)

    return scipy_ufunc(name, doc, *map(slope, range(len(exponents))))


elliprf = _declare("elliprf", "Carlson's elliptic integral RF of x, y and z.", 0.5, 0, 0.5, 0.5, 0.5)
elliprc = _declare("elliprc", "Carlson's degenerate elliptic integral RC of x and y.", 0.5, 0, 0.5, 1.0)
elliprd = _declare("elliprd", "Carlson's elliptic integral RD of x, y and z.", 1.5, 0, 0.5, 0.5, 1.5)
elliprj = _declare("elliprj", "Carlson's elliptic integral RJ of x, y, z and p.", 1.5, 0, 0.5, 0.5, 0.5, 1.0)
elliprg = _declare("elliprg", "Carlson's elliptic integral RG of x, y and z.", 0.125, 1, 0.5, 0.5, 0.5)
