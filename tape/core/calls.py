"""The calls of an operation: what nodes share, found once for each pattern of active operands.

Their pull functions are made here, but for the shortest ones (`tape.core.pulls`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tape.core.fitting import fit, widened
from tape.core.node import Call, Node, Pull
from tape.core.pulls import pull_unary
from tape.core.rules import TransposedJvp, check_count, one_for_each

if TYPE_CHECKING:
    from tape.core.op import Op

_MOST = 256  # kinds of calls remembered for an operation; more of them mean that they do not come again
_PLAIN = frozenset({int, bool, str, type(None)})


def shared_call(op: Op, attrs: dict[str, Any], active: tuple[bool, ...]) -> Call:
    """Return what the nodes of calls alike share, given which operands are active."""
    calls = op._calls
    known = calls.get(active)
    if known is None:
        pull = _make_pull(op, active) if True in active else None
        known = calls[active] = Call(op, {}, pull)
    if not attrs:
        return known
    key = _key(active, attrs)
    if key is None:
        return Call(op, attrs, known.pull)
    call = calls.get(key)
    if call is None:
        if len(calls) >= _MOST:
            calls.clear()
        call = calls[key] = Call(op, attrs, known.pull)
    return call


def _key(active: tuple[bool, ...], attrs: dict[str, Any]) -> tuple[Any, ...] | None:
    """Return a key that calls alike share; None if a static argument is anything out of the ordinary."""
    key: list[Any] = [active]
    for name, value in attrs.items():
        kind = type(value)
        if kind is tuple:
            if not _PLAIN.issuperset(map(type, value)):
                return None
            key += map(type, value)
        elif kind not in _PLAIN:
            return None
        key += (name, kind, value)
    return tuple(key)


def _make_pull(op: Op, active: Sequence[bool]) -> Pull | None:
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


def _pull(rules: Sequence[Any], widens: bool) -> Pull:
    def pull(node: Node, g: Any) -> list[tuple[int, Any]]:
        out, operands, attrs = node.value, node.operands, node.attrs
        given = tuple(widened(operand, out) for operand in operands) if widens else operands
        return [
            (parent, fit(rule(g, out, *given, **attrs), operand, node))  # type: ignore[misc]
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
