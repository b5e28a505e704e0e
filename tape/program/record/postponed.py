"""Loops that a recording does not run, as the program will: on the tape are placeholders for their results.

To run a loop while it is recorded takes a program of its own, for its derivative two more. What follows on
the tape is computed with the placeholders, NaN or zero, which gives shapes and dtypes. When somebody asks for
a number, the recording ends, and begins anew with loops that run (`NumbersNeeded`). Who asks is Python, for a
branch or a text; the user's code that an operation calls; operations that may raise, or have results whose
shapes depend on numbers; whatever runs code on plain values to see what it does, as checkpoints do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.core.node import Node, plain
from tape.core.op import Op
from tape.core.results import Results
from tape.core.weak import Weak, weak
from tape.transforms.loops.operation import STEPS
from tape.transforms.loops.repeats import may_raise
from tape.transforms.loops.steps import Steps
from tape.transforms.loops.trimming import runs_python

__all__ = ["compute", "late_nodes", "placeholders_for", "takes_placeholders"]

_MARKED = 1024
"""Elements of an array that are NaN: so whoever takes a placeholder for a number is found out."""


def placeholders_for(op: Op, attrs: dict[str, Any]) -> Results | None:
    """Return placeholders for the results of an operation, if it is a loop that can wait; else None."""
    if op is not STEPS or not _can_wait(steps := attrs["steps"]):
        return None
    results = []
    for k, example in enumerate(steps.body.results()):
        times = () if k < steps.states else (steps.length,)
        result = np.zeros((*times, *example.shape), example.dtype)
        if example.dtype.kind in "fc":  # the rest of a large one takes no memory
            result.reshape(-1)[:_MARKED] = np.nan
        results.append(result[()])
    return Results(results)


def _can_wait(steps: Steps) -> bool:
    """Return whether nobody notices when a loop runs, and only its numbers depend on numbers."""
    return steps.ends_by == "length" and not runs_python(steps)


def takes_placeholders(op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> bool:
    """Return whether an operation gives a placeholder for its result, given some for its operands."""
    if op is STEPS:
        return _can_wait(attrs["steps"])
    if may_raise(op) or op.name.startswith("nan"):  # which warn where all elements are NaN
        return False
    depends = op.data_dependent
    return not (depends is True or (depends and depends(*map(plain, operands), **attrs)))


def late_nodes(nodes: Sequence[Node]) -> set[int]:
    """Return the nodes whose numbers depend on loops that may have been postponed."""
    late: set[int] = set()
    for id, node in enumerate(nodes):
        op = node.call.op
        if (op is STEPS and _can_wait(node.attrs["steps"])) or not late.isdisjoint(node.inputs[::2]):
            late.add(id)
    return late


def compute(nodes: Sequence[Node]) -> None:
    """Compute the numbers of loops that were postponed, and of all nodes that depend on them, in place."""
    with np.errstate(all="ignore"):
        for id in sorted(late_nodes(nodes)):
            node = nodes[id]
            pairs = zip(node.inputs[::2], node.inputs[1::2], strict=True)
            operands = [operand if parent is None else nodes[parent].value for parent, operand in pairs]
            value = node.call.op.compute(operands, node.call.attrs)  # type: ignore[union-attr]
            node.value = weak(value) if isinstance(node.value, Weak) else value
            node.inputs = tuple([x for pair in zip(node.inputs[::2], operands, strict=True) for x in pair])
