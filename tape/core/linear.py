"""The linear operations that rules lean on: they undo promotion and broadcasting, and take results apart.

All other operations live in `tape.ops`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core import pattern_rules
from tape.core.batch_rules import elementwise, lift
from tape.core.node import plain
from tape.core.op import Op
from tape.core.results import Results, unpack
from tape.core.table import INTERNAL
from tape.inplace.aliases import read_only
from tape.kernels.reduce import sum_to_shape


def _batch_sum_to(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    (x,), shape = operands, attrs["shape"]
    kept = (size, *(1,) * (x.ndim - 1 - len(shape)), *shape)
    return op(x, shape=kept).reshape((size, *shape))


def _batch_broadcast_to(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    return op(lift(operands[0], True, len(attrs["shape"])), shape=(size, *attrs["shape"]))


def _pattern_sum_to(
    sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any
) -> Any:
    (x,), shape = operands, attrs["shape"]
    lead = x.ndim - len(shape)
    kept = sets.over(x, tuple(range(lead)), False) if lead else x
    axes = tuple(i for i, length in enumerate(shape) if length == 1 != kept.shape[i])
    return sets.over(kept, axes, True) if axes else kept


def _cast(x: Any, *, dtype: Any) -> Any:
    return (x.real if x.dtype.kind == "c" != dtype.kind else x).astype(dtype)


cast: Op = Op(
    _cast,
    name="cast",
    pattern=pattern_rules.linear,
    vjp=[lambda g, out, x, dtype: cast(g, dtype=x.dtype)],
    linear=True,
    batch=elementwise,
    lower=lambda b, x, dtype: b.cast(x, dtype),
    doc="Convert to another float or complex dtype; of complex numbers to floats, the real part.",
)

sum_to = Op(
    lambda x, *, shape: sum_to_shape(np.asarray(x), shape),
    name="sum_to",
    pattern=_pattern_sum_to,
    vjp=[lambda g, out, x, shape: broadcast_to(g, shape=x.shape)],
    linear=True,
    batch=_batch_sum_to,
    lower=lambda b, x, shape: b.sum_to(x, shape),
    doc="Sum to a shape that broadcasts to that of ``x``: the transpose of `broadcast_to`.",
)

broadcast_to: Op = Op(
    lambda x, *, shape: np.broadcast_to(x, shape),
    name="broadcast_to",
    pattern=pattern_rules.moves,
    vjp=[lambda g, out, x, shape: sum_to(g, shape=x.shape)],
    linear=True,
    view=read_only,
    batch=_batch_broadcast_to,
    lower=lambda b, x, shape: b.broadcast(x, shape),
    doc="Repeat along new axes and axes of length one, without copying.",
)


def _pattern_part(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
    return operands[0][attrs["index"]]


def _pull_part(g: Any, out: Any, results: Any, *, index: int) -> Results:
    return Results([g if k == index else None for k in range(len(plain(results)))])


part = Op(
    lambda results, *, index: results[index],
    name="part",
    pattern=_pattern_part,
    vjp=[_pull_part],
    jvp=lambda tangents, out, results, *, index: tangents[0][index],
    taylor=lambda op, out, series, attrs: [
        out, *(None if c is None else c[attrs["index"]] for c in series[0][1:])
    ],
    batch=lambda op, operands, is_batched, attrs, size: unpack(operands[0])[attrs["index"]],
    lower=lambda b, results, index: b.part(results, index),
    doc="One result of an operation that has several.",
)  # fmt: skip

INTERNAL.update(part=part, cast=cast, sum_to=sum_to, broadcast_to=broadcast_to)
