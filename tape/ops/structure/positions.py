"""Positions: of elements that are not zero, and conversions between flat and multi-dimensional ones.

All of these are recorded without a derivative. The checks of positions that indexing operations share are
here too: they are made at the call, before anything is recorded.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tape import errors
from tape.core.batch_rules import elementwise
from tape.core.nesting import plain_batch
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.table import implements
from tape.errors import OptionError, OutOfBoundsError, ShapeError
from tape.inspect.costs import declare_cost, passes
from tape.inspect.samples import declare_samples
from tape.ops.structure.indexing import getitem
from tape.ops.structure.shape import as_shape

__all__ = ["argwhere", "flatnonzero", "ix_", "nonzero", "ravel_multi_index", "unravel_index"]

declare_samples(
    "np.argwhere, np.flatnonzero, np.nonzero(x > 0.5)",
    "np.ix_(u > 0.5, v > 0.5)",
    "np.ravel_multi_index((n, np.floor(4 * u).astype(int)), (9, 9))",
    "np.unravel_index(np.floor(4 * u).astype(int), (2, 2))",
)

Shape = tuple[int, ...]

# ---- shared by operations with an index --------------------------------------------------------------


def _inside(indices: Any, *, length: int, mode: str) -> Any:
    indices = np.asarray(indices, np.intp)
    return indices % length if mode == "wrap" else np.clip(indices, 0, length - 1)


def _lower_inside(b: Any, indices: Any, length: int, mode: str) -> Any:
    indices = b.value(indices, np.int64)
    if mode == "raise":
        return indices
    if mode == "wrap":
        return b.elementwise("remainder", indices, length)
    return b.elementwise("minimum", b.elementwise("maximum", indices, 0), length - 1)


brought_inside = Op(
    _inside,
    name="brought_inside",
    batch=elementwise,
    lower=_lower_inside,
    doc="Positions along an axis of this length, with those outside wrapped or clipped.",
)


def checked_axis(name: str, shape: Shape, axis: Any) -> int:
    """Return the number of an axis, counted from the front."""
    try:
        return range(len(shape))[operator.index(axis)]
    except (IndexError, TypeError):
        raise ShapeError(f"{name}: there is no axis {axis} in shape {list(shape)}") from None


def checked_positions(name: str, indices: Any, first: int, length: int, mode: str = "raise") -> Any:
    """Return indices from ``first`` to ``length - 1``, or wrapped or clipped to that range."""
    if mode not in ("raise", "wrap", "clip"):
        raise OptionError(f"{name}: mode={mode!r}. It must be 'raise', 'wrap' or 'clip'")
    found = np.asarray(plain_batch(indices))
    if not found.size:
        return indices if found.dtype.kind in "iu" else found.astype(np.intp)
    if found.dtype.kind not in "iu":
        raise OutOfBoundsError(f"{name}: the indices are {errors.describe(indices)}. Use ints")
    if mode != "raise":
        if not length:
            raise OutOfBoundsError(f"{name}: there is nothing to choose from along an axis of length 0")
        return brought_inside(indices, length=length, mode=mode)
    if found.min() < first or found.max() >= length:
        at = tuple(map(int, np.argwhere((found < first) | (found >= length))[0]))
        place = f" at position {at[0] if len(at) == 1 else at}" if at else ""
        raise OutOfBoundsError(
            f"{name}: index {found[at]}{place} is out of bounds: it must be {first} to {length - 1}"
        )
    return indices


# ---- public ------------------------------------------------------------------------------------------


def _lower_nonzero(b: Any, x: Any) -> Any:
    if not x.ndim:
        b.refuse("positions of a number")
    return _unraveled(b, b.flatnonzero(x), x.shape)


_argwhere = Op(np.argwhere, lower=_lower_nonzero, data_dependent=True)
_nonzero = Op(
    lambda x: np.stack(np.nonzero(x), axis=-1), name="nonzero", lower=_lower_nonzero, data_dependent=True
)
_flatnonzero = Op(np.flatnonzero, lower=lambda b, x: b.flatnonzero(x), data_dependent=True)
declare_cost(passes(1), _flatnonzero, _nonzero, _argwhere)


def _lower_ravel(b: Any, *indices: Any, dims: tuple[int, ...], mode: Any, order: str) -> Any:
    modes = mode if isinstance(mode, tuple) else (mode,) * len(dims)
    values = [_lower_inside(b, *part) for part in zip(indices, dims, modes, strict=True)]
    shape = np.broadcast_shapes(*(value.shape for value in values))
    values = [b.broadcast(value, shape) for value in values]
    if order == "F":
        values, dims = values[::-1], dims[::-1]
    return b.push("ravel_index", values, (dims, False))


_ravel_multi_index = Op(
    lambda *indices, dims, mode, order: np.ravel_multi_index(indices, dims, mode, order),
    name="ravel_multi_index",
    batch=elementwise,
    lower=_lower_ravel,
)


def _lower_unravel(b: Any, x: Any, shape: Shape, order: str) -> Any:
    x = b.value(x, np.int64)
    inside = b.push("ravel_index", [x], ((prod(shape),), False))  # which checks that it is in range
    return _unraveled(b, inside, shape if order == "C" else shape[::-1], is_reversed=order == "F")


def _unraveled(b: Any, left: Any, shape: Shape, *, is_reversed: bool = False) -> Any:
    """Return the positions along the axes of flat ones, along a last axis."""
    parts: list[Any] = []
    for length in shape[::-1]:
        length = max(length, 1)  # of no elements there are no positions
        parts.append(b.reshape(b.elementwise("remainder", left, length), (*left.shape, 1)))
        left = b.elementwise("floor_divide", left, length)
    return b.concatenate(parts if is_reversed else parts[::-1], left.ndim)


_unravel_index = Op(
    lambda x, *, shape, order: np.stack(np.unravel_index(x, shape, order), axis=-1),
    name="unravel_index",
    data_dependent=False,
    lower=_lower_unravel,
)


@implements(np.argwhere)
def argwhere(a: Any) -> Any:
    """Return the indices of nonzero elements, a row for each; recorded without a derivative.

    Parameters
    ----------
    a : array_like or Var
        Any shape.

    Returns
    -------
    numpy.ndarray or Var
        Ints, of shape (count, a.ndim).

    Examples
    --------
    >>> import tape
    >>> tape.ops.argwhere([[0.0, 2.0], [3.0, 0.0]])
    array([[0, 1],
           [1, 0]])
    """
    return _argwhere(a)


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    """Return the positions of nonzero elements in the flattened array. Otherwise like `argwhere`.

    Examples
    --------
    >>> import tape
    >>> tape.ops.flatnonzero([[0.0, 2.0], [3.0, 0.0]])
    array([1, 2])
    """
    return _flatnonzero(a)


@implements(np.nonzero)
def nonzero(a: Any) -> tuple[Any, ...]:
    """Return the indices of nonzero elements, an array for each axis; recorded without a derivative.

    Parameters
    ----------
    a : array_like or Var
        At least one axis.

    Returns
    -------
    tuple of numpy.ndarray or Var
        Ints, of shape (count,); an index into ``a``.

    Raises
    ------
    ShapeError
        If ``a`` has no axes.

    Examples
    --------
    >>> import tape
    >>> tape.ops.nonzero([[0.0, 2.0], [3.0, 0.0]])
    (array([0, 1]), array([1, 0]))
    """
    a = as_operand(a)
    if not np.ndim(a):
        raise ShapeError(f"nonzero: {errors.describe(a)} has no axes. Use np.atleast_1d, or compare with 0")
    rows = _nonzero(a)
    return tuple(getitem(rows, (slice(None), k)) for k in range(np.ndim(a)))


@implements(np.ravel_multi_index)
def ravel_multi_index(
    multi_index: Sequence[Any], dims: Sequence[int], mode: str | Sequence[str] = "raise", order: str = "C"
) -> Any:
    """Convert positions along axes to positions in the flattened array; recorded without a derivative.

    Parameters
    ----------
    multi_index : sequence of array_like or Var
        Ints, for each axis one array; they broadcast.
    dims : sequence of int
        The shape of the array.
    mode : {"raise", "wrap", "clip"} or sequence of these
        How to treat positions out of range, in each axis.
    order : {"C", "F"}
        The order in which the array is flattened.

    Returns
    -------
    numpy.ndarray, numpy.integer or Var

    Raises
    ------
    ShapeError
        If the arrays are not as many as the axes, or one is out of range.
    DTypeError
        If one does not hold ints.
    OptionError
        If ``order`` is another one.

    Examples
    --------
    >>> import tape
    >>> tape.ops.ravel_multi_index(([0, 1], [2, 0]), (2, 3))
    array([2, 3])
    """
    mode = mode if isinstance(mode, str) else tuple(mode)
    return _ravel_multi_index(*multi_index, dims=as_shape(dims), mode=mode, order=_order(order))


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: int | Sequence[int], order: str = "C") -> tuple[Any, ...]:
    """Convert positions in the flattened array to positions along axes; recorded without a derivative.

    Parameters
    ----------
    indices : array_like or Var
        Ints, of any shape.
    shape : int or sequence of int
        The shape of the array, with at least one axis.
    order : {"C", "F"}
        The order in which the array is flattened.

    Returns
    -------
    tuple of numpy.ndarray, numpy.integer or Var
        One for each axis, of the shape of ``indices``.

    Raises
    ------
    ShapeError
        If a position is out of range, or the array has no axes.
    DTypeError
        If ``indices`` does not hold ints.
    OptionError
        If ``order`` is another one.

    Examples
    --------
    >>> import tape
    >>> tape.ops.unravel_index([2, 3], (2, 3))
    (array([0, 1]), array([2, 0]))
    """
    lengths = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    parts = _unravel_index(indices, shape=lengths, order=_order(order))
    lead = (slice(None),) * np.ndim(indices)
    return tuple(getitem(parts, (*lead, k)) for k in range(len(lengths)))


def _order(order: str) -> str:
    if order not in ("C", "F"):
        raise OptionError(f"order={order!r}: it must be 'C' or 'F'")
    return order


@implements(np.ix_)
def ix_(*args: Any) -> tuple[Any, ...]:
    """Return an index that reads a grid: every row of the first with every column of the second, and so on.

    Parameters
    ----------
    *args : array_like or Var
        One axis each, of ints, or of bools that say which positions to read.

    Returns
    -------
    tuple of numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If one has another number of axes.

    Examples
    --------
    >>> import numpy as np, tape
    >>> x = np.arange(6.0).reshape(2, 3)
    >>> x[tape.ops.ix_([0, 1], [2, 0])]
    array([[2., 0.],
           [5., 3.]])
    """
    sequences = [as_operand(arg if np.size(arg) else np.asarray(arg, int)) for arg in args]
    for k, sequence in enumerate(sequences):
        if np.ndim(sequence) != 1:
            raise ShapeError(f"ix_: argument {k} is {errors.describe(sequence)}. It must have one axis")
    return tuple(
        getitem(
            flatnonzero(sequence) if sequence.dtype == bool else sequence,
            (*(None,) * k, slice(None), *(None,) * (len(sequences) - 1 - k)),
        )
        for k, sequence in enumerate(sequences)
    )
