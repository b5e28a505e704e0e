"""The body of a loop, assembled from a run of nodes, and compared with what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tape.core.dispatch import need_numbers
from tape.core.linear import part
from tape.core.node import Call, Handle, Leaf, Node, plain
from tape.core.results import Results
from tape.ops.structure.indexing import getitem_op
from tape.ops.structure.joining import stack_op
from tape.transforms.loops.body import Body
from tape.transforms.loops.elements import MOST_BYTES, Misfit, elements_of, joined, slice_of
from tape.transforms.loops.likeness import Hashable, Same, are_equal, are_same
from tape.transforms.loops.operation import STEPS
from tape.transforms.loops.sources import Sources
from tape.transforms.loops.steps import Steps

if TYPE_CHECKING:
    from tape.transforms.loops.rolling import Shorter

_LARGE, _WORTH_IT = 16384, 4096
"""Larger values, in bytes, are computed block by block across steps, which is faster than a loop. From so
many nodes on, a loop is worth it all the same: the program would take long to make."""


class BodyOfRun:
    """The body of a loop, and the node that runs it."""

    def __init__(self, shorter: Shorter, loop: Sources, final: list[int], collected: list[int]) -> None:
        self.shorter = shorter
        self.loop = loop
        self.nodes: list[Node] = []
        self.constants: dict[Any, int] = {}
        self.arrays: dict[Any, int] = {}
        self._element_at: dict[int, int] = {}  # the position that reads it, of each leaf that is an element
        self.operands: dict[int, tuple[int | None, Any]] = {}  # of each leaf
        size = max(
            [plain(node.value).nbytes for node in loop.nodes if type(plain(node.value)) is np.ndarray] or [0]
        )
        if size > _LARGE and loop.run.period * loop.run.steps < _WORTH_IT:
            raise Misfit("large arrays are computed block by block, which is faster")
        states = self._chained(loop.first)
        self.states: dict[tuple[int, int], int] = {}
        for state in states:
            given, like = shorter.given(states[state]), plain(loop.nodes[state[0]].value)
            if type(like) is Results or (like.shape, like.dtype) != (given[1].shape, given[1].dtype):
                raise Misfit("a value has another shape or dtype before the first step")
            self.states[state] = self._leaf(given, like)
        if any(type(plain(loop.nodes[j].value)) is Results for j in [*final, *collected]):
            raise Misfit("the results of a loop inside are read in the next step")
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
        for step in loop.columns.recorded_steps(loop.run):
            self._compare(step)

    @staticmethod
    def _chained(first: dict[tuple[int, int], Any]) -> dict[tuple[int, int], Any]:
        """Return the states in order; those of several steps ago come after those of fewer."""
        for position, lag in first:
            if any((position, k) not in first for k in range(1, lag)):
                raise Misfit("a value is read several steps later, and not before")
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
                self._element_at[place[j]] = j
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
                operand = shorter.given(key) if kind == "node" else (None, key.value)
                self.constants[source] = self._leaf(operand)
            return self.constants[source]
        if kind == "numbers":
            return self._array(source, (None, key.value))
        if kind == "values":
            return self._array(source, (None, joined(key.value)))
        if source not in self.arrays:
            parents = [shorter.given(parent) for parent in key]
            first = parents[0][1]
            if not all((x.shape, x.dtype) == (first.shape, first.dtype) for _, x in parents):
                raise Misfit("arrays differ in shape or dtype from step to step")
            if not isinstance(plain(first), (np.ndarray, np.generic)):
                # They do not widen others, as those of an array do.
                raise Misfit("there is another float of Python's in each step")
            at = self._slice_of(parents)
            if at is None and plain(first).nbytes > MOST_BYTES:
                raise Misfit("there is another large array in each step, which is no element of one")
            if at is None:
                at = shorter.append(stack_op, parents, {"axis": 0})
            self._array(source, (at, shorter.nodes[at].value))
        return self.arrays[source]

    def _slice_of(self, parents: Sequence[tuple[int, Any]]) -> int | None:
        """Return a slice of the array that all these nodes are elements of, if they are, in order."""
        found = elements_of([self.shorter.nodes[at] for at, _ in parents])
        if found is None:
            return None
        array, first, step = found
        return self._sliced((array, self.shorter.nodes[array].value), first, step, len(parents))

    def _sliced(self, array: tuple[int | None, Any], first: int, step: int, count: int) -> int:
        """Append a slice of an array along its first axis, unless it is all of it; return its number."""
        index = slice_of(first, step, count)
        if array[0] is not None and index == slice(0, np.shape(array[1])[0], 1):
            return array[0]
        return self.shorter.append(getitem_op, [array], {"index": (index,)})

    def _array(self, key: Any, operand: tuple[int | None, Any]) -> int:
        """Append a leaf for an element of an array in each step."""
        at = self.arrays[key] = self._leaf(operand, plain(operand[1])[0])
        return at

    def _element(self, element: tuple[Any, int, int], node: Node) -> int:
        parent, first, step = element
        key = (
            "element",
            parent,
            first,
            step,
            node.call.attrs["index"][1:] and Hashable(node.call.attrs["index"][1:]),
        )
        if key not in self.arrays:
            array = (None, parent.value) if isinstance(parent, Same) else self.shorter.given(parent)
            at = self._sliced(array, first, step, self.loop.run.steps)
            rest = node.call.attrs["index"][1:]
            if rest:
                at = self.shorter.append(
                    getitem_op, [(at, self.shorter.nodes[at].value)], {"index": (slice(None), *rest)}
                )
            self._array(key, (at, self.shorter.nodes[at].value))
        return self.arrays[key]

    def _alone(self, j: int) -> int:
        """Return the leaf for a leaf that is made in every step."""
        run, columns = self.loop.run, self.loop.columns
        leaves = [columns.nodes[run.start + j + k * run.period] for k in range(run.steps)]
        first = leaves[0].value
        if all(are_same(leaf.value, first) for leaf in leaves):
            key = ("value", Same(first))
            if key not in self.constants:
                self.constants[key] = self._leaf((None, first))
            return self.constants[key]
        raise Misfit("there is another plain array in each step")

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
            *[_content_of(node) for node in self.nodes],
        )
        return self.shorter.bodies.setdefault(key, Steps(body, length, len(self.constants), states))

    def _compare(self, step: int) -> None:
        """Check that the body computes what was recorded in a step, to the last bit."""
        need_numbers()
        run, columns = self.loop.run, self.loop.columns

        def recorded(j: int, lag: int = 0) -> Any:
            node = self.loop.first[j, lag - step] if lag > step else run.start + (step - lag) * run.period + j
            return plain(columns.nodes[node].value)

        values = {leaf: plain(value) for leaf, (_, value) in self.operands.items()}
        values |= {leaf: recorded(j, lag) for (j, lag), leaf in self.states.items()}
        for (kind, key), leaf in self.constants.items():
            values[leaf] = plain(columns.nodes[key].value if kind == "node" else key.value)
        for (kind, key, *_), leaf in self.arrays.items():
            if kind == "nodes":
                values[leaf] = plain(columns.nodes[key[step]].value)
            elif kind == "element":
                values[leaf] = recorded(self._element_at[leaf])
            else:
                values[leaf] = plain(key.value[step])
        found = self.steps.body.computed([values[leaf] for leaf in self.order])
        expected = [*[recorded(j, lag - 1) for j, lag in self.states], *[recorded(j) for j in self._read]]
        for value, wanted in zip(found, expected, strict=True):
            if not are_equal(value, wanted):
                raise Misfit("a step computes something else than it seems to")

    def append(self) -> Callable[[int], int]:
        """Append the node of the loop; return a function that makes one for a result."""
        shorter = self.shorter
        at = shorter.append(STEPS, [self.operands[leaf] for leaf in self.order], {"steps": self.steps})
        known: dict[int, int] = {}

        def result(k: int) -> int:
            if k not in known:
                known[k] = shorter.append(part, [(at, shorter.nodes[at].value)], {"index": k})
            return known[k]

        return result


def _content_of(node: Node) -> Any:
    """Return what nodes of equal bodies have in common."""
    call, value = node.call, node.value
    kind = (type(value), value.shape, value.dtype)
    if call.op is None:
        return kind
    pairs = zip(node.inputs[::2], node.inputs[1::2], strict=True)
    inputs = tuple([(parent, x if parent is None else None) for parent, x in pairs])
    return kind, call.op, Hashable(tuple(call.attrs.items())), Hashable(inputs)
