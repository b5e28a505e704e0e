"""Arithmetic on single numbers at addresses, for compiled code: values of few elements are computed so."""

from __future__ import annotations

import math

import numpy as np

from tape.kernels.codes import SCALARS
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import float64s, int64_at, int64s, set_int64, uint8s


def _first(signature: str) -> int:
    """Return the first code of a signature: those of one are neighbours."""
    return min(code for (_, given), code in SCALARS.items() if given == signature)


(
    _ADD, _SUBTRACT, _MULTIPLY, _DIVIDE, _POWER, _MAXIMUM, _MINIMUM, _WHERE, _MULTIPLY_PLUS_ZERO,
    _MULTIPLY_ADD, _NEGATIVE, _EXP, _LOG, _SIN, _COS, _TANH, _SQRT, _SQUARE, _ABSOLUTE, _RECIPROCAL, _EXPM1,
    _LOG1P, _ARCTAN, _TAN, _SIGN, _POSITIVE, _PLUS_ZERO,
) = (code for (_, signature), code in SCALARS.items() if signature in ("ff->f", "f->f"))  # fmt: skip
_COMPARE_FLOATS, _COMPARE_INTS, _INTS = map(_first, ("ff->b", "ii->b", "ii->i"))
_INT_TO_FLOAT, _BOOL_TO_FLOAT, _BOOL_TO_INT = map(_first, ("i->f", "b->f", "b->i"))
_CONDITION = _first("b->")
_LESS, _LESS_EQUAL, _GREATER, _GREATER_EQUAL, _EQUAL = range(5)  # after the first code of comparisons
(
    _INT_ADD, _INT_SUBTRACT, _INT_MULTIPLY, _INT_MAXIMUM, _INT_MINIMUM, _INT_WHERE,
) = (code for (_, signature), code in SCALARS.items() if signature == "ii->i")  # fmt: skip
_INT_NEGATIVE, _INT_ABSOLUTE = (SCALARS[name, "i->i"] for name in ("negative", "absolute"))
_AND, _OR, _XOR = (SCALARS[f"logical_{name}", "bb->b"] for name in ("and", "or", "xor"))
_BIT_AND, _BIT_OR, _BIT_XOR = (SCALARS[f"bitwise_{name}", "bb->b"] for name in ("and", "or", "xor"))
_BOOL_WHERE, _BOOL_POSITIVE = SCALARS["where", "bb->b"], SCALARS["positive", "b->b"]


@inner
def scalar(kind, x, y, out, condition):  # type: ignore[no-untyped-def]
    """Compute with the numbers at one or two addresses, as NumPy's ufunc does, and write the result.

    Parameters
    ----------
    kind : int64
        Of `SCALARS`.
    x, y, out : int64
        Addresses; ``y`` is ``x`` where there is one operand.
    condition : int64
        The address of an int64: "condition" writes there and nowhere else, "where" reads it.
    """
    if 0 <= kind < _COMPARE_FLOATS:  # all are compared with below: one range check is enough
        float64s(out)[0] = _float(kind, float64s(x)[0], float64s(y)[0], out, condition)
    elif kind < _COMPARE_INTS:
        uint8s(out)[0] = _comparison(kind - _COMPARE_FLOATS, float64s(x)[0], float64s(y)[0])
    elif kind < _INTS:
        uint8s(out)[0] = _comparison(kind - _COMPARE_INTS, int64s(x)[0], int64s(y)[0])
    elif kind < _INT_TO_FLOAT:
        int64s(out)[0] = _int(kind, int64s(x)[0], int64s(y)[0], condition)
    elif kind == _INT_TO_FLOAT:
        float64s(out)[0] = np.float64(int64s(x)[0])
    elif kind == _BOOL_TO_FLOAT:
        float64s(out)[0] = np.float64(uint8s(x)[0] != 0)
    elif kind == _BOOL_TO_INT:
        int64s(out)[0] = np.int64(uint8s(x)[0] != 0)
    elif kind == _CONDITION:
        set_int64(condition, np.int64(uint8s(x)[0] != 0))
    elif kind == _BOOL_WHERE:
        uint8s(out)[0] = uint8s(x)[0] if int64_at(condition) else uint8s(y)[0]
    elif kind == _BOOL_POSITIVE:
        uint8s(out)[0] = uint8s(x)[0]
    else:
        uint8s(out)[0] = _bool(kind, uint8s(x)[0] != 0, uint8s(y)[0] != 0)


@inner
def _float(kind, a, b, out, condition):  # type: ignore[no-untyped-def]
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
    if kind == _WHERE:
        return a if int64_at(condition) else b
    if kind == _PLUS_ZERO:
        return a + 0.0
    if kind == _MULTIPLY_PLUS_ZERO:
        return a * b + 0.0
    if kind == _MULTIPLY_ADD:
        return float64s(out)[0] + a * b
    return a if a != a else np.float64(a > 0) - np.float64(a < 0)


@inner
def _comparison(which, a, b):  # type: ignore[no-untyped-def]
    if which == _LESS:
        return a < b
    if which == _LESS_EQUAL:
        return a <= b
    if which == _GREATER:
        return a > b
    if which == _GREATER_EQUAL:
        return a >= b
    return a == b if which == _EQUAL else a != b


@inner
def _int(kind, a, b, condition):  # type: ignore[no-untyped-def]
    if kind == _INT_ADD:
        return a + b
    if kind == _INT_SUBTRACT:
        return a - b
    if kind == _INT_MULTIPLY:
        return a * b
    if kind == _INT_MAXIMUM:
        return max(a, b)
    if kind == _INT_MINIMUM:
        return min(a, b)
    if kind == _INT_WHERE:
        return a if int64_at(condition) else b
    if kind == _INT_NEGATIVE:
        return -a
    return abs(a) if kind == _INT_ABSOLUTE else a


@inner
def _bool(kind, a, b):  # type: ignore[no-untyped-def]
    if kind in (_AND, _BIT_AND):
        return a & b
    if kind in (_OR, _BIT_OR):
        return a | b
    return a ^ b if kind in (_XOR, _BIT_XOR) else not a
