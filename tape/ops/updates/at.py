"""Updating elements at NumPy's indices by any ufunc, and the functional namespace for it, ``x.at[index]``.

A position that an index array names several times is updated as often, as with ``np.ufunc.at``.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tape import errors
from tape.core.linear import broadcast_to
from tape.core.node import Handle, plain
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.errors import ShapeError, UnsupportedError, describe
from tape.ops.elementwise.arithmetic import negative
from tape.ops.elementwise.selection import equal
from tape.ops.reduction.reductions import max as _max
from tape.ops.structure.indexing import filled_index, getitem, getitem_op, parsed
from tape.ops.structure.shape import astype, broadcasts, reshape
from tape.ops.structure.writing import add_at, set_at, strong

Shape = tuple[int, ...]


def ufunc_at(x: Any, ufunc: np.ufunc, index: Any, v: Any = None) -> Any:
    """Return a copy of ``x`` after ``ufunc.at(x, index, v)``.

    Parameters
    ----------
    x : array_like or Var
        Any shape.
    ufunc : numpy.ufunc
        With one result, and one operand if there is no ``v``, else two.
    index : int, slice, None, Ellipsis, array_like or Var of ints or bools, or a tuple of these
        A position that occurs several times takes part as often, in C order. Where an index is a Var,
        replays may change it, but name no position more often than it did.
    v : array_like or Var, optional
        Broadcasts to ``x[index]``.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape and dtype of ``x``. Adding and subtracting are one operation however often
        positions occur; of others there is one for each time that the most frequent position occurs.

    Raises
    ------
    OutOfBoundsError
        If the index does not fit, or is of another kind.
    ShapeError
        If ``v`` does not broadcast to ``x[index]``.
    DTypeError
        If the result does not fit the dtype of ``x``.
    UnsupportedError
        If the ufunc takes another number of operands.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> x = tr.param([2.0, 3.0])
    >>> y = tape.ops.ufunc_at(x, np.multiply, [0, 0, 1], [5.0, 7.0, 11.0])
    >>> y.value
    array([70., 33.])
    >>> tr.backward_param_grads(y)
    [array([35., 11.])]
    """
    x = as_operand(x)
    values = [] if v is None else [strong(v)]
    if not isinstance(ufunc, np.ufunc):
        raise UnsupportedError(f"ufunc_at: {describe(ufunc)} is no ufunc, as np.add is")
    name = f"{ufunc.__name__}.at"
    if (ufunc.nin, ufunc.nout) != (1 + len(values), 1) or ufunc.signature is not None:
        raise UnsupportedError(
            f"{name} with {1 + len(values)} operands: it takes {ufunc.nin} and has {ufunc.nout} results"
        )
    dtype = np.result_type(x)
    if ufunc in _MODULAR and dtype.kind in "iu":
        values = [astype(value, dtype) if value.dtype.kind in "iub" else value for value in values]
    try:
        ufunc.resolve_dtypes((dtype, *(value.dtype for value in values), dtype), casting="same_kind")
    except TypeError as error:
        raise errors.explain(name, (x, *values), error) from error
    if ufunc is np.add:
        return add_at(x, values[0], index)
    if ufunc is np.subtract and values[0].dtype.kind in "fc":
        return add_at(x, negative(values[0]), index)
    return in_rounds(name, x, index, ufunc, *values)


_MODULAR = (np.add, np.subtract, np.multiply)
"""With integers of more bits they compute the same lower bits, which are all that NumPy keeps."""


class At:
    """``at(x)[index]``: updates of the elements at an index, each returning a new array.

    Parameters
    ----------
    x : array_like or Var
        Any shape; it is left as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.ops.updates.at import At
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> At(x)[1:].multiply(10.0)
    array([ 1., 20., 30.])
    >>> At(x)[[0, 0]].add([5.0, 6.0])
    array([12.,  2.,  3.])
    >>> At(x)[::-1].set([7.0, 8.0, 9.0])
    array([9., 8., 7.])
    """

    __slots__ = ("_x",)

    def __init__(self, x: Any) -> None:
        self._x = x

    def __getitem__(self, index: Any) -> Elements:
        return Elements(self._x, index)


class Elements:
    """The elements of an array at an index, as returned by `At`, with methods to update them.

    Each method returns a new array of the shape and dtype of the old one. Values broadcast to the elements. A
    position that occurs several times in the index is updated as often, in C order (see `ufunc_at`, also for
    the errors), except in `set`, where the last value stays, and `get`.
    """

    __slots__ = ("_index", "_x")

    def __init__(self, x: Any, index: Any) -> None:
        self._x = x
        self._index = index

    def get(self) -> Any:
        """Return the elements."""
        return getitem(self._x, self._index)

    def set(self, values: Any) -> Any:
        """Replace the elements by other values: see `set_at`."""
        return set_at(self._x, values, self._index)

    def apply(self, f: Callable[[Any], Any]) -> Any:
        """Replace the elements by ``f`` of them, for a function that works element by element."""
        return in_rounds("apply", self._x, self._index, f)

    def add(self, values: Any) -> Any:
        """Add values to the elements: see `add_at`."""
        return add_at(self._x, values, self._index)

    def subtract(self, values: Any) -> Any:
        """Subtract values from the elements."""
        return ufunc_at(self._x, np.subtract, self._index, values)

    def multiply(self, values: Any) -> Any:
        """Multiply the elements by values."""
        return ufunc_at(self._x, np.multiply, self._index, values)

    def divide(self, values: Any) -> Any:
        """Divide the elements by values."""
        return ufunc_at(self._x, np.divide, self._index, values)

    def power(self, values: Any) -> Any:
        """Raise the elements to powers."""
        return ufunc_at(self._x, np.power, self._index, values)

    def min(self, values: Any) -> Any:
        """Replace each element by its value if that is smaller; equal ones share the derivative evenly."""
        return ufunc_at(self._x, np.minimum, self._index, values)

    def max(self, values: Any) -> Any:
        """Replace each element by its value if that is larger; equal ones share the derivative evenly."""
        return ufunc_at(self._x, np.maximum, self._index, values)


# ---- rounds ------------------------------------------------------------------------------------------


def _times_before(places: Any) -> Any:
    flat = places.reshape(-1)
    order = np.argsort(flat, kind="stable")
    in_order = flat[order]
    times = np.empty_like(flat)
    times[order] = np.arange(flat.size) - np.searchsorted(in_order, in_order)
    return times.reshape(places.shape)


_times_before_each = Op(
    _times_before,
    name="times_before",
    data_dependent=False,
    doc="For each element of an array, how often it has occurred before, in C order.",
)


def _at_most(times: Any, *, rounds: int) -> Any:
    if times.size and times.max() >= rounds:
        raise UnsupportedError(
            f"an index names a position {times.max() + 1} times, and at most {rounds} times when this was "
            "recorded. Record again"
        )
    return times


_at_most_so_often = Op(_at_most, name="at_most_so_often", explains_errors=False, data_dependent=False)


def _shape_at(name: str, x: Any, static: tuple[Any, ...], arrays: list[Any]) -> Shape:
    """Return the shape of ``x[index]``."""
    try:
        index = filled_index(static, tuple([plain(array) for array in arrays]))
        return np.broadcast_to(np.int8(0), np.shape(x))[index].shape
    except IndexError as error:
        raise errors.explain(name, (x, *arrays), error) from error


def in_rounds(name: str, x: Any, index: Any, f: Callable[..., Any], *values: Any) -> Any:
    """Return ``x`` with ``f(x[index], *values)`` written at an index: one round for each repeat.

    Parameters
    ----------
    name : str
        The name of the function, for errors.
    x : array_like or Var
        Any shape.
    index : int, slice, None, Ellipsis, array_like or Var of ints or bools, or a tuple of these
        On replay an index may change, but name no position more often than it did.
    f : callable
        Made of operations; works element by element.
    *values : array_like or Var
        Broadcast to ``x[index]``.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape and dtype of ``x``.

    Raises
    ------
    OutOfBoundsError
        If the index does not fit, or is of another kind.
    ShapeError
        If a value does not broadcast to ``x[index]``.
    """
    x = as_operand(x)
    static, arrays = parsed(index)
    shape = _shape_at(name, x, static, arrays)
    for value in values:
        if not broadcasts(np.shape(value), shape):
            raise ShapeError(
                f"{name}: {errors.describe(value)} does not broadcast to what is at the index, which has "
                f"shape {list(shape)}"
            )
    if all(array.dtype == bool for array in arrays) or not prod(shape):  # no position occurs twice
        return set_at(x, f(getitem_op(x, *arrays, index=static), *values), index)
    size = prod(np.shape(x))
    places = getitem_op(np.arange(size).reshape(np.shape(x)), *arrays, index=static)
    times = _times_before_each(places)
    rounds = int(_max(times)) + 1
    if any(isinstance(array, Handle) for array in arrays):
        times = _at_most_so_often(times, rounds=rounds)
    elif rounds == 1:
        return set_at(x, f(getitem_op(x, *arrays, index=static), *values), index)
    flat = reshape(x, (size,))
    values = tuple([broadcast_to(value, shape=shape) for value in values])
    for k in range(rounds):
        now = equal(times, k)
        place = getitem(places, now)
        flat = set_at(flat, f(getitem(flat, place), *(getitem(value, now) for value in values)), place)
    return reshape(flat, np.shape(x))
