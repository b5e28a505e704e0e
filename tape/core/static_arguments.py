"""Static arguments of operations of users, as they were at the call: rules read them when all code has run.

Copied are arrays, the collections of Python, dataclasses and namespaces, at any depth; functions find by
their names what there was. What a program calls back reads the objects themselves, which may change from call
to call, unless the function that is recorded has changed them.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable
from copy import copy
from dataclasses import fields, is_dataclass
from functools import partial
from types import BuiltinFunctionType, FunctionType, NoneType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from tape.core.closures import bound, is_as_it_was
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
    copies = {key: x if type(x) in _CONSTANT else copied(x, {}) for key, x in attrs.items()}
    program = next((one for one in reversed(opened()) if one.is_program), None) if OPEN else None
    if program is None:
        if not op.looks_functions_up:
            return op.call(copies, active)
        functions = {key: x for key, x in attrs.items() if type(x) in _FUNCTIONS and x is not copies[key]}
        if not functions:
            return op.call(copies, active)
        return LateCall(op, copies | functions, copies, op.call({}, active).pull)
    if all(copies[key] is attrs[key] for key in attrs):
        return op.call(attrs, active)
    call = LateCall(op, attrs, copies, op.call({}, active).pull)
    program.late.append(call)
    return call


class LateCall(Call):
    """A call with static arguments of which some are themselves, as long as they do not change.

    In a program all are, as it reads them in every call; elsewhere functions, by which rules look things up.

    Parameters
    ----------
    op, pull
        As for `Call`.
    given : dict
        The static arguments themselves.
    copies : dict
        What they were.
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
        return {key: given[key] if _is_same(x, given[key], set()) else x for key, x in self._copies.items()}

    def settle(self) -> None:
        """Note that the function has been recorded: what changes now does so between its calls."""
        self._settled = self.attrs


def copied(value: Any, seen: dict[int, Any]) -> Any:
    """Return a copy of what may change; ``seen`` has those made before, by the id of what they are of."""
    kind = type(value)
    if kind in _CONSTANT or (kind is tuple and _CONSTANT.issuperset(map(type, value))):
        return value
    if kind in _FUNCTIONS:
        return bound(value)
    if id(value) in seen:
        return seen[id(value)]
    new = value
    if isinstance(value, np.ndarray) or kind in _FLAT:
        new = seen[id(value)] = value.copy()
    elif kind is tuple or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        parts = [copied(part, seen) for part in value]
        if any(a is not b for a, b in zip(parts, value, strict=True)):
            new = tuple.__new__(kind, parts)
    elif kind in _LISTS or kind in _DICTS:
        new = seen[id(value)] = value.copy()
        for key, part in _items(value):
            new[key] = copied(part, seen)
    elif _has_fields(kind):
        new = seen[id(value)] = copy(value)
        is_same = kind is not SimpleNamespace and kind.__dataclass_params__.frozen
        for name, part in _items(value):
            own = copied(part, seen)
            is_same = is_same and own is part
            object.__setattr__(new, name, own)
        if is_same:
            new = seen[id(value)] = value
    return new


def _is_same(before: Any, now: Any, seen: set[int]) -> bool:
    """Return whether a copy is what it is of now."""
    kind = type(before)
    if before is now or id(before) in seen:
        return True
    if type(now) in _FUNCTIONS:
        return is_as_it_was(before, now)
    if kind is not type(now):
        return False
    seen.add(id(before))
    if isinstance(before, np.ndarray):
        is_alike = before.dtype == now.dtype and before.shape == now.shape
        return is_alike and before.tobytes() == now.tobytes()
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
