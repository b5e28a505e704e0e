"""What collections and objects among arguments hold, and what a function has put into them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tape import tree
from tape.core.node import Handle

__all__ = ["Rebuilt", "are_changed", "contents_of", "parts_of"]

Contents = list[tuple[Any, list[Any]]]
"""Collections, and what each held."""


def contents_of(arguments: Any) -> Contents:
    """Return the collections and objects in arguments, and what each holds."""
    return [(one, _stamped(one)) for one in _collections(arguments)]


def are_changed(before: Contents, result: Any) -> bool:
    """Return whether collections hold something else than before, and are not in the result.

    A Var that was written to is something else.
    """
    return _is_any_missing([one for one, held in before if _holds_others(one, held)], result)


def _is_any_missing(changed: list[Any], result: Any) -> bool:
    """Return whether any of these collections is missing in the result."""
    return bool(changed) and not set(map(id, changed)) <= set(map(id, _collections(result)))


def _stamped(value: Any) -> list[Any]:
    """Return what a collection holds, each with what it stands for at present."""
    return [(part, part.node if isinstance(part, Handle) else None) for part in parts_of(value)]


def _holds_others(one: Any, held: list[Any]) -> bool:
    now = _stamped(one)
    return len(now) != len(held) or any(
        part is not other or node is not last for (part, node), (other, last) in zip(now, held, strict=True)
    )


def _collections(value: Any) -> Iterator[Any]:
    """Yield the collections and dataclasses in a value, itself included, but for tuples."""
    waiting, seen = [value], set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, Handle):
            continue
        if _is_collection(one):
            if id(one) in seen:
                continue
            seen.add(id(one))
            yield one
            waiting += parts_of(one)
        elif isinstance(one, tuple):
            waiting += one


def _is_collection(value: Any) -> bool:
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


# ---- copies ------------------------------------------------------------------------------------------


class Rebuilt:
    """A tree with other leaves in collections of its own; what is put into these can be carried over.

    Parameters
    ----------
    given : tree
        Of the caller.
    replace : callable
        From a leaf to what stands in its place.

    Attributes
    ----------
    tree : tree
        The new one.

    Examples
    --------
    >>> from tape.program.record.collections import Rebuilt
    >>> given = {"x": [1, 2]}
    >>> rebuilt = Rebuilt(given, lambda leaf: -leaf)
    >>> rebuilt.tree["x"].append(5)
    >>> rebuilt.carry_over(None), given
    (True, {'x': [1, 2, 5]})
    """

    def __init__(self, given: Any, replace: Callable[[Any], Any]) -> None:
        leaves, structure = tree.flatten(given)
        others = [replace(leaf) for leaf in leaves]
        self.tree = tree.unflatten(structure, others)
        self._pairs = list(_pairs(given, self.tree))
        if self._pairs:
            copies = [copied for _, copied in self._pairs]
            self._before = {id(copied): held for copied, held in contents_of(tuple(copies))}
            self._originals = {id(other): (other, leaf) for other, leaf in zip(others, leaves, strict=True)}
            self._originals |= {id(copied): (copied, one) for one, copied in self._pairs}

    def carry_over(self, result: Any) -> bool:
        """Put into the collections of the caller what was put into the copies; return whether anything was.

        Not if all that are changed are in the result.
        """
        changed = [pair for pair in self._pairs if self._is_changed(pair[1])]
        if not changed or not _is_any_missing([copied for _, copied in changed], result):
            return False
        for one, copied in changed:
            _put(one, copied, lambda value: self._original(value, set()))
        return True

    def _is_changed(self, copied: Any) -> bool:
        """Return whether a collection holds something else than before, or something that was written to."""
        known = [self._originals[id(part)] for part in parts_of(copied) if id(part) in self._originals]
        return _holds_others(copied, self._before[id(copied)]) or any(_is_written(*pair) for pair in known)

    def _original(self, value: Any, seen: set[int]) -> Any:
        """Return what the caller has of a value, unless the function has written to its own."""
        if id(value) in self._originals:
            other, leaf = self._originals[id(value)]
            return value if _is_written(other, leaf) else leaf
        if type(value) is tuple:
            return tuple([self._original(part, seen) for part in value])
        if _is_collection(value) and id(value) not in seen:  # a new one
            seen.add(id(value))
            _put(value, value, lambda part: self._original(part, seen))
        return value


def _is_written(other: Any, leaf: Any) -> bool:
    """Return whether the function has written to what it had in the place of a leaf."""
    if isinstance(other, Handle):
        return isinstance(leaf, Handle) and other.node is not leaf.node
    if isinstance(other, np.ndarray) and isinstance(leaf, np.ndarray) and other is not leaf:
        return not _are_same(other, np.asarray(leaf, other.dtype))
    return False


def _are_same(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether arrays of one dtype hold the same bits."""
    if a.flags.c_contiguous and b.flags.c_contiguous and a.shape == b.shape and a.itemsize in (1, 2, 4, 8):
        bits = np.dtype(f"u{a.itemsize}")
        return bool(np.array_equal(a.reshape(-1).view(bits), b.reshape(-1).view(bits)))
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def _pairs(one: Any, copied: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the collections and dataclasses in a tree, each with its copy."""
    if one is copied:
        return
    if _is_collection(one):
        yield one, copied
    if isinstance(one, dict):
        parts = [(one[key], copied[key]) for key in one]
    elif _is_collection(one) or isinstance(one, tuple):
        parts = list(zip(parts_of(one), parts_of(copied), strict=True))
    else:
        return
    for pair in parts:
        yield from _pairs(*pair)


def _put(one: Any, copied: Any, original: Callable[[Any], Any]) -> None:
    """Let a collection hold what another one holds."""
    if isinstance(one, dict):
        entries = {key: original(value) for key, value in copied.items()}
        one.clear()
        one.update(entries)
    elif is_dataclass(one):
        for field in fields(one):
            if hasattr(copied, field.name):
                object.__setattr__(one, field.name, original(getattr(copied, field.name)))
    else:
        items = [original(value) for value in copied]
        one.clear()
        one.extend(items)
