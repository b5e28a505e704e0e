"""Derivative rules of operations: checked, completed, and applied forwards.

Of a rule that is declared in one mode, that of the other mode is the transpose (`tape.core.transposition`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tape import errors
from tape.core import series
from tape.core.fitting import fit, widened
from tape.core.node import Call, Node, plain
from tape.core.results import Results, is_several
from tape.core.table import INTERNAL
from tape.core.transposition import pull_transposed, push_transposed

if TYPE_CHECKING:
    from tape.core.op import Op


# ---- forward ---------------------------------------------------------------------------------------


def push(op: Op, out: Any, operands: Sequence[Any], tangents: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Return the tangent of a result, given those of the operands; None where nothing flows."""
    rules = op.jvp
    if rules is None:
        return None
    if op.widens:
        operands = [widened(operand, out) for operand in operands]
    total: Any = None
    if callable(rules):
        total = rules(tangents, out, *operands, **attrs)
    else:
        check_count(op, "jvp", rules, operands)
        for rule, moved in zip(rules, tangents, strict=False):
            if rule is None or moved is None:
                continue
            part = rule(moved, out, *operands, **attrs)
            if type(part) is tuple:
                part = Results(part)
            if total is None:
                total = part
            elif type(total) is np.ndarray and type(part) is np.ndarray and _is_own(total, part, tangents):
                total += part
            else:
                total = total + part
    if is_several(out):
        total = Results(total) if type(total) is tuple else total
        _check_several(total, out, op)
    try:
        return fit_tangent(total, out)
    except (AttributeError, errors.ShapeError) as error:
        raise errors.ShapeError(
            f"the jvp rule of {op.name} made {errors.describe(total)} for a result that is "
            f"{errors.describe(out)}. Return its shape, or one that broadcasts to it"
        ) from error


def fit_tangent(tangent: Any, out: Any) -> Any:
    """Return a tangent in the shape and dtype of the result it is for; None where nothing flows."""
    if tangent is None:
        return None
    if type(tangent) is Results:
        return Results(map(fit_tangent, tangent, plain(out)))
    if tangent.shape != out.shape:
        tangent = INTERNAL["broadcast_to"](tangent, shape=out.shape)
    return tangent if tangent.dtype == out.dtype else INTERNAL["cast"](tangent, dtype=out.dtype)


def _check_several(tangents: Any, out: Any, op: Op) -> None:
    """Check that there is a tangent, or None, for each of several results."""
    count = len(plain(out))
    if tangents is not None and (type(tangents) is not Results or len(tangents) != count):
        raise errors.ShapeError(
            f"the jvp rule of {op.name} made {errors.describe(tangents)} for {count} results. Return "
            "a tuple with a tangent for each, None where nothing flows"
        )


def _is_own(total: np.ndarray, part: np.ndarray, tangents: Sequence[Any]) -> bool:
    """Whether a sum can be formed in place: in an array that a rule has made, and large enough."""
    return (
        total.base is None
        and total.shape == part.shape
        and total.dtype == part.dtype
        and not any(total is moved for moved in tangents)
    )


# ---- rules that follow from those declared -----------------------------------------------------------


def complete(op: Op, is_linear: bool) -> None:
    """Check the rules that an operation declares, and derive those that it does not."""
    vjp, jvp = op.vjp, op.jvp
    if is_linear and (jvp is not None or vjp is None or callable(vjp)):
        raise errors.OptionError(
            f"{op.name} is declared linear, which makes its forward rule out of itself: give it a vjp "
            "rule for each operand, None for one without derivative, and no jvp rule"
        )
    if vjp is None and jvp is None:
        if op.taylor is not None:
            raise errors.OptionError(
                f"{op.name} has a taylor rule alone, and would be a constant to all other derivatives. "
                "Declare vjp= or jvp=, of which the other follows"
            )
        op.taylor = series.constant
    elif is_linear:
        rules = [rule and partial(_applied_to_tangent, op, k) for k, rule in enumerate(vjp)]  # type: ignore[arg-type]
        op.jvp = rules
        if op.taylor is None:
            if sum(rule is not None for rule in rules) == 1:
                op.taylor = series.linear
            elif len(rules) == 2:  # of more, nobody knows in which they are products
                op.taylor = series.multilinear
    elif jvp is None:
        op.jvp = partial(_transposed_vjp, op, vjp)
    elif vjp is None:
        op.vjp = TransposedJvp(op)
    elif not callable(vjp) and not callable(jvp):
        _check_agreement(op, vjp, jvp)


def _check_agreement(op: Op, vjp: Sequence[Any], jvp: Sequence[Any]) -> None:
    if len(vjp) != len(jvp):
        raise errors.OptionError(
            f"{op.name} has {len(vjp)} vjp rules and {len(jvp)} jvp rules. Give one for each operand, "
            "None for one without derivative"
        )
    for k, (reverse, forward) in enumerate(zip(vjp, jvp, strict=True)):
        if (reverse is None) != (forward is None):
            has, lacks = ("jvp", "vjp") if reverse is None else ("vjp", "jvp")
            raise errors.OptionError(
                f"{op.name} has a {has} rule for operand {k}, and None as its {lacks} rule: its "
                f"derivative would be lost in that mode. Give both, or leave out {lacks}=, which follows "
                f"from {has}="
            )


def check_count(op: Op, mode: str, rules: Sequence[Any], operands: Sequence[Any]) -> None:
    if len(rules) < len(operands):  # the last ones may be left out
        raise errors.ShapeError(
            f"{op.name} has {len(rules)} {mode} rules, and was called with {len(operands)} operands. "
            "Give one for each, None for one without derivative"
        )


def one_for_each(contributions: Any, operands: Sequence[Any], op: Any) -> Sequence[Any]:
    """Check that a rule for all operands at once returned one contribution for each."""
    if isinstance(contributions, (list, tuple)) and len(contributions) == len(operands):
        return contributions
    raise errors.ShapeError(
        f"the vjp rule of {op.name} returned {errors.describe(contributions)} for {len(operands)} operands. "
        "Return a list with a contribution, or None, for each"
    )


def _applied_to_tangent(op: Op, k: int, t: Any, out: Any, *operands: Any, **attrs: Any) -> Any:
    """The forward rule of an operation that is linear in operand ``k``."""
    return op(*operands[:k], t, *operands[k + 1 :], **attrs)


def _transposed_vjp(
    op: Op, rules: Any, tangents: Sequence[Any], out: Any, *operands: Any, **attrs: Any
) -> Any:
    """The forward rule of an operation that has a reverse rule."""
    if not callable(rules):
        check_count(op, "vjp", rules, operands)
        if not any(rule and t is not None for rule, t in zip(rules, tangents, strict=False)):
            return None

    node = Node(out, Call(op, attrs, None), ())  # which messages name

    def pull(adjoint: Callable[[], Any]) -> list[Any]:
        if callable(rules):
            contributions = one_for_each(rules(adjoint(), out, *operands, **attrs), operands, op)
        else:
            contributions = [
                None if rule is None or t is None else rule(adjoint(), out, *operands, **attrs)
                for rule, t in zip(rules, tangents, strict=False)
            ]
        return [
            None if c is None or t is None else fit(c, operand, node)
            for c, t, operand in zip(contributions, tangents, operands, strict=True)
        ]

    return push_transposed(pull, tangents, out, op.name)


class TransposedJvp:
    """The reverse rule, for all operands, of an operation that has a forward rule."""

    def __init__(self, op: Op) -> None:
        self._op = op

    def __call__(self, g: Any, out: Any, *operands: Any, **attrs: Any) -> list[Any]:
        return self.pulled_back((True,) * len(operands), g, out, *operands, **attrs)

    def pulled_back(
        self, active: Sequence[bool], g: Any, out: Any, *operands: Any, **attrs: Any
    ) -> list[Any]:
        """Return a contribution for each active operand."""
        op = self._op

        def pushed(tangents: list[Any]) -> Any:
            moved = push(op, out, operands, tangents, attrs)
            dummy = next((t for t in tangents if t is not None), None)
            for node in () if dummy is None else dummy.trace.nodes:
                if node.op is op and node.is_active and _are_same(node.attrs, attrs):
                    raise errors.UnsupportedError(
                        f"the jvp rule of {op.name} applies {op.name} to a tangent: its transpose is "
                        "not known. Declare vjp=; with linear=True in place of jvp= if it is linear"
                    )
            return moved

        return pull_transposed(pushed, g, operands, active, op.name)


def _are_same(attrs: dict[str, Any], others: dict[str, Any]) -> bool:
    return attrs.keys() == others.keys() and all(attrs[key] is others[key] for key in attrs)
