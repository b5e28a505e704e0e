"""Arithmetic on single float64 numbers, for compiled code: what 0-d values are computed with."""

from __future__ import annotations

import math

import numpy as np

from tape.kernels.codes import SCALARS
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import float64s

(
    _ADD, _SUBTRACT, _MULTIPLY, _DIVIDE, _NEGATIVE, _POWER, _EXP, _LOG, _SIN, _COS, _TANH, _SQRT, _SQUARE,
    _ABSOLUTE, _MAXIMUM, _MINIMUM, _RECIPROCAL, _EXPM1, _LOG1P, _ARCTAN, _TAN, _SIGN, _POSITIVE,
) = SCALARS.values()  # fmt: skip


@inner
def scalar_op(kind, a, b, out):  # type: ignore[no-untyped-def]
    """`scalar` of the numbers at two addresses, to a third; with one operand ``b`` may be ``a``."""
    float64s(out)[0] = scalar(kind, float64s(a)[0], float64s(b)[0])


@inner
def scalar(kind, a, b):  # type: ignore[no-untyped-def]
    """What NumPy's ufunc makes of one or two float64 numbers.

    Parameters
    ----------
    kind : int64
        Of `SCALARS`.
    a, b : float64
        Operands; ``b`` is any number where there is one.
    """
    if kind == _ADD:
        return a + b
    if kind == _SUBTRACT:
        return a - b
    if kind == _MULTIPLY:
        return a * b
    if kind == _DIVIDE:
        return a / b
    if kind == _NEGATIVE:
        return -a
    if kind == _POWER:
        return a**b
    if kind == _EXP:
        return math.exp(a)
    if kind == _LOG:
        return math.log(a)
    if kind == _SIN:
        return math.sin(a)
    if kind == _COS:
        return math.cos(a)
    if kind == _TANH:
        return math.tanh(a)
    if kind == _SQRT:
        return math.sqrt(a)
    if kind == _SQUARE:
        return a * a
    if kind == _ABSOLUTE:
        return abs(a)
    if kind == _MAXIMUM:
        return a if a >= b or a != a else b
    if kind == _MINIMUM:
        return a if a <= b or a != a else b
    if kind == _RECIPROCAL:
        return 1.0 / a
    if kind == _EXPM1:
        return math.expm1(a)
    if kind == _LOG1P:
        return math.log1p(a)
    if kind == _ARCTAN:
        return math.atan(a)
    if kind == _TAN:
        return math.tan(a)
    if kind == _POSITIVE:
        return a
    return a if a != a else np.float64(a > 0) - np.float64(a < 0)
