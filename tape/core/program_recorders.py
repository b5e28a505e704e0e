"""Recorders for the tapes of programs: functions that record one operation by the shortest way there is.

They are to `tape.program.record` what those of `tape.core.record`, which hand calls on to them, are to plain
traces. Nothing is active on such a tape, and nothing it computes meanwhile is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape.core.interpreter import BLOCKS
from tape.core.node import Call, Handle, Node
from tape.core.op import Op, bind
from tape.core.operands import FAST
from tape.core.table import INTERNAL

_NO_ATTRS: dict[str, Any] = {}
_new: Callable[[type], Any] = object.__new__  # half the time of a call that runs a Python __init__
_Array, _Scalar = np.ndarray, np.generic

# As in `tape.core.record`, nodes and handles are made in place: calls would take a tenth of the time.


def program_recorder(op: Op, count: int) -> Callable[..., Any]:
    """Return an operation of one or two operands without static arguments as a function of Vars and scalars.

    All other calls of it go through `tape.core.op.bind`.
    """
    if op.data_dependent:
        return lambda *operands: bind(op, operands, _NO_ATTRS)
    return _unary(op) if count == 1 else _binary(op)


def _unary(op: Op) -> Callable[[Any], Any]:
    forward = op.forward
    call = Call(op, _NO_ATTRS, None)

    def record(x: Any) -> Any:
        if isinstance(x, Handle):
            ref = x.trace_ref
            trace: Any = ref()
            if trace is not None and _appends(trace):
                a = x.node.value
                trace.is_computing = True
                try:
                    value = forward(a)
                except Exception:
                    value = None  # `bind` fails again, and says how
                finally:
                    trace.is_computing = False
                if type(value) is _Array or isinstance(value, _Scalar):
                    node, nodes = _new(Node), trace.nodes
                    node.value, node.call, node.inputs = value, call, (x.id, a)
                    var = _new(trace.var_type)
                    var.id = len(nodes)
                    var.trace_ref, var.node, var.share = ref, node, None
                    nodes.append(node)
                    return var
        return bind(op, (x,), _NO_ATTRS)

    return record


def _binary(op: Op) -> Callable[[Any, Any], Any]:
    forward = op.forward
    call = Call(op, _NO_ATTRS, None)

    def record(x: Any, y: Any) -> Any:
        ref = None
        if isinstance(x, Handle):
            ref = x.trace_ref
        elif type(x) not in FAST:
            return bind(op, (x, y), _NO_ATTRS)
        if isinstance(y, Handle):
            if ref is None:
                ref = y.trace_ref
            elif ref is not y.trace_ref:
                return bind(op, (x, y), _NO_ATTRS)
        elif type(y) not in FAST:
            return bind(op, (x, y), _NO_ATTRS)
        trace: Any = None if ref is None else ref()
        if trace is not None and _appends(trace):
            x_id, a = (x.id, x.node.value) if isinstance(x, Handle) else (None, x)
            y_id, b = (y.id, y.node.value) if isinstance(y, Handle) else (None, y)
            trace.is_computing = True
            try:
                value = forward(a, b)
            except Exception:
                value = None  # `bind` fails again, and says how
            finally:
                trace.is_computing = False
            if type(value) is _Array or isinstance(value, _Scalar):
                node, nodes = _new(Node), trace.nodes
                node.value, node.call, node.inputs = value, call, (x_id, a, y_id, b)
                var = _new(trace.var_type)
                var.id = len(nodes)
                var.trace_ref, var.node, var.share = ref, node, None
                nodes.append(node)
                return var
        return bind(op, (x, y), _NO_ATTRS)

    return record


def _appends(trace: Any) -> bool:
    """Return whether this is the tape of a program, to which operations on its Vars append a node each.

    Not if there may be an interceptor, which `bind` looks for. From time to time look for repeats above it.
    """
    if not trace.is_program:
        return False
    if len(trace.nodes) >= trace.look_at:
        INTERNAL["look_for_repeats"](trace)
    return (
        not trace.is_computing
        and not trace.has_postponed
        and trace.watching is None
        and trace.settings.is_same()
        and (not (blocks := BLOCKS.get()) or blocks[-1].intercepted <= trace.level)
    )
