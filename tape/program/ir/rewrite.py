"""`rewrite`: lowers a recorded tape to IR.

Nodes are lowered in the order in which they were recorded, through a `Builder`, which simplifies. Nodes that
no output and no guard depends on are not lowered; instructions that turn out to be dead are dropped at the
end.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tape import errors
from tape.core.linear import part
from tape.core.node import Handle, Node
from tape.core.op import Op
from tape.core.results import Results
from tape.core.table import INTERNAL
from tape.core.weak import Weak, weak
from tape.program.ir.builder import ALL_NATIVE, NATIVE_DTYPES, Builder, CannotLower, Value
from tape.program.ir.compression import compress
from tape.program.ir.contract import contract
from tape.program.ir.differences import sum_differences
from tape.program.ir.dtypes import is_of_all_dtypes
from tape.program.ir.extremes import share_extremes
from tape.program.ir.instructions import IR
from tape.program.ir.packing import pack
from tape.program.ir.parts import join_nested, join_parts, skip_overwritten
from tape.program.ir.prune import prune
from tape.program.ir.rounding import is_exact, is_view, require_order, require_sums_in_order
from tape.program.ir.sinking import sink_slices, sink_takes
from tape.program.ir.tiling import tile
from tape.program.ir.transposing import sink_transposes
from tape.program.ir.vectorise import vectorise
from tape.program.ir.weighted import sum_products
from tape.system.collector import collector_paused

if TYPE_CHECKING:
    from tape.program.record.recording import Recorded
    from tape.transforms.loops.body import Body


@collector_paused()
def rewrite(recorded: Recorded, *, as_numpy: bool = False, repeats: bool = True) -> IR:
    """Lower a recorded tape.

    Parameters
    ----------
    recorded : Recorded
        Its outputs that are constants are left out.
    as_numpy : bool
        Whether to round as NumPy does, to the last bit.
    repeats : bool
        Whether what checkpoints compute once more is computed once more.

    Raises
    ------
    UnsupportedError
        If it cannot be rounded as NumPy does, or closes over a Var.

    Returns
    -------
    IR
        Its ``effects`` count tape nodes ``recorded`` and ``needed`` by a result or a guard; instructions that
        they were ``lowered`` to, then what was ``merged`` with an equal one, ``folded`` to a number,
        ``simplified`` by an identity, ``dropped`` because nothing used it any more, ``contracted`` to one
        kernel, and ``tiled``, in the body of a loop over tiles. What is left of ``lowered`` are the
        instructions of the IR. ``compressed`` are those that are computed for fewer rows of a batch.
    """
    nodes = recorded.nodes
    roots = [out for out in recorded.outputs if type(out) is int]
    roots += [guard.node for guard in recorded.guards]
    builder = Builder(as_numpy=as_numpy, repeats=repeats)
    values: list[Any] = [None] * len(nodes)
    for id in recorded.inputs:
        value = nodes[id].value
        values[id] = builder.input(value.shape, value.dtype)
        if isinstance(value, Weak):
            values[id] = values[id].weakened()
    fixed = recorded.fixed
    needed = _needed(nodes, roots, fixed)
    lengths: dict[int, tuple[Value, int]] = {}  # of nodes whose shape depends on data
    guards = iter([*recorded.guards, None])
    guard = next(guards)
    for id in range(len(nodes) + 1):
        while guard is not None and guard.position <= id:
            length = lengths.get(guard.node) if guard.kind == "type" else None
            builder.guard(values[guard.node], guard.kind, guard.outcome, length)
            guard = next(guards)
        if id < len(nodes) and needed[id] and values[id] is None:
            node = nodes[id]
            if as_numpy and node.op is not None:
                require_sums_in_order(node, nodes)
            if id in fixed:
                values[id] = builder.fixed(node.value)
            else:
                values[id] = (
                    _leaf(builder, node.value)
                    if node.op is None
                    else _lowered(builder, node, values, recorded.unowned)
                )
                if builder.length is not None:
                    lengths[id], builder.length = builder.length, None
    ir = builder.ir
    ir.outputs = [values[out].id for out in recorded.outputs if type(out) is int]
    made = len(ir.instructions)
    skip_overwritten(ir)
    if not as_numpy:  # zeros that values are added to are no zeros of the other sign
        made += join_parts(ir)
    join_nested(ir)
    ir.drop_dead()
    if not as_numpy:
        made += sink_takes(ir) + sink_slices(ir)
    if builder.blocks:
        prune(ir)
        ir.drop_dead()
    alive = left = len(ir.instructions)
    added = compressed = 0
    if not as_numpy:
        added, compressed = compress(ir, builder.fixed_constants)
        added += sum_differences(ir) + contract(ir) + sum_products(ir) + sink_transposes(ir)
    contracted = left + added - len(ir.instructions)
    tiles, tiled = (0, 0) if as_numpy else tile(ir)
    if not as_numpy:
        left, shared = len(ir.instructions), share_extremes(ir)
        contracted += left + shared - len(ir.instructions)
        added += shared + pack(ir)
        vectorise(ir)
    ir.effects = {
        "recorded": recorded.count or len(nodes),
        "needed": sum(needed),
        "lowered": made + added + tiles + builder.merged + builder.folded + builder.simplified,
        "merged": builder.merged,
        "folded": builder.folded,
        "simplified": builder.simplified,
        "dropped": made - alive,
        "contracted": contracted,
        "tiled": tiled,
        "compressed": compressed,
    }
    return ir


def _needed(nodes: Sequence[Node], roots: Sequence[int], fixed: Container[int]) -> bytearray:
    """Mark the nodes that the roots depend on; fixed ones depend on nothing."""
    needed = bytearray(len(nodes))
    for root in roots:
        needed[root] = 1
    for id in range(max(roots, default=-1), -1, -1):
        if needed[id] and id not in fixed:
            for parent in nodes[id].inputs[::2]:
                if parent is not None:
                    needed[parent] = 1
    return needed


def _leaf(builder: Builder, value: Any) -> Value:
    """Return the value of a leaf: an array is read in every run, of no axes, too; a number is known."""
    return builder.constant(value) if type(value) is np.ndarray else builder.value(value)


def _lowered(builder: Builder, node: Node, values: Sequence[Any], unowned: Container[int]) -> Any:
    """Return the value of a node, or several in `Results`; a callback if there are no instructions for it."""
    op, attrs, out = node.call.op, node.call.attrs, node.value
    assert op is not None
    if op is part:
        several = values[node.inputs[0]]
        if type(several) is Results:
            return several[attrs["index"]]
        result = builder.part(several, attrs["index"])
        return result.weakened() if isinstance(out, Weak) else result
    if builder.as_numpy and type(out) is Results:
        raise errors.UnsupportedError("an operation has several results")
    shape, dtype = out.shape, out.dtype
    operands: list[Any] = []
    is_known = True  # numbers alone
    is_native = op.lower is not None and (
        dtype in NATIVE_DTYPES or type(out) is Results
    )  # whether the machine can compute it
    is_special = dtype not in ALL_NATIVE and type(out) is not Results  # only some rules take all dtypes
    if builder.as_numpy:
        is_native = is_native and is_exact(node)
        if is_native and not is_view(node):
            require_order(node)
    parents = iter(node.inputs)
    for parent, operand in zip(parents, parents, strict=True):
        if parent is not None:
            operand = values[parent]
        elif type(operand) is np.ndarray:
            operand = builder.fixed(operand) if id(operand) in unowned else builder.constant(operand)
        elif isinstance(operand, Handle):
            raise errors.UnsupportedError(f"a program closes over {operand!r}. Pass it as an argument")
        if type(operand) is Value:
            is_known = False
            if not builder.is_native and operand.dtype not in ALL_NATIVE and operand.id not in builder.blocks:
                is_native, is_special = is_native and operand.dtype in NATIVE_DTYPES, True
        elif type(operand) is not float and not _is_of_all_rules(operand):
            is_special = True
        operands.append(operand)
    is_native = is_native and not (is_special and (builder.as_numpy or not is_of_all_dtypes(op.name)))
    if is_native:
        assert op.lower is not None
        if is_known:
            operands[0] = builder.value(operands[0])
        try:
            builder.shape = shape if _depends_on_data(node) else None
            value = op.lower(builder, *operands, **attrs)
            if type(value) is Results:
                return cast(Any, value)
            if not isinstance(value, Value):
                value = builder.literal(value, dtype)
            elif (value.dtype is not dtype or value.is_weak) and type(out) is not Results:
                value = builder.cast(value, dtype)
        except CannotLower:
            value = None
        if value is not None and (value.shape == shape or type(out) is Results):
            return value.weakened() if isinstance(out, Weak) else value
    builder.length = None
    if builder.as_numpy:
        require_order(node)
    op = _taking_weak(op, operands)
    if type(out) is Results:
        return builder.callback_with_several(op, operands, attrs, out)
    value = builder.callback(op, operands, attrs, shape, dtype)
    return value.weakened() if isinstance(out, Weak) else value


def _depends_on_data(node: Node) -> bool:
    """Return whether data decide on the shape of a node, which is guarded then."""
    assert node.op is not None
    depends = node.op.data_dependent
    return depends(*node.operands, **node.attrs) if callable(depends) else bool(depends)


def lower_body(b: Builder, body: Body, inputs: Sequence[Any]) -> list[Value]:
    """Lower the nodes of a body where it stands; return the values of its outputs."""
    nodes = body.nodes
    values: list[Any] = [None] * len(nodes)
    for id, given in zip(body.inputs, inputs, strict=True):
        values[id] = _as_in(b, given, nodes[id].value)
    needed = _needed(nodes, body.outputs, ())
    for id, node in enumerate(nodes):
        if needed[id] and values[id] is None:
            values[id] = b.fixed(node.value) if node.op is None else _lowered(b, node, values, ())
    return [_as_in(b, values[id], nodes[id].value) for id in body.outputs]


def _as_in(b: Builder, given: Any, like: Any) -> Value:
    """Return an input of a body as a value that is a number of Python's if that which was recorded is."""
    value = b.value(given)
    return value.weakened() if isinstance(like, Weak) else value


INTERNAL["lower_body"] = lower_body


def _is_of_all_rules(operand: Any) -> bool:
    """Return whether a number has a dtype that all ``lower`` rules take."""
    dtype = getattr(operand, "dtype", None)
    return type(operand) is not complex and (not isinstance(dtype, np.dtype) or dtype in ALL_NATIVE)


def _taking_weak(op: Op, operands: Sequence[Any]) -> Op:
    """Return the operation with Python numbers restored: the machine hands them over as NumPy scalars."""
    is_weak = [isinstance(operand, Value) and operand.is_weak for operand in operands]
    if not any(is_weak):
        return op

    def forward(*operands: Any, **attrs: Any) -> Any:
        pairs = zip(operands, is_weak, strict=True)
        return op.forward(*(weak(operand) if is_python else operand for operand, is_python in pairs), **attrs)

    return Op(forward, name=op.name, explains_errors=op.explains_errors)
