"""What collections and objects hold, to see whether a function has put something else there."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

__all__ = ["are_changed", "contents_of", "is_collection", "parts_of"]


def contents_of(arguments: Any) -> list[tuple[Any, list[Any]]]:
    """Return the collections and objects in arguments, and what each holds."""
    return [(one, parts_of(one)) for one in _collections(arguments)]


def are_changed(before: list[tuple[Any, list[Any]]], result: Any) -> bool:
    """Return whether collections hold something else than before, and are not in the result."""
    changed = [
        one
        for one, held in before
        if len(parts := parts_of(one)) != len(held) or not all(map(operator.is_, parts, held))
    ]
    return bool(changed) and not {id(one) for one in changed} <= {id(one) for one in _collections(result)}


def _collections(value: Any) -> Iterator[Any]:
    """Yield the collections and dataclasses in a value, itself included, but for tuples."""
    waiting, seen = [value], set()
    while waiting:
        one = waiting.pop()
        if is_collection(one):
            if id(one) in seen:
                continue
            seen.add(id(one))
            yield one
            waiting += parts_of(one)
        elif isinstance(one, tuple):
            waiting += one


def is_collection(value: Any) -> bool:
    """Return whether this is a collection, or an object with fields, that can hold something else one day."""
    is_object = is_dataclass(value) and not isinstance(value, (type, Iterable))
    return isinstance(value, (dict, list, deque)) or is_object


def parts_of(value: Any) -> list[Any]:
    """Return what a collection holds, keys included, or the fields of an object."""
    if isinstance(value, Mapping):
        return [*value, *value.values()]
    if is_dataclass(value) and not isinstance(value, Iterable):
        return [getattr(value, field.name, None) for field in fields(value)]
    return [*value]
