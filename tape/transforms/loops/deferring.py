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
from tape.core.interpreter import innermost_open
from tape.core.node import Call, Handle, Node
from tape.core.op import Op, bind
from tape.core.recording import Recording
from tape.core.results import is_several, unpack
from tape.core.table import INTERNAL, OPERATIONS
from tape.core.trace import Trace
from tape.core.var import Var
from tape.transforms.loops.expectation import NO_MORE, Period, is_known
from tape.transforms.loops.repeats import repetition

_new: Callable[[type], Any] = object.__new__


def handle(period: Period, number: int) -> DeferredVar:
    """Return a new handle to a node that is deferred."""
    var = _new(DeferredVar)
    var.trace_ref, var.period, var.number = period.trace.ref, period, number
    period.vars.append(var)
    return var


def _called(key: Any, args: Sequence[Any]) -> Any:
    """Return the result of an operation on Vars of which one at least is deferred."""
    return _learnt(key, args, next(x for x in args if type(x) is DeferredVar).period)


def _learnt(key: Any, args: Sequence[Any], period: Period) -> Any:
    """Return the result of an operation, and learn how the expected one is called if this is it."""
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
        return _called(key, (self, other)) if is_known(other) else otherwise(self, other)

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
        return _called(key, (other, self)) if is_known(other) else otherwise(self, other)

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
        return handle(self.period, self.number)

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
            if ufunc in OPERATIONS and all(map(is_known, inputs)):
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
            number = period.defer(call, operands)
            if number is not None:
                return handle(period, number)
        self.catch_up()
        return self.process(op, operands, attrs)

    def defer_if_expected(self, call: Call, operands: Sequence[Any]) -> DeferredVar | None:
        """Return the result of a call if it is expected, else None."""
        period = self.period
        is_expected = (period.base or period.try_to_begin()) and call is period.next.call
        number = period.defer(call, operands) if is_expected else None
        return None if number is None else handle(period, number)

    def element(self, var: Var, index: int) -> Any:
        """Return an element of a Var that is not deferred, such as ``params[0]`` in each step of a loop."""
        period = self.period
        if not period.base:
            return unpack(var)[index] if is_several(var) else OPERATIONS[operator.getitem](var, index)
        expected, count, nodes, id = period.next, period.count, self.recorded, var.id
        if (
            expected.key is operator.getitem
            and not expected.first
            and index == expected.other
            and id == expected.node.inputs[0]
            and nodes[id] is var.node
            and period.is_same()
        ):
            period.viewed[count] = var
            period.count = count + 1
            period.next = expected.following
            return handle(period, count)
        return unpack(var)[index] if is_several(var) else _learnt(operator.getitem, (var, index), period)

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
            period.next = NO_MORE
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
        program.need_numbers()
        trace.__class__ = DeferringTrace
        trace.period = Period(trace, program, *found)


INTERNAL["look_for_repeats"] = look
