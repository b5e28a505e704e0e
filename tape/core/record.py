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
        node = _new(Node)
        node.value = value
        node.call = op.call(_NO_ATTRS, tuple(active))
        node.inputs = tuple(inputs)
        nodes = trace.nodes
        var = _new(Var)
        var.trace_ref = ref
        var.id = len(nodes)
        var.node = node
        var.share = None
        nodes.append(node)
        return var

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

_MOST = 4096  # kinds of calls remembered for a function; more of them mean that they do not come again
_SEQUENCES = frozenset({tuple, list})
_BOUNDS = frozenset({int, type(None)})
_DTYPES = [type(np.dtype(code)) for code in "?bhilqBHILQefdFD"]
_STATIC = frozenset({bool, str, type, type(None), type(Ellipsis), *_DTYPES})


class _Kind:
    """What calls of one kind record.

    Attributes
    ----------
    call : Call
        The operation with its static arguments.
    places : tuple of int
        For each operand where it is among the arrays, Vars and floats of the call.
    """

    __slots__ = ("call", "places")

    def __init__(self, call: Call, places: tuple[int, ...]) -> None:
        self.call = call
        self.places = places


def specialised(*, layout: bool = False) -> Callable[[F], F]:
    """Make calls of a function that are alike record their operation directly.

    The function runs once for each kind of call: its static arguments, with the shapes and dtypes of arrays
    and Vars, also of those in a list. If it did nothing but record one operation on these, later calls of
    that kind do this at once.

    Parameters
    ----------
    layout : bool
        Whether what the function does depends on the strides of Vars, too. On anything else than on these and
        on its static arguments, on elements for instance or on the value of a float, it must not depend.

    Returns
    -------
    callable
        The decorator.
    """

    def decorate(function: F) -> F:
        return _specialised(function, layout)  # type: ignore[return-value]

    return decorate


def _specialised(function: Callable[..., Any], layout: bool) -> Callable[..., Any]:
    known: dict[Any, _Kind] = {}

    @wraps(function)
    def record(*args: Any, **kwargs: Any) -> Any:
        key: list[Any] = []
        given: list[Any] = []
        ref = _note(args, kwargs, layout, key, given)
        trace = None if ref is None else ref()
        if trace is None or not trace.is_plain or (OPEN and is_intercepted()):
            return function(*args, **kwargs)
        kind = known.get(tuple(key))
        if kind is None:
            count = len(trace.nodes)
            var = function(*args, **kwargs)
            kind = _learned(var, trace, count, given)
            if kind is not None:
                if len(known) >= _MOST:
                    known.clear()
                known[tuple(key)] = kind
            return var
        call = kind.call
        op: Any = call.op
        inputs: list[Any] = []
        for place in kind.places:
            part = given[place]
            inputs += (part.id, part.node.value) if type(part) is Var else (None, part)
        values = inputs[1::2]
        try:
            value = op.forward(*values, **call.attrs)
        except NUMPY_ERRORS as error:
            op.fail(values, error, given)
        node = _new(Node)
        node.value = value
        node.call = call
        node.inputs = tuple(inputs)
        nodes = trace.nodes
        var = _new(Var)
        var.trace_ref = ref
        var.id = len(nodes)
        var.node = node
        var.share = None
        nodes.append(node)
        if op.view is not None and inputs[0] is not None:
            share(var, given[kind.places[0]])
        return var

    record.known = known  # type: ignore[attr-defined]
    return record


def _note(
    args: Sequence[Any], kwargs: Mapping[str, Any], layout: bool, key: list[Any], given: list[Any]
) -> Any:
    """Note what a call depends on, and what it computes with; return the reference to the trace of its Vars.

    None if there is no such trace, or if anything among the arguments is none of what is expected there.
    """
    ref = None
    parts = args
    if kwargs:
        key += kwargs
        parts = (*args, *kwargs.values())
    for part in parts:
        if type(part) in _SEQUENCES:
            parts = _flat(parts, key)
            break
    for part in parts:
        kind = type(part)
        if kind is Var:
            if ref is None:
                ref = part.trace_ref
            elif part.trace_ref is not ref:
                return None
            parent = part.node
            value = parent.value
            if type(value) is not np.ndarray:
                return None
            key += (value.shape, value.dtype, parent.call.pull is not None or parent.is_param)
            if layout:
                if part.share is not None:
                    return None
                key.append(value.strides)
            given.append(part)
        elif kind is int:
            key.append(part)
        elif kind in _STATIC:
            key += (kind, part)
        elif kind is float:
            key.append(float)
            given.append(part)
        elif kind is np.ndarray:
            key += (np.ndarray, part.shape, part.dtype)
            given.append(part)
        elif kind is slice:
            bounds = part.start, part.stop, part.step
            if not _BOUNDS.issuperset(map(type, bounds)):
                return None
            key += (slice, bounds)
        else:
            return None
    return ref


def _flat(parts: Sequence[Any], key: list[Any]) -> Sequence[Any]:
    """Return arguments with those of lists and tuples among them."""
    flat: list[Any] = []
    for place, part in enumerate(parts):
        if type(part) in _SEQUENCES:
            key += (type(part), place, len(part))
            flat += part
        else:
            flat.append(part)
    return flat


def _learned(var: Any, trace: Any, count: int, given: list[Any]) -> _Kind | None:
    """Return what a call has recorded, if that was one node, number ``count``, on what was given."""
    if (
        type(var) is not Var
        or var.trace_ref is not trace.ref
        or var.id != count
        or len(trace.nodes) != count + 1
    ):
        return None
    node = var.node
    depends = True if node.op is None else node.op.data_dependent
    if depends is True or (depends and depends(*node.operands, **node.attrs)):
        return None
    places: list[int] = []
    for parent, operand in zip(node.parents, node.operands, strict=True):
        found = [place for place, part in enumerate(given) if _is_operand(part, parent, operand)]
        if not found:
            return None
        places.append(next((place for place in found if place not in places), found[0]))
    is_whole = set(places) == set(range(len(given))) and isinstance(node.value, (np.ndarray, np.generic))
    return _Kind(node.call, tuple(places)) if is_whole else None


def _is_operand(part: Any, parent: int | None, operand: Any) -> bool:
    """Whether an operand of a node is this part of what was given."""
    return part.id == parent and part.node.value is operand if type(part) is Var else part is operand
