"""Merging: nodes of a tape that compute the same become one, before the tape is swept.

A program finds equal instructions anyway, but after the reverse sweep: a value that a function computes a
hundred times has been swept a hundred times by then, with adjoints that have little in common. One node has
their sum for an adjoint.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tape.core.node import Call, Handle, Node, plain
from tape.core.trace import Trace
from tape.transforms.loops.likeness import Hashable


def merge(trace: Trace, root: Any) -> Any:
    """Merge nodes of a trace; return where one of its Vars is then."""
    handles = [*trace.params, root]
    return moved(trace, handles, merged(trace.nodes, [handle.id for handle in handles]))[-1]


def moved(
    trace: Trace, handles: Sequence[Any], shorter: tuple[list[Node], dict[int, int]] | None
) -> Sequence[Any]:
    """Let a trace have a shorter tape, if there is one; return where its Vars are then."""
    if shorter is None:
        return handles
    for handle in handles:
        plain(handle)  # which a stale view refuses
    nodes, place = shorter
    trace.replace(nodes, place)
    return [trace[place[handle.id]] for handle in handles]


def merged(nodes: Sequence[Node], roots: Collection[int]) -> tuple[list[Node], dict[int, int]] | None:
    """Return a tape on which nodes that compute the same are one; None if there are none.

    Operations without instructions stay as they are: they may be any Python code, which may do something else
    each time.

    Parameters
    ----------
    nodes : sequence of Node
        A tape. The values of its nodes are numbers and arrays, or Vars of a tape further out.
    roots : collection of int
        The nodes that are asked for.

    Returns
    -------
    list of Node
        The tape.
    dict of int to int
        Where the roots are on it.
    """
    firsts = _firsts(nodes)
    if firsts is None:
        return None
    place: list[int] = []
    kept: list[Node] = []
    for id, node in enumerate(nodes):
        first = firsts[id]
        if first != id:
            place.append(place[first])
            continue
        place.append(len(kept))
        inputs = list(node.inputs)
        for k, parent in enumerate(node.inputs[::2]):
            if parent is not None:
                inputs[2 * k] = at = place[parent]
                if firsts[parent] != parent:
                    inputs[2 * k + 1] = kept[at].value
        kept.append(Node(node.value, node.call, tuple(inputs)) if inputs else node)
    return kept, {id: place[id] for id in roots}


def _firsts(nodes: Sequence[Node]) -> list[int] | None:
    """Return for each node the first one that computes the same; None if that is always itself."""
    firsts = list(range(len(nodes)))
    kinds: dict[Hashable, int] = {}
    codes: dict[int, int] = {}  # of each call, by its identity: most nodes share theirs
    known: dict[tuple[Any, ...], int] = {}
    is_shorter = False
    for at, node in enumerate(nodes):
        call = node.call
        code = codes.get(id(call))
        if code is None:
            code = codes[id(call)] = _code(call, kinds)
        if code < 0:
            continue
        key: list[Any] = [code]
        inputs = iter(node.inputs)
        for parent, value in zip(inputs, inputs, strict=True):
            key.append(_constant(value) if parent is None else firsts[parent])
        first = known.setdefault(tuple(key), at)
        if first != at:
            firsts[at], is_shorter = first, True
    return firsts if is_shorter else None


def _code(call: Call, kinds: dict[Hashable, int]) -> int:
    """Return a number that is the same for calls alike; -1 if they may do something else each time."""
    if call.op is None or call.op.lower is None:
        return -1
    return kinds.setdefault(Hashable((call.op, *call.attrs.items())), len(kinds))


def _constant(value: Any) -> Any:
    """Return what equal constants have in common: the node of a Var, or the type of a number and its bits."""
    return (None, id(value.node)) if isinstance(value, Handle) else Hashable(value)
