"""Deferred recording: of a long loop of Python, operations are compared with those a step before.

Once a tape repeats itself (`tape.transforms.loops.repeats`), it becomes a `DeferringTrace`: an operation
that is the expected one, on the expected operands, is neither computed nor recorded, and its result is a
`DeferredVar`, which knows its number alone. Any other use of the tape or of such a Var makes the tape catch
up (`tape.transforms.loops.catching_up`): what was deferred becomes a loop, or is recorded one by one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tape import errors
from tape.core.dispatch import lift
from tape.core.interpreter import innermost_open
from tape.core.node import Call, Handle, Leaf, Node, snapshot
from tape.core.op import Op, bind
from tape.core.operands import FAST
from tape.core.recording import Recording
from tape.core.table import INTERNAL, OPERATIONS
from tape.core.trace import Trace
from tape.core.var import Var
from tape.transforms.loops.likeness import are_same
from tape.transforms.loops.repeats import (
    are_calls_alike,
    has_same_type,
    is_alike,
    is_inside,
    is_typed_alike,
    repetition,
)

_new: Callable[[type], Any] = object.__new__
_Array = np.ndarray


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


_NO_MORE = Expected(Node(None, Call(None, {}, None), ()), (), ())
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

    def defer(self, call: Call, operands: Sequence[Any]) -> DeferredVar | None:
        """Return the result of an expected call if its operands are the expected ones, else None."""
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
        return self.handle(number)

    def handle(self, number: int) -> DeferredVar:
        """Return a new handle to a node that is deferred."""
        var = _new(DeferredVar)
        var.trace_ref, var.period, var.number = self.trace.ref, self, number
        self.vars.append(var)
        return var

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
                if type(operand) is DeferredVar:
                    number = operand.number
                else:
                    number = operand.id
                    if number >= len(nodes) or nodes[number] is not operand.node:
                        return None  # it is stale
                if number != (self.count - distances[k] if distances[k] else parent):
                    return None
            elif parent is not None:
                return None
            elif operand is not constant:
                if not _is_known(operand) or (type(operand) is int and not -_HUGE < operand < _HUGE):
                    return None
                operand = snapshot(operand)
                if type(operand) is _Array:
                    operand = lift(operand, self.trace.level)
                if are_same(operand, constant):
                    continue
                if type(operand) is _Array or not has_same_type(operand, constant):
                    return None
                found[k] = operand
        return found


def _called(key: Any, args: Sequence[Any]) -> Any:
    """Return the result of an operation on Vars of which one at least is deferred."""
    period = next(x for x in args if type(x) is DeferredVar).period
    expected, program, count = period.next, period.program, period.count
    before = len(program.nodes), len(program.guards)
    function = OPERATIONS[key]
    call = expected.call
    if getattr(function, "op", None) is call.op and not call.attrs and len(args) == len(expected.distances):
        out = bind(call.op, args, {})  # type: ignore[arg-type]
    else:
        out = function(*args)
    is_alone = period.count == count + 1 and before == (len(program.nodes), len(program.guards))
    if is_alone and type(out) is DeferredVar and period.is_unchanged:
        expected.learn(key, args, period.operands)
    return out


def _is_known(other: Any) -> bool:
    return isinstance(other, Handle) or type(other) in FAST or type(other) is _Array


# The methods below defer an operation whose call is known in place, as a common function would take a fifth
# longer. What they do not know goes through `_called`.


def _binary(key: Any, name: str) -> Callable[[Any, Any], Any]:
    """Return the method for an operator, a deferred Var being the left operand."""
    otherwise = getattr(Var, name)

    def method(self: Any, other: Any) -> Any:
        try:
            period = self.period
        except AttributeError:
            return otherwise(self, other)
        expected, count = period.next, period.count
        if (
            expected.key is key
            and self.number + expected.first == count
            and (
                other.number + expected.second == count and other.period is period
                if type(other) is DeferredVar
                else other is expected.other or (type(other) is Var and other.node is expected.other)
            )
            and period.is_same()
        ):
            var = _new(DeferredVar)
            var.trace_ref, var.period, var.number = self.trace_ref, period, count
            period.vars.append(var)
            period.count = count + 1
            period.next = expected.following
            return var
        return _called(key, (self, other)) if _is_known(other) else otherwise(self, other)

    return method


def _reflected(key: Any, name: str) -> Callable[[Any, Any], Any]:
    """Return the method for an operator, a deferred Var being the right operand."""
    otherwise = getattr(Var, name)

    def method(self: Any, other: Any) -> Any:
        try:
            period = self.period
        except AttributeError:
            return otherwise(self, other)
        expected, count = period.next, period.count
        if (
            expected.key is key
            and self.number + expected.second == count
            and (other is expected.other or (type(other) is Var and other.node is expected.other))
            and period.is_same()
        ):
            var = _new(DeferredVar)
            var.trace_ref, var.period, var.number = self.trace_ref, period, count
            period.vars.append(var)
            period.count = count + 1
            period.next = expected.following
            return var
        return _called(key, (other, self)) if _is_known(other) else otherwise(self, other)

    return method


def _unary(key: Any, name: str) -> Callable[[Any], Any]:
    """Return the method for an operator of one operand."""
    otherwise = getattr(Var, name)

    def method(self: Any) -> Any:
        try:
            period = self.period
        except AttributeError:
            return otherwise(self)
        expected, count = period.next, period.count
        if expected.key is key and self.number + expected.first == count and period.is_same():
            var = _new(DeferredVar)
            var.trace_ref, var.period, var.number = self.trace_ref, period, count
            period.vars.append(var)
            period.count = count + 1
            period.next = expected.following
            return var
        return _called(key, (self,))

    return method


def _of_value(name: str) -> Any:
    """Return an attribute that is that of the value of the node a period before."""

    def attribute(self: Any) -> Any:
        return getattr(self.like.value, name)

    return property(attribute, doc=f"As `numpy.ndarray.{name}`.")


def _caught_up(name: str) -> Any:
    """Return an attribute for which the tape has to catch up."""

    def attribute(self: Any) -> Any:
        self.period.trace.catch_up()
        if type(self) is DeferredVar:
            raise errors.TraceDroppedError(
                "a Var was used whose trace has not been recorded to its end, as an error interrupted it"
            )
        return getattr(self, name)

    return property(attribute)


class DeferredVar(Var):
    """The result of an operation whose node is deferred; it becomes a `Var` when the tape catches up."""

    __slots__ = ()

    is_deferred = True

    # The slots of a Handle, under other names while they hold something else.
    number = Handle.__dict__["id"]
    period = Handle.__dict__["share"]

    id, node, share = map(_caught_up, ("id", "node", "share"))
    shape, dtype, ndim, size = map(_of_value, ("shape", "dtype", "ndim", "size"))

    @property
    def like(self) -> Node:
        """The node that is like its own, some periods before."""
        period = self.period
        return period.steps[(self.number - period.base) % period.length].node

    def again(self) -> Any:
        """Another handle to the same node, which will stay there when this one is written to and moves on."""
        return self.period.handle(self.number)

    __add__, __radd__ = _binary(np.add, "__add__"), _reflected(np.add, "__radd__")
    __sub__, __rsub__ = _binary(np.subtract, "__sub__"), _reflected(np.subtract, "__rsub__")
    __mul__, __rmul__ = _binary(np.multiply, "__mul__"), _reflected(np.multiply, "__rmul__")
    __truediv__ = _binary(np.divide, "__truediv__")
    __rtruediv__ = _reflected(np.divide, "__rtruediv__")
    __pow__, __rpow__ = _binary(operator.pow, "__pow__"), _reflected(operator.pow, "__rpow__")
    __matmul__ = _binary(np.matmul, "__matmul__")
    __rmatmul__ = _reflected(np.matmul, "__rmatmul__")
    __neg__, __abs__ = _unary(np.negative, "__neg__"), _unary(np.absolute, "__abs__")

    def __getitem__(self, index: Any) -> Any:
        try:
            period = self.period
        except AttributeError:
            return Var.__getitem__(self, index)
        expected, count = period.next, period.count
        if (
            expected.key is operator.getitem
            and self.number + expected.first == count
            and type(index) is int
            and index == expected.other
            and period.is_same()
        ):
            period.viewed[count] = self
            var = _new(DeferredVar)
            var.trace_ref, var.period, var.number = self.trace_ref, period, count
            period.vars.append(var)
            period.count = count + 1
            period.next = expected.following
            return var
        return _called(operator.getitem, (self, index))

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs and type(self) is DeferredVar:
            if len(inputs) == 1:
                period = self.period
                expected, count = period.next, period.count
                if expected.key is ufunc and self.number + expected.first == count and period.is_same():
                    var = _new(DeferredVar)
                    var.trace_ref, var.period, var.number = self.trace_ref, period, count
                    period.vars.append(var)
                    period.count = count + 1
                    period.next = expected.following
                    return var
            if ufunc in OPERATIONS and all(map(_is_known, inputs)):
                return _called(ufunc, inputs)
        return Var.__array_ufunc__(self, ufunc, method, *inputs, **kwargs)


class DeferringTrace(Trace):
    """A tape that defers the nodes of operations it expects; whoever looks at it sees all of them.

    Attributes
    ----------
    recorded, noted : list
        Nodes and views that are not deferred.
    """

    __slots__ = ()

    is_plain = False
    is_deferring = True
    recorded, noted = Recording.__dict__["nodes"], Recording.__dict__["views"]  # the slots

    @property
    def nodes(self) -> list[Node]:  # type: ignore[override]
        """All nodes, none of them deferred any more."""
        if self.period.count == self.period.base:
            return self.recorded
        self.catch_up()
        return self.nodes

    @property
    def views(self) -> list[Any]:
        """Those noted so far, none of them deferred any more."""
        if self.period.count == self.period.base:
            return self.noted
        self.catch_up()
        return self.views

    @views.setter
    def views(self, views: list[Any]) -> None:
        self.noted = views

    def process(self, op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Defer the node of an operation that is expected; otherwise catch up, and record it."""
        period = self.period
        if (period.base or period.try_to_begin()) and (call := period.matching_call(op, attrs)) is not None:
            found = period.defer(call, operands)
            if found is not None:
                return found
        self.catch_up()
        return self.process(op, operands, attrs)

    def defer_if_expected(self, call: Call, operands: Sequence[Any]) -> DeferredVar | None:
        """Return the result of a call if it is expected, else None."""
        period = self.period
        is_expected = (period.base or period.try_to_begin()) and call is period.next.call
        return period.defer(call, operands) if is_expected else None

    def catch_up(self) -> None:
        """Record what is deferred, and be a plain tape again."""
        self.__class__ = Trace  # type: ignore[assignment]
        period, self.period = self.period, None
        period.program.look_at = 2 * len(period.program.nodes)
        if period.count == period.base:
            return
        try:
            with period.program.settings.restored():
                INTERNAL["catch_up"](self, period)
        except BaseException:
            period.next = _NO_MORE
            raise


def look(program: Any) -> None:
    """Let the innermost tape defer nodes from now on, if it repeats itself.

    Parameters
    ----------
    program : Recorder
        What that tape records on in turn.
    """
    program.look_at = 2 * len(program.nodes)
    trace: Any = innermost_open()
    if type(trace) is not Trace or not trace.is_plain or trace.level <= program.level:
        return
    if not trace.is_strict:  # as those of transforms are; others belong to users, who may look at them
        return
    if program.settings.raises():  # at the line of an operation
        return
    found = repetition(trace.nodes)
    if found is not None:
        trace.__class__ = DeferringTrace
        trace.period = Period(trace, program, *found)


INTERNAL["look_for_repeats"] = look
