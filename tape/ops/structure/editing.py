"""Arrays with elements inserted or deleted."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tape import errors
from tape.core.failures import NUMPY_ERRORS
from tape.core.node import Handle
from tape.core.operands import as_operand, composed
from tape.core.table import implements
from tape.errors import OutOfBoundsError, ShapeError
from tape.inspect.samples import declare_samples
from tape.ops.structure.axes import axes_of, moveaxis
from tape.ops.structure.indexing import part_along
from tape.ops.structure.joining import concatenate
from tape.ops.structure.layout import own, slowest_first
from tape.ops.structure.shape import astype, broadcast_to, reshape
from tape.ops.structure.taking import taken

__all__ = ["delete", "insert"]

declare_samples(
    "np.delete(x, [0, 2], axis=1)",
    "np.insert(x, 1, v, axis=0)",
)

Shape = tuple[int, ...]

_FEW = 4  # up to so many slices are joined faster than read by an index


@implements(np.insert)
@composed
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """Insert values between the elements of an array.

    Parameters
    ----------
    arr : array_like or Var
        Any shape.
    obj : int, slice or sequence of int or bool
        Before which positions, a value for each; before a single one there may be several.
    values : array_like or Var
        They broadcast to their places, and are converted to the dtype of ``arr``.
    axis : int, optional
        The axis; by default the array is flattened.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    OutOfBoundsError
        If there is no such position.
    ShapeError
        If there is no such axis, or the values do not fit.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.insert(np.array([1.0, 2.0, 3.0]), [1, 3], 0.0)
    array([1., 0., 2., 3., 0.])
    """
    arr, shape, axis = _along("insert", arr, axis)
    axes = slowest_first(arr, "A") if np.ndim(arr) == len(shape) else (0,)
    values = as_operand(values)
    length = shape[axis]
    where = _places(obj, length)
    lengths = (1,) * (len(shape) - np.ndim(values)) + np.shape(values)
    if where.ndim == 0:  # NumPy takes the first axis of the values for this one
        lengths = np.moveaxis(np.broadcast_to(0, lengths), 0, axis).shape
    count = lengths[axis] if where.size == 1 else where.size
    block = (*shape[:axis], count, *shape[axis + 1 :])
    if len(lengths) > len(block) or any(n not in (1, m) for n, m in zip(lengths, block, strict=True)):
        raise ShapeError(
            f"insert: values of shape {list(np.shape(values))} do not fit {count} places along axis {axis} "
            f"of shape {list(shape)}"
        )
    is_one = where.size == 1
    if is_one:
        cut = _cut(int(where.item()), length)
    else:
        index = _numbered(np.insert, length, where, np.arange(length, length + count))
    if where.ndim == 0 and np.ndim(values) and axis:
        values = moveaxis(reshape(values, (1,) * (len(shape) - np.ndim(values)) + np.shape(values)), 0, axis)
    values = broadcast_to(astype(values, np.result_type(arr), copy=False), block)
    arr = _in_shape(arr, shape)
    if is_one:
        pieces = [part_along(arr, axis, slice(0, cut)), values, part_along(arr, axis, slice(cut, None))]
        return own(concatenate(pieces, axis), axes)
    return own(taken(concatenate([arr, values], axis), index, axis), axes)


@implements(np.delete)
@composed
def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """Delete elements of an array.

    Parameters
    ----------
    arr : array_like or Var
        Any shape.
    obj : int, slice or sequence of int or bool
        The positions to delete.
    axis : int, optional
        The axis; by default the array is flattened.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    OutOfBoundsError
        If there is no such position.
    ShapeError
        If there is no such axis, or bools are not as many as it has elements.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.delete(np.array([1.0, 2.0, 3.0]), 1)
    array([1., 3.])
    """
    arr, shape, axis = _along("delete", arr, axis)
    gone = obj if isinstance(obj, slice) else _static(obj)
    index = _numbered(np.delete, shape[axis], gone)
    arr = _in_shape(arr, shape)
    if not isinstance(arr, Handle):
        return np.delete(arr, gone, axis)
    if isinstance(gone, slice) or (gone.size == 1 and gone.dtype != bool):
        axes = slowest_first(arr, "A")
    else:  # NumPy reads the others by an array: that axis is then the slowest
        axes = (axis, *(k for k in slowest_first(arr) if k != axis))
    return own(_gathered(arr, index, axis), axes)


def _along(name: str, arr: Any, axis: int | None) -> tuple[Any, Shape, int]:
    """Return the operand, its shape (flattened without an axis) and the axis, counted from the front."""
    arr = as_operand(arr)
    if axis is None:
        return arr, (int(np.size(arr)),), 0
    return arr, np.shape(arr), axes_of(name, arr, axis)[0]


def _in_shape(arr: Any, shape: Shape) -> Any:
    return arr if np.shape(arr) == shape else reshape(arr, shape)


def _static(obj: Any) -> np.ndarray:
    """Return positions as an array of ints or bools; those of a Var are read, not recorded."""
    is_array = np.ndim(obj) > 0 and getattr(obj, "dtype", np.dtype(float)).kind in "biu"
    is_number = isinstance(obj, Handle) and not is_array
    positions = np.asarray(operator.index(obj) if is_number else obj)
    return positions if positions.size else positions.astype(int)


def _places(obj: Any, length: int) -> np.ndarray:
    """Return one position, or several along one axis."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(length))
    places = _static(obj)
    if places.ndim > 1 or places.dtype.kind not in "biu" or (places.dtype == bool and not places.ndim):
        raise ShapeError(
            f"insert: obj={errors.describe(obj)}. It must be an int, or ints or bools along one axis"
        )
    return np.flatnonzero(places) if places.dtype == bool and places.ndim else places


def _numbered(change: Callable[..., np.ndarray], length: int, *arguments: Any) -> np.ndarray:
    """Return which elements of an axis a function of NumPy's leaves, and where."""
    try:
        return change(np.arange(length), *arguments)
    except NUMPY_ERRORS as error:
        kind = OutOfBoundsError if isinstance(error, IndexError) else ShapeError
        reason = str(error).rstrip(" .")
        raise kind(f"{change.__name__}: {reason}. The axis has {length} elements") from error


def _cut(place: int, length: int) -> int:
    """Return the element that a position is before."""
    if not -length <= place <= length:
        raise OutOfBoundsError(f"insert: position {place} is out of bounds. The axis has {length} elements")
    return place + length if place < 0 else place


def _gathered(x: Any, index: np.ndarray, axis: int) -> Any:
    """Return elements along an axis by position: as joined slices, if there are few runs of them."""
    ends = np.flatnonzero(np.diff(index) != 1) + 1
    if len(ends) > _FEW:
        return taken(x, index, axis)
    runs = [part_along(x, axis, slice(*_bounds(run))) for run in np.split(index, ends)]
    return runs[0] if len(runs) == 1 else concatenate(runs, axis)


def _bounds(run: np.ndarray) -> tuple[int, int]:
    """Return the start and stop of consecutive positions."""
    return (int(run[0]), int(run[-1]) + 1) if run.size else (0, 0)
