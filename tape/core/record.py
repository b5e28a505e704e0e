"""Recorders: functions that record one operation by the shortest way there is.

Half of eager's time goes into recording. These functions do what `tape.core.trace.Trace.process` does, for
Vars of a plain trace. They are made once for an operation and its static arguments, so that a call decides
nothing anew. Everything else goes through `tape.core.op.bind`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape.core.interpreter import OPEN, is_intercepted
from tape.core.node import Call, Handle, Node
from tape.core.op import NUMPY_ERRORS, Op, bind
from tape.core.operands import FAST, as_operand, other_operand
from tape.core.pulls import pull_binary, pull_unary
from tape.core.table import implements
from tape.core.var import Var

_NO_ATTRS: dict[str, Any] = {}
_new: Callable[[type], Any] = object.__new__  # half the time of a call that runs a Python __init__


def recorder_of(op: Op, count: int, numpy: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return an operation without static arguments as a function of ``count`` operands.

    Parameters
    ----------
    op : Op
        Becomes the attribute ``op`` of the function.
    count : int
        How many operands it takes.
    numpy : callable, optional
        The NumPy function that should run this when it is given a Var. Of two operands, one with an
        ``__array_ufunc__`` of its own then computes the result.

    Returns
    -------
    callable
    """
    if op.view is not None or count > 2 or callable(op.vjp):
        function = protocol = _general(op, count)
    elif count == 1:
        function = protocol = _unary(op)
    else:
        function, protocol = _binary(op), _binary(op, other_operand)
    for each in (function, protocol):
        each.__name__ = each.__qualname__ = op.name
        each.__doc__ = op.__doc__
        each.op = op  # type: ignore[attr-defined]
    if numpy is not None:
        implements(numpy)(protocol)
    return function


def append(trace: Any, ref: Any, value: Any, call: Call, inputs: tuple[Any, ...]) -> Var:
    """Append a node to a plain trace, and return its handle."""
    node = _new(Node)
    node.value = value
    node.call = call
    node.inputs = inputs
    nodes = trace.nodes
    var = _new(Var)
    var.trace_ref = ref
    var.id = len(nodes)
    var.node = node
    var.share = None
    nodes.append(node)
    return var


def _general(op: Op, count: int) -> Callable[..., Any]:
    forward = op.forward
    is_simple = op.view is None

    def record(*operands: Any) -> Any:
        if len(operands) != count:
            raise TypeError(f"{op.name} takes {count} operands, not {len(operands)}")
        ref = None
        inputs: list[Any] = []
        active = []
        for x in operands:
            kind = type(x)
            if kind is Var:
                if ref is None:
                    ref = x.trace_ref
                elif x.trace_ref is not ref:
                    return bind(op, operands, _NO_ATTRS)
                parent = x.node
                value = parent.value
                if isinstance(value, Handle):
                    return bind(op, operands, _NO_ATTRS)
                inputs += (x.id, value)
                active.append(parent.call.pull is not None or parent.is_param)
            elif kind in FAST or (kind is np.ndarray and x.dtype.kind in "fiubc"):
                inputs += (None, x)
                active.append(False)
            else:
                return bind(op, operands, _NO_ATTRS)
        trace = None if ref is None else ref()
        if trace is None or not trace.is_plain or not is_simple or (OPEN and is_intercepted()):
            return bind(op, operands, _NO_ATTRS)
        values = inputs[1::2]
        try:
            value = forward(*values)
        except NUMPY_ERRORS as error:
            op.fail(values, error, operands)
        return append(trace, ref, value, op.call(_NO_ATTRS, tuple(active)), tuple(inputs))

    return record


def _unary(op: Op) -> Callable[..., Any]:
    forward = op.forward
    inactive = Call(op, _NO_ATTRS, None)
    active = Call(op, _NO_ATTRS, pull_unary(*op.vjp)) if op.vjp else inactive  # type: ignore[misc]

    def record(x: Any, /) -> Any:
        if type(x) is not Var:
            if type(x) is np.ndarray and not OPEN and x.dtype.kind in "fiubc":
                return op.compute((x,), _NO_ATTRS)
            return bind(op, (x,), _NO_ATTRS)
        ref = x.trace_ref
        trace = ref()
        if trace is None or not trace.is_plain or (OPEN and is_intercepted()):
            return bind(op, (x,), _NO_ATTRS)
        parent = x.node
        a = parent.value
        if trace.level and isinstance(a, Handle):
            value = record(a)
        else:
            try:
                value = forward(a)
            except NUMPY_ERRORS as error:
                op.fail((a,), error, (x,))
        call = active if parent.call.pull is not None or parent.is_param else inactive
        return append(trace, ref, value, call, (x.id, a))

    return record


def _binary(op: Op, convert: Callable[[Any], Any] = as_operand) -> Callable[..., Any]:
    """Return a function of two operands; ``convert`` is for neither Vars nor common scalars."""
    forward = op.forward
    pulls = pull_binary(op.widens, *op.vjp) if op.vjp else (None, None, None)  # type: ignore[misc]
    active_both, active_x, active_y = (Call(op, _NO_ATTRS, pull) for pull in pulls)
    inactive = Call(op, _NO_ATTRS, None)

    def record(x: Any, y: Any, /) -> Any:
        call = inactive
        if type(x) is Var:
            ref = x.trace_ref
            parent = x.node
            x_id, a = x.id, parent.value
            if parent.call.pull is not None or parent.is_param:
                call = active_x
            if type(y) is Var:
                if y.trace_ref is not ref:
                    return bind(op, (x, y), _NO_ATTRS)
                parent = y.node
                y_id, b = y.id, parent.value
                if parent.call.pull is not None or parent.is_param:
                    call = active_y if call is inactive else active_both
            elif type(y) in FAST:
                y_id, b = None, y
            elif isinstance(y, Handle):
                return bind(op, (x, y), _NO_ATTRS)
            else:
                y_id, b = None, convert(y)
                if b is NotImplemented:
                    return b
        elif type(y) is Var:
            ref = y.trace_ref
            parent = y.node
            y_id, b = y.id, parent.value
            if type(x) in FAST:
                x_id, a = None, x
            elif isinstance(x, Handle):
                return bind(op, (x, y), _NO_ATTRS)
            else:
                x_id, a = None, convert(x)
                if a is NotImplemented:
                    return a
            if parent.call.pull is not None or parent.is_param:
                call = active_y
        elif type(x) is type(y) is np.ndarray and not OPEN and _are_numbers(x, y):
            return op.compute((x, y), _NO_ATTRS)
        else:
            for operand in (x, y):
                if type(operand) not in FAST and convert(operand) is NotImplemented:
                    return NotImplemented
            return bind(op, (x, y), _NO_ATTRS)
        trace = ref()
        if trace is None or not trace.is_plain or (OPEN and is_intercepted()):
            return bind(op, (x, y), _NO_ATTRS)
        if trace.level and (isinstance(a, Handle) or isinstance(b, Handle)):
            value = record(a, b)
        else:
            try:
                value = forward(a, b)
            except NUMPY_ERRORS as error:
                op.fail((a, b), error, (x, y))
            if type(value) is complex:  # what Python makes of its own and of a NumPy scalar
                value = np.complex128(value)
        node = _new(Node)  # as `append`, whose call would take a tenth of the time
        node.value = value
        node.call = call
        node.inputs = (x_id, a, y_id, b)
        nodes = trace.nodes
        var = _new(Var)
        var.trace_ref = ref
        var.id = len(nodes)
        var.node = node
        var.share = None
        nodes.append(node)
        return var

    return record


def _are_numbers(x: np.ndarray, y: np.ndarray) -> bool:
    return x.dtype.kind in "fiubc" and y.dtype.kind in "fiubc"
