"""How many steps of a `while_loop` a program has room for, and what happens where it takes more.

A program has a fixed size, so that loops that data end have room for a number of steps. One that has not
ended by then gives an unfinished state: `settle` makes that a guard, so that the function is recorded anew, and
while it is recorded, more room is tried. In the body of another loop it becomes a part of that one's state, up
to the outermost loop.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar

from tape.core.node import Handle, plain
from tape.transforms.loops.body import BodyTrace

T = TypeVar("T")

_FIRST, _GROWTH = 256, 8
_room: ContextVar[int | None] = ContextVar("room", default=None)


class Full(Exception):
    """Raised while a loop is recorded that takes more steps than there is room for."""


def room() -> int:
    """Return the number of steps that loops have room for which are being recorded."""
    return _room.get() or _FIRST


def with_room(attempt: Callable[[], T]) -> T:
    """Record a loop, and if it or a loop in it takes more steps than there is room for, with more room."""
    if _room.get() is not None:  # in the body of another loop, which sees to that
        return attempt()
    size = _FIRST
    while True:
        token = _room.set(size)
        try:
            return attempt()
        except Full:
            size *= _GROWTH
        finally:
            _room.reset(token)


def settle(is_unfinished: Any) -> None:
    """Require that a loop has ended: in this call, and by a guard in each later one."""
    if plain(is_unfinished):
        raise Full
    inner = is_unfinished
    while isinstance(inner, Handle):
        if isinstance(inner.trace, BodyTrace):
            inner.trace.unfinished.append(inner)
            return
        inner = inner.node.value
    bool(is_unfinished)  # which is a guard
