"""Which handles share memory, as the arrays they stand for would in NumPy.

Nothing on a tape is ever written to: to write to a handle is to let it stand for a new node. NumPy would
show that to all views of the array and to whatever it is a view of, so a view knows its `Share`: where it
lies in the memory of the family, and which handle it was taken from. Those it was taken from move on
with it; views of the elements that were written become stale, and say so when they are used.
`tape.inplace.writing` does the writing.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, NoReturn
from weakref import ref

import numpy as np
from numpy.lib.array_utils import byte_bounds

from tape import errors
from tape.core.node import Handle, Node, plain

__all__ = [
    "Family",
    "Share",
    "Stale",
    "are_related",
    "is_array",
    "memory_of",
    "overlapping",
    "read_only",
    "share",
]

_new: Callable[[type], Any] = object.__new__  # half the time of a call that runs a Python __init__

_WORK = 1 << 10
"""How hard to look for an element that two views have in common."""


class Family:
    """The views of one array: weakly, as nobody needs a view that is gone.

    The array itself is not among them: whatever is written to, it takes part.
    """

    __slots__ = ("_limit", "_members")

    def __init__(self) -> None:
        self._members: list[ref[Handle]] = []
        self._limit = 32

    def add(self, handle: Handle) -> None:
        """Take in another handle; now and then those that are gone are dropped."""
        if len(self._members) >= self._limit:
            self._members = [member for member in self._members if member() is not None]
            self._limit = 2 * len(self._members) + 32
        self._members.append(ref(handle))

    def written(self, memory: np.ndarray, writers: Container[int]) -> None:
        """Make handles stale that show memory which was written to through others, of these ids."""
        start, stop = byte_bounds(memory)
        kept = []
        for member in self._members:
            handle = member()
            if handle is None:
                continue
            share: Any = handle.share
            low, high = share.bounds
            if low < stop and start < high and id(handle) not in writers and overlapping(share.where, memory):
                handle.node = Stale(handle.node)
            else:
                kept.append(member)
        self._members = kept


class Share:
    """Where a handle lies in the memory of its family.

    Attributes
    ----------
    where : numpy.ndarray
        The memory, as NumPy's arrays would have it. What it holds is of no interest.
    source : Handle or None
        What it is a view of.
    made : Node or None
        The node that made the view.
    family : Family
    """

    __slots__ = ("_bounds", "family", "made", "source", "where")

    def __init__(self, where: np.ndarray, source: Handle | None, made: Node | None, family: Family) -> None:
        self._bounds: tuple[int, int] | None = None
        self.where = where
        self.source = source
        self.made = made
        self.family = family

    @property
    def bounds(self) -> tuple[int, int]:
        """The first byte of the memory, and the first one behind it."""
        if self._bounds is None:
            self._bounds = byte_bounds(self.where)
        return self._bounds


class Stale(Node):
    """Stands in a handle for a node that it no longer shows: everything asked of it raises."""

    __slots__ = ("_described",)

    def __init__(self, node: Node) -> None:
        self._described = errors.describe(plain(node.value))

    def __repr__(self) -> str:
        return f"<{self._described}, since written to through another>"

    def _refuse(self) -> NoReturn:
        raise errors.InPlaceError(
            f"a Var that is a view, {self._described}, was used after another one had been written to that "
            "shares memory with it: in NumPy it would have changed. Take the view again after writing, or "
            "make it a copy() before"
        )

    @property
    def value(self) -> NoReturn:
        """Refused."""
        self._refuse()

    @property
    def call(self) -> NoReturn:  # type: ignore[override]
        """Refused."""
        self._refuse()

    @property
    def inputs(self) -> NoReturn:  # type: ignore[override]
        """Refused."""
        self._refuse()


def is_array(handle: Handle) -> bool:
    """Whether a handle stands for what can be written to: numbers of NumPy's and Python's cannot."""
    return isinstance(plain(handle.node.value), np.ndarray)


def share(view: Handle, viewed: Handle) -> None:
    """Note that a handle is a view of another one, if the values share memory.

    Parameters
    ----------
    view : Handle
        Just made, by an operation whose first operand is ``viewed``.
    viewed : Handle
        Of the same trace.
    """
    memory, whole = view.node.value, viewed.node.value
    if type(memory) is not np.ndarray or type(whole) is not np.ndarray:
        memory, whole = plain(memory), plain(whole)
        if not isinstance(memory, np.ndarray) or not isinstance(whole, np.ndarray):
            return
    known = viewed.share
    where = whole if known is None else known.where
    if where is not whole:  # it was written to since: what NumPy would take the view of lies elsewhere
        node = view.node
        memory = node.op.forward(where, *map(plain, node.operands[1:]), **node.attrs)  # type: ignore[union-attr]
        if not isinstance(memory, np.ndarray):
            return
    base = memory.base  # nearly always the owner
    if base is not where and (base is None or base is not where.base) and _owner(memory) is not _owner(where):
        return
    if known is None:
        known = viewed.share = Share(where, None, None, Family())
    family = known.family
    part = view.share = _new(Share)
    part._bounds = None
    part.where = memory
    part.source = viewed
    part.made = view.node
    part.family = family
    family.add(view)


def read_only(x: Any, part: Any, *operands: Any, **attrs: Any) -> NoReturn:
    """The ``view`` of an operation whose result cannot be written to in NumPy, or not on a tape."""
    raise errors.InPlaceError(
        f"a view, {errors.describe(part)}, was written to that repeats or picks out elements of another "
        "array. Write to a copy() of it, or to that array at an index"
    )


def memory_of(handle: Handle) -> np.ndarray:
    """What NumPy's array would be like in memory: its strides, and what it shares with others."""
    return plain(handle.node.value) if handle.share is None else handle.share.where


def are_related(x: Any, y: Any) -> bool:
    """Whether a write to one of two arrays or handles shows in the other, as NumPy has it."""
    if isinstance(x, Handle) and isinstance(y, Handle):
        if x is not y and (x.share is None or y.share is None or x.share.family is not y.share.family):
            return False
        return overlapping(memory_of(x), memory_of(y))
    return overlapping(plain(x), plain(y))


def overlapping(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether two arrays have an element in common; also where that takes too long to find out."""
    try:
        return np.shares_memory(x, y, max_work=_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _owner(array: np.ndarray) -> np.ndarray:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
