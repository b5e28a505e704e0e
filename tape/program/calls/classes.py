"""What a search for names knows of classes: whose they are, and what their instances are, found out once."""

from __future__ import annotations

import random
import sys
import types
from collections.abc import Callable
from typing import Any
from weakref import ProxyTypes

import numpy as np

from tape.conversion.foreign import module_of
from tape.core.op import Op
from tape.core.streams import Source
from tape.program.calls.binding import VALUES
from tape.program.calls.objects import (
    is_distribution,
    is_iterator,
    is_layer,
    is_library,
    is_library_file,
    package_folder,
    slots_of,
)

__all__ = ["GENERATORS", "Class", "Classes"]

GENERATORS = (Source, np.random.Generator, np.random.RandomState, random.Random)
"""Types of what draws random numbers."""
_PLAIN = (
    type(None), bool, int, float, complex, str, bytes, list, dict, tuple, set, frozenset, np.ndarray,
)  # fmt: skip


class Class:
    """What is known of the class of a value.

    Attributes
    ----------
    is_users : bool
        Whether it is the user's, and not of a library.
    is_plain : bool
        Whether it is one of Python's own or `numpy.ndarray`, whose instances have no attributes.
    is_value : bool
        Whether instances are compared by value.
    is_operation, is_generator, is_iterator, is_layer : bool
        Whether instances are an `Op`, draw random numbers, are used up, or are layers of this package.
    is_distribution : bool
        Whether instances draw from NumPy's generator.
    visit : callable or None
        How the search goes on from an instance, once it has looked that up.
    is_certain : bool
        Whether all of that holds for all instances: they may say themselves what they are.

    Examples
    --------
    >>> from tape.program.calls.classes import Class
    >>> about = Class(iter([]), is_users=False)
    >>> about.is_iterator, about.is_plain, about.is_certain
    (True, False, True)
    """

    __slots__ = (
        "is_certain", "is_distribution", "is_generator", "is_iterator", "is_layer", "is_operation",
        "is_plain", "is_users", "is_value", "visit",
    )  # fmt: skip

    def __init__(self, value: Any, is_users: bool) -> None:
        kind = type(value)
        self.is_users = is_users
        self.is_plain = any(kind is plain for plain in _PLAIN)
        self.is_value = isinstance(value, VALUES)
        self.is_operation = isinstance(value, Op)
        self.is_generator = isinstance(value, GENERATORS)
        self.is_iterator = is_iterator(value)
        self.is_layer = is_layer(kind)
        self.is_distribution = is_distribution(kind)
        self.visit: Callable[..., None] | None = None
        is_asked = isinstance(kind.__getattribute__, types.FunctionType) or any(
            kind is proxy for proxy in ProxyTypes
        )
        self.is_certain = not is_asked and not any("__class__" in vars(base) for base in kind.__mro__[:-1])


class Classes:
    """The classes that one search meets.

    Parameters
    ----------
    f : callable
        The function; what is in its package is not a library's.
    """

    def __init__(self, f: Any) -> None:
        self._home = package_folder(f)
        # By id, as metaclasses may compare classes, and hash them, in their own way.
        self._known: dict[int, Class] = {}
        self._users: dict[int, bool] = {}
        self._slots: dict[int, frozenset[str]] = {}
        self._kept: list[type] = []  # so that no other class gets the id

    def about(self, value: Any) -> Class:
        """Return what is known of the class of a value."""
        kind = type(value)
        about = self._known.get(id(kind))
        if about is None:
            about = Class(value, self.is_users(kind))
            if about.is_certain:
                self._known[id(kind)] = about
        return about

    def is_users(self, kind: type) -> bool:
        """Return whether a class is the user's."""
        known = self._users.get(id(kind))
        if known is None:
            file = getattr(sys.modules.get(module_of(kind)), "__file__", None)
            known = not (is_library(kind) if file is None else self.is_library(file))
            self._users[id(kind)] = known
            self._kept.append(kind)
        return known

    def users_bases(self, kind: type) -> list[type]:
        """Return a class and those that it inherits from, as far as they are the user's."""
        return [base for base in kind.__mro__ if self.is_users(base)]

    def slots_of(self, kind: type) -> frozenset[str]:
        """Return the attributes that instances of a class written in Python hold in slots."""
        known = self._slots.get(id(kind))
        if known is None:
            known = self._slots[id(kind)] = slots_of(kind)
            self._kept.append(kind)
        return known

    def is_users_module(self, module: types.ModuleType) -> bool:
        """Return whether a module is the user's."""
        file = getattr(module, "__file__", None)
        if file is None:  # a folder without a file of its own, or one that was made by hand
            file = next(iter(getattr(module, "__path__", ())), None)
        if file is not None:
            return not self.is_library(file)
        spec = getattr(module, "__spec__", None)
        is_frozen = getattr(spec, "origin", None) in ("frozen", "built-in")
        return not is_frozen and module.__name__ not in sys.builtin_module_names

    def is_library(self, filename: str) -> bool:
        """Return whether a file is of a library: not the user's, nor of the package of the function."""
        if self._home and filename.startswith(self._home):
            return False
        return is_library_file(filename)
