"""The order of elements along axes: flipping, rotating, rolling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape import errors
from tape.core import pattern_rules
from tape.core.batch_rules import along_axes
from tape.core.failures import NUMPY_ERRORS
from tape.core.node import Handle
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.specialise import specialised
from tape.core.table import implements
from tape.errors import ShapeError
from tape.inspect.costs import declare_cost, free
from tape.inspect.samples import declare_samples
from tape.ops.structure.axes import axes_of, swapaxes
from tape.ops.structure.indexing import getitem
from tape.ops.structure.taking import take

__all__ = ["flip", "fliplr", "flipud", "roll", "rot90"]

declare_samples(
    "np.flip(x, 1)",
    "np.fliplr, np.flipud, np.rot90(x)",
    "np.roll(x, 1, axis=1)",
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
    pattern=pattern_rules.moves,
    vjp=[lambda g, out, x, shift, axis: _roll(g, shift=tuple(-steps for steps in shift), axis=axis)],
    linear=True,
    batch=along_axes,
    lower=_lower_roll,
)
declare_cost(free, _roll)


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
    if axis is None:
        return np.reshape(roll(np.reshape(a, -1), shift, 0), np.shape(a))
    places = axes_of("roll", a, axis, allow_duplicate=True)
    is_value = isinstance(shift, Handle) and not np.ndim(shift) and np.result_type(shift).kind in "iu"
    if is_value and len(places) == 1:
        return _by_value(a, shift, places[0])
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
    return _roll(a, shift=shifts, axis=along)


def _by_value(a: Any, shift: Any, axis: int) -> Any:
    """Roll by a number that a program reads when it runs, and that may differ within a batch."""
    length = np.shape(a)[axis]
    return take(a, np.mod(np.arange(length) - shift, max(length, 1)), axis=axis)
