"""The forward, backward and forward-mode passes over a tape, step by step, for animated pictures.

Each step is what a sweep does at one node. Works on a copy of the nodes that holds plain arrays, so that
nothing is recorded or changed, whatever the trace is nested in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tape.core.checks import check_root, start_of
from tape.core.leaves import checked_tangents
from tape.core.node import Node, plain
from tape.inspect.watching.watch import Phase
from tape.inspect.watching.watched import unwatched
from tape.kernels.accumulate import Scattered

if TYPE_CHECKING:
    from tape.core.trace import Trace
    from tape.core.var import Var


@dataclass(frozen=True, slots=True)
class Write:
    """One write of a step to a node.

    Attributes
    ----------
    id : int
        The node that is written to.
    added : array
        What the step brings: a value, a contribution to an adjoint, a tangent.
    total : array
        What the node holds afterwards: the same, or for an adjoint the sum so far.
    """

    id: int
    added: Any
    total: Any


@dataclass(frozen=True, slots=True)
class Step:
    """The work of a pass at one node.

    Attributes
    ----------
    phase : {"forward", "backward", "tangent"}
        The pass it belongs to.
    node : int
        The node whose operation, reverse rule or forward rule runs.
    reads : tuple of int
        The nodes whose values, adjoints or tangents it needs: of a backward step itself and its parents.
    writes : tuple of Write
        Forwards and in forward mode one, to the node itself; backwards one for each parent that receives
        a contribution; of the first step backwards one to the root, the seed.
    """

    phase: Phase
    node: int
    reads: tuple[int, ...]
    writes: tuple[Write, ...]


def root_of(trace: Trace, root: Var | None = None) -> Var | None:
    """Return the root to differentiate: the given one, that of the last sweep, or the last node of the tape.

    Returns
    -------
    Var or None
        None if there is nothing to differentiate: the last node is not active, or no real float.

    Raises
    ------
    TraceMismatchError
        If ``root`` is not a Var of this trace.
    """
    if root is not None:
        check_root(trace, root)
        return root
    if trace.root is not None:
        return trace.root
    if not trace.nodes:
        return None
    last = trace[-1]
    is_real = plain(last.node.value).dtype.kind == "f"
    return last if is_real and last.node.is_active else None


def ancestors(trace: Trace, root: Var) -> bytearray:
    """Return for every node up to the root 1 if the root depends on it, the root included, else 0.

    Raises
    ------
    TraceMismatchError
        If ``root`` is not a Var of this trace.
    """
    check_root(trace, root)
    wanted = bytearray(root.id + 1)
    wanted[root.id] = 1
    for id in range(root.id, -1, -1):
        if wanted[id]:
            for parent in trace.nodes[id].parents:
                if parent is not None:
                    wanted[parent] = 1
    return wanted


def forward_steps(trace: Trace) -> Iterator[Step]:
    """Yield the forward pass: a step for each node.

    Examples
    --------
    >>> import tape
    >>> from tape.viz.passes import forward_steps
    >>> tr = tape.Trace()
    >>> y = tr.param(3.0) * 2.0
    >>> [(step.node, step.reads, float(step.writes[0].total)) for step in forward_steps(tr)]
    [(0, (), 3.0), (1, (0,), 6.0)]
    """
    for id, node in enumerate(trace.nodes):
        value = plain(node.value)
        yield Step("forward", id, _parents(node), (Write(id, value, value),))


def backward_steps(trace: Trace, root: Var, seed: Any = None) -> Iterator[Step]:
    """Yield the backward pass: the seed, then a step for each node that passes an adjoint on.

    Raises
    ------
    TraceMismatchError, SeedError, DTypeError
        As raised by `Trace.backward`.

    Examples
    --------
    >>> import tape
    >>> from tape.viz.passes import backward_steps
    >>> tr = tape.Trace()
    >>> x = tr.param(3.0)
    >>> for step in backward_steps(tr, x * x):
    ...     print(step.node, [(write.id, float(write.added), float(write.total)) for write in step.writes])
    1 [(1, 1.0, 1.0)]
    1 [(0, 3.0, 3.0), (0, 3.0, 6.0)]
    """
    start, seed = start_of(trace, root, seed)
    seed = plain(seed)
    adjoints: list[Any] = [None] * (start + 1)
    adjoints[start] = seed
    yield Step("backward", start, (), (Write(start, seed, seed),))
    for id in range(start, -1, -1):
        node = _plain(trace.nodes[id])
        pull = node.call.pull
        if adjoints[id] is None or pull is None:
            continue
        writes = []
        for parent, contribution in pull(node, adjoints[id]):
            added = contribution.dense() if isinstance(contribution, Scattered) else contribution
            so_far = adjoints[parent]
            adjoints[parent] = added if so_far is None else so_far + added
            writes.append(Write(parent, added, adjoints[parent]))
        yield Step("backward", id, (id, *_parents(node)), tuple(writes))


def tangent_steps(trace: Trace, tangents: Mapping[Var, Any] | None = None) -> Iterator[Step]:
    """Yield the forward-mode pass: a step for each leaf with a tangent, and each node that depends on one.

    Parameters
    ----------
    trace : Trace
        Any.
    tangents : mapping of Var to array_like, optional
        As for `Trace.jvp`. By default ones for every param.

    Raises
    ------
    TraceMismatchError, SeedError
        As raised by `Trace.jvp`.

    Examples
    --------
    >>> import tape
    >>> from tape.viz.passes import tangent_steps
    >>> tr = tape.Trace()
    >>> x = tr.param(3.0)
    >>> y = x * x
    >>> [(step.node, float(step.writes[0].total)) for step in tangent_steps(tr)]
    [(0, 1.0), (1, 6.0)]
    """
    if tangents is None:
        tangents = {param: np.ones_like(plain(param.node.value)) for param in trace.params}
    seeds = checked_tangents(trace, tangents)
    found: list[Any] = [None] * len(trace.nodes)
    for id, node in enumerate(trace.nodes):
        parents = _parents(node)
        if node.op is None:
            found[id] = plain(seeds.get(id))
        elif any(found[parent] is not None for parent in parents):
            incoming = [None if parent is None else found[parent] for parent in node.parents]
            alone = _plain(node)
            found[id] = alone.call.push_forward(alone, incoming)
        if found[id] is not None:
            yield Step("tangent", id, parents, (Write(id, found[id], found[id]),))


def _parents(node: Node) -> tuple[int, ...]:
    """Return the parents of a node, each once."""
    return tuple(dict.fromkeys(parent for parent in node.parents if parent is not None))


def _plain(node: Node) -> Node:
    """Return a node without nesting or watches: its rules then compute, and record nothing."""
    return Node(plain(node.value), unwatched(node.call), tuple(plain(part) for part in node.inputs))
