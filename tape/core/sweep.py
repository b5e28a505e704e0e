"""Walks over a tape: backwards for adjoints, forwards for tangents, or for values once more.

Nodes stand in execution order, so each walk is one loop: never a sort, never a recursion. What is
given has been checked already; values are only ever added together, all else is in the nodes' rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tape import errors
from tape.core.node import Handle, Node, settled
from tape.kernels.accumulate import Scattered, accumulate

if TYPE_CHECKING:
    from tape.inspect.watching import Watching

__all__ = ["forget_values", "pull_back", "push_forward", "recompute", "rerun", "unshared"]


def pull_back(
    nodes: list[Node],
    seeds: Mapping[int, Any],
    *,
    where: object,
    watching: Watching | None = None,
    keep_all: bool = False,
    consume: bool = False,
) -> list[Any]:
    """The adjoints of all nodes up to the last one with a seed.

    The first contribution to an adjoint may alias anything. The second makes an array of our own,
    and from then on contributions are added in place.

    Parameters
    ----------
    nodes : sequence of Node
        A tape.
    seeds : mapping of int to array
        The adjoints to start from, by node id.
    where : object
        What errors name as the place of a node.
    watching : Watching, optional
        Who is told of each rule that runs.
    keep_all : bool
        Keep the adjoints of all nodes; otherwise only those of leaves, and the others are freed as
        soon as they are used up.
    consume : bool
        Take each node off the tape once it has been visited, which frees its memory for adjoints.

    Returns
    -------
    list
        By node id; None where nothing flows.
    """
    count = max(seeds, default=-1) + 1
    adjoints: list[Any] = [None] * count
    is_ours = bytearray(count)
    for i, seed in seeds.items():
        adjoints[i] = seed
    visited: list[Any] = nodes
    if consume:
        visited = nodes[:count]
        nodes.clear()
    length = len(nodes)
    for i in range(count - 1, -1, -1):
        adjoint = adjoints[i]
        if adjoint is None:
            continue
        node = visited[i]
        pull = node.call.pull
        if pull is None:
            continue
        try:
            contributions = pull(node, adjoint) if watching is None else watching.pull(node, adjoint, visited)
        except Exception as error:
            error.add_note(f"in the vjp of {_place(node, i, where)}")
            raise
        for parent, contribution in contributions:
            so_far = adjoints[parent]
            if so_far is None:
                adjoints[parent] = contribution
                if type(contribution) is Scattered:
                    adjoints[parent] = contribution.dense()
                    is_ours[parent] = True
            elif is_ours[parent] and not isinstance(contribution, Handle):
                accumulate(so_far, contribution)
            else:
                if type(contribution) is Scattered:
                    contribution = contribution.dense()
                total = so_far + contribution
                adjoints[parent] = total
                is_ours[parent] = type(total) is np.ndarray
        if not keep_all:
            adjoints[i] = None
            if consume:
                visited[i] = None
    if len(nodes) != length:
        _refuse_recording(nodes, length, where)
    return adjoints


def unshared(adjoints: Sequence[Any], seeds: Mapping[int, Any]) -> list[Any]:
    """Adjoints to give away: none of them shares memory with another one, or with a seed."""
    taken = {id(seed) for seed in seeds.values()}
    given = []
    for adjoint in adjoints:
        if type(adjoint) is np.ndarray:
            if adjoint.base is not None or id(adjoint) in taken:
                adjoint = adjoint.copy()
            taken.add(id(adjoint))
        given.append(settled(adjoint))
    return given


def push_forward(
    nodes: list[Node],
    seeds: Mapping[int, Any],
    roots: Sequence[int],
    *,
    where: object,
    watching: Watching | None = None,
) -> list[Any]:
    """The tangents of some nodes; all others are freed as soon as they are used up.

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
    watching : Watching, optional
        Who is told of each rule that runs.

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
            if watching is None:
                tangents[i] = node.call.op.push_forward(node, incoming)  # type: ignore[union-attr]
            else:
                tangents[i] = watching.push(node, incoming, nodes)
        except Exception as error:
            error.add_note(f"in the jvp of {_place(node, i, where)}")
            raise
        _drop_used(tangents, inputs, last_use, i)
    if len(nodes) != length:
        _refuse_recording(nodes, length, where)
    return [tangents[root] for root in roots]


def _place(node: Node, i: int, where: object) -> str:
    recorded = f", recorded at {node.site}" if node.site else ""
    return f"{node.op!r}, node %{i} of {where!r}{recorded}"


def _refuse_recording(nodes: list[Node], length: int, where: object) -> NoReturn:
    """Raise because a rule has recorded on the tape that was being swept, and undo that."""
    op = nodes[length].op
    del nodes[length:]
    raise errors.UnsupportedError(
        f"a rule closes over a Var of {where!r}, which is being swept, and so has recorded {op!r} there: its "
        "derivative would be lost. Make it an operand of the operation"
    )


def _last_uses(nodes: Sequence[Node], first: int, count: int, roots: Sequence[int]) -> list[int]:
    """For each node the last one that needs it for a root; -1 if none does, for roots none of these."""
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
    """The values of some nodes for other leaves; the tape stays as it is.

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
    watching : Watching, optional
        Who is told of each rule that runs.

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
            error.add_note(f"in {_place(node, i, where)}")
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


def recompute(nodes: Sequence[Node], *, where: object, watching: Watching | None = None) -> None:
    """Compute every value anew from the leaves; on an error nothing has changed."""
    values: list[Any] = []
    inputs: list[tuple[Any, ...]] = []
    for node in nodes:
        renewed: list[Any] = []
        for parent, operand in zip(node.parents, node.operands, strict=True):
            renewed += (parent, operand if parent is None else values[parent])
        inputs.append(tuple(renewed))
        try:
            values.append(node.value if node.op is None else node.op(*renewed[1::2], **node.attrs))
            if watching is not None:
                watching.replayed(node, len(values) - 1, values[-1], inputs[-1])
        except Exception as error:
            error.add_note(f"in the replay of {_place(node, len(values), where)}")
            raise
    for node, value, renewed_inputs in zip(nodes, values, inputs, strict=True):
        node.value, node.inputs = value, renewed_inputs
