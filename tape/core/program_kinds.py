"""Functions with static arguments on the tapes of programs: what `tape.core.specialise` is to plain traces.

The Vars of such a call belong to the recorder of a program, or to plain traces on top of it, as in a gradient
that is compiled: one node is appended on each. Calls alike decide nothing anew; all others run the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from tape.core.dispatch import interceptor
from tape.core.node import Call, Handle, Node
from tape.inplace.aliases import note_view

_new: Callable[[type], Any] = object.__new__

_MOST = 4096  # kinds of calls remembered for a function; more of them mean that they do not come again


class _Kind:
    """Calls of one kind, and the operation that they record.

    Attributes
    ----------
    calls : list of Call
        The operation with its static arguments, for each trace, the deepest first.
    places : tuple of int or None
        For each operand where it is among the Vars and floats of the call; None if they are these.
    run : callable
        Its forward function, of operands alone.
    is_view : bool
        Whether the result may be a view of the first operand.
    """

    __slots__ = ("calls", "is_view", "places", "run")

    def __init__(self, calls: list[Call], places: tuple[int, ...] | None, run: Callable[..., Any]) -> None:
        self.calls = calls
        self.places = places
        self.run = run
        self.is_view = calls[0].op.view is not None  # type: ignore[union-attr]


def on_programs(
    function: Callable[..., Any],
    static: frozenset[Any],
    bound: Callable[[Any, dict[str, Any]], Callable[..., Any]],
    *,
    layout: bool,
) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """Return a function of the arguments and keywords of another one, for calls while a program is recorded.

    Parameters
    ----------
    function : callable
        What it does depends on static arguments, and on shapes and dtypes of operands.
    static : set of type
        The types of static arguments, but for ints and None.
    bound : callable
        Returns a forward function with its static arguments given.
    layout : bool
        Whether what it does depends on the strides of operands, too.
    """
    known: dict[Any, _Kind] = {}

    def record(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        key: list[Any] = []
        operands: list[Any] = []
        refs: list[Any] = []
        parts = args
        if kwargs:
            key += kwargs
            parts = (*args, *kwargs.values())
        depth = _note(parts, key, operands, refs, static, layout)
        if depth < 1 or depth != len(refs):
            return function(*args, **kwargs)
        traces = _nested(refs)
        if traces is None:
            return function(*args, **kwargs)
        found = tuple(key)
        kind = known.get(found)
        if kind is None:
            if traces[0].is_deferring:
                return function(*args, **kwargs)
            before = _state(traces)
            result = function(*args, **kwargs)
            kind = _learned(result, traces, operands, before, bound)
            if kind is not None:
                if len(known) >= _MOST:
                    known.clear()
                known[found] = kind
            return result
        if kind.places is not None:
            operands = [operands[k] for k in kind.places]
        if traces[0].is_deferring:
            result = traces[0].defer_if_expected(kind.calls[0], operands)
            return function(*args, **kwargs) if result is None else result
        program = traces[-1]
        program.is_computing = True
        try:
            result = _appended(kind, traces, 0, operands)
        except Exception:
            result = None  # done again below, with an error that says more
        finally:
            program.is_computing = False
        return function(*args, **kwargs) if result is None else result

    return record


def _appended(kind: _Kind, traces: Sequence[Any], depth: int, operands: Sequence[Any]) -> Any:
    """Append a node to each trace from a depth on, and return its handle; None if it is none of an array."""
    trace = traces[depth]
    ref = trace.ref
    inputs: list[Any] = []
    below: list[Any] = []
    for operand in operands:
        if isinstance(operand, Handle):
            if operand.trace_ref is ref:
                value = operand.node.value
                inputs += (operand.id, value)
                below.append(value)
                continue
            operand = operand.again()
        inputs += (None, operand)
        below.append(operand)
    depth += 1
    value = kind.run(*below) if depth == len(traces) else _appended(kind, traces, depth, below)
    # Handles first: a traced value finds out who asks for its class, which takes long.
    if type(value) is not np.ndarray and not isinstance(value, (Handle, np.generic)):
        return None
    node, nodes = _new(Node), trace.nodes
    node.value, node.call, node.inputs = value, kind.calls[depth - 1], tuple(inputs)
    var = _new(trace.var_type)
    var.id = len(nodes)
    var.trace_ref, var.node, var.share = ref, node, None
    nodes.append(node)
    if kind.is_view and inputs[0] is not None:
        note_view(trace, var, operands[0])
    return var


def _note(
    parts: Iterable[Any],
    key: list[Any],
    operands: list[Any],
    refs: list[Any],
    static: frozenset[Any],
    layout: bool,
) -> int:
    """Note what a call depends on, what it computes with, and the traces of that.

    Return how many traces the Var has that is nested in most, 0 if there is none; -1 if anything among the
    arguments is none of what is expected here.
    """
    depth = 0
    for part in parts:
        kind = type(part)
        if isinstance(part, Handle):
            value: Any = part
            own = 0
            while isinstance(value, Handle):
                ref, node = value.trace_ref, value.like if value.is_deferred else value.node  # type: ignore[attr-defined]
                if ref not in refs:
                    refs.append(ref)
                if layout and (value.is_deferred or value.share is not None):
                    return -1
                key += (refs.index(ref), node.call.pull is not None or node.is_param)
                value = node.value
                own += 1
            if type(value) is np.ndarray:
                key += (value.shape, value.dtype)
                if layout:
                    key.append(value.strides)
            elif isinstance(value, np.generic):
                key.append(type(value))
            else:
                return -1
            operands.append(part)
            depth = max(depth, own)
        elif kind is int or part is None:
            key.append(part)
        elif kind is tuple or kind is list:
            key += (kind, len(part))
            inside = _note(part, key, operands, refs, static, layout)
            if inside < 0:
                return -1
            depth = max(depth, inside)
        elif kind is slice:
            start, stop, step = part.start, part.stop, part.step
            for limit in (start, stop, step):
                if limit is not None and type(limit) is not int:
                    return -1
            key += (slice, start, stop, step)
        elif kind is float:
            key.append(float)
            operands.append(part)
        elif kind in static:
            key += (kind, part)
        else:
            return -1
    return depth


def _nested(refs: Sequence[Any]) -> Sequence[Any] | None:
    """Return the traces, the deepest first, if they are plain ones on top of the recorder of a program."""
    traces = [ref() for ref in refs]
    if None in traces:
        return None
    if len(traces) > 1:
        traces.sort(key=_level, reverse=True)
        for trace in traces[:-1]:
            if not (trace.is_plain or trace.is_deferring):
                return None
    program = traces[-1]
    if (
        not program.is_program
        or program.is_computing
        or program.watching is not None
        or program.has_postponed
    ):
        return None
    if not program.settings.is_same():
        return None
    return traces if interceptor(program.level) is None else None


_level = attrgetter("level")


def _state(traces: Sequence[Any]) -> list[Any]:
    """Return what a call may change."""
    program = traces[-1]
    lengths = [len(trace.nodes) for trace in traces]
    return [*lengths, len(program.guards), len(program.notes), program.reads_layout]


def _learned(
    found: Any,
    traces: Sequence[Any],
    operands: list[Any],
    before: list[Any],
    bound: Callable[[Any, dict[str, Any]], Callable[..., Any]],
) -> _Kind | None:
    """Return the kind of a call that has recorded one operation on what was given, and nothing else."""
    count = len(traces)
    if before[-1] or _state(traces) != [*(length + 1 for length in before[:count]), *before[count:]]:
        return None
    if not isinstance(found, Handle) or found.trace_ref is not traces[0].ref:
        return None
    places = places_of(found.node.inputs, _inputs(traces[0], operands)[0])
    if places is None:
        return None
    operands = [operands[k] for k in places]
    handle, calls = found, []
    for trace, length in zip(traces, before, strict=False):
        if type(handle) is not trace.var_type or handle.trace_ref is not trace.ref or handle.id != length:
            return None
        inputs, operands = _inputs(trace, operands)
        if places_of(handle.node.inputs, inputs) != list(range(len(operands))):
            return None
        calls.append(handle.node.call)
        handle = handle.node.value
    op, attrs = calls[0].op, calls[0].attrs
    depends = True if op is None else op.data_dependent
    if depends is True or (depends and depends(*operands, **attrs)):
        return None
    is_in_order = places == list(range(len(places)))
    return _Kind(calls, None if is_in_order else tuple(places), bound(op.forward, attrs))  # type: ignore[union-attr]


def places_of(inputs: Sequence[Any], given: Sequence[Any]) -> list[int] | None:
    """Return where the operands of a node are among those of a call; None if any, of either, is missing.

    Parameters
    ----------
    inputs, given : sequence
        Ids and values, as a node has them.
    """
    places: dict[Any, list[int]] = {}
    for k in range(0, len(given), 2):
        places.setdefault(_identity(given, k), []).append(k // 2)
    found = []
    for k in range(0, len(inputs), 2):
        fitting = places.get(_identity(inputs, k))
        if fitting is None:
            return None
        found.append(fitting.pop(0) if len(fitting) > 1 else fitting[0])
    return found if set(found) == set(range(len(given) // 2)) else None


def _identity(inputs: Sequence[Any], k: int) -> tuple[int | None, int]:
    """Return a key of one operand: its id on the tape, and the very value, or node of a Var."""
    value = inputs[k + 1]
    return inputs[k], id(value.node if isinstance(value, Handle) else value)


def _inputs(trace: Any, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return what a node on a trace has as inputs: ids and values; and the values."""
    inputs: list[Any] = []
    for operand in operands:
        is_own = isinstance(operand, Handle) and operand.trace_ref is trace.ref
        inputs += (operand.id, operand.node.value) if is_own else (None, operand)
    return inputs, inputs[1::2]
