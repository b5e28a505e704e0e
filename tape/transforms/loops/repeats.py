"""Whether the last nodes of a tape repeat themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tape.core.node import Call, Handle, Node, plain
from tape.core.op import Op
from tape.core.results import Results
from tape.ops.structure.indexing import getitem_op

_LEAST, _LEAST_PERIODS, _PART = 48, 3, 4
"""How many nodes, how many periods, and which part of the tape have to repeat themselves."""
_MOST = 4096
"""How many of the last nodes are looked at."""


def repetition(nodes: Sequence[Node]) -> tuple[int, int] | None:
    """Return the start and the length of the first of the periods that a tape ends with; None without any.

    Parameters
    ----------
    nodes : sequence of Node
        The tape.
    """
    count = len(nodes)
    least = min(max(_LEAST, count // _PART), _MOST // 2)
    length = _length([_kind(node.call) for node in nodes[-_MOST:]], least)
    if length is None:
        return None
    start = count - length
    while start > 0 and is_alike(nodes, start - 1 + length, length):
        start -= 1
    alike = start  # the operands of the first period are what states are at first
    while start > max(0, alike - length) and is_alike(nodes, start - 1 + length, length, is_first=True):
        start -= 1
    return (start, length) if count - start >= max(least, _LEAST_PERIODS * length) else None


def _length(kinds: Sequence[Any], least: int) -> int | None:
    """Return the length of the shortest period that a sequence ends with, over so many items at least."""
    count = len(kinds)
    for length in range(1, count // _LEAST_PERIODS + 1):
        if kinds[-1] == kinds[-1 - length]:
            times = max(_LEAST_PERIODS, -(-least // length))
            tail = kinds[-length * times :]
            if length * times <= count and tail[length:] == tail[:-length]:
                return length
    return None


def _kind(call: Call) -> Any:
    """Return what a call has in common with the one a period later: ints in an index may differ."""
    if call.op is not getitem_op:
        return id(call)
    return call.pull is None, *[int if type(i) is int else repr(i) for i in call.attrs["index"]]


def are_calls_alike(call: Call, other: Call) -> bool:
    """Return whether calls are the same, or read elements of an array at other indices."""
    return call is other or _kind(call) == _kind(other)


def is_inside(index: Sequence[Any], shape: Sequence[int]) -> bool:
    """Return whether ints in an index are there in an array of a shape, in which each entry takes an axis."""
    return (
        len(index) <= len(shape)
        and all(type(i) in (int, slice) for i in index)
        and all(type(i) is slice or -n <= i < n for i, n in zip(index, shape, strict=False))
    )


def is_alike(nodes: Sequence[Node], at: int, length: int, *, is_first: bool = False) -> bool:
    """Return whether a node is the operation of the node a period before, on operands a period later.

    If that is in the first period, its operands may be any nodes.
    """
    node, before = nodes[at], nodes[at - length]
    if not are_calls_alike(node.call, before.call):
        return False
    if node.call.op is None or len(node.inputs) != len(before.inputs):
        return False
    for k in range(0, len(node.inputs), 2):
        parent, past = node.inputs[k], before.inputs[k]
        if parent is None or past is None:
            if parent is not past or type(node.inputs[k + 1]) is not type(before.inputs[k + 1]):
                return False
        elif parent != past and parent - past != length and not is_first:
            return False
    return True


def is_typed_alike(node: Node, before: Node) -> bool:
    """Return whether a node and the one a period before have one type, which it will have a period later.

    Not if the operation may raise for some numbers: that has to happen at the line of the user that calls it.
    """
    op = node.call.op
    if op is None or may_raise(op):
        return False
    depends = op.data_dependent
    if depends is True or (depends and depends(*node.operands, **node.attrs)):
        return False
    pairs = zip((node.value, *node.operands), (before.value, *before.operands), strict=True)
    return all(has_same_type(value, other) for value, other in pairs)


def may_raise(op: Op) -> bool:
    """Return whether an operation may raise for some values of its operands; `is_inside` checks indices."""
    home = getattr(op.forward, "__module__", None) or ""
    return op.is_users or op.lower is None or any(part in home for part in _RAISING)


_RAISING = ("linalg", "_inlined", "loops")
"""Parts of the names of modules: of decompositions, and of operations that run others."""


def has_same_type(value: Any, other: Any) -> bool:
    """Return whether two values have one type, shape and dtype, and belong to one tape if they are Vars.

    Not if they are arrays of integers, which may be indices out of bounds.
    """
    if type(value) is not type(other):
        return False
    if isinstance(value, Handle):
        if value.trace_ref is not other.trace_ref:
            return False
        value, other = plain(value), plain(other)
        if type(value) is not type(other):
            return False
    if type(value) is Results:
        return False
    if not hasattr(value, "dtype"):
        return True
    return value.shape == other.shape and value.dtype == other.dtype and value.dtype.kind in "bfc"
