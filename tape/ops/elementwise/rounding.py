"""Rounding, and what it leaves: remainders, fractions, mantissas.

Whole parts are constant almost everywhere and are recorded without a derivative. Remainders are linear piece
by piece; at a jump the derivative is that of the piece which the value belongs to.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tape.core import batch_rules, series
from tape.core.elementwise import elementwise
from tape.core.op import Op
from tape.core.record import recorder_of
from tape.core.table import implements
from tape.inspect.samples import declare_samples

__all__ = [
    "around",
    "ceil",
    "divmod",
    "fix",
    "floor",
    "floor_divide",
    "fmod",
    "frexp",
    "ldexp",
    "mod",
    "modf",
    "nextafter",
    "remainder",
    "rint",
    "round",
    "spacing",
    "trunc",
]

declare_samples(
    "np.around, np.round(x, 1)",
    "np.divmod, np.floor_divide, np.fmod, np.remainder(x, 0.22)",
    "np.fix, np.frexp, np.modf(x)",
    "np.ldexp(u, n)",
)

floor = elementwise(np.floor)
ceil = elementwise(np.ceil)
trunc = elementwise(np.trunc)
rint = elementwise(np.rint)
spacing = elementwise(np.spacing)
floor_divide = elementwise(np.floor_divide)

remainder = mod = elementwise(
    np.remainder,
    lambda d, out, x, y: d,
    lambda d, out, x, y: -(d * floor_divide(x, y)),
    taylor=series.linear,
)

fmod = elementwise(
    np.fmod,
    lambda d, out, x, y: d,
    lambda d, out, x, y: -(d * rint((x - out) / y)),  # trunc(x / y) could round past a whole number
    taylor=series.linear,
)

nextafter = elementwise(np.nextafter, lambda d, out, x, y: d, None, taylor=series.linear)
_ldexp = Op(
    np.ldexp,
    vjp=[lambda d, out, x, n: ldexp(d, n), None],
    linear=True,
    batch=batch_rules.elementwise,
    lower=lambda b, x, n: b.elementwise("ldexp", x, n),
)
ldexp: Callable[..., Any] = recorder_of(_ldexp, 2, np.ldexp)  # not `elementwise`, whose rules see floats


_INFINITE = 309
"""The least power of ten that is no double."""


def _lower_round(b: Any, x: Any, decimals: int) -> Any:
    x = b.value(x)
    if x.dtype.kind in "iu" and decimals >= 0:
        return x
    if x.dtype.kind == "c":  # each part by itself
        return b.complexes(_lower_round(b, b.reals(x), decimals))
    # Multiplied up as in NumPy, whose power has these digits.
    power = prod([10.0] * min(abs(int(decimals)), _INFINITE), start=1.0)
    if decimals > 0:
        return b.elementwise("rint", x * power) / power
    return b.cast(b.elementwise("rint", x / power) * power, x.dtype)


_round = Op(
    lambda x, *, decimals: np.round(x, decimals),
    name="round",
    batch=batch_rules.elementwise,
    lower=_lower_round,
)


@implements(np.round)
def round(a: Any, decimals: int = 0) -> Any:
    """Round to decimals, halves to even; recorded without a derivative.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    decimals : int
        The number of decimals to keep; negative: round to tens, hundreds and so on.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Array of the shape and dtype of ``a``.

    Raises
    ------
    DTypeError
        If ``decimals`` is not an integer.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.round(1.2345, 2))
    1.23
    """
    return _round(a, decimals=decimals)


@implements(np.around)
def around(a: Any, decimals: int = 0) -> Any:
    """Same as `round`.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.around(2.5))
    2.0
    """
    return round(a, decimals)


@implements(np.fix)
def fix(x: Any) -> Any:
    """Round towards zero, like `trunc`.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.fix(-2.5))
    -2.0
    """
    return trunc(x)


@implements(np.divmod)
def divmod(x1: Any, x2: Any, /) -> tuple[Any, Any]:
    """Whole quotient and remainder: ``(floor_divide(x1, x2), remainder(x1, x2))``.

    Parameters
    ----------
    x1, x2 : array_like or Var
        Real, of shapes that broadcast.

    Returns
    -------
    quotient, remainder : numpy.ndarray, numpy.generic or Var
        Array of the broadcast shape. The quotient has no derivative.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import tape
    >>> quotient, remainder = tape.ops.divmod(7.5, 2.0)
    >>> float(quotient), float(remainder)
    (3.0, 1.5)
    """
    return floor_divide(x1, x2), remainder(x1, x2)


def _lower_fraction(b: Any, x: Any) -> Any:
    x = _as_float(b, x)
    fraction = b.where(b.elementwise("isinf", x), 0.0, x - b.elementwise("trunc", x))
    return b.elementwise("copysign", fraction, x)  # for 0 too


def _as_float(b: Any, x: Any) -> Any:
    x = b.value(x)
    return x if x.dtype.kind == "f" else b.cast(x, np.float64)


def _lower_frexp(b: Any, x: Any) -> Any:
    x = _as_float(b, x)
    if not x.size:
        return x, b.cast(x, np.int32)
    return b.gufunc("frexp", x)


_fraction = elementwise(
    lambda x: np.modf(x)[0], lambda d, out, x: d, taylor=series.linear, lower=_lower_fraction, name="modf"
)
_whole = recorder_of(
    Op(
        lambda x: np.modf(x)[1],
        name="modf",
        batch=batch_rules.elementwise,
        lower=lambda b, x: b.elementwise("trunc", _as_float(b, x)),
    ),
    1,
)


@implements(np.modf)
def modf(x: Any, /) -> tuple[Any, Any]:
    """Fraction and whole part, both with the sign of the number.

    Parameters
    ----------
    x : array_like or Var
        Real, any shape.

    Returns
    -------
    fraction, whole : numpy.ndarray, numpy.generic or Var
        Floats of the shape of ``x``. The whole part has no derivative.

    Examples
    --------
    >>> import tape
    >>> fraction, whole = tape.ops.modf(-2.5)
    >>> float(fraction), float(whole)
    (-0.5, -2.0)
    """
    return _fraction(x), _whole(x)


_exponent = recorder_of(
    Op(
        lambda x: np.frexp(x)[1],
        name="frexp",
        batch=batch_rules.elementwise,
        lower=lambda b, x: _lower_frexp(b, x)[1],
    ),
    1,
)
_mantissa = elementwise(
    lambda x: np.frexp(x)[0],
    lambda d, out, x: ldexp(d, -_exponent(x)),
    taylor=series.linear,
    lower=lambda b, x: _lower_frexp(b, x)[0],
    name="frexp",
)


@implements(np.frexp)
def frexp(x: Any, /) -> tuple[Any, Any]:
    """Mantissa and exponent: ``x = mantissa * 2**exponent``, the mantissa between 1/2 and 1.

    Parameters
    ----------
    x : array_like or Var
        Real, any shape.

    Returns
    -------
    mantissa, exponent : numpy.ndarray, numpy.generic or Var
        Array of the shape of ``x``. The exponents are integers and have no derivative.

    Examples
    --------
    >>> import tape
    >>> mantissa, exponent = tape.ops.frexp(6.0)
    >>> float(mantissa), int(exponent)
    (0.75, 3)
    """
    return _mantissa(x), _exponent(x)
