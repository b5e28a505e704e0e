"""The reverse sweep: backwards over a tape for adjoints.

Nodes stand in execution order, so each walk is one loop: never a sort, never a recursion. What is
given has been checked already; contributions are added up here, all else is in the nodes' rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from tape import errors
from tape.core.node import Handle, Node, snapshot
from tape.core.table import INTERNAL
from tape.kernels.accumulate import Scattered, accumulate


def reverse_sweep(
    nodes: list[Node],
    seeds: Mapping[int, Any],
    *,
    where: object,
    keep_all: bool = False,
    consume: bool = False,
) -> list[Any]:
    """Return the adjoints of all nodes up to the last one with a seed.

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
    if consume:
        del nodes[count:]
    length = len(nodes)
    for i in range(count - 1, -1, -1):
        adjoint = adjoints[i]
        if adjoint is None:
            continue
        node = nodes[i]
        pull = node.call.pull
        if pull is None:
            continue
        try:
            contributions = pull(node, adjoint)
        except Exception as error:
            error.add_note(f"in the vjp of {place(node, i, where)}")
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
                nodes[i] = None  # type: ignore[call-overload]  # nobody visits it again
    if len(nodes) != length:
        refuse_recording(nodes, length, where)
    if consume:
        nodes.clear()
    return adjoints


def unshared(adjoints: Sequence[Any], seeds: Mapping[int, Any]) -> list[Any]:
    """Return adjoints in C order that share memory neither with each other nor with a seed."""
    taken = {id(seed) for seed in seeds.values()}
    given = []
    for adjoint in adjoints:
        if type(adjoint) is np.ndarray:
            if adjoint.base is not None or id(adjoint) in taken or not adjoint.flags.c_contiguous:
                adjoint = adjoint.copy()
            taken.add(id(adjoint))
        elif isinstance(adjoint, Handle):
            adjoint = snapshot(adjoint) if adjoint.is_batch else INTERNAL["in_c_order"](snapshot(adjoint))
        given.append(adjoint)
    return given


def place(node: Node, i: int, where: object) -> str:
    """Describe a node in an error."""
    recorded = f", recorded at {node.site}" if node.site else ""
    return f"{node.op!r}, node %{i} of {where!r}{recorded}"


def refuse_recording(nodes: list[Node], length: int, where: object) -> NoReturn:
    """Raise because a rule has recorded on the tape that was being swept, and undo that."""
    op = nodes[length].op
    del nodes[length:]
    raise errors.UnsupportedError(
        f"a rule closes over a Var of {where!r}, which is being swept, and so has recorded {op!r} there: its "
        "derivative would be lost. Make it an operand of the operation"
    )
