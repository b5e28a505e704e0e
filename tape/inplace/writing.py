"""Writing in place: the handle moves on to a new node, and the old value stays for the backward pass.

What NumPy would show of a write elsewhere is shown here too: a view takes what it is a view of along, and
other views of the elements that were written become stale (see `tape.inplace.aliases`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tape import errors, ops
from tape.core.node import Handle, plain
from tape.core.operands import other_operand
from tape.inplace.aliases import Family, Share, Stale, is_array, memory_of
from tape.ops.structure.indexing import getitem, getitem_op, parsed
from tape.ops.structure.layout import laid_out, own, slowest_first
from tape.ops.structure.shape import broadcasts
from tape.ops.structure.writing import add_at, set_at

__all__ = ["augmented", "check_fits", "overwrite", "write", "writing"]


def write(x: Any, index: Any, value: Any) -> None:
    """``x[index] = value``.

    Parameters
    ----------
    x : Var
        Afterwards it stands for the new array.
    index
        What NumPy takes as one.
    value : array_like or Var
        Broadcast and converted as NumPy does it.

    Raises
    ------
    InPlaceError
        If ``x`` is a number, or a view that cannot be written to, or ``value`` belongs to a deeper trace.
    ShapeError, OutOfBoundsError
        If the value does not fit, or the index.
    """
    with writing(x):
        region: np.ndarray | None = None
        if x.share is not None:
            region = _named(x.share.where, index)
            if region is not None and _is_there(value, region, x.share.family):
                return  # of x[i] += v: adding to the view has written it already
        _move(x, set_at(x, value, index), region)


def overwrite(x: Any, new: Any, casting: Any = "same_kind", *, repeats: bool = False) -> None:
    """Write all elements of an array, as ``out=`` does.

    Parameters
    ----------
    x : Var
        Afterwards it stands for the new array.
    new : Var, array or number
        Of the shape of ``x``, or with ``repeats`` one that broadcasts to it.
    casting : str
        Which conversions to the dtype of ``x`` are allowed, in NumPy's words.
    repeats : bool
        Whether ``new`` may be smaller than ``x``.

    Raises
    ------
    InPlaceError
        As `write`.
    ShapeError, DTypeError
        If the elements do not fit, or cannot be converted.
    """
    with writing(x):
        check_fits(x, new, casting, repeats=repeats)
        if not isinstance(new, Handle) or new.trace_ref is not x.trace_ref:
            new = set_at(x, new, ...)
        elif (new.dtype, new.shape) != (x.dtype, x.shape):  # type: ignore[attr-defined]
            new = ops.broadcast_to(ops.astype(new, x.dtype), x.shape)
        _move(x, new)


def check_fits(x: Any, new: Any, casting: Any = "same_kind", *, repeats: bool = False) -> None:
    """See that an array can be written over another one; arguments and errors are those of `overwrite`."""
    shape = np.shape(new)
    if shape != x.shape and not (repeats and broadcasts(shape, x.shape)):
        raise errors.ShapeError(
            f"an array of shape {list(shape)} was to be written over one of shape {list(x.shape)}, which "
            "keeps its shape. Write x = x + y for x += y where x shall grow"
        )
    dtype = np.result_type(new) if not isinstance(new, Handle) else new.dtype  # type: ignore[attr-defined]
    if not np.can_cast(dtype, x.dtype, casting):
        raise errors.DTypeError(
            f"{dtype} was to be written over {x.dtype}, which keeps its dtype ({casting} casting). Convert "
            f"with astype({str(x.dtype)!r}), or write x = x + y for x += y"
        )


def augmented(
    op: Callable[[Any, Any], Any], added: Callable[[Any], Any] | None = None
) -> Callable[[Any, Any], Any]:
    """What ``x += y`` and its like do.

    Parameters
    ----------
    op : callable
        The operation without the ``=``.
    added : callable, optional
        Of ``y``: what is added to floats, if that is what the operation does to them.

    Returns
    -------
    callable
        The method.
    """

    def method(self: Any, other: Any) -> Any:
        if self.trace.is_batch or not is_array(self):
            return NotImplemented  # numbers are not changed: Python adds, and gives the sum the name
        other = other_operand(other)
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
    """See that a handle can be written to; if that fails on the way, take back what was recorded for it."""
    if x.trace.is_batch:
        raise errors.InPlaceError(f"{x!r} cannot be written to. Build the result with np.where or np.stack")
    if not is_array(x):
        raise errors.InPlaceError(
            f"{x!r} is a number, and NumPy's cannot be written to either. Give it a new value: x = ..."
        )
    nodes = x.trace.nodes
    count = len(nodes)
    try:
        yield
    except BaseException:
        del nodes[count:]
        raise


def _named(memory: np.ndarray, index: Any) -> np.ndarray | None:
    """What an index names of some memory; None where that is no view."""
    static, arrays = parsed(index)
    if arrays or any(isinstance(part, (bool, np.bool_)) for part in static):
        return None
    try:
        return memory[static if any(part is ... for part in static) else (*static, ...)]
    except IndexError:
        return None  # writing there says why


def _is_slice(x: Any) -> bool:
    """Whether a handle stands for the floats at ``source[index]``."""
    share = x.share
    if x.dtype.kind not in "fc" or share is None or share.made is None or share.made.op is not getitem_op:
        return False
    return len(share.made.operands) == 1 and not isinstance(share.source.node, Stale)


def _add_to_slice(x: Any, value: Any) -> None:
    """Add to elements of what ``x`` is a slice of: the others are not touched, nor their adjoints."""
    shape = np.shape(value)
    if not broadcasts(shape, x.shape):
        raise errors.ShapeError(
            f"an array of shape {list(shape)} was to be added to one of shape {list(x.shape)} in place"
        )
    index = x.share.made.attrs["index"]
    whole = add_at(x.share.source, value, index)
    _move(x, getitem(whole, index), whole=whole)


def _is_there(value: Any, region: np.ndarray, family: Family) -> bool:
    """Whether a view lies exactly at a region of its family's memory."""
    if not isinstance(value, Handle) or value.share is None or value.share.family is not family:
        return False
    where = value.share.where
    return (
        where.__array_interface__["data"] == region.__array_interface__["data"]
        and (where.shape, where.strides, where.dtype) == (region.shape, region.strides, region.dtype)
        and not isinstance(value.node, Stale)
    )


def _move(x: Any, new: Any, region: np.ndarray | None = None, whole: Any = None) -> None:
    """Let a handle stand for a new node, with all that NumPy would show of it elsewhere.

    Nothing has changed if that fails. ``region`` is the memory that is written, by default all of it;
    ``whole`` what the source of ``x`` becomes, if that is known.
    """
    if not isinstance(new, Handle) or new.trace_ref is not x.trace_ref:
        raise errors.InPlaceError(
            f"{x!r} was to be written to inside of a function that is differentiated or run again on its "
            "own, where it comes from outside. Write to a copy() of it there"
        )
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
            share.family.add(handle)  # it shows what is there again
        handle.id, handle.node = new.id, new.node
    share.family.written(written, moves)


def _with_part(source: Any, share: Any, part: Any) -> Any:
    """What an array becomes of which a view is written to."""
    if isinstance(source.node, Stale):
        source = _taken_again(source)
    return share.made.op.view(source, part, *_others(share, source), **share.made.attrs)


def _taken_again(view: Any) -> Any:
    """A view of what its source is now."""
    share = view.share
    source = _taken_again(share.source) if isinstance(share.source.node, Stale) else share.source
    return share.made.op(source, *_others(share, source), **share.made.attrs)


def _others(share: Any, source: Any) -> list[Any]:
    """The operands of a view but for what it is taken of, as they may come out in another replay."""
    node = share.made
    pairs = zip(node.parents[1:], node.operands[1:], strict=True)
    return [value if id is None else source.trace[id] for id, value in pairs]


def _laid_out_as(x: Any, new: Any) -> Any:
    """A new value as an array that lies in memory as the old one: what is a view of it depends on that."""
    memory = memory_of(x)
    axes = slowest_first(memory)
    if x.share is None and not memory.transpose(axes).flags.c_contiguous:  # what has gaps keeps them
        x.share = Share(memory, None, None, Family())
    if not new.ndim:  # of arithmetic of arrays without axes, NumPy makes numbers
        return laid_out(new, order="C")
    return own(new, axes)
