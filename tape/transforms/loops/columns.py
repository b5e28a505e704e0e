"""A tape column by column: which calls its nodes are, and which operands they have, as arrays.

Long tapes are searched for what repeats itself, and comparing columns takes a fraction of the time that
looking at one node after the other takes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from tape.core.node import Call, Handle, Node, plain
from tape.core.op import Op
from tape.ops.structure.indexing import getitem_op
from tape.transforms.loops.likeness import Hashable
from tape.transforms.loops.periods import Run


class Columns:
    """The nodes of a tape, in columns.

    Parameters
    ----------
    nodes : sequence of Node

    Attributes
    ----------
    nodes : sequence of Node
    starts : numpy.ndarray
        int64, shape (n + 1,): where the operands of each node begin among those of all.
    parents : numpy.ndarray
        int64, shape (m,): the node that each operand is, -1 for constants.
    values : list
        The value of each operand.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.transforms.loops.columns import Columns
    >>> tr = tape.Trace()
    >>> y = 2.0 * np.sin(tr.param(1.0))
    >>> columns = Columns(tr.nodes)
    >>> columns.starts, columns.parents
    (array([0, 0, 1, 3]), array([ 0, -1,  1]))
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        inputs = [node.inputs for node in nodes]
        self.starts = np.zeros(len(nodes) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, inputs), np.int64, len(nodes)) // 2, out=self.starts[1:])
        operands = list(chain.from_iterable(inputs))
        self.parents = np.array([-1 if parent is None else parent for parent in operands[::2]], np.int64)
        self.values = operands[1::2]

    def coded(self, code: Callable[[Call], int]) -> np.ndarray:
        """Return a code for each node that depends on its call alone; most nodes share theirs."""
        calls, numbers = self._calls
        return np.array(list(map(code, calls)), np.int64)[numbers]

    @cached_property
    def _calls(self) -> tuple[list[Call], np.ndarray]:
        """Return the calls that there are, and the number of that of each node."""
        known: dict[Call, int] = {}
        numbers = [known.setdefault(node.call, len(known)) for node in self.nodes]
        return list(known), np.array(numbers, np.int64)

    @cached_property
    def owners(self) -> np.ndarray:
        """Return the node that each operand belongs to, int64, shape (m,)."""
        return np.repeat(np.arange(len(self.nodes)), np.diff(self.starts))

    @cached_property
    def slots(self) -> np.ndarray:
        """Return the position of each operand among those of its node, int64, shape (m,)."""
        return np.arange(len(self.parents)) - self.starts[self.owners]

    def are_all_read(self, roots: Collection[int]) -> bool:
        """Return whether every node is an operand of another one, or among some roots."""
        is_read = np.zeros(len(self.nodes), bool)
        is_read[self.parents[self.parents >= 0]] = True
        is_read[list(roots)] = True
        return bool(is_read.all())

    @cached_property
    def constants(self) -> np.ndarray:
        """Return a number for each operand, the same for constants that are one and the same; -1 for nodes.

        Those are one that are the same Var or array, or numbers of one type with the same bits.
        """
        return numbered(self.values, self.parents)

    def kinds(self, inputs: Collection[int]) -> np.ndarray:
        """Return a number for each node, the same for one operation on the same kind of operands.

        Those of some inputs and of params are negative: such leaves are like nothing else.
        """
        keys: dict[Any, int] = {}
        calls = self.coded(
            lambda call: keys.setdefault(
                (call.op, call.pull is None, _key_of(call.op, call.attrs)), len(keys)
            )
        )
        kinds = paired(paired(calls, self._types()), self._constant_slots())
        is_alone = np.zeros(len(self.nodes), bool)
        is_alone[list(inputs)] = True
        leaves = np.flatnonzero(np.isin(calls, [code for (op, *_), code in keys.items() if op is None]))
        is_alone[[id for id in leaves.tolist() if getattr(self.nodes[id], "is_param", False)]] = True
        kinds[is_alone] = -1 - np.flatnonzero(is_alone)
        return kinds

    def _types(self) -> np.ndarray:
        """Return a number for each node, the same for values of one shape and dtype."""
        known: dict[Any, int] = {}
        of_scalars: dict[type, int] = {}
        found = []
        shape, dtype, last = None, None, -1
        for node in self.nodes:
            value = plain(node.value)
            code = of_scalars.get(type(value), -1)
            if code < 0:
                if value.dtype is not dtype or value.shape != shape:
                    shape, dtype = value.shape, value.dtype
                    last = known.setdefault((shape, dtype), len(known))
                    if isinstance(value, np.number):
                        of_scalars[type(value)] = last
                code = last
            found.append(code)
        return np.array(found, np.int64)

    def _constant_slots(self) -> np.ndarray:
        """Return a number for each node, the same for as many operands of which the same are constants."""
        counts = np.diff(self.starts)
        is_constant = self.parents < 0
        found = np.zeros(len(self.nodes), np.int64)
        np.bitwise_or.at(found, self.owners[is_constant], 1 << np.minimum(self.slots[is_constant], 62))
        known: dict[bytes, int] = {}
        for id in np.flatnonzero(counts > 62).tolist():
            which = is_constant[self.starts[id] : self.starts[id + 1]].tobytes()
            found[id] = known.setdefault(which, len(known))
        return paired(counts, _ranks(found))

    def recorded_steps(self, run: Run) -> tuple[int, ...]:
        """Return steps of a run with which its body can be compared: the first and the last one."""
        return 0, run.steps - 1

    def calls_in(self, run: Run, position: int) -> list[Call]:
        """Return the call at one position in all steps of a run."""
        return [self.nodes[at].call for at in range(run.start + position, run.stop, run.period)]

    def _operands(self, run: Run, position: int, slot: int) -> Any:
        return self.starts[run.start + position : run.stop : run.period] + slot

    def parents_in(self, run: Run, position: int, slot: int) -> Any:
        """Return the parent of one operand in all steps of a run: int64, shape (steps,); -1 for constants."""
        return self.parents[self._operands(run, position, slot)]

    def constants_in(self, run: Run, position: int, slot: int) -> Any:
        """Return the number in `constants` of one operand in all steps of a run: int64, shape (steps,)."""
        return self.constants[self._operands(run, position, slot)]

    def values_in(self, run: Run, position: int, slot: int) -> list[Any]:
        """Return the value of one operand in all steps of a run."""
        return [self.values[at] for at in self._operands(run, position, slot).tolist()]


def numbered(values: Sequence[Any], parents: np.ndarray) -> np.ndarray:
    """Return what `Columns.constants` is, given the value and the parent of each operand."""
    found = np.full(len(values), -1, np.int64)
    known: dict[Any, int] = {}
    of_object: dict[int, int] = {}  # of each constant, by its identity: many operands are the same object
    for at in np.flatnonzero(parents < 0).tolist():
        value = values[at]
        code = of_object.get(id(value))
        if code is None:
            key = (None, id(value.node)) if isinstance(value, Handle) else Hashable(value)
            code = of_object[id(value)] = known.setdefault(key, len(known))
        found[at] = code
    return found


def paired(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return numbers from 0 on, equal where both of two arrays of such numbers are.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.transforms.loops.columns import paired
    >>> paired(np.array([0, 5, 0, 5]), np.array([2, 2, 2, 1]))
    array([0, 2, 0, 1])
    """
    return _ranks(a * (b.max(initial=0) + 1) + b)


def _ranks(numbers: np.ndarray) -> np.ndarray:
    """Return the position of each number among those there are, in order."""
    most = numbers.max(initial=0)
    if numbers.min(initial=0) < 0 or most > 8 * len(numbers):
        return np.unique(numbers, return_inverse=True)[1]
    is_there = np.zeros(most + 1, bool)  # far faster than to sort them
    is_there[numbers] = True
    return (np.cumsum(is_there) - 1)[numbers]


def _key_of(op: Op | None, attrs: dict[str, Any]) -> Any:
    """Return what the static arguments of nodes alike have in common; integers in an index may differ."""
    if op is getitem_op:
        return Hashable(tuple([int if type(i) is int else i for i in attrs["index"]]))
    return Hashable(tuple(attrs.items()))
