"""Sorting and searching as instructions: kernels that work on rows, along any axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tape.program.ir.values import CannotLower, Value

if TYPE_CHECKING:
    from tape.program.ir.builder import Builder

Shape = tuple[int, ...]
_INT64 = np.dtype(np.int64)
_LONG = 4096  # elements from which on it is faster to sort quickly, and to look for ties


def sort(b: Builder, x: Value, axis: int) -> Value:
    """Sort along an axis."""
    return x if _is_sorted(x, axis) else _along(b, "sort", axis, x)


def argsort(b: Builder, x: Value, axis: int, kind: str | None = None) -> Value:
    """Return the permutation that sorts along an axis, as `numpy.argsort` finds it.

    The stable one of long rows is the quick one, which vector instructions find, if there are no ties.
    """
    if kind == "heapsort":
        raise CannotLower("some versions of NumPy take this for a hint, others do not")
    if _is_sorted(x, axis):
        return positions(b, x.shape, axis)
    if kind != "stable":
        order = _along(b, "argsort", axis, x)
    elif x.dtype.kind != "f" or x.shape[axis] < _LONG:
        order = _along(b, "stable_argsort", axis, x)
    else:
        order = _along(b, "stable_order", axis, x, _along(b, "argsort", axis, x))
    b.orders[order.id] = x.id, axis % x.ndim
    return order


def ranked(b: Builder, name: str, rows: Value, at: Value) -> tuple[Value, Value | None]:
    """Return what sorting puts at positions of rows, or with ``"ranked_places"`` where that is.

    Parameters
    ----------
    b : Builder
        Appends the instructions.
    name : str
        The kernel: ``"ranked"`` or ``"ranked_places"``.
    rows : Value
        ``(R, n)``.
    at : Value
        Positions among the sorted elements, ``(R, K)`` or ``(1, K)``.

    Returns
    -------
    selected : Value
        ``(R, K)``; of equal elements, places are those of a stable sort.
    nan : Value or None
        For elements: NaN for rows that have one, else 0; ``(R,)``.
    """
    (number, length), (_, count) = rows.shape, at.shape
    dtype = rows.dtype
    if not count:
        return b.broadcast(b.literal(0, dtype), (number, 0)), b.broadcast(b.literal(0, dtype), (number,))
    if dtype == np.dtype(bool):
        rows = b.cast(rows, np.int32)
    parameters = number, length, count, int(at.shape[0] > 1)
    if name == "ranked_places":
        return b.kernel(name, (rows, at), parameters, (number, count), rows.dtype), None
    out = b.kernel(name, (rows, at), parameters, (number, count + 1), rows.dtype)
    nan = b.reshape(b.slice(out, (0, count), (1, 1), (number, 1)), (number,))
    return b.cast(b.slice(out, (0, 0), (1, 1), (number, count)), dtype), nan


_MOST_PIVOTS = 4
"""Elements to partition by up to which that is faster than to sort."""
_SHORT = 512
"""Elements of rows that are sorted as fast."""


def partition(b: Builder, x: Value, kth: Sequence[int], axis: int) -> Value:
    """Return a permutation that puts elements along an axis where sorting does, smaller ones before them."""
    ranks = sorted({k % x.shape[axis] for k in kth}) if x.size else []
    is_short = not ranks or x.shape[axis] <= _SHORT
    if _is_sorted(x, axis) or is_short or len(ranks) > _MOST_PIVOTS or x.dtype.kind == "b":
        return argsort(b, x, axis, "stable")

    def order(rows: Value) -> Value:
        pivots, _ = ranked(b, "ranked", rows, b.constant(np.array([ranks])))
        return b.kernel("partition_order", (rows, pivots), (*rows.shape, len(ranks)), rows.shape, rows.dtype)

    return _in_rows(b, order, axis, x)


def take_along(b: Builder, x: Value, index: Value, axis: int) -> Value | None:
    """Return what is in the order of an index along an axis, if that sorts: which is faster; else None."""
    return b.sort(x, axis) if b.orders.get(index.id) == (x.id, axis) else None


def refined(b: Builder, x: Value, order: Value, axis: int) -> Value:
    """Return a permutation sorted along an axis by the elements it refers to, equal ones as they are."""
    return order if _is_sorted(x, axis) else _along(b, "refined_order", axis, x, order)


def positions(b: Builder, shape: Shape, axis: int) -> Value:
    """Return the position of each element along an axis."""
    axis %= len(shape) or 1
    if not prod(shape) or not shape or shape[axis] == 1:
        return b.broadcast(b.literal(0, _INT64), shape)
    length = shape[axis]
    counted = b.constant(b.counted.setdefault(length, np.arange(length)))
    return b.broadcast(b.reshape(counted, (length, *(1,) * (len(shape) - 1 - axis))), shape)


def search(b: Builder, x: Value, keys: Value, side: str) -> Value:
    """Return where keys would be inserted into a sorted vector."""
    return _searched(b, "search", x, keys, int(side == "right"))


def digitize(b: Builder, keys: Value, edges: Value, right: bool) -> Value:
    """Return the bin that each key falls into, between edges that go up or down."""
    if np.dtype(bool) in (keys.dtype, edges.dtype):
        raise CannotLower("bools among edges")
    return _searched(b, "digitize", edges, keys, int(right))


def _searched(b: Builder, name: str, x: Value, keys: Value, side: int) -> Value:
    if not keys.size or not x.size:
        return b.broadcast(b.literal(0, _INT64), keys.shape)
    dtype = np.promote_types(x.dtype, keys.dtype)
    return b.kernel(name, (x, keys), (x.size, keys.size, side), keys.shape, dtype)


# ---- results whose length depends on data: that of the recording, which is guarded ---------------------


def flatnonzero(b: Builder, x: Value, axis: int = 0) -> Value:
    """Return the flat positions of elements that are not zero.

    They are as many as the recorded result is long along an axis.
    """
    mask = b.value(b.reshape(x, (x.size,)), bool)
    b.guard_length(b.fold("sum", b.cast(mask, np.int64)), axis)
    assert b.shape is not None
    return places(b, mask, b.shape[axis], is_strict=False)


def places(b: Builder, mask: Value, count: int, *, is_strict: bool) -> Value:
    """Return where a mask is True, so often; a program stops at another number if this is strict."""
    if not mask.size or not count:
        if is_strict and mask.size:
            raise CannotLower("nothing is written")
        return b.broadcast(b.literal(0, _INT64), (count,))
    flat = b.reshape(mask, (mask.size,))
    return b.kernel("places", (flat,), (mask.size, count, int(is_strict)), (count,), mask.dtype)


def bincount(b: Builder, x: Value, weights: Value | None, least: int) -> Value:
    """Count numbers, or sum their weights."""
    if not x.size:
        raise CannotLower("nothing to count")
    number = b.value(x, _INT64)
    b.guard_length(b.elementwise("maximum", b.fold("max", number) + 1, least), 0)
    assert b.shape is not None
    return count_numbers(b, number, weights, max(b.shape[0], 1))


def count_numbers(b: Builder, x: Value, weights: Value | None, length: int) -> Value:
    """Count the numbers below a length, or sum their weights."""
    if weights is None:
        return b.kernel("count", (x,), (x.size, length), (length,), _INT64)
    return b.kernel("weigh", (weights, x), (x.size, length), (length,), np.float64)


def runs(b: Builder, x: Value, order: Value, merges: bool) -> Value:
    """Return what the kernel of this name finds in a vector."""
    return b.kernel("runs", (x, order), (x.size, int(merges)), (3 * x.size + 1,), x.dtype)


def unless(b: Builder, is_wrong: Value, value: Value) -> Value:
    """Return a value, or stop the program if it is wrong: Python then says why."""
    at = b.reshape(b.where(is_wrong, 1, 0), (1,))
    return b.reshape(b.take(b.reshape(value, (1, *value.shape)), at, 0), value.shape)


# ---- rows ----------------------------------------------------------------------------------------------


def _is_sorted(x: Value, axis: int) -> bool:
    return not x.ndim or x.size == 0 or x.shape[axis] == 1 or x.builder.known(x) is not None


def _along(b: Builder, name: str, axis: int, *operands: Value) -> Value:
    """Call a kernel on rows, which is what lies along an axis."""
    dtype = operands[0].dtype
    return _in_rows(
        b, lambda *rows: b.kernel(name, rows, rows[0].shape, rows[0].shape, dtype), axis, *operands
    )


def _in_rows(b: Builder, make: Callable[..., Value], axis: int, *operands: Value) -> Value:
    """Apply a function of rows to what lies along an axis."""
    shape = operands[0].shape
    length, last = shape[axis], len(shape) - 1
    axis %= len(shape)
    turned = [b.transpose(x, (*range(axis), *range(axis + 1, last + 1), axis)) for x in operands]
    out = make(*[b.reshape(x, (prod(shape) // length, length)) for x in turned])
    return b.transpose(b.reshape(out, turned[0].shape), (*range(axis), last, *range(axis, last)))
