"""Trimming: loops of which only the collected results of early steps are read have no later steps.

The adjoints of these would be zero, which overflow would turn into NaN. Loops that were written as such, by
`tape.scan`, are trimmed, too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tape.core.linear import part
from tape.core.node import Node
from tape.ops.structure.indexing import getitem_op
from tape.transforms.loops.columns import Columns
from tape.transforms.loops.operation import STEPS
from tape.transforms.loops.rolling import Shorter, without_dead
from tape.transforms.loops.steps import Steps


def trimmed(
    columns: Columns, inputs: Collection[int], roots: Collection[int]
) -> tuple[list[Node], dict[int, int]] | None:
    """Return a tape with shorter loops; None if all are as long as they need to be.

    Parameters
    ----------
    columns : Columns
        A tape. The values of its nodes are Vars of a tape further out.
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
    if not any(node.call.op is STEPS for node in columns.nodes):
        return None
    nodes, place = without_dead(columns.nodes, inputs, roots)
    lengths = _needed(nodes, set(place.values()))
    if not lengths:
        return None
    shorter = _Trimmed(Columns(nodes), lengths)
    shorter.finish()
    return shorter.nodes, {id: shorter.place[at] for id, at in place.items()}


def _needed(nodes: Sequence[Node], wanted: Collection[int]) -> dict[int, int]:
    """Return how many steps are needed of each loop that has more."""
    needed: dict[int, int] = {}
    loop_of: dict[int, int] = {}  # of each node of `part` that takes something collected
    for number, node in enumerate(nodes):
        op, attrs = node.call.op, node.call.attrs
        if op is STEPS and number not in wanted and _may_be_shorter(attrs["steps"]):
            needed[number] = 0
        for parent in node.inputs[::2]:
            if parent in needed:
                if (
                    op is part
                    and number not in wanted
                    and attrs["index"] >= nodes[parent].attrs["steps"].states
                ):
                    loop_of[number] = parent
                else:
                    del needed[parent]
            elif parent in loop_of and (loop := loop_of[parent]) in needed:
                last = _last_read(node, nodes[loop].attrs["steps"].length)
                if last is None:
                    del needed[loop]
                else:
                    needed[loop] = max(needed[loop], last + 1)
    return {at: count for at, count in needed.items() if 0 < count < nodes[at].attrs["steps"].length}


def _may_be_shorter(steps: Steps) -> bool:
    """Return whether nobody notices if a loop has fewer steps: not if it runs any code of Python."""
    return steps.ends_by == "length" and not steps.is_backwards and not runs_python(steps)


def runs_python(steps: Steps) -> bool:
    """Return whether the body of a loop, or that of one in it, has operations without instructions."""
    return any(
        op is not None
        and (op.is_users or op.lower is None or (op is STEPS and runs_python(node.attrs["steps"])))
        for node in steps.body.nodes
        for op in [node.call.op]
    )


def _last_read(node: Node, length: int) -> int | None:
    """Return the last element that a node reads of an array along its first axis; None if that is unknown."""
    if node.call.op is not getitem_op or len(node.inputs) != 2 or not node.attrs["index"]:
        return None
    first = node.attrs["index"][0]
    if type(first) is int:
        return first if first >= 0 else None
    if type(first) is not slice or min(x or 0 for x in (first.start, first.stop, first.step)) < 0:
        return None  # it counts from the end
    return max(range(*first.indices(length)), default=-1)


class _Trimmed(Shorter):
    """The tape that is made, with fewer steps of some loops."""

    def __init__(self, columns: Columns, lengths: dict[int, int]) -> None:
        super().__init__(columns, (), {}, [])
        self.lengths = lengths

    def _copy_node(self, node: Node) -> None:
        length = self.lengths.get(len(self.place))
        if length is None:
            super()._copy_node(node)
            return
        steps = node.attrs["steps"]
        operands = self.operands_of(node)
        first = steps.constants + steps.states
        index = (slice(0, length, 1),)
        for k in range(first, len(operands)):
            at = self.append(getitem_op, [operands[k]], {"index": index})
            operands[k] = (at, self.nodes[at].value)
        self.append(STEPS, operands, {"steps": replace(steps, length=length)})
