"""Linear recurrences along an axis as one operation: the derivatives of running products."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core import pattern_rules
from tape.core.op import Op
from tape.kernels.recurrences import recurrence
from tape.ops.structure.indexing import part_along
from tape.ops.structure.joining import concatenate


def neighbours(x: Any, axis: int, first: float, backwards: bool = False) -> Any:
    """Return, for each element, the one before or after it; a given number where there is none."""
    if not x.shape[axis]:
        return x
    shape = list(x.shape)
    shape[axis] = 1
    edge = np.full(shape, first, x.dtype)
    if backwards:
        return concatenate([part_along(x, axis, slice(1, None)), edge], axis=axis)
    return concatenate([edge, part_along(x, axis, slice(None, -1))], axis=axis)


def _recur(a: Any, b: Any) -> Any:
    """Run the recurrence along the first axis.

    Pairs of steps are one step of a recurrence half as long: O(n) work in O(log n) operations.
    """
    length = len(b)
    out = b.copy()
    if length <= 8:
        for i in range(1, length):
            out[i] += a[i] * out[i - 1]
        return out
    pairs = length // 2 * 2
    a_first, a_second, b_first, b_second = a[:pairs:2], a[1::2], b[:pairs:2], b[1::2]
    out[1::2] = _recur(a_first * a_second, a_second * b_first + b_second)
    out[2::2] += a[2::2] * out[1:-1:2]
    return out


def _recurrence_forward(a: Any, b: Any, *, axis: int, backwards: bool) -> Any:
    a, b = np.broadcast_arrays(a, b)
    if (out := recurrence(a, b, axis, backwards)) is not None:
        return out
    turn = slice(None, None, -1 if backwards else None)
    a, b = (np.moveaxis(x, axis, 0)[turn] for x in (a, b))
    return np.moveaxis(_recur(a, b.astype(np.result_type(a, b)))[turn], 0, axis)


def _recurrence_vjp(g: Any, out: Any, a: Any, b: Any, axis: int, backwards: bool) -> list[Any]:
    factors = neighbours(a, axis, 0, not backwards)
    adjoint = linear_recurrence(factors, g, axis=axis, backwards=not backwards)
    return [adjoint * neighbours(out, axis, 0, backwards), adjoint]


def _batch_recurrence(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    lifted = (x if inside else x[None] for x, inside in zip(operands, is_batched, strict=True))
    return op(*lifted, **{**attrs, "axis": attrs["axis"] + (attrs["axis"] >= 0)})


linear_recurrence: Op = Op(
    _recurrence_forward,
    name="recurrence",
    pattern=pattern_rules.running(backwards=False),
    vjp=_recurrence_vjp,
    jvp=[
        lambda t, out, a, b, axis, backwards: linear_recurrence(
            a, t * neighbours(out, axis, 0, backwards), axis=axis, backwards=backwards
        ),
        lambda t, out, a, b, axis, backwards: linear_recurrence(a, t, axis=axis, backwards=backwards),
    ],
    batch=_batch_recurrence,
    lower=lambda b, x, y, axis, backwards: b.scan("linear", y, axis, backwards, factors=x),
    doc="``y[i] = a[i] * y[i - 1] + b[i]`` along an axis, forwards from its first element or backwards "
    "from its last.",
)
