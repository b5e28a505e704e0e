"""Functions of filters and windows: sinc, and the i0 of Kaiser's window."""

from __future__ import annotations

from functools import lru_cache, partial
from math import factorial, pi
from typing import Any

import numpy as np

from tape.core import batch_rules
from tape.core.op import Op
from tape.core.table import implements
from tape.inspect.samples import declare_samples
from tape.ops.special.bessel import i1

__all__ = ["i0", "sinc"]

declare_samples("np.i0, np.sinc, tape.ops.special.sinc(x)")


# All derivatives of sinc are one operation. With z = pi x, those of g = sin(z) / z by z follow from
# z g = sin(z): the m-th is (sin^(m)(z) - m g^(m-1)) / z. Near 0 that cancels, and the series of g is derived.


def _sinc_derivative(x: Any, order: int, sin: Any, cos: Any, absolute: Any, where: Any) -> Any:
    z = x * pi
    reach = max(1.0, order / 2)  # up to where the series is better: both lose a digit or two there
    is_small = absolute(z) < reach
    large, small = where(is_small, 1.0, z), where(is_small, z, 0.0)
    waves = sin(large), cos(large)
    away = waves[0] / large
    for m in range(1, order + 1):
        wave = waves[m % 2] if m % 4 < 2 else -waves[m % 2]
        away = (wave - m * away) / large
    square = small * small
    last, *rest = _series(order, reach)
    near = square * 0 + last
    for coefficient in rest:
        near = near * square + coefficient
    return where(is_small, near * small if order % 2 else near, away) * pi**order


@lru_cache(maxsize=64)
def _series(order: int, reach: float) -> tuple[float, ...]:
    """Return the coefficients of the powers of z**2, highest first, as many as matter up to ``reach``."""
    coefficients: list[float] = []
    power = order % 2
    while reach**power / factorial(power) > 1e-18:
        k = (power + order) // 2
        coefficients.append((-1) ** k / (factorial(power) * (power + order + 1)))
        power += 2
    return tuple(coefficients[::-1])


def _forward(x: Any, *, order: int) -> Any:
    if not order:
        return np.sinc(x)
    return _sinc_derivative(x, order, np.sin, np.cos, np.absolute, np.where).astype(x.dtype)[()]


def _lower_sinc(b: Any, x: Any, order: int) -> Any:
    x = b.value(x)
    if x.dtype == np.float16:
        b.refuse("NumPy rounds the product with pi otherwise")
    if order:
        sin, cos, absolute = (partial(b.elementwise, name) for name in ("sin", "cos", "absolute"))
        return _sinc_derivative(x, order, sin, cos, absolute, b.where)
    angle = b.where(b.elementwise("equal", x, 0), np.finfo(float).eps, x * pi)
    return b.elementwise("sin", angle) / angle


def _sinc_partial(d: Any, out: Any, x: Any, order: int) -> Any:
    return d * _sinc(x, order=order + 1)


_sinc = Op(
    _forward,
    name="sinc",
    vjp=[_sinc_partial],
    jvp=[_sinc_partial],
    batch=batch_rules.elementwise,
    lower=_lower_sinc,
)


@implements(np.sinc)
def sinc(x: Any) -> Any:
    """``sin(pi x) / (pi x)``, 1 at 0; all its derivatives are exact at and near 0 too.

    Parameters
    ----------
    x : array_like or Var
        Any shape.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Array of the shape of ``x``.

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace()
    >>> tr.backward_param_grads(tape.ops.sinc(tr.param(1.0)))
    [array(-1.)]
    """
    return _sinc(x, order=0)


def _i0_partial(d: Any, out: Any, x: Any) -> Any:
    return d * i1(x)


_i0 = Op(
    np.i0,
    name="i0",
    vjp=[_i0_partial],
    jvp=[_i0_partial],
    batch=batch_rules.elementwise,
    lower=lambda b, x: b.elementwise("special.i0", x),
)


@implements(np.i0)
def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind and order 0.

    Parameters
    ----------
    x : array_like or Var
        Real, any shape.

    Returns
    -------
    numpy.ndarray, numpy.floating or Var
        Array of the shape of ``x``.

    Raises
    ------
    DTypeError
        If ``x`` is complex.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.i0(0.0))
    1.0
    """
    return _i0(x)
