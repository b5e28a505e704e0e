"""Joining the arrays of nested lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.operands import as_operand, composed
from tape.core.table import implements
from tape.errors import DTypeError, ShapeError
from tape.inspect.samples import declare_samples
from tape.ops.structure.joining import Shape, joined, joined_shape, shape_of
from tape.ops.structure.layout import copy

__all__ = ["block"]

declare_samples("np.block([[x, y], [v, w[0] + v]])")


@implements(np.block)
@composed
def block(arrays: Any) -> Any:
    """Join arrays as nested lists arrange them.

    Parameters
    ----------
    arrays : array_like or Var, or nested list of these
        The innermost lists are joined along the last axis, those around them along the one before, and
        so on. Axes that are missing are put in front.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If a list is empty, lists are not equally deep everywhere, or shapes do not fit.
    DTypeError
        If there are tuples in place of lists.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.block([[np.eye(2), np.zeros((2, 1))], [np.ones(3)]])
    array([[1., 0., 0.],
           [0., 1., 0.],
           [1., 1., 1.]])
    """
    nested, depth, ndim = _nested(arrays)
    ndim = max(ndim, depth)
    _block_shape(nested, ndim, ndim - depth)
    return _blocks(nested, ndim, ndim - depth) if depth else copy(nested)


def _nested(arrays: Any) -> tuple[Any, int, int]:
    """Return nested lists of operands, their depth, and the largest number of axes."""
    if isinstance(arrays, tuple):
        raise DTypeError("block: there is a tuple. Use nested lists")
    if not isinstance(arrays, list):
        operand = as_operand(arrays)
        return operand, 0, np.ndim(operand)
    if not arrays:
        raise ShapeError("block: a list is empty")
    parts, depths, ndims = zip(*map(_nested, arrays), strict=True)
    if len(set(depths)) > 1:
        raise ShapeError(f"block: in one list others are {sorted(set(depths))} deep. Nest all of them alike")
    return list(parts), 1 + depths[0], max(ndims)


def _block_shape(nested: Any, ndim: int, axis: int) -> Shape:
    """Return the shape of the result of `_blocks`."""
    if not isinstance(nested, list):
        shape = shape_of(nested)
        return (1,) * (ndim - len(shape)) + shape
    shapes = [_block_shape(part, ndim, axis + 1) for part in nested]
    return joined_shape("block", [np.broadcast_to(0, shape) for shape in shapes], shapes, axis)


def _blocks(nested: list[Any], ndim: int, axis: int) -> Any:
    parts = [_blocks(part, ndim, axis + 1) if isinstance(part, list) else part for part in nested]
    shapes = [(1,) * (ndim - np.ndim(part)) + shape_of(part) for part in parts]
    return joined("block", parts, shapes, axis)
