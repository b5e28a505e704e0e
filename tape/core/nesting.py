"""What stands below a Var at some depth of nesting: a whole batch, one without traces, the Var of a program.

The array below all nesting is `tape.core.node.plain`. Nothing here knows which interpreters there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tape.core.node import Handle
from tape.core.weak import Weak


def plain_batch(value: Any) -> Any:
    """The array below all nesting; of a batch all of them, with an axis in front for each batch."""
    while isinstance(value, Handle):
        value = value.node.value
    return value


def untraced(value: Any) -> Any:
    """The array below all traces; of a batch, a batch of these."""
    if not isinstance(value, Handle):
        return value
    below = untraced(value.node.value)
    return value.trace.batch(below) if value.is_batch else below  # type: ignore[attr-defined]


def batch_below(value: Any) -> Any:
    """The batch that a handle is, or that stands below its traces; None if there is none."""
    while isinstance(value, Handle) and not value.is_batch:
        value = value.node.value
    return value if isinstance(value, Handle) else None


def batches_of(value: Any) -> Iterator[Any]:
    """The interpreters of the batches that a handle and what stands below it are of."""
    while isinstance(value, Handle):
        if value.is_batch:
            yield value.trace
        value = value.node.value


def traced(value: Any) -> Any:
    """The array below all nesting; in a function that is being compiled the Var that stands for it."""
    while isinstance(value, Handle) and not value.is_traced:
        value = value.node.value
    return value


def shown(value: Any) -> Any:
    """The value of a handle to show: of one that a program computes anew, its number in this call."""
    return value.number if value.is_traced else value.node.value


def is_number(value: Any) -> bool:
    """Return whether a value stands for a Python number in a function that is being compiled.

    No derivative is ever taken by it: what is differentiated is an array or a NumPy scalar.
    """
    return isinstance(value, Handle) and value.is_traced and isinstance(value.node.value, Weak)


def identity(value: Any) -> Any:
    """Return a key that is the same for all handles to a value: by the id of the node, or of an array.

    A batch of Vars has a node for each handle, so that it is known by its lanes and the key of these Vars.
    The key is good for as long as someone holds one of the handles.
    """
    if not isinstance(value, Handle):
        return id(value)
    below = value.node.value
    return (
        (id(value.trace_ref), identity(below))
        if value.is_batch and isinstance(below, Handle)
        else id(value.node)
    )
