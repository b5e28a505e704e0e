"""Rolling up: a Python loop that was recorded step by step becomes one operation again.

The nodes that a loop has recorded repeat themselves: the same operations, on operands that are the same in
every step, or as far back as in the step before, or another element of the same array. `rolled` finds such
parts of a tape, and puts the operation of `tape.transforms.loops.steps` in their place; loops in loops
first. Whatever does not fit stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import Handle, Node, plain
from tape.core.op import Op
from tape.ops.products.products import matmul_op
from tape.ops.reduction.primitives import max_along, mean_along, min_along, sum_along
from tape.ops.structure.indexing import getitem_op
from tape.ops.structure.joining import concatenate_op, stack_op
from tape.transforms.loops.assembly import BodyOfRun
from tape.transforms.loops.body import renumbered
from tape.transforms.loops.columns import Columns
from tape.transforms.loops.elements import (
    Misfit,
    count_of_elements,
    elements_of,
    slice_of,
)
from tape.transforms.loops.periods import Run, runs
from tape.transforms.loops.sources import Sources

LEAST_NODES = 4096
"""Nodes from which on a loop is rolled up: most shorter ones run as fast or faster as they are."""
LEAST_OF_PRODUCTS = 192
"""Nodes from which on one with products or sums of arrays is: its steps cannot become one group."""
_PRODUCTS_AND_SUMS = frozenset({matmul_op, sum_along, mean_along, max_along, min_along})
_LEAST_STEPS = 8
_LEAST_GATHERED = 64
_DEPTH = 4


def rolled(
    columns: Columns, inputs: Collection[int], roots: Collection[int], notes: list[str]
) -> tuple[list[Node], dict[int, int]] | None:
    """Return a shorter tape, with loops in place of what repeats itself; None if there is none.

    Parameters
    ----------
    columns : Columns
        A tape. The values of its nodes are numbers and arrays, or Vars of a tape further out.
    inputs : collection of int
        Leaves that stay.
    roots : collection of int
        The nodes that are asked for.
    notes : list of str
        To which the reason is added why something that repeats itself is no loop.

    Returns
    -------
    list of Node
        The tape, without what nothing asks for.
    dict of int to int
        Where inputs and roots are on it.
    """
    if len(columns.nodes) < min(LEAST_NODES, LEAST_OF_PRODUCTS):
        return None
    place, whole = {id: id for id in (*inputs, *roots)}, columns
    if not columns.are_all_read(place):
        nodes, place = without_dead(columns.nodes, inputs, roots)
        columns = Columns(nodes)
    bodies: dict[Any, Any] = {}
    least = LEAST_NODES
    for _ in range(_DEPTH):
        found = _rolled_once(columns, place, inputs, bodies, notes, least)
        if found is None:
            break
        columns, place = found
        least = LEAST_NODES // 8  # of which some are loops themselves
    found = _rolled_once(columns, place, inputs, bodies, notes, LEAST_OF_PRODUCTS, is_short=True)
    if found is not None:
        columns, place = found
    return None if columns is whole else (list(columns.nodes), place)


def _rolled_once(
    columns: Columns,
    place: dict[int, int],
    inputs: Collection[int],
    bodies: dict[Any, Any],
    notes: list[str],
    least: int,
    *,
    is_short: bool = False,
) -> tuple[Columns, dict[int, int]] | None:
    """Return a tape with loops of so many nodes at least, and where nodes are on it; None without any."""
    if len(columns.nodes) < least:
        return None
    shorter = Shorter(columns, set(place.values()), bodies, notes)
    for run in runs(columns.kinds({place[id] for id in inputs}), _LEAST_STEPS, least):
        if not is_short or is_faster_rolled(columns, run):
            shorter.roll(run, keeps_apart=is_short)
    if not shorter.count:
        return None
    shorter.finish()
    nodes, numbers = without_dead(shorter.nodes, [shorter.place[at] for at in place.values()])
    return Columns(nodes), {id: numbers[shorter.place[at]] for id, at in place.items()}


def is_faster_rolled(columns: Columns, run: Run) -> bool:
    """Return whether a short run takes less time as a loop: each step has a product or a sum of arrays."""
    nodes = [columns.nodes[at] for at in range(run.start, run.start + run.period)]
    return any(
        node.op in _PRODUCTS_AND_SUMS and any(np.ndim(plain(operand)) for operand in node.operands)
        for node in nodes
    )


def gathered(columns: Columns, roots: Collection[int]) -> tuple[list[Node], dict[int, int]] | None:
    """Return a tape on which the elements of an array, joined again, are that array; None if there are none.

    Parameters
    ----------
    columns : Columns
        A tape.
    roots : collection of int
        The nodes that are asked for, inputs included.

    Returns
    -------
    list of Node
        The tape, without what nothing asks for.
    dict of int to int
        Where the roots are on it.
    """
    if not any(
        node.call.op is stack_op and len(node.inputs) >= 2 * _LEAST_GATHERED for node in columns.nodes
    ):
        return None
    shorter = Shorter(columns, roots, {}, [])
    shorter.finish()
    nodes, numbers = without_dead(shorter.nodes, [shorter.place[id] for id in roots])
    return nodes, {id: numbers[shorter.place[id]] for id in roots}


def without_dead(
    tape: Sequence[Node], inputs: Collection[int], roots: Collection[int] = (), notes: Any = None
) -> tuple[list[Node], dict[int, int]]:
    """Return a tape without what neither inputs nor roots need, and where these are on it."""
    alive = bytearray(len(tape))
    for id in (*inputs, *roots):
        alive[id] = 1
    for id in range(len(tape) - 1, -1, -1):
        if alive[id]:
            for parent in tape[id].inputs[::2]:
                if parent is not None:
                    alive[parent] = 1
    first = alive.find(0) % (len(tape) + 1)  # those before it keep their numbers
    numbers = list(range(first))
    kept = list(tape[:first])
    for id in range(first, len(tape)):
        numbers.append(len(kept))
        if alive[id]:
            kept.append(renumbered(tape[id], numbers))
    return kept, {id: numbers[id] for id in (*inputs, *roots)}


class Shorter:
    """The tape that is made, with loops in place of runs.

    Attributes
    ----------
    nodes : list of Node
    place : list of int
        Where each node of the old tape is; -1 for those in a loop that nothing outside reads.
    count : int
        How many loops there are.
    """

    def __init__(
        self, columns: Columns, roots: Collection[int], bodies: dict[Any, Any], notes: list[str]
    ) -> None:
        self.columns = columns
        self.nodes: list[Node] = []
        self.place: list[int] = []
        self.count = 0
        self.bodies = bodies
        self._notes = notes
        self._readers = np.zeros(len(columns.nodes) + 1, np.int64)  # the last node that reads each
        np.maximum.at(self._readers, columns.parents, columns.owners)  # constants count for the one too many
        self._readers[list(roots)] = len(columns.nodes)

    def roll(self, run: Run, *, keeps_apart: bool = False) -> None:
        """Append the nodes up to a run, and a loop in its place; not if it is none after all.

        With ``keeps_apart`` it is none if separate arrays would have to be joined for it.
        """
        reason = "there are too few"
        for attempt in self._attempts(run):
            nodes, places = len(self.nodes), len(self.place)
            try:
                loop = Sources(self.columns, attempt)
                if keeps_apart and loop.is_of_separate_arrays():
                    raise Misfit("separate arrays would have to be joined for it")
                self._copy(attempt.start)
                self._append_loop(loop)
            except (Misfit, errors.TapeError) as error:
                del self.nodes[nodes:], self.place[places:]
                reason = str(error)
                continue
            self.count += 1
            return
        self._notes.append(f"{run.steps} times {run.period} operations: {reason}")

    def finish(self) -> None:
        """Append the nodes after the last loop."""
        self._copy(len(self.columns.nodes))

    def _attempts(self, run: Run) -> list[Run]:
        """Return a run with the fewest values from step to step, and with a step less at either end."""
        period = run.period
        middle = run.start + period * (run.steps // 2)
        crossing = np.zeros(2 * period + 1, np.int64)
        for j in range(period):
            last = min(int(self._readers[middle + j]) - middle, 2 * period - 1)
            if last < run.stop - middle:
                crossing[j + 1] += 1
                crossing[max(last, j) + 1] -= 1
        levels = np.cumsum(crossing)
        load = levels[:period] + levels[period : 2 * period]
        shift = int(np.argmin(load))
        if shift:
            run = Run(run.start + shift, period, run.steps - 1)
        shorter = Run(run.start + period, period, run.steps - 1), Run(run.start, period, run.steps - 1)
        return [r for r in (run, *shorter) if r.steps >= _LEAST_STEPS]

    def _copy(self, stop: int) -> None:
        """Append the nodes of the old tape up to one."""
        for id in range(len(self.place), stop):
            node = self.columns.nodes[id]
            if node.call.op is stack_op:
                self._copy_stack(node)
            else:
                self._copy_node(node)
            self.place.append(len(self.nodes) - 1)

    def _copy_node(self, node: Node) -> None:
        """Append a node; where it stands for one of a tape further out, computed anew if an operand was."""
        same = renumbered(node, self.place)
        pairs = list(zip(same.parents, same.operands, strict=True))
        if isinstance(node.value, Handle) and any(
            parent is not None and self.nodes[parent].value is not value for parent, value in pairs
        ):
            assert node.op is not None
            self.append(node.op, [(p, x if p is None else self.nodes[p].value) for p, x in pairs], node.attrs)
        else:
            self.nodes.append(same)

    def _copy_stack(self, node: Node) -> None:
        """Append a stack of nodes: if they are the elements of an array, in order, that array is it."""
        same = renumbered(node, self.place)
        pairs = zip(same.parents, same.operands, strict=True)
        operands = [(p, x if p is None else self.nodes[p].value) for p, x in pairs]
        pieces: list[tuple[int, int]] = []  # where those begin and end that are elements of one array
        start = 0
        while start < len(operands):
            stop = start + self._elements_from(operands, start)
            pieces.append((start, stop))
            start = stop
        if 4 * len(pieces) > len(operands) or node.attrs["axis"] not in (0, -node.value.ndim):
            self._copy_node(node)
            return
        made = [self._append_piece(operands[start:stop]) for start, stop in pieces]
        self.append(concatenate_op, [(at, self.nodes[at].value) for at in made], {"axis": 0})

    def _elements_from(self, operands: Sequence[tuple[int | None, Any]], start: int) -> int:
        """Return how many operands from one on are elements of one array, at least one."""
        nodes = []
        for parent, _ in operands[start:]:
            if parent is None:
                break
            nodes.append(self.nodes[parent])
        return max(1, count_of_elements(nodes))

    def _append_piece(self, operands: Sequence[tuple[int | None, Any]]) -> int:
        """Append operands of a stack as one array."""
        found = elements_of([self.nodes[parent] for parent, _ in operands if parent is not None])
        if found is None:
            return self.append(stack_op, operands, {"axis": 0})
        array, first, step = found
        index = (slice_of(first, step, len(operands)),)
        return self.append(getitem_op, [(array, self.nodes[array].value)], {"index": index})

    def append(self, op: Op, parents: Sequence[tuple[int | None, Any]], attrs: dict[str, Any]) -> int:
        """Append a node, and return its number."""
        active = tuple([p is not None and self.nodes[p].is_active for p, _ in parents])
        value = op.bind([value for _, value in parents], attrs)
        inputs = [x for pair in parents for x in pair]
        self.nodes.append(Node(value, op.call(attrs, active), tuple(inputs)))
        return len(self.nodes) - 1

    def operands_of(self, node: Node) -> list[tuple[int | None, Any]]:
        """Return the operands of a node of the old tape, where they are now."""
        pairs = zip(node.parents, node.operands, strict=True)
        return [(None, x) if p is None else self.given(p) for p, x in pairs]

    def given(self, node: int) -> tuple[int, Any]:
        """Return a node of the old tape as an operand."""
        at = self.place[node]
        return at, self.nodes[at].value

    def _append_loop(self, loop: Sources) -> None:
        run, columns = loop.run, self.columns
        is_wanted = self._readers[run.start : run.stop] >= run.stop
        wanted = {*(run.start + np.flatnonzero(is_wanted)).tolist()}
        alone = {id for id in wanted if (id - run.start) % run.period in loop.alone | loop.elements.keys()}
        base = len(self.place)
        self.place += [-1] * (run.stop - base)
        for id in sorted(wanted & alone):
            self._copy_node(columns.nodes[id])
            self.place[id] = len(self.nodes) - 1
        last_step = run.stop - run.period
        collected = sorted({(id - run.start) % run.period for id in wanted - alone if id < last_step})
        final = sorted({id - last_step for id in wanted - alone if id >= last_step} - {*collected})
        builder = BodyOfRun(self, loop, final, collected)
        results = builder.append()
        for j, k in builder.final_results.items():
            self.place[last_step + j] = results(k)
            self._keep_kind(self.place[last_step + j], columns.nodes[last_step + j])
        for j, k in builder.collected_results.items():
            array = results(k)
            for step in range(run.steps):
                id = run.start + step * run.period + j
                if id in wanted and self.place[id] < 0:
                    operand = (array, self.nodes[array].value)
                    self.place[id] = self.append(getitem_op, [operand], {"index": (step,)})
                    self._keep_kind(self.place[id], columns.nodes[id])

    def _keep_kind(self, at: int, old: Node) -> None:
        """Make a number one of Python's, if that is what it was: it does not widen others."""
        kind, node = type(plain(old.value)), self.nodes[at]
        while isinstance(node.value, Handle):
            node = node.value.node
        if kind is not np.ndarray and not issubclass(kind, np.generic):
            node.value = kind(node.value)
