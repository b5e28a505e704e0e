"""Rolling up: a Python loop that was recorded step by step becomes one operation again.

The nodes that a loop has recorded repeat themselves: the same operations, on operands that are the same in
every step, or as far back as in the step before, or another element of the same array. `rolled` finds such
parts of a tape, and puts the operation of `tape.transforms.loops.steps` in their place; loops in loops
first. Whatever does not fit stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tape.core.linear import part
from tape.core.node import Call, Handle, Leaf, Node, plain
from tape.core.op import Op
from tape.core.results import Results
from tape.ops.structure.indexing import getitem_op
from tape.ops.structure.joining import concatenate_op, stack_op
from tape.transforms.loops.body import Body
from tape.transforms.loops.periods import Run, runs
from tape.transforms.loops.steps import STEPS, Steps

LEAST_NODES, _LEAST_IN_LOOP = 256, 96
"""Nodes from which on a tape is looked at, and from which on a loop is rolled up."""
_LEAST_STEPS = 8
_MOST_STACKED, _MOST_BYTES = 4096, 4096
"""How many separate values are joined in an array for the steps of a loop, and of what size."""
_DEPTH = 4


class _Misfit(Exception):
    """Raised where nodes that look alike are no loop."""


def rolled(
    nodes: Sequence[Node], inputs: Collection[int], roots: Collection[int]
) -> tuple[list[Node], dict[int, int]] | None:
    """Return a shorter tape, with loops in place of what repeats itself; None for short ones.

    Parameters
    ----------
    nodes : sequence of Node
        A tape. The values of its nodes are numbers and arrays, or Vars of a tape further out.
    inputs : collection of int
        Leaves that stay.
    roots : collection of int
        The nodes that are asked for.

    Returns
    -------
    list of Node
        The tape, without what nothing asks for.
    dict of int to int
        Where inputs and roots are on it.
    """
    if len(nodes) < LEAST_NODES:
        return None
    tape, place = _without_dead(nodes, {id: id for id in {*inputs, *roots}})
    bodies: dict[Any, Any] = {}
    least = _LEAST_IN_LOOP
    for _ in range(_DEPTH):
        table = _Table(tape, {place[id] for id in inputs})
        shorter = _Shorter(table, set(place.values()), bodies)
        for run in runs(table.codes, _LEAST_STEPS, least):
            shorter.roll(run)
        if not shorter.count:
            break
        shorter.finish()
        tape, place = _without_dead(shorter.nodes, {id: shorter.place[at] for id, at in place.items()})
        least = _LEAST_IN_LOOP // 4  # of which some are loops themselves
    return tape, place


def _without_dead(tape: Sequence[Node], place: dict[int, int]) -> tuple[list[Node], dict[int, int]]:
    """Drop nodes that nothing needs any more."""
    alive = bytearray(len(tape))
    for id in place.values():
        alive[id] = 1
    for id in range(len(tape) - 1, -1, -1):
        if alive[id]:
            for parent in tape[id].inputs[::2]:
                if parent is not None:
                    alive[parent] = 1
    numbers: list[int] = []
    kept: list[Node] = []
    for id, node in enumerate(tape):
        numbers.append(len(kept))
        if alive[id]:
            kept.append(_renumbered(node, numbers))
    return kept, {id: numbers[at] for id, at in place.items()}


def _renumbered(node: Node, numbers: Sequence[int]) -> Node:
    """Return a node whose parents have other numbers."""
    inputs = node.inputs
    for parent in inputs[::2]:
        if parent is not None and numbers[parent] != parent:
            break
    else:
        return node
    renewed: list[Any] = []
    for old, value in zip(inputs[::2], inputs[1::2], strict=True):
        renewed += (None if old is None else numbers[old], value)
    return Node(node.value, node.call, tuple(renewed))


# ---- what nodes are alike ------------------------------------------------------------------------------


class _Table:
    """A tape as arrays: a code for each node, equal for nodes alike, and its parents."""

    def __init__(self, nodes: Sequence[Node], inputs: Collection[int]) -> None:
        self.nodes = nodes
        self.codes = np.empty(len(nodes), np.int64)
        self._known: dict[Any, int] = {}
        self._calls: dict[int, Any] = {}
        for id, node in enumerate(nodes):
            is_alone = id in inputs or (node.call.op is None and getattr(node, "is_param", False))
            self.codes[id] = -1 - id if is_alone else self._code(node)

    def _code(self, node: Node) -> int:
        call, value = node.call, node.value
        key = self._calls.get(id(call))
        if key is None:
            key = self._calls[id(call)] = (call.op, call.pull is None, _key_of(call.op, call.attrs))
        kinds = [None if parent is None else 1 for parent in node.inputs[::2]]
        whole = (key, value.shape, value.dtype, *kinds)
        return self._known.setdefault(whole, len(self._known))

    def parents(self, run: Run, position: int, slot: int) -> list[int | None]:
        """Return the parent of one operand in all steps of a run."""
        at = run.start + position
        return [self.nodes[at + k * run.period].inputs[2 * slot] for k in range(run.steps)]

    def operands(self, run: Run, position: int, slot: int) -> list[Any]:
        """Return the value of one operand in all steps of a run."""
        at = run.start + position
        return [self.nodes[at + k * run.period].inputs[2 * slot + 1] for k in range(run.steps)]


def _key_of(op: Op | None, attrs: dict[str, Any]) -> Any:
    """Return what the static arguments of nodes alike have in common; integers in an index may differ."""
    if op is getitem_op:
        return _Hashable(tuple([int if type(i) is int else i for i in attrs["index"]]))
    return _Hashable(tuple(attrs.items()))


class _Hashable:
    """Static arguments, compared by their types and values; by identity if they are of another kind."""

    __slots__ = ("_key",)

    def __init__(self, value: Any) -> None:
        self._key = _flat(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hashable) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _flat(value: Any) -> Any:
    if isinstance(value, tuple):
        return (tuple, *[_flat(item) for item in value])
    if isinstance(value, slice):
        return (slice, _flat(value.start), _flat(value.stop), _flat(value.step))
    if isinstance(value, (bool, int, str, type(None), np.dtype, type)):
        return (type(value), value)
    if isinstance(value, (float, complex, np.generic)):
        return (type(value), np.asarray(value).tobytes())
    return (id(value), _Same(value))


class _Same:
    """Equal to the same object alone, which it keeps."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


# ---- one loop --------------------------------------------------------------------------------------------


class _Loop:
    """A run of nodes as a loop: where each operand of its body comes from.

    Attributes
    ----------
    constants, states, arrays : dict
        What the body reads of outside, with the number of the leaf. Constants are nodes or values; states are
        pairs of a position in the body and how many steps ago; arrays are positions of an operand.
    """

    def __init__(self, table: _Table, run: Run) -> None:
        self.table = table
        self.run = run
        self.nodes = [table.nodes[run.start + j] for j in range(run.period)]
        self.elements: dict[int, tuple[Any, int, int]] = {}  # reads of an array by a counter
        self.sources: list[list[tuple[Any, ...]]] = []
        self.first: dict[tuple[int, int], Any] = {}  # of each state the node that it is at first
        self.alone: set[int] = set()  # positions of leaves
        for j, node in enumerate(self.nodes):
            op = node.call.op
            if op is None:
                self.alone.add(j)
            elif op.data_dependent is True or (
                op.data_dependent and op.data_dependent(*node.operands, **node.attrs)
            ):
                raise _Misfit
        for j, node in enumerate(self.nodes):
            self._look_at_index(j, node)
            if j in self.elements or j in self.alone:
                self.sources.append([])
                continue
            count = len(node.inputs) // 2
            self.sources.append([self._source(j, slot) for slot in range(count)])

    def _look_at_index(self, j: int, node: Node) -> None:
        """Note a position that reads another element of one array in each step."""
        if node.call.op is not getitem_op:
            return
        run, nodes = self.run, self.table.nodes
        indices = [nodes[run.start + j + k * run.period].call.attrs["index"] for k in range(run.steps)]
        first = indices[0]
        if all(index == first for index in indices):
            return
        moving = [
            axis
            for axis in range(len(first))
            if len({index[axis] for index in indices if type(first[axis]) is int} or {0}) > 1
        ]
        if moving != [0]:
            raise _Misfit
        length = np.shape(node.inputs[1])[0]
        numbers = [index[0] % length for index in indices]
        step = numbers[1] - numbers[0]
        if not step or any(b - a != step for a, b in pairwise(numbers)):
            raise _Misfit
        parents, values = self.table.parents(run, j, 0), self.table.operands(run, j, 0)
        if any(p != parents[0] for p in parents):
            raise _Misfit
        if parents[0] is None and not all(_are_same(value, values[0]) for value in values):
            raise _Misfit
        if (parents[0] is not None and parents[0] >= run.start) or len(node.inputs) != 2:
            raise _Misfit
        self.elements[j] = (parents[0] if parents[0] is not None else _Same(values[0]), numbers[0], step)

    def _source(self, j: int, slot: int) -> tuple[Any, ...]:
        """Return where an operand comes from."""
        run, table = self.run, self.table
        parents = table.parents(run, j, slot)
        first = parents[0]
        if first is None:
            return self._constant(j, slot)
        if all(parent == first for parent in parents):
            return self._outside("node", first)
        distances = [parent - run.start - k * run.period for k, parent in enumerate(parents)]  # type: ignore[operator]
        distance = distances[-1]
        lag = max(0, -(distance // run.period))
        if lag >= run.steps or any(d != distance for d in distances[lag:]):
            return self._separate(parents)
        position = distance + lag * run.period
        if not lag:
            return ("here", position)
        if position in self.alone:
            raise _Misfit
        for k in range(lag):
            self._first(position, lag - k, parents[k])
        return ("state", position, lag)

    def _first(self, position: int, lag: int, node: Any) -> None:
        if node >= self.run.start or self.first.setdefault((position, lag), node) != node:
            raise _Misfit

    def _outside(self, kind: str, node: Any) -> tuple[Any, ...]:
        if node >= self.run.start:
            raise _Misfit
        return (kind, node)

    def _separate(self, parents: Sequence[Any]) -> tuple[Any, ...]:
        """Return another node for each step, all of them from before the loop."""
        if max(parents) >= self.run.start or len(parents) > _MOST_STACKED:
            raise _Misfit
        return ("nodes", tuple(parents))

    def _constant(self, j: int, slot: int) -> tuple[Any, ...]:
        """Return a constant operand: the same in all steps, or one number for each."""
        values = self.table.operands(self.run, j, slot)
        first = values[0]
        if all(_are_same(first, value) for value in values):
            return ("value", _Same(first))
        kinds = {type(value) for value in values}
        if isinstance(first, (Handle, np.ndarray)) and all(_is_like(value, first) for value in values):
            return ("values", _Same(values))
        if len(kinds) > 1 or isinstance(first, (np.ndarray, Handle, bool, complex, Results)):
            raise _Misfit
        dtype = None
        if not isinstance(first, np.generic):  # a number of Python's, which does not widen the others
            others = {x.dtype for x in self.nodes[j].operands if hasattr(x, "dtype")}
            dtype = others.pop() if len(others) == 1 else None
            if dtype is None or dtype.kind != "f":
                raise _Misfit
        return ("numbers", _Same(np.array(values, dtype)))


def _are_same(a: Any, b: Any) -> bool:
    """Return whether two constants are one: the same array or node, or the same number to the last bit."""
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, np.ndarray):
        return False
    if isinstance(a, Handle):
        return a.node is b.node
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def _are_equal(a: Any, b: Any) -> bool:
    """Return whether two values are of one type, and equal to the last bit."""
    if type(a) is not type(b) or a.shape != b.shape or a.dtype != b.dtype:
        return False
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def _is_like(value: Any, other: Any) -> bool:
    """Return whether two Vars can be elements of one array, which takes little to make."""
    return (
        type(value) is type(other)
        and (type(value) is np.ndarray or value.trace_ref is other.trace_ref)
        and (value.shape, value.dtype) == (other.shape, other.dtype)
        and isinstance(plain(value), (np.ndarray, np.generic))
        and plain(value).nbytes <= _MOST_BYTES
    )


class _Shorter:
    """The tape that is made, with loops in place of runs.

    Attributes
    ----------
    nodes : list of Node
    place : list of int
        Where each node of the old tape is; -1 for those in a loop that nothing outside reads.
    count : int
        How many loops there are.
    """

    def __init__(self, table: _Table, roots: Collection[int], bodies: dict[Any, Any]) -> None:
        self.table = table
        self.nodes: list[Node] = []
        self.place: list[int] = []
        self.count = 0
        self._bodies = bodies
        self._readers = [0] * len(table.nodes)  # the last node that reads each
        for id, node in enumerate(table.nodes):
            for parent in node.inputs[::2]:
                if parent is not None:
                    self._readers[parent] = id
        for root in roots:
            self._readers[root] = len(table.nodes)

    def roll(self, run: Run) -> None:
        """Append the nodes up to a run, and a loop in its place; not if it is none after all."""
        for attempt in self._attempts(run):
            nodes, places = len(self.nodes), len(self.place)
            try:
                loop = _Loop(self.table, attempt)
                self._copy(attempt.start)
                self._append_loop(loop)
            except _Misfit:
                del self.nodes[nodes:], self.place[places:]
                continue
            self.count += 1
            return

    def finish(self) -> None:
        """Append the nodes after the last loop."""
        self._copy(len(self.table.nodes))

    def _attempts(self, run: Run) -> list[Run]:
        """Return a run with the fewest values from step to step, and with a step less at either end."""
        period = run.period
        middle = run.start + period * (run.steps // 2)
        crossing = np.zeros(2 * period + 1, np.int64)
        for j in range(period):
            last = min(self._readers[middle + j] - middle, 2 * period - 1)
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
            node = self.table.nodes[id]
            self.place.append(len(self.nodes))
            if node.call.op is stack_op and len(node.inputs) >= 2 * _LEAST_STEPS:
                self._copy_stack(node)
            else:
                self.nodes.append(_renumbered(node, self.place))

    def _copy_stack(self, node: Node) -> None:
        """Append a stack of nodes: if they are the elements of an array, in order, that array is it."""
        renumbered = _renumbered(node, self.place)
        operands = list(zip(renumbered.parents, renumbered.operands, strict=True))
        pieces: list[tuple[int, int]] = []  # where those begin and end that are elements of one array
        start = 0
        while start < len(operands):
            stop = start + self._elements_from(operands, start)
            pieces.append((start, stop))
            start = stop
        if 4 * len(pieces) > len(operands) or node.attrs["axis"] not in (0, -node.value.ndim):
            self.nodes.append(renumbered)
            return
        made = [self._append_piece(operands[start:stop]) for start, stop in pieces]
        if len(made) > 1:
            self._append(concatenate_op, [(at, self.nodes[at].value) for at in made], {"axis": 0})

    def _elements_from(self, operands: Sequence[tuple[int | None, Any]], start: int) -> int:
        """Return how many operands from one on are elements of one array, at least one."""
        nodes = []
        for parent, _ in operands[start:]:
            if parent is None:
                break
            nodes.append(self.nodes[parent])
        return max(1, _count_of_elements(nodes))

    def _append_piece(self, operands: Sequence[tuple[int | None, Any]]) -> int:
        """Append operands of a stack as one array."""
        found = None
        if len(operands) > 1:
            found = _elements_of([self.nodes[parent] for parent, _ in operands if parent is not None])
        if found is None:
            return self._append(stack_op, operands, {"axis": 0})
        array, first, step = found
        index = (_slice(first, step, len(operands)),)
        return self._append(getitem_op, [(array, self.nodes[array].value)], {"index": index})

    def _append(self, op: Op, parents: Sequence[tuple[int | None, Any]], attrs: dict[str, Any]) -> int:
        """Append a node, and return its number."""
        active = tuple([p is not None and self.nodes[p].is_active for p, _ in parents])
        value = op(*[value for _, value in parents], **attrs)
        inputs = [x for pair in parents for x in pair]
        self.nodes.append(Node(value, op.call(attrs, active), tuple(inputs)))
        return len(self.nodes) - 1

    def _given(self, node: int) -> tuple[int, Any]:
        """Return a node of the old tape as an operand."""
        at = self.place[node]
        return at, self.nodes[at].value

    def _append_loop(self, loop: _Loop) -> None:
        run, table = loop.run, self.table
        members = set(range(run.start, run.stop))
        alone = {
            run.start + j + k * run.period for j in [*loop.alone, *loop.elements] for k in range(run.steps)
        }
        wanted = {id for id in members if self._readers[id] >= run.stop}
        base = len(self.place)
        self.place += [-1] * (run.stop - base)
        for id in sorted(wanted & alone):
            self.place[id] = len(self.nodes)
            self.nodes.append(_renumbered(table.nodes[id], self.place))
        last_step = run.stop - run.period
        collected = sorted({(id - run.start) % run.period for id in wanted - alone if id < last_step})
        final = sorted({id - last_step for id in wanted - alone if id >= last_step} - {*collected})
        builder = _BodyBuilder(self, loop, final, collected)
        results = builder.append()
        for j, k in builder.final_results.items():
            self.place[last_step + j] = results(k)
            self._keep_kind(self.place[last_step + j], table.nodes[last_step + j])
        for j, k in builder.collected_results.items():
            array = results(k)
            for step in range(run.steps):
                id = run.start + step * run.period + j
                if id in wanted and self.place[id] < 0:
                    operand = (array, self.nodes[array].value)
                    self.place[id] = self._append(getitem_op, [operand], {"index": (step,)})
                    self._keep_kind(self.place[id], table.nodes[id])

    def _keep_kind(self, at: int, old: Node) -> None:
        """Make a number one of Python's, if that is what it was: it does not widen others."""
        kind, node = type(plain(old.value)), self.nodes[at]
        while isinstance(node.value, Handle):
            node = node.value.node
        if kind is not np.ndarray and not issubclass(kind, np.generic):
            node.value = kind(node.value)


class _BodyBuilder:
    """The body of a loop, and the node that runs it."""

    def __init__(self, shorter: _Shorter, loop: _Loop, final: list[int], collected: list[int]) -> None:
        self.shorter = shorter
        self.loop = loop
        self.nodes: list[Node] = []
        self.constants: dict[Any, int] = {}
        self.arrays: dict[Any, int] = {}
        self.operands: dict[int, tuple[int | None, Any]] = {}  # of each leaf
        states = self._chained(loop.first)
        self.states: dict[tuple[int, int], int] = {}
        self._keys: list[Any] = []
        for state in states:
            given, like = shorter._given(states[state]), plain(loop.nodes[state[0]].value)
            if type(like) is Results or (like.shape, like.dtype) != (given[1].shape, given[1].dtype):
                raise _Misfit
            self.states[state] = self._leaf(given, like)
        if any(type(plain(loop.nodes[j].value)) is Results for j in [*final, *collected]):
            raise _Misfit
        self.extra = [j for j in final if (j, 1) not in self.states]
        place = self._body()
        for j in self.extra:
            like = plain(loop.nodes[j].value)
            self._leaf((None, np.zeros_like(like)[()] if not np.ndim(like) else np.zeros_like(like)))
        order = [
            *self.constants.values(),
            *self.states.values(),
            *[len(self.nodes) - len(self.extra) + k for k in range(len(self.extra))],
            *self.arrays.values(),
        ]
        following = [place[j] if lag == 1 else self.states[j, lag - 1] for j, lag in self.states]
        outputs = [*following, *[place[j] for j in self.extra], *[place[j] for j in collected]]
        self._read = [*self.extra, *collected]
        self.order = order
        self.outputs = outputs
        count = len(self.states) + len(self.extra)
        numbers = {state: k for k, state in enumerate(self.states)}
        self.final_results = {
            j: numbers[j, 1] if (j, 1) in numbers else len(numbers) + self.extra.index(j) for j in final
        }
        self.collected_results = {j: count + k for k, j in enumerate(collected)}
        self.steps = self._steps(count)
        for step in (0, loop.run.steps - 1):
            self._compare(step)

    @staticmethod
    def _chained(first: dict[tuple[int, int], Any]) -> dict[tuple[int, int], Any]:
        """Return the states in order; those of several steps ago come after those of fewer."""
        for position, lag in first:
            if any((position, k) not in first for k in range(1, lag)):
                raise _Misfit
        return {key: first[key] for key in sorted(first)}

    def _leaf(self, operand: tuple[int | None, Any], example: Any = None) -> int:
        """Append a leaf of the body for an operand of the loop."""
        at = len(self.nodes)
        self.nodes.append(Leaf(plain(operand[1]) if example is None else example, False, None))
        self.operands[at] = operand
        return at

    def _body(self) -> dict[int, int]:
        """Make the nodes of the body; return where each position is."""
        loop, place = self.loop, {}
        for j, node in enumerate(loop.nodes):
            if j in loop.elements:
                place[j] = self._element(loop.elements[j], node)
                continue
            if j in loop.alone:
                place[j] = self._alone(j)
                continue
            inputs: list[Any] = []
            for source, value in zip(loop.sources[j], node.operands, strict=True):
                kind = source[0]
                if kind == "here":
                    at = place[source[1]]
                elif kind == "state":
                    at = self.states[source[1], source[2]]
                elif kind == "value" and not isinstance(source[1].value, (np.ndarray, Handle)):
                    inputs += (None, value)
                    continue
                else:
                    at = self._source(source)
                inputs += (at, self.nodes[at].value)
            place[j] = len(self.nodes)
            self.nodes.append(Node(plain(node.value), Call(node.op, node.attrs, None), tuple(inputs)))
        return place

    def _source(self, source: tuple[Any, ...]) -> int:
        """Return the leaf for what comes from outside."""
        kind, key = source
        shorter = self.shorter
        if kind in ("node", "value"):
            if source not in self.constants:
                operand = shorter._given(key) if kind == "node" else (None, key.value)
                self.constants[source] = self._leaf(operand)
            return self.constants[source]
        if kind == "numbers":
            return self._array(source, (None, key.value))
        if kind == "values":
            return self.arrays.get(source) or self._array(source, (None, _joined(key.value)))
        if source not in self.arrays:
            parents = [shorter._given(parent) for parent in key]
            first = parents[0][1]
            if not all((x.shape, x.dtype) == (first.shape, first.dtype) for _, x in parents):
                raise _Misfit
            if not isinstance(plain(first), (np.ndarray, np.generic)):
                raise _Misfit  # numbers of Python's do not widen others, as those of an array do
            at = self._slice_of(parents)
            if at is None and plain(first).nbytes > _MOST_BYTES:
                raise _Misfit
            if at is None:
                at = shorter._append(stack_op, parents, {"axis": 0})
            self._array(source, (at, shorter.nodes[at].value))
        return self.arrays[source]

    def _slice_of(self, parents: Sequence[tuple[int, Any]]) -> int | None:
        """Return a slice of the array that all these nodes are elements of, if they are, in order."""
        found = _elements_of([self.shorter.nodes[at] for at, _ in parents])
        if found is None:
            return None
        array, first, step = found
        return self._sliced((array, self.shorter.nodes[array].value), first, step, len(parents))

    def _sliced(self, array: tuple[int | None, Any], first: int, step: int, count: int) -> int:
        """Append a slice of an array along its first axis, unless it is all of it; return its number."""
        index = _slice(first, step, count)
        if array[0] is not None and index == slice(0, np.shape(array[1])[0], 1):
            return array[0]
        return self.shorter._append(getitem_op, [array], {"index": (index,)})

    def _array(self, key: Any, operand: tuple[int | None, Any]) -> int:
        """Return the leaf for an element of an array in each step."""
        if key not in self.arrays:
            at = self.arrays[key] = len(self.nodes)
            self.nodes.append(Leaf(plain(operand[1])[0], False, None))
            self.operands[at] = operand
        return self.arrays[key]

    def _element(self, element: tuple[Any, int, int], node: Node) -> int:
        parent, first, step = element
        key = (
            "element",
            parent,
            first,
            step,
            node.call.attrs["index"][1:] and _Hashable(node.call.attrs["index"][1:]),
        )
        if key not in self.arrays:
            array = (None, parent.value) if isinstance(parent, _Same) else self.shorter._given(parent)
            at = self._sliced(array, first, step, self.loop.run.steps)
            rest = node.call.attrs["index"][1:]
            if rest:
                at = self.shorter._append(
                    getitem_op, [(at, self.shorter.nodes[at].value)], {"index": (slice(None), *rest)}
                )
            self._array(key, (at, self.shorter.nodes[at].value))
        return self.arrays[key]

    def _alone(self, j: int) -> int:
        """Return the leaf for a leaf that is made in every step."""
        run, table = self.loop.run, self.loop.table
        leaves = [table.nodes[run.start + j + k * run.period] for k in range(run.steps)]
        first = leaves[0].value
        if all(leaf.value is first or _are_same(leaf.value, first) for leaf in leaves):
            key = ("value", _Same(first))
            if key not in self.constants:
                self.constants[key] = self._leaf((None, first))
            return self.constants[key]
        raise _Misfit

    def _steps(self, states: int) -> Steps:
        """Return the static part of the loop, shared with loops alike."""
        body = Body(self.nodes, self.order, self.outputs)
        length = self.loop.run.steps
        key = (
            length,
            len(self.constants),
            states,
            tuple(self.order),
            tuple(self.outputs),
            *[_shape_of_node(node) for node in self.nodes],
        )
        return self.shorter._bodies.setdefault(key, Steps(body, length, len(self.constants), states))

    def _compare(self, step: int) -> None:
        """Check that the body computes what was recorded in a step, to the last bit."""
        run, table = self.loop.run, self.loop.table

        def recorded(j: int, lag: int = 0) -> Any:
            node = self.loop.first[j, lag - step] if lag > step else run.start + (step - lag) * run.period + j
            return plain(table.nodes[node].value)

        values = {leaf: plain(value) for leaf, (_, value) in self.operands.items()}
        values |= {leaf: recorded(j, lag) for (j, lag), leaf in self.states.items()}
        values |= {leaf: values[leaf][step] for leaf in self.arrays.values()}
        found = self.steps.body.computed([values[leaf] for leaf in self.order])
        expected = [*[recorded(j, lag - 1) for j, lag in self.states], *[recorded(j) for j in self._read]]
        for value, wanted in zip(found, expected, strict=True):
            if not _are_equal(value, wanted):
                raise _Misfit

    def append(self) -> Any:
        """Append the node of the loop; return a function that makes one for a result."""
        shorter = self.shorter
        at = shorter._append(STEPS, [self.operands[leaf] for leaf in self.order], {"steps": self.steps})
        known: dict[int, int] = {}

        def result(k: int) -> int:
            if k not in known:
                known[k] = shorter._append(part, [(at, shorter.nodes[at].value)], {"index": k})
            return known[k]

        return result


def _elements_of(nodes: Sequence[Node]) -> tuple[int, int, int] | None:
    """Return the node of an array, the first index and the step, if these are its elements in such an order."""
    if _count_of_elements(nodes) < len(nodes):
        return None
    first, second = nodes[:2]
    array = first.inputs[0]
    start = _number_of_element(first, array)
    return array, start, _number_of_element(second, array) - start


def _count_of_elements(nodes: Sequence[Node]) -> int:
    """Return how many of these nodes, from the first on, are elements of one array at regular distances."""
    if len(nodes) < 2 or nodes[0].call.op is not getitem_op or nodes[0].inputs[0] is None:
        return 0
    array = nodes[0].inputs[0]
    first, second = _number_of_element(nodes[0], array), _number_of_element(nodes[1], array)
    if first < 0 or second < 0 or first == second:
        return 0
    for k, node in enumerate(nodes):
        if _number_of_element(node, array) != first + k * (second - first):
            return k
    return len(nodes)


def _number_of_element(node: Node, array: Any) -> int:
    """Return which element of the array a node is; -1 if it is none."""
    if node.call.op is not getitem_op or node.inputs[0] != array or len(node.inputs) != 2:
        return -1
    index = node.call.attrs["index"]
    if len(index) != 1 or type(index[0]) is not int:
        return -1
    return index[0] % np.shape(node.inputs[1])[0]


def _slice(first: int, step: int, count: int) -> slice:
    stop = first + step * count
    return slice(first, None if stop < 0 else stop, step)


def _joined(values: Sequence[Any]) -> Any:
    """Return arrays, or Vars of a tape further out, as one: a slice, if they are elements of one."""
    found = None if type(values[0]) is np.ndarray else _elements_of([value.node for value in values])
    if found is None:
        if len(values) > _MOST_STACKED:
            raise _Misfit
        return stack_op(*values, axis=0)
    array, first, step = found
    return getitem_op(values[0].trace[array], index=(_slice(first, step, len(values)),))


def _shape_of_node(node: Node) -> Any:
    """Return what nodes of equal bodies have in common."""
    call, value = node.call, node.value
    if call.op is None:
        return (value.shape, value.dtype)
    inputs = tuple(
        [
            x if parent is None else parent
            for parent, x in zip(node.inputs[::2], node.inputs[1::2], strict=True)
        ]
    )
    return (call.op, _Hashable(tuple(call.attrs.items())), _Hashable(inputs))
