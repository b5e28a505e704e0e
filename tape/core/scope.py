"""What is open on a thread: traces in ``with`` blocks, and regions that change how operations run.

Each scope has a level, deeper than those of the scopes around it. An operation belongs to the deepest
trace among its operands; a `Region` is asked first about operations of all traces that are less deep
than itself. This file imports nothing of ours: of a trace it needs the level, of an operation that it
can be called.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from itertools import count
from typing import Any

__all__ = [
    "RECORDERS",
    "REGIONS",
    "Region",
    "innermost",
    "is_open",
    "next_level",
    "push",
    "recorded",
    "recorder",
    "region_above",
    "remove",
    "resolve",
]

_levels = count(1024, 1024)  # between them is room for traces that are nested without being opened

REGIONS: list[Region] = []
"""The regions open on any thread: while it is empty, which is nearly always, nobody needs to look."""


RECORDERS: list[Any] = []
"""The traces open on any thread on which a program is recorded: nearly always none."""


class _Stack(threading.local):
    def __init__(self) -> None:
        self.scopes: list[Any] = []


_stack = _Stack()


def innermost() -> Any | None:
    """The innermost open scope of this thread."""
    return _stack.scopes[-1] if _stack.scopes else None


def is_open(scope: Any) -> bool:
    """Whether a scope is open on this thread."""
    return any(opened is scope for opened in _stack.scopes)


def next_level() -> int:
    """The level of a scope about to be opened: deeper than every one there is, open or not."""
    return next(_levels)


def push(scope: Any) -> None:
    """Open a scope on this thread."""
    scope.stack = _stack.scopes
    scope.stack.append(scope)


def remove(scope: Any) -> None:
    """Close a scope, wherever it is: another thread may end the generator that had opened it."""
    scopes = _stack.scopes
    for i in reversed(range(len(scopes))):
        if scopes[i] is scope:
            del scopes[i]
            return
    with suppress(AttributeError, ValueError):  # it was never opened, or is closed already
        scope.stack.remove(scope)  # in one step, as that thread goes on meanwhile


class Region:
    """A stretch of code in which operations on the traces around it run in another way."""

    level: int
    stack: list[Any]  # of the thread that opened it
    is_busy = False
    is_plain = False  # whether the code inside computes with plain arrays that no program is to record
    is_constant = False  # whether what is computed in it has no derivative

    def __enter__(self) -> Any:
        self.level = next_level()
        push(self)
        REGIONS.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        REGIONS.remove(self)
        remove(self)

    def run(self, op: Any, operands: Any, attrs: dict[str, Any]) -> Any:
        """Do what ``op`` does in this region, for operands of which some belong to traces around it.

        The region is asked once: what the operation does inside, to values of outer traces for
        instance, is left alone.
        """
        self.is_busy = True
        try:
            return self.instead(op, operands, attrs)
        finally:
            self.is_busy = False

    def instead(self, op: Any, operands: Any, attrs: dict[str, Any]) -> Any:
        """What to do in place of ``op(*operands, **attrs)``."""
        raise NotImplementedError

    def resolve(self, var: Any) -> Any:
        """What a Var of a trace around this region is to the code in it."""
        return var


def region_above(level: int) -> Region | None:
    """The innermost region of this thread that is deeper than a trace of this level, and not busy."""
    for scope in reversed(_stack.scopes):
        if scope.level <= level:
            return None
        if isinstance(scope, Region) and not scope.is_busy:
            return scope
    return None


def recorder() -> Any | None:
    """Return the trace on which the code of this thread is recorded as a program, if it is."""
    for scope in reversed(_stack.scopes):
        if scope in RECORDERS:
            return None if scope.is_computing else scope
        if isinstance(scope, Region) and scope.is_plain:
            return None
    return None


def recorded(value: Any) -> Any:
    """Return a plain value as one of the program that is being recorded, if one is.

    What is computed with it is then recorded as well: nothing derived from an array that the function closes
    over is frozen.
    """
    if RECORDERS and not hasattr(value, "trace_ref") and (trace := recorder()) is not None:
        return trace.constant(value)
    return value


def resolve(leaf: Any) -> Any:
    """What a function of this region sees of a Var from outside of it; anything else is itself."""
    if REGIONS and hasattr(leaf, "trace_ref"):
        trace = leaf.trace_ref()
        region = region_above(-1 if trace is None else trace.level)
        return leaf if region is None else region.resolve(leaf)
    return leaf
