"""What objects hold whose classes belong to libraries: the flag of an `Event`, the items of a `Queue`.

Their methods are not searched for names, or written in C. So all that they hold is compared in each call, as
far as it can be seen without running code of the user and without waiting for anything.
"""

from __future__ import annotations

import ctypes
import datetime
import decimal
import enum
import fractions
import functools
import mmap
import pathlib
import sys
import threading
import types
import uuid
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from tape.conversion.foreign import module_of
from tape.core.op import Op
from tape.program.calls.arrays import sampled
from tape.program.calls.bytecode import names_in
from tape.program.calls.objects import is_library, is_ours, known_of, name_of
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
        asked_for, read = known_of(kind, _ASKED_FOR) or (frozenset(), None)
        if read is None:
            self._add = _adder_of(kind)
        else:
            self._add = _nothing if names.isdisjoint(asked_for) else _with(read)
        if self._add is _itself or kind in _ADDERS:
            self._add = _nothing
        most = _MOST_PARTS if _is_pythons(kind) else _USUAL_PARTS
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


def _of_element(value: Any) -> list[Any]:
    """Return what an element of XML holds, and all that are in it, in one level."""
    parts: list[Any] = []
    for one in islice(_base(value, "Element").iter(value), _MOST_PARTS // 4):
        parts += (one.tag, one.text, one.tail, len(one), *chain.from_iterable(one.attrib.items()))
    return parts


def _of_mock(value: Any) -> list[Any]:
    """Return what a mock has been told to return, not how often it is called."""
    own = object.__getattribute__(value, "__dict__")
    given = [own.get(f"_mock_{name}") for name in ("return_value", "side_effect")]
    parts = [None if known_of(type(part), _MADE_BY_MOCKS) else part for part in given]
    for name, child in [*own.get("_mock_children", {}).items()]:
        inner = _of_mock(child)
        if any(part is not None for part in inner):
            parts += (name, *inner)
    return parts


_MADE_BY_MOCKS = {"unittest.mock.NonCallableMock": True, "unittest.mock._SentinelObject": True}


def _base(value: Any, name: str) -> Any:
    """Return the class of this name that an object is of, for methods that are not the user's."""
    return next(base for base in type(value).__mro__ if base.__name__ == name and is_library(base))


_CDATA: Any = ctypes.c_int.__mro__[2]
_READERS: dict[str, Callable[[Any], Iterable[Any]]] = {
    "_ctypes._CData": lambda one: (memoryview(one), _CDATA._objects.__get__(one)),  # what pointers point at
    "mmap.mmap": lambda one: (memoryview(one),),
    "xml.etree.ElementTree.Element": _of_element,
    "configparser.RawConfigParser": lambda one: (one.default_section, one._defaults, one._sections),
    "threading.Event": lambda one: (one._flag,),
    "multiprocessing.synchronize.Event": lambda one: (one._flag._semlock._get_value(),),
    "multiprocessing.queues.Queue": lambda one: (one._sem._semlock._get_value(),),
    "_queue.SimpleQueue": lambda one: (_base(one, "SimpleQueue").qsize(one),),
    "_hashlib.HASH": lambda one: (one.digest(),),
    "unittest.mock.NonCallableMock": _of_mock,
    "pandas.core.generic.NDFrame": lambda one: (*one._mgr.arrays, *one._mgr.axes),
    "pandas._libs.arrays.NDArrayBacked": lambda one: (one._ndarray,),
}
"""Readers of objects that hold more than what is to be compared, or where it cannot be seen."""

_ACQUIRES = frozenset({"locked", "acquire", "_value"})
_ASKED_FOR: dict[str, tuple[frozenset[str], Callable[[Any], Iterable[Any]]]] = {
    "_thread.lock": (_ACQUIRES, lambda one: (one.locked(),)),
    "threading.Semaphore": (_ACQUIRES, lambda one: (one._value,)),
    "multiprocessing.synchronize.SemLock": (_ACQUIRES, lambda one: (one._semlock._get_value(),)),
    "threading.Thread": (frozenset({"is_alive"}), lambda one: (threading.Thread.is_alive(one),)),
}
"""What changes at any time, so that it is compared only where code reads one of these names."""


_UNCHANGING = (
    type, types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinMethodType, types.CodeType,
    pathlib.PurePath, uuid.UUID, enum.Enum, np.dtype, np.ufunc, Iterator, Op, decimal.Decimal,
    fractions.Fraction, datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo,
)  # fmt: skip
"""What is compared by identity: its content cannot change, is found otherwise, or would be used up."""
_MIXED_IN = frozenset({"abc", "typing", "typing_extensions", "collections.abc", "contextlib", "numbers"})
"""Modules of classes without attributes, from which others derive."""
_NOT_FOLLOWED = frozenset(
    {"IPython", "_asyncio", "_contextvars", "_frozen_importlib", "_functools", "_io", "_operator",
     "_pytest", "_random", "_socket", "_sqlite3", "_sre", "_ssl", "_thread", "_typing", "_weakref",
     "_weakrefset", "argparse", "ast", "asyncio", "atexit", "code", "codecs", "collections",
     "contextvars", "cupy", "encodings", "enum", "functools", "gc", "importlib", "inspect", "io",
     "ipykernel", "itertools", "jax", "jaxlib", "llvmlite", "logging", "matplotlib", "numba",
     "numpy", "operator", "optree", "os", "pdb", "pluggy", "pytest", "random", "re", "rich",
     "select", "selectors", "shelve", "signal", "socket", "sqlite3", "ssl", "subprocess", "sympy",
     "tempfile", "tensorflow", "torch", "tqdm", "traceback", "types", "wandb", "warnings",
     "weakref", "zoneinfo"}
)  # fmt: skip
"""Packages whose objects show progress, do not change, hold what cannot be seen, or are searched anyway."""
_PARTS_NOT_FOLLOWED = (
    "concurrent.futures.process", "concurrent.futures.thread", "multiprocessing.context",
    "multiprocessing.managers", "multiprocessing.pool", "multiprocessing.process", "pandas.Index",
    "pandas.core.indexes", "scipy.stats._distn_infrastructure",
)  # fmt: skip
_FOLLOWED = (
    "asyncio.locks.Event", "asyncio.mixins", "asyncio.queues", "collections.UserString", "numpy.poly1d",
    "numpy.polynomial", "numpy.vectorize",
)  # fmt: skip
"""What is, of these packages."""
_BUSY = frozenset({"threading.Condition", "multiprocessing.synchronize.Condition"})
"""What changes as threads come and go."""
_NOISE = frozenset({"_getters", "_hash", "_ident", "_loop", "_mhash", "_native_id", "_putters", "_waiters"})
"""Attributes that change without a meaning, beside those of caches."""


def _is_pythons(kind: type) -> bool:
    """Return whether a class of Python's own tells what is in an object."""
    bases = (base for base in kind.__mro__ if is_library(base))
    return all(module_of(base).partition(".")[0] in sys.stdlib_module_names for base in bases)


def _is_followed(kind: type) -> bool:
    """Return whether to look into what a class of a library defines."""
    name = name_of(kind)
    top = name.partition(".")[0]
    if top == "builtins":
        return issubclass(kind, BaseException)
    if top in _NOT_FOLLOWED:
        return name.startswith(_FOLLOWED)
    return not (is_ours(kind) or name.startswith(_PARTS_NOT_FOLLOWED))


@functools.lru_cache(maxsize=4096)
def _adder_of(kind: type) -> _Adder:
    """Return what adds a part of this class to a look."""
    if (add := _ADDERS.get(kind)) is not None:
        return add
    if issubclass(kind, np.generic):
        return _number
    if issubclass(kind, np.ndarray):
        return _array
    if known_of(kind, _ASKED_FOR) is not None or name_of(kind) in _BUSY:
        return _nothing
    if (reader := known_of(kind, _READERS)) is not None:
        return _with(reader)
    if issubclass(kind, _UNCHANGING):
        return _itself
    if issubclass(kind, dict):
        return _mapping if is_library(kind) else _itself
    if issubclass(kind, _SEQUENCES):
        return _sequence if is_library(kind) else _itself
    bases = [base for base in kind.__mro__ if base is not object and is_library(base)]
    bases = [base for base in bases if module_of(base) not in _MIXED_IN]
    if not bases or not all(map(_is_followed, bases)):
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
        if _is_slot(base, part) and not name.startswith("__") and not _is_noise(name)
    ]
    has_attributes = kind.__dictoffset__ != 0
    if not slots and not has_attributes:
        return _itself
    functions = [part.fget if isinstance(part, property) else part for _, part in defined]
    codes = [part.__code__ for part in functions if isinstance(part, types.FunctionType)]
    read = None if is_library(kind) else frozenset().union(*[names_in(code).attributes for code in codes])

    def parts(value: Any, own: dict[str, Any]) -> Iterator[Any]:
        for name, part in islice(own.items(), _MOST_ITEMS):
            if not (name in computed or _is_noise(name)):
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


def _is_slot(base: type, part: Any) -> bool:
    """Return whether a part of a class is an attribute of objects that is cheap to read, also in C."""
    if isinstance(part, types.GetSetDescriptorType):
        return issubclass(base, (BaseException, decimal.Context))
    return isinstance(part, types.MemberDescriptorType)


@functools.lru_cache(maxsize=4096)
def _is_noise(name: str) -> bool:
    return name in _NOISE or "cache" in name
