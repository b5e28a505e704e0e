"""Reading elements with NumPy's indices, and the scatter that is its transpose."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tape import errors
from tape.conversion.foreign import complaint
from tape.core import pattern_rules, series
from tape.core.batch_rules import lift
from tape.core.linear import broadcast_to
from tape.core.node import Handle
from tape.core.op import Op
from tape.core.specialise import specialised
from tape.core.table import implements
from tape.errors import OutOfBoundsError
from tape.inspect.costs import declare_cost, free, passes
from tape.kernels.accumulate import Scattered
from tape.ops.structure.axes import transpose

__all__ = ["getitem"]


class _Hole:
    """Placeholder in a static index for an array, which is an operand."""

    def __repr__(self) -> str:
        return "[]"


HOLE = _Hole()


def filled_index(index: tuple[Any, ...], arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    if not arrays:
        return index
    remaining = iter(arrays)
    return tuple(next(remaining) if part is HOLE else part for part in index)


def batch_index(index: tuple[Any, ...], is_batched: Any) -> tuple[Any, ...] | None:
    """Return the index for a batch; None where the batch axis would not stay in front."""
    where = [k for k, part in enumerate(index) if part is HOLE or isinstance(part, (int, bool))]
    is_together = not where or where[-1] - where[0] == len(where) - 1
    if (
        any(is_batched[1:])
        or (HOLE in index and not is_together)
        or any(isinstance(part, (bool, np.bool_)) for part in index)
    ):
        return None
    return (slice(None), *index)


class Positions(NamedTuple):
    """An index whose arrays differ within a batch, for the whole batch.

    Attributes
    ----------
    where, arrays
        The index and its arrays, with a further array in front, which counts the elements of the batch.
    order : tuple of int or None
        The axes of what is read there, as they belong; None if they do.
    """

    where: tuple[Any, ...]
    arrays: list[Any]
    order: tuple[int, ...] | None

    def in_order(self, read: Any) -> Any:
        """Return what was read, with its axes as they belong."""
        return read if self.order is None else transpose(read, self.order)

    def to_write(self, values: Any) -> Any:
        """Return values with their axes as they are read."""
        return values if self.order is None else transpose(values, tuple(np.argsort(self.order).tolist()))


def positions(
    index: tuple[Any, ...],
    arrays: Sequence[Any],
    is_batched: Sequence[bool],
    ndim: int,
    size: int,
    *,
    of_one: bool = False,
) -> Positions | None:
    """Return the index for a batch of arrays with ``ndim`` axes each, or of one; None if it holds masks."""
    if any(isinstance(part, (bool, np.bool_)) for part in index) or any(a.dtype.kind == "b" for a in arrays):
        return None
    count = max(np.ndim(array) - inside for array, inside in zip(arrays, is_batched, strict=True))
    lifted = [lift(array, inside, count) for array, inside in zip(arrays, is_batched, strict=True)]
    if not of_one:
        lifted = [np.arange(size).reshape((size, *(1,) * count)), *lifted]
        whole = (HOLE, *index)
    else:
        whole = index
    where = [k for k, part in enumerate(index) if part is HOLE or isinstance(part, int)]
    before = index[: where[0]]
    if where[-1] - where[0] != len(where) - 1 or not before:  # what arrays read comes first
        return Positions(whole, lifted, None)
    taken = sum(part is not None and part is not ... for part in index)
    left = sum(ndim - taken if part is ... else 1 for part in before)
    rest = ndim - taken + sum(part is None or isinstance(part, slice) for part in index) - left
    if of_one:
        order = (left, *range(left), *range(left + 1, left + 1 + count + rest))
    else:
        behind = 1 + count + left
        order = (0, *range(1 + count, behind), *range(1, 1 + count), *range(behind, behind + rest))
    return Positions(whole, lifted, order)


def batch_reading(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    index = batch_index(attrs["index"], is_batched)
    shape = {"shape": (size, *attrs["shape"])} if "shape" in attrs else {}
    if index is not None:
        return op(*operands, index=index, **shape)
    if not any(is_batched[1:]):
        return NotImplemented
    (x, *arrays), (x_inside, *arrays_inside) = operands, is_batched
    ndim = len(attrs["shape"]) if shape else np.ndim(x) - x_inside
    is_one = not shape and not x_inside
    found = positions(attrs["index"], arrays, arrays_inside, ndim, size, of_one=is_one)
    if found is None:
        return NotImplemented
    if not shape:
        return found.in_order(op(x, *found.arrays, index=found.where))
    g = x if x_inside else broadcast_to(x, shape=(size, *np.shape(x)))
    return op(found.to_write(g), *found.arrays, index=found.where, **shape)


def scattered(g: Any, *arrays: Any, index: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    """Return the adjoint of reading at an index: zeros of a shape with ``g`` added there.

    For plain arrays it is a `Scattered`, which the sweep adds in place.
    """
    if isinstance(g, Handle) or any(isinstance(array, Handle) for array in arrays):
        return scatter(g, *arrays, index=index, shape=shape)
    return Scattered(g, filled_index(index, arrays), shape)


def _getitem(x: Any, *arrays: Any, index: tuple[Any, ...]) -> Any:
    if not arrays:
        return x[index]
    return x[arrays if len(arrays) == len(index) else filled_index(index, arrays)]


def _getitem_vjp(g: Any, out: Any, x: Any, *arrays: Any, index: tuple[Any, ...]) -> list[Any]:
    return [scattered(g, *arrays, index=index, shape=x.shape), *(None for _ in arrays)]


def _axes_of_arrays(x: Any, *arrays: Any, index: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the axes that the arrays in an index read along."""
    remaining = iter(arrays)
    counts = []
    for part in index:
        if part is HOLE:
            array = next(remaining)
            counts.append(array.ndim if array.dtype == bool else 1)
        else:
            counts.append(0 if part is None or part is ... or isinstance(part, bool) else 1)
    axes: list[int] = []
    axis = 0
    for part, count in zip(index, counts, strict=True):
        if part is HOLE:
            axes += range(axis, axis + count)
        axis += np.ndim(x) - sum(counts) if part is ... else count
    return tuple(axes)


def _positions(numbers: Any, *arrays: Any, index: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    return numbers[filled_index(index, arrays)]


getitem_op: Op = Op(
    _getitem,
    name="getitem",
    pattern=pattern_rules.reads(_axes_of_arrays),
    vjp=_getitem_vjp,
    jvp=lambda tangents, out, x, *arrays, index: (
        None if tangents[0] is None else getitem_op(tangents[0], *arrays, index=index)
    ),
    taylor=series.linear,
    batch=batch_reading,
    lower=lambda b, x, *arrays, index: b.read(x, filled_index(index, arrays)),
    data_dependent=lambda x, *arrays, index: any(array.dtype.kind == "b" for array in arrays),
)
declare_cost(free, getitem_op)

scatter: Op = Op(
    lambda g, *arrays, index, shape: Scattered(g, filled_index(index, arrays), shape).dense(),
    name="scatter",
    pattern=pattern_rules.adds(_positions),
    vjp=lambda g, out, x, *arrays, index, shape: [
        getitem_op(g, *arrays, index=index),
        *(None for _ in arrays),
    ],
    jvp=lambda tangents, out, x, *arrays, index, shape: (
        None if tangents[0] is None else scatter(tangents[0], *arrays, index=index, shape=shape)
    ),
    taylor=series.linear,
    batch=batch_reading,
    lower=lambda b, g, *arrays, index, shape: b.written(g, filled_index(index, arrays), shape),
)
declare_cost(passes(1), scatter)


@implements(operator.getitem)
@specialised()
def getitem(a: Any, index: Any) -> Any:
    """Return ``a[index]``, with every index that NumPy accepts.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    index : int, slice, None, Ellipsis, array_like or Var of ints or bools, or a tuple of these
        Arrays in an index are operands of the recorded operation: data that may change on replay.

    Returns
    -------
    numpy.ndarray or Var
        The gradient adds up for elements that are read more than once.

    Raises
    ------
    OutOfBoundsError
        If the index does not fit, or is of another kind.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> x = tr.param(np.array([1.0, 2.0, 3.0]))
    >>> tr.backward_param_grads(tape.ops.getitem(x, [0, 0, 2]))
    [array([2., 0., 1.])]
    """
    static, arrays = parsed(index)
    return getitem_op(a, *arrays, index=static)


def parsed(index: Any) -> tuple[tuple[Any, ...], list[Any]]:
    """Split an index into an attribute and operands: a tuple with holes, and the arrays and Vars for them.

    Parameters
    ----------
    index : int, slice, None, Ellipsis, array_like or Var of ints or bools, or a tuple of these
        The expression between the brackets.

    Returns
    -------
    tuple, list
        The arrays stand in the order of the holes.

    Raises
    ------
    OutOfBoundsError
        If a part is of another kind.
    """
    static: list[Any] = []
    arrays: list[Any] = []
    parts = index if isinstance(index, tuple) else (index,)
    for part in parts:
        kind = type(part)
        if kind is not slice and kind is not int:  # which most are: looking for an attribute takes longer
            stands_for = getattr(kind, "__tape_index__", None)  # an int that is recorded as a Var
            if stands_for is not None:
                part = stands_for(part, parts)
        if isinstance(part, slice):
            static.append(slice(*(_bound(bound) for bound in (part.start, part.stop, part.step))))
        elif part is None or part is Ellipsis or isinstance(part, (bool, np.bool_)):
            static.append(part)
        elif isinstance(part, (int, np.integer)):
            static.append(int(part))
        else:
            array = _index_array(part)
            if array.dtype.kind not in "biu" and array.size:
                raise OutOfBoundsError(
                    f"an index is {array.dtype}{list(array.shape)}. Use ints, bools, slices, None or Ellipsis"
                )
            arrays.append(array if array.dtype.kind in "biu" else np.asarray(array, int))
            static.append(HOLE)
    return tuple(static), arrays


def _index_array(part: Any) -> Any:
    if isinstance(part, Handle):
        return part
    if (wrong := complaint(part)) is not None:
        raise OutOfBoundsError(f"an index is {wrong}")
    try:
        return np.asarray(part)
    except ValueError as error:
        raise OutOfBoundsError(f"an index is not a regular array: {error}") from error


def _bound(bound: Any) -> int | None:
    try:
        return None if bound is None else operator.index(bound)
    except TypeError as error:
        raise OutOfBoundsError(f"a slice has the bound {errors.describe(bound)}. Use ints") from error


def index_along(axis: int, part: Any) -> tuple[Any, ...]:
    """Return the index that reads ``part`` of one axis, and all of the others."""
    return (slice(None),) * axis + (part,) if axis >= 0 else (..., part, *(slice(None),) * (-axis - 1))


def part_along(x: Any, axis: int, part: Any) -> Any:
    """Return ``part`` of an array along one axis: a slice, or positions."""
    return getitem(x, index_along(axis, part))
