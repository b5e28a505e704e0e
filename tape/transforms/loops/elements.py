"""Values that are the elements of an array, in order: one slice stands for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.core.node import Node, plain
from tape.ops.structure.indexing import getitem_op
from tape.ops.structure.joining import stack_op

MOST_STACKED, MOST_BYTES = 4096, 4096
"""How many separate values are joined in an array for the steps of a loop, and of what size."""


class Misfit(Exception):
    """Raised where nodes that look alike are no loop."""


def elements_of(nodes: Sequence[Node]) -> tuple[int, int, int] | None:
    """Return the node of an array, the first index and the step, if these are its elements, so far apart."""
    count = count_of_elements(nodes)
    if count < len(nodes) or count < 2:
        return None
    array = nodes[0].inputs[0]
    first, second = _number(nodes[0], array), _number(nodes[1], array)
    assert first is not None
    assert second is not None
    return array, first, second - first


def count_of_elements(nodes: Sequence[Node]) -> int:
    """Return how many of these nodes, from the first on, are elements of one array at regular distances."""
    if len(nodes) < 2 or nodes[0].inputs[:1] in ((), (None,)):
        return 0
    array = nodes[0].inputs[0]
    first, second = _number(nodes[0], array), _number(nodes[1], array)
    if first is None or second is None or first == second:
        return 0
    for k, node in enumerate(nodes):
        if _number(node, array) != first + k * (second - first):
            return k
    return len(nodes)


def _number(node: Node, array: Any) -> int | None:
    """Return which element of the array a node is; None if it is none."""
    if node.call.op is not getitem_op or node.inputs[0] != array or len(node.inputs) != 2:
        return None
    index = node.call.attrs["index"]
    if len(index) != 1 or type(index[0]) is not int:
        return None
    return index[0] % np.shape(node.inputs[1])[0]


def slice_of(first: int, step: int, count: int) -> slice:
    stop = first + step * count
    return slice(first, None if stop < 0 else stop, step)


def joined(values: Sequence[Any]) -> Any:
    """Return arrays, or Vars of a tape further out, as one: a slice, if they are elements of one."""
    found = None if type(values[0]) is np.ndarray else elements_of([value.node for value in values])
    if found is None:
        if len(values) > MOST_STACKED:
            raise Misfit("there is another array in each step, which is no element of one")
        return stack_op(*values, axis=0)
    array, first, step = found
    return getitem_op(values[0].trace[array], index=(slice_of(first, step, len(values)),))


def is_like(value: Any, other: Any) -> bool:
    """Return whether two Vars can be elements of one array, which takes little to make."""
    return (
        type(value) is type(other)
        and (type(value) is np.ndarray or value.trace_ref is other.trace_ref)
        and (value.shape, value.dtype) == (other.shape, other.dtype)
        and isinstance(plain(value), (np.ndarray, np.generic))
        and plain(value).nbytes <= MOST_BYTES
    )
