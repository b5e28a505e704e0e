"""Walks forwards over a tape: for tangents, or for values once more.

As the reverse sweep, each is one loop over the nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tape.core.node import Node
from tape.core.sweep import place, refuse_recording


def push_forward(
    nodes: list[Node],
    seeds: Mapping[int, Any],
    roots: Sequence[int],
    *,
    where: object,
) -> list[Any]:
    """Return the tangents of some nodes; all others are freed as soon as they are used up.

    Parameters
    ----------
    nodes : sequence of Node
        A tape.
    seeds : mapping of int to array
        The tangents of leaves that move, by node id.
    roots : sequence of int
        Of which nodes.
    where : object
        What errors name as the place of a node.

    Returns
    -------
    list
        One for each root, which may be a seed; None where nothing flows.
    """
    count = max(roots, default=-1) + 1
    tangents: list[Any] = [None] * count
    for i, seed in seeds.items():
        if i < count:
            tangents[i] = seed
    length = len(nodes)
    first = min(seeds, default=count) + 1
    last_use = _last_uses(nodes, first, count, roots)
    for i in range(first, count):
        if last_use[i] < 0:
            continue  # nobody wants it
        node = nodes[i]
        inputs = node.inputs
        incoming = [None if parent is None else tangents[parent] for parent in inputs[::2]]
        for tangent in incoming:
            if tangent is not None:
                break
        else:
            continue
        try:
            tangents[i] = node.call.push_forward(node, incoming)
        except Exception as error:
            error.add_note(f"in the jvp of {place(node, i, where)}")
            raise
        _drop_used(tangents, inputs, last_use, i)
    if len(nodes) != length:
        refuse_recording(nodes, length, where)
    return [tangents[root] for root in roots]


def _last_uses(nodes: Sequence[Node], first: int, count: int, roots: Sequence[int]) -> list[int]:
    """Return for each node the last one that needs it for a root; -1 if none does."""
    last = [-1] * count
    for root in roots:
        last[root] = count
    for i in range(count - 1, first - 1, -1):
        if last[i] < 0:
            continue
        for parent in nodes[i].inputs[::2]:
            if parent is not None and last[parent] < 0:
                last[parent] = i
    return last


def _drop_used(held: list[Any], inputs: tuple[Any, ...], last_use: Sequence[int], i: int) -> None:
    """Let go of what node ``i`` was the last one to use."""
    for parent in inputs[::2]:
        if parent is not None and last_use[parent] == i:
            held[parent] = None


def rerun(
    nodes: Sequence[Node], leaves: Mapping[int, Any], roots: Sequence[int], *, where: object
) -> list[Any]:
    """Return the values of some nodes for other leaves; the tape stays as it is.

    Parameters
    ----------
    nodes : sequence of Node
        A tape.
    leaves : mapping of int to array
        The values of leaves, by node id; others keep theirs.
    roots : sequence of int
        Of which nodes.
    where : object
        What errors name as the place of a node.

    Returns
    -------
    list
        One for each root.
    """
    count = max(roots, default=-1) + 1
    last_use = _last_uses(nodes, 0, count, roots)
    values: list[Any] = [None] * count
    for i in range(count):
        if last_use[i] < 0:
            continue  # nobody wants it
        node = nodes[i]
        op = node.call.op
        if op is None:
            values[i] = leaves.get(i, node.value)
            continue
        inputs = node.inputs
        operands = [
            operand if parent is None else values[parent]
            for parent, operand in zip(inputs[::2], inputs[1::2], strict=True)
        ]
        try:
            values[i] = op(*operands, **node.call.attrs)
        except Exception as error:
            error.add_note(f"in {place(node, i, where)}")
            raise
        _drop_used(values, inputs, last_use, i)
    return [values[root] for root in roots]


def forget_values(nodes: Sequence[Node]) -> None:
    """Drop what `rerun` will compute anyway: all values but those of leaves and constants."""
    for node in nodes:
        if node.call.op is not None:
            node.value = None
            pairs = zip(node.parents, node.operands, strict=True)
            node.inputs = tuple(part for p, x in pairs for part in (p, x if p is None else None))


def recompute(nodes: Sequence[Node], *, where: object) -> None:
    """Compute every value anew from the leaves; on an error nothing has changed."""
    renewed: list[Node] = []
    for node in nodes:
        inputs: list[Any] = []
        for parent, operand in zip(node.parents, node.operands, strict=True):
            inputs += (parent, operand if parent is None else renewed[parent].value)
        try:
            renewed.append(node.call.again(node, len(renewed), tuple(inputs)))
        except Exception as error:
            error.add_note(f"in the replay of {place(node, len(renewed), where)}")
            raise
    for node, new in zip(nodes, renewed, strict=True):
        node.value, node.inputs = new.value, new.inputs
