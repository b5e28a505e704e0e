"""Keys of static values and of the form of arguments: what is the same in every call of a program.

Keys are equal if Python code cannot tell the values apart. That is finer than ``==``: 1 equals True and 1.0,
0.0 equals -0.0, dicts are equal in any order; and a NaN, which does not equal itself, has a key that does.
"""

from __future__ import annotations

import array
import datetime
import decimal
import enum
import fractions
import pathlib
import struct
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from tape import errors, tree


def key_of(value: Any) -> Hashable:
    """Return a key that is equal for values that Python code cannot tell apart.

    Parameters
    ----------
    value : Any
        Immutable values of Python, NumPy and the standard library are compared by type and content, and so
        are lists, dicts, sets and arrays, as they are now. Instances of a Python class with an ``__eq__`` of
        its own are compared by their attributes. Everything else is compared by identity.

    Returns
    -------
    hashable
        It keeps objects alive that are compared by identity.

    Raises
    ------
    UnsupportedError
        If the value can change and its content is unknown.

    Examples
    --------
    >>> from tape.program.calls.statics import key_of
    >>> key_of(frozenset({2})) == key_of(frozenset({2.0})), key_of((0.0,)) == key_of((-0.0,))
    (False, False)
    >>> key_of((float("nan"),)) == key_of((float("nan"),))
    True
    """
    kind = type(value)
    content = _CONTENTS.get(kind)
    if content is not None:
        return kind, content(value)
    if isinstance(value, (type, enum.Enum)) or kind.__eq__ is object.__eq__:
        return _Itself(value)
    if isinstance(value, np.dtype):
        return np.dtype, value.num, key_of(value.__reduce__())
    if isinstance(value, np.generic) and not value.dtype.hasobject:
        return kind, key_of(value.dtype), value.tobytes()
    if isinstance(value, pathlib.PurePath):
        return kind, str(value)
    base = next(base for base in kind.__mro__ if base in _BASES)
    if _has_attributes_only(kind, base):
        return kind, key_of(_BASES[base](value)), _attributes(value)
    if is_stable(value):
        return _Itself(value)
    raise errors.UnsupportedError(
        f"{errors.describe(value)}, of {kind}, is no array and cannot be hashed. Make it hashable, or close "
        "over it"
    )


def is_stable(value: Any) -> bool:
    """Return whether a value is immutable, as hashable values promise."""
    try:
        hash(value)
    except (TypeError, ValueError):
        return type(value) is slice  # which newer Pythons hash
    return True


class _Itself:
    """The key of a value that is compared by identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is _Itself and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def _parts(values: Any) -> tuple[Hashable, ...]:
    return tuple([key_of(value) for value in values])  # of a set in its order, which Python code can see


def _items(mapping: Any) -> tuple[Hashable, ...]:
    return tuple([(key_of(key), key_of(value)) for key, value in mapping.items()])


def _elements(values: np.ndarray) -> tuple[Hashable, ...]:
    content = _parts(values.ravel()) if values.dtype.hasobject else values.tobytes()
    return key_of(values.dtype), values.shape, values.strides, content


def _reduced(value: Any) -> Hashable:
    return key_of(value.__reduce_ex__(4))


def _unchanged(value: Any) -> Any:
    return value


_CONTENTS: dict[type, Callable[[Any], Hashable]] = {
    **dict.fromkeys((type(None), bool, int, str, bytes, types.BuiltinMethodType), _unchanged),
    **dict.fromkeys((tuple, list, frozenset, set), _parts),
    **dict.fromkeys((dict, OrderedDict), _items),
    **dict.fromkeys((datetime.date, datetime.time, datetime.datetime, datetime.timedelta), _reduced),
    float: struct.Struct("d").pack,
    complex: lambda z: struct.pack("dd", z.real, z.imag),
    defaultdict: lambda mapping: (key_of(mapping.default_factory), _items(mapping)),
    deque: lambda values: (values.maxlen, _parts(values)),
    range: lambda r: (r.start, r.stop, r.step),
    slice: lambda s: _parts((s.start, s.stop, s.step)),
    bytearray: bytes,
    array.array: lambda values: (values.typecode, values.tobytes()),
    decimal.Decimal: lambda number: tuple(number.as_tuple()),
    fractions.Fraction: lambda number: (number.numerator, number.denominator),
    types.MethodType: lambda method: (_Itself(method.__self__), _Itself(method.__func__)),
    np.ndarray: _elements,
}

_BASES: dict[type, Callable[[Any], Any]] = {
    str: lambda value: str.__getitem__(value, slice(None)),
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    tuple: lambda value: tuple.__getitem__(value, slice(None)),
    frozenset: lambda value: tuple(frozenset.__iter__(value)),
    int: int.__int__,
    float: float.__float__,
    complex: complex.__complex__ if hasattr(complex, "__complex__") else complex.__pos__,
    object: lambda value: None,
}
"""The data of instances of a subclass, beside their attributes."""


def _has_attributes_only(kind: type, base: type) -> bool:
    """Return whether instances hold the data of a base and attributes and nothing else, by their size."""
    pointers = sum(1 for _ in _members(kind))
    pointers += kind.__dictoffset__ > 0 or kind.__dictoffset__ == -_POINTER
    pointers += kind.__weakrefoffset__ > base.__weakrefoffset__  # frozensets have one in their data
    return kind.__basicsize__ == base.__basicsize__ + _POINTER * pointers


_POINTER = struct.calcsize("P")


def _members(kind: type) -> Iterator[tuple[str, types.MemberDescriptorType]]:
    """Yield the members that ``__slots__`` define, in this class and its bases but not in their data."""
    for base in kind.__mro__:
        if base in _BASES:
            return
        for name, descriptor in vars(base).items():
            if isinstance(descriptor, types.MemberDescriptorType):
                yield name, descriptor


def _attributes(value: Any) -> Hashable:
    """Return the attributes of an object: those in slots, and the others."""
    found = []
    for name, descriptor in _members(type(value)):
        try:
            found.append((name, key_of(descriptor.__get__(value))))
        except AttributeError:
            continue
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = {}
    return *found, *_items(own)


class Static:
    """A static leaf of arguments, which equals what Python code cannot tell apart from it."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        try:
            self.key = key_of(value)
        except RecursionError:  # it holds itself; what code reads of it is compared by names
            self.key = _Itself(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return repr(self.value)


class Form:
    """The form of arguments: structure, order and types of keys, static leaves, and which leaves are ints.

    Parameters
    ----------
    structure
        The structure of the arguments, as `tree.flatten` returns it.
    fixed : dict of int to Any
        Static leaves, by position among all leaves.
    ints : frozenset of int
        The positions of ints which are data.

    Attributes
    ----------
    branch : hashable
        A key of the structure alone.

    Raises
    ------
    UnsupportedError
        If a static value can change and its content is unknown, or the tree is too deep.

    Examples
    --------
    >>> from tape import tree
    >>> from tape.program.calls.statics import Form
    >>> structures = [tree.flatten(d)[1] for d in ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0})]
    >>> structures[0] == structures[1], Form(structures[0], {}) == Form(structures[1], {})
    (True, False)
    """

    __slots__ = ("_hash", "_key", "branch", "fixed", "ints", "structure")

    def __init__(self, structure: Any, fixed: dict[int, Any], ints: frozenset[int] = frozenset()) -> None:
        self.structure = structure
        self.fixed = fixed
        self.ints = ints
        try:
            self.branch = _branch(structure)
        except RecursionError:
            raise tree.too_deep() from None
        statics = tuple([(k, Static(value)) for k, value in fixed.items()])
        self._key = (self.branch, statics, ints)
        self._hash = hash(self._key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Form) and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def statics(self) -> list[Any]:
        """Return all that is not data: static leaves, and classes and static fields of dataclasses."""
        return [*self.fixed.values(), *tree.settings(self.structure)]

    def with_ints(self, ints: frozenset[int]) -> Form:
        """Return the form of the same arguments in which these leaves are data, and all other ints static."""
        return Form(self.structure, {k: value for k, value in self.fixed.items() if k not in ints}, ints)


def _branch(structure: Any) -> Hashable:
    """Return a key of a structure; a dict is known by its keys in their order."""
    if structure is tree.LEAF or structure.is_leaf():
        return None
    level = structure.one_level()
    branches = tuple([_branch(child) for child in structure.children()])
    kind = structure.type
    if kind in (tuple, list, types.NoneType):
        return kind, branches
    if kind in (dict, defaultdict):
        example = level.unflatten(range(level.num_leaves))
        keys = _parts(example)
        return kind, key_of(getattr(example, "default_factory", None)), keys, branches
    return kind, level.walk(range(level.num_leaves), lambda _, data, __: key_of(data)), branches
