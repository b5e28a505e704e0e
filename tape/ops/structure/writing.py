"""Writing elements at NumPy's indices, as operations that return a new array.

Indices are those of `tape.ops.structure.indexing`. Where an index array names a position more than once, the
element written last, in C order, stays, and the others have derivative 0.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tape import errors
from tape.core import pattern_rules, series
from tape.core.batch_rules import elementwise, lift
from tape.core.linear import sum_to
from tape.core.node import plain
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.weak import Weak
from tape.errors import DTypeError
from tape.inspect.costs import declare_cost, free
from tape.kernels.accumulate import Scattered
from tape.ops.elementwise.selection import where
from tape.ops.structure.indexing import HOLE, batch_index, filled_index, getitem_op, parsed, positions
from tape.ops.structure.shape import astype, repeated, reshape

__all__ = ["add_at", "set_at"]

Shape = tuple[int, ...]


# ---- shared by both operations -----------------------------------------------------------------------


def _in_order(index: tuple[Any, ...], arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a full index that NumPy iterates in C order, and not in the memory order of its arrays."""
    return filled_index(index, tuple([np.asarray(array, order="C") for array in arrays]))


def _own(x: Any) -> np.ndarray:
    return np.array(x, order="K", copy=True)


def _result(out: np.ndarray) -> Any:
    return out if out.ndim else out[()]


def _ndim_at(ndim: int, index: tuple[Any, ...], arrays: list[Any]) -> int:
    """Return the number of axes that reading at an index gives, by NumPy's rules, without any values."""
    remaining = iter(arrays)
    together = None  # number of axes of all arrays and ints in an index with an array
    for part in index:
        if part is HOLE:
            array = next(remaining)
            is_mask = array.dtype == bool
            ndim -= array.ndim if is_mask else 1
            together = max(together or 0, 1 if is_mask else array.ndim)
        elif part is None:
            ndim += 1
        elif isinstance(part, int):
            ndim -= 1
    return ndim + (together or 0)


def _batch(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    (x, v, *arrays), (x_inside, v_inside, *arrays_inside) = operands, is_batched
    index = batch_index(attrs["index"], [x_inside, *arrays_inside])
    count = np.ndim(x) - x_inside
    found = None
    if index is None and any(arrays_inside):
        found = positions(attrs["index"], arrays, arrays_inside, count, size)
    if index is None and found is None:
        return NotImplemented
    x = repeated(x, x_inside, size)
    ones = [np.empty(np.shape(a)[inside:], np.int8) for a, inside in zip(arrays, arrays_inside, strict=True)]
    ndim = _ndim_at(count, attrs["index"], arrays if found is None else ones)
    if v_inside and v.ndim - 1 > ndim:
        v = reshape(v, (size, *v.shape[v.ndim - ndim :]))
    v = lift(v, v_inside, ndim)
    if found is None:
        return op(x, v, *arrays, index=index)
    if not v_inside:
        missing = ndim + 1 - np.ndim(v)
        v = reshape(v, (*(1,) * missing, *np.shape(v))) if missing > 0 else v
    return op(x, found.to_write(v), *found.arrays, index=found.where)


def _summed(read: Any, shape: Shape) -> Any:
    """Return an adjoint as read at the index, summed for a value that may have extra axes of length one."""
    if np.shape(read) == shape:
        return read
    extra = max(len(shape) - np.ndim(read), 0)
    return reshape(sum_to(read, shape=shape[extra:]), shape)


def _to_values(g: Any, v: Any, arrays: tuple[Any, ...], index: tuple[Any, ...]) -> Any:
    """Return the adjoint of values written or added at an index."""
    shape = np.shape(v)
    if index in ((HOLE,), (HOLE, ...)) and arrays[0].dtype == bool:
        mask = arrays[0]
        rest = np.ndim(g) - mask.ndim
        lead = max(len(shape) - rest, 0)
        if all(length == 1 for length in shape[:lead]):  # of no shape that depends on how many are True
            chosen = where(reshape(mask, (*mask.shape, *(1,) * rest)), g, 0)
            return reshape(sum_to(chosen, shape=shape[lead:]), shape)
    return _summed(getitem_op(g, *arrays, index=index), shape)


# ---- writing -----------------------------------------------------------------------------------------


def _written(x: Any, v: Any, *arrays: Any, index: tuple[Any, ...]) -> Any:
    out = _own(x)
    if arrays and isinstance(v, np.ndarray):
        v = np.asarray(v, order="C")
    out[_in_order(index, arrays)] = v
    return _result(out)


def _is_last(*arrays: Any, index: tuple[Any, ...], shape: Shape) -> Any:
    filled = _in_order(index, arrays)
    written = np.empty(shape, np.intp)
    shape = written[filled].shape
    order = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    written[filled] = order
    return written[filled] == order


_stays = Op(
    _is_last,
    name="stays",
    lower=lambda b, *arrays, index, shape: b.is_last(filled_index(index, arrays), shape),
    doc="For each element written at an index, whether it is the last one there.",
)


def _pattern(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
    """Pattern rule: written elements have the sets of the values, or these besides their own."""
    (x, v, *arrays), (x_moves, v_moves, *_) = operands, is_moving
    x = x if x_moves else np.zeros(np.shape(out), np.int64)
    v = v if v_moves else np.int64(0)
    known = sets.contents(arrays)
    if known is None:
        return sets.union(x, np.broadcast_to(sets.over(v, None, False), x.shape))
    if op is _set_at:
        return _written(x, v, *known, index=attrs["index"])
    numbers = np.arange(x.size).reshape(x.shape)
    targets = numbers[_in_order(attrs["index"], tuple(known))]
    v = v.reshape(v.shape[max(np.ndim(v) - targets.ndim, 0) :])
    added = sets.grouped(targets, np.broadcast_to(v, targets.shape), x.size)
    return sets.union(x, added.reshape(x.shape))


pattern_rules.POSITIONS[_pattern] = 2


def _set_at_vjp(g: Any, out: Any, x: Any, v: Any, *arrays: Any, index: tuple[Any, ...]) -> list[Any]:
    if all(array.dtype == bool for array in arrays):  # no position is named twice
        to_v = _to_values(g, v, arrays, index)
    else:
        read = getitem_op(g, *arrays, index=index)
        stays = _stays(*arrays, index=index, shape=out.shape)
        to_v = _summed(where(stays, read, 0), np.shape(v))
    return [_set_at(g, 0, *arrays, index=index), to_v, *(None for _ in arrays)]


def _set_at_jvp(tangents: Any, out: Any, x: Any, v: Any, *arrays: Any, index: tuple[Any, ...]) -> Any:
    to_x, to_v = tangents[:2]
    if to_x is None:
        if to_v is None:
            return None
        to_x = np.zeros(out.shape, out.dtype)
    return _set_at(to_x, 0 if to_v is None else to_v, *arrays, index=index)


_set_at: Op = Op(
    _written,
    name="set_at",
    pattern=_pattern,
    vjp=_set_at_vjp,
    jvp=_set_at_jvp,
    taylor=series.linear,
    batch=_batch,
    lower=lambda b, x, v, *arrays, index: b.set_at(
        x := b.value(x), b.value(v, x.dtype), filled_index(index, arrays)
    ),
)
declare_cost(free, _set_at)


# Reading comes first, and cannot refer to later writes.
getitem_op.view = lambda x, part, *arrays, index: _set_at(x, part, *arrays, index=index)


def _stored(v: Any, *, dtype: np.dtype[Any]) -> Any:
    out = np.empty(np.shape(v), dtype)
    out[...] = v
    return out[()]


def lower_stored(b: Any, v: Any, *, dtype: np.dtype[Any]) -> Any:
    """Lower `stored_in`: convert a number, and stop where it does not fit."""
    v, limits = b.value(v), np.iinfo(dtype)
    wide = b.cast(v, np.float64)
    fits = b.elementwise(
        "logical_and",
        b.elementwise("greater", wide, float(limits.min) - 1),
        b.elementwise("less", wide, float(limits.max) + 1),
    )
    return b.cast(b.require(v, fits), dtype)


_store = Op(
    _stored,
    name="store",
    batch=elementwise,
    lower=lower_stored,
    doc="A number as an element of an array of integers: NumPy refuses NaN and what does not fit.",
)


def _may_not_fit(v: Any, dtype: np.dtype[Any]) -> bool:
    """Return whether NumPy may refuse a number as an element of an array; unsigned ones wrap NumPy's."""
    given = np.result_type(v)
    if dtype.kind not in "iu" or given.kind not in "iuf":
        return False
    is_refused = given.kind == "f" or dtype.kind == "i" or isinstance(plain(v), (int, Weak))
    return is_refused and not np.can_cast(given, dtype)


def _is_python(v: Any) -> bool:
    """Return whether a value is a real Python number, or stands for one."""
    number = plain(v)
    return isinstance(number, (int, float, Weak)) and not isinstance(number, np.generic)


def fitting(v: Any, dtype: np.dtype[Any]) -> Any:
    """Return a Python number as an element of an array, which raises where it does not fit, or else ``v``."""
    return _as_element(v, dtype) if _is_python(v) and _may_not_fit(v, dtype) else v


def _as_element(v: Any, dtype: np.dtype[Any]) -> Any:
    return dtype.type(v) if type(v) is int else stored_in(v, dtype)


def stored_in(v: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number as an element of an array of integers, as ``array[0] = v`` converts it."""
    return _store(v, dtype=dtype)


def set_at(x: Any, v: Any, index: Any) -> Any:
    """Return a copy of ``x`` after ``x[index] = v``.

    Parameters
    ----------
    x : array_like or Var
        Any shape.
    v : array_like or Var
        Broadcasts to ``x[index]``; leading axes of length one more are dropped. It takes the dtype of
        ``x``.
    index : int, slice, None, Ellipsis, array_like or Var of ints or bools, or a tuple of these
        Arrays in an index are operands of the recorded operation: data that may change on replay.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape and dtype of ``x``. Of elements written to one position the last in C order stays;
        those before it, and the element of ``x`` that was there, have derivative 0.

    Raises
    ------
    OutOfBoundsError
        If the index does not fit, or is of another kind.
    ShapeError
        If ``v`` does not broadcast to ``x[index]``.
    DTypeError
        If ``v`` is complex and ``x`` is not.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> x, v = tr.param([1.0, 2.0, 3.0]), tr.param(5.0)
    >>> y = tape.ops.set_at(x, v, slice(1, None))
    >>> y.value
    array([1., 5., 5.])
    >>> tr.backward_param_grads(y)
    [array([1., 0., 0.]), array(2.)]
    """
    x, v = as_operand(x), as_operand(v)
    static, arrays = parsed(index)
    dtype, kind = np.result_type(x), np.result_type(v).kind
    if kind == "c" and dtype.kind != "c":
        raise DTypeError(
            f"set_at: {errors.describe(v)} does not fit into {errors.describe(x)}. Write its real part, or "
            "convert the array with astype"
        )
    if not np.ndim(v) and (_is_python(v) or not arrays) and _may_not_fit(v, dtype):
        v = _as_element(v, dtype)
    elif kind in "fc" and dtype.kind not in "fc":
        v = astype(v, dtype)
    return _set_at(x, v, *arrays, index=static)


# ---- adding ------------------------------------------------------------------------------------------


def _added(x: Any, v: Any, *arrays: Any, index: tuple[Any, ...]) -> Any:
    out = _own(x)
    if not arrays:
        part = out[index if Ellipsis in index else (*index, ...)]
        if part.base is out:  # a view, also of a single element; not where there is a bool in the index
            part += v
            return _result(out)
    filled = _in_order(index, arrays)
    # Broadcast here: np.add.at reads beyond the end of values that it has to broadcast (NumPy 2.4).
    values = np.broadcast_to(v, out[filled].shape).copy()
    if values.dtype == out.dtype:
        Scattered(values, filled, out.shape).add_to(out)
    else:
        np.add.at(out, filled, values)
    return _result(out)


def _add_at_vjp(g: Any, out: Any, x: Any, v: Any, *arrays: Any, index: tuple[Any, ...]) -> list[Any]:
    return [g, _to_values(g, v, arrays, index), *(None for _ in arrays)]


def _add_at_jvp(tangents: Any, out: Any, x: Any, v: Any, *arrays: Any, index: tuple[Any, ...]) -> Any:
    to_x, to_v = tangents[:2]
    if to_v is None:
        return to_x
    if to_x is None:
        to_x = np.zeros(out.shape, out.dtype)
    return _add_at(to_x, to_v, *arrays, index=index)


_add_at: Op = Op(
    _added,
    name="add_at",
    pattern=_pattern,
    vjp=_add_at_vjp,
    jvp=_add_at_jvp,
    taylor=series.linear,
    batch=_batch,
    lower=lambda b, x, v, *arrays, index: b.added_at(
        x := b.value(x), b.value(v, x.dtype), filled_index(index, arrays)
    ),
)
declare_cost(lambda out, shapes, attrs: prod(shapes[1]), _add_at)


def add_at(x: Any, v: Any, index: Any) -> Any:
    """Return a copy of ``x`` after ``np.add.at(x, index, v)``.

    Parameters
    ----------
    x : array_like or Var
        Any shape.
    v : array_like or Var
        Broadcasts to ``x[index]``; of a dtype that NumPy would add to ``x`` in place.
    index : int, slice, None, Ellipsis, array_like or Var of ints or bools, or a tuple of these
        Arrays in an index are operands of the recorded operation: data that may change on replay.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape and dtype of ``x``. Values added to one position add up.

    Raises
    ------
    OutOfBoundsError
        If the index does not fit, or is of another kind.
    ShapeError
        If ``v`` does not broadcast to ``x[index]``.
    DTypeError
        If the sum does not fit the dtype of ``x``: floats into ints, or complex numbers into floats.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> x, v = tr.param([1.0, 2.0, 3.0]), tr.param([10.0, 20.0])
    >>> y = tape.ops.add_at(x, v, [0, 0])
    >>> y.value
    array([31.,  2.,  3.])
    >>> tr.backward_param_grads(y)
    [array([1., 1., 1.]), array([1., 1.])]
    """
    static, arrays = parsed(index)
    return _add_at(as_operand(x), strong(v), *arrays, index=static)


def strong(v: Any) -> Any:
    """Return an operand; a Python number as the wide array that ``np.ufunc.at`` converts it to."""
    v = as_operand(v)
    return v if hasattr(v, "dtype") else np.asarray(v)[()]
