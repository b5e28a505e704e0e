"""Functions with static arguments, recorded as directly as operations without any.

Calls alike decide nothing anew; others, and all that are not about Vars of one plain trace, run the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from tape.core.interpreter import OPEN, is_intercepted
from tape.core.node import Call
from tape.core.op import NUMPY_ERRORS
from tape.core.record import append
from tape.core.var import Var
from tape.inplace.aliases import share

F = TypeVar("F", bound=Callable[..., Any])

_MOST = 4096  # kinds of calls remembered for a function; more of them mean that they do not come again
_DTYPES = [type(np.dtype(code)) for code in "?bhilqBHILQefdFD"]
_STATIC = frozenset({bool, str, type, type(Ellipsis), *_DTYPES})


class _Kind:
    """Calls of one kind, and the operation that they record.

    Attributes
    ----------
    call : Call
        The operation with its static arguments.
    places : tuple of int or None
        For each operand where it is among the arrays, Vars and floats of the call; None if they are these.
    """

    __slots__ = ("call", "places")

    def __init__(self, call: Call, places: tuple[int, ...] | None) -> None:
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
        Whether what the function does depends on the strides of its operands, too. On anything else than on
        these and on its static arguments, such as elements or the value of a float, it must not depend.

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
        inputs: list[Any] = []
        parts = args
        if kwargs:
            key += kwargs
            parts = (*args, *kwargs.values())
        if not _note(parts, layout, key, inputs):
            return function(*args, **kwargs)
        first = inputs[0] if len(inputs) == 2 else _owner(inputs)
        if first is None:
            return function(*args, **kwargs)
        if len(inputs) == 2:
            inputs[0] = first.id
        ref = first.trace_ref
        trace = ref()
        if trace is None or not trace.is_plain or (OPEN and is_intercepted()):
            return function(*args, **kwargs)
        found = tuple(key)
        kind = known.get(found)
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
        call = kind.call
        op: Any = call.op
        values = inputs[1::2]
        try:
            value = op.forward(*values, **call.attrs)
        except NUMPY_ERRORS as error:
            op.fail(values, error)
        var = append(trace, ref, value, call, tuple(inputs))
        if op.view is not None and inputs[0] is not None:
            share(var, first)
        return var

    record.known = known  # type: ignore[attr-defined]
    return record


def _note(parts: Iterable[Any], layout: bool, key: list[Any], inputs: list[Any]) -> bool:
    """Note what a call depends on, and what it computes with: Var or None, and value.

    Return False if anything among the arguments is none of what is expected there.
    """
    for part in parts:
        kind = type(part)
        if kind is Var:
            parent = part.node
            value = parent.value
            if type(value) is not np.ndarray:
                return False
            key += (value.shape, value.dtype, parent.call.pull is not None or parent.is_param)
            if layout:
                if part.share is not None:
                    return False
                key.append(value.strides)
            inputs += (part, value)
        elif kind is int or part is None:
            key.append(part)
        elif kind is slice:
            start, stop, step = part.start, part.stop, part.step
            for bound in (start, stop, step):
                if bound is not None and type(bound) is not int:
                    return False
            key += (slice, start, stop, step)
        elif kind is tuple or kind is list:
            key += (kind, len(part))
            if not _note(part, layout, key, inputs):
                return False
        elif kind is float:
            key.append(float)
            inputs += (None, part)
        elif kind is np.ndarray:
            key += (np.ndarray, part.shape, part.dtype)
            if layout:
                key.append(part.strides)
            inputs += (None, part)
        elif kind in _STATIC:
            key += (kind, part)
        else:
            return False
    return True


def _owner(inputs: list[Any]) -> Any:
    """Put ids in place of Vars, and return the first of these; None if they are of several traces."""
    first = None
    for k in range(0, len(inputs), 2):
        var = inputs[k]
        if var is not None:
            if first is None:
                first = var
            elif var.trace_ref is not first.trace_ref:
                return None
            inputs[k] = var.id
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
    given = list(zip(inputs[::2], inputs[1::2], strict=True))
    places: list[int] = []
    for parent, operand in zip(node.parents, node.operands, strict=True):
        found = [k for k, (id, value) in enumerate(given) if id == parent and value is operand]
        if not found:
            return None
        places.append(next((place for place in found if place not in places), found[0]))
    if set(places) != set(range(len(given))) or not isinstance(node.value, (np.ndarray, np.generic)):
        return None
    return _Kind(node.call, None if places == list(range(len(given))) else tuple(places))
