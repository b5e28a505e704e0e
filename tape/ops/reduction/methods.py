"""Methods of ufuncs on Vars, ``np.add.reduce`` and the like: the table of their counterparts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.table import UFUNC_METHODS
from tape.errors import OutOfBoundsError, describe
from tape.inspect.costs import declare_cost, passes
from tape.ops.elementwise.elementary import exp
from tape.ops.elementwise.selection import all, any, where
from tape.ops.reduction.axes import Reduced, keep_axes, operand_and_axes, operand_and_axis
from tape.ops.reduction.cumulative import cummax, cummin, cumprod, cumsum, logcumsumexp
from tape.ops.reduction.primitives import reduction_by_partials
from tape.ops.reduction.reductions import max, min, prod, sum
from tape.ops.structure.indexing import HOLE, getitem, scatter
from tape.ops.structure.shape import Axes

# ---- logaddexp.reduce ------------------------------------------------------------------------------


def _shares(out: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
    total = keep_axes(out, x, axis, keepdims)
    return exp(x - where(total == -np.inf, 0, total))


_logaddexp_reduce = reduction_by_partials(
    "logaddexp_reduce",
    lambda x, *, axis, keepdims: np.logaddexp.reduce(x, axis=axis, keepdims=keepdims),
    _shares,
)


def _reduced_by_logaddexp(a: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    a, axes = operand_and_axes("logaddexp.reduce", a, axis)
    return _logaddexp_reduce(a, axis=axes, keepdims=keepdims)


# ---- add.reduceat ----------------------------------------------------------------------------------


def _segments_forward(indices: Any, *, length: int) -> np.ndarray:
    """Return the positions of the summed elements, and the sum each of them goes into."""
    starts = np.asarray(indices, np.intp)
    stops = np.append(starts[1:], length)
    stops = np.where(stops > starts, stops, starts + 1)  # one element where starts do not increase
    elements = [np.arange(start, stop) for start, stop in zip(starts, stops, strict=True)]
    sums = np.repeat(np.arange(len(starts)), stops - starts)
    return np.stack([np.concatenate(elements) if elements else sums, sums])


_segments = Op(_segments_forward, name="segments")


def _reduceat_vjp(g: Any, out: Any, x: Any, indices: Any, axis: int) -> Any:
    elements, sums = _segments(indices, length=x.shape[axis])
    lead = (slice(None),) * axis
    spread = getitem(g, (*lead, sums))
    return scatter(spread, elements, index=(*lead, HOLE), shape=x.shape)


_add_reduceat = Op(
    lambda x, indices, *, axis: np.add.reduceat(x, indices, axis=axis),
    name="add_reduceat",
    vjp=[_reduceat_vjp, None],
    data_dependent=False,
    linear=True,
)
declare_cost(passes(1), _add_reduceat, _logaddexp_reduce)


def _added_at(array: Any, indices: Any, axis: int = 0) -> Any:
    array, axis = operand_and_axis("add.reduceat", array, axis)
    indices = as_operand(indices)
    if np.result_type(indices).kind not in "iu":
        raise OutOfBoundsError(f"add.reduceat: indices are {describe(indices)}. Use ints")
    return _add_reduceat(array, indices, axis=axis % array.ndim)


# ---- the table -----------------------------------------------------------------------------------

_METHODS: dict[str, dict[Any, Callable[..., Any]]] = {
    "reduce": {
        np.add: sum,
        np.multiply: prod,
        np.maximum: max,
        np.minimum: min,
        np.logaddexp: _reduced_by_logaddexp,
        np.logical_and: all,
        np.logical_or: any,
    },
    "accumulate": {
        np.add: cumsum,
        np.multiply: cumprod,
        np.maximum: cummax,
        np.minimum: cummin,
        np.logaddexp: logcumsumexp,
    },
    "reduceat": {np.add: _added_at},
}
"""For each method the ufuncs that have it. All are called with ``axis``, which is 0 by default there."""

UFUNC_METHODS.update(_METHODS)
