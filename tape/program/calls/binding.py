"""`Binding`: a name, or an item of a collection, and the object that it was bound to."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from tape.program.calls.statics import key_of

__all__ = ["LOOKUPS", "OF_EQUALS", "VALUES", "Binding", "is_same"]

VALUES = (bool, int, float, complex, str, bytes, np.generic)
"""Types that are compared by value, not by identity."""

LOOKUPS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "global": ("{0}[{1}]", lambda owner, key: owner[key]),
    "cell": ("{0}.cell_contents", lambda owner, key: owner.cell_contents),
    "item": ("{0}[{1}]", lambda owner, key: owner[key]),
    "attribute": ("{0}.{2}", getattr),
    "context": ("{0}.get(None)", lambda owner, key: owner.get(None)),
    "class": ("{0}.__dict__[{1}]", lambda owner, key: vars(owner)[key]),
    "empty": ("{1}({0})", lambda owner, key: key(owner)),
    "own": ("({1} in {0}.__dict__)", lambda owner, key: key in vars(owner)),
    "has": ("hasattr({0}, {1})", hasattr),
    "presence": ("({1} in {0})", lambda owner, key: key in owner),
    "length": ("len({0})", lambda owner, key: len(owner)),
    "keys": ("(*{0},)", lambda owner, key: (*owner,)),
    "items": ("(*{0}.items(),)", lambda owner, key: (*owner.items(),)),
    "content": ("{0}.tobytes()", lambda owner, key: owner.tobytes()),
    "contents": ("{1}({0})", lambda owner, key: key(owner)),
}
"""How a binding is read: as an expression of owner, key and the text of the key; and by a call."""
OF_EQUALS = ("length", "keys", "items", "content", "contents")
"""Kinds whose values are equal, not identical, from one look to the next."""


@dataclass(slots=True)
class Binding:
    """A name and the object that it was bound to.

    Attributes
    ----------
    kind : str
        One of `LOOKUPS`.
    owner : Any
        The object that holds the name: a dict, a list, a cell, a context variable or any other.
    key : Any
        The name, a position in the owner, or how to look at it: a `Contents`, say.
    value : Any
        The object that the name was bound to.
    """

    kind: str
    owner: Any
    key: Any
    value: Any

    def holds(self) -> bool:
        """Return whether the name is bound to the same object, or to an equal number, string or tuple."""
        try:
            found = LOOKUPS[self.kind][1](self.owner, self.key)
        except (LookupError, AttributeError, ValueError, RuntimeError):  # another thread may be at it
            return False
        if found is self.value:
            return True
        if self.kind == "contents":
            return bool(found == self.value)
        if self.kind == "keys":
            with suppress(ValueError):  # keys whose == is not a bool
                return bool(found == self.value)
            return False
        return is_same(found, self.value)

    def current(self) -> Any:
        """Return what the name is bound to, if it `holds`."""
        return LOOKUPS[self.kind][1](self.owner, self.key)

    def rebind(self, value: Any) -> None:
        """Bind the name to another object."""
        if self.kind in ("attribute", "class"):
            setattr(self.owner, self.key, value)
        elif self.kind == "cell":
            self.owner.cell_contents = value
        elif self.kind == "context":
            self.owner.set(value)
        elif self.kind in ("global", "item"):
            self.owner[self.key] = value


def is_same(found: Any, value: Any) -> bool:
    """Return whether two objects are the same, or equal numbers, strings, or tuples of these."""
    if found is value:
        return True
    return type(found) is type(value) and _is_value(found) and key_of(found) == key_of(value)


def _is_value(found: Any) -> bool:
    """Return whether an object is compared by value."""
    kind = type(found)  # that of an int that is data, which says that it is one, is not in `VALUES`
    return issubclass(kind, VALUES) or (kind is tuple and all(map(_is_value, found)))
