"""Loops that a recording does not run, as the program will: on the tape are placeholders for their results.

To run a loop while it is recorded takes a program of its own, for its derivative two more. What follows on
the tape is computed with the placeholders, NaN or zero, which gives shapes and dtypes. When somebody asks for
a number, it is computed beside the tape (`Numbers`): Python asks, for a branch or a text, and operations do
that may raise, call the user's code, or have results whose shapes depend on numbers. What runs code on plain
values to see what it does, as checkpoints do, ends the recording: it begins anew with loops that run
(`tape.program.record.recorder.NumbersNeeded`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.core.node import Node, plain
from tape.core.op import Op
from tape.core.results import Results
from tape.core.weak import Weak, weak
from tape.transforms.loops.operation import STEPS
from tape.transforms.loops.repeats import may_raise
from tape.transforms.loops.steps import Steps
from tape.transforms.loops.trimming import runs_python

__all__ = ["Numbers", "compute", "late_nodes", "placeholders_for", "takes_placeholders"]

_MARKED = 1024
"""Elements of an array that are NaN: so whoever takes a placeholder for a number is found out."""


def placeholders_for(op: Op, attrs: dict[str, Any]) -> Results | None:
    """Return placeholders for the results of an operation, if it is a loop that can wait; else None."""
    if op is not STEPS or not _can_wait(steps := attrs["steps"]):
        return None
    results = []
    for k, example in enumerate(steps.body.results()):
        times = () if k < steps.states else (steps.length,)
        result = np.zeros((*times, *example.shape), example.dtype)
        if example.dtype.kind in "fc":  # the rest of a large one takes no memory
            result.reshape(-1)[:_MARKED] = np.nan
        results.append(result[()])
    return Results(results)


def _can_wait(steps: Steps) -> bool:
    """Return whether nobody notices when a loop runs, and only its numbers depend on numbers."""
    return steps.ends_by == "length" and not runs_python(steps)


def takes_placeholders(op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> bool:
    """Return whether an operation gives a placeholder for its result, given some for its operands."""
    if op is STEPS:
        return _can_wait(attrs["steps"])
    if may_raise(op) or op.name.startswith("nan"):  # which warn where all elements are NaN
        return False
    depends = op.data_dependent
    return not (depends is True or (depends and depends(*map(plain, operands), **attrs)))


def late_nodes(nodes: Sequence[Node]) -> set[int]:
    """Return the nodes whose numbers depend on loops that may have been postponed."""
    late: set[int] = set()
    for id in range(len(nodes)):
        _note_if_late(nodes, id, late)
    return late


def _note_if_late(nodes: Sequence[Node], id: int, late: set[int]) -> None:
    node = nodes[id]
    op = node.call.op
    if (op is STEPS and _can_wait(node.attrs["steps"])) or not late.isdisjoint(node.inputs[::2]):
        late.add(id)


class Numbers:
    """The numbers of nodes behind postponed loops, computed beside the tape when somebody asks for them.

    Parameters
    ----------
    nodes : list of Node
        The tape, which goes on growing.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._late: set[int] = set()
        self._seen: list[Node] = []
        self._known: dict[int, Any] = {}  # by node
        self._noted: dict[int, Any] = {}

    def of(self, id: int) -> Any:
        """Return the value of a node."""
        nodes, late, known = self._nodes, self._late, self._known
        self._look()
        waiting, needed = [id], set()
        while waiting:
            one = waiting.pop()
            if one in late and one not in known and one not in needed:
                needed.add(one)
                waiting += [parent for parent in nodes[one].inputs[::2] if parent is not None]
        with np.errstate(all="ignore"):
            for one in sorted(needed):
                known[one] = _value_of(nodes[one], known)
        return known[id] if id in known else nodes[id].value

    def is_late(self, id: int) -> bool:
        """Return whether the value of a node may be a placeholder."""
        self._look()
        return id in self._late

    def note(self, id: int, value: Any) -> None:
        """Note that the value of a node, which is about to be appended, is no placeholder."""
        self._noted[id] = value

    def _look(self) -> None:
        """Find out which nodes are late, of those that are new."""
        nodes, seen = self._nodes, self._seen
        if len(seen) > len(nodes) or (seen and seen[-1] is not nodes[len(seen) - 1]):
            self._late.clear()  # some were taken back after an error, and others are in their places
            self._known.clear()
            seen.clear()
        for id in range(len(seen), len(nodes)):
            _note_if_late(nodes, id, self._late)
            seen.append(nodes[id])
            if self._noted.pop(id, None) is nodes[id].value:  # else its node was not appended
                self._known[id] = nodes[id].value


def _value_of(node: Node, known: dict[int, Any]) -> Any:
    """Return the value of a node, given those of its parents that are not what the tape has."""
    pairs = zip(node.inputs[::2], node.inputs[1::2], strict=True)
    operands = [known.get(parent, operand) for parent, operand in pairs]
    value = node.call.op.compute(operands, node.call.attrs)  # type: ignore[union-attr]
    return weak(value) if isinstance(node.value, Weak) else value


def compute(nodes: Sequence[Node]) -> None:
    """Compute the numbers of loops that were postponed, and of all nodes that depend on them, in place."""
    with np.errstate(all="ignore"):
        for id in sorted(late_nodes(nodes)):
            node = nodes[id]
            parents = node.inputs[::2]
            known = {parent: nodes[parent].value for parent in parents if parent is not None}
            node.value = _value_of(node, known)
            operands = [known.get(x, operand) for x, operand in zip(parents, node.operands, strict=True)]
            node.inputs = tuple([x for pair in zip(parents, operands, strict=True) for x in pair])
