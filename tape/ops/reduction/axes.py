"""Axes of a reduction: checking them, counting along them, restoring them."""

from __future__ import annotations

import operator
from math import prod as _product
from typing import Any

import numpy as np

from tape.core.linear import broadcast_to
from tape.core.operands import as_operand
from tape.errors import ShapeError
from tape.ops.number_axes import axis_of
from tape.ops.structure.shape import Axes

Reduced = tuple[int, ...]

_SMALL = 1024


def operand_and_axes(
    name: str, a: Any, axis: Axes, *, allow_empty: bool = True, allow_number: bool = True
) -> tuple[Any, Reduced | None]:
    """Return the operand and its axes, checked, as a tuple; None stands for all, or for the axis of a scalar.

    Negative axes stay negative: they mean the same after a replay with more axes. NumPy accepts an axis of a
    scalar in some functions only: ``allow_number``.
    """
    a = as_operand(a)
    shape = np.shape(a)
    if allow_number and not shape:
        axis = axis_of(a, axis)
    if axis is None:
        axes = None
    else:
        given = axis if isinstance(axis, (tuple, list)) else (axis,)
        try:
            axes = tuple(operator.index(i) for i in given)
            counted = {range(len(shape))[i] for i in axes}
        except (IndexError, TypeError):
            raise ShapeError(f"{name}: there is no axis {axis} in shape {list(shape)}") from None
        if len(counted) != len(axes):
            raise ShapeError(f"{name}: axis {axis} names an axis twice")
    if not allow_empty and count_along(shape, axes) == 0:
        raise ShapeError(
            f"{name} of no elements: shape {list(shape)}, axis {axis}. There is nothing to choose from"
        )
    return a, axes


def operand_and_axis(name: str, a: Any, axis: Any) -> tuple[Any, int]:
    """Return the operand, which must have an axis, and one axis of it, checked."""
    a, axes = operand_and_axes(name, a, axis, allow_number=False)
    if axes is None or len(axes) != 1:
        raise ShapeError(f"{name} goes along one axis, not {axis}")
    return a, axes[0]


def count_along(shape: tuple[int, ...], axes: Reduced | None) -> int:
    """Return the number of elements that go into each result."""
    return _product(shape if axes is None else [shape[i] for i in axes])


def keep_axes(reduced: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
    """Return a reduced array with the reduced axes restored, of length one."""
    if keepdims or reduced.ndim == x.ndim:
        return reduced
    ndim = x.ndim
    gone = range(ndim) if axis is None else [i % ndim for i in axis]
    return reduced.reshape(tuple([1 if i in gone else length for i, length in enumerate(x.shape)]))


def spread_over_axes(g: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
    """Return the adjoint of a sum: the same for every element that went into it."""
    g = keep_axes(g, x, axis, keepdims)
    if type(g) is np.ndarray and x.size <= _SMALL:  # to write so few takes less time than to make a view
        spread = np.empty(x.shape, g.dtype)
        spread[...] = g
        return spread
    return broadcast_to(g, shape=x.shape)
