"""Taking elements along an axis by position, and putting others there."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tape import errors
from tape.core import pattern_rules, series
from tape.core.batch_rules import inner_axis, lift
from tape.core.linear import broadcast_to
from tape.core.node import plain
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.table import implements
from tape.errors import DTypeError, ShapeError
from tape.inspect.costs import declare_cost, free, passes
from tape.inspect.samples import declare_samples
from tape.kernels.accumulate import Scattered
from tape.ops.elementwise.selection import where
from tape.ops.structure.indexing import HOLE, batch_reading, getitem_op, scattered
from tape.ops.structure.positions import Shape, checked_axis, checked_positions
from tape.ops.structure.shape import astype, broadcasts, ravel, repeated, reshape

__all__ = ["put_along_axis", "take", "take_along_axis"]

declare_samples(
    "np.take(x, chosen, axis=1)",
    "np.take_along_axis(x, columns, axis=1)",
    "tape.ops.put_along_axis(x, columns, c, axis=1)",
)


def _along(indices: Any, shape: Shape, axis: int) -> tuple[Any, ...]:
    """Return the index that reads ``indices`` along an axis of an array of this shape."""
    return tuple(
        indices if i == axis else np.arange(length).reshape((-1,) + (1,) * (len(shape) - 1 - i))
        for i, length in enumerate(shape)
    )


def _flat_positions(indices: Any, shape: Shape, axis: int) -> np.ndarray:
    """Return the same positions in the flattened array, where adding and writing take a tenth of the time."""
    indices = np.asarray(indices, np.intp)
    if indices.size and indices.min() < 0:
        indices = np.where(indices < 0, indices + shape[axis], indices)
    steps = [prod(shape[i + 1 :]) for i in range(len(shape))]
    steps_along = zip(_along(indices, shape, axis), steps, strict=True)
    offsets = sum(part * step for i, (part, step) in enumerate(steps_along) if i != axis)
    return indices * steps[axis] + offsets


def _batch_along(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    """Batch rule of operations along an axis; operands that are not batched broadcast."""
    lifted = [
        x if inside else reshape(x, (1, *np.shape(x))) for x, inside in zip(operands, is_batched, strict=True)
    ]
    if "shape" in attrs:
        attrs = {**attrs, "shape": (size, *attrs["shape"])}
    return op(*lifted, **{**attrs, "axis": inner_axis(attrs["axis"])})


# ---- positions for each row --------------------------------------------------------------------------


def _add(g: Any, indices: Any, *, shape: Shape, axis: int) -> Any:
    flat, g = np.broadcast_arrays(_flat_positions(indices, shape, axis), g)
    return Scattered(g.ravel(), (flat.ravel(),), (prod(shape),)).dense().reshape(shape)


def lower_take_along(b: Any, x: Any, indices: Any, axis: int) -> Any:
    """Lower `take_along_axis`."""
    indices = b.value(indices)
    found = b.take_along(x, indices, axis)
    return b.read(x, _along(indices, x.shape, axis)) if found is None else found


def _axis_of(x: Any, indices: Any, axis: int) -> tuple[int]:
    return (axis,)


def _added_along(numbers: Any, indices: Any, shape: Shape, axis: int) -> Any:
    return np.take_along_axis(numbers, np.asarray(indices), axis)


_take_along_axis: Op = Op(
    lambda x, indices, *, axis: np.take_along_axis(x, indices, axis),
    name="take_along_axis",
    pattern=pattern_rules.reads(_axis_of),
    vjp=[
        lambda g, out, x, indices, axis: add_along_axis(g, indices, shape=x.shape, axis=axis),
        None,
    ],
    linear=True,
    batch=_batch_along,
    lower=lower_take_along,
)

add_along_axis: Op = Op(
    _add,
    name="add_along_axis",
    pattern=pattern_rules.adds(_added_along),
    vjp=[lambda g, out, x, indices, shape, axis: _take_along_axis(g, indices, axis=axis), None],
    linear=True,
    batch=_batch_along,
    lower=lambda b, g, indices, shape, axis: b.written(g, _along(indices, shape, axis), shape),
)
declare_cost(passes(1), add_along_axis)


def _put(x: Any, indices: Any, values: Any, *, axis: int) -> Any:
    out = np.array(x, order="C")
    out.reshape(-1)[_flat_positions(indices, out.shape, axis)] = values
    return out


def _is_last(indices: Any, *, shape: Shape, axis: int) -> Any:
    flat = _flat_positions(indices, shape, axis)
    order = np.arange(flat.size).reshape(flat.shape)
    written = np.empty(prod(shape), order.dtype)
    written[flat] = order
    return written[flat] == order


def _lower_is_last(b: Any, indices: Any, shape: Shape, axis: int) -> Any:
    return b.is_last(_along(b.value(indices), shape, axis), shape)


_written_last = Op(_is_last, name="written_last", batch=_batch_along, lower=_lower_is_last)


def _batch_put(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    x, indices, values = operands
    x_inside, indices_inside, values_inside = is_batched
    ndim = np.ndim(indices) - indices_inside
    if not indices_inside:
        indices = reshape(indices, (1, *np.shape(indices)))
    x = repeated(x, x_inside, size)
    return op(x, indices, lift(values, values_inside, ndim), axis=inner_axis(attrs["axis"]))


def _put_values_vjp(g: Any, out: Any, x: Any, indices: Any, values: Any, axis: int) -> Any:
    is_last = _written_last(indices, shape=x.shape, axis=axis)
    return where(is_last, _take_along_axis(g, indices, axis=axis), 0)


def _pattern_put(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
    x, indices, values = operands
    known = sets.contents([indices])
    x = x if is_moving[0] else np.zeros(np.shape(out), np.int64)
    values = values if is_moving[2] else np.int64(0)
    if known is not None:
        return op.forward(x, *known, values, **attrs)
    values = np.broadcast_to(values, np.shape(plain(indices)))
    return sets.union(x, np.broadcast_to(sets.over(values, attrs["axis"], True), x.shape))


put_along_axis_op: Op = Op(
    _put,
    name="put_along_axis",
    pattern=_pattern_put,
    vjp=[
        lambda g, out, x, indices, values, axis: put_along_axis_op(g, indices, 0, axis=axis),
        None,
        _put_values_vjp,
    ],
    jvp=[
        lambda t, out, x, indices, values, axis: put_along_axis_op(t, indices, 0, axis=axis),
        None,
        lambda t, out, x, indices, values, axis: put_along_axis_op(
            np.zeros(x.shape, x.dtype), indices, t, axis=axis
        ),
    ],
    taylor=series.linear,
    batch=_batch_put,
    lower=lambda b, x, indices, values, axis: b.set_at(
        x := b.value(x), b.value(values, x.dtype), _along(b.value(indices), x.shape, axis)
    ),
)


# ---- one position for all rows -----------------------------------------------------------------------


def _take_vjp(g: Any, out: Any, x: Any, indices: Any, axis: int) -> Any:
    return scattered(g, indices, index=(*(slice(None),) * axis, HOLE), shape=x.shape)


def _batch_take(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    if not is_batched[1]:
        return op(*operands, axis=inner_axis(attrs["axis"]))
    index = (*(slice(None),) * attrs["axis"], HOLE)
    return batch_reading(getitem_op, operands, is_batched, {"index": index}, size)


_take: Op = Op(
    lambda x, indices, *, axis: np.take(x, indices, axis),
    name="take",
    pattern=pattern_rules.reads(_axis_of),
    vjp=[_take_vjp, None],
    linear=True,
    batch=_batch_take,
    lower=lambda b, x, indices, axis: b.read(x, (*(slice(None),) * axis, indices)),
)
declare_cost(free, _take, _take_along_axis, put_along_axis_op)


def taken(x: Any, indices: Any, axis: int) -> Any:
    """Return elements along an axis, counted from the front, by checked positions."""
    return _take(x, indices, axis=axis)


# ---- public ------------------------------------------------------------------------------------------


def _rows(name: str, arr: Any, indices: Any, axis: int | None) -> tuple[Any, Shape, int]:
    """Return indices that fit an array, the shape of the array, and the axis; flat if the axis is None."""
    shape = np.shape(arr) if axis is not None else (np.size(arr),)
    axis = 0 if axis is None else checked_axis(name, shape, axis)
    indices = as_operand(indices)
    if np.ndim(indices) != len(shape):
        raise ShapeError(
            f"{name}: the indices have shape {list(np.shape(indices))}, the array has {list(shape)}. They "
            "must have as many axes"
        )
    indices = checked_positions(name, indices, -shape[axis], shape[axis])
    try:
        np.broadcast_shapes(_without(shape, axis), _without(np.shape(indices), axis))
    except ValueError as error:
        raise errors.explain(name, (arr, indices), error) from error
    return indices, shape, axis


def _without(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], 1, *shape[axis + 1 :])


@implements(np.take)
def take(a: Any, indices: Any, axis: int | None = None, *, mode: str = "raise") -> Any:
    """Return elements along an axis, by position.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    indices : array_like or Var
        Ints of any shape: data that may change on replay. Negative ones count from the end.
    axis : int, optional
        By default the array is flattened.
    mode : {"raise", "wrap", "clip"}
        How to treat indices out of range: raise, or start over from the other end, or
        become the nearest one, negative ones 0.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Array of the shape of ``a`` with that of ``indices`` in place of the axis. The gradient adds up for
        elements that are taken more than once.

    Raises
    ------
    OutOfBoundsError
        If an index is out of range, or no int.
    ShapeError
        If there is no such axis.
    OptionError
        If ``mode`` is another one.

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace()
    >>> tr.backward_param_grads(tape.ops.take(tr.param([1.0, 2.0, 3.0]), [0, 0, -1]))
    [array([2., 0., 1.])]
    """
    a, indices = as_operand(a), as_operand(indices)
    shape = np.shape(a)
    if axis is not None and (shape or axis not in (0, -1)):
        axis = checked_axis("take", shape, axis)
    else:
        axis, shape = None, (np.size(a),)
    if np.result_type(indices).kind == "b":  # NumPy takes elements 0 and 1 here
        indices = astype(indices, np.intp)
    length = shape[axis or 0]
    indices = checked_positions("take", indices, -length, length, mode)
    if axis is None:
        a, axis = _flat(a), 0
    return taken(a, indices, axis)


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    """Return elements along an axis, by positions that differ from row to row, as `argsort` returns them.

    Parameters
    ----------
    arr : array_like or Var
        At least one axis.
    indices : array_like or Var
        Ints, with as many axes as ``arr``; all but ``axis`` broadcast with those of ``arr``. Data that
        may change on replay.
    axis : int, optional
        None for the flattened array.

    Returns
    -------
    numpy.ndarray or Var
        The gradient adds up for elements that are taken more than once.

    Raises
    ------
    OutOfBoundsError
        If an index is out of range, or no int.
    ShapeError
        If there is no such axis, or the shapes do not fit.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.take_along_axis(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1], [0]]), axis=1)
    array([[2.],
           [3.]])
    """
    arr = as_operand(arr)
    indices, _, position = _rows("take_along_axis", arr, indices, axis)
    return _take_along_axis(_flat(arr) if axis is None else arr, indices, axis=position)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> Any:
    """Return a copy of an array with values put along an axis, at positions that differ from row to row.

    The counterpart of `take_along_axis`. NumPy's function of this name writes into its argument; this one
    does not.

    Parameters
    ----------
    arr : array_like or Var
        At least one axis.
    indices : array_like or Var
        Same as for `take_along_axis`. Where a position is named twice, the value written last stays, and the
        one before has derivative 0.
    values : array_like or Var
        The values to write; they broadcast to what `take_along_axis` would read.
    axis : int or None
        None for the flattened array.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape and dtype of ``arr``.

    Raises
    ------
    OutOfBoundsError
        If an index is out of range, or no int.
    ShapeError
        If there is no such axis, or the shapes do not fit.
    DTypeError
        If the values do not fit the dtype of ``arr``.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.put_along_axis(np.zeros((2, 2)), np.array([[1], [0]]), 5.0, axis=1)
    array([[0., 5.],
           [5., 0.]])
    """
    arr, values = as_operand(arr), as_operand(values)
    dtype = np.result_type(arr)
    if not np.can_cast(np.result_type(values), dtype, "same_kind"):
        raise DTypeError(
            f"put_along_axis: values {errors.describe(values)} do not fit into {errors.describe(arr)}. "
            "Convert the array with astype"
        )
    whole = np.shape(arr)
    indices, shape, position = _rows("put_along_axis", arr, indices, axis)
    read = np.broadcast_shapes(_without(shape, position), np.shape(indices))
    if not broadcasts(np.shape(values), read):
        raise ShapeError(
            f"put_along_axis: values of shape {list(np.shape(values))} do not broadcast to {list(read)}"
        )
    if np.shape(indices) != read:
        indices = broadcast_to(indices, shape=read)
    out = put_along_axis_op(_flat(arr) if axis is None else arr, indices, values, axis=position)
    return reshape(out, whole) if axis is None and len(whole) != 1 else out


def _flat(a: Any) -> Any:
    return a if np.ndim(a) == 1 else ravel(a)
