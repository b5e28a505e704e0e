"""Functions with static arguments, recorded as directly as operations without any.

Calls alike decide nothing anew; others, and all that are not about Vars of one plain trace, run the function.
Those of programs are recorded by `tape.core.program_kinds`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, wraps
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from tape.core.dispatch import is_intercepted
from tape.core.failures import NUMPY_ERRORS
from tape.core.held import may_read
from tape.core.interpreter import OPEN
from tape.core.node import Call, Handle, Node
from tape.core.op import Op, bind
from tape.core.operands import FAST
from tape.core.program_kinds import on_programs, places_of
from tape.core.var import Var
from tape.inplace.aliases import note_view

F = TypeVar("F", bound=Callable[..., Any])
_new: Callable[[type], Any] = object.__new__

_MOST = 4096  # kinds of calls remembered for a function; more of them mean that they do not come again
_DTYPES = [type(np.dtype(code)) for code in "?bhilqBHILQefdFD"]
_STATIC = frozenset({bool, str, type, type(Ellipsis), *_DTYPES})
_ACTIVE, _CONSTANT = object(), object()  # equal to no argument
_Array = np.ndarray


class _Kind:
    """Calls of one kind, and the operation that they record.

    Attributes
    ----------
    call : Call
        The operation with its static arguments.
    run : callable
        Its forward function, of operands alone.
    is_view : bool
        Whether the result may be a view of the first operand.
    places : tuple of int or None
        For each operand where it is among the arrays, Vars and floats of the call; None if they are these.
    arrays : list of int
        The operands that are plain arrays, and that a derivative may read.
    """

    __slots__ = ("arrays", "call", "is_view", "places", "run")

    def __init__(self, call: Call, places: tuple[int, ...] | None, arrays: list[int]) -> None:
        op: Any = call.op
        self.call = call
        self.run = _bound(op.forward, call.attrs)
        self.is_view = op.view is not None
        self.places = places
        self.arrays = arrays


def recorder(op: Op, count: int) -> Callable[..., Any]:
    """Return an operation without static arguments as a function of ``count`` operands."""

    def record(*operands: Any) -> Any:
        if len(operands) != count:
            raise TypeError(f"{op.name} takes {count} operands, not {len(operands)}")
        return bind(op, operands, {})

    record.__name__ = op.name
    return _specialised(record, _note_operands, False)


def specialised(*, layout: bool = False) -> Callable[[F], F]:
    """Make calls of a function that are alike record their operation directly.

    The function runs once for each kind of call: its static arguments, with the shapes and dtypes of arrays
    and Vars, also of those in a list. If it did nothing but record one operation on these, later calls of
    that kind do this at once.

    Parameters
    ----------
    layout : bool
        Whether what the function does depends on the strides of its operands, too. On anything else than on
        these and on its static arguments, such as elements or the value of a float, it must not depend.

    Returns
    -------
    callable
        The decorator.
    """

    def decorate(function: F) -> F:
        return _specialised(function, _note, layout)  # type: ignore[return-value]

    return decorate


def _specialised(function: Callable[..., Any], note: Callable[..., Any], layout: bool) -> Callable[..., Any]:
    known: dict[Any, _Kind] = {}
    get = known.get
    record_on_program = on_programs(function, _STATIC, _bound, layout=layout)

    @wraps(function)
    def record(*args: Any, **kwargs: Any) -> Any:
        if OPEN and is_intercepted():
            return record_on_program(args, kwargs)
        key: list[Any] = []
        inputs: list[Any] = []
        if kwargs:
            key += kwargs
            first = note((*args, *kwargs.values()), layout, key, inputs)
        else:
            first = note(args, layout, key, inputs)
        if first is None:
            return function(*args, **kwargs)
        ref = first.trace_ref
        trace = ref()
        if trace is None or not trace.is_plain:
            return function(*args, **kwargs)
        found = tuple(key)
        kind = get(found)
        if kind is None:
            count = len(trace.nodes)
            var = function(*args, **kwargs)
            kind = _learned(var, trace, count, inputs)
            if kind is not None:
                if len(known) >= _MOST:
                    known.clear()
                known[found] = kind
            return var
        if kind.places is not None:
            inputs = [part for k in kind.places for part in inputs[2 * k : 2 * k + 2]]
        values = inputs[1::2]
        try:
            value = kind.run(*values)
        except NUMPY_ERRORS as error:
            kind.call.op.fail(values, error)  # type: ignore[union-attr]
        node, nodes = _new(Node), trace.nodes  # half the time of a call that runs a Python __init__
        node.value, node.call, node.inputs = value, kind.call, tuple(inputs)
        var = _new(Var)
        var.id = len(nodes)
        var.trace_ref, var.node, var.share = ref, node, None
        nodes.append(node)
        for k in kind.arrays:
            trace.held.hold(values[k], node)
        if kind.is_view and inputs[0] is not None:
            note_view(trace, var, first)
        return var

    record.known = known  # type: ignore[attr-defined]
    return record


def _note(parts: Iterable[Any], layout: bool, key: list[Any], inputs: list[Any], first: Any = None) -> Any:
    """Note what a call depends on, and what it computes with: id or None, and value.

    Return the first Var; None if there is none, not even before and in a sequence, or if anything among the
    arguments is none of what is expected there.
    """
    for part in parts:
        kind = type(part)
        if kind is Var:
            parent = part.node
            value = parent.value
            active = _ACTIVE if parent.call.pull is not None or parent.is_param else _CONSTANT
            if type(value) is _Array:
                key += (value.shape, value.dtype, active)
            elif isinstance(value, np.generic):
                key += (type(value), active)
            else:
                return None
            if first is None:
                first = part
            elif part.trace_ref is not first.trace_ref:
                return None
            inputs += (part.id, value)
            if layout:
                if part.share is not None:
                    return None
                key.append(value.strides)
        elif kind is int or part is None:
            key.append(part)
        elif kind is _Array:
            key += (_Array, part.shape, part.dtype)
            inputs += (None, part)
            if layout:
                key.append(part.strides)
        elif kind is tuple or kind is list:
            key += (kind, len(part))
            first = _note(part, layout, key, inputs, first)
            if first is None:
                return None
        elif kind is slice:
            start, stop, step = part.start, part.stop, part.step
            for bound in (start, stop, step):
                if bound is not None and type(bound) is not int:
                    return None
            key += (slice, start, stop, step)
        elif kind is float:
            key.append(float)
            inputs += (None, part)
        elif kind in _STATIC:
            key += (kind, part)
        else:
            return None
    return first


def _note_operands(parts: Iterable[Any], layout: bool, key: list[Any], inputs: list[Any]) -> Any:
    """Note the operands of a call without static arguments: only which of them are active matters."""
    first: Any = None
    for part in parts:
        kind = type(part)
        if kind is Var:
            parent = part.node
            value = parent.value
            if isinstance(value, Handle):
                return None
            if first is None:
                first = part
            elif part.trace_ref is not first.trace_ref:
                return None
            key.append(_ACTIVE if parent.call.pull is not None or parent.is_param else _CONSTANT)
            inputs += (part.id, value)
        elif kind in FAST or (kind is _Array and part.dtype.kind in "fiubc"):
            key.append(kind is _Array)
            inputs += (None, part)
        else:
            return None
    return first


def _learned(var: Any, trace: Any, count: int, inputs: list[Any]) -> _Kind | None:
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
    places = places_of(node.inputs, inputs)
    if places is None or not isinstance(node.value, (np.ndarray, np.generic)):
        return None
    moved = None if places == list(range(len(places))) else tuple(places)
    kind = _Kind(node.call, moved, _arrays_read(node))
    is_scalar = not any(type(operand) is np.ndarray for operand in node.operands)
    if is_scalar and type(kind.run(*node.operands)) is not type(node.value):
        return None  # a number of Python, which was converted
    return kind


def _arrays_read(node: Any) -> list[int]:
    """Return which operands are plain arrays that a derivative may read."""
    return [
        k
        for k, operand in enumerate(node.operands)
        if node.call.pull is not None
        and node.inputs[2 * k] is None
        and type(operand) is np.ndarray
        and may_read(node.op, k, operand)
    ]


def _bound(forward: Any, attrs: dict[str, Any]) -> Callable[..., Any]:
    """Return a function with its static arguments given, as defaults: keywords would take twice the time."""
    if not attrs:
        return forward
    code = forward.__code__ if type(forward) is FunctionType else None
    if code is None or not attrs.keys() <= {*code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]}:
        return partial(forward, **attrs)
    bound = FunctionType(code, forward.__globals__, None, forward.__defaults__, forward.__closure__)
    bound.__kwdefaults__ = {**(forward.__kwdefaults__ or {}), **attrs}
    return bound
