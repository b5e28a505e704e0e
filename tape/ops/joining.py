"""Joining arrays along an axis, and taking them apart."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tape import series
from tape.batch_rules import inner_axis
from tape.errors import ShapeError
from tape.op import Op, as_operand, cast, implements
from tape.op import broadcast_to as _broadcast_to
from tape.ops.indexing import getitem
from tape.ops.shape import ravel

__all__ = ["concatenate", "split", "stack"]


def _batch_join(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    """Of concatenate and stack: what is not batched is repeated."""
    whole = [
        x if inside else _broadcast_to(x, shape=(size, *np.shape(x)))
        for x, inside in zip(operands, is_batched, strict=True)
    ]
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
    return cast(_concatenate(*_with_zeros(tangents, arrays), axis=axis), dtype=out.dtype)


def _lower_concatenate(b: Any, *arrays: Any, axis: int) -> Any:
    dtype = np.result_type(*(array.dtype for array in arrays))
    return b.concatenate([b.value(array, dtype) for array in arrays], axis % arrays[0].ndim)


def _lower_stack(b: Any, *arrays: Any, axis: int) -> Any:
    axis %= arrays[0].ndim + 1
    expanded = [b.reshape(array, (*array.shape[:axis], 1, *array.shape[axis:])) for array in arrays]
    return _lower_concatenate(b, *expanded, axis=axis)


_concatenate = Op(
    lambda *arrays, axis: np.concatenate(arrays, axis),
    name="concatenate",
    lower=_lower_concatenate,
    vjp=_concatenate_vjp,
    taylor=series.linear,
    batch=_batch_join,
    jvp=_concatenate_jvp,
)


def _stack_vjp(g: Any, out: Any, *arrays: Any, axis: int) -> list[Any]:
    lead = (slice(None),) * (axis % out.ndim)
    return [getitem(g, (*lead, k)) for k in range(len(arrays))]


def _stack_jvp(tangents: list[Any], out: Any, *arrays: Any, axis: int) -> Any:
    return cast(_stack(*_with_zeros(tangents, arrays), axis=axis), dtype=out.dtype)


_stack = Op(
    lambda *arrays, axis: np.stack(arrays, axis),
    name="stack",
    lower=_lower_stack,
    vjp=_stack_vjp,
    taylor=series.linear,
    batch=_batch_join,
    jvp=_stack_jvp,
)


def _with_zeros(tangents: list[Any], arrays: Sequence[Any]) -> list[Any]:
    """Tangents, with zeros where an array stands still."""
    return [
        np.zeros(np.shape(array), np.result_type(array)) if tangent is None else tangent
        for tangent, array in zip(tangents, arrays, strict=True)
    ]


@implements(np.concatenate)
def concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    """Join arrays along an axis they have.

    Parameters
    ----------
    arrays : sequence of array_like or Var
        Alike in every axis but this one.
    axis : int, optional
        None joins the flattened arrays.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there is nothing to join, or the shapes do not fit.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.concatenate([np.zeros(1), np.ones(2)])
    array([0., 1., 1.])
    """
    if axis is None:
        return _concatenate(*map(ravel, [as_operand(array) for array in arrays]), axis=0)
    return _concatenate(*arrays, axis=axis)


@implements(np.stack)
def stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Join arrays along a new axis.

    Parameters
    ----------
    arrays : sequence of array_like or Var
        All of one shape.
    axis : int
        Where the new axis is in the result.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there is nothing to join, or the shapes differ.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.stack([np.zeros(2), np.ones(2)], axis=1)
    array([[0., 1.],
           [0., 1.]])
    """
    return _stack(*arrays, axis=axis)


@implements(np.split)
def split(ary: Any, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Any]:
    """Take an array apart along an axis.

    Parameters
    ----------
    ary : array_like or Var
        At least one axis.
    indices_or_sections : int or sequence of int
        How many equal parts, or where to cut.
    axis : int
        Along which; negative ones count from the end.

    Returns
    -------
    list of numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there is no such axis, or it does not divide into equal parts.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.split(np.arange(4.0), [1])
    [array([0.]), array([1., 2., 3.])]
    """
    ary = as_operand(ary)
    shape = np.shape(ary)
    if not -len(shape) <= axis < len(shape):
        raise ShapeError(f"split: there is no axis {axis} in shape {list(shape)}")
    length = shape[axis]
    if isinstance(indices_or_sections, (int, np.integer)):
        sections = int(indices_or_sections)
        if sections < 1 or length % sections:
            raise ShapeError(f"split: {length} elements along axis {axis} do not make {sections} equal parts")
        cuts = list(range(0, length + 1, length // sections)) if length else [0] * (sections + 1)
    else:
        cuts = [0, *(operator.index(cut) for cut in indices_or_sections), length]
    lead = (slice(None),) * (axis % len(shape))
    return [getitem(ary, (*lead, slice(a, b))) for a, b in pairwise(cuts)]
