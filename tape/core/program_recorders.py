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


def program_recorder(op: Op) -> Callable[..., Any]:
    """Return an operation without static arguments as a function of Vars of a program, and scalars.

    All other calls of it go through `tape.core.op.bind`.
    """
    forward = op.forward
    call = Call(op, _NO_ATTRS, None)
    if op.data_dependent:
        return lambda *operands: bind(op, operands, _NO_ATTRS)

    def record(*operands: Any) -> Any:
        ref = None
        inputs: list[Any] = []
        for operand in operands:
            if not isinstance(operand, Handle):
                if type(operand) not in FAST:
                    return bind(op, operands, _NO_ATTRS)
                inputs += (None, operand)
                continue
            if operand.trace_ref is not ref:
                if ref is not None:
                    return bind(op, operands, _NO_ATTRS)
                ref = operand.trace_ref
            inputs += (operand.id, operand.node.value)
        trace: Any = None if ref is None else ref()
        if trace is None or not trace.is_program or trace.is_computing or trace.watching is not None:
            return bind(op, operands, _NO_ATTRS)
        if not trace.settings.is_same() or interceptor(trace.level) is not None:
            return bind(op, operands, _NO_ATTRS)
        trace.is_computing = True
        try:
            value = forward(*inputs[1::2])
        except Exception:
            value = None  # done again below, with an error that says more
        finally:
            trace.is_computing = False
        if type(value) is not np.ndarray and not isinstance(value, np.generic):
            return bind(op, operands, _NO_ATTRS)
        node, nodes = _new(Node), trace.nodes
        node.value, node.call, node.inputs = value, call, tuple(inputs)
        var = _new(trace.var_type)
        var.id = len(nodes)
        var.trace_ref, var.node, var.share = ref, node, None
        nodes.append(node)
        return var

    return record
