"""What is known of classes of libraries: where their objects hold what is compared, and what is left out."""

from __future__ import annotations

import ctypes
import datetime
import decimal
import enum
import fractions
import functools
import pathlib
import sys
import threading
import types
import uuid
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

import numpy as np

from tape.conversion.foreign import module_of
from tape.core.op import Op
from tape.program.calls.objects import is_library, is_ours, known_of, name_of

__all__ = [
    "ASKED_FOR",
    "BUSY",
    "MIXED_IN",
    "READERS",
    "UNCHANGING",
    "is_followed",
    "is_noise",
    "is_pythons",
    "is_slot",
]

_MOST_ELEMENTS = 256
"""Number of elements of XML in another one that are compared."""


def _of_element(value: Any) -> list[Any]:
    """Return what an element of XML holds, and all that are in it, in one level."""
    parts: list[Any] = []
    for one in islice(_base(value, "Element").iter(value), _MOST_ELEMENTS):
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
READERS: dict[str, Callable[[Any], Iterable[Any]]] = {
    "_ctypes._CData": lambda one: (memoryview(one), _CDATA._objects.__get__(one)),  # what pointers point at
    "mmap.mmap": lambda one: (memoryview(one),),
    "xml.etree.ElementTree.Element": _of_element,
    "configparser.RawConfigParser": lambda one: (one.default_section, one._defaults, one._sections),
    "threading.Event": lambda one: (one._flag,),
    "threading.Thread": lambda one: (one._name,),
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
ASKED_FOR: dict[str, tuple[frozenset[str], Callable[[Any], Iterable[Any]]]] = {
    "_thread.lock": (_ACQUIRES, lambda one: (one.locked(),)),
    "threading.Semaphore": (_ACQUIRES, lambda one: (one._value,)),
    "multiprocessing.synchronize.SemLock": (_ACQUIRES, lambda one: (one._semlock._get_value(),)),
    "threading.Thread": (frozenset({"is_alive"}), lambda one: (one._name, threading.Thread.is_alive(one))),
}
"""What changes at any time, so that it is compared only where code reads one of these names."""


UNCHANGING = (
    type, types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinMethodType, types.CodeType,
    pathlib.PurePath, uuid.UUID, enum.Enum, np.dtype, np.ufunc, Iterator, Op, decimal.Decimal,
    fractions.Fraction, datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo,
)  # fmt: skip
"""What is compared by identity: its content cannot change, is found otherwise, or would be used up."""
MIXED_IN = frozenset({"abc", "typing", "typing_extensions", "collections.abc", "contextlib", "numbers"})
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
BUSY = frozenset({"threading.Condition", "multiprocessing.synchronize.Condition"})
"""What changes as threads come and go."""
_NOISE = frozenset({"_getters", "_hash", "_ident", "_loop", "_mhash", "_native_id", "_putters", "_waiters"})
"""Attributes that change without a meaning, beside those of caches."""


def is_pythons(kind: type) -> bool:
    """Return whether a class of Python's own tells what is in an object."""
    bases = (base for base in kind.__mro__ if is_library(base))
    return all(module_of(base).partition(".")[0] in sys.stdlib_module_names for base in bases)


def is_followed(kind: type) -> bool:
    """Return whether to look into what a class of a library defines."""
    name = name_of(kind)
    top = name.partition(".")[0]
    if top == "builtins":
        return issubclass(kind, BaseException)
    if top in _NOT_FOLLOWED:
        return name.startswith(_FOLLOWED)
    return not (is_ours(kind) or name.startswith(_PARTS_NOT_FOLLOWED))


def is_slot(base: type, part: Any) -> bool:
    """Return whether a part of a class is an attribute of objects that is cheap to read, also in C."""
    if isinstance(part, types.GetSetDescriptorType):
        return issubclass(base, (BaseException, decimal.Context))
    return isinstance(part, types.MemberDescriptorType)


@functools.lru_cache(maxsize=4096)
def is_noise(name: str) -> bool:
    return name in _NOISE or "cache" in name
