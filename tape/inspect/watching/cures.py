"""Remedies for a NaN or an infinity, by the operation that produced it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_OVERFLOW = ("exp", "exp2", "expm1", "sinh", "cosh", "logaddexp", "logaddexp2")
_DOMAIN = {
    "arcsin": "between -1 and 1",
    "arccos": "between -1 and 1",
    "arctanh": "between -1 and 1, both excluded",
    "arccosh": "1 or more",
    "sqrt": "0 or more",
    "log": "positive",
    "log2": "positive",
    "log10": "positive",
    "log1p": "more than -1",
}
"""The arguments for which functions are finite."""

_POLES: dict[str, str] = {
    "sqrt": "The derivative of sqrt is infinite at 0. Add a small number under the root, sqrt(x + eps); for "
    "a norm use np.linalg.norm, whose derivative at 0 is 0",
    "cbrt": "The derivative of cbrt is infinite at 0. Keep its argument away from there",
    "arcsin": "The derivative of arcsin is infinite at -1 and 1. Clip the argument a little inside",
    "arccos": "The derivative of arccos is infinite at -1 and 1. Clip the argument a little inside, or take "
    "np.arctan2 of sine and cosine",
    "arccosh": "The derivative of arccosh is infinite at 1. Keep its argument above",
    "power": "The derivative of x**p is infinite at 0 for p < 1, and that by p wants log(x). Keep the base "
    "positive, for instance (x + eps)**p",
    "arctan2": "arctan2 has no derivative at the origin. Guard the point with np.where, on the operands",
}
"""Advice for derivatives at the boundary of the domain."""

_NOT_TAKEN = (
    "The adjoint is 0 there, and 0 times an infinite derivative is NaN. If a where or a mask leaves this "
    "branch out, guard the operand too: np.where(ok, f(np.where(ok, x, 1.0)), other). Else keep it away from "
    "that point"
)


def cure(op: str, phase: str, value: Any, operands: Sequence[Any], adjoint: Any, dtype: np.dtype[Any]) -> str:
    """Return a sentence of advice.

    Parameters
    ----------
    op : str
        The operation.
    phase : {"forward", "backward", "tangent"}
        Whether its forward, its vjp or its jvp was running.
    value : scalar
        The NaN or infinity.
    operands : sequence
        The operands at that element; None where they are unknown.
    adjoint : scalar or None
        The adjoint at that element, in a backward pass.
    dtype : numpy.dtype
        The dtype of the value.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from tape.inspect.watching.cures import cure
    >>> cure("log", "forward", np.nan, [-1.0], None, np.dtype("float64"))
    'log is finite where its argument is positive, and got -1.0. Keep it there, ...'
    """
    if phase != "forward":
        if adjoint is not None and not adjoint and np.isnan(value):
            return _NOT_TAKEN
        if op in _POLES:
            return _POLES[op]
    for advice in (_of_a_function, _by_zero, _of_powers, _beyond_exp, _outside, _too_large):
        found = advice(op, value, operands, dtype)
        if found:
            return found
    if phase != "forward":
        return f"Check the operands of {op}: its derivative is not finite there"
    return f"Check the operands of {op}: it is not finite there"


Advice = Callable[[str, Any, Sequence[Any], "np.dtype[Any]"], str | None]


def _of_a_function(op: str, value: Any, operands: Sequence[Any], dtype: np.dtype[Any]) -> str | None:
    if "(" not in op:
        return None
    kind, inner = op.removesuffix(")").split("(", 1)
    return f"{kind} records {inner} as one node. Run tape.find_nonfinite on {inner} itself"


def _by_zero(op: str, value: Any, operands: Sequence[Any], dtype: np.dtype[Any]) -> str | None:
    divisor = {"divide": -1, "floor_divide": -1, "remainder": -1, "reciprocal": 0}.get(op)
    if divisor is None or not operands or operands[divisor] is None or operands[divisor]:
        return None
    return (
        "It divides by zero. Add a small number to the divisor, or choose before dividing: "
        "np.where(d != 0, x / np.where(d != 0, d, 1.0), 0.0)"
    )


def _of_powers(op: str, value: Any, operands: Sequence[Any], dtype: np.dtype[Any]) -> str | None:
    if op not in ("power", "float_power") or len(operands) != 2 or None in operands:
        return None
    base, exponent = operands
    if not base and np.real(exponent) < 0:
        return "It is 0 to a negative power. Keep the base away from 0"
    if np.isrealobj(base) and base < 0 and exponent != np.round(exponent):
        return "A negative number has no real power with a fraction. Use np.abs or np.maximum on the base"
    return None


def _beyond_exp(op: str, value: Any, operands: Sequence[Any], dtype: np.dtype[Any]) -> str | None:
    if op not in _OVERFLOW:
        return None
    largest = np.log(np.finfo(dtype).max) if dtype.kind in "fc" else 709.0
    return (
        f"{op} overflows for arguments beyond {largest:.4g} in {dtype}. Subtract the largest first, stay "
        "with logarithms (tape.ops.logsumexp, tape.nn.log_softmax), or bound the argument with np.clip"
    )


def _outside(op: str, value: Any, operands: Sequence[Any], dtype: np.dtype[Any]) -> str | None:
    if op not in _DOMAIN:
        return None
    got = f", and got {operands[0]}" if operands and operands[0] is not None else ""
    return (
        f"{op} is finite where its argument is {_DOMAIN[op]}{got}. Keep it there, with np.clip or "
        "np.maximum; if a where leaves the result out, choose the argument first: np.where(ok, x, 1.0)"
    )


def _too_large(op: str, value: Any, operands: Sequence[Any], dtype: np.dtype[Any]) -> str | None:
    if not np.isinf(value) or dtype.kind not in "fc":
        return None
    wider = "" if dtype.itemsize >= 8 else ", use float64"
    largest = f"{np.finfo(dtype).max:.2g}"
    return f"It is beyond the largest {dtype}, {largest}. Scale the numbers{wider}, or use logarithms"
