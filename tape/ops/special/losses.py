"""Functions for losses and likelihoods: entropies, logistic functions, Huber's loss.

A product with a logarithm is written `xlogy` in the rules too, so that an operand that does not move adds
nothing to a tangent, also where the logarithm is infinite. Where two operands are both on the boundary, one
is divided by infinity, which makes all derivatives 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape.inspect.samples import declare_samples
from tape.ops.elementwise.elementary import hypot
from tape.ops.elementwise.scipy_ufuncs import scipy_ufunc
from tape.ops.elementwise.selection import logical_and, maximum, minimum, where

__all__ = [
    "entr",
    "expit",
    "huber",
    "kl_div",
    "log_expit",
    "logit",
    "pseudo_huber",
    "rel_entr",
    "xlog1py",
    "xlogy",
]

declare_samples("scipy.special.huber, scipy.special.pseudo_huber(0.5, x)")


def _ratio(x: Any, y: Any) -> Any:
    """Return ``x / y``, but 0 where both are 0."""
    return x / where(logical_and(x == 0, y == 0), np.inf, y)


xlogy: Callable[..., Any] = scipy_ufunc(
    "xlogy",
    "``x * log(y)``, and 0 where x is; at (0, 0) the derivative by y is 0, by x it is -inf.",
    lambda d, out, x, y: xlogy(d, y),
    lambda d, out, x, y: d * _ratio(x, y),
)
xlog1py: Callable[..., Any] = scipy_ufunc(
    "xlog1py",
    "``x * log1p(y)``, and 0 where x is; at (0, -1) the derivative by y is 0, by x it is -inf.",
    lambda d, out, x, y: xlog1py(d, y),
    lambda d, out, x, y: d * _ratio(x, y + 1),
)


def _entr_partial(d: Any, out: Any, x: Any) -> Any:
    is_inside = x >= 0
    return where(is_inside, -(xlogy(d, where(is_inside, x, 1)) + d), 0)


entr = scipy_ufunc(
    "entr",
    "``-x * log(x)``, and 0 at 0, where the derivative is inf; -inf, with derivative 0, for negative x.",
    _entr_partial,
)


def _log_ratio(d: Any, x: Any, y: Any) -> Any:
    """Return ``d * log(x / y)``, 0 where y is not positive or x is negative."""
    is_inside = logical_and(x >= 0, y > 0)
    x, y = where(is_inside, x, 1), where(is_inside, y, 1)
    return xlogy(d, x) - xlogy(d, y)


def _rel_entr_partial(d: Any, out: Any, x: Any, y: Any) -> Any:
    return _log_ratio(d, x, y) + where(logical_and(x >= 0, y > 0), d, 0)


def _excess(x: Any, y: Any) -> Any:
    """Return ``x / y``, 0 where y is not positive or x is negative."""
    return where(logical_and(x >= 0, y > 0), x, 0) / where(y > 0, y, np.inf)


rel_entr = scipy_ufunc(
    "rel_entr",
    "``x * log(x / y)``, and 0 where x is, with the derivative -inf by x; derivatives are 0 where y is not "
    "positive or x is negative.",
    _rel_entr_partial,
    lambda d, out, x, y: -(d * _excess(x, y)),
)
kl_div = scipy_ufunc(
    "kl_div",
    "``x * log(x / y) - x + y``, and y where x is 0, with the derivative -inf by x; where y is not positive "
    "or x is negative, the derivative by x is 0, that by y 1.",
    lambda d, out, x, y: _log_ratio(d, x, y),
    lambda d, out, x, y: d * (1 - _excess(x, y)),
)
expit: Callable[..., Any] = scipy_ufunc(
    "expit",
    "The logistic function ``1 / (1 + exp(-x))``.",
    lambda d, out, x: d * (out * expit(-x)),  # not 1 - out, which is rounded to 0 far out
    double=lambda b, x: 1.0 / (b.elementwise("exp", -x) + 1.0),
)


def _lower_log_expit(b: Any, x: Any) -> Any:
    tail = b.elementwise("log1p", b.elementwise("exp", -b.elementwise("absolute", x)))
    return -(tail - b.elementwise("minimum", x, 0.0))


log_expit = scipy_ufunc(
    "log_expit",
    "The logarithm of the logistic function.",
    lambda d, out, x: d * expit(-x),
    double=_lower_log_expit,
)
logit = scipy_ufunc(
    "logit",
    "``log(x / (1 - x))``; at 0 and 1 the value and the derivative are infinite.",
    lambda d, out, x: d / (x * (1 - x)),
)


def _pseudo_excess(delta: Any, r: Any) -> Any:
    """Return ``(delta - h)**2 / h`` with h the length of (delta, r), without cancellation."""
    radius = hypot(delta, r)
    square = _ratio(r * r, radius + delta)
    return _ratio(square * square, radius)


def _of_positive(delta: Any, slope: Any) -> Any:
    """Return a slope; NaN where delta is negative, and the loss infinite."""
    return where(delta < 0, np.nan, slope)


huber = scipy_ufunc(
    "huber",
    "Huber's loss, of delta and r: ``r**2 / 2`` where abs(r) is at most delta, else "
    "``delta * (abs(r) - delta / 2)``; for negative delta inf, with derivatives NaN.",
    lambda d, out, delta, r: d * _of_positive(delta, abs(r) - minimum(abs(r), delta)),
    lambda d, out, delta, r: d * _of_positive(delta, maximum(minimum(r, delta), -delta)),
)
pseudo_huber = scipy_ufunc(
    "pseudo_huber",
    "``delta**2 * (sqrt(1 + (r / delta)**2) - 1)``, of delta and r; at (0, 0) the derivatives are 0; for "
    "negative delta inf, with derivatives NaN.",
    lambda d, out, delta, r: d * _of_positive(delta, _pseudo_excess(delta, r)),
    lambda d, out, delta, r: d * _of_positive(delta, _ratio(r * delta, hypot(delta, r))),
)
