"""NumPy's indexing as instructions: slices, and `take` for arrays of integers."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tape.kernels.codes import DTYPE_CODES
from tape.kernels.registry import REGISTRY
from tape.program.ir import conversions
from tape.program.ir.values import CannotLower, Value

if TYPE_CHECKING:
    from tape.program.ir.builder import Builder

Shape = tuple[int, ...]


class _Resolved:
    """An index, resolved for a shape: a slice of every axis, then arrays of integers, then a reshape.

    What is left without the axes of integers has arrays for the axes ``first`` to ``last``. If something
    else stands between them, these axes are moved to the front.
    """

    def __init__(self, b: Builder, index: tuple[Any, ...], shape: Shape) -> None:
        parts = _spelled_out(index, len(shape))
        starts, steps, counts, result = [], [], [], []
        kept: list[int] = []  # the lengths that are sliced or indexed by an array
        arrays: list[tuple[int, Value]] = []  # with the axis among those
        axis = 0
        where_numbers: list[tuple[int, int]] = []  # in the index and in the result
        for place, part in enumerate(parts):
            if part is None:
                result.append(1)
                continue
            if isinstance(part, (bool, np.bool_)):
                raise CannotLower("a bool in an index")
            if not isinstance(part, (int, slice)):
                part = b.value(part)
                if part.dtype.kind not in "iu":
                    raise CannotLower("a mask in an index")
            length = shape[axis]
            if isinstance(part, slice):
                start, stop, step = part.indices(length)
                count = len(range(start, stop, step))
                start, step = (start, step) if count else (0, 1)
                result.append(count)
            else:
                where_numbers.append((place, len(result)))
                is_one = isinstance(part, int)
                start, step, count = part % length if is_one and length else 0, 1, 1 if is_one else length
            if isinstance(part, Value):
                arrays.append((len(kept), part))
            if not isinstance(part, int):
                kept.append(count)
            starts.append(start)
            steps.append(step)
            counts.append(count)
            axis += 1
        self.starts, self.steps, self.sliced = tuple(starts), tuple(steps), tuple(counts)
        self.arrays = arrays
        self.kept = tuple(kept)
        self.order = tuple(range(len(kept)))  # in which these axes are needed
        self.shape = tuple(result)
        if arrays:
            self._place_arrays(where_numbers)

    def _place_arrays(self, where_numbers: list[tuple[int, int]]) -> None:
        axes = [axis for axis, _ in self.arrays]
        self.index_shape = np.broadcast_shapes(*(array.shape for _, array in self.arrays))
        (begin, at), (end, _) = where_numbers[0], where_numbers[-1]
        self.first, self.last = axes[0], axes[-1]
        if end - begin != len(where_numbers) - 1:
            self.order = (*axes, *[axis for axis in self.order if axis not in axes])
            self.first, self.last, at = 0, len(axes) - 1, 0
        self.shape = (*self.shape[:at], *self.index_shape, *self.shape[at:])

    def flat_index(self, b: Builder) -> Value:
        """Return indices into the axes that are indexed by arrays, merged into one axis."""
        values = [b.cast(b.broadcast(array, self.index_shape), np.int64) for _, array in self.arrays]
        if len(values) == 1:
            return values[0]
        lengths = tuple([self.kept[axis] for axis, _ in self.arrays])
        return b.push("ravel_index", values, (lengths, True))

    def merged(self, b: Builder, sliced: Value) -> Value:
        """Return what is sliced with the axes that are indexed by arrays merged into one."""
        ordered = b.transpose(b.reshape(sliced, self.kept), self.order)
        shape = ordered.shape
        number = prod(shape[self.first : self.last + 1])
        return b.reshape(ordered, (*shape[: self.first], number, *shape[self.last + 1 :]))

    def taken_apart(self, b: Builder, merged: Value) -> Value:
        """Return what `merged` was made of."""
        ordered = b.reshape(merged, tuple([self.kept[axis] for axis in self.order]))
        back = [self.order.index(axis) for axis in range(len(self.order))]
        return b.reshape(b.transpose(ordered, back), self.sliced)


def _spelled_out(index: tuple[Any, ...], ndim: int) -> list[Any]:
    """Return an index with a part for every axis."""
    parts = list(index)
    missing = ndim - sum(_axes_of(part) for part in parts)
    rest = [slice(None)] * missing
    at = next((k for k, part in enumerate(parts) if part is Ellipsis), None)
    return parts + rest if at is None else parts[:at] + rest + parts[at + 1 :]


def _axes_of(part: Any) -> int:
    """Return how many axes a part of an index is for."""
    return 0 if part is None or part is Ellipsis else part.ndim if _is_mask(part) else 1


def read(b: Builder, x: Value, index: tuple[Any, ...]) -> Value:
    """Return ``x[index]``.

    Parameters
    ----------
    b : Builder
        Appends the instructions.
    x : Value
        Any shape.
    index : tuple
        Of ints, slices, None, Ellipsis and Values of integers.

    Raises
    ------
    CannotLower
        For a mask beside other arrays, and where nobody knows how many elements a mask chooses.
    """
    x, index = _without_mask(b, x, index, None)
    resolved = _Resolved(b, index, x.shape)
    sliced = b.slice(x, resolved.starts, resolved.steps, resolved.sliced)
    if resolved.arrays:
        sliced = b.take(resolved.merged(b, sliced), resolved.flat_index(b), resolved.first)
    return b.reshape(sliced, resolved.shape)


def _without_mask(
    b: Builder, x: Value, index: tuple[Any, ...], written: Value | None
) -> tuple[Value, tuple[Any, ...]]:
    """Return an array and an index in which a mask is the positions where it is True, along one axis.

    How many these are is known from the shape of what was read, which is guarded, or of what is written.
    """
    parts = _spelled_out(index, x.ndim)
    masks = [k for k, part in enumerate(parts) if _is_mask(part)]
    if not masks:
        return x, index
    if sum(isinstance(part, (Value, np.ndarray)) for part in parts) > 1:
        raise CannotLower("a mask beside other arrays in an index")
    (k,) = masks
    mask = b.value(parts[k])
    axis = sum(part is not None for part in parts[:k])
    if mask.shape != x.shape[axis : axis + mask.ndim]:
        raise CannotLower("a mask of another shape")
    numbers = [i for i, part in enumerate(parts) if i == k or isinstance(part, (int, np.integer))]
    is_apart = numbers[-1] - numbers[0] != len(numbers) - 1
    at = 0 if is_apart else numbers[0]  # the axis of the result
    x = b.reshape(x, (*x.shape[:axis], mask.size, *x.shape[axis + mask.ndim :]))
    if written is None:
        places = b.flatnonzero(mask, at)
    else:
        behind = len(parts) - len(numbers) - at  # axes of the result behind that one
        count = written.shape[written.ndim - 1 - behind] if written.ndim > behind else 1
        if count == 1:
            raise CannotLower("what is written may be repeated")
        places = b.places(mask, count, is_strict=True)
    return x, (*parts[:k], places, *parts[k + 1 :])


def _is_mask(part: Any) -> bool:
    return isinstance(part, (Value, np.ndarray)) and part.dtype.kind == "b" and part.ndim > 0


def updated(b: Builder, total: Value, values: Value, index: tuple[Any, ...], is_added: bool) -> Value:
    """Return an array with values written or added at an index; of several written to one place, the last
    stays.

    Parameters
    ----------
    b : Builder
        Appends the instructions.
    total, values : Value
        Of one dtype; values broadcast to what `read` reads at the index, but for leading axes of length one.
    index : tuple
        As for `read`; or a mask alone, for values that are the same wherever it is True.
    is_added : bool
        Whether values are added.

    Raises
    ------
    CannotLower
        For other masks, unless one value is written for each True.
    """
    values = b.value(values)  # the adjoint of a root is a plain number
    if (mask := _mask_alone(b, index)) is not None and _are_alike(total, mask, values):
        return _where(b, mask, total, values, is_added)
    whole = total.shape
    total, index = _without_mask(b, total, index, values)
    resolved = _Resolved(b, index, total.shape)
    values = b.broadcast(
        b.reshape(values, values.shape[max(0, values.ndim - len(resolved.shape)) :]), resolved.shape
    )
    if not values.size:
        return b.reshape(total, whole)
    starts, steps, counts = resolved.starts, resolved.steps, resolved.sliced
    if not resolved.arrays:
        return _write(b, total, b.reshape(values, counts), starts, steps, is_added)
    is_on_zeros = is_added and b.known(total) is not None and not b.known(total)
    axis = resolved.first
    part = resolved.merged(b, b.slice(total, starts, steps, counts))
    flat = resolved.flat_index(b)
    at = b.reshape(flat, (flat.size,))
    rows = b.reshape(values, (*part.shape[:axis], flat.size, *part.shape[axis + 1 :]))
    part = b.add_at(part, rows, at, (axis,)) if is_added else _put_rows(b, part, rows, at, axis)
    result = _write(b, total, resolved.taken_apart(b, part), starts, steps, is_on_zeros)
    return b.reshape(result, whole)


def is_last(b: Builder, index: tuple[Any, ...], shape: Shape) -> Value:
    """Return whether what is written at an index of an array of this shape is the last there, for each."""
    zeros = b.broadcast(b.literal(0.0), shape)
    read = b.read(zeros, index)
    counted = b.counted.setdefault(read.size, np.arange(read.size))
    order = b.reshape(b.cast(b.constant(counted), np.float64), read.shape)
    return b.elementwise("equal", b.read(updated(b, zeros, order, index, is_added=False), index), order)


def _write(b: Builder, total: Value, values: Value, starts: Shape, steps: Shape, is_added: bool) -> Value:
    """Return an array with a part written or added to."""
    if is_added and (values.shape == total.shape or total.dtype.kind not in "fc" or total.dtype.itemsize < 4):
        values, is_added = b.slice(total, starts, steps, values.shape) + values, False
    return b.add_at(total, values, None, (starts, steps)) if is_added else b.put(total, values, starts, steps)


def _put_rows(b: Builder, total: Value, rows: Value, at: Value, axis: int) -> Value:
    """Return an array with rows written at indices along an axis."""
    shape = total.shape
    if total.dtype in conversions.PARTS:
        pairs = [conversions.reals(b, x) for x in (total, rows)]
        return conversions.complexes(b, _put_rows(b, pairs[0], pairs[1], at, axis))
    if DTYPE_CODES.get(total.dtype) not in REGISTRY["put_rows"].dtypes:
        raise CannotLower(f"several {total.dtype} written by index")
    parameters = (prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]), at.size)
    return b.kernel("put_rows", (total, rows, at), parameters, shape, total.dtype)


def _mask_alone(b: Builder, index: tuple[Any, ...]) -> Value | None:
    """Return the mask that an index consists of, apart from an Ellipsis behind it; None for other indices."""
    parts = [part for part in index if part is not Ellipsis]
    if len(parts) != 1 or index[0] is Ellipsis or not isinstance(parts[0], (Value, np.ndarray)):
        return None
    mask = b.value(parts[0])
    return mask if mask.dtype.kind == "b" else None


def _are_alike(total: Value, mask: Value, values: Value) -> bool:
    """Return whether values are the same wherever a mask is True."""
    lead = values.shape[: max(0, values.ndim - (total.ndim - mask.ndim))]
    return all(length == 1 for length in lead)


def _where(b: Builder, mask: Value, total: Value, values: Value, is_added: bool) -> Value:
    """Write or add values that are the same wherever a mask is True."""
    rest = total.shape[mask.ndim :]
    if values.ndim > len(rest):
        values = b.reshape(values, values.shape[values.ndim - len(rest) :])
    mask = b.reshape(mask, (*mask.shape, *(1,) * len(rest)))
    return b.where(mask, total + values if is_added else values, total)


def picked(b: Builder, rows: Value, index: Value) -> Value:
    """Return one element of each row of a matrix."""
    return b.take(b.reshape(rows, (rows.size,)), _flat(b, rows, index), 0)


def add_picked(b: Builder, rows: Value, index: Value, number: float) -> Value:
    """Return rows with a number added to one element of each."""
    flat = _flat(b, rows, index)
    parts = b.broadcast(b.literal(number, rows.dtype), index.shape)
    return b.reshape(b.add_at(b.reshape(rows, (rows.size,)), parts, flat, (0,)), rows.shape)


def _flat(b: Builder, rows: Value, index: Value) -> Value:
    """Return flat indices of one element of each row; columns do not count from the end."""
    if not rows.size:
        raise CannotLower("no rows")
    numbers = b.counted.setdefault(rows.shape[0], np.arange(rows.shape[0]))
    operands = (b.constant(numbers), b.cast(index, np.int64))
    return b.push("ravel_index", operands, (rows.shape, False))
