"""Functions with static arguments, recorded as directly as operations without any.

Calls alike decide nothing anew; others, and all that are not about Vars of one plain trace, run the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from tape.core.interpreter import OPEN, is_intercepted
from tape.core.node import Call
from tape.core.op import NUMPY_ERRORS
from tape.core.record import append
from tape.core.var import Var
from tape.inplace.aliases import share

__all__ = ["specialised"]

F = TypeVar("F", bound=Callable[..., Any])

_MOST = 4096  # kinds of calls remembered for a function; more of them mean that they do not come again
_SEQUENCES = frozenset({tuple, list})
_BOUNDS = frozenset({int, type(None)})
_DTYPES = [type(np.dtype(code)) for code in "?bhilqBHILQefdFD"]
_PLAIN = frozenset({int, slice, tuple, bool, type(None), type(Ellipsis)})
_STATIC = frozenset({bool, str, type, type(None), type(Ellipsis), *_DTYPES})


class _Kind:
    """Calls of one kind, and the operation that they record.

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
    known_of_one: dict[Any, _Kind] = {}

    @wraps(function)
    def record(*args: Any, **kwargs: Any) -> Any:
        short = None
        if args and type(args[0]) is Var and (len(args) == 1 or type(args[1]) in _PLAIN) and not layout:
            short = _note_of_one(args, kwargs)
            kind = known_of_one.get(short)
            if kind is not None:
                x = args[0]
                ref = x.trace_ref
                trace = ref()
                if trace is None or not trace.is_plain or (OPEN and is_intercepted()):
                    return function(*args, **kwargs)
                value = x.node.value
                call = kind.call
                op: Any = call.op
                try:
                    out = op.forward(value, **call.attrs)
                except NUMPY_ERRORS as error:
                    op.fail((value,), error, args)
                var = append(trace, ref, out, call, (x.id, value))
                if op.view is not None:
                    share(var, x)
                return var
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
                if short is not None and kind.places == (0,):
                    if len(known_of_one) >= _MOST:
                        known_of_one.clear()
                    known_of_one[short] = kind
            return var
        call = kind.call
        op = call.op
        inputs: list[Any] = []
        for place in kind.places:
            part = given[place]
            inputs += (part.id, part.node.value) if type(part) is Var else (None, part)
        values = inputs[1::2]
        try:
            value = op.forward(*values, **call.attrs)
        except NUMPY_ERRORS as error:
            op.fail(values, error, given)
        var = append(trace, ref, value, call, tuple(inputs))
        if op.view is not None and inputs[0] is not None:
            share(var, given[kind.places[0]])
        return var

    record.known = known  # type: ignore[attr-defined]
    return record


def _note_of_one(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return what a call depends on whose first argument is a Var and all others are plain, else None."""
    parent = args[0].node
    value = parent.value
    if type(value) is not np.ndarray:
        return None
    key = [value.shape, value.dtype, parent.call.pull is not None or parent.is_param]
    if len(args) > 1 and not _note_plain(args[1:], key):
        return None
    if kwargs:
        key += kwargs
        if not _note_plain(kwargs.values(), key):
            return None
    return tuple(key)


def _note_plain(parts: Iterable[Any], key: list[Any]) -> bool:
    """Note static arguments; return False if there are others."""
    for part in parts:
        kind = type(part)
        if kind is int or part is None:
            key.append(part)
        elif kind is slice:
            start, stop, step = part.start, part.stop, part.step
            if (
                (start is None or type(start) is int)
                and (stop is None or type(stop) is int)
                and (step is None or type(step) is int)
            ):
                key += (slice, start, stop, step)
            else:
                return False
        elif kind is tuple:
            key += (tuple, len(part))
            if not _note_plain(part, key):
                return False
        elif kind in _STATIC:
            key += (kind, part)
        else:
            return False
    return True


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
            if layout:
                key.append(part.strides)
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
