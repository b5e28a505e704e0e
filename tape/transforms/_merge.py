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
    return moved(trace, handles, merged(Columns(trace.nodes), [handle.id for handle in handles]))[-1]


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


def merged(columns: Columns, roots: Collection[int]) -> tuple[list[Node], dict[int, int]] | None:
    """Return a tape on which nodes that compute the same are one; None if there are none.

    Operations without instructions stay as they are: they may be any Python code, which may do something else
    each time.

    Parameters
    ----------
    columns : Columns
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
    firsts = _firsts(columns)
    if firsts is None:
        return None
    place: list[int] = []
    kept: list[Node] = []
    for id, node in enumerate(columns.nodes):
        first = firsts[id]
        if first != id:
            place.append(place[first])
            continue
        place.append(len(kept))
        kept.append(_moved_node(node, firsts, place, columns.nodes))
    return kept, {id: place[id] for id in roots}


def reading_firsts(columns: Columns) -> Sequence[Node]:
    """Return a tape as long as the one given, whose nodes read the first of those that compute the same.

    Parameters
    ----------
    columns : Columns
        A tape, as for `merged`.

    Returns
    -------
    sequence of Node
        The tape. Nothing reads what is computed a second time.
    """
    firsts = _firsts(columns)
    if firsts is None:
        return columns.nodes
    return [_moved_node(node, firsts, firsts, columns.nodes) for node in columns.nodes]


def _moved_node(node: Node, firsts: Sequence[int], place: Sequence[int], nodes: Sequence[Node]) -> Node:
    """Return a node that reads the first of those that compute what it reads, from where these are."""
    inputs = list(node.inputs)
    for k, parent in enumerate(node.inputs[::2]):
        if parent is not None:
            inputs[2 * k] = place[parent]
            if firsts[parent] != parent:
                inputs[2 * k + 1] = nodes[firsts[parent]].value
    return Node(node.value, node.call, tuple(inputs)) if inputs else node


_MOST_ROUNDS, _MANY_OPERANDS = 6, 8


def _firsts(columns: Columns) -> list[int] | None:
    """Return for each node the first one that computes the same; None if that is always itself."""
    count = len(columns.nodes)
    kinds: dict[Hashable, int] = {}
    codes = columns.coded(lambda call: _code(call, kinds))
    codes = np.where(codes < 0, len(kinds) + np.arange(count), codes)  # those are like no other
    # Constants count as nodes after the last one.
    operands = np.where(columns.parents < 0, columns.constants + count, columns.parents)
    if _are_different(columns, codes, operands):
        return None
    numbers = np.arange(count + len(operands))
    firsts = numbers[:count].copy()
    for _ in range(_MOST_ROUNDS):
        nearer = _firsts_by_operands(columns, codes, numbers[operands])
        if (nearer == firsts).all():
            break
        numbers[:count] = firsts = nearer
    else:
        return _firsts_in_order(columns, codes.tolist(), operands.tolist())
    return None if (firsts == np.arange(count)).all() else firsts.tolist()


def _are_different(columns: Columns, codes: np.ndarray, operands: np.ndarray) -> bool:
    """Return whether no two nodes have the same hash of code and operands: then no two are the same.

    This is so for nearly all tapes, and takes a fraction of the time in which nodes are compared.
    """
    parts = _mixed(operands.astype(np.uint64) + columns.slots.astype(np.uint64) * _FACTORS[0])
    totals = np.concatenate([np.zeros(1, np.uint64), np.cumsum(parts)])
    of_operands = totals[columns.starts[1:]] - totals[columns.starts[:-1]]
    hashes = np.sort(_mixed(of_operands + codes.astype(np.uint64) * _FACTORS[1]))
    return bool((hashes[1:] != hashes[:-1]).all())


_FACTORS = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Return numbers of 64 bits of which each depends on all bits of one (SplitMix64, Steele et al. 2014)."""
    numbers = (numbers ^ numbers >> np.uint64(30)) * _FACTORS[1]
    numbers = (numbers ^ numbers >> np.uint64(27)) * _FACTORS[2]
    return numbers ^ numbers >> np.uint64(31)


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
