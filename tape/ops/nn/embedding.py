"""Rows of a table by index, alone or in bags; gradients add up in the rows that were read."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tape.core import series
from tape.core.batch_rules import elementwise
from tape.core.nesting import traced
from tape.core.node import plain
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.errors import DTypeError, OptionError, OutOfBoundsError, ShapeError, describe
from tape.inspect.costs import declare_cost, free
from tape.ops.elementwise.selection import maximum, where
from tape.ops.ordering.sorting import searchsorted
from tape.ops.reduction.reductions import max as largest
from tape.ops.reduction.reductions import sum as total
from tape.ops.structure.indexing import HOLE, scatter, scattered
from tape.ops.structure.shape import astype, expand_dims, reshape

# ---- the operations ----------------------------------------------------------------------------------


def _checked_rows(index: Any, *, count: int, name: str) -> Any:
    if index.size and (index.min() < 0 or index.max() >= count):
        at = tuple(map(int, np.argwhere((index < 0) | (index >= count))[0]))
        place = f" at position {at[0] if len(at) == 1 else at}" if at else ""
        raise OutOfBoundsError(
            f"{name}: index {index[at]}{place} is out of bounds: there are {count} rows, numbered from 0"
        )
    return index.astype(np.int64)


def _lower_rows(b: Any, index: Any, count: int, name: str) -> Any:
    wide = b.value(index, np.int64)
    return b.push("ravel_index", (wide,), ((count,), False))  # negative indices fail


_rows = Op(
    _checked_rows,
    name="rows",
    batch=elementwise,
    lower=_lower_rows,
    doc="Row indices, checked in programs too, even where only the gradient uses them.",
)


def _unpadded(d: Any, index: Any, padding: int | None) -> Any:
    """Return rows with zeros where the row for padding was read."""
    if padding is None:
        return d
    is_read = index != padding
    return where(reshape(is_read, (*is_read.shape, *(1,) * (d.ndim - is_read.ndim))), d, 0)


def _vjp(g: Any, out: Any, weight: Any, index: Any, padding: int | None) -> Any:
    return scattered(_unpadded(g, index, padding), index, index=(HOLE,), shape=weight.shape)


def _jvp(t: Any, out: Any, weight: Any, index: Any, padding: int | None) -> Any:
    return _unpadded(_embedding(t, index, padding=None), index, padding)


def _batch(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    weight, index = operands
    if is_batched[0] and not is_batched[1]:
        moved = op(np.moveaxis(weight, 0, 1), index, **attrs)
        return np.moveaxis(moved, np.ndim(index), 0)  # behind it there may be axes of other batches
    return NotImplemented if is_batched[0] else op(weight, index, **attrs)


_embedding: Op = Op(
    lambda weight, index, *, padding: np.take(weight, index, axis=0),
    name="embedding",
    vjp=[_vjp, None],
    jvp=[_jvp, None],
    taylor=series.linear,
    batch=_batch,
    lower=lambda b, weight, index, padding: b.read(weight, (index,)),
)
declare_cost(free, _rows, _embedding)


# ---- public ------------------------------------------------------------------------------------------


def _checked(name: str, index: Any, weight: Any, padding_idx: int | None) -> tuple[Any, Any, int | None]:
    index, weight = as_operand(index), as_operand(weight)
    if np.ndim(weight) != 2:
        raise ShapeError(f"{name}: weight has shape {list(np.shape(weight))}. It must be a table of rows")
    if not np.size(index) and np.result_type(index).kind == "f":  # of an empty list
        index = astype(index, np.intp)
    if np.result_type(index).kind not in "iu":
        raise DTypeError(f"{name}: the index is {describe(index)}. Use ints")
    count = np.shape(weight)[0]
    if padding_idx is not None and not -count <= padding_idx < count:
        raise OptionError(f"{name}: padding_idx={padding_idx} is not a row: there are {count}")
    rows = _rows(index, count=count, name=name)
    return rows, weight, None if padding_idx is None else padding_idx % count


def embedding(index: Any, weight: Any, padding_idx: int | None = None) -> Any:
    """Read rows of a table.

    Parameters
    ----------
    index : array_like or Var
        ``(...)``, ints from 0 on: data that may change on replay.
    weight : array_like or Var
        The table, ``(rows, width)``.
    padding_idx : int, optional
        A row that gets no gradient from here; negative ones count from the end.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., width)``. The gradient adds up for rows that are read more than once.

    Raises
    ------
    OutOfBoundsError
        If an index is no row. It is named, with its position.
    DTypeError
        If the index does not hold ints.
    ShapeError
        If the table has not two axes.
    OptionError
        If there is no row ``padding_idx``.

    Examples
    --------
    >>> import numpy as np, tape
    >>> table = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> tape.nn.embedding([1, 0, 1], table)
    array([[3., 4.],
           [1., 2.],
           [3., 4.]])
    >>> tape.grad(lambda table: np.sum(tape.nn.embedding([1, 0, 1], table)))(table)
    array([[1., 1.],
           [2., 2.]])
    """
    index, weight, padding = _checked("embedding", index, weight, padding_idx)
    return _embedding(weight, index, padding=padding)


def embedding_bag(
    index: Any,
    weight: Any,
    mode: Literal["mean", "sum", "max"] = "mean",
    per_sample_weights: Any = None,
    padding_idx: int | None = None,
    offsets: Any = None,
    include_last_offset: bool = False,
) -> Any:
    """Reduce bags of rows of a table to their means, sums or largest elements.

    Parameters
    ----------
    index : array_like or Var
        ``(bags, length)``, ints from 0 on: one row for each bag; or ``(n,)``, with ``offsets``.
    weight : array_like or Var
        The table, ``(rows, width)``.
    mode : {"mean", "sum", "max"}
        How the rows of a bag are combined. Several equal largest elements share the derivative.
    per_sample_weights : array_like or Var, optional
        Of the shape of ``index``, what rows are multiplied by before they are added; for ``mode="sum"``.
    padding_idx : int, optional
        A row that is left out of the bags; one of nothing else becomes zeros.
    offsets : array_like or Var, optional
        Where each bag starts in an index ``(n,)``: ints ``(bags,)``, the first of them 0, none less than the
        one before. They may change on replay. For sums and means; a bag of no rows becomes zeros.
    include_last_offset : bool
        Whether the last offset is the end of the last bag, as in compressed sparse rows.

    Returns
    -------
    numpy.ndarray or Var
        ``(bags, width)``.

    Raises
    ------
    ShapeError
        If index and table have not two axes each, or the weights not the shape of the index.
    OptionError
        If ``mode`` is another one, there are weights for a mean or maximum, or no row ``padding_idx``.
    OutOfBoundsError, DTypeError
        Like `embedding`; or if the offsets are not in order, or outside of the index.

    Examples
    --------
    >>> import numpy as np, tape
    >>> table = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> tape.nn.embedding_bag([[0, 1], [1, 1]], table)
    array([[2., 3.],
           [3., 4.]])
    >>> tape.nn.embedding_bag([0, 1, 1], table, offsets=[0, 2])
    array([[2., 3.],
           [3., 4.]])
    """
    if mode not in ("mean", "sum", "max"):
        raise OptionError(f"embedding_bag: mode={mode!r}. It must be 'mean', 'sum' or 'max'")
    index, weight, padding = _checked("embedding_bag", index, weight, padding_idx)
    shape = np.shape(index)
    if len(shape) != (2 if offsets is None else 1):
        raise ShapeError(
            f"embedding_bag: the index has shape {list(shape)}. It must be (bags, length), or (n,) with "
            "offsets"
        )
    if per_sample_weights is not None:
        if mode != "sum":
            raise OptionError(f"embedding_bag: per_sample_weights are for mode='sum', not {mode!r}")
        if np.shape(per_sample_weights) != shape:
            raise ShapeError(
                f"embedding_bag: per_sample_weights {list(np.shape(per_sample_weights))} for an index "
                f"{list(shape)}. Their shapes must be equal"
            )
    rows = _embedding(weight, index, padding=padding)
    counts = None if padding is None else expand_dims(index != padding, -1)
    if mode == "max" and offsets is None:
        return _largest(rows, counts, shape[1])
    if per_sample_weights is not None:
        rows = rows * expand_dims(as_operand(per_sample_weights), -1)
    if offsets is not None:
        return _of_segments(rows, counts, _bags(offsets, shape[0], include_last_offset), mode)
    summed = total(rows if counts is None else where(counts, rows, 0), axis=1)
    if mode == "sum":
        return summed
    if counts is None:
        return summed * (1 / max(shape[1], 1))
    return summed / astype(maximum(total(counts, axis=1), 1), rows.dtype)


def _largest(rows: Any, counts: Any, length: int) -> Any:
    """Return the largest elements that count in bags; 0 where none does."""
    if not length:
        return total(rows, axis=1)
    if counts is None:
        return largest(rows, axis=1)
    found = largest(where(counts, rows, -np.inf), axis=1)
    return where(total(counts, axis=1) == 0, 0, found)


def _bags(offsets: Any, length: int, include_last_offset: bool) -> tuple[Any, int]:
    """Return the bag that each row of an index belongs to, and how many bags there are."""
    offsets = as_operand(offsets)
    offsets = offsets if hasattr(offsets, "dtype") else np.asarray(offsets)
    if offsets.dtype.kind not in "iu":
        raise DTypeError(f"embedding_bag: offsets is {describe(offsets)}. It must hold ints")
    if len(offsets.shape) != 1 or not offsets.shape[0]:
        raise ShapeError(f"embedding_bag: offsets has shape {list(offsets.shape)}. It must be (bags,)")
    known = traced(offsets)
    ends_well = not include_last_offset or np.all(known[-1] == length)
    goes_up = not np.any(known[1:] < known[:-1]) and not np.any(known > length)
    if np.any(known[0] != 0) or not goes_up or not ends_well:
        raise OutOfBoundsError(
            f"embedding_bag: offsets is {plain(offsets)}, for {length} rows. It must start with 0, and never "
            f"go down{f', and end with {length}' if include_last_offset else ''}"
        )
    count = offsets.shape[0] - bool(include_last_offset)
    starts = offsets[:count] if include_last_offset else offsets
    return searchsorted(starts, np.arange(length), side="right") - 1, count


def _of_segments(rows: Any, counts: Any, bags: tuple[Any, int], mode: str) -> Any:
    """Return sums or means of rows that belong to the same bag."""
    if mode == "max":
        raise OptionError("embedding_bag: mode='max' takes no offsets. Pad the bags, with a padding_idx")
    bag, number = bags
    kept = rows if counts is None else where(counts, rows, 0)
    summed = scatter(kept, bag, index=(HOLE,), shape=(number, kept.shape[1]))
    if mode == "sum":
        return summed
    ones = np.ones((rows.shape[0], 1), rows.dtype) if counts is None else astype(counts, rows.dtype)
    return summed / maximum(scatter(ones, bag, index=(HOLE,), shape=(number, 1)), 1)
