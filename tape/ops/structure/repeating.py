"""Repeating: whole arrays, each element, or arrays until their shapes are equal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import Handle
from tape.core.operands import as_operand, composed
from tape.core.table import implements
from tape.errors import DTypeError, ShapeError
from tape.inspect.samples import declare_samples
from tape.ops.number_axes import axis_of
from tape.ops.structure.axes import axes_of
from tape.ops.structure.indexing import getitem
from tape.ops.structure.layout import copy
from tape.ops.structure.shape import as_shape, broadcast_to, reshape, shared_shape
from tape.ops.structure.taking import taken

__all__ = ["broadcast_arrays", "repeat", "resize", "tile"]

declare_samples(
    "np.broadcast_arrays(x, v)",
    "np.repeat(x, n, axis=0)",
    "np.resize(x, (2, 9))",
    "np.tile(x, (2, 1))",
)


@implements(np.repeat)
@composed
def repeat(a: Any, repeats: int | Sequence[int], axis: int | None = None) -> Any:
    """Repeat each element.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    repeats : int or sequence of int
        The number of repetitions: of all elements, or of each along the axis.
    axis : int, optional
        The axis; by default the array is flattened.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there is no such axis, or ``repeats`` does not fit it or has negative entries.
    DTypeError
        If ``repeats`` does not hold ints.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.repeat(np.array([1.0, 2.0]), [1, 3])
    array([1., 2., 2., 2.])
    """
    a = as_operand(a)
    shape = np.shape(a)
    if axis_of(a, axis) is None:
        shape, axis = (prod(shape),), 0
    else:
        (axis,) = axes_of("repeat", a, axis)
    length = shape[axis]
    counts = np.asarray(repeats)
    if counts.dtype.kind not in "biu":
        raise DTypeError(
            f"repeat: repeats={errors.describe(repeats)}. It must be an int, or one for each element"
        )
    if counts.shape not in ((), (1,), (length,)) or (counts < 0).any():
        raise ShapeError(
            f"repeat: repeats={errors.describe(repeats)} along an axis of length {length}. It must be an "
            "int, or one for each element, and none negative"
        )
    if np.shape(a) != shape:
        a = reshape(a, shape)
    if not isinstance(a, Handle):
        return np.repeat(a, counts, axis)
    return taken(a, np.repeat(np.arange(length), counts), axis)


@implements(np.tile)
@composed
def tile(A: Any, reps: int | Sequence[int]) -> Any:
    """Repeat an array side by side.

    Parameters
    ----------
    A : array_like or Var
        Any shape; it gets axes in front if ``reps`` has more entries.
    reps : int or sequence of int
        The number of copies along each axis, the last ones if there are fewer.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If ``reps`` has negative entries, or others than ints.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.tile(np.array([1.0, 2.0]), (2, 2))
    array([[1., 2., 1., 2.],
           [1., 2., 1., 2.]])
    """
    A, reps = as_operand(A), as_shape(reps)
    if any(count < 0 for count in reps):
        raise ShapeError(f"tile: reps={reps}. They must not be negative")
    old = np.shape(A)
    if not isinstance(A, Handle):
        return np.tile(A, reps)
    lengths = (1,) * (len(reps) - len(old)) + old
    counts = (1,) * (len(old) - len(reps)) + reps
    pairs = list(zip(counts, lengths, strict=True))
    alone = chain(*((length,) if count == 1 else (1, length) for count, length in pairs))
    spread = chain(*((length,) if count == 1 else (count, length) for count, length in pairs))
    repeated = broadcast_to(reshape(A, tuple(alone)), tuple(spread))
    tiled = reshape(repeated, tuple([count * n for count, n in pairs]))
    return copy(tiled, "K" if set(counts) <= {1} else "C")


@implements(np.resize)
@composed
def resize(a: Any, new_shape: int | Sequence[int]) -> Any:
    """Return the elements in another shape, starting over where there are too few.

    Parameters
    ----------
    a : array_like or Var
        Any shape; zeros come from an empty one.
    new_shape : int or sequence of int
        Array of any size.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If ``new_shape`` has negative entries, or others than ints.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.resize(np.array([1.0, 2.0, 3.0]), (2, 2))
    array([[1., 2.],
           [3., 1.]])
    """
    a, shape = as_operand(a), as_shape(new_shape)
    if any(length < 0 for length in shape):
        raise ShapeError(f"resize: new_shape={shape}. Lengths must not be negative")
    old, new = int(np.size(a)), prod(shape)
    if not old:
        return np.zeros(shape, np.result_type(a))
    if not isinstance(a, Handle):
        return np.resize(a, shape)
    flat = reshape(a, -1)
    repeated = flat if new <= old else tile(flat, -(-new // old))
    enough = repeated if new % old == 0 < new else getitem(repeated, slice(0, new))
    return reshape(copy(enough, "C"), shape)


@implements(np.broadcast_arrays)
@composed
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """Broadcast arrays to their common shape, without copying.

    Parameters
    ----------
    *args : array_like or Var
        Arrays of shapes that broadcast.
    subok : bool
        Without effect: there are no subclasses here.

    Returns
    -------
    tuple of numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.broadcast_arrays(np.zeros(2), np.float64(1.0))
    (array([0., 0.]), array([1., 1.]))
    """
    operands = [as_operand(arg) for arg in args]
    shape = shared_shape("broadcast_arrays", *operands)
    return tuple(x if getattr(x, "shape", None) == shape else broadcast_to(x, shape) for x in operands)
