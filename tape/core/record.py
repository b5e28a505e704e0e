"""Recorders: functions that record one operation by the shortest way there is.

Half of eager's time goes into recording. These functions do what `tape.core.trace.Trace.process` does, for
Vars of a plain trace. They are made once for an operation and its static arguments, so that a call decides
nothing anew. Everything else goes through `tape.core.op.bind`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from tape.core.interpreter import OPEN, is_intercepted
from tape.core.node import Call, Handle, Node
from tape.core.op import NUMPY_ERRORS, Op, bind
from tape.core.operands import FAST, as_operand, other_operand
from tape.core.rules import pull_binary, pull_unary
from tape.core.table import implements
from tape.core.var import Var
from tape.inplace.aliases import share

__all__ = ["recorder_of", "specialised"]

F = TypeVar("F", bound=Callable[..., Any])

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


def _general(op: Op, count: int) -> Callable[..., Any]:
    def record(*operands: Any) -> Any:
        if len(operands) != count:
            raise TypeError(f"{op.name} takes {count} operands, not {len(operands)}")
        return bind(op, operands, _NO_ATTRS)

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
        if isinstance(a, Handle):
            value = record(a)
        else:
            try:
                value = forward(a)
            except NUMPY_ERRORS as error:
                op.fail((a,), error, (x,))
        node = _new(Node)
        node.value = value
        node.call = active if parent.call.pull is not None or parent.is_param else inactive
        node.inputs = (x.id, a)
        nodes = trace.nodes
        var = _new(Var)
        var.trace_ref = ref
        var.id = len(nodes)
        var.node = node
        var.share = None
        nodes.append(node)
        return var

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
        if isinstance(a, Handle) or isinstance(b, Handle):
            value = record(a, b)
        else:
            try:
                value = forward(a, b)
            except NUMPY_ERRORS as error:
                op.fail((a, b), error, (x, y))
            if type(value) is complex:  # what Python makes of its own and of a NumPy scalar
                value = np.complex128(value)
        node = _new(Node)
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


# ---- with static arguments ---------------------------------------------------------------------------

_STATIC = frozenset({int, bool, str, tuple, slice, type, type(None), type(Ellipsis)})
_MOST = 4096  # kinds of calls remembered for a function; more of them mean that they do not come again


def specialised(*, layout: bool = False, key_of: Callable[..., Any] | None = None) -> Callable[[F], F]:
    """Make calls of a function that are alike record their operation directly.

    The function runs once for each kind of call: static arguments, with shape and dtype of the operand. If it
    did nothing but record one operation on its first argument, later calls of that kind do this at once.

    Parameters
    ----------
    layout : bool
        Whether what the function does depends on the strides of the operand, too. On anything else than on
        these and on its static arguments, elements for instance, it must not depend.
    key_of : callable, optional
        ``key_of(*statics)``: a hashable key for the static arguments, None if the function must run. By
        default they are their own key, if they are numbers, strings, dtypes or tuples of these.

    Returns
    -------
    callable
        The decorator.
    """

    def decorate(function: F) -> F:
        return _specialised(function, layout, key_of or _key_of)  # type: ignore[return-value]

    return decorate


def _specialised(
    function: Callable[..., Any], layout: bool, key_of: Callable[..., Any]
) -> Callable[..., Any]:
    known: dict[Any, Call] = {}

    @wraps(function)
    def record(*args: Any, **kwargs: Any) -> Any:
        x = args[0] if args else None
        if type(x) is not Var:
            return function(*args, **kwargs)
        ref = x.trace_ref
        trace = ref()
        parent = x.node
        a = parent.value
        if (
            trace is None
            or not trace.is_plain
            or type(a) is not np.ndarray
            or (OPEN and is_intercepted())
            or (layout and x.share is not None)
        ):
            return function(*args, **kwargs)
        statics = key_of(*args[1:], **kwargs)
        if statics is None:
            return function(*args, **kwargs)
        key: tuple[Any, ...] = (statics, a.shape, a.dtype, parent.call.pull is not None or parent.is_param)
        if layout:
            key += (a.strides,)
        try:
            call = known.get(key)
        except TypeError:  # a list or an array is among the arguments
            return function(*args, **kwargs)
        if call is None:
            count = len(trace.nodes)
            var = function(*args, **kwargs)
            if _are_static(args[1:], kwargs) and _is_alone(var, x, a, count):
                if len(known) >= _MOST:
                    known.clear()
                known[key] = var.node.call
            return var
        op = call.op
        try:
            value = op.forward(a, **call.attrs)  # type: ignore[union-attr]
        except NUMPY_ERRORS as error:
            op.fail((a,), error, (x,))  # type: ignore[union-attr]
        node = _new(Node)
        node.value = value
        node.call = call
        node.inputs = (x.id, a)
        nodes = trace.nodes
        var = _new(Var)
        var.trace_ref = ref
        var.id = len(nodes)
        var.node = node
        var.share = None
        nodes.append(node)
        if op.view is not None:  # type: ignore[union-attr]
            share(var, x)
        return var

    return record


def _key_of(*args: Any, **kwargs: Any) -> Any:
    """Return a key for static arguments; equal numbers of different types have different keys."""
    key = (args, *map(type, args))
    if kwargs:
        key += (*kwargs.items(), *map(type, kwargs.values()))
    if tuple in key:
        sequences = (part for part in (*args, *kwargs.values()) if type(part) is tuple)
        key += tuple([type(part) for sequence in sequences for part in sequence])
    return key


def _are_static(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether arguments with one key mean the same: there are no two zeros, and no NaN, among them."""
    return all(type(part) in _STATIC for part in (*args, *kwargs.values()))


def _is_alone(var: Any, x: Any, a: np.ndarray, count: int) -> bool:
    """Whether a call has done nothing but record one operation on ``x``, as node number ``count``."""
    if type(var) is not Var or var.trace_ref is not x.trace_ref:
        return False
    node = var.node
    if var.id != count or len(x.trace.nodes) != count + 1 or len(node.inputs) != 2:
        return False
    depends = True if node.op is None else node.op.data_dependent
    if node.inputs[0] != x.id or node.inputs[1] is not a or depends is True:
        return False
    if depends and depends(a, **node.attrs):
        return False
    return isinstance(node.value, (np.ndarray, np.generic))
