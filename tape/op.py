"""How an operation is declared, called and recorded.

An `Op` holds a forward function with its reverse and forward rules side by side. Called on arrays it
computes; called on Vars it finds the deepest trace among them, computes with that trace's values
(which may be Vars of the next trace out, so that nesting takes care of itself) and appends a node.

The three linear operations at the end, `cast`, `sum_to` and `broadcast_to`, are here because every
rule leans on them: they undo promotion and broadcasting. All other operations live in `tape.ops`.
This file never knows what a Var can do beyond being a `Handle`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from tape import errors
from tape.kernels.reduce import sum_to_shape
from tape.trace import Handle, Node, Trace

__all__ = ["NUMPY", "Elementwise", "Op", "broadcast_to", "cast", "elementwise", "implements", "sum_to"]

F = TypeVar("F", bound=Callable[..., Any])

NUMPY: dict[Callable[..., Any], Callable[..., Any]] = {}
"""What runs when a NumPy function meets a Var: the function or ufunc -> its counterpart in `tape.ops`."""

_NO_ATTRS: dict[str, Any] = {}
_PYTHON_SCALARS = (float, int, bool)
_FAST = frozenset({*_PYTHON_SCALARS, np.float64, np.float32})  # operands that need no check


def implements(*functions: Callable[..., Any]) -> Callable[[F], F]:
    """Make the decorated function what runs when one of these NumPy functions is given a Var."""

    def register(function: F) -> F:
        NUMPY.update(dict.fromkeys(functions, function))
        return function

    return register


class Op:
    """One differentiable operation.

    Parameters
    ----------
    forward : callable
        ``forward(*operands, **attrs)`` on plain arrays. Operands are differentiable or data, attrs
        are static and passed by keyword.
    vjp : sequence of callables, or callable, optional
        The reverse rule. A sequence holds ``rule(g, out, *operands, **attrs)`` for each operand, None
        for one without derivative. A single callable of the same signature returns a contribution
        for every operand at once. Rules are written with operations, so that they can be
        differentiated; promotion of dtypes is undone by the caller. Without it the result is a
        constant to every derivative.
    jvp : sequence of callables, or callable, optional
        The forward rule. A sequence holds ``rule(t, out, *operands, **attrs)``, what the tangent of
        each operand adds to that of the result. A single callable gets the list of all tangents,
        None where an operand stands still, as its first argument. By default the operation is taken
        to be linear in each operand.
    name : str, optional
        By default that of ``forward``.
    numpy : callable, optional
        The NumPy function that should run this when it is given a Var.
    doc : str, optional
        By default that of ``forward``.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.op import Op
    >>> cube = Op(
    ...     lambda x: x**3,
    ...     name="cube",
    ...     vjp=[lambda g, out, x: g * 3 * x**2],
    ...     jvp=[lambda t, out, x: t * 3 * x**2],
    ... )
    >>> tr = tape.Trace()
    >>> tr.backward_param_grads(cube(tr.param(2.0)))
    [array(12.)]
    """

    explains_errors = True  # an error in forward is told in terms of the operands

    def __init__(
        self,
        forward: Callable[..., Any],
        *,
        vjp: Sequence[Callable[..., Any] | None] | Callable[..., Any] | None = None,
        jvp: Sequence[Callable[..., Any] | None] | Callable[..., Any] | None = None,
        name: str | None = None,
        numpy: Callable[..., Any] | None = None,
        doc: str | None = None,
    ) -> None:
        self.forward = forward
        self.name = name or forward.__name__.strip("_")
        self.vjp = vjp
        self.jvp = jvp
        if jvp is None and vjp is not None and not callable(vjp):
            self.jvp = [rule and partial(self._linear_rule, k) for k, rule in enumerate(vjp)]
        self.__name__ = self.name
        self.__doc__ = doc or forward.__doc__
        if numpy is not None:
            implements(numpy)(self)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __call__(self, *operands: Any, **attrs: Any) -> Any:
        ref = _deepest(operands)
        if ref is None:
            return self.compute(_plain_operands(operands), attrs)
        return self.record(ref, operands, attrs)

    def compute(self, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Run forward on plain arrays; what NumPy raises becomes an error of ours."""
        try:
            return self.forward(*operands, **attrs)
        except (TypeError, ValueError, IndexError) as error:
            if not self.explains_errors or isinstance(error, errors.TapeError):
                raise
            raise errors.explain(self.name, operands, error) from error

    def record(self, ref: weakref.ref[Trace], operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Compute, and append a node to the trace behind ``ref``; nothing changes if that fails."""
        trace = alive(ref, operands)
        values: list[Any] = []
        ids: list[int | None] = []
        active = []
        for operand in operands:
            if isinstance(operand, Handle) and operand.trace_ref is ref:
                values.append(operand.node.value)
                ids.append(operand.id)
                active.append(operand.node.is_active)
            else:
                values.append(as_operand(operand))
                ids.append(None)
                active.append(False)
        value = self(*values, **attrs) if trace.level else self.compute(values, attrs)
        vjp = None
        if self.vjp is not None and True in active:
            vjp = self.pullback(value, values, attrs, active)
        parents = tuple(
            trace.constant(operand) if id is None else id for id, operand in zip(ids, values, strict=True)
        )
        return trace.push(Node(value, self, parents, attrs, vjp))

    def pullback(
        self, value: Any, operands: Sequence[Any], attrs: dict[str, Any], active: Sequence[bool]
    ) -> Callable[[Any], Any] | None:
        """The closure a node keeps: adjoint in, one contribution an operand out."""
        if callable(self.vjp):
            return partial(_pull_jointly, self.vjp, value, operands, attrs, active)
        rules = [rule if needed else None for rule, needed in zip(self.vjp or (), active, strict=True)]
        return partial(_pull, rules, value, operands, attrs) if any(rules) else None

    def push_forward(
        self, tangents: Sequence[Any], value: Any, operands: Sequence[Any], attrs: dict[str, Any]
    ) -> Any:
        """The tangent of the result, or None where nothing flows."""
        if self.jvp is None:
            return None
        if callable(self.jvp):
            return self.jvp(tangents, value, *operands, **attrs)
        total = None
        for rule, tangent in zip(self.jvp, tangents, strict=True):
            if rule is None or tangent is None:
                continue
            part = rule(tangent, value, *operands, **attrs)
            total = part if total is None else total + part
        if total is None:
            return None
        if total.shape != value.shape:
            total = broadcast_to(total, shape=value.shape)
        return total if total.dtype == value.dtype else cast(total, dtype=value.dtype)

    def _linear_rule(self, k: int, t: Any, out: Any, *operands: Any, **attrs: Any) -> Any:
        return self(*operands[:k], t, *operands[k + 1 :], **attrs)


class Elementwise(Op):
    """An operation that works element by element, with broadcasting.

    Its Jacobian is diagonal, so one rule an operand, "what a derivative ``d`` is multiplied by",
    serves both modes; what it adds to an operand is summed over the axes that were broadcast. Use
    `elementwise` to make one.
    """


class _Unary(Elementwise):
    """The case of one operand, without the loops of the general case: half of eager's time is here."""

    def __call__(self, x: Any) -> Any:  # type: ignore[override]
        if not isinstance(x, Handle):
            return self.compute(_plain_operands((x,)), _NO_ATTRS)
        ref = x.trace_ref
        trace = ref() or x.trace
        parent = x.node
        operand = parent.value
        value = self(operand) if trace.level else self.compute((operand,), _NO_ATTRS)
        vjp = None
        if self.vjp is not None and (parent.vjp is not None or parent.is_param):
            vjp = partial(_pull_one, self.vjp[0], value, operand)  # type: ignore[index]
        node = Node(value, self, (x.id,), _NO_ATTRS, vjp)
        nodes = trace.nodes
        nodes.append(node)
        return trace.handle(ref, len(nodes) - 1, node)


class _Binary(Elementwise):
    """The case of two operands, without the loops of the general case."""

    def __call__(self, x: Any, y: Any) -> Any:  # type: ignore[override]
        x_is_var, y_is_var = isinstance(x, Handle), isinstance(y, Handle)
        if x_is_var:
            ref = x.trace_ref
            if y_is_var and y.trace_ref is not ref:
                return super().__call__(x, y)
        elif y_is_var:
            ref = y.trace_ref
        else:
            return self.compute(_plain_operands((x, y)), _NO_ATTRS)
        trace = ref() or alive(ref, (x, y))
        a = x.node.value if x_is_var else as_operand(x)
        b = y.node.value if y_is_var else as_operand(y)
        value = self(a, b) if trace.level else self.compute((a, b), _NO_ATTRS)
        vjp = None
        if self.vjp is not None:
            rule_x, rule_y = self.vjp  # type: ignore[misc]
            if not x_is_var or not x.node.is_active:
                rule_x = None
            if not y_is_var or not y.node.is_active:
                rule_y = None
            if rule_x or rule_y:
                vjp = partial(_pull_two, rule_x, rule_y, value, a, b)
                if (rule_x and not _is_alike(a, value)) or (rule_y and not _is_alike(b, value)):
                    vjp = partial(_pull, (rule_x, rule_y), value, (a, b), _NO_ATTRS)
        parents = (x.id if x_is_var else trace.constant(a), y.id if y_is_var else trace.constant(b))
        node = Node(value, self, parents, _NO_ATTRS, vjp)
        nodes = trace.nodes
        nodes.append(node)
        return trace.handle(ref, len(nodes) - 1, node)


def elementwise(
    forward: Callable[..., Any],
    *partials: Callable[..., Any] | None,
    operands: int | None = None,
    name: str | None = None,
    numpy: Callable[..., Any] | None = None,
    doc: str | None = None,
) -> Elementwise:
    """Declare an elementwise operation, in one line.

    Parameters
    ----------
    forward : callable
        On plain arrays; a ufunc is registered as its own NumPy counterpart.
    *partials : callable
        ``rule(d, out, *operands)`` for each operand: the derivative ``d``, a tangent of the operand
        or an adjoint of the result, times the partial derivative. Give none at all for a function
        whose derivative is zero almost everywhere.
    operands : int, optional
        How many operands there are, where ``partials`` does not say.
    name, numpy, doc
        As for `Op`.

    Returns
    -------
    Elementwise

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.op import elementwise
    >>> sin = elementwise(np.sin, lambda d, out, x: d * np.cos(x))
    >>> tr = tape.Trace()
    >>> tr.backward_param_grads(sin(tr.param(0.0)))
    [array(1.)]
    """
    is_ufunc = isinstance(forward, np.ufunc)
    count = operands or len(partials) or forward.nin  # type: ignore[attr-defined]
    kind = {1: _Unary, 2: _Binary}.get(count, Elementwise)
    return kind(
        forward,
        vjp=partials or None,
        jvp=partials or None,
        name=name,
        numpy=numpy or (forward if is_ufunc else None),
        doc=doc,
    )


def as_operand(operand: Any) -> Any:
    """An operand as rules may rely on it: a Var, an ndarray, or a Python or NumPy scalar.

    Python scalars stay what they are, so that they do not widen float32.
    """
    if type(operand) in _FAST or isinstance(operand, Handle):
        return operand
    if type(operand) is not np.ndarray:
        try:
            operand = np.asarray(operand)
        except ValueError as error:
            raise errors.ShapeError(f"an operand is no regular array: {error}") from error
        operand = operand if operand.ndim else operand[()]
    kind = operand.dtype.kind
    if kind not in "biuf":
        advice = (
            "Complex numbers have no rules yet: split them into real and imaginary part"
            if kind == "c"
            else "It must hold floats, integers or bools; for a list of Vars use np.stack or np.concatenate"
        )
        raise errors.DTypeError(f"an operand is {errors.describe(operand)}. {advice}")
    return operand


def _plain_operands(operands: Sequence[Any]) -> list[Any]:
    """Operands of a call without Vars; Python scalars among themselves follow NumPy's arithmetic."""
    if all(isinstance(operand, _PYTHON_SCALARS) for operand in operands):
        return [np.asarray(operand)[()] for operand in operands]
    return [as_operand(operand) for operand in operands]


def alive(ref: weakref.ref[Trace], operands: Sequence[Any]) -> Trace:
    """The trace behind ``ref``; if it is gone, the error says which operand had it."""
    trace = ref()
    if trace is None:
        trace = next(o for o in operands if isinstance(o, Handle) and o.trace_ref is ref).trace
    return trace


def fit(contribution: Any, like: Any) -> Any:
    """A contribution in the shape and dtype of the operand it is for: the transpose of promotion."""
    shape = like.shape
    if contribution.shape != shape:
        if type(contribution) is np.ndarray:
            contribution = sum_to_shape(contribution, shape)
        else:
            contribution = sum_to(contribution, shape=shape)
    return contribution if contribution.dtype == like.dtype else cast(contribution, dtype=like.dtype)


def _deepest(operands: Sequence[Any]) -> weakref.ref[Trace] | None:
    """A reference to the deepest trace among the operands; None if there is no Var."""
    ref: weakref.ref[Trace] | None = None
    for operand in operands:
        if not isinstance(operand, Handle) or operand.trace_ref is ref:
            continue
        if ref is None:
            ref = operand.trace_ref
            continue
        first, second = alive(ref, operands), operand.trace
        if first.level == second.level:
            raise errors.TraceMismatchError(
                f"Vars of two unrelated traces met: {first!r} and {second!r}, both at level {first.level}. "
                "Use one trace; or nest them, opening the inner one with `with tape.Trace() as inner:` "
                "inside the other's, or making its params from the other's Vars"
            )
        if second.level > first.level:
            ref = operand.trace_ref
    return ref


def _is_alike(operand: Any, value: Any) -> bool:
    """Whether a contribution shaped like the result needs no fitting to the operand."""
    if type(operand) is not type(value):
        return False
    return isinstance(value, np.generic) or (operand.shape == value.shape and operand.dtype == value.dtype)


# Closures are partials of these: smaller and faster to make than nested functions.


def _pull_one(rule: Any, out: Any, x: Any, g: Any) -> tuple[Any]:
    return (rule(g, out, x),)


def _pull_two(rule_x: Any, rule_y: Any, out: Any, x: Any, y: Any, g: Any) -> tuple[Any, Any]:
    return (rule_x and rule_x(g, out, x, y), rule_y and rule_y(g, out, x, y))


def _pull(rules: Sequence[Any], out: Any, operands: Sequence[Any], attrs: dict[str, Any], g: Any) -> list[Any]:
    return [
        rule and fit(rule(g, out, *operands, **attrs), operand)
        for rule, operand in zip(rules, operands)  # noqa: B905  hot
    ]


def _pull_jointly(
    rule: Any, out: Any, operands: Sequence[Any], attrs: dict[str, Any], active: Sequence[bool], g: Any
) -> list[Any]:
    contributions = rule(g, out, *operands, **attrs)
    return [
        fit(contribution, operand) if needed and contribution is not None else None
        for contribution, operand, needed in zip(contributions, operands, active, strict=True)
    ]


# ---- the linear operations that rules lean on ------------------------------------------------------


cast = Op(
    lambda x, *, dtype: x.astype(dtype),
    name="cast",
    vjp=[lambda g, out, x, dtype: cast(g, dtype=x.dtype)],
    doc="Convert to another float dtype.",
)

sum_to = Op(
    lambda x, *, shape: sum_to_shape(np.asarray(x), shape),
    name="sum_to",
    vjp=[lambda g, out, x, shape: broadcast_to(g, shape=x.shape)],
    doc="Sum to a shape that broadcasts to that of ``x``: the transpose of `broadcast_to`.",
)

broadcast_to = Op(
    lambda x, *, shape: np.broadcast_to(x, shape),
    name="broadcast_to",
    vjp=[lambda g, out, x, shape: sum_to(g, shape=x.shape)],
    doc="Repeat along new axes and axes of length one, without copying.",
)
