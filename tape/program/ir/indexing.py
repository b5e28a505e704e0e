"""NumPy's indexing as instructions: slices, and `take` for arrays of integers."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tape.program.ir import conversions
from tape.program.ir.values import CannotLower, Value

if TYPE_CHECKING:
    from tape.program.ir.builder import Builder

Shape = tuple[int, ...]


class _Resolved:
    """An index, resolved for a shape: a slice of every axis, then arrays of integers, then a reshape."""

    def __init__(self, b: Builder, index: tuple[Any, ...], shape: Shape) -> None:
        parts = _spelled_out(index, len(shape))
        starts, steps, counts, result = [], [], [], []
        arrays: list[tuple[int, Value]] = []
        axis = 0
        where_arrays: list[int] = []
        for part in parts:
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
            if isinstance(part, int):
                starts.append(part % length if length else 0)
                steps.append(1)
                counts.append(1)
            elif isinstance(part, slice):
                start, stop, step = part.indices(length)
                count = len(range(start, stop, step))
                starts.append(start if count else 0)
                steps.append(step if count else 1)
                counts.append(count)
                result.append(count)
            else:
                starts.append(0)
                steps.append(1)
                counts.append(length)
                arrays.append((axis, part))
                where_arrays.append(len(result))
                result.append(-1)
            axis += 1
        self.starts, self.steps, self.sliced = tuple(starts), tuple(steps), tuple(counts)
        self.arrays = arrays
        if not arrays:
            self.shape = tuple(result)
            return
        axes = [axis for axis, _ in arrays]
        places = [k for k, part in enumerate(parts) if isinstance(part, (Value, np.ndarray, int, np.integer))]
        if places[-1] - places[0] != len(places) - 1 or len(places) != len(arrays):
            raise CannotLower("arrays and integers apart in an index")
        self.first, self.last = axes[0], axes[-1]
        inner = np.broadcast_shapes(*(array.shape for _, array in arrays))
        self.index_shape = inner
        before = result[: where_arrays[0]]
        self.shape = (*before, *inner, *result[where_arrays[-1] + 1 :])

    def flat_index(self, b: Builder) -> Value:
        """Return indices into the axes that are indexed by arrays, merged into one axis."""
        values = [b.cast(b.broadcast(array, self.index_shape), np.int64) for _, array in self.arrays]
        if len(values) == 1:
            return values[0]
        lengths = tuple([self.sliced[axis] for axis, _ in self.arrays])
        return b.push("ravel_index", values, (lengths, True))

    def merged(self, shape: Shape) -> Shape:
        """Return a shape with the axes that are indexed by arrays merged into one."""
        return (*shape[: self.first], prod(shape[self.first : self.last + 1]), *shape[self.last + 1 :])


def _spelled_out(index: tuple[Any, ...], ndim: int) -> list[Any]:
    """Return an index with a part for every axis."""
    parts = list(index)
    missing = ndim - sum(part is not None and part is not Ellipsis for part in parts)
    rest = [slice(None)] * missing
    at = next((k for k, part in enumerate(parts) if part is Ellipsis), None)
    return parts + rest if at is None else parts[:at] + rest + parts[at + 1 :]


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
        For masks, and arrays on axes apart from each other.
    """
    resolved = _Resolved(b, index, x.shape)
    sliced = b.slice(x, resolved.starts, resolved.steps, resolved.sliced)
    if resolved.arrays:
        merged = b.reshape(sliced, resolved.merged(sliced.shape))
        sliced = b.take(merged, resolved.flat_index(b), resolved.first)
    return b.reshape(sliced, resolved.shape)


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
        For other masks, and arrays on axes apart from each other.
    """
    if (mask := _mask_alone(b, index)) is not None:
        return _where(b, mask, total, values, is_added)
    resolved = _Resolved(b, index, total.shape)
    values = b.broadcast(
        b.reshape(values, values.shape[max(0, values.ndim - len(resolved.shape)) :]), resolved.shape
    )
    if not values.size:
        return total
    starts, steps, counts = resolved.starts, resolved.steps, resolved.sliced
    if not resolved.arrays:
        return _write(b, total, b.reshape(values, counts), starts, steps, is_added)
    is_on_zeros = is_added and b.known(total) is not None and not b.known(total)
    axis, merged = resolved.first, resolved.merged(counts)
    part = b.reshape(b.slice(total, starts, steps, counts), merged)
    flat = resolved.flat_index(b)
    at = b.reshape(flat, (flat.size,))
    rows = b.reshape(values, (*merged[:axis], flat.size, *merged[axis + 1 :]))
    part = b.add_at(part, rows, at, (axis,)) if is_added else _put_rows(b, part, rows, at, axis)
    return _write(b, total, b.reshape(part, counts), starts, steps, is_on_zeros)


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
    if total.dtype.kind != "f" or total.dtype.itemsize < 4:
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


def _where(b: Builder, mask: Value, total: Value, values: Value, is_added: bool) -> Value:
    """Write or add values that are the same wherever a mask is True."""
    rest = total.shape[mask.ndim :]
    if values.ndim > len(rest):
        if values.shape[: values.ndim - len(rest)] != (1,) * (values.ndim - len(rest)):
            raise CannotLower("values for each True of a mask")
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
