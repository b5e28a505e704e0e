"""Recorders: functions that record one operation by the shortest way there is.

Half of the time of eager code goes into recording. These functions do what `Recording.process` in
`tape.core.recording` does, for Vars of a plain trace; for those of a program, which may be below it, others
do (`tape.core.program_recorders`). They are made once for an operation, so that a call decides nothing anew.
Everything else goes through `tape.core.op.bind`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape.core.failures import NUMPY_ERRORS
from tape.core.held import may_read
from tape.core.interpreter import BLOCKS, OPEN
from tape.core.node import Call, Handle, Node
from tape.core.op import Op, bind
from tape.core.operands import FAST, as_operand, other_operand
from tape.core.presentation import present_as
from tape.core.program_recorders import program_recorder
from tape.core.pulls import pull_binary, pull_unary
from tape.core.specialise import recorder
from tape.core.table import implements
from tape.core.var import Var

_NO_ATTRS: dict[str, Any] = {}
_new: Callable[[type], Any] = object.__new__
_Array = np.ndarray

# Nodes and handles are made without their __init__, which takes half the time, and without a common function
# for that, whose call would take a tenth. Likewise whether there may be an interceptor is asked in place.


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
        function = protocol = recorder(op, count)
    elif count == 1:
        function = protocol = _unary(op)
    else:
        function, protocol = _binary(op), _binary(op, other_operand)
    for each in (function, protocol):
        present_as(op, each)
    if numpy is not None:
        implements(numpy)(protocol)
    return function


def _unary(op: Op) -> Callable[..., Any]:
    forward = op.forward
    on_program = program_recorder(op, 1)
    inactive = Call(op, _NO_ATTRS, None)
    active = Call(op, _NO_ATTRS, pull_unary(*op.vjp)) if op.vjp else inactive  # type: ignore[misc]

    def record(x: Any, /) -> Any:
        if type(x) is not Var:
            if type(x) is _Array and not OPEN and x.dtype.kind in "fiubc":
                return op.compute((x,), _NO_ATTRS)
            return on_program(x)
        ref = x.trace_ref
        trace = ref()
        if (
            trace is None
            or not trace.is_plain
            or (OPEN and (blocks := BLOCKS.get()) and blocks[-1].intercepted > trace.level)
        ):
            return bind(op, (x,), _NO_ATTRS)
        parent = x.node
        a = parent.value
        if trace.level and isinstance(a, Handle):
            value = record(a) if type(a) is Var else on_program(a)
        else:
            try:
                value = forward(a)
            except NUMPY_ERRORS as error:
                op.fail((a,), error, (x,))
        call = active if parent.call.pull is not None or parent.is_param else inactive
        node, nodes = _new(Node), trace.nodes
        node.value, node.call, node.inputs = value, call, (x.id, a)
        var = _new(Var)
        var.id = len(nodes)
        var.trace_ref, var.node, var.share = ref, node, None
        nodes.append(node)
        return var

    return record


def _binary(op: Op, convert: Callable[[Any], Any] = as_operand) -> Callable[..., Any]:
    """Return a function of two operands; ``convert`` is for neither Vars nor common scalars."""
    forward = op.forward
    on_program = program_recorder(op, 2)
    pulls = pull_binary(op.widens, *op.vjp) if op.vjp else (None, None, None)  # type: ignore[misc]
    active_both, active_x, active_y = (Call(op, _NO_ATTRS, pull) for pull in pulls)
    inactive = Call(op, _NO_ATTRS, None)

    def record(x: Any, y: Any, /) -> Any:
        call, ref = inactive, None
        if type(x) is Var:
            ref, parent, x_id = x.trace_ref, x.node, x.id
            a = parent.value
            if parent.call.pull is not None or parent.is_param:
                call = active_x
        elif type(x) in FAST or (type(x) is _Array and x.dtype.kind in "fiubc"):
            x_id, a = None, x
        elif isinstance(x, Handle):
            if not _is_outside(x, y):
                return on_program(x, y)
            x_id, a = None, x.again()
        else:
            x_id, a = None, convert(x)
            if a is NotImplemented:
                return a
        if type(y) is Var:
            parent, y_id = y.node, y.id
            b = parent.value
            if parent.call.pull is not None or parent.is_param:
                call = active_y if call is inactive else active_both
            if ref is not y.trace_ref:
                if ref is not None:
                    return bind(op, (x, y), _NO_ATTRS)
                ref = y.trace_ref
        elif type(y) in FAST or (type(y) is _Array and y.dtype.kind in "fiubc"):
            y_id, b = None, y
        elif isinstance(y, Handle):
            if not _is_outside(y, x):
                return on_program(x, y)
            y_id, b = None, y.again()
        else:
            y_id, b = None, convert(y)
            if b is NotImplemented:
                return b
        if ref is None:
            is_simple = type(a) is type(b) is _Array and not OPEN
            return op.compute((a, b), _NO_ATTRS) if is_simple else bind(op, (x, y), _NO_ATTRS)
        trace = ref()
        if trace is None or not trace.is_plain:
            return bind(op, (x, y), _NO_ATTRS)
        if OPEN and (
            (x_id is None and type(a) is _Array)  # which may belong to a program
            or (y_id is None and type(b) is _Array)
            or ((blocks := BLOCKS.get()) and blocks[-1].intercepted > trace.level)
        ):
            return bind(op, (x, y), _NO_ATTRS)
        if trace.level and (isinstance(a, Handle) or isinstance(b, Handle)):
            value = record(a, b) if type(a) is Var or type(b) is Var else on_program(a, b)
        else:
            try:
                value = forward(a, b)
            except NUMPY_ERRORS as error:
                op.fail((a, b), error, (x, y))
            if type(value) is complex:  # what Python makes of its own and of a NumPy scalar
                value = np.complex128(value)
        node, nodes = _new(Node), trace.nodes
        node.value, node.call, node.inputs = value, call, (x_id, a, y_id, b)
        var = _new(Var)
        var.id = len(nodes)
        var.trace_ref, var.node, var.share = ref, node, None
        nodes.append(node)
        if x_id is None:
            if type(a) is _Array and call is not inactive and may_read(op, 0, a):
                trace.held.hold(a, node)
        elif y_id is None and type(b) is _Array and call is not inactive and may_read(op, 1, b):
            trace.held.hold(b, node)
        return var

    return record


def _is_outside(x: Handle, y: Any) -> bool:
    """Return whether a Var belongs to a trace further out than that of another operand, a plain one."""
    if type(y) is not Var:
        return False
    outer, trace = x.trace_ref(), y.trace_ref()
    return outer is not None and trace is not None and outer.level < trace.level
