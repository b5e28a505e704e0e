"""Which static arguments, constants and values count as one and the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.node import Handle


class Hashable:
    """Static arguments, compared by their types and values; by identity if they are of another kind."""

    __slots__ = ("_key",)

    def __init__(self, value: Any) -> None:
        self._key = _flat(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hashable) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


_PLAIN = frozenset({bool, int, str, type(None)})


def _flat(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return (kind, value)
    if isinstance(value, tuple):
        return (tuple, *[_flat(item) for item in value])
    if isinstance(value, slice):
        return (slice, _flat(value.start), _flat(value.stop), _flat(value.step))
    if isinstance(value, (int, str, np.dtype, type)):
        return (kind, value)
    if isinstance(value, (float, complex, np.generic)):
        return (kind, np.asarray(value).tobytes())
    return (id(value), Same(value))


class Same:
    """Equal to the same object alone, which it keeps."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def are_same(a: Any, b: Any) -> bool:
    """Return whether two constants are one: the same array or node, or the same number to the last bit."""
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, np.ndarray):
        return False
    if isinstance(a, Handle):
        return a.node is b.node
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def are_equal(a: Any, b: Any) -> bool:
    """Return whether two values are of one type, and equal to the last bit."""
    if type(a) is not type(b) or a.shape != b.shape or a.dtype != b.dtype:
        return False
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()
