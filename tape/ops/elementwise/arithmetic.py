"""Addition, subtraction, multiplication, division, sign change and powers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tape.core import pattern_rules, series
from tape.core.elementwise import elementwise
from tape.core.linear import cast
from tape.core.node import plain
from tape.core.operands import as_operand
from tape.core.table import INTERNAL, OPERATIONS, implements
from tape.core.weak import Weak
from tape.ops.elementwise.selection import where

__all__ = [
    "add",
    "divide",
    "float_power",
    "multiply",
    "negative",
    "positive",
    "pow",
    "power",
    "subtract",
    "true_divide",
]

# Forward is the operator, not the ufunc: the same arithmetic, nine times faster on NumPy scalars.

add = elementwise(
    operator.add,
    lambda d, out, x, y: d,
    lambda d, out, x, y: d,
    taylor=series.linear,
    pattern=pattern_rules.linear,
    numpy=np.add,
    doc="``x + y``.",
)

subtract = elementwise(
    operator.sub,
    lambda d, out, x, y: d,
    lambda d, out, x, y: -d,
    name="subtract",
    taylor=series.linear,
    pattern=pattern_rules.linear,
    numpy=np.subtract,
    doc="``x - y``.",
)

multiply = elementwise(
    operator.mul,
    lambda d, out, x, y: d * y,
    lambda d, out, x, y: d * x,
    name="multiply",
    taylor=series.multiply,
    pattern=pattern_rules.products,
    numpy=np.multiply,
    doc="``x * y``.",
)

divide = elementwise(
    operator.truediv,
    lambda d, out, x, y: d / y,
    lambda d, out, x, y: d / -y * out,  # y is often the smaller array, if one is broadcast
    name="divide",
    taylor=series.divide,
    pattern=pattern_rules.scalings,
    numpy=np.divide,
    doc="``x / y``.",
)
true_divide = divide

negative = elementwise(
    operator.neg,
    lambda d, out, x: -d,
    name="negative",
    taylor=series.linear,
    pattern=pattern_rules.linear,
    numpy=np.negative,
    doc="``-x``.",
)

positive = elementwise(
    operator.pos,
    lambda d, out, x: d,
    name="positive",
    taylor=series.linear,
    pattern=pattern_rules.linear,
    numpy=np.positive,
    doc="``+x``.",
)


def widening(x: Any) -> Any:
    """Return an operand of a function of NumPy's that makes an array of it first.

    A number of Python's is a double then, which widens singles.
    """
    x = as_operand(x)
    if type(x) in (float, complex, int, bool):
        return np.asarray(x)[()]
    return positive(x) if isinstance(plain(x), Weak) else x


INTERNAL["widening"] = widening


def _power_base(d: Any, out: Any, x: Any, y: Any) -> Any:
    if isinstance(y, (int, float)):  # a constant exponent, by far the most frequent
        if y == 0:
            return d * 0.0
        return d * (y * x) if y == 2 else d * (y * x ** (y - 1))
    # Zero times infinity where both are 0. Elsewhere nothing is left out, as this has a derivative by y.
    is_nothing = np.logical_and(y == 0, np.absolute(x) < np.finfo(out.dtype).tiny)
    return d * (y * x ** where(is_nothing, 1, y - 1))


def _power_exponent(d: Any, out: Any, x: Any, y: Any) -> Any:
    base = where(x == 0, 1, x)
    if out.dtype.kind == "c" != base.dtype.kind:
        base = cast(base, dtype=out.dtype)  # complex powers of negative numbers have a logarithm
    return d * (where(x == 0, 0, out) * np.log(base))


power = elementwise(
    operator.pow,
    _power_base,
    _power_exponent,
    name="power",
    taylor=series.power,
    numpy=np.power,
    doc="``x ** y``. The derivative by the exponent is taken as 0 where the base is 0.",
)
pow = power
_power = implements(operator.pow)(OPERATIONS[np.power])  # which defers to other operands


@implements(np.power)
def _power_of_ufunc(x1: Any, x2: Any) -> Any:
    # NumPy's operator squares bools, as int8; the ufunc computes with the integers of a Python int.
    is_square_of_bools = type(x2) is int and x2 == 2 and np.result_type(x1) == np.bool_
    return _power(x1, np.int_(2) if is_square_of_bools else x2)


_power_of_ufunc.op = power.op  # type: ignore[attr-defined]

float_power = elementwise(np.float_power, _power_base, _power_exponent)
