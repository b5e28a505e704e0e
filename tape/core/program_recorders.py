"""Recorders for the tapes of programs: functions that record one operation by the shortest way there is.

They are to `tape.program.record` what those of `tape.core.record`, which hand calls on to them, are to plain
traces. Nothing is active on such a tape, and nothing it computes meanwhile is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape.core.dispatch import interceptor
from tape.core.node import Call, Handle, Node
from tape.core.op import Op, bind
from tape.core.operands import FAST

_NO_ATTRS: dict[str, Any] = {}
_new: Callable[[type], Any] = object.__new__  # half the time of a call that runs a Python __init__


def program_recorder(op: Op, count: int) -> Callable[..., Any]:
    """Return an operation of one or two operands without static arguments as a function of Vars and scalars.

    All other calls of it go through `tape.core.op.bind`.
    """
    if op.data_dependent:
        return lambda *operands: bind(op, operands, _NO_ATTRS)
    return _unary(op) if count == 1 else _binary(op)


def _unary(op: Op) -> Callable[[Any], Any]:
    call = Call(op, _NO_ATTRS, None)

    def record(x: Any) -> Any:
        if isinstance(x, Handle):
            trace = x.trace_ref()
            if trace is not None and trace.is_program:
                var = _appended(trace, x.trace_ref, call, (x.id, x.node.value))
                if var is not None:
                    return var
        return bind(op, (x,), _NO_ATTRS)

    return record


def _binary(op: Op) -> Callable[[Any, Any], Any]:
    call = Call(op, _NO_ATTRS, None)

    def record(x: Any, y: Any) -> Any:
        ref = None
        if isinstance(x, Handle):
            ref, x_id, a = x.trace_ref, x.id, x.node.value
        elif type(x) in FAST:
            x_id, a = None, x
        else:
            return bind(op, (x, y), _NO_ATTRS)
        if isinstance(y, Handle):
            y_id, b = y.id, y.node.value
            if ref is None:
                ref = y.trace_ref
            elif ref is not y.trace_ref:
                return bind(op, (x, y), _NO_ATTRS)
        elif type(y) in FAST:
            y_id, b = None, y
        else:
            return bind(op, (x, y), _NO_ATTRS)
        trace: Any = None if ref is None else ref()
        if trace is not None and trace.is_program:
            var = _appended(trace, ref, call, (x_id, a, y_id, b))
            if var is not None:
                return var
        return bind(op, (x, y), _NO_ATTRS)

    return record


def _appended(trace: Any, ref: Any, call: Call, inputs: tuple[Any, ...]) -> Any:
    """Append a node to the tape of a program, and return its Var; None if `bind` is to do it, or to fail."""
    if trace.is_computing or trace.watching is not None or not trace.settings.is_same():
        return None
    if interceptor(trace.level) is not None:
        return None
    trace.is_computing = True
    try:
        value = call.op.forward(*inputs[1::2])  # type: ignore[union-attr]
    except Exception:
        return None
    finally:
        trace.is_computing = False
    if type(value) is not np.ndarray and not isinstance(value, np.generic):
        return None
    node, nodes = _new(Node), trace.nodes
    node.value, node.call, node.inputs = value, call, inputs
    var = _new(trace.var_type)
    var.id = len(nodes)
    var.trace_ref, var.node, var.share = ref, node, None
    nodes.append(node)
    return var
