"""What is expected of a tape that repeats itself, and what has been deferred because it came as expected.

A `Period` compares operations with those a period before, one `Expected` for each. Vars and traces that defer
are in `tape.transforms.loops.deferring`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.core.dispatch import lift
from tape.core.node import Call, Handle, Leaf, Node, snapshot
from tape.core.op import Op
from tape.core.operands import FAST
from tape.transforms.loops.likeness import are_same
from tape.transforms.loops.repeats import (
    are_calls_alike,
    has_same_type,
    is_alike,
    is_inside,
    is_typed_alike,
)


class Expected:
    """The operation that is expected at one position of a period.

    Attributes
    ----------
    node : Node
        The one of the last period that was recorded; results have the type of its value.
    call : Call
        That of the node.
    distances : tuple of int
        For each operand, how many nodes before it is; 0 if it is the same in every period.
    active : tuple of bool
        For each operand, whether it is a param or depends on one.
    is_view : bool
        Whether the result may be a view of the first operand.
    following : Expected
        The operation after it.
    key : object
        What called it last, in the table of operations; None if that did more than this operation.
    first, second : int
        The distances of the operands of that call.
    other : object
        The operand that is the same in every period: a number, or the node of a Var.
    """

    __slots__ = ("active", "call", "distances", "first", "following", "is_view", "key", "node", "other",
                 "second")  # fmt: skip

    def __init__(self, node: Node, distances: tuple[int, ...], active: tuple[bool, ...]) -> None:
        self.node = node
        self.call: Call = node.call
        self.distances = distances
        self.active = active
        self.is_view = node.op is not None and node.op.view is not None and node.inputs[0] is not None
        self.following: Expected = self
        self.key: Any = None
        self.first = self.second = 0
        self.other: Any = _NOTHING

    def learn(self, key: Any, args: Sequence[Any], operands: Sequence[Any]) -> None:
        """Note how it was called, if the call depends on nothing but its operands and on plain numbers."""
        count = len(operands)
        is_simple = count <= len(args) <= 2 and all(a is b for a, b in zip(args, operands, strict=False))
        is_element = key is operator.getitem and len(args) == 2 and type(args[1]) is int
        if not is_simple or (not is_element and (self.is_view or key is operator.getitem)):
            return
        self.first, self.second = (*self.distances, 0)[:2]
        self.key, self.other = key, _NOTHING
        for x, distance in zip(args, (self.first, self.second), strict=False):
            if not distance:
                self.other = x.node if isinstance(x, Handle) else x
                if type(self.other) not in _UNCHANGING:
                    self.key = None


_HUGE = 1 << 63
"""Larger ints may not be converted to the type of the other operand."""
_NOTHING = object()
"""What no operand is."""
_UNCHANGING = frozenset({*FAST, Node, Leaf})
"""What is the same whenever it is the same object."""


NO_MORE = Expected(Node(None, Call(None, {}, None), ()), (), ())
"""What is expected after an error has interrupted a recording: nothing."""


class Period:
    """What a tape repeats, and how often it has done so since its nodes are deferred.

    Parameters
    ----------
    trace : DeferringTrace
    program : Recorder
        What the tape records on in turn.
    start, length : int
        The first node of the first period, and how many nodes a period has.

    Attributes
    ----------
    base : int
        How many nodes are recorded; 0 before the first one is deferred.
    count : int
        How many there are, deferred ones included.
    steps : list of Expected
        The operations of a period, from that after the recorded ones on.
    next : Expected
        The one that is expected next.
    vars : list of DeferredVar
        The results of the operations that are deferred.
    is_same : callable
        Whether floating-point errors are treated as when the recording began.
    operands : sequence
        Those of the last operation that was deferred.
    is_unchanged : bool
        Whether its call and its constants are those of the node a period before.
    calls : dict
        The calls that differ from those of the node a period before, by number.
    constants : dict
        The constants that differ, by number and operand.
    viewed : dict
        What results that may be views are views of, by number.
    """

    __slots__ = ("base", "calls", "constants", "count", "is_same", "is_unchanged", "length", "next",
                 "operands", "program", "start", "steps", "trace", "vars", "viewed")  # fmt: skip

    next: Expected
    steps: list[Expected]

    def __init__(self, trace: Any, program: Any, start: int, length: int) -> None:
        self.trace = trace
        self.program = program
        self.is_same = program.settings.is_same
        self.start = start
        self.length = length
        self.base = self.count = 0
        self.vars: list[Any] = []
        self.operands: Sequence[Any] = ()
        self.is_unchanged = True
        self.calls: dict[int, Call] = {}
        self.constants: dict[tuple[int, int], Any] = {}
        self.viewed: dict[int, Any] = {}

    def try_to_begin(self) -> bool:
        """Expect what the last period is; return whether the tape has gone on to repeat itself."""
        nodes, length = self.trace.recorded, self.length
        count = len(nodes)
        first = count - length
        if not all(
            is_alike(nodes, at, length) and is_typed_alike(nodes[at], nodes[at - length])
            for at in range(first, count)
        ):
            return False
        self.steps = []
        for at in range(first, count):
            pairs = zip(nodes[at].parents, nodes[at - length].parents, strict=True)
            distances = tuple([0 if a == b else at - a for a, b in pairs])
            active = tuple([a is not None and nodes[a].is_active for a in nodes[at].parents])
            self.steps.append(Expected(nodes[at], distances, active))
        self.next = self.steps[0]
        for step, following in zip(self.steps, [*self.steps[1:], self.next], strict=True):
            step.following = following
        self.base = self.count = count
        return True

    def matching_call(self, op: Op, attrs: dict[str, Any]) -> Call | None:
        """Return the call of an operation if it is the expected one, else None."""
        expected = self.next
        call = expected.call
        if op is not call.op:
            return None
        if not attrs and not call.attrs:
            return call
        same = op.call(attrs, expected.active)
        if same is call:
            return call
        is_alike = are_calls_alike(same, call) and is_inside(attrs["index"], expected.node.inputs[1].shape)
        return same if is_alike else None

    def defer(self, call: Call, operands: Sequence[Any]) -> int | None:
        """Defer the node of an expected call; return its number, None if an operand is not the expected."""
        expected = self.next
        constants = self._constants(operands, expected)
        if constants is None or not self.is_same():
            return None
        number = self.count
        self.is_unchanged = call is expected.call and not constants
        if call is not expected.call:
            self.calls[number] = call
        for k, constant in constants.items():
            self.constants[number, k] = constant
        if expected.is_view:
            self.viewed[number] = operands[0]
        self.operands = operands
        self.count = number + 1
        self.next = expected.following
        return number

    def _constants(self, operands: Sequence[Any], expected: Expected) -> dict[int, Any] | None:
        """Return the constants among operands that differ; None if an operand is not the expected one."""
        distances, inputs = expected.distances, expected.node.inputs
        if len(operands) != len(distances):
            return None
        found: dict[int, Any] = {}
        nodes, ref = self.trace.recorded, self.trace.ref
        for k, operand in enumerate(operands):
            parent, constant = inputs[2 * k : 2 * k + 2]
            if isinstance(operand, Handle) and operand.trace_ref is ref:
                if operand.is_deferred:
                    number = operand.number  # type: ignore[attr-defined]
                else:
                    number = operand.id
                    if number >= len(nodes) or nodes[number] is not operand.node:
                        return None  # it is stale
                if number != (self.count - distances[k] if distances[k] else parent):
                    return None
            elif parent is not None:
                return None
            elif operand is not constant:
                if not is_known(operand) or (type(operand) is int and not -_HUGE < operand < _HUGE):
                    return None
                operand = snapshot(operand)
                if type(operand) is np.ndarray:
                    operand = lift(operand, self.trace.level)
                if are_same(operand, constant):
                    continue
                if type(operand) is np.ndarray or not has_same_type(operand, constant):
                    return None
                found[k] = operand
        return found


def is_known(other: Any) -> bool:
    """Return whether an operand is a Var, a common number or an array."""
    return isinstance(other, Handle) or type(other) in FAST or type(other) is np.ndarray
