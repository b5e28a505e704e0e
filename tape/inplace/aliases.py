"""Aliases: the handles that share memory, as their arrays would in NumPy.

Values on a tape are never written to: a write to a handle moves it to a new node. In NumPy a write shows in
all views of the array and in its base, so a view has a `Share`: its place in the memory of the family, and
the handle it is a view of. A write through a view moves these handles too; other views of the written
elements become stale, and raise when they are used. The writing is in `tape.inplace.writing`.

Few views are ever written to. While a tape is recorded, it only notes a result that may be a view, and what
of (`note_view`); the `Share` is made when somebody asks for it (`share_of`), or writes to any handle of the
tape (`settle`).
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import ref

import numpy as np
from numpy.lib.array_utils import byte_bounds

from tape import errors
from tape.core.dispatch import recorder
from tape.core.interpreter import OPEN
from tape.core.node import Handle, Node, plain

if TYPE_CHECKING:
    from tape.core.recording import Recording

Link = tuple[Node, "Recording"]
_new: Callable[[type], Any] = object.__new__  # half the time of a call that runs a Python __init__

_WORK = 1 << 10
"""The effort limit for finding an element that two views have in common."""

_MOST = 256
"""Views of a tape that are noted and not settled; those that nobody holds any more are forgotten then."""


class Family:
    """The views of one array, by weak references.

    The array itself is not included, as every write affects it.
    """

    __slots__ = ("limit", "members")

    def __init__(self) -> None:
        self.members: list[ref[Handle]] = []
        self.limit = 32

    def add(self, handle: Handle) -> None:
        """Add a handle; from time to time, dead references are dropped."""
        if len(self.members) >= self.limit:
            self.members = [member for member in self.members if member() is not None]
            self.limit = 2 * len(self.members) + 32
        self.members.append(ref(handle))

    def written(self, memory: np.ndarray, share: Share, writers: Container[int]) -> None:
        """Make those handles stale that show written memory, except the ones with these ids.

        ``share`` is the place that is written, or that of which it is a part. In a program, handles become
        undecided that show it in other calls, depending on data.
        """
        start, stop = byte_bounds(memory)
        moving = moving_links(share) if OPEN and recorder() is not None else None
        kept = []
        for member in self.members:
            handle = member()
            if handle is None:
                continue
            other: Any = handle.share
            low, high = other.bounds
            is_other = id(handle) not in writers
            if low < stop and start < high and is_other and overlapping(other.where, memory):
                handle.node = Stale(handle.node)
                continue
            kept.append(member)
            if is_other and moving is not None and (links := moving_links(other)) != moving:
                handle.node = Undecided(handle, [*links, *moving])
        self.members = kept


class Share:
    """The place of a handle in the memory of its family.

    Attributes
    ----------
    where : numpy.ndarray
        The memory, laid out as NumPy would. Its content is not used.
    source : Handle or None
        The handle it is a view of.
    made : Node or None
        The node that computed the view.
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
        """The addresses of the first byte of the memory, and of the one after its last."""
        if self._bounds is None:
            self._bounds = byte_bounds(self.where)
        return self._bounds


class Stale(Node):
    """Replaces the node of a stale handle; every access raises."""

    __slots__ = ("_described",)

    def __init__(self, node: Node) -> None:
        node = node.decided if isinstance(node, Undecided) else node
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
        """Raise, as for all access."""
        self._refuse()

    @property
    def call(self) -> NoReturn:  # type: ignore[override]
        """Raise, as for all access."""
        self._refuse()

    @property
    def inputs(self) -> NoReturn:  # type: ignore[override]
        """Raise, as for all access."""
        self._refuse()


class Undecided(Node):
    """Replaces the node of a view that is stale in other calls of a program, depending on data in indices.

    Access reads these numbers, which makes guards of them, and restores the node.
    """

    __slots__ = ("_handle", "_links", "decided")

    _links: list[Link]
    decided: Node

    def __init__(self, handle: Handle, links: list[Link]) -> None:
        node = handle.node
        if isinstance(node, Undecided):
            links = [*node._links, *links]
            node = node.decided
        self._handle = ref(handle)
        self._links = links
        self.decided = node

    def _decide(self) -> Node:
        for node, trace in dict.fromkeys(self._links):
            _read_index(node, trace)
        self._links = []  # not before: where a number cannot be read, it stays undecided
        handle = self._handle()
        if handle is not None and handle.node is self:
            handle.node = self.decided
        return self.decided

    @property
    def value(self) -> Any:
        """That of the node."""
        return self._decide().value

    @property
    def call(self) -> Any:  # type: ignore[override]
        """That of the node."""
        return self._decide().call

    @property
    def inputs(self) -> Any:  # type: ignore[override]
        """Those of the node."""
        return self._decide().inputs


def is_array(handle: Any) -> bool:
    """Return whether a handle holds an array, which can be written to; scalars cannot."""
    return handle.is_array if handle.is_batch else isinstance(plain(handle.node.value), np.ndarray)


def note_view(trace: Recording, view: Handle, viewed: Handle) -> None:
    """Note that a handle may be a view of another one.

    Parameters
    ----------
    trace : Recording
        That of both.
    view : Handle
        The new handle, from an operation whose first operand is ``viewed``.
    viewed : Handle
        Another handle.
    """
    value = view.node.value
    if type(value) is np.ndarray:
        if value.base is None and viewed.share is None and value is not viewed.node.value:
            return  # it owns its memory
    elif not isinstance(value, Handle):
        return
    view.share = viewed
    views = trace.views
    views.append(ref(view))
    if len(views) > _MOST:
        settle(trace)


def settle(trace: Recording) -> None:
    """Find out what the noted views of a trace share, before a handle or a leaf gets another value."""
    views, trace.views = trace.views, []
    for view in views:
        handle = view()
        if handle is not None:
            share_of(handle)


def share_of(handle: Handle) -> Share | None:
    """Return the place of a handle in the memory of its family; None if nothing is known to share that."""
    viewed: Any = handle.share
    if viewed is None or type(viewed) is Share:
        return viewed
    noted = [handle]
    while isinstance(viewed.share, Handle):
        noted.append(viewed)
        viewed = viewed.share
    for view in reversed(noted):
        view.share = None
        _share(view, viewed)
        viewed = view
    return handle.share  # type: ignore[return-value]


def _share(view: Handle, viewed: Handle) -> None:
    """Register a handle as a view of another one, if their values share memory."""
    memory, whole = view.node.value, viewed.node.value
    if type(memory) is not np.ndarray or type(whole) is not np.ndarray:
        memory, whole = plain(memory), plain(whole)
        if not isinstance(memory, np.ndarray) or not isinstance(whole, np.ndarray):
            return
    known: Any = viewed.share
    where = whole if known is None else known.where
    if where is not whole:  # it was written to since: NumPy's view would be of other memory
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
    part.where, part.source, part.made, part.family = memory, viewed, view.node, family
    family.add(view)


def moving_links(share: Share | None) -> list[Link]:
    """Return the views between a place and its array whose index is data, with the trace of each.

    Where a view at such an index is differs from call to call. Two places with the same links are where they
    are to each other in every call.
    """
    links: list[Link] = []
    while share is not None and share.source is not None:
        node, source = share.made, share.source
        pairs = zip(node.parents[1:], node.operands[1:], strict=True)  # type: ignore[union-attr]
        if any(parent is not None or isinstance(operand, Handle) for parent, operand in pairs):
            links.append((node, source.trace))  # type: ignore[arg-type]
        share = source.share  # type: ignore[assignment]
    return links


def _read_index(node: Node, trace: Recording) -> None:
    """Read the numbers in the index of a view, which become guards of a program; a loop is unrolled."""
    for parent, operand in zip(node.parents[1:], node.operands[1:], strict=True):
        number: Any = operand if parent is None else trace[parent]  # type: ignore[index]
        while isinstance(number, Handle) and isinstance(number.node.value, Handle):
            number = number.node.value
        int(number)


def layout_matters() -> None:
    """Tell the program that is being recorded that it depends on how arrays lie in memory."""
    if OPEN and (program := recorder()) is not None:
        program.reads_layout = True


def read_only(x: Any, part: Any, *operands: Any, **attrs: Any) -> NoReturn:
    """Raise: the ``view`` rule of operations whose result is read-only, in NumPy or on a tape."""
    raise errors.InPlaceError(
        f"a view, {errors.describe(part)}, was written to that repeats or selects elements of another "
        "array. Write to a copy() of it, or to that array at an index"
    )


def memory_of(handle: Handle) -> np.ndarray:
    """Return an array with the memory layout of NumPy's: its strides, and the memory it shares."""
    share = share_of(handle)
    return plain(handle) if share is None else share.where


def are_related(x: Any, y: Any) -> bool:
    """Return whether a write to one of two arrays or handles would show in the other in NumPy."""
    if isinstance(x, Handle) and isinstance(y, Handle):
        shares = [share_of(x), share_of(y), share_of(x)]  # that of y may be the first one in the family of x
        families = [None if share is None else share.family for share in shares]
        if x is not y and (families[1] is None or families[1] is not families[2]):
            return False
        return overlapping(memory_of(x), memory_of(y))
    return overlapping(plain(x), plain(y))


def overlapping(x: np.ndarray, y: np.ndarray) -> bool:
    """Return whether two arrays have an element in common; also if that takes too long to determine."""
    try:
        return np.shares_memory(x, y, max_work=_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _owner(array: np.ndarray) -> np.ndarray:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
