"""Merging: nodes of a tape that compute the same become one, before the tape is swept.

A program finds equal instructions anyway, but after the reverse sweep: a value that a function computes a
hundred times has been swept a hundred times by then, with adjoints that have little in common. One node has
their sum for an adjoint.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tape.core.node import Call, Node, plain
from tape.core.trace import Trace
from tape.transforms.loops.columns import Columns, paired
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


_MOST_ROUNDS, _MANY_OPERANDS = 6, 8


def _firsts(nodes: Sequence[Node]) -> list[int] | None:
    """Return for each node the first one that computes the same; None if that is always itself."""
    columns = Columns(nodes)
    kinds: dict[Hashable, int] = {}
    codes = columns.coded(lambda call: _code(call, kinds))
    codes = np.where(codes < 0, len(kinds) + np.arange(len(nodes)), codes)  # those are like no other
    # Constants count as nodes after the last one.
    operands = np.where(columns.parents < 0, columns.constants + len(nodes), columns.parents)
    numbers = np.arange(len(nodes) + len(operands))
    firsts = numbers[: len(nodes)].copy()
    for _ in range(_MOST_ROUNDS):
        nearer = _firsts_by_operands(columns, codes, numbers[operands])
        if (nearer == firsts).all():
            break
        numbers[: len(nodes)] = firsts = nearer
    else:
        return _firsts_in_order(columns, codes.tolist(), operands.tolist())
    return None if (firsts == np.arange(len(nodes))).all() else firsts.tolist()


def _firsts_by_operands(columns: Columns, codes: np.ndarray, operands: np.ndarray) -> np.ndarray:
    """Return for each node the first one of the same code whose operands have the same numbers."""
    starts, counts = columns.starts[:-1], np.diff(columns.starts)
    groups = paired(codes, counts)
    for slot in range(min(_MANY_OPERANDS, counts.max(initial=0))):
        having = np.flatnonzero(counts > slot)
        groups[having] = paired(groups[having], operands[starts[having] + slot]) + (slot + 1) * len(codes)
    known: dict[Any, int] = {}
    for id in np.flatnonzero(counts > _MANY_OPERANDS).tolist():
        whole = groups[id], operands[starts[id] : starts[id] + counts[id]].tobytes()
        groups[id] = known.setdefault(whole, -1 - len(known))
    _, firsts, which = np.unique(groups, return_index=True, return_inverse=True)
    return firsts[which]


def _firsts_in_order(columns: Columns, codes: list[int], operands: list[int]) -> list[int]:
    """Return for each node the first one that computes the same, where long chains do."""
    firsts = list(range(len(codes) + len(operands)))
    first_of = firsts.__getitem__
    known: dict[tuple[int, ...], int] = {}
    for at, (code, (start, stop)) in enumerate(zip(codes, pairwise(columns.starts.tolist()), strict=True)):
        firsts[at] = known.setdefault((code, *map(first_of, operands[start:stop])), at)
    return firsts[: len(codes)]


def _code(call: Call, kinds: dict[Hashable, int]) -> int:
    """Return a number that is the same for calls alike; -1 if they may do something else each time."""
    if call.op is None or call.op.lower is None:
        return -1
    return kinds.setdefault(Hashable((call.op, *call.attrs.items())), len(kinds))
