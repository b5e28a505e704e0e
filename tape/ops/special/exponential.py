"""SciPy's exponentials, and the power transformations of Box and Cox.

The rules of the transformations use derivatives of `exprel`, which are accurate for powers near 0, where the
transformations become logarithms and exponentials.
"""

from __future__ import annotations

from math import log as _log
from typing import Any

import numpy as np

from tape.core import batch_rules
from tape.core.op import Op
from tape.ops.elementwise.elementary import exp, sin
from tape.ops.elementwise.scipy_ufuncs import narrowed, scipy_ufunc, ufunc_named
from tape.ops.elementwise.selection import isinf, logical_and, sign, where
from tape.ops.special.losses import xlog1py, xlogy

__all__ = [
    "boxcox",
    "boxcox1p",
    "cbrt",
    "cosm1",
    "exp1",
    "exp2",
    "exp10",
    "expi",
    "expm1",
    "exprel",
    "inv_boxcox",
    "inv_boxcox1p",
    "log1p",
]

# NumPy has some of these too; SciPy's differ in the last digit.
expm1 = scipy_ufunc("expm1", "``exp(x) - 1``.", lambda d, out, x: d * exp(x))
log1p = scipy_ufunc("log1p", "``log(1 + x)``.", lambda d, out, x: d / (x + 1))
exp2 = scipy_ufunc("exp2", "``2**x``.", lambda d, out, x: d * (out * _log(2)))
exp10 = scipy_ufunc("exp10", "``10**x``.", lambda d, out, x: d * (out * _log(10)))
cbrt = scipy_ufunc("cbrt", "The cube root.", lambda d, out, x: d / (3 * (out * out)))
cosm1 = scipy_ufunc("cosm1", "``cos(x) - 1``, without cancellation.", lambda d, out, x: -(d * sin(x)))
expi = scipy_ufunc(
    "expi", "The exponential integral Ei, of ``exp(t) / t`` up to x.", lambda d, out, x: d * (exp(x) / x)
)
exp1 = scipy_ufunc(
    "exp1",
    "The exponential integral E1, of ``exp(-t) / t`` from x to infinity.",
    lambda d, out, x: -(d * (exp(-x) / x)),
)


def _exprel_derivative(x: Any, *, order: int) -> Any:
    """Return the integral of ``t**order * exp(x * t)`` from 0 to 1: DLMF 13.4.1."""
    near = np.clip(x, -800, 800)  # far out, SciPy's hyp1f1 does not return
    found = ufunc_named("hyp1f1")(order + 1, order + 2, near) / (order + 1)
    decay = (-800 / np.minimum(x, -800)) ** (order + 1)  # beyond, the integral goes like a power of x
    return narrowed(found * decay, (x,))


def _exprel_partial(d: Any, out: Any, x: Any, order: int = 0) -> Any:
    return d * _derivative(x, order=order + 1)


_derivative = Op(
    _exprel_derivative,
    name="exprel_derivative",
    vjp=[_exprel_partial],
    jvp=[_exprel_partial],
    batch=batch_rules.elementwise,
)
exprel = scipy_ufunc("exprel", "``(exp(x) - 1) / x``, and 1 at 0.", _exprel_partial)


def _by_power(power: Any, logarithm: Any) -> Any:
    """Return the derivative of ``(x**power - 1) / power`` by the power, given log(x).

    Compute that logarithm with `xlogy`, which does not warn at 0.
    """
    is_gone = logical_and(isinf(logarithm), sign(logarithm) * power <= 0)  # x**power, and -1 / power is left
    kept, finite = where(is_gone, power, 1), where(is_gone, 1, logarithm)
    return where(is_gone, 1 / (kept * kept), finite * finite * _derivative(power * finite, order=1))


boxcox = scipy_ufunc(
    "boxcox",
    "``(x**p - 1) / p``, and log(x) where p is 0, of x and p.",
    lambda d, out, x, p: d * x ** (p - 1),
    lambda d, out, x, p: d * _by_power(p, xlogy(1, x)),
)
boxcox1p = scipy_ufunc(
    "boxcox1p",
    "``((1 + x)**p - 1) / p``, and log1p(x) where p is 0, of x and p.",
    lambda d, out, x, p: d * exp((p - 1) * xlog1py(1, x)),
    lambda d, out, x, p: d * _by_power(p, xlog1py(1, x)),
)
inv_boxcox = scipy_ufunc(
    "inv_boxcox",
    "The x for which ``boxcox(x, p)`` is y, of y and p.",
    lambda d, out, y, p: d * out ** (1 - p),
    lambda d, out, y, p: -(d * _by_power(p, xlogy(1, out)) * out ** (1 - p)),
)
inv_boxcox1p = scipy_ufunc(
    "inv_boxcox1p",
    "The x for which ``boxcox1p(x, p)`` is y, of y and p.",
    lambda d, out, y, p: d * exp((1 - p) * xlog1py(1, out)),
    lambda d, out, y, p: -(d * _by_power(p, xlog1py(1, out)) * exp((1 - p) * xlog1py(1, out))),
)
