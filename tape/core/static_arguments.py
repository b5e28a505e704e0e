"""Static arguments of operations of users, as they were at the call: rules read them when all code has run.

Rules get the objects themselves as long as they hold what they held, and otherwise copies of that time: of
arrays, the collections of Python, dataclasses and namespaces, at any depth; functions find by their names
what there was. So does what a program calls back, if the function that is recorded has changed them; a change
between its calls is read.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from types import BuiltinFunctionType, FunctionType, NoneType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from tape.core.closures import bound, is_as_it_was
from tape.core.held import Kept
from tape.core.interpreter import OPEN, opened
from tape.core.node import Call, Pull

if TYPE_CHECKING:
    from tape.core.op import Op

_CONSTANT = frozenset({bool, int, float, complex, str, bytes, NoneType, type, BuiltinFunctionType, np.ufunc,
                       np.float64, np.int64})  # fmt: skip
_FUNCTIONS = frozenset({FunctionType, partial})
_LISTS = frozenset({list, deque})
_DICTS = frozenset({dict, OrderedDict, defaultdict, Counter})
_FLAT = frozenset({set, bytearray})


def call_as_is(op: Op, attrs: dict[str, Any], active: tuple[bool, ...]) -> Call:
    """Return what `Op.call` does, with static arguments that do not change later."""
    if _CONSTANT.issuperset(map(type, attrs.values())):
        return op.call(attrs, active)
    copies = {key: x if type(x) in _CONSTANT else copied(x, {}) for key, x in attrs.items()}
    program = next((one for one in reversed(opened()) if one.is_program), None) if OPEN else None
    if program is None and not op.looks_functions_up:
        attrs = {key: copies[key] if type(x) in _FUNCTIONS else x for key, x in attrs.items()}
    if all(copies[key] is attrs[key] for key in attrs):
        return op.call(attrs, active)
    call = LateCall(op, attrs, copies, op.call({}, active).pull)
    if program is not None:
        program.late.append(call)
    return call


class LateCall(Call):
    """A call with static arguments that are themselves, as long as they do not change.

    Parameters
    ----------
    op, pull
        As for `Call`.
    given : dict
        The static arguments themselves.
    copies : dict
        What they were, see `copied`.
    """

    __slots__ = ("_copies", "_given", "_settled")

    def __init__(self, op: Op, given: dict[str, Any], copies: dict[str, Any], pull: Pull | None) -> None:
        self.op = op
        self.pull = pull
        self._given = given
        self._copies = copies
        self._settled: dict[str, Any] | None = None

    @property
    def attrs(self) -> dict[str, Any]:  # type: ignore[override]
        """The static arguments themselves; copies of those that have changed since the call."""
        if self._settled is not None:
            return self._settled
        given = self._given
        return {
            key: given[key] if _is_same(x, given[key], set()) else restored(x, {})
            for key, x in self._copies.items()
        }

    def settle(self) -> None:
        """Note that the function has been recorded: what changes now does so between its calls."""
        self._settled = self.attrs


def copied(value: Any, seen: dict[int, Any]) -> Any:
    """Return what a static argument is now, to be compared and restored: the same if it cannot change.

    In the place of an array is a `Kept`; ``seen`` has what was made before, by the id of what it is of.
    """
    kind = type(value)
    if kind in _CONSTANT or (kind is tuple and _CONSTANT.issuperset(map(type, value))):
        return value
    if kind in _FUNCTIONS:
        return bound(value)
    if id(value) in seen:
        return seen[id(value)]
    if isinstance(value, np.ndarray):
        seen[id(value)] = Kept(value)
        return seen[id(value)]
    return _mapped(copied, value, seen)


def restored(copy: Any, seen: dict[int, Any]) -> Any:
    """Return a static argument as it was, given what `copied` has made of it.

    Raises
    ------
    InPlaceError
        If a large array in it has been written into.
    """
    if isinstance(copy, Kept):
        return copy.value()
    return seen[id(copy)] if id(copy) in seen else _mapped(restored, copy, seen)


def _mapped(change: Any, value: Any, seen: dict[int, Any]) -> Any:
    """Return a collection or object with its parts changed; the same if it cannot change."""
    kind = type(value)
    new = value
    if kind in _FLAT:
        new = seen[id(value)] = value.copy()
    elif kind is tuple or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        parts = [change(part, seen) for part in value]
        if any(a is not b for a, b in zip(parts, value, strict=True)):
            new = tuple.__new__(kind, parts)
    elif kind in _LISTS or kind in _DICTS:
        new = seen[id(value)] = value.copy()
        for key, part in _items(value):
            new[key] = change(part, seen)
    elif _has_fields(kind):
        with suppress(TypeError):  # of a class that derives from one in C
            new = object.__new__(kind) if kind is not SimpleNamespace else SimpleNamespace()
        if new is value:
            return value
        seen[id(value)] = new
        is_same = kind is not SimpleNamespace and kind.__dataclass_params__.frozen
        for name, part in _items(value):
            own = change(part, seen)
            is_same = is_same and own is part
            object.__setattr__(new, name, own)
        if is_same:
            new = seen[id(value)] = value
    return new


def _is_same(before: Any, now: Any, seen: set[int]) -> bool:
    """Return whether something holds what it held."""
    kind = type(before)
    if before is now or id(before) in seen:
        return True
    if type(now) in _FUNCTIONS:
        return is_as_it_was(before, now)
    if kind is Kept:
        return before.array is now and not before.is_changed()
    if kind is not type(now):
        return False
    seen.add(id(before))
    if kind in _FLAT:
        return bool(before == now)
    if not (isinstance(before, tuple) or kind in _LISTS or kind in _DICTS or _has_fields(kind)):
        return False
    pairs, others = list(_items(before)), list(_items(now))
    return len(pairs) == len(others) and all(
        (key is other or key == other) and _is_same(part, own, seen)
        for (key, part), (other, own) in zip(pairs, others, strict=True)
    )


def _items(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return the parts of a collection or object, with their keys, places or names."""
    if isinstance(value, (tuple, list, deque)):
        return enumerate(value)
    if isinstance(value, dict):
        return value.items()
    if hasattr(value, "__dict__"):
        return vars(value).items()
    return [(field.name, getattr(value, field.name)) for field in fields(value) if hasattr(value, field.name)]


def _has_fields(kind: type) -> bool:
    """Return whether objects of a class are no more than their fields."""
    return kind is SimpleNamespace or is_dataclass(kind)
