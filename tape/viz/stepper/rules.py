"""The derivative rules of a node, in words and as formulas.

The formulas are not written by hand: the rules themselves run on Vars of a small trace, and what that
records is printed. So they cannot differ from what a sweep computes.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tape.core.dispatch import Interceptor
from tape.core.fitting import widened
from tape.core.node import Handle, Node, plain
from tape.core.op import Op
from tape.core.operands import FAST
from tape.core.trace import Trace
from tape.viz.stepper.formula import formula

_DOT, _BAR = "\u0307", "\u0304"
_FORMULA = re.compile(r"^``[^`]*``\.?$")
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_SIGNATURE = re.compile(r"^[\w.]+\(.*\)$")


@dataclass(frozen=True, slots=True)
class Rules:
    """The operation of a node and its derivative rules.

    Attributes
    ----------
    words : tuple of str
        Sentences.
    names : tuple of str
        What its operands are called in the formulas; the result is ``out``, its adjoint ``g``.
    value : str
        The operation itself, ``out = sin(x)``; empty if there is no formula.
    reverse : tuple of str
        What the reverse rule adds to the adjoint of each operand that wants one: ``x̄ += g · cos(x)``.
    tangent : str
        The tangent of the result: ``ȯut = ẋ · cos(x)``; empty if there is no formula.
    """

    words: tuple[str, ...]
    names: tuple[str, ...] = ()
    value: str = ""
    reverse: tuple[str, ...] = ()
    tangent: str = ""


def rule_key(node: Node, wants: Sequence[bool] | None = None) -> Hashable:
    """Return a key that nodes with equal rules share: the operation, its attributes, kinds of operands."""
    if node.op is None:
        return node.is_param
    operands = tuple(
        _literal(value) if parent is None else "node"
        for parent, value in zip(node.parents, node.operands, strict=True)
    )
    kinds = tuple((_dtype(value), np.shape(plain(value))) for value in node.operands)
    return id(node.op), repr(node.attrs), operands, kinds, _wanted(node, wants)


def rule_formulas(node: Node, wants: Sequence[bool] | None = None) -> Rules:
    """Describe the rules of a node in words and as formulas.

    Parameters
    ----------
    node : Node
        Of any trace; stays as it is. Its rules run once each.
    wants : sequence of bool, optional
        Which operands want an adjoint: on its trace, those that come from active nodes. By default all that
        come from nodes.

    Returns
    -------
    Rules
        Without formulas where a rule cannot run on Vars, or is too long to be read.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.viz.stepper.rules import rule_formulas
    >>> tr = tape.Trace()
    >>> x, y = tr.param(2.0), tr.param(3.0)
    >>> rule_formulas((x * y).node).reverse
    ('x̄ += g · y', 'ȳ += g · x')
    >>> rule_formulas(np.sin(x).node).tangent
    'ȯut = ẋ · cos(x)'
    """
    op = node.op
    if op is None:
        return Rules(_leaf_words(node))
    names = _names(len(node.operands))
    wanted = _wanted(node, wants)
    # Under an interceptor of its own the small trace is nested in none that is open around.
    with Interceptor(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        value = _attempt(_value, node, op, names)
        reverse = _attempt(_reverse, node, op, names, wanted) if any(wanted) else ()
        tangent = _attempt(_tangent, node, op, names)
    return Rules(
        words=_words(node, op, names, wanted),
        names=names,
        value=f"out = {value}" if value else "",
        reverse=reverse or (),
        tangent=f"{_marked('out', _DOT)} = {tangent}" if tangent else "",
    )


def _attempt(run: Callable[..., Any], *arguments: Any) -> Any:
    """Run a function that runs rules; return None if the rules do not work on Vars.

    Rules are anybody's code, and may do what Vars do not allow, in any way there is.
    """
    try:
        return run(*arguments)
    except Exception:
        return None


def _names(count: int) -> tuple[str, ...]:
    if count <= 4:
        return ("x", "y", "z", "w")[:count]
    return tuple(f"x{str(k).translate(_SUBSCRIPTS)}" for k in range(1, count + 1))


def _marked(name: str, mark: str) -> str:
    """Return a name with a bar or dot over its first letter."""
    return unicodedata.normalize("NFC", name[0] + mark + name[1:])


def _wanted(node: Node, wants: Sequence[bool] | None) -> tuple[bool, ...]:
    """Return which operands the node passes an adjoint on to."""
    if node.op is None or node.op.vjp is None or node.call.pull is None:
        return (False,) * len(node.operands)
    rules = node.op.vjp
    has_rule = [True] * len(node.operands) if callable(rules) else [rule is not None for rule in rules]
    if wants is None:
        wants = [parent is not None for parent in node.parents]
    return tuple(
        given and wanted and _dtype(value).kind in "fc"
        for given, wanted, value in zip(has_rule, wants, node.operands, strict=True)
    )


def _dtype(value: Any) -> np.dtype[Any]:
    return np.asarray(plain(value)).dtype


def _literal(value: Any) -> Any:
    """Return a constant that formulas spell out, a small integer or a half; None for others."""
    value = plain(value)
    if isinstance(value, Handle) or type(value) not in FAST or isinstance(value, complex):
        return None
    return value if abs(value) <= 10 and float(2 * value).is_integer() else None


class _Stage:
    """A small trace with a Var for every argument of a rule, and their names."""

    def __init__(self, node: Node, op: Op, names: Sequence[str]) -> None:
        self.trace = Trace()
        self.names: dict[int, str] = {}
        self.out = self.leaf(plain(node.value), "out")
        self.operands = []
        for name, parent, value in zip(names, node.parents, node.operands, strict=True):
            value = plain(value)
            is_literal = parent is None and _literal(value) is not None
            self.operands.append(value if is_literal else self.leaf(value, name))
        # What rules get of integers in elementwise operations.
        self.widened = [widened(x, self.out) for x in self.operands] if op.widens else self.operands

    def leaf(self, value: Any, name: str) -> Any:
        var = self.trace.input(value)
        self.names[var.id] = name
        return var

    def like(self, value: Any, name: str) -> Any:
        return self.leaf(np.ones_like(plain(value)), name)

    def formula(self, result: Any) -> str | None:
        if isinstance(result, Handle) and result.trace_ref is not self.trace.ref:
            return None
        return formula(self.trace, result, self.names)


def _value(node: Node, op: Op, names: Sequence[str]) -> str | None:
    stage = _Stage(node, op, names)
    return stage.formula(op(*stage.operands, **node.attrs))


def _reverse(node: Node, op: Op, names: Sequence[str], wanted: Sequence[bool]) -> tuple[str, ...]:
    texts = []
    rules = op.vjp
    for k, name in enumerate(names):
        if not wanted[k]:
            continue
        stage = _Stage(node, op, names)
        g = stage.like(node.value, "g")
        if callable(rules):
            result = list(rules(g, stage.out, *stage.operands, **node.attrs))[k]
        else:
            result = rules[k](g, stage.out, *stage.widened, **node.attrs)  # type: ignore[index, misc]
        text = None if result is None else stage.formula(result)
        if text is not None:
            texts.append(f"{_marked(name, _BAR)} += {text}")
    return tuple(texts)


def _tangent(node: Node, op: Op, names: Sequence[str]) -> str | None:
    rules = op.jvp
    if rules is None:
        return None
    stage = _Stage(node, op, names)
    tangents = [
        stage.like(value, _marked(name, _DOT)) if parent is not None and _dtype(value).kind in "fc" else None
        for name, parent, value in zip(names, node.parents, node.operands, strict=True)
    ]
    if callable(rules):
        return stage.formula(rules(tangents, stage.out, *stage.widened, **node.attrs))
    parts = [
        rule(tangent, stage.out, *stage.widened, **node.attrs)
        for rule, tangent in zip(rules, tangents, strict=True)
        if rule is not None and tangent is not None
    ]
    return stage.formula(sum(parts[1:], parts[0])) if parts else None


# ---- words -----------------------------------------------------------------------------------------


def _leaf_words(node: Node) -> tuple[str, ...]:
    if node.is_param:
        return ("A param: a leaf to differentiate by. Its adjoint sums up what all its uses pass back.",)
    return ("An input: a leaf that is data. Nothing flows back to it.",)


def _words(node: Node, op: Op, names: Sequence[str], wanted: Sequence[bool]) -> tuple[str, ...]:
    words = [text] if (text := _first_sentence(op.__doc__)) else []
    if op.vjp is None:
        words.append("It has no derivative: to every sweep its result is a constant.")
    elif not node.is_active:
        words.append("It depends on no param, so nothing flows back through it.")
    else:
        targets = [_marked(name, _BAR) for name, is_wanted in zip(names, wanted, strict=True) if is_wanted]
        words.append(f"Backwards, it takes its own adjoint g and adds to {_listed(targets)}.")
        repeated = [
            name
            for name, value, is_wanted in zip(names, node.operands, wanted, strict=True)
            if is_wanted and op.widens and np.shape(plain(value)) != np.shape(plain(node.value))
        ]
        if repeated:
            words.append(f"What is for {_listed(repeated)} is summed over the axes it was broadcast along.")
    return tuple(words)


def _listed(names: Sequence[str]) -> str:
    if len(names) > 4:
        return f"{names[0]}, ..., {names[-1]}"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _first_sentence(doc: str | None) -> str:
    """Return the first sentence of a docstring, without markup, signatures and formulas."""
    for paragraph in re.split(r"\n\s*\n", (doc or "").strip()):
        if _FORMULA.match(paragraph):
            continue
        text = " ".join(paragraph.replace("`", "").split())
        if text and not _SIGNATURE.match(text):
            return text if text.endswith(".") else f"{text}."
    return ""
