"""How to put back what an object or a collection holds, for functions that have to run again.

Of collections the methods of Python's own classes are called, not those of the user's that derive from them.
"""

from __future__ import annotations

import decimal
import mmap
import types
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable, MutableMapping
from itertools import islice
from queue import Empty
from typing import Any

import numpy as np

from tape.program.calls.objects import known_of

__all__ = ["undo_of"]

Undo = Callable[[], None]

_MOST_BYTES = 2**16
"""Of memory that is put back."""
_MOST_ELEMENTS = 256
"""Elements of XML that are."""


def undo_of(value: Any) -> Undo | None:
    """Return a function that lets an object, a collection or memory hold what it holds now.

    None where there is nothing to put back, or no way to: nobody can take back what a hash has read.

    Examples
    --------
    >>> from tape.program.calls.undoing import undo_of
    >>> losses = [1.0]
    >>> undo = undo_of(losses)
    >>> losses.append(2.0)
    >>> undo()
    >>> losses
    [1.0]
    """
    kind: Any = type(value)
    find = known_of(kind, _OF_LIBRARIES) or next(
        (_UNDOS[base] for base in kind.__mro__ if base in _UNDOS), None
    )
    return None if find is None else find(value)


def _of_dict(value: dict[Any, Any]) -> Undo:
    base: Any = (
        OrderedDict if isinstance(value, OrderedDict) else dict
    )  # whose order the other one would lose
    held = [*base.items(value)]

    def undo() -> None:
        keys = dict(held)
        for key in [key for key in base.keys(value) if key not in keys]:
            base.__delitem__(value, key)
        if [*base.keys(value)] != [*keys]:  # else it may be the attributes of what other threads use
            base.clear(value)
        base.update(value, held)

    return undo


def _of_environment(value: MutableMapping[Any, Any]) -> Undo:
    held = dict(value)

    def undo() -> None:
        now = dict(value)
        for name in now.keys() - held.keys():
            del value[name]
        value.update(held.items() - now.items())

    return undo


def _refilled(base: Any, add: Callable[[Any, Any], None]) -> Callable[[Any], Undo]:
    """Return what `undo_of` does for a class of collections without keys, and those that derive from it."""

    def undo_of(value: Any) -> Undo:
        held = [*base.__iter__(value)]

        def undo() -> None:
            base.clear(value)
            add(value, held)

        return undo

    return undo_of


def _of_bytes(value: Any) -> Undo:
    held = value[:]

    def undo() -> None:
        value[:] = held

    return undo


def _of_array(value: np.ndarray) -> Undo | None:
    if value.nbytes > _MOST_BYTES or not value.flags.writeable:
        return None
    held = value.copy()

    def undo() -> None:
        if value.tobytes() != held.tobytes():
            value[...] = held

    return undo


def _of_memory(value: memoryview) -> Undo | None:
    if value.nbytes > _MOST_BYTES or value.readonly:
        return None
    held = value.tobytes()

    def undo() -> None:
        value.cast("B")[:] = held

    return undo


def _of_mapped(value: mmap.mmap) -> Undo | None:
    held = value[:] if len(value) <= _MOST_BYTES else b""

    def undo() -> None:
        if value[: len(held)] != held:  # it may be read-only
            value[: len(held)] = held

    return undo


def _of_slots(value: Any) -> Undo:
    """Return what puts back attributes that the class of an object defines in C."""
    parts = [
        part
        for base in type(value).__mro__
        for name, part in vars(base).items()
        if isinstance(part, (types.GetSetDescriptorType, types.MemberDescriptorType)) and name[:2] != "__"
    ]
    held = []
    for part in parts:
        try:
            held.append((part, part.__get__(value)))
        except AttributeError:  # it is not set
            continue

    def undo() -> None:
        for part, before in held:
            if part.__get__(value) is not before:
                part.__set__(value, before)

    return undo


def _of_element(value: Any) -> Undo:
    held = [
        (one, one.text, one.tail, one.attrib, dict(one.attrib), [*one])
        for one in islice(value.iter(), _MOST_ELEMENTS)
    ]

    def undo() -> None:
        for one, text, tail, attrib, items, children in held:
            one.text, one.tail, one.attrib = text, tail, attrib
            attrib.clear()
            attrib.update(items)
            one[:] = children

    return undo


def _of_mock(value: Any) -> Undo:
    own = object.__getattribute__(value, "__dict__")
    names = ("_mock_return_value", "_mock_side_effect")
    held = {name: own[name] for name in names if name in own}
    children = [_of_mock(child) for child in own.get("_mock_children", {}).values()]

    def undo() -> None:
        own.update(held)
        for child in children:
            child()

    return undo


def _of_lock(value: Any) -> Undo:
    was_locked = value.locked()

    def undo() -> None:
        if value.locked() and not was_locked:
            value.release()
        elif was_locked:
            value.acquire(False)

    return undo


def _of_event(value: Any) -> Undo:
    return value.set if value.is_set() else value.clear


def _of_semaphore(value: Any) -> Undo:
    before = value._value

    def undo() -> None:
        while value._value > before and value.acquire(blocking=False):
            pass
        if value._value < before:
            value.release(before - value._value)

    return undo


def _of_queue(value: Any) -> Undo:
    before = value.qsize()

    def undo() -> None:
        try:
            items = [value.get_nowait() for _ in range(value.qsize())]
        except Empty:  # another thread has taken one
            return
        for item in items[:before]:
            value.put(item)

    return undo


_UNDOS: dict[type, Callable[[Any], Undo | None]] = {
    dict: _of_dict,
    list: _refilled(list, list.extend),
    deque: _refilled(deque, deque.extend),
    set: _refilled(set, set.update),
    bytearray: _of_bytes,
    array: _of_bytes,
    np.ndarray: _of_array,
    memoryview: _of_memory,
    mmap.mmap: _of_mapped,
    BaseException: _of_slots,
    decimal.Context: _of_slots,
}
_OF_LIBRARIES: dict[str, Callable[[Any], Undo | None]] = {
    "os._Environ": _of_environment,
    "xml.etree.ElementTree.Element": _of_element,
    "unittest.mock.NonCallableMock": _of_mock,
    "_thread.lock": _of_lock,
    "threading.Semaphore": _of_semaphore,
    "threading.Event": _of_event,
    "multiprocessing.synchronize.Event": _of_event,
    "_queue.SimpleQueue": _of_queue,
}
