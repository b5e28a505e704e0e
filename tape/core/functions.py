"""Operations as plain functions of one or two operands, recorded by the shortest path there is.

Half of eager's time is spent recording. The functions made here do what `Op.record` does, without
its loops, for operations that take no static arguments: the elementwise ones and `matmul`, which is
nearly every node of a tape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape import errors
from tape.core import batch_rules, series
from tape.core.node import Call, Contributions, Handle, Node, Pull
from tape.core.op import NUMPY_ERRORS, Op, fit, implements, widened
from tape.core.operands import FAST, as_operand, other_operand, plain_operands
from tape.core.scope import RECORDERS, REGIONS, recorded, region_above
from tape.kernels.fused import fused

__all__ = ["elementwise", "function_of", "fused_elementwise"]

_NO_ATTRS: dict[str, Any] = {}
_new: Callable[[type], Any] = object.__new__  # half the time of a call that runs a Python __init__


def elementwise(
    forward: Callable[..., Any],
    *partials: Callable[..., Any] | None,
    taylor: Callable[..., Any] | None = None,
    lower: Callable[..., Any] | None = None,
    name: str | None = None,
    numpy: Callable[..., Any] | None = None,
    doc: str | None = None,
    view: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """Declare an elementwise operation, with broadcasting.

    Parameters
    ----------
    forward : callable
        On plain arrays; a ufunc is its own NumPy counterpart.
    *partials : callable
        ``rule(d, out, *operands)`` for each operand: the derivative ``d`` (a tangent of the operand,
        or an adjoint of the result) times the partial derivative; None for an operand without one.
        Rules are written with operations. What a rule adds to an operand is summed over the axes
        that were broadcast. No rules at all, or none but None: the derivative is zero almost everywhere.
    taylor, lower, name, numpy, doc, view
        As for `Op`; a ufunc is its own ``lower`` rule.

    Returns
    -------
    callable
        A function of the operands. Its attribute ``op`` is the `Op`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.core.functions import elementwise
    >>> cbrt = elementwise(np.cbrt, lambda d, out, x: d / (3 * out * out))
    >>> tr = tape.Trace()
    >>> tr.backward_param_grads(cbrt(tr.param(1.0)))
    [array(0.33333333)]
    """
    ufunc = forward if isinstance(forward, np.ufunc) else None
    if ufunc is not None and partials and len(partials) != ufunc.nin:
        raise errors.OptionError(
            f"{ufunc.__name__} has {ufunc.nin} operands and {len(partials)} partials. Give one for "
            "each, None for an operand without one"
        )
    rules = partials if any(partials) else None
    counterpart = numpy if isinstance(numpy, np.ufunc) else ufunc
    if lower is None and counterpart is not None:
        lower = _lower_ufunc(counterpart.__name__)
    op = Op(
        forward,
        vjp=rules,
        jvp=rules,
        taylor=taylor,
        batch=batch_rules.elementwise,
        lower=lower,
        name=name,
        doc=doc,
        view=view,
        widens=True,
    )
    return function_of(op, ufunc.nin if ufunc else len(partials), numpy or ufunc)


def fused_elementwise(body: Callable[[Any, Any], Any], *partials: Any) -> Callable[[Any, Any], Any]:
    """Elementwise arithmetic of two operands in one pass over plain arrays, one node on a tape.

    Parameters
    ----------
    body : callable
        As for `tape.kernels.fused.fused`.
    *partials : callable
        As for `elementwise`.

    Returns
    -------
    callable
        A function of two operands.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.core.functions import fused_elementwise
    >>> def shrunk(x, y):
    ...     return x - x * y
    >>> shrink = fused_elementwise(shrunk, lambda d, out, x, y: shrink(d, y), lambda d, out, x, y: -(d * x))
    >>> shrink(np.array([2.0]), np.array([0.25]))
    array([1.5])
    """

    def otherwise(x: Any, y: Any) -> Any:
        return record(x, y) if isinstance(x, Handle) or isinstance(y, Handle) else body(x, y)

    call = fused(body, otherwise)
    rule = series.of_body(body)
    record = elementwise(
        call, *partials, taylor=rule, lower=lambda b, x, y: body(x, y), name=body.__name__.strip("_")
    )
    return call


def _lower_ufunc(name: str) -> Callable[..., Any]:
    return lambda b, *operands: b.elementwise(name, *operands)


def function_of(op: Op, count: int, numpy: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """An operation without static arguments as a function of ``count`` operands.

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
    op.function = function
    if numpy is not None:
        implements(numpy)(protocol)
    return function


def _general(op: Op, count: int) -> Callable[..., Any]:
    def record(*operands: Any) -> Any:
        if len(operands) != count:
            raise TypeError(f"{op.name} takes {count} operands, not {len(operands)}")
        return op(*operands)

    return record


def _unary(op: Op) -> Callable[..., Any]:
    forward = op.forward
    inactive = Call(op, _NO_ATTRS, None)
    active = Call(op, _NO_ATTRS, _pull_unary(*op.vjp)) if op.vjp else inactive  # type: ignore[misc]

    def record(x: Any, /) -> Any:
        if not isinstance(x, Handle):
            return op(x) if RECORDERS else op.compute(plain_operands((x,)), _NO_ATTRS)
        ref = x.trace_ref
        trace = ref()
        if trace is None:
            return op(x)  # which raises, outside of regions
        parent = x.node
        a = parent.value
        is_nested = False
        if trace.level or REGIONS:
            if trace.is_batch:
                return trace.run(op, (x,), _NO_ATTRS)
            if REGIONS and (region := region_above(trace.level)):
                return region.run(op, (x,), _NO_ATTRS)
            is_nested = isinstance(a, Handle)
        if is_nested:
            value = record(a)
        else:
            try:
                value = forward(a)
            except NUMPY_ERRORS as error:
                op.fail((a,), error, (x,))
        call = active if parent.call.pull is not None or parent.is_param else inactive
        node = _new(Node)
        node.value = value
        node.call = call
        node.inputs = (x.id, a)
        var = _new(trace.handle)
        var.trace_ref = ref
        var.id = len(trace.nodes)
        var.node = node
        var.share = None
        trace.nodes.append(node)
        return var

    return record


def _binary(op: Op, convert: Callable[[Any], Any] = as_operand) -> Callable[..., Any]:
    """A function of two operands; ``convert`` makes operands of what is neither a Var nor a common scalar."""
    forward = op.forward
    pulls = _pull_binary(op.widens, *op.vjp) if op.vjp else (None, None, None)  # type: ignore[misc]
    active_both, active_x, active_y = (Call(op, _NO_ATTRS, pull) for pull in pulls)
    inactive = Call(op, _NO_ATTRS, None)

    def record(x: Any, y: Any, /) -> Any:
        call = inactive
        if isinstance(x, Handle):
            ref = x.trace_ref
            parent = x.node
            x_id, a = x.id, parent.value
            if parent.call.pull is not None or parent.is_param:
                call = active_x
            if isinstance(y, Handle):
                if y.trace_ref is not ref:
                    return op(x, y)
                parent = y.node
                y_id, b = y.id, parent.value
                if parent.call.pull is not None or parent.is_param:
                    call = active_y if call is inactive else active_both
            elif type(y) in FAST:
                y_id, b = None, y
            else:
                y_id, b = None, convert(y)
                if b is NotImplemented:
                    return b
        elif isinstance(y, Handle):
            ref = y.trace_ref
            parent = y.node
            y_id, b = y.id, parent.value
            if type(x) in FAST:
                x_id, a = None, x
            else:
                x_id, a = None, convert(x)
                if a is NotImplemented:
                    return a
            if parent.call.pull is not None or parent.is_param:
                call = active_y
        elif RECORDERS:
            return op(x, y)
        elif type(x) is type(y) is np.ndarray and x.dtype.kind in "fiubc" and y.dtype.kind in "fiubc":
            return op.compute((x, y), _NO_ATTRS)
        else:
            return op.compute(plain_operands((x, y)), _NO_ATTRS)
        trace = ref()
        if trace is None:
            return op(x, y)  # which raises, outside of regions
        is_nested = False
        if trace.level or REGIONS:
            if trace.is_batch:
                return trace.run(op, (x, y), _NO_ATTRS)
            if REGIONS and (region := region_above(trace.level)):
                return region.run(op, (x, y), _NO_ATTRS)
            if RECORDERS and trace not in RECORDERS:
                a = recorded(a) if type(a) is np.ndarray else a
                b = recorded(b) if type(b) is np.ndarray else b
            is_nested = isinstance(a, Handle) or isinstance(b, Handle)
        if is_nested:
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
        var = _new(trace.handle)
        var.trace_ref = ref
        var.id = len(trace.nodes)
        var.node = node
        var.share = None
        trace.nodes.append(node)
        return var

    return record


# What nodes call for their vjp: see `Op.pull_for`, which does the same for any number of operands.


def _pull_unary(rule: Any) -> Pull:
    def pull(node: Node, g: Any) -> Contributions:
        x_id, x = node.inputs
        return ((x_id, fit(rule(g, node.value, x), x, node)),)

    return pull


def _pull_binary(widens: bool, rule_x: Any, rule_y: Any) -> tuple[Pull | None, Pull | None, Pull | None]:
    """For nodes in which both operands, only x, or only y want a contribution."""

    def pull_both(node: Node, g: Any) -> Contributions:
        x_id, x, y_id, y = node.inputs
        out = node.value
        kind = type(out)
        if kind in FAST and kind is type(x) and kind is type(y):  # scalars alike: nothing to fit
            return ((x_id, rule_x(g, out, x, y)), (y_id, rule_y(g, out, x, y)))
        return ((x_id, fit(rule_x(g, out, x, y), x, node)), (y_id, fit(rule_y(g, out, x, y), y, node)))

    def pull_x(node: Node, g: Any) -> Contributions:
        x_id, x, _, y = node.inputs
        out = node.value
        return ((x_id, fit(rule_x(g, out, x, widened(y, out) if widens else y), x, node)),)

    def pull_y(node: Node, g: Any) -> Contributions:
        _, x, y_id, y = node.inputs
        out = node.value
        return ((y_id, fit(rule_y(g, out, widened(x, out) if widens else x, y), y, node)),)

    if rule_x is None:
        return pull_y, None, pull_y
    if rule_y is None:
        return pull_x, pull_x, None
    return pull_both, pull_x, pull_y
