"""In-place writes: the handle moves to a new node, and the old value stays for the backward pass.

A write has the same effect on other handles as in NumPy: a write to a view moves the handle it is a view of,
and other views of the written elements become stale (see `tape.inplace.aliases`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tape import errors, ops
from tape.core.dispatch import interceptor
from tape.core.interpreter import OPEN
from tape.core.node import Handle, plain
from tape.core.operands import FAST, other_operand
from tape.inplace.aliases import (
    Family,
    Share,
    Stale,
    is_array,
    layout_matters,
    memory_of,
    moving_links,
    settle,
    share_of,
)
from tape.ops.structure.indexing import getitem, getitem_op, parsed
from tape.ops.structure.layout import laid_out, own, slowest_first
from tape.ops.structure.shape import broadcasts
from tape.ops.structure.writing import add_at, set_at


def write(x: Any, index: Any, value: Any) -> None:
    """Record ``x[index] = value``.

    Parameters
    ----------
    x : Var
        The handle; afterwards it is that of the new array.
    index
        Any index that NumPy accepts.
    value : array_like or Var
        The value, broadcast and converted as in NumPy.

    Raises
    ------
    InPlaceError
        If ``x`` is a scalar, or a read-only view, or ``value`` belongs to a deeper trace.
    ShapeError, OutOfBoundsError
        If the value or the index does not fit.
    """
    with writing(x):
        region: np.ndarray | None = None
        if x.is_batch and x.holds(index, value):
            return
        if x.share is not None:
            region = _named(x.share.where, index)
            if region is not None and _is_there(value, region, x):
                return  # in x[i] += v the addition has written the view already
        _move(x, set_at(x, value, index), region)


def overwrite(x: Any, new: Any, casting: Any = "same_kind", *, repeats: bool = False) -> None:
    """Record a write to all elements of an array, as ``out=`` does.

    Parameters
    ----------
    x : Var
        The handle; afterwards it is that of the new array.
    new : Var, array or number
        The new elements, of the shape of ``x``, or with ``repeats`` of one that broadcasts to it.
    casting : str
        The conversions to the dtype of ``x`` that are allowed, by NumPy's rule of that name.
    repeats : bool
        Whether ``new`` may be smaller than ``x``.

    Raises
    ------
    InPlaceError
        As for `write`.
    ShapeError, DTypeError
        If the shape does not fit, or the dtype cannot be converted.
    """
    with writing(x):
        check_fits(x, new, casting, repeats=repeats)
        if not isinstance(new, Handle) or new.trace_ref is not x.trace_ref:
            new = set_at(x, new, ...)
        elif (new.dtype, new.shape) != (x.dtype, x.shape):  # type: ignore[attr-defined]
            new = ops.broadcast_to(ops.astype(new, x.dtype), x.shape)
        _move(x, new)


def check_fits(x: Any, new: Any, casting: Any = "same_kind", *, repeats: bool = False) -> None:
    """Check that an array can be written over another one; arguments and errors as for `overwrite`."""
    shape = np.shape(new)
    if shape != x.shape and not (repeats and broadcasts(shape, x.shape)):
        raise errors.ShapeError(
            f"an array of shape {list(shape)} was to be written over one of shape {list(x.shape)}, which "
            "keeps its shape. Write x = x + y for x += y if x is to grow"
        )
    dtype = np.result_type(new)
    if not np.can_cast(dtype, x.dtype, casting):
        raise errors.DTypeError(
            f"{dtype} was to be written over {x.dtype}, which keeps its dtype ({casting} casting). Convert "
            f"with astype({str(x.dtype)!r}), or write x = x + y for x += y"
        )


def augmented(
    op: Callable[[Any, Any], Any], added: Callable[[Any], Any] | None = None
) -> Callable[[Any, Any], Any]:
    """Return the method for ``x += y`` or another augmented assignment.

    Parameters
    ----------
    op : callable
        The operation without the ``=``.
    added : callable, optional
        A function of ``y`` that returns what is added to floats, if the operation is an addition.

    Returns
    -------
    callable
        The method.
    """

    def method(self: Any, other: Any) -> Any:
        if not is_array(self):
            return NotImplemented  # scalars are immutable: Python binds the name to the sum
        kind, stands_for = type(other), None
        if kind not in FAST and kind is not np.ndarray:
            stands_for = getattr(kind, "__tape_operand__", None)  # a number that is recorded as a Var
        other = other_operand(other) if stands_for is None else stands_for(other, self)
        if other is NotImplemented:
            return other
        with writing(self):
            if added is not None and _is_slice(self) and np.result_type(plain(other)).kind in "fc":
                _add_to_slice(self, added(other))
            else:
                overwrite(self, op(self, other))
        return self

    return method


@contextmanager
def writing(x: Any) -> Iterator[None]:
    """Check that a handle can be written to; if the write fails, undo what was recorded for it."""
    trace = x.trace
    if not is_array(x):
        raise errors.InPlaceError(
            f"{x!r} is a number, which cannot be written to, as in NumPy. Assign a new value: x = ..."
        )
    if OPEN and (over := interceptor(trace.level, of_batches=x.is_batch)) is not None:
        over.check_write(x)
    if x.is_batch:
        yield
        return
    layout_matters()
    if trace.views:
        settle(trace)
    nodes = trace.nodes
    count = len(nodes)
    try:
        yield
    except BaseException:
        del nodes[count:]
        raise


def _named(memory: np.ndarray, index: Any) -> np.ndarray | None:
    """Return the view of some memory at an index; None if that is not a view."""
    static, arrays = parsed(index)
    if arrays or any(isinstance(part, (bool, np.bool_)) for part in static):
        return None
    try:
        return memory[static if any(part is ... for part in static) else (*static, ...)]
    except IndexError:
        return None  # the write raises with the reason


def _is_slice(x: Any) -> bool:
    """Return whether a handle is the float view ``source[index]``."""
    share = x.share
    if x.dtype.kind not in "fc" or share is None or share.made is None or share.made.op is not getitem_op:
        return False
    return len(share.made.operands) == 1 and not isinstance(share.source.node, Stale)


def _add_to_slice(x: Any, value: Any) -> None:
    """Add to the slice ``x`` of its source, without touching other elements and their adjoints."""
    shape = np.shape(value)
    if not broadcasts(shape, x.shape):
        raise errors.ShapeError(
            f"an array of shape {list(shape)} was to be added to one of shape {list(x.shape)} in place"
        )
    index = x.share.made.attrs["index"]
    whole = add_at(x.share.source, value, index)
    _move(x, getitem(whole, index), whole=whole)


def _is_there(value: Any, region: np.ndarray, x: Any) -> bool:
    """Return whether a value is a view of exactly a region of the memory of a handle, whatever the data."""
    share = share_of(value) if isinstance(value, Handle) else None
    if share is None or share.family is not x.share.family or moving_links(share) != moving_links(x.share):
        return False
    where = share.where
    return (
        where.__array_interface__["data"] == region.__array_interface__["data"]
        and (where.shape, where.strides, where.dtype) == (region.shape, region.strides, region.dtype)
        and not isinstance(value.node, Stale)
    )


def _move(x: Any, new: Any, region: np.ndarray | None = None, whole: Any = None) -> None:
    """Move a handle to a new node, with the effects on other handles as in NumPy.

    On failure nothing changes. ``region`` is the memory that is written, by default all of it; ``whole`` is
    the new value of the source of ``x``, if it is known.
    """
    if not isinstance(new, Handle) or new.trace_ref is not x.trace_ref:
        raise errors.InPlaceError(
            f"{x!r} was to be written to inside of a function that is differentiated or run again on its "
            "own, where it, or what it is a copy of, comes from outside. Write to np.array(a, like=x), which "
            "is a copy of it beside the x that is differentiated, or put the new array together with "
            "np.where, np.stack or np.concatenate"
        )
    if x.is_batch:
        x.write(new)
        return
    new = _laid_out_as(x, new)
    share = x.share
    if share is None:
        x.id, x.node = new.id, new.node
        return
    written = share.where if region is None else region
    moves = {id(x): (x, new)}
    while share.source is not None:
        source = share.source
        if whole is None:
            whole = _with_part(source, share, new)
        new, whole = _laid_out_as(source, whole), None
        moves[id(source)] = (source, new)
        share = source.share
    for handle, new in moves.values():
        if isinstance(handle.node, Stale):
            share.family.add(handle)  # its content is up to date again
        handle.id, handle.node = new.id, new.node
    share.family.written(written, x.share, moves)


def _with_part(source: Any, share: Any, part: Any) -> Any:
    """Return the new value of an array after a write to a view of it."""
    if isinstance(source.node, Stale):
        source = _taken_again(source)
    return share.made.op.view(source, part, *_other_operands(share, source), **share.made.attrs)


def _taken_again(view: Any) -> Any:
    """Return the same view of the present value of its source."""
    share = view.share
    source = _taken_again(share.source) if isinstance(share.source.node, Stale) else share.source
    return share.made.op(source, *_other_operands(share, source), **share.made.attrs)


def _other_operands(share: Any, source: Any) -> list[Any]:
    """Return the operands of a view except its source, as recorded values that a replay recomputes."""
    node = share.made
    pairs = zip(node.parents[1:], node.operands[1:], strict=True)
    return [value if id is None else source.trace[id] for id, value in pairs]


def _laid_out_as(x: Any, new: Any) -> Any:
    """Return a new value with the memory layout of the old one, which determines its views."""
    memory = memory_of(x)
    axes = slowest_first(memory)
    if x.share is None and not memory.transpose(axes).flags.c_contiguous:  # gaps are kept
        x.share = Share(memory, None, None, Family())
    if not new.ndim:  # NumPy returns scalars from arithmetic of arrays without axes
        return laid_out(new, order="C")
    return own(new, axes)
