"""Writes to batches: which of them share memory, if one element were given in place of all.

The memory of values is never written. A write gives a batch other values, and those batches that are views of
it, as in NumPy; snapshots, and arrays that users gave, stay what they are.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tape import errors
from tape.core.node import Handle, plain, snapshot
from tape.inplace.aliases import Stale
from tape.ops.structure.indexing import filled_index
from tape.ops.structure.writing import set_at

if TYPE_CHECKING:
    from tape.interpreters.batching import Batch


class Family:
    """Batches that share memory.

    Attributes
    ----------
    members : list of weakref
    rows : list of weakref
        What has been read of them at an index that differs between elements: views of one element alone,
        which are copies here.
    is_uncertain : bool
        Whether that depends on a layout in memory which is not known.
    """

    def __init__(self, first: Batch) -> None:
        self.members = [weakref.ref(first)]
        self.rows: list[weakref.ref[Batch]] = []
        self.is_uncertain = False


class Memory:
    """The memory of a batch.

    Attributes
    ----------
    family : Family
        Those that share it.
    is_array : bool
        Whether an element is an array, and no number.
    has_any_layout : bool
        Whether it is in another order for an element alone than for a batch, for all that is known.
    read : tuple or None
        Of a row the batch that it is read of, None if that is the same array for all, and the index.
    viewed : Batch or None
        What it is a view of: a write has to reach the row that this may be.
    """

    __slots__ = ("family", "has_any_layout", "is_array", "read", "viewed")

    def __init__(self, batch: Batch) -> None:
        self.family = Family(batch)
        self.is_array = batch.ndim > 0
        self.has_any_layout = False
        self.viewed: Batch | None = None
        self.read: tuple[Batch | None, tuple[Any, ...]] | None = None


def is_row(operands: Sequence[Any], attrs: dict[str, Any]) -> bool:
    """Return whether elements are read at numbers, a view of each element of a batch, and not at arrays."""
    numbers = operands[1:]
    return "index" in attrs and not any(np.ndim(k) or np.result_type(k).kind == "b" for k in numbers)


def note_row(batch: Batch, operands: Sequence[Any], attrs: dict[str, Any]) -> None:
    """Note what has been read at numbers that differ between elements; arguments as for `note_view`."""
    index = attrs["index"]
    memory = batch.memory = Memory(batch)
    memory.is_array = batch.ndim > 0 or ... in index
    memory.has_any_layout = _has_axes(index)
    source = operands[0] if isinstance(operands[0], Handle) and operands[0].is_batch else None
    memory.read = source, filled_index(index, tuple(map(snapshot, operands[1:])))  # type: ignore[assignment]
    if source is not None:
        if source.memory is None:  # type: ignore[attr-defined]
            source.memory = Memory(source)  # type: ignore[attr-defined,arg-type]
        source.memory.family.rows.append(weakref.ref(batch))  # type: ignore[attr-defined]


def is_there(batch: Batch, index: Any, value: Any) -> bool:
    """Return whether a value is the row of a batch at an index, so that writing it there changes nothing."""
    memory = getattr(value, "memory", None)
    if memory is None or memory.read is None or memory.read[0] is not batch or isinstance(value.node, Stale):
        return False
    index = index if isinstance(index, tuple) else (index,)
    pairs = zip(index, memory.read[1], strict=False)
    return len(index) == len(memory.read[1]) and all(
        a.node is b.node if isinstance(a, Handle) and isinstance(b, Handle) else a is b for a, b in pairs
    )


def note_view(batch: Batch, operands: Sequence[Any], attrs: dict[str, Any]) -> None:
    """Note what a batch shares with the first operand of an operation that has made it, and may make views.

    Parameters
    ----------
    batch : Batch
        The result.
    operands : sequence
        Of the operation; the first is a batch.
    attrs : dict
        Its static arguments.
    """
    source: Batch = operands[0]
    if not source.is_array:
        return
    index = attrs.get("index", ())
    result, values = batch.node.value, source.node.value
    shares = _is_view(result, values) if isinstance(result, Handle) else _owner(result) is _owner(values)
    has_any_layout = source.memory is not None and source.memory.has_any_layout
    is_uncertain = "shape" in attrs and (has_any_layout or not _is_contiguous(plain(source)))
    if len(operands) > 1:
        has_any_layout |= _has_axes(index)
    if not (shares or is_uncertain or has_any_layout):
        return
    memory = batch.memory = Memory(batch)
    memory.has_any_layout = has_any_layout
    if not batch.ndim:  # reading at integers gives a number, all other ways an array
        memory.is_array = ... in index if "index" in attrs else True
    if memory.is_array and (shares or is_uncertain):
        if source.memory is None:
            source.memory = Memory(source)
        memory.family = source.memory.family
        memory.family.members.append(weakref.ref(batch))
        memory.viewed = source
        memory.family.is_uncertain |= is_uncertain


def write(batch: Batch, new: Batch, row: Batch | None = None) -> None:
    """Write other values over those of a batch, because of what has been written to a row of it, if given.

    Raises
    ------
    InPlaceError
        If the values are read-only, or have no derivative where the new ones have one, or if it is not known
        which batches are views.
    """
    values, lanes = batch.node.value, batch.trace
    is_recorded = isinstance(values, Handle)
    if not is_recorded and (not values.flags.writeable or isinstance(new.node.value, Handle)):
        raise errors.InPlaceError(
            f"{batch!r} cannot be written to: its values are read-only, or they are not differentiated and "
            "what is written is. Write to a copy(), or to np.zeros_like(v) of a v that is differentiated"
        )
    family = None if batch.memory is None else batch.memory.family
    together = [] if family is None else [other for ref in family.members if (other := ref()) is not None]
    if family is not None and family.is_uncertain:
        raise errors.InPlaceError(
            f"{batch!r} was to be written to, and it depends on the layout in memory whether others are "
            "views of it: of reshape of what arrays and slices have read. Write to a copy()"
        )
    members = together or [batch]
    read = [m for m in members if m.memory is not None and m.memory.read is not None]
    if any(member.memory.read[0] is None for member in read):  # type: ignore[index,union-attr]
        raise errors.InPlaceError(
            f"{batch!r} was to be written to. It was read at an index that differs between the elements of a "
            "batch, from an array that does not. Write to a copy(), or make the array from something in the "
            "batch"
        )
    leaf: Any = lanes.leaf  # type: ignore[attr-defined]
    if len(together) < 2:
        batch.node = leaf(new.node.value)
    elif is_recorded:
        values[...] = new.node.value  # and views of it follow
        for other in together:
            other.node = leaf(other.node.value)
    else:
        moved = _moved([other.node.value for other in together])
        for other, value in zip(together, moved, strict=True):
            if other is batch:
                value[...] = new.node.value
            other.node = leaf(value)
    for ref in [] if family is None else family.rows:
        other_row = ref()
        if other_row is not None and other_row is not row:
            other_row.node = Stale(other_row.node)
    for member in read:
        source, index = member.memory.read  # type: ignore[misc,union-attr]
        write(source, set_at(source.again(), member.again(), index), member)  # type: ignore[arg-type,union-attr]


def _has_axes(index: Sequence[Any]) -> bool:
    """Return whether an index leaves axes beside those of arrays in it, or makes some."""
    return any(part is None or part is ... or isinstance(part, slice) for part in index)


def _is_contiguous(value: Any) -> bool:
    return not isinstance(value, np.ndarray) or value.flags.c_contiguous


def _is_view(result: Any, values: Any) -> bool:
    """Return whether a Var or a batch further out is another one, or a view of what that is a view of."""
    if not result.is_batch:
        return result is values or result.share is not None
    memory = result.memory
    return result is values or (memory is not None and memory.viewed is not None)


def _owner(array: Any) -> Any:
    """Return the array that an array is a view of, or itself; None for a Var."""
    while isinstance(array, np.ndarray) and isinstance(array.base, np.ndarray):
        array = array.base
    return array if isinstance(array, np.ndarray) else None


def _moved(views: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the same views of a copy of the array that they are views of."""
    owner = _owner(views[0])
    start, memory = owner.__array_interface__["data"][0], owner.ravel(order="K").copy()
    return [
        np.ndarray(v.shape, v.dtype, memory, v.__array_interface__["data"][0] - start, v.strides)
        for v in views
    ]
