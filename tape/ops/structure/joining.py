"""Joining arrays along an existing axis, or along a new one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from tape import errors
from tape.core import pattern_rules, series
from tape.core.batch_rules import inner_axis
from tape.core.linear import cast
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.specialise import specialised
from tape.core.table import implements
from tape.errors import DTypeError, ShapeError
from tape.inspect.costs import declare_cost, free
from tape.inspect.samples import declare_samples
from tape.ops.structure.axes import axes_of
from tape.ops.structure.indexing import getitem
from tape.ops.structure.shape import as_dtype, astype, repeated, reshape

__all__ = ["append", "column_stack", "concat", "concatenate", "dstack", "hstack", "stack", "vstack"]

declare_samples(
    "np.append(x, y, axis=0)",
    "np.column_stack([u, x])",
    "np.concatenate, np.stack([x, y], axis=1)",
    "np.dstack, np.hstack([x, y])",
    "np.vstack([x, v])",
)

Shape = tuple[int, ...]


def _batch_join(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    """Batch rule of concatenate and stack: operands that are not batched are repeated."""
    whole = [repeated(x, inside, size) for x, inside in zip(operands, is_batched, strict=True)]
    return op(*whole, axis=inner_axis(attrs["axis"]))


def _concatenate_vjp(g: Any, out: Any, *arrays: Any, axis: int) -> list[Any]:
    pieces, start = [], 0
    lead = (slice(None),) * (axis % out.ndim)
    for array in arrays:
        stop = start + array.shape[axis]
        pieces.append(getitem(g, (*lead, slice(start, stop))))
        start = stop
    return pieces


def _concatenate_jvp(tangents: list[Any], out: Any, *arrays: Any, axis: int) -> Any:
    return cast(concatenate_op(*_with_zeros(tangents, arrays), axis=axis), dtype=out.dtype)


def _lower_concatenate(b: Any, *arrays: Any, axis: int) -> Any:
    values = [b.value(array) for array in arrays]
    dtype = np.result_type(*(value.dtype for value in values))
    return b.concatenate([b.value(value, dtype) for value in values], axis % values[0].ndim)


def _lower_stack(b: Any, *arrays: Any, axis: int) -> Any:
    values = [b.value(array) for array in arrays]
    axis %= values[0].ndim + 1
    expanded = [b.reshape(value, (*value.shape[:axis], 1, *value.shape[axis:])) for value in values]
    return _lower_concatenate(b, *expanded, axis=axis)


concatenate_op = Op(
    lambda *arrays, axis: np.concatenate(arrays, axis),
    name="concatenate",
    pattern=pattern_rules.moves,
    lower=_lower_concatenate,
    vjp=_concatenate_vjp,
    taylor=series.linear,
    batch=_batch_join,
    jvp=_concatenate_jvp,
)


def _stacked(*arrays: Any, axis: int) -> Any:
    """Do what np.stack does, in half the time for small arrays."""
    lead = (*(slice(None),) * axis, None) if axis >= 0 else (..., None, *(slice(None),) * (-axis - 1))
    return np.concatenate([np.asarray(array)[lead] for array in arrays], axis)


def _stack_vjp(g: Any, out: Any, *arrays: Any, axis: int) -> list[Any]:
    lead = (slice(None),) * (axis % out.ndim)
    return [getitem(g, (*lead, k)) for k in range(len(arrays))]


def _stack_jvp(tangents: list[Any], out: Any, *arrays: Any, axis: int) -> Any:
    return cast(stack_op(*_with_zeros(tangents, arrays), axis=axis), dtype=out.dtype)


stack_op = Op(
    _stacked,
    name="stack",
    pattern=pattern_rules.moves,
    lower=_lower_stack,
    vjp=_stack_vjp,
    taylor=series.linear,
    batch=_batch_join,
    jvp=_stack_jvp,
)
declare_cost(free, concatenate_op, stack_op)


def _with_zeros(tangents: list[Any], arrays: Sequence[Any]) -> list[Any]:
    """Return tangents, with zeros for the arrays that have none."""
    return [
        np.zeros(shape_of(array), np.result_type(array)) if tangent is None else tangent
        for tangent, array in zip(tangents, arrays, strict=True)
    ]


def shape_of(x: Any) -> Shape:
    """Return the shape of an operand, faster than `np.shape`."""
    return getattr(x, "shape", ())


def _operands(name: str, arrays: Any) -> list[Any]:
    if isinstance(arrays, Iterator):
        raise DTypeError(f"{name}: an iterator has no length. Make a list of it")
    operands = [np.float64(x) if type(x) is float else as_operand(x) for x in arrays]
    if not operands:
        raise ShapeError(f"{name}: there is nothing to join. Give at least one array")
    return operands


def joined_shape(name: str, operands: Sequence[Any], shapes: Sequence[Shape], axis: int) -> Shape:
    """Return the shape of arrays, taken to have these shapes, joined along an axis."""
    first = shapes[0]
    for operand, shape in zip(operands, shapes, strict=True):
        rest, others = [
            (len(s), *s[:axis], *s[axis + 1 :]) if 0 <= axis < len(s) else None for s in (first, shape)
        ]
        if rest is None or rest != others:
            raise ShapeError(
                f"{name}: {errors.describe(operand)} does not fit {errors.describe(operands[0])}, "
                f"of shapes {list(shape)} and {list(first)} to be joined along axis {axis}. They must have "
                "that axis, and be alike in all others"
            )
    return (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])


def _converted(name: str, operands: Sequence[Any], dtype: Any, casting: Any) -> Sequence[Any]:
    """Return the operands in the dtype of the result, where one was given."""
    if dtype is None and casting == "same_kind":
        return operands
    common = np.result_type(*operands) if dtype is None else as_dtype(name, dtype)
    for operand in operands:
        if not np.can_cast(np.result_type(operand), common, casting):
            raise DTypeError(
                f"{name}: {errors.describe(operand)} does not become {common} with casting={casting!r}. "
                'Use astype first, or casting="unsafe"'
            )
    return [astype(operand, common, copy=False) for operand in operands]


def joined(
    name: str,
    operands: Sequence[Any],
    shapes: Sequence[Shape],
    axis: int,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Any:
    """Join arrays reshaped to these shapes; mismatches are found before anything is recorded."""
    joined_shape(name, operands, shapes, axis)
    converted = _converted(name, operands, dtype, casting)
    parts = [x if shape_of(x) == s else reshape(x, s) for x, s in zip(converted, shapes, strict=True)]
    return concatenate_op(*parts, axis=axis)


def _at_least(count: int, shape: Shape) -> Shape:
    """Return a shape with at least this many axes: new ones in front, for `dstack` the third at the end."""
    padded = (1,) * (min(count, 2) - len(shape)) + shape
    return (*padded, 1) if count == 3 and len(padded) == 2 else padded


@implements(np.concatenate)
@specialised()
def concatenate(
    arrays: Sequence[Any], /, axis: int | None = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """Join arrays along an existing axis.

    Parameters
    ----------
    arrays : sequence of array_like or Var
        Alike in every axis but this one.
    axis : int, optional
        None joins the flattened arrays.
    dtype : dtype_like, optional
        Dtype of the result; by default that to which all are promoted.
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}
        The conversions that are allowed.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there is nothing to join, or the shapes do not fit.
    DTypeError
        If an array may not be converted.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.concatenate([np.zeros(1), np.ones(2)])
    array([0., 1., 1.])
    """
    operands = _operands("concatenate", arrays)
    if axis is None:
        return joined("concatenate", operands, [(prod(shape_of(x)),) for x in operands], 0, dtype, casting)
    if dtype is None and casting == "same_kind":
        return concatenate_op(*operands, axis=axis)
    (axis,) = axes_of("concatenate", operands[0], axis)
    return joined("concatenate", operands, list(map(shape_of, operands)), axis, dtype, casting)


concat = concatenate


@implements(np.stack)
@specialised()
def stack(arrays: Sequence[Any], axis: int = 0, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Join arrays along a new axis.

    Parameters
    ----------
    arrays : sequence of array_like or Var
        All of one shape.
    axis : int
        The position of the new axis in the result.
    dtype, casting
        Same as for `concatenate`.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there is nothing to join, or the shapes differ.
    DTypeError
        If an array may not be converted.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.stack([np.zeros(2), np.ones(2)], axis=1)
    array([[0., 1.],
           [0., 1.]])
    """
    operands = _operands("stack", arrays)
    shapes = {shape_of(x) for x in operands}
    if len(shapes) > 1:
        raise ShapeError(
            f"stack: ({errors.describe_all(operands)}) are not all of one shape. Use concatenate, or "
            "broadcast_arrays first"
        )
    return stack_op(*_converted("stack", operands, dtype, casting), axis=axis)


@implements(np.hstack)
@specialised()
def hstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Join arrays along the second axis, or vectors end to end. Otherwise like `concatenate`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.hstack([np.zeros(1), np.ones(2)])
    array([0., 1., 1.])
    """
    operands = _operands("hstack", tup)
    shapes = [_at_least(1, shape_of(x)) for x in operands]
    return joined("hstack", operands, shapes, min(1, len(shapes[0]) - 1), dtype, casting)


@implements(np.vstack)
@specialised()
def vstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Join arrays along the first axis, vectors as rows. Otherwise like `concatenate`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.vstack([np.zeros(2), np.ones(2)])
    array([[0., 0.],
           [1., 1.]])
    """
    operands = _operands("vstack", tup)
    return joined("vstack", operands, [_at_least(2, shape_of(x)) for x in operands], 0, dtype, casting)


@implements(np.dstack)
def dstack(tup: Sequence[Any]) -> Any:
    """Join arrays along the third axis, which is added if missing. Otherwise like `concatenate`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.dstack([np.zeros(2), np.ones(2)])
    array([[[0., 1.],
            [0., 1.]]])
    """
    operands = _operands("dstack", tup)
    return joined("dstack", operands, [_at_least(3, shape_of(x)) for x in operands], 2)


@implements(np.column_stack)
def column_stack(tup: Sequence[Any]) -> Any:
    """Join arrays along the second axis, vectors as columns. Otherwise like `concatenate`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.column_stack([np.zeros(2), np.ones(2)])
    array([[0., 1.],
           [0., 1.]])
    """
    operands = _operands("column_stack", tup)
    shapes = [shape_of(x) if np.ndim(x) > 1 else (int(np.size(x)), 1) for x in operands]
    return joined("column_stack", operands, shapes, 1)


@implements(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Join two arrays, flattened by default. Otherwise like `concatenate`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.append(np.zeros((1, 2)), 1.0)
    array([0., 0., 1.])
    """
    return concatenate([arr, values], axis)
