"""Pull functions: what the reverse sweep calls of a node, for operations of one or two operands.

`tape.core.calls` has those of all others.
"""

from __future__ import annotations

from typing import Any

from tape.core.fitting import AS_WIDE_AS_ANY, fit, widened
from tape.core.node import Node, Pull
from tape.core.operands import FAST


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
        a, b = x, y
        if x.dtype is not y.dtype and widens:
            a, b = widened(x, out), widened(y, out)
        return ((x_id, fit(rule_x(g, out, a, b), x, node)), (y_id, fit(rule_y(g, out, a, b), y, node)))

    def pull_x(node: Node, g: Any) -> Any:
        x_id, x, _, y = node.inputs
        out = node.value
        a = widened(x, out) if x.dtype is not out.dtype and widens else x
        b = widened(y, out) if type(y) not in AS_WIDE_AS_ANY and widens else y
        return ((x_id, fit(rule_x(g, out, a, b), x, node)),)

    def pull_y(node: Node, g: Any) -> Any:
        _, x, y_id, y = node.inputs
        out = node.value
        a = widened(x, out) if type(x) not in AS_WIDE_AS_ANY and widens else x
        b = widened(y, out) if y.dtype is not out.dtype and widens else y
        return ((y_id, fit(rule_y(g, out, a, b), y, node)),)

    if rule_x is None:
        return pull_y, None, pull_y
    if rule_y is None:
        return pull_x, pull_x, None
    return pull_both, pull_x, pull_y
