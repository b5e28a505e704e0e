"""Pull functions: what `Node.vjp` calls, made once for an operation and a pattern of active operands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tape.core.fitting import fit, widened
from tape.core.node import Node, Pull
from tape.core.operands import FAST
from tape.core.rules import TransposedJvp, check_count, one_for_each

if TYPE_CHECKING:
    from tape.core.op import Op


def make_pull(op: Op, active: Sequence[bool]) -> Pull | None:
    """Return the pull function of an operation's nodes, given which operands want an adjoint.

    Returns
    -------
    callable or None
        ``pull(node, adjoint)``: pairs of parent and contribution. None if nothing flows.
    """
    rules: Any = op.vjp
    if rules is None:
        return None
    if isinstance(rules, TransposedJvp):
        return _pull_jointly(partial(rules.pulled_back, active), active)
    if callable(rules):
        return _pull_jointly(rules, active)
    check_count(op, "vjp", rules, active)
    wanted = [rule if is_active else None for rule, is_active in zip(rules, active, strict=False)]
    if not any(wanted):
        return None
    if len(active) == 1:
        return pull_unary(wanted[0])
    return _pull(wanted, op.widens)


def pull_unary(rule: Any) -> Pull:
    """Return the pull function of an operation of one operand."""

    def pull(node: Node, g: Any) -> Any:
        x_id, x = node.inputs
        return ((x_id, fit(rule(g, node.value, x, **node.call.attrs), x, node)),)

    return pull


def pull_binary(widens: bool, rule_x: Any, rule_y: Any) -> tuple[Pull | None, Pull | None, Pull | None]:
    """Return those of two operands without static arguments: for both, only x, or only y active."""

    def pull_both(node: Node, g: Any) -> Any:
        x_id, x, y_id, y = node.inputs
        out = node.value
        kind = type(out)
        if kind in FAST and kind is type(x) and kind is type(y):  # scalars alike: nothing to fit
            return ((x_id, rule_x(g, out, x, y)), (y_id, rule_y(g, out, x, y)))
        return ((x_id, fit(rule_x(g, out, x, y), x, node)), (y_id, fit(rule_y(g, out, x, y), y, node)))

    def pull_x(node: Node, g: Any) -> Any:
        x_id, x, _, y = node.inputs
        out = node.value
        return ((x_id, fit(rule_x(g, out, x, widened(y, out) if widens else y), x, node)),)

    def pull_y(node: Node, g: Any) -> Any:
        _, x, y_id, y = node.inputs
        out = node.value
        return ((y_id, fit(rule_y(g, out, widened(x, out) if widens else x, y), y, node)),)

    if rule_x is None:
        return pull_y, None, pull_y
    if rule_y is None:
        return pull_x, pull_x, None
    return pull_both, pull_x, pull_y


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
        contributions = one_for_each(rule(g, node.value, *operands, **node.attrs), operands, node.op)
        return [
            (parent, fit(contribution, operand, node))  # type: ignore[misc]
            for parent, operand, contribution, wanted in zip(
                node.parents, operands, contributions, active, strict=True
            )
            if wanted and contribution is not None
        ]

    return pull
