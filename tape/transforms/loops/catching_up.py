"""Catching up: what a tape has deferred becomes a loop, or is recorded step by step where it is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from tape.core.node import Call, Node
from tape.core.table import INTERNAL
from tape.core.var import Var
from tape.inplace.aliases import note_view
from tape.transforms.loops import rolling
from tape.transforms.loops.columns import Columns
from tape.transforms.loops.deferring import DeferredVar, Period
from tape.transforms.loops.periods import Run
from tape.transforms.loops.rolling import Shorter


def catch_up(trace: Any, period: Period) -> None:
    """Record what a tape has deferred, and let all Vars of it that anybody holds have nodes.

    Parameters
    ----------
    trace : Trace
        The tape, which defers nothing any more.
    period : Period
        What it has deferred.
    """
    held = _held(period)
    nodes = _Nodes(trace.nodes, period)
    wanted: set[int] = set()
    for var in held:
        number = var.number
        wanted.update(nodes.parents(number) if number in period.viewed else [number])
    wanted = {number for number in wanted if number >= period.base}
    shorter = _CaughtUp(_Columns(nodes), wanted, trace, period)
    for var in held:
        shorter.make(var.number)
    for var in held:
        number, view = var.number, period.viewed.get(var.number)
        var.__class__ = Var
        var.id = shorter.place[number]
        var.node = trace.nodes[var.id]
        var.share = None
        if view is not None:
            note_view(trace, var, view)
    period.vars.clear()


def _held(period: Period) -> list[Any]:
    """Return the handles to deferred nodes that somebody holds, or that those are views of, in order."""
    period.operands = ()
    viewed = Counter(map(id, period.viewed.values()))
    held = {id(var): var for var in period.vars if getrefcount(var) > _UNHELD + viewed[id(var)]}
    views = list(held.values())
    while views:
        base = period.viewed.get(views.pop().number)
        if type(base) is DeferredVar and id(base) not in held:
            held[id(base)] = base
            views.append(base)
    return sorted(held.values(), key=lambda var: var.number)


_UNHELD = 3
"""References to a Var that nobody holds but the list that is gone through."""
_UNHELD_NODE = 2
"""References to a node of which nobody has a Var; one of the last period is expected once more."""


class _Nodes(Sequence[Node]):
    """The nodes of a tape, deferred ones included: these have the type of their values, but other numbers."""

    def __init__(self, recorded: list[Node], period: Period) -> None:
        self.recorded = recorded
        self.period = period
        self.first = period.base - period.length  # of the last period that was recorded
        step, self.like = period.next, []
        for _ in range((period.base - period.count) % period.length):
            step = step.following
        for _ in range(period.length):
            self.like.append(step)
            step = step.following

    def __len__(self) -> int:
        return self.period.count

    def __getitem__(self, number: Any) -> Any:
        period = self.period
        if number < period.base:
            return self.recorded[number]
        step = self.like[(number - period.base) % period.length]
        inputs = list(step.node.inputs)
        for k, distance in enumerate(step.distances):
            if distance:
                inputs[2 * k] = number - distance
            elif (number, k) in period.constants:
                inputs[2 * k + 1] = period.constants[number, k]
        return Node(step.node.value, period.calls.get(number, step.call), tuple(inputs))

    def parents(self, number: int) -> list[int]:
        """Return the nodes that one reads."""
        return [parent for parent in self[number].parents if parent is not None]


class _Columns(Columns):
    """The columns of a tape from the first of its periods on; before, there are no operands."""

    def __init__(self, nodes: _Nodes) -> None:
        period = nodes.period
        self.nodes = nodes
        first, base, count = period.start, period.base, period.count
        recorded = Columns(nodes.recorded[first:base])
        steps = -(-(count - base) // period.length)
        counts = [len(step.distances) for step in nodes.like]
        self.starts = np.zeros(count + 1, np.int64)
        self.starts[first : base + 1] = recorded.starts
        ends = np.cumsum([counts] * steps)[: count - base] 
        self.starts[base + 1 :] = recorded.starts[-1] + ends
        distances = np.array([d for step in nodes.like for d in step.distances], np.int64)
        fixed = np.array([-1 if a is None else a for step in nodes.like for a in step.node.parents], np.int64)
        numbers = np.repeat(np.arange(period.length), counts)
        moving = base + numbers - distances
        ahead = np.arange(steps)[:, None] * period.length
        parents = np.where(distances > 0, moving + ahead, fixed).ravel()
        total = int(self.starts[-1])
        self.parents = np.concatenate([recorded.parents, parents])[:total]
        values = [value for step in nodes.like for value in step.node.operands] * steps
        self.values = [*recorded.values, *values][:total]
        for (number, k), constant in period.constants.items():
            self.values[self.starts[number] + k] = constant


    def calls_in(self, run: Run, position: int) -> list[Call]:
        """Return the call at one position in all steps of a run."""
        nodes: Any = self.nodes
        period, numbers = nodes.period, range(run.start + position, run.stop, run.period)
        usual = nodes.like[(numbers[0] - period.base) % run.period].call
        return [
            nodes.recorded[at].call if at < period.base else period.calls.get(at, usual) for at in numbers
        ]

    def recorded_steps(self, run: Run) -> tuple[int, ...]:
        """Return the first and the last step of a run whose values are recorded."""
        steps = (self.nodes.period.base - run.start) // run.period  # type: ignore[attr-defined]
        return tuple(sorted({0, steps - 1})) if steps else ()


class _CaughtUp(Shorter):
    """The tape itself, to which loops and nodes are appended in place of what it has deferred."""

    def __init__(self, columns: _Columns, wanted: set[int], trace: Any, period: Period) -> None:
        super().__init__(columns, wanted, {}, period.program.notes)
        self.nodes = trace.nodes
        self.place = list(range(period.base))
        start, length = period.start, period.length
        last = period.base - length
        if any(getrefcount(self.nodes[at]) > _UNHELD_NODE + (at >= last) for at in range(start, period.base)):
            start = last  # as those before stay
        steps = (period.count - start) // length
        if steps * length >= rolling.LEAST_NODES:
            self.roll(Run(start, length, steps))
        self.finish()

    def make(self, number: int) -> None:
        """Append a node that is in a loop, for a view of something that was collected."""
        if self.place[number] < 0:
            self._copy_node(self.columns.nodes[number])
            self.place[number] = len(self.nodes) - 1

    def _copy_node(self, node: Node) -> None:
        """Append a node, computed anew."""
        pairs = zip(node.parents, node.operands, strict=True)
        operands = [(None, x) if p is None else self.given(p) for p, x in pairs]
        self.append(node.call.op, operands, node.call.attrs)  # type: ignore[arg-type]


INTERNAL["catch_up"] = catch_up
