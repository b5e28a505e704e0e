"""The capacity of a `while_loop` in a program: for how many steps there is room, and what happens beyond.

A program has a fixed size, and so has what a loop that data end keeps of its steps. One that takes more steps
in a later call is found by guards, and the function is recorded anew; while it is recorded, larger and larger
capacities are tried. In the body of another loop, the largest number of steps becomes a part of that one's
state, up to the outermost loop, which knows each loop inside of it by its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np

from tape import ops
from tape.core.dispatch import need_numbers
from tape.core.nesting import batch_below
from tape.core.node import Handle, plain
from tape.transforms.loops.body import BodyTrace, Unrolled

T = TypeVar("T")
Place = tuple[int, ...]
"""Which loop of the body of which loop, from the outermost one on."""

_FIRST, _GROWTH = 64, 4
_UNMET: Place = (0,)
"""The place of no loop: in place of steps, what is counted there are conditions that do not hold."""


class Full(Exception):
    """Raised while a loop is recorded in which one takes more steps than its capacity."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place


class _Scope:
    """The body of a loop that is being recorded."""

    def __init__(self, capacities: dict[Place, int], place: Place) -> None:
        self.capacities = capacities
        self.place = place
        self.count = 0


_scope: ContextVar[_Scope | None] = ContextVar("scope", default=None)


@contextmanager
def _inside(scope: _Scope) -> Iterator[None]:
    token = _scope.set(scope)
    try:
        yield
    finally:
        _scope.reset(token)


def with_capacity(attempt: Callable[[Place], T]) -> T:
    """Record a loop, given its place; with larger capacities as long as it or a loop in it needs them."""
    outer = _scope.get()
    if outer is not None:
        outer.count += 1
        return attempt((*outer.place, outer.count))
    capacities: dict[Place, int] = {}
    while True:
        try:
            with _inside(_Scope(capacities, ())):
                return attempt(())
        except Full as full:
            capacities[full.place] = _GROWTH * capacities.get(full.place, _FIRST)


@contextmanager
def body_of(place: Place) -> Iterator[None]:
    """While the body of a loop is recorded: loops inside of it have places of their own."""
    scope = _scope.get()
    assert scope is not None
    with _inside(_Scope(scope.capacities, place)):
        yield


def capacity_of(place: Place) -> int:
    """Return the capacity of the loop at a place."""
    if place == _UNMET:
        return 0
    scope = _scope.get()
    return _FIRST if scope is None else scope.capacities.get(place, _FIRST)


def guard_step_counts(taken: Sequence[tuple[Place, Any]]) -> None:
    """Require that loops have ended, of which we have the number of steps that they took, or had to.

    In a later call they may take another number. That they take more than the least capacity, than the next
    one and so on are guards, which tell programs of different capacities apart.
    """
    capacities_for(taken)
    for place, count in taken:
        count = _most(count)
        inner = _in_body(count)
        if inner is not None:
            inner.trace.step_counts.append((place, inner))
            continue
        size = 0 if place == _UNMET else _FIRST
        while bool(count > size):
            size *= _GROWTH


def _most(count: Any) -> Any:
    """Return the largest number of steps, if there is one for each element of a batch."""
    while (batch := batch_below(count)) is not None:
        count = ops.max(batch.node.value, initial=0)
    return count


def capacities_for(taken: Sequence[tuple[Place, Any]]) -> dict[Place, int]:
    """Return the capacities there are now; raise if one of these numbers of steps is larger."""
    if taken:
        need_numbers()
    for place, count in taken:
        if plain(_most(count)) > capacity_of(place):
            raise Unrolled("a condition does not hold in some step") if place == _UNMET else Full(place)
    scope = _scope.get()
    return {} if scope is None else scope.capacities


@contextmanager
def given_capacities(capacities: dict[Place, int]) -> Iterator[None]:
    """Take capacities for those of the loops of which the numbers of steps are guarded."""
    with _inside(_Scope(capacities, ())):
        yield


def is_met(condition: Any) -> bool:
    """Return whether a condition holds that what follows relies on.

    In a program that is a guard. In the body of a loop it has to hold in every step, which is a guard behind
    the outermost loop; where it does not, the loop is recorded step by step.
    """
    need_numbers()
    while (batch := batch_below(condition)) is not None:
        condition = ops.all(batch.node.value)
    inner = _in_body(condition)
    if inner is None:
        return bool(condition)
    if not plain(inner):
        raise inner.trace.refuse("a condition does not hold")
    inner.trace.step_counts.append((_UNMET, ops.astype(ops.logical_not(inner), np.int64)))
    return True


def _in_body(value: Any) -> Any:
    """Return the Var that a value is on the tape of a body that is being recorded; None if it is on none."""
    while isinstance(value, Handle) and not isinstance(value.trace_ref(), BodyTrace):
        value = value.node.value
    return value if isinstance(value, Handle) else None
