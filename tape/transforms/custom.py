"""`custom_vjp` and `custom_jvp`: functions of trees with a derivative rule written by the user.

One rule is enough: the other mode uses its transpose (`tape.core.transposition`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from tape import errors, tree
from tape.core import streams
from tape.core.closures import Bound
from tape.core.dispatch import recorder
from tape.core.fitting import fit
from tape.core.nesting import untraced
from tape.core.node import Handle, plain, snapshot
from tape.core.reached import made_of_functions
from tape.core.results import Results, unpack
from tape.core.rules import fit_tangent
from tape.core.transposition import pull_transposed, push_transposed
from tape.core.users_functions import own_parts
from tape.system.pickling import reduced
from tape.transforms._record import check_callable, name_of
from tape.transforms._segment import Segment, is_float
from tape.transforms.loops.body import computing


class _WithRule:
    """A function with a derivative rule of its own, which replaces that of the code inside."""

    what: str  # the method that sets the rule
    other: _WithRule | None = None  # a function with the rule for the other mode, instead of the transpose

    def __init__(self, f: Callable[..., Any]) -> None:
        check_callable(f, type(self).__name__)
        self.f = f
        self.rule: Callable[..., Any] | None = None
        # Arrays that the rule writes into, by id: see `tape.core.closures`.
        self.written: WeakValueDictionary[int, Any] = WeakValueDictionary()
        update_wrapper(self, f)

    def __reduce__(self) -> Any:
        return reduced(self, _again, type(self), self.f, self.rule)

    def with_functions(self, change: Callable[[Any], Any]) -> Any:
        """Return the same with other functions: see `tape.core.reached`."""
        f, rule = change(self.f), change(self.rule)
        if f is self.f and rule is self.rule:
            return self
        found = _again(type(self), f, rule)
        found.other = self.other
        return found

    def __get__(self, instance: Any, owner: type) -> Any:
        raise errors.UnsupportedError(
            f"{name_of(self.f)} is a method, and its rule cannot see the attributes of the instance. "
            "Decorate a function that takes them as arguments, and call it from the method"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; record one node if there are Vars among the arguments."""
        name = name_of(self.f)
        if kwargs:
            raise errors.UnsupportedError(
                f"{name} was called with the keyword arguments {', '.join(kwargs)}, and its rule takes "
                "positional arguments only. Pass all of them by position"
            )
        f = streams.repeatable(Bound(self.f), name)
        call = _Call(self, Segment(f, args, {}, name))
        if self.rule is not None and call.segment.inlined is not None and not call.is_linear():
            call = _Call(self, Segment(f, args, {}, name, is_inlined=False))
        captured = call.segment.captured_vars()
        if captured and self.rule is not None:
            raise errors.UnsupportedError(
                f"{name} closes over {captured[0]!r}, which its rule does not get. "
                "Pass it as an argument, or close over its tape.stop_gradient(...).value"
            )
        if call.segment.operands and self.rule is None:
            raise errors.UnsupportedError(
                f"{name} has no rule yet. Give it one: @{name}.{self.what}, above a function"
            )
        jvp = call.jvp if self.other is None else _Call(self.other, call.segment).jvp
        return call.segment.as_node(call.vjp, jvp)


def _again(kind: type[_WithRule], f: Callable[..., Any], rule: Callable[..., Any] | None) -> _WithRule:
    function = kind(f)
    function.rule = rule
    return function


@made_of_functions
class custom_vjp(_WithRule):
    """A function with a reverse rule written by the user; forward mode uses its transpose.

    Parameters
    ----------
    f : callable
        A function of positional arguments; arguments and result are trees. It is called with plain arrays,
        and need not be NumPy code.

    Raises
    ------
    UnsupportedError
        When called with Vars, if there is no rule, or ``f`` closes over a Var.

    Examples
    --------
    >>> import numpy as np, tape
    >>> @tape.custom_vjp
    ... def norm(x):
    ...     return np.linalg.norm(x)
    >>> @norm.defvjp
    ... def _(g, out, x):
    ...     return g * x / out
    >>> tape.grad(norm)(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    >>> float(tape.jvp(norm, (np.array([3.0, 4.0]),), (np.array([0.0, 1.0]),))[1])
    0.8
    """

    what = "defvjp"

    def defvjp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule.

        Parameters
        ----------
        rule : callable
            ``rule(g, out, *args)``, written with NumPy calls or `tape.ops`. It takes the adjoint of the
            result, in its structure, and returns the contribution to each argument, in its structure: a tuple
            if there are several, with None for zero. Complex numbers are not conjugated: for a holomorphic
            function the contribution is ``g`` times the derivative.

        Returns
        -------
        callable
            The rule itself.
        """
        if rule is not None:
            check_callable(rule, self.what)
        self.rule = rule
        return rule


@made_of_functions
class custom_jvp(_WithRule):
    """A function with a forward rule written by the user; reverse mode uses its transpose.

    Parameters and errors as for `custom_vjp`.

    Examples
    --------
    >>> import math, tape
    >>> @tape.custom_jvp
    ... def gamma(x):
    ...     return math.lgamma(x)
    >>> @gamma.defjvp
    ... def _(tangents, out, x):
    ...     from scipy.special import digamma
    ...     return tangents[0] * digamma(x)
    >>> float(tape.grad(gamma)(3.0))
    0.92278433509...
    """

    what = "defjvp"

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule.

        Parameters
        ----------
        rule : callable
            ``rule(tangents, out, *args)``, written with NumPy calls or `tape.ops`. It returns the tangent of
            the result, in its structure. There is a tangent for each argument, in its structure: zeros where
            it is constant, None for leaves that are not floats.

        Returns
        -------
        callable
            The rule itself.
        """
        if rule is not None:
            check_callable(rule, self.what)
        self.rule = rule
        return rule


class _Call:
    """One call of a custom function, with its rule in terms of operands."""

    def __init__(self, function: _WithRule, segment: Segment) -> None:
        self.function = function
        self.segment = segment
        self.rule: Callable[..., Any] | None = None
        self._bind_rule()
        segment.listeners.append(self._bind_rule)
        self.is_reverse = isinstance(function, custom_vjp)
        dtypes = [segment.packing.dtype, *(operand.dtype for operand in segment.operands)]
        # A rule between complex and real numbers may leave it to the caller to take the real part.
        self._kinds = "biufc" if any(dtype.kind == "c" for dtype in dtypes) else "biuf"

    def _bind_rule(self) -> None:
        """Bind the rule after the function has run, since that may keep something for it."""
        rule = self.function.rule
        self.rule = None if rule is None else Bound(rule, self.function.written)

    # ---- the rule as it is -----------------------------------------------------------------------

    def _given_vjp(self, g: Any, out: Any, operands: Sequence[Any]) -> list[Any]:
        """Return a contribution for each operand, from the rule of a `custom_vjp`."""
        packing, rule = self.segment.packing, self.rule
        args, _ = self.segment.arguments(operands)
        found = rule(packing.restore(g), packing.restore(out), *args)  # type: ignore[misc]
        found = own_parts(found)
        parts = [found] if len(args) == 1 else found
        if not isinstance(parts, (tuple, list)) or len(parts) != len(args):
            raise errors.ShapeError(
                f"the rule of {self.segment.name} returned {errors.describe(found)} for "
                f"{len(args)} arguments. Return a tuple with one contribution, or None, for each"
            )
        leaves: list[Any] = []
        for k, (part, arg) in enumerate(zip(parts, args, strict=True)):
            _, structure = tree.flatten(arg)
            is_none = part is None and structure is not tree.LEAF
            if is_none:
                leaves += [None] * tree.size(structure)
            else:
                given = self._up_to(structure, part, f"argument {k}")
                leaves += given if structure is tree.LEAF else map(_copied, given)
        contributions = [leaves[i] for i in self.segment.places]
        return [
            None if c is None else fit(self._checked(c, o, "its argument", allow_more=True), o)
            for c, o in zip(contributions, operands, strict=True)
        ]

    def _given_jvp(self, tangents: Sequence[Any], out: Any, operands: Sequence[Any]) -> Any:
        """Return the packed tangent of the result, from the rule of a `custom_jvp`."""
        packing, rule = self.segment.packing, self.rule
        args, _ = self.segment.arguments(operands)
        leaves, structure = tree.flatten(args)
        moved: list[Any] = [
            np.zeros(np.shape(x), np.result_type(x))[()] if is_float(x) else None for x in leaves
        ]
        for i, tangent in zip(self.segment.places, tangents, strict=True):
            if tangent is not None:
                moved[i] = tangent
        found = rule(tree.unflatten(structure, moved), packing.restore(out), *args)  # type: ignore[misc]
        found = own_parts(found)
        parts = self._up_to(packing.structure, found, "the result")
        if packing.structure is not tree.LEAF:
            parts = [*map(_copied, parts)]
        if any(parts[i] is None for i in packing.floats):
            raise errors.ShapeError(
                f"the rule of {self.segment.name} returned a tree with None where the result has floats. "
                "Return a tangent, zeros if it is constant"
            )
        likes = packing.unpack(out)
        return packing.pack(
            [
                fit_tangent(self._checked(parts[i], like, "the result"), like)
                for i, like in zip(packing.floats, likes, strict=True)
            ]
        )

    def _up_to(self, structure: Any, given: Any, what: str) -> list[Any]:
        """Return the leaves of the result of a rule, checked against the structure it belongs to."""
        leaves: list[Any] | None
        try:
            leaves = tree.flatten_up_to(structure, given)
        except ValueError:
            leaves = None
        if leaves is None or any(x is not None and tree.flatten(x)[1] is not tree.LEAF for x in leaves):
            raise errors.ShapeError(
                f"the rule of {self.segment.name} returned a tree {tree.describe(tree.flatten(given)[1])} "
                f"for {what}, which is {tree.describe(structure)}. Return the same structure"
            )
        return leaves

    def _checked(self, given: Any, like: Any, what: str, *, allow_more: bool = False) -> Any:
        """Check that a value has the shape of ``like``, or one that ``like`` broadcasts to."""
        rule = f"the rule of {self.segment.name}"
        array: Any = given if isinstance(given, Handle) else np.asarray(given)[()]
        if array.dtype.kind not in self._kinds:
            raise errors.DTypeError(
                f"{rule} returned {errors.describe(given)} for {what}. Return "
                + ("numbers" if "c" in self._kinds else "real numbers")
            )
        try:
            shape = np.broadcast_shapes(array.shape, like.shape)
        except ValueError:
            shape = None
        if shape is None or (shape != array.shape if allow_more else array.shape != like.shape):
            raise errors.ShapeError(
                f"{rule} returned an array of shape {list(array.shape)} for {what}, of shape "
                f"{list(like.shape)}. Return the same shape"
            )
        return array

    def is_linear(self) -> bool:
        """Return whether the rule scales and adds with what it gets, as far as some numbers can tell.

        A rule that clips gradients does not, nor one that takes their absolute values: how often a program
        applies it, to an adjoint or to its parts, then makes a difference. It has to be applied where Python
        applies it.
        """
        rows, rng = self.segment.inlined, np.random.default_rng(0)
        assert rows is not None
        operands = [untraced(operand) for operand in self.segment.operands]
        if any(isinstance(operand, Handle) for operand in operands):  # of batches, one element will do
            operands = [plain(operand) for operand in self.segment.operands]
        with computing(recorder()), np.errstate(all="ignore"):
            try:
                out = rows.floats(rows.forward(*operands))
                likes = [out] if self.is_reverse else operands
                one, other = ([_random_like(rng, like) for like in likes] for _ in range(2))
                small, large, opposite = (
                    [_combined(np.multiply, x, scale) for x in one] for scale in (1e-3, 1e3, -2.0)
                )
                sums = [
                    [_combined(np.add, *pair) for pair in zip(one, x, strict=True)] for x in (other, opposite)
                ]
                of_one, of_small, of_large, of_other, of_opposite, of_both, of_opposites = (
                    self._applied(out, operands, given)
                    for given in (one, small, large, other, opposite, *sums)
                )
            except Exception:  # the rule raises it again where it is needed
                return True
        scales = all(
            np.allclose(1e6 * a, b, rtol=1e-6, atol=0, equal_nan=True)
            for a, b in zip(of_small, of_large, strict=True)
        )
        return (
            scales
            and all(map(_is_sum, of_one, of_other, of_both))
            and all(map(_is_sum, of_one, of_opposite, of_opposites))
        )

    def _applied(self, out: Any, operands: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        """Return what the rule makes of adjoints or tangents: plain arrays."""
        if self.is_reverse:
            found = self._given_vjp(given[0], out, operands)
        else:
            found = [self._given_jvp([x if is_float(x) else None for x in given], out, operands)]
        return [part for x in found if x is not None for part in unpack(x)]

    # ---- both modes ------------------------------------------------------------------------------

    def vjp(self, g: Any, out: Any, *operands: Any) -> Sequence[Any]:
        """Apply the reverse rule of the operation."""
        rule = self._given_vjp if self.is_reverse else self._transposed_jvp
        count = len(self.segment.places)  # behind them arrays that it closes over
        found = rule(self._filled(snapshot(g)), snapshot(out), [snapshot(x) for x in operands[:count]])
        return [*self.segment.checked(found), *[None] * (len(operands) - count)]

    def jvp(self, tangents: Sequence[Any], out: Any, *operands: Any) -> Any:
        """Apply the forward rule of the operation."""
        rule = self._transposed_vjp if self.is_reverse else self._given_jvp
        count = len(self.segment.places)
        tangents = [snapshot(t) for t in tangents[:count]]
        operands = tuple([snapshot(x) for x in operands[:count]])
        return self.segment.checked([rule(tangents, snapshot(out), operands)])[0]

    def _filled(self, g: Any) -> Any:
        """Return the adjoints of several results with zeros where there is none."""
        if type(g) is not Results:
            return g
        packing = self.segment.packing
        zeros = map(np.zeros, packing.shapes, packing.dtypes)
        return Results([zero[()] if part is None else part for part, zero in zip(g, zeros, strict=True)])

    def _transposed_jvp(self, g: Any, out: Any, operands: Sequence[Any]) -> list[Any]:
        """Apply the transpose of the rule of a `custom_jvp`."""

        def push(tangents: list[Any]) -> Any:
            return self._given_jvp(tangents, out, operands)

        return pull_transposed(push, g, operands, [True for _ in operands], self.segment.name)

    def _transposed_vjp(self, tangents: Sequence[Any], out: Any, operands: Sequence[Any]) -> Any:
        """Apply the transpose of the rule of a `custom_vjp`."""

        def pull(adjoint: Callable[[], Any]) -> list[Any]:
            return self._given_vjp(adjoint(), out, operands)

        return push_transposed(pull, tangents, out, self.segment.name)


def _copied(leaf: Any) -> Any:
    """Return a copy of an array in a tree that a rule has returned, and may keep."""
    return leaf.copy() if type(leaf) is np.ndarray else leaf


def _random_like(rng: np.random.Generator, value: Any) -> Any:
    if type(value) is Results:
        return Results([_random_like(rng, part) for part in value])
    return rng.normal(size=np.shape(value)).astype(np.result_type(value))[()]


def _combined(ufunc: np.ufunc, value: Any, other: Any) -> Any:
    """Return a ufunc of two values, or of a value and a number, in the dtype of the first."""
    if type(value) is Results:
        others = other if type(other) is Results else [other] * len(value)
        return Results([_combined(ufunc, *pair) for pair in zip(value, others, strict=True)])
    return ufunc(value, other).astype(value.dtype) if is_float(value) else value


def _is_sum(a: np.ndarray, b: np.ndarray, total: np.ndarray) -> bool:
    """Return whether the third array is the sum of the others, but for rounding."""
    largest = max([np.max(np.abs(x), initial=0, where=np.isfinite(x)) for x in (a, b, total)])
    rounding = 1e3 * np.finfo(total.dtype).eps if total.dtype.kind in "fc" else 0
    return np.allclose(a + b, total, rtol=0, atol=rounding * largest, equal_nan=True)
