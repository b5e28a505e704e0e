"""Where the operands of a run of nodes come from, if it is a loop."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tape.core.node import Handle, Node
from tape.core.results import Results
from tape.ops.structure.indexing import getitem_op
from tape.transforms.loops.columns import Columns
from tape.transforms.loops.elements import MOST_STACKED, Misfit, elements_of, is_like
from tape.transforms.loops.likeness import Same
from tape.transforms.loops.periods import Run

_INDEX = "an index moves otherwise than by one distance along the first axis"
_ELSEWHERE = "a step reads values that are neither of an earlier one nor elements of an array"
_CONSTANTS = "there is another number or plain array in each step"


class Sources:
    """A run of nodes as a loop: where each operand of its body comes from.

    Attributes
    ----------
    nodes : list of Node
        Those of the first step, by position.
    sources : list of list of tuple
        For each operand of each position: ``("here", position)`` in the same step, ``("state", position,
        lag)`` so many steps before, ``("node", id)`` the same node in all steps, ``("nodes", ids)`` another
        one in each, ``("value", constant)``, ``("values", constants)`` or ``("numbers", array)``.
    elements : dict
        The positions that read an array by a counter: the array, the first index and the distance.
    first : dict
        The node that each state, a pair of position and lag, is before the first step.
    alone : set of int
        The positions of leaves.
    """

    def __init__(self, columns: Columns, run: Run) -> None:
        self.columns = columns
        self.run = run
        self.nodes = [columns.nodes[run.start + j] for j in range(run.period)]
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
                raise Misfit(f"the shape of what {op.name} returns depends on data")
        for j, node in enumerate(self.nodes):
            self._look_at_index(j, node)
            if j in self.elements or j in self.alone:
                self.sources.append([])
                continue
            count = len(node.inputs) // 2
            self.sources.append([self._source(j, slot) for slot in range(count)])
        if not any(self.sources):
            raise Misfit("nothing is computed but elements of arrays")

    def is_of_separate_arrays(self) -> bool:
        """Return whether there is another array in each step, which is no element of one."""
        for source in [source for sources in self.sources for source in sources]:
            if source[0] == "nodes":
                nodes = [self.columns.nodes[id] for id in source[1]]
            elif source[0] == "values":
                nodes = [value.node for value in source[1].value if isinstance(value, Handle)]
            else:
                continue
            if elements_of(nodes) is None:
                return True
        return False

    def _look_at_index(self, j: int, node: Node) -> None:
        """Note a position that reads another element of one array in each step."""
        if node.call.op is not getitem_op:
            return
        run = self.run
        indices = [call.attrs["index"] for call in self.columns.calls_in(run, j)]
        first = indices[0]
        if all(index == first for index in indices):
            return
        moving = [
            axis
            for axis in range(len(first))
            if len({index[axis] for index in indices if type(first[axis]) is int} or {0}) > 1
        ]
        if moving != [0]:
            raise Misfit(_INDEX)
        length = np.shape(node.inputs[1])[0]
        numbers = [index[0] % length for index in indices]
        step = numbers[1] - numbers[0]
        if not step or any(b - a != step for a, b in pairwise(numbers)):
            raise Misfit(_INDEX)
        parents, constants = self.columns.parents_in(run, j, 0), self.columns.constants_in(run, j, 0)
        if (parents != parents[0]).any() or (constants != constants[0]).any():
            raise Misfit(_INDEX)
        if parents[0] >= run.start or len(node.inputs) != 2:
            raise Misfit(_INDEX)
        array = int(parents[0]) if parents[0] >= 0 else Same(node.inputs[1])
        self.elements[j] = (array, numbers[0], step)

    def _source(self, j: int, slot: int) -> tuple[Any, ...]:
        """Return where an operand comes from."""
        run = self.run
        parents = self.columns.parents_in(run, j, slot)
        first = int(parents[0])
        if first < 0:
            return self._constant(j, slot)
        if (parents == first).all():
            return self._outside(first)
        distances = parents - np.arange(run.start, run.stop, run.period)
        distance = int(distances[-1])
        lag = max(0, -(distance // run.period))
        if lag >= run.steps or (distances[lag:] != distance).any():
            return self._separate(parents.tolist())
        position = distance + lag * run.period
        if not lag:
            return ("here", position)
        if position in self.alone:
            raise Misfit("a plain array is read in the next step")
        for k in range(lag):
            self._first(position, lag - k, int(parents[k]))
        return ("state", position, lag)

    def _first(self, position: int, lag: int, node: Any) -> None:
        """Note what a state is before the first step, which must come from before the loop."""
        if node >= self.run.start or self.first.setdefault((position, lag), node) != node:
            raise Misfit(_ELSEWHERE)

    def _outside(self, node: Any) -> tuple[Any, ...]:
        """Return the same node in all steps, from before the loop."""
        if node >= self.run.start:
            raise Misfit(_ELSEWHERE)
        return ("node", node)

    def _separate(self, parents: Sequence[Any]) -> tuple[Any, ...]:
        """Return another node for each step, all of them from before the loop."""
        if max(parents) >= self.run.start or len(parents) > MOST_STACKED:
            raise Misfit(_ELSEWHERE)
        return ("nodes", tuple(parents))

    def _constant(self, j: int, slot: int) -> tuple[Any, ...]:
        """Return a constant operand: the same in all steps, or one number for each."""
        constants = self.columns.constants_in(self.run, j, slot)
        first = self.nodes[j].inputs[2 * slot + 1]
        if (constants == constants[0]).all():
            return ("value", Same(first))
        values = self.columns.values_in(self.run, j, slot)
        kinds = {type(value) for value in values}
        if isinstance(first, (Handle, np.ndarray)) and all(is_like(value, first) for value in values):
            return ("values", Same(values))
        if len(kinds) > 1 or isinstance(first, (np.ndarray, Handle, bool, complex, Results)):
            raise Misfit(_CONSTANTS)
        dtype = None
        if not isinstance(first, np.generic):  # a number of Python's, which does not widen the others
            others = {x.dtype for x in self.nodes[j].operands if hasattr(x, "dtype")}
            dtype = others.pop() if len(others) == 1 else None
            if dtype is None or dtype.kind != "f":
                raise Misfit(_CONSTANTS)
        return ("numbers", Same(np.array(values, dtype)))
