"""How an operation is declared, called and recorded.

An `Op` holds a forward function with its reverse and forward rules side by side. Called on arrays it
computes; called on Vars it finds the deepest trace among them, computes with that trace's values
(which may be Vars of the next trace out, so that nesting takes care of itself) and appends a node.
A rule that is not declared is the transpose of the one that is (`tape.core.transposition`).

The three linear operations at the end, `cast`, `sum_to` and `broadcast_to`, are here because every
rule leans on them: they undo promotion and broadcasting. All other operations live in `tape.ops`.
This file never knows what a Var can do beyond being a `Handle`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn, TypeVar

import numpy as np

from tape import errors
from tape.conversion.foreign import complaint
from tape.core import series
from tape.core.batch_rules import BatchRule, elementwise, lift
from tape.core.levels import alive, deepest, region_over
from tape.core.node import Call, Handle, Node, Pull, settled
from tape.core.operands import FAST, as_operand, as_recorded, plain_operands
from tape.core.scope import RECORDERS, REGIONS, recorded
from tape.core.series import TaylorRule
from tape.core.trace import Trace
from tape.core.transposition import pull_transposed, push_transposed
from tape.inplace.aliases import read_only, share
from tape.kernels.reduce import sum_to_shape

__all__ = [
    "NUMPY",
    "NUMPY_ERRORS",
    "Op",
    "broadcast_to",
    "cast",
    "fit",
    "implements",
    "sum_to",
    "widened",
]

F = TypeVar("F", bound=Callable[..., Any])

NUMPY: dict[Callable[..., Any], Callable[..., Any]] = {}
"""What runs when a NumPy function meets a Var: the function or ufunc -> its counterpart in `tape.ops`."""

NUMPY_ERRORS = (TypeError, ValueError, IndexError, OverflowError)
"""What NumPy raises for operands that do not fit."""


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
        differentiated; promotion of dtypes is undone by the caller. They return the adjoint, a view
        of it, or an array of their own, never one they were given. By default the transpose of
        ``jvp``; without rules in either mode the result is a constant to every derivative.
    jvp : sequence of callables, or callable, optional
        The forward rule. A sequence holds ``rule(t, out, *operands, **attrs)``, what the tangent of
        each operand adds to that of the result. A single callable gets the list of all tangents,
        None where an operand stands still, as its first argument. By default the transpose of ``vjp``.
    linear : bool
        Declare the operation linear in each operand that has a rule in ``vjp``, the others being held:
        its forward rule is the operation itself, with the tangent in place of the operand.
    taylor : callable, optional
        How it acts on whole power series: see `tape.core.series`. By default that of its forward rule.
    batch : callable, optional
        How it runs on a batch of operands at once: see `tape.core.batch_rules`. By default one by one.
    lower : callable, optional
        ``lower(b, *operands, **attrs)``: how a `Program` does it, in instructions that the builder ``b``
        makes; see `tape.program.ir.builder`. By default the program calls ``forward``.
    name : str, optional
        By default that of ``forward``.
    numpy : callable, optional
        The NumPy function that should run this when it is given a Var.
    doc : str, optional
        By default that of ``forward``.
    explains_errors : bool, optional
        Whether an error in ``forward`` is explained by the operands. By default where ``forward`` belongs
        to NumPy, SciPy or this library; an error in code of your own is raised as it is, with a note.
    view : callable, optional
        ``view(x, part, *operands, **attrs)``, where the result may be a view of the first operand x: what
        that becomes where the result is written to and becomes ``part``. See `tape.inplace.aliases`.
    widens : bool
        Whether rules get operands of integers in the dtype of the result: elementwise arithmetic in narrow
        integers would wrap around.
    data_dependent : bool or callable, optional
        Whether the shape or dtype of the result depends on the elements of the operands: a compiled function
        then checks both in every call. Or ``data_dependent(*operands, **attrs)``, which says so of one call.
        By default it is assumed of operations with neither ``lower`` nor ``batch``.

    Raises
    ------
    OptionError
        If rules contradict each other: one mode has a rule for an operand where the other one has None,
        the two are for different numbers of operands, or what is declared linear has a jvp rule or no vjp
        rule.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.core.op import Op
    >>> cube = Op(lambda x: x**3, name="cube", vjp=[lambda g, out, x: g * 3 * x**2])
    >>> tr = tape.Trace()
    >>> x = tr.param(2.0)
    >>> y = cube(x)
    >>> tr.backward_param_grads(y)
    [array(12.)]
    >>> tr.jvp(y, {x: 10.0})  # one rule is enough
    array(120.)
    """

    def __init__(
        self,
        forward: Callable[..., Any],
        *,
        vjp: Sequence[Callable[..., Any] | None] | Callable[..., Any] | None = None,
        jvp: Sequence[Callable[..., Any] | None] | Callable[..., Any] | None = None,
        linear: bool = False,
        taylor: TaylorRule | None = None,
        batch: BatchRule | None = None,
        lower: Callable[..., Any] | None = None,
        name: str | None = None,
        numpy: Callable[..., Any] | None = None,
        doc: str | None = None,
        explains_errors: bool | None = None,
        view: Callable[..., Any] | None = None,
        widens: bool = False,
        data_dependent: bool | Callable[..., bool] | None = None,
    ) -> None:
        self.forward = forward
        self.data_dependent = lower is None and batch is None if data_dependent is None else data_dependent
        self.view = view
        self.widens = widens
        self.explains_errors = _is_of_a_library(forward) if explains_errors is None else explains_errors
        self.name = name or forward.__name__.strip("_")
        self.vjp = vjp
        self.jvp = jvp
        self.taylor = taylor
        self.batch = batch
        self.lower = lower
        self.function: Callable[..., Any] | None = None  # a shorter way to record it
        self._constant: Op | None = None
        self._pulls: dict[tuple[bool, ...], Pull | None] = {}  # by which operands are active
        self._has_transposed_vjp = False
        self._complete(linear)
        self.__name__ = self.name
        self.__doc__ = doc or forward.__doc__
        if numpy is not None:
            implements(numpy)(self)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __call__(self, *operands: Any, **attrs: Any) -> Any:
        for operand in operands:
            if isinstance(operand, Handle):
                return self.record(operands, attrs)
        if RECORDERS and (seen := as_recorded(operands)) is not None:
            return self.record(seen, attrs)
        return self.compute(plain_operands(operands), attrs)

    def compute(self, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Run forward on plain arrays; what NumPy raises for the operands becomes an error of ours."""
        try:
            value = self.forward(*operands, **attrs)
        except NUMPY_ERRORS as error:
            self.fail(operands, error)
        if type(value) is np.ndarray or isinstance(value, np.generic):
            return value
        if isinstance(value, (tuple, list)):
            raise errors.UnsupportedError(f"{self.name} returned {len(value)} results. An Op has one")
        if (wrong := complaint(value)) is not None:
            raise errors.DTypeError(f"{self.name} returned {wrong}")
        return np.asarray(value) if isinstance(value, np.ndarray) else np.asarray(value)[()]

    def fail(self, operands: Sequence[Any], error: Exception, given: Sequence[Any] = ()) -> NoReturn:
        """Raise what an error in forward means to the caller, who has given Vars or values."""
        if isinstance(error, errors.TapeError):
            raise error
        if not self.explains_errors:
            error.add_note(
                f"in the forward function of {self!r}, called with {errors.describe_all(operands)}"
            )
            tell_places(error, given)
            raise error
        explained = errors.explain(self.name, operands, error)
        tell_places(explained, given)
        raise explained from error

    def record(self, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Compute and append a node to the deepest trace, or do what the region around says instead."""
        if REGIONS and (region := region_over(operands)):
            return region.run(self, operands, attrs)
        return alive(deepest(operands), operands).run(self, operands, attrs)

    def without_rules(self) -> Op:
        """The same operation, constant to every derivative."""
        if self.vjp is None and self.jvp is None:
            return self
        if self._constant is None:
            self._constant = Op(
                self.forward,
                name=self.name,
                batch=self.batch,
                lower=self.lower,
                explains_errors=self.explains_errors,
                data_dependent=self.data_dependent,
            )
        return self._constant

    def push_node(self, trace: Trace, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Compute, and append a node to a trace; nothing changes if that fails."""
        ref = trace.ref
        inputs: list[Any] = []
        active = []
        for operand in operands:
            is_ours = isinstance(operand, Handle) and operand.trace_ref is ref
            inputs += (operand.id, operand.node.value) if is_ours else (None, settled(as_operand(operand)))
            if RECORDERS and not is_ours and type(inputs[-1]) is np.ndarray and trace not in RECORDERS:
                inputs[-1] = recorded(inputs[-1])
            active.append(is_ours and operand.node.is_active)
        values = inputs[1::2]
        is_nested = trace.level and any(isinstance(value, Handle) for value in values)
        try:
            value = self(*values, **attrs) if is_nested else self.compute(values, attrs)
        except errors.TapeError as error:
            tell_places(error, operands)
            raise
        pull = self.pull_for(tuple(active)) if True in active else None
        var = trace.push(Node(value, Call(self, attrs, pull), tuple(inputs)))
        if self.view is not None and inputs[0] is not None:
            share(var, operands[0])
        return var

    def pull_for(self, active: tuple[bool, ...]) -> Pull | None:
        """What a node calls for its vjp, given which operands want an adjoint; None if nothing flows."""
        if self.vjp is None:
            return None
        if active not in self._pulls:
            if self._has_transposed_vjp:
                self._pulls[active] = _pull_jointly(partial(self._pulled_back, active), active)
            elif callable(self.vjp):
                self._pulls[active] = _pull_jointly(self.vjp, active)
            else:
                self._check_count("vjp", self.vjp, active)
                rules = [rule if wanted else None for rule, wanted in zip(self.vjp, active, strict=False)]
                self._pulls[active] = _pull(rules, self.widens) if any(rules) else None
        return self._pulls[active]

    def push_forward(self, node: Node, tangents: Sequence[Any]) -> Any:
        """The tangent of a node, given those of its operands; None where nothing flows."""
        return self.tangent(node.value, node.operands, tangents, node.call.attrs)

    def tangent(
        self, out: Any, operands: Sequence[Any], tangents: Sequence[Any], attrs: dict[str, Any]
    ) -> Any:
        """The tangent of the result, given those of the operands; None where nothing flows."""
        rules = self.jvp
        if rules is None:
            return None
        if self.widens:
            operands = [widened(operand, out) for operand in operands]
        total: Any = None
        if callable(rules):
            total = rules(tangents, out, *operands, **attrs)
        else:
            self._check_count("jvp", rules, operands)
            for rule, tangent in zip(rules, tangents, strict=False):
                if rule is None or tangent is None:
                    continue
                part = rule(tangent, out, *operands, **attrs)
                if total is None:
                    total = part
                elif (
                    type(total) is np.ndarray and type(part) is np.ndarray and _is_own(total, part, tangents)
                ):
                    total += part
                else:
                    total = total + part
        try:
            return self.fitted(total, out)
        except (AttributeError, errors.ShapeError) as error:
            raise errors.ShapeError(
                f"the jvp rule of {self.name} made {errors.describe(total)} for a result that is "
                f"{errors.describe(out)}. Return its shape, or one that broadcasts to it"
            ) from error

    @staticmethod
    def fitted(tangent: Any, out: Any) -> Any:
        """A tangent in the shape and dtype of the result it is for."""
        if tangent is None:
            return None
        if tangent.shape != out.shape:
            tangent = broadcast_to(tangent, shape=out.shape)
        return tangent if tangent.dtype == out.dtype else cast(tangent, dtype=out.dtype)

    # ---- rules that follow from those declared ----------------------------------------------------

    def _complete(self, is_linear: bool) -> None:
        """Check the rules that are declared, and make of them those that are not."""
        vjp, jvp = self.vjp, self.jvp
        if is_linear and (jvp is not None or vjp is None or callable(vjp)):
            raise errors.OptionError(
                f"{self.name} is declared linear, which makes its forward rule out of itself: give it a vjp "
                "rule for each operand, None for one without derivative, and no jvp rule"
            )
        if vjp is None and jvp is None:
            if self.taylor is not None:
                raise errors.OptionError(
                    f"{self.name} has a taylor rule alone, and would be a constant to all other derivatives. "
                    "Declare vjp= or jvp=, of which the other follows"
                )
            self.taylor = series.constant
        elif is_linear:
            rules = [rule and partial(self._linear_rule, k) for k, rule in enumerate(vjp)]  # type: ignore[arg-type]
            self.jvp = rules
            if self.taylor is None:
                if sum(rule is not None for rule in rules) == 1:
                    self.taylor = series.linear
                elif len(rules) == 2:  # of more, nobody knows in which they are products
                    self.taylor = series.multilinear
        elif jvp is None:
            self.jvp = self._transposed_vjp
        elif vjp is None:
            self.vjp = self._transposed_jvp
            self._has_transposed_vjp = True
        elif not callable(vjp) and not callable(jvp):
            self._check_agreement(vjp, jvp)

    def _check_agreement(self, vjp: Sequence[Any], jvp: Sequence[Any]) -> None:
        if len(vjp) != len(jvp):
            raise errors.OptionError(
                f"{self.name} has {len(vjp)} vjp rules and {len(jvp)} jvp rules. Give one for each operand, "
                "None for one without derivative"
            )
        for k, (reverse, forward) in enumerate(zip(vjp, jvp, strict=True)):
            if (reverse is None) != (forward is None):
                has, lacks = ("jvp", "vjp") if reverse is None else ("vjp", "jvp")
                raise errors.OptionError(
                    f"{self.name} has a {has} rule for operand {k}, and None as its {lacks} rule: its "
                    f"derivative would be lost in that mode. Give both, or leave out {lacks}=, which follows "
                    f"from {has}="
                )

    def _check_count(self, mode: str, rules: Sequence[Any], operands: Sequence[Any]) -> None:
        if len(rules) < len(operands):  # the last ones may be left out
            raise errors.ShapeError(
                f"{self.name} has {len(rules)} {mode} rules, and was called with {len(operands)} operands. "
                "Give one for each, None for one without derivative"
            )

    def _linear_rule(self, k: int, t: Any, out: Any, *operands: Any, **attrs: Any) -> Any:
        return self(*operands[:k], t, *operands[k + 1 :], **attrs)

    def _transposed_vjp(self, tangents: Sequence[Any], out: Any, *operands: Any, **attrs: Any) -> Any:
        """The forward rule of an operation that has a reverse rule."""
        rules: Any = self.vjp
        if not callable(rules):
            self._check_count("vjp", rules, operands)
            if not any(rule and t is not None for rule, t in zip(rules, tangents, strict=False)):
                return None

        node = Node(out, Call(self, attrs, None), ())  # which messages name

        def pull(adjoint: Callable[[], Any]) -> list[Any]:
            if callable(rules):
                contributions = _one_for_each(rules(adjoint(), out, *operands, **attrs), operands, self)
            else:
                contributions = [
                    None if rule is None or t is None else rule(adjoint(), out, *operands, **attrs)
                    for rule, t in zip(rules, tangents, strict=False)
                ]
            return [
                None if c is None or t is None else fit(c, operand, node)
                for c, t, operand in zip(contributions, tangents, operands, strict=True)
            ]

        return push_transposed(pull, tangents, out, self.name)

    def _transposed_jvp(self, g: Any, out: Any, *operands: Any, **attrs: Any) -> list[Any]:
        """The reverse rule of an operation that has a forward rule, for all operands."""
        return self._pulled_back((True,) * len(operands), g, out, *operands, **attrs)

    def _pulled_back(
        self, active: Sequence[bool], g: Any, out: Any, *operands: Any, **attrs: Any
    ) -> list[Any]:
        def push(tangents: list[Any]) -> Any:
            moved = self.tangent(out, operands, tangents, attrs)
            dummy = next((t for t in tangents if t is not None), None)
            for node in () if dummy is None else dummy.trace.nodes:
                if node.op is self and node.is_active and _are_same(node.attrs, attrs):
                    raise errors.UnsupportedError(
                        f"the jvp rule of {self.name} applies {self.name} to a tangent: its transpose is "
                        "not known. Declare vjp=; with linear=True in place of jvp= if it is linear"
                    )
            return moved

        return pull_transposed(push, g, operands, active, self.name)


_LIBRARIES = frozenset({"numpy", "scipy", "tape", "_operator"})


def _is_of_a_library(forward: Any) -> bool:
    """Whether it is the operands that are wrong where a function raises, rather than the function."""
    while isinstance(forward, partial):
        forward = forward.func
    module = getattr(forward, "__module__", None) or ""
    return isinstance(forward, np.ufunc) or module.partition(".")[0] in _LIBRARIES


def _is_own(total: np.ndarray, part: np.ndarray, tangents: Sequence[Any]) -> bool:
    """Whether a sum can be formed in place: in an array that a rule has made, and large enough."""
    return (
        total.base is None
        and total.shape == part.shape
        and total.dtype == part.dtype
        and not any(total is tangent for tangent in tangents)
    )


def _are_same(attrs: dict[str, Any], others: dict[str, Any]) -> bool:
    return attrs.keys() == others.keys() and all(attrs[key] is others[key] for key in attrs)


def tell_places(error: Exception, operands: Sequence[Any]) -> None:
    """Add to an error where its operands were recorded, as far as their traces know."""
    for k, operand in enumerate(operands):
        site = operand.node.site if isinstance(operand, Handle) else None
        if site is not None:
            shown = errors.describe(operand.node.value)
            error.add_note(f"operand {k}, {shown}, is node %{operand.id}, recorded at {site}: {site.text}")


def fit(contribution: Any, like: Any, node: Node | None = None) -> Any:
    """A contribution in the shape and dtype of the operand it is for: the transpose of promotion.

    Given the node whose rule made it, one that can be no such contribution is an error.
    """
    kind = type(contribution)
    if kind in FAST and kind is type(like):
        return contribution
    shape = like.shape
    given = getattr(contribution, "shape", None)
    if given != shape:
        if node is not None and given != node.value.shape:
            contribution = _checked(contribution, shape, node)
        try:
            is_plain = type(contribution) is np.ndarray
            contribution = (
                sum_to_shape(contribution, shape) if is_plain else sum_to(contribution, shape=shape)
            )
        except ValueError as error:
            if node is None:
                raise
            raise _misfit(contribution, shape, node) from error
    if contribution.dtype == like.dtype:
        return contribution
    if contribution.dtype.kind not in "fcbiu":
        raise errors.DTypeError(
            f"the vjp rule of {_title(node)} made {errors.describe(contribution)} for an operand that is "
            f"{errors.describe(like)}. It must return numbers"
        )
    return cast(contribution, dtype=like.dtype)


def widened(operand: Any, out: Any) -> Any:
    """An operand as rules of elementwise operations see it: integers in the dtype of the result."""
    if type(operand) in FAST or operand.dtype.kind not in "iu":
        return operand
    return cast(operand, dtype=out.dtype)


def _checked(contribution: Any, shape: tuple[int, ...], node: Node) -> Any:
    """What a rule made, if it can be summed to the shape of the operand; else an error."""
    array = contribution if hasattr(contribution, "shape") else np.asarray(contribution)
    if array.ndim > max(len(shape), node.value.ndim):  # more axes than broadcasting can have added
        raise _misfit(contribution, shape, node)
    return array


def _misfit(contribution: Any, shape: tuple[int, ...], node: Node) -> errors.ShapeError:
    made = list(contribution.shape) if hasattr(contribution, "shape") else errors.describe(contribution)
    return errors.ShapeError(
        f"the vjp rule of {_title(node)} made shape {made} for an operand of shape {list(shape)}, "
        f"with a result of shape {list(node.value.shape)}. Return the shape of the operand, or that of the "
        "result if it was broadcast to that"
    )


def _title(node: Node | None) -> str:
    return node.op.name if node is not None and node.op is not None else "an operation"


# ---- what nodes call for their vjp: made once for an operation and a pattern of active operands ----


def _pull(rules: Sequence[Any], widens: bool) -> Pull:
    def pull(node: Node, g: Any) -> list[tuple[int, Any]]:
        out, operands, attrs = node.value, node.operands, node.attrs
        if widens:
            operands = tuple(widened(operand, out) for operand in operands)
        return [
            (parent, fit(rule(g, out, *operands, **attrs), operand, node))  # type: ignore[misc]
            for rule, parent, operand in zip(rules, node.parents, operands, strict=True)
            if rule is not None
        ]

    return pull


def _pull_jointly(rule: Any, active: Sequence[bool]) -> Pull:
    def pull(node: Node, g: Any) -> list[tuple[int, Any]]:
        operands = node.operands
        contributions = _one_for_each(rule(g, node.value, *operands, **node.attrs), operands, node.op)
        return [
            (parent, fit(contribution, operand, node))  # type: ignore[misc]
            for parent, operand, contribution, wanted in zip(
                node.parents, operands, contributions, active, strict=True
            )
            if wanted and contribution is not None
        ]

    return pull


def _one_for_each(contributions: Any, operands: Sequence[Any], op: Any) -> Sequence[Any]:
    """Check that a rule for all operands at once returned one contribution for each."""
    if isinstance(contributions, (list, tuple)) and len(contributions) == len(operands):
        return contributions
    raise errors.ShapeError(
        f"the vjp rule of {op.name} returned {errors.describe(contributions)} for {len(operands)} operands. "
        "Return a list with a contribution, or None, for each"
    )


# ---- the linear operations that rules lean on ------------------------------------------------------


def _batch_sum_to(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    (x,), shape = operands, attrs["shape"]
    kept = (size, *(1,) * (x.ndim - 1 - len(shape)), *shape)
    return op(x, shape=kept).reshape((size, *shape))


def _batch_broadcast_to(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    return op(lift(operands[0], True, len(attrs["shape"])), shape=(size, *attrs["shape"]))


def _cast(x: Any, *, dtype: Any) -> Any:
    return (x.real if x.dtype.kind == "c" != dtype.kind else x).astype(dtype)


cast: Op = Op(
    _cast,
    name="cast",
    vjp=[lambda g, out, x, dtype: cast(g, dtype=x.dtype)],
    linear=True,
    batch=elementwise,
    lower=lambda b, x, dtype: b.cast(x, dtype),
    doc="Convert to another float or complex dtype; of complex numbers to floats, the real part.",
)

sum_to = Op(
    lambda x, *, shape: sum_to_shape(np.asarray(x), shape),
    name="sum_to",
    vjp=[lambda g, out, x, shape: broadcast_to(g, shape=x.shape)],
    linear=True,
    batch=_batch_sum_to,
    lower=lambda b, x, shape: b.sum_to(x, shape),
    doc="Sum to a shape that broadcasts to that of ``x``: the transpose of `broadcast_to`.",
)

broadcast_to: Op = Op(
    lambda x, *, shape: np.broadcast_to(x, shape),
    name="broadcast_to",
    vjp=[lambda g, out, x, shape: sum_to(g, shape=x.shape)],
    linear=True,
    view=read_only,
    batch=_batch_broadcast_to,
    lower=lambda b, x, shape: b.broadcast(x, shape),
    doc="Repeat along new axes and axes of length one, without copying.",
)
