"""The order of axes, and of the elements along them: permuting, flipping, rotating, rolling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from tape import errors
from tape.core.batch_rules import along_axes, inner_axis
from tape.core.op import NUMPY_ERRORS, Op
from tape.core.operands import as_operand
from tape.core.record import specialised
from tape.core.table import implements
from tape.errors import ShapeError
from tape.inspect.costs import declare_cost, free
from tape.inspect.samples import declare_samples
from tape.ops.structure.indexing import getitem

__all__ = [
    "flip",
    "fliplr",
    "flipud",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "roll",
    "rollaxis",
    "rot90",
    "swapaxes",
    "transpose",
]

declare_samples(
    "np.flip(x, 1)",
    "np.fliplr(x)",
    "np.flipud(x)",
    "np.matrix_transpose(x)",
    "np.moveaxis(x, 0, 1)",
    "np.roll(x, 1, axis=1)",
    "np.rollaxis(x, 1)",
    "np.rot90(x)",
    "np.swapaxes(x, 0, 1)",
    "np.transpose(x)",
    "np.linalg.matrix_transpose(x)",
)


def axes_of(name: str, a: Any, axis: Any, *, allow_duplicate: bool = False) -> tuple[int, ...]:
    """Return axes of an operand, counted from the front, for the function of this name."""
    try:
        return normalize_axis_tuple(axis, np.ndim(a), allow_duplicate=allow_duplicate)
    except NUMPY_ERRORS as error:
        raise errors.explain(name, (a,), error) from error


def _batch_transpose(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    (x,), axes = operands, attrs["axes"]
    order = range(x.ndim - 1)[::-1] if axes is None else [i % (x.ndim - 1) for i in axes]
    return op(x, axes=(0, *(i + 1 for i in order)))


def _batch_swapaxes(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    return op(*operands, axis1=inner_axis(attrs["axis1"]), axis2=inner_axis(attrs["axis2"]))


def _lower_swapaxes(b: Any, x: Any, axis1: int, axis2: int) -> Any:
    order = list(range(x.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return b.transpose(x, order)


def _turned_back(x: Any, turned: Any, axes: tuple[int, ...] | None) -> Any:
    return _transpose(turned, axes=axes and tuple(np.argsort(np.mod(axes, x.ndim))))


_transpose: Op = Op(
    lambda x, *, axes: np.transpose(x, axes),
    name="transpose",
    vjp=[lambda g, out, x, axes: _turned_back(x, g, axes)],
    linear=True,
    view=lambda x, part, axes: _turned_back(x, part, axes),
    batch=_batch_transpose,
    lower=lambda b, x, axes: b.transpose(x, axes),
)

_swapaxes: Op = Op(
    lambda x, *, axis1, axis2: np.swapaxes(x, axis1, axis2),
    name="swapaxes",
    vjp=[lambda g, out, x, axis1, axis2: _swapaxes(g, axis1=axis1, axis2=axis2)],
    linear=True,
    view=lambda x, part, axis1, axis2: _swapaxes(part, axis1=axis1, axis2=axis2),
    batch=_batch_swapaxes,
    lower=_lower_swapaxes,
)


def _lower_roll(b: Any, x: Any, shift: tuple[int, ...], axis: tuple[int, ...]) -> Any:
    for steps, k in zip(shift, axis, strict=True):
        lead = (slice(None),) * k
        cut = -steps % max(1, x.shape[k])
        last_first = [b.read(x, (*lead, slice(cut, None))), b.read(x, (*lead, slice(0, cut)))]
        x = b.concatenate(last_first, k)
    return x


_roll: Op = Op(
    lambda x, *, shift, axis: np.roll(x, shift, axis),
    name="roll",
    vjp=[lambda g, out, x, shift, axis: _roll(g, shift=tuple(-steps for steps in shift), axis=axis)],
    linear=True,
    batch=along_axes,
    lower=_lower_roll,
)
declare_cost(free, _transpose, _swapaxes, _roll)


@implements(np.transpose)
@specialised()
def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """Permute the axes.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    axes : sequence of int, optional
        A permutation of the axes; by default they are reversed.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If ``axes`` is no permutation of the axes.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.transpose(np.ones((2, 3))).shape
    (3, 2)
    """
    return _transpose(a, axes=None if axes is None else tuple(axes))


permute_dims = transpose


@implements(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> Any:
    """Exchange the last two axes.

    Parameters
    ----------
    x : array_like or Var
        At least two axes.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there are fewer axes.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.matrix_transpose(np.ones((4, 2, 3))).shape
    (4, 3, 2)
    """
    x = as_operand(x)
    if np.ndim(x) < 2:
        raise ShapeError(
            f"matrix_transpose: {errors.describe(x)} is neither a matrix nor a stack of matrices"
        )
    return _swapaxes(x, axis1=-1, axis2=-2)


@implements(np.swapaxes)
@specialised()
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Exchange two axes.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    axis1, axis2 : int
        Which; negative ones count from the end.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.swapaxes(np.ones((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    return _swapaxes(a, axis1=axis1, axis2=axis2)


def _moved(move: Callable[..., np.ndarray], a: Any, *where: Any) -> Any:
    """Return the operand with its axes permuted as a function of NumPy's does it.

    The function is run on an array whose strides are the numbers of its axes: they show where each one went.
    """
    a = as_operand(a)
    ndim = np.ndim(a)
    numbered = np.lib.stride_tricks.as_strided(np.zeros(()), (1,) * ndim, range(ndim))
    try:
        order = move(numbered, *where).strides
    except NUMPY_ERRORS as error:
        raise errors.explain(move.__name__, (a,), error) from error
    return _transpose(a, axes=order)


@implements(np.moveaxis)
@specialised()
def moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    """Move axes to other places; the others stay in order.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    source, destination : int or sequence of int
        The axes to move, and their positions in the result.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there is no such axis, one is named twice, or the two are not equally many.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.moveaxis(np.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    return _moved(np.moveaxis, a, source, destination)


@implements(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Move an axis in front of the one that is now at ``start``; `moveaxis` is easier to read.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    axis : int
        Which.
    start : int
        In front of which, up to the number of axes: behind all.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.rollaxis(np.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    return _moved(np.rollaxis, a, axis, start)


@implements(np.flip)
@specialised()
def flip(m: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Reverse the order of elements, without copying.

    Parameters
    ----------
    m : array_like or Var
        Any shape.
    axis : int or sequence of int, optional
        The axes; by default all.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there is no such axis, or one is named twice.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.flip(np.arange(3.0))
    array([2., 1., 0.])
    """
    m = as_operand(m)
    turned = range(np.ndim(m)) if axis is None else axes_of("flip", m, axis)
    steps = (-1 if k in turned else None for k in range(np.ndim(m)))
    return getitem(m, tuple(slice(None, None, step) for step in steps))


@implements(np.flipud)
def flipud(m: Any) -> Any:
    """Reverse the order along the first axis: `flip` of axis 0.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.flipud(np.arange(3.0))
    array([2., 1., 0.])
    """
    return flip(_with_axes("flipud", m, 1), 0)


@implements(np.fliplr)
def fliplr(m: Any) -> Any:
    """Reverse the order along the second axis: `flip` of axis 1.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.fliplr(np.array([[1.0, 2.0]]))
    array([[2., 1.]])
    """
    return flip(_with_axes("fliplr", m, 2), 1)


def _with_axes(name: str, m: Any, count: int) -> Any:
    """Return an operand, which must have at least this many axes."""
    m = as_operand(m)
    if np.ndim(m) < count:
        raise ShapeError(f"{name}: {errors.describe(m)} has fewer than {count} axes. Use expand_dims")
    return m


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """Rotate by 90 degrees in the plane of two axes, without copying.

    Parameters
    ----------
    m : array_like or Var
        At least two axes.
    k : int
        The number of rotations from the first axis towards the second; back if negative.
    axes : sequence of two int
        The plane.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If the axes are not two different ones of ``m``.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.rot90(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[2., 4.],
           [1., 3.]])
    """
    m = as_operand(m)
    plane = axes_of("rot90", m, axes)
    if len(plane) != 2:
        raise ShapeError(f"rot90: axes={axes!r}. A plane has two axes")
    turns = k % 4
    if turns == 0:
        return getitem(m, (...,))
    if turns == 2:
        return flip(m, plane)
    return swapaxes(flip(m, plane[1]), *plane) if turns == 1 else flip(swapaxes(m, *plane), plane[1])


@implements(np.roll)
@specialised()
def roll(a: Any, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Any:
    """Move elements along axes; those that leave at the end come back at the start.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    shift : int or sequence of int
        The number of places, towards the start if negative.
    axis : int or sequence of int, optional
        The axis; a single shift or axis goes with every one of the others. By default the elements
        move in the flattened array.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there is no such axis, or the shifts are not as many as the axes.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.roll(np.arange(5.0), 2)
    array([3., 4., 0., 1., 2.])
    """
    a = as_operand(a)
    places = axes_of("roll", a, axis, allow_duplicate=True) if axis is not None else 0
    try:
        pairs = np.broadcast(shift, places)
    except NUMPY_ERRORS as error:
        raise errors.explain("roll", (a,), error) from error
    if pairs.ndim > 1:
        raise ShapeError(
            f"roll: shift={shift!r}, axis={axis!r}. They must be ints, or flat sequences of ints"
        )
    steps = list(pairs)
    shifts, along = (tuple([int(step[k]) for step in steps]) for k in (0, 1))
    if axis is not None:
        return _roll(a, shift=shifts, axis=along)
    return np.reshape(_roll(np.reshape(a, -1), shift=shifts, axis=along), np.shape(a))
