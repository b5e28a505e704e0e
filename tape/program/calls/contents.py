"""What objects hold whose classes belong to libraries: the flag of an `Event`, the items of a `Queue`.

Their methods are not searched for names, or written in C. So all that they hold is compared in each call, as
far as it can be seen without running code of the user and without waiting for anything.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import functools
import mmap
import types
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from tape.conversion.foreign import module_of
from tape.program.calls.arrays import sampled
from tape.program.calls.bytecode import names_in
from tape.program.calls.libraries import (
    ASKED_FOR,
    BUSY,
    MIXED_IN,
    READERS,
    UNCHANGING,
    is_followed,
    is_noise,
    is_pythons,
    is_slot,
)
from tape.program.calls.objects import is_library, known_of, name_of
from tape.program.calls.statics import key_of

__all__ = ["Contents", "is_compared"]

_DEPTH = 4
"""How deep objects, and collections that they hold, are looked into."""
_MOST_ITEMS = 256
"""Number of attributes and items of one of them that are compared."""
_MOST_PARTS = 1024
"""Number of parts that are compared in all."""
_USUAL_PARTS = 256
"""Number of parts up to which one looks as deep as that into objects that are not Python's own."""
_SMALL = 2**16
"""Number of bytes of memory up to which all are compared; of more, a sample is."""


class Contents:
    """A look at what an object of a library holds.

    Parameters
    ----------
    value : Any
        The object.
    names : set of str
        Attributes that code reads, of whatever object: whether a lock is held is of interest only if it asks.

    Attributes
    ----------
    now : tuple
        What the object holds: equal to that of another look if that is the same. Empty if nothing is known.
    names : set of str
        As given.
    held : list
        The objects, collections and memory that hold it, among them the dicts of attributes.

    Examples
    --------
    >>> import threading
    >>> from tape.program.calls.contents import Contents
    >>> stop = threading.Event()
    >>> contents = Contents(stop, {"is_set"})
    >>> contents(stop) == contents.now
    True
    >>> stop.set()
    >>> contents(stop) == contents.now
    False
    """

    def __init__(self, value: Any, names: set[str]) -> None:
        self.names = names
        kind: Any = type(value)
        self._kind = kind
        asked_for, read = known_of(kind, ASKED_FOR) or (frozenset(), None)
        if read is None:
            self._add = _adder_of(kind)
        else:
            reader = known_of(kind, READERS) if names.isdisjoint(asked_for) else read
            self._add = _nothing if reader is None else _with(reader)
        if self._add is _itself or kind in _ADDERS:
            self._add = _nothing
        most = _MOST_PARTS if is_pythons(kind) else _USUAL_PARTS
        self._depth = _DEPTH
        while len((look := _Look(self._add, value, self._depth)).found) > most and self._depth > 1:
            self._depth -= 1
        self.held = look.kept
        self.now = tuple(look.found)

    def __call__(self, value: Any) -> tuple[Any, ...]:
        """Return what the object holds now."""
        return tuple(_Look(self._add, value, self._depth).found)

    def __repr__(self) -> str:
        return f"an object of {self._kind.__module__}.{self._kind.__qualname__}"


def is_compared(kind: Any) -> bool:
    """Return whether one looks into all objects of a class, as not into threads and locks."""
    return _adder_of(kind) not in (_itself, _nothing)


class _Look:
    """What is found in one look.

    Attributes
    ----------
    found : list
        Numbers, texts, types and ids.
    kept : list
        The objects with these ids, for no others to get them.
    seen : set of int
        The ids of objects and collections that have been looked into.
    depth : int
        How much deeper to look.
    """

    __slots__ = ("depth", "found", "kept", "seen")

    def __init__(self, add: _Adder, value: Any, depth: int) -> None:
        self.found: list[Any] = []
        self.kept: list[Any] = []
        self.seen: set[int] = set()
        self.depth = depth
        try:
            add(value, self)
        except Exception:  # of whatever kind code of the library raises
            self.found.append(None)

    def into(self, value: Any) -> bool:
        """Return whether to look into an object or a collection, and add its type."""
        self.kept.append(value)
        self.found.append(type(value))
        if id(value) in self.seen:
            return False
        if self.depth == 0 or len(self.found) > _MOST_PARTS:
            self.found.append(id(value))
            return False
        self.seen.add(id(value))
        return True

    def add(self, parts: Iterable[Any]) -> None:
        """Add what parts hold, one level deeper; nothing of those that raise, as a closed file does."""
        found = self.found
        self.depth -= 1
        depth = self.depth
        for part in parts:
            kind: Any = type(part)
            if kind in _PLAIN:
                found.append(part)
                continue
            try:
                _adder_of(kind)(part, self)
            except Exception:  # of whatever kind code of the library raises
                found.append(None)
                self.depth = depth
        self.depth += 1


_PLAIN = frozenset({type(None), int, str, bytes})
"""Types whose values equal no value of another one of them, nor of what is added otherwise."""
_Adder = Callable[[Any, _Look], None]


# ---- what parts are ----------------------------------------------------------------------------------------


def _nothing(value: Any, look: _Look) -> None:
    """Add nothing: what the object holds changes without a meaning for numbers."""


def _itself(value: Any, look: _Look) -> None:
    look.found.append(id(value))
    look.kept.append(value)


def _exact(value: Any, look: _Look) -> None:
    """Add a number by its bits, or another immutable value of a library, or memory."""
    look.found.append(key_of(value))


def _number(value: np.generic, look: _Look) -> None:
    look.found += (value.dtype, value.tobytes())


def _array(value: np.ndarray, look: _Look) -> None:
    _itself(value, look)
    look.found += (value.shape, value.dtype)
    if value.dtype.hasobject:
        look.add(value.reshape(-1)[:_MOST_ITEMS].tolist())
    else:
        look.found.append(sampled(value).tobytes())


def _memory(value: Any, look: _Look) -> None:
    held = memoryview(value)
    look.found.append(held.nbytes)
    if held.nbytes <= _SMALL:
        look.found.append(held.tobytes())
        if not isinstance(held.obj, mmap.mmap):  # which could not be closed
            look.kept.append(held)
    else:
        words = np.frombuffer(held.cast("B")[: held.nbytes // 8 * 8], np.uint64)
        look.found.append(sampled(words).tobytes())


def _sequence(value: Any, look: _Look) -> None:
    base = next(base for base in _SEQUENCES if isinstance(value, base))
    items = [*base.__iter__(value)]
    is_new = look.into(value)
    look.found.append(len(items))
    if is_new:
        look.add(items[:_MOST_ITEMS])


def _mapping(value: Any, look: _Look) -> None:
    items = [*dict.items(value)] if isinstance(value, dict) else [*value.items()]
    is_new = look.into(value)
    look.found.append(len(items))
    if is_new:
        look.add(chain.from_iterable(items[:_MOST_ITEMS]))


_SEQUENCES: tuple[Any, ...] = (list, tuple, deque, set, frozenset)
_ADDERS: dict[type, _Adder] = {
    **dict.fromkeys((bool, float, complex, array, bytearray, range, slice), _exact),
    **dict.fromkeys((decimal.Decimal, fractions.Fraction, datetime.date, datetime.time), _exact),
    **dict.fromkeys((datetime.datetime, datetime.timedelta), _exact),
    memoryview: _memory,
    types.MappingProxyType: _mapping,
}


# ---- what is known of classes ------------------------------------------------------------------------------


def _with(read: Callable[[Any], Iterable[Any]]) -> _Adder:
    """Return what adds the parts that a function finds in an object."""

    def add(value: Any, look: _Look) -> None:
        if look.into(value):
            look.add(read(value))

    return add


@functools.lru_cache(maxsize=4096)
def _adder_of(kind: type) -> _Adder:
    """Return what adds a part of this class to a look."""
    if (add := _ADDERS.get(kind)) is not None:
        return add
    if issubclass(kind, np.generic):
        return _number
    if issubclass(kind, np.ndarray):
        return _array
    if known_of(kind, ASKED_FOR) is not None or name_of(kind) in BUSY:
        return _nothing
    if (reader := known_of(kind, READERS)) is not None:
        return _with(reader)
    if issubclass(kind, UNCHANGING):
        return _itself
    if issubclass(kind, dict):
        return _mapping if is_library(kind) else _itself
    if issubclass(kind, _SEQUENCES):
        return _sequence if is_library(kind) else _itself
    bases = [base for base in kind.__mro__ if base is not object and is_library(base)]
    bases = [base for base in bases if module_of(base) not in MIXED_IN]
    if not bases or not all(map(is_followed, bases)):
        return _itself
    return _adder_of_attributes(kind, bases)


def _adder_of_attributes(kind: type, bases: Sequence[type]) -> _Adder:
    """Return what adds the attributes of an object: of one of the user's, those that bases of it use."""
    defined = [item for base in bases for item in vars(base).items()]
    computed = {name for name, part in defined if isinstance(part, functools.cached_property)}
    slots = [
        part.__get__
        for base in bases
        for name, part in vars(base).items()
        if is_slot(base, part) and not name.startswith("__") and not is_noise(name)
    ]
    has_attributes = kind.__dictoffset__ != 0
    if not slots and not has_attributes:
        return _itself
    functions = [part.fget if isinstance(part, property) else part for _, part in defined]
    codes = [part.__code__ for part in functions if isinstance(part, types.FunctionType)]
    read = None if is_library(kind) else frozenset().union(*[names_in(code).attributes for code in codes])

    def parts(value: Any, own: dict[str, Any]) -> Iterator[Any]:
        for name, part in islice(own.items(), _MOST_ITEMS):
            if not (name in computed or is_noise(name)):
                yield name
                yield part
        for get in slots:
            try:
                yield get(value)
            except AttributeError:  # it is not set
                yield None

    def add(value: Any, look: _Look) -> None:
        if look.into(value):
            own = object.__getattribute__(value, "__dict__") if has_attributes else {}
            look.kept.append(own)
            if read is not None:
                own = {name: part for name, part in own.items() if name in read}
            look.add(parts(value, own.copy()))

    return add
