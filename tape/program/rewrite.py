"""From a recorded tape to a short list of instructions: lower what is needed, drop the rest.

Nodes are lowered in the order in which they were recorded, through a `Builder`, which simplifies on the
way. What no output and no guard depends on is not lowered, and what simplification has made superfluous
is dropped at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tape import errors
from tape.node import Handle, Node
from tape.program.builder import Builder, CannotLower, Value
from tape.program.contract import contract
from tape.program.instructions import Listing

if TYPE_CHECKING:
    from tape.program.record import Recorded

__all__ = ["rewrite"]


def rewrite(recorded: Recorded) -> Listing:
    """Lower a recorded tape.

    Parameters
    ----------
    recorded : Recorded
        Outputs that are no node's are left out.

    Returns
    -------
    Listing
        Its ``effects`` count tape nodes ``recorded`` and ``needed`` by a result or a guard; instructions that
        they were ``lowered`` to, then what was ``merged`` with an equal one, ``folded`` to a number,
        ``simplified`` by an identity, ``dropped`` because nothing used it any more, and ``contracted`` with a
        product. What is left of ``lowered`` are the instructions of the listing.
    """
    nodes = recorded.nodes
    roots = [out for out in recorded.outputs if type(out) is int]
    roots += [guard.node for guard in recorded.guards]
    builder = Builder()
    values: list[Any] = [None] * len(nodes)
    for id in recorded.inputs:
        value = nodes[id].value
        values[id] = builder.input(value.shape, value.dtype)
        values[id].is_weak = _is_weak(value)
    needed = _needed(nodes, roots)
    guards = iter(recorded.guards)
    guard = next(guards, None)
    for id, node in enumerate(nodes):
        while guard is not None and guard.position <= id:
            builder.guard(values[guard.node], guard.kind, guard.outcome)
            guard = next(guards, None)
        if needed[id] and values[id] is None:
            values[id] = builder.value(node.value) if node.op is None else _lowered(builder, node, values)
    while guard is not None:
        builder.guard(values[guard.node], guard.kind, guard.outcome)
        guard = next(guards, None)
    listing = builder.listing
    listing.outputs = [values[out].id for out in recorded.outputs if type(out) is int]
    made = len(listing.instructions)
    listing.drop_dead()
    alive = len(listing.instructions)
    contract(listing)
    listing.effects = {
        "recorded": len(nodes),
        "needed": sum(needed),
        "lowered": made + builder.merged + builder.folded + builder.simplified,
        "merged": builder.merged,
        "folded": builder.folded,
        "simplified": builder.simplified,
        "dropped": made - alive,
        "contracted": alive - len(listing.instructions),
    }
    return listing


def _is_weak(value: Any) -> bool:
    return isinstance(value, float) and not isinstance(value, np.generic)


def _needed(nodes: Sequence[Node], roots: Sequence[int]) -> bytearray:
    """Which nodes the roots depend on."""
    needed = bytearray(len(nodes))
    for root in roots:
        needed[root] = 1
    for id in range(max(roots, default=-1), -1, -1):
        if needed[id]:
            for parent in nodes[id].inputs[::2]:
                if parent is not None:
                    needed[parent] = 1
    return needed


def _lowered(builder: Builder, node: Node, values: Sequence[Any]) -> Value:
    """The instructions of one node; a callback where there are none."""
    inputs = node.inputs
    operands = [inputs[k + 1] if inputs[k] is None else values[inputs[k]] for k in range(0, len(inputs), 2)]
    for operand in operands:
        if isinstance(operand, Handle):
            raise errors.UnsupportedError(f"a program closes over {operand!r}. Pass it as an argument")
    op, out = node.op, node.value
    assert op is not None
    shape, dtype = out.shape, out.dtype
    if op.lower is not None:
        length = len(builder.listing.instructions)
        wrapped = [builder.constant(x) if type(x) is np.ndarray else x for x in operands]
        if not any(isinstance(x, Value) for x in wrapped):  # numbers alone
            wrapped[0] = builder.value(wrapped[0])
        try:
            value = op.lower(builder, *wrapped, **node.call.attrs)
            value = builder.cast(value, dtype) if isinstance(value, Value) else builder.literal(value, dtype)
        except CannotLower:
            value = None
        if value is not None and value.shape == shape:
            if _is_weak(out):
                value.is_weak = True
            return value
        assert len(builder.listing.instructions) >= length  # what was made in vain is dead
    return builder.callback(op, operands, node.call.attrs, shape, dtype)
