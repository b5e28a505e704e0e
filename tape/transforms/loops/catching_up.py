"""Catching up: what a tape has deferred becomes a loop, or is recorded step by step where it is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from sys import getrefcount
from typing import Any

import numpy as np

from tape.core.node import Call, Node
from tape.core.program_recorders import program_recorder
from tape.core.table import INTERNAL
from tape.core.var import Var
from tape.inplace.aliases import note_view
from tape.transforms.loops import rolling
from tape.transforms.loops.columns import Columns, numbered
from tape.transforms.loops.deferring import DeferredVar, handle
from tape.transforms.loops.elements import Misfit
from tape.transforms.loops.expectation import Expected, Period
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
    program, held = period.program, _held_vars(period)
    before, program.postpones = program.postpones, False  # it may be a number that somebody asks for
    try:
        _catch_up(trace, period, held)
    finally:
        program.postpones = before


def _catch_up(trace: Any, period: Period, held: Sequence[Any]) -> None:
    if _any_node_held(trace.nodes[period.start : period.base], period.length):
        # They have their nodes: a loop from the first step on would compute these steps twice. Of those
        # that are recorded it needs one whole, wherever its steps begin, to be compared with.
        period.start = max(period.start, period.base - 2 * period.length)
    place = list(range(period.base))
    run = Run(period.start, period.length, (period.count - period.start) // period.length)
    if run.size >= rolling.LEAST_NODES:
        _roll(trace.nodes, place, period, run, held)
    record = _Record(trace.nodes, place, period)
    place += [-1] * (period.count - (rolled := len(place)))
    for number in range(rolled, period.count):
        place[number] = record(number)
    for var in held:
        number, view = var.number, period.viewed.get(var.number)
        if place[number] < 0:  # a view in a loop, of something that was collected
            place[number] = record(number)
        var.__class__ = Var
        var.id = place[number]
        var.node = trace.nodes[var.id]
        var.share = None
        if view is not None:
            note_view(trace, var, view)
    period.vars.clear()


def _roll(nodes: list[Node], place: list[int], period: Period, run: Run, held: Sequence[Any]) -> None:
    """Append a loop in the place of a run, if it is one."""
    deferred = _Nodes(nodes, period)
    wanted: set[int] = set()
    for var in held:
        number = var.number
        wanted.update(deferred.parents(number) if number in period.viewed else [number])
    # What a view is of is held, too, and so wants what that is a view of.
    wanted = {number for number in wanted if number >= period.base and number not in period.viewed}
    _CaughtUp(_Columns(deferred), wanted, nodes, place).roll(run)


class _Record:
    """Records operations that were deferred, one by one.

    Parameters
    ----------
    nodes : list of Node
        The tape.
    place : list of int
        Where each node is on it, deferred ones included.
    period : Period
        What was deferred.
    """

    def __init__(self, nodes: list[Node], place: list[int], period: Period) -> None:
        self.nodes = nodes
        self.place = place
        self.period = period
        self.computed = [_computing(step) for step in period.steps]

    def __call__(self, number: int) -> int:
        """Append a node; return where it is."""
        nodes, place, period = self.nodes, self.place, self.period
        position = (number - period.base) % period.length
        step = period.steps[position]
        given = step.node.inputs
        inputs: list[Any] = []
        for k, distance in enumerate(step.distances):
            parent = given[2 * k]
            if distance:
                parent = place[number - distance]
            if parent is None:
                inputs += (None, period.constants.get((number, k), given[2 * k + 1]))
            else:
                inputs += (parent, nodes[parent].value)
        call = period.calls.get(number, step.call)
        nodes.append(Node(self.computed[position](call, inputs[1::2]), call, tuple(inputs)))
        return len(nodes) - 1


def _computing(step: Expected) -> Callable[[Call, Sequence[Any]], Any]:
    """Return a function of the call and the operands of a node that computes its value."""
    op: Any = step.call.op
    if step.call.attrs or len(step.distances) > 2:
        return lambda call, operands: op.bind(operands, call.attrs)
    on_program = program_recorder(op, len(step.distances))
    return lambda call, operands: on_program(*operands)


def _held_vars(period: Period) -> list[Any]:
    """Return the handles to deferred nodes that somebody holds, or that those are views of, in order."""
    period.operands = ()
    counts = _references([*period.vars, handle(period, -1)])
    period.vars.pop()
    counts, unheld = counts[:-1], counts[-1]
    viewed = Counter(map(id, period.viewed.values()))
    held = {
        id(var): var
        for var, count in ((period.vars[k], counts[k]) for k in np.flatnonzero(counts > unheld).tolist())
        if count > unheld + viewed[id(var)]
    }
    views = list(held.values())
    while views:
        base = period.viewed.get(views.pop().number)
        if type(base) is DeferredVar and id(base) not in held:
            held[id(base)] = base
            views.append(base)
    return sorted(held.values(), key=lambda var: var.number)


def _any_node_held(nodes: Sequence[Node], length: int) -> bool:
    """Return whether somebody has a Var of any of these nodes, of which the last ones are expected again."""
    tape = [object()]
    unheld = _references(tape[:])[0]  # this list and a copy, as the tape and part of it
    counts = _references(nodes)
    counts[-length:] -= 1
    return bool((counts > unheld).any())


def _references(things: Sequence[Any]) -> np.ndarray:
    """Return how many references there are to each of some things, those that counting takes included."""
    return np.fromiter(map(getrefcount, things), np.int64, len(things))


class _Nodes(Sequence[Node]):
    """The nodes of a tape, deferred ones included: these have the type of their values, but other numbers."""

    def __init__(self, recorded: list[Node], period: Period) -> None:
        self.recorded = recorded
        self.period = period

    def __len__(self) -> int:
        return self.period.count

    def __getitem__(self, number: Any) -> Any:
        period = self.period
        if number < period.base:
            return self.recorded[number]
        step = period.steps[(number - period.base) % period.length]
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
        first, base, count = period.start, period.base, period.count
        self.nodes = nodes
        self._recorded = Columns(nodes.recorded[first:base])
        self._repeated = Columns([step.node for step in period.steps])
        steps = -(-(count - base) // period.length)
        counts = np.diff(self._repeated.starts)
        self.starts = np.zeros(count + 1, np.int64)
        self.starts[first : base + 1] = self._recorded.starts
        ends = np.cumsum(np.tile(counts, steps)[: count - base])
        self.starts[base + 1 :] = self._recorded.starts[-1] + ends
        distances = np.array([d for step in period.steps for d in step.distances], np.int64)
        moving = base + np.repeat(np.arange(period.length), counts) - distances
        ahead = np.arange(steps)[:, None] * period.length
        parents = np.where(distances > 0, moving + ahead, self._repeated.parents).ravel()
        self.parents = np.concatenate([self._recorded.parents, parents])[: self.starts[-1]]

    @cached_property
    def constants(self) -> np.ndarray:
        """Return a number for each operand, the same for constants that are one; -1 for nodes."""
        nodes: Any = self.nodes
        others = nodes.period.constants
        values = [*self._recorded.values, *self._repeated.values, *others.values()]
        parents = [self._recorded.parents, self._repeated.parents, np.full(len(others), -1)]
        found = numbered(values, np.concatenate(parents))
        start, stop = len(self._recorded.values), len(values) - len(others)
        steps = -(-(len(self.parents) - start) // max(1, stop - start))
        whole = np.concatenate([found[:start], np.tile(found[start:stop], steps)])[: len(self.parents)]
        whole[[self.starts[at] + slot for at, slot in others]] = found[stop:]
        return whole

    def values_in(self, run: Run, position: int, slot: int) -> list[Any]:
        """Return the value of one operand in all steps of a run."""
        numbers = range(run.start + position, run.stop, run.period)
        return [self.nodes[at].operands[slot] for at in numbers]

    def calls_in(self, run: Run, position: int) -> list[Call]:
        """Return the call at one position in all steps of a run."""
        nodes: Any = self.nodes
        period, numbers = nodes.period, range(run.start + position, run.stop, run.period)
        usual = period.steps[(numbers[0] - period.base) % run.period].call
        return [
            nodes.recorded[at].call if at < period.base else period.calls.get(at, usual) for at in numbers
        ]

    def recorded_steps(self, run: Run) -> tuple[int, ...]:
        """Return the first and the last step of a run whose values are recorded."""
        steps = (self.nodes.period.base - run.start) // run.period  # type: ignore[attr-defined]
        if steps < 1:
            raise Misfit("no step of it has been computed yet")
        return tuple(sorted({0, steps - 1}))


class _CaughtUp(Shorter):
    """The tape itself, to which loops are appended in place of what it has deferred."""

    def __init__(self, columns: _Columns, wanted: set[int], nodes: list[Node], place: list[int]) -> None:
        super().__init__(columns, wanted, {}, [])
        self.nodes = nodes
        self.place = place

    def _copy_node(self, node: Node) -> None:
        """Append a node, computed anew."""
        self.append(node.call.op, self.operands_of(node), node.call.attrs)  # type: ignore[arg-type]


INTERNAL["catch_up"] = catch_up
