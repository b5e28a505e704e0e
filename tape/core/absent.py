"""Attributes that arrays or numbers have and Vars have not: they raise, and say what to do instead.

Each is a descriptor, and there is no ``__getattr__``: with one, CPython 3.11 takes ten times as long to read
any attribute of a Var, and an operation reads three of each operand. Nothing here knows of Vars.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

from tape import errors

Class = TypeVar("Class", bound=type)


class Absent:
    """An attribute that raises; the class itself has none of that name."""

    __slots__ = ("_instead", "_name")

    def __init__(self, name: str, instead: Callable[[str], str]) -> None:
        self._name = name
        self._instead = instead

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        if instance is None:
            raise AttributeError(f"type object {owner.__name__!r} has no attribute {self._name!r}")
        raise errors.MissingAttributeError(self._instead(self._name))


def lacking(names: Iterable[str], instead: Callable[[str], str]) -> Callable[[Class], Class]:
    """Return a decorator of a class: of some public names, those that it does not have raise.

    Parameters
    ----------
    names : iterable of str
        Those with an underscore in front are left out.
    instead : callable
        ``instead(name)``: the message, with what there is instead.

    Examples
    --------
    >>> from tape.core.absent import lacking
    >>> @lacking(["real", "hex"], lambda name: f"a Number has no {name!r}. Format it")
    ... class Number:
    ...     real = 1.0
    >>> hasattr(Number, "hex"), hasattr(Number(), "hex"), Number().real
    (False, False, 1.0)
    """

    def decorate(cls: Class) -> Class:
        for name in names:
            if not name.startswith("_") and not hasattr(cls, name):
                setattr(cls, name, Absent(name, instead))
        return cls

    return decorate
