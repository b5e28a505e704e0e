"""Trimming: a loop on a tape of which nothing is read but what early steps have collected ends with these.

Its other steps have no derivative, but zeros that flow through them become NaN where they overflow.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from tape.core.linear import part
from tape.core.node import Node
from tape.ops.structure.indexing import getitem_op
from tape.transforms.loops.columns import Columns
from tape.transforms.loops.operation import STEPS
from tape.transforms.loops.rolling import Shorter, without_dead


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
    lengths = {
        at: length
        for at, node in enumerate(nodes)
        if node.call.op is STEPS and (length := _needed(nodes, at, set(place.values()))) is not None
    }
    if not lengths:
        return None
    shorter = _Trimmed(Columns(nodes), lengths)
    shorter.finish()
    return shorter.nodes, {id: shorter.place[at] for id, at in place.items()}


def _needed(nodes: Sequence[Node], at: int, wanted: Collection[int]) -> int | None:
    """Return how many steps of a loop are needed, if they are fewer than it has."""
    steps = nodes[at].attrs["steps"]
    if steps.ends_by != "length" or steps.is_backwards or at in wanted:
        return None
    parts = {}
    needed = 0
    for number in range(at + 1, len(nodes)):
        node = nodes[number]
        if at in node.parents:
            if node.call.op is not part or node.attrs["index"] < steps.states or number in wanted:
                return None
            parts[number] = node
        elif any(parent in parts for parent in node.parents):
            if node.call.op is not getitem_op or len(node.inputs) != 2 or not node.attrs["index"]:
                return None
            first = node.attrs["index"][0]
            if type(first) is int and first >= 0:
                needed = max(needed, first + 1)
            elif type(first) is slice and min(first.start or 0, first.stop or -1, (first.step or 1) - 1) >= 0:
                needed = max(needed, *[k + 1 for k in range(*first.indices(steps.length))])
            else:
                return None
    return needed if 0 < needed < steps.length else None


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
        operands: list[Any] = [
            (None, x) if p is None else self.given(p)
            for p, x in zip(node.parents, node.operands, strict=True)
        ]
        first = steps.constants + steps.states
        index = (slice(0, length, 1),)
        for k in range(first, len(operands)):
            at = self.append(getitem_op, [operands[k]], {"index": index})
            operands[k] = (at, self.nodes[at].value)
        self.append(STEPS, operands, {"steps": replace(steps, length=length)})
