"""Recorded operations as a readable formula: ``g · cos(x)`` instead of two lines of tape.

Prints any small tape, given names for its leaves. Relies on nothing but the names of operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tape import errors
from tape.core.node import Handle, Node, plain
from tape.inspect.listing import call_text
from tape.viz.view import value_text

if TYPE_CHECKING:
    from tape.core.trace import Trace

MOST_OPERATIONS = 60
"""Of what is longer nobody reads the formula."""
_WIDTH = 220
_DIGITS = 6
_LONG = 14  # characters from which an expression that is used twice gets a letter

# How tightly things bind: an operand that binds less than its place asks for gets parentheses.
_COMPARISON, _SUM, _SIGN, _PRODUCT, _POWER, _ATOM = range(6)

_INFIX = {
    "add": ("+", _SUM, _SUM, _SUM),
    "subtract": ("−", _SUM, _SUM, _PRODUCT),
    "multiply": ("·", _PRODUCT, _SIGN, _PRODUCT),
    "divide": ("/", _PRODUCT, _SIGN, _POWER),
    "matmul": ("@", _PRODUCT, _POWER, _POWER),
    "greater": (">", _COMPARISON, _SUM, _SUM),
    "greater_equal": ("≥", _COMPARISON, _SUM, _SUM),
    "less": ("<", _COMPARISON, _SUM, _SUM),
    "less_equal": ("≤", _COMPARISON, _SUM, _SUM),
    "equal": ("=", _COMPARISON, _SUM, _SUM),
    "not_equal": ("≠", _COMPARISON, _SUM, _SUM),
}
"""Operator, how tightly it binds, and how tightly its operands must."""

_SILENT = {"cast", "astype", "positive", "copy", "stop_gradient"}
"""Operations that only change the kind of number, or nothing."""

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class _Term(NamedTuple):
    text: str
    binding: int

    def within(self, binding: int) -> str:
        """Return the text, in parentheses where it binds less tightly than its place asks for."""
        return self.text if self.binding >= binding else f"({self.text})"


def formula(trace: Trace, root: Any, names: Mapping[int, str]) -> str | None:
    """Print the operations behind a Var as one expression.

    Parameters
    ----------
    trace : Trace
        A small one. What is elementwise arithmetic under one name is written out, for which operations
        are added to it.
    root : Var, array or number
        What the formula is of.
    names : mapping of int to str
        What nodes are called, by id: at least the leaves.

    Returns
    -------
    str or None
        Expressions that occur more than once get a letter, explained after "where". None if it is too long
        to be read.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.viz.stepper.formula import formula
    >>> tr = tape.Trace()
    >>> x, y = tr.input(2.0), tr.input(3.0)
    >>> formula(tr, -np.sin(x * (y + 1)) / y**2, {0: "x", 1: "y"})
    '−sin(x · (y + 1)) / y²'
    """
    if not isinstance(root, Handle):
        return _constant(root).text
    if len(trace.nodes) > MOST_OPERATIONS:
        return None
    root_id = _written_out(trace, root.id)
    uses = _uses(trace.nodes, root_id)
    terms: dict[int, _Term] = {}
    definitions = []
    letters = iter(_letters(names.values()))
    for id in range(root_id + 1):
        node = trace.nodes[id]
        if id in names:
            terms[id] = _Term(names[id], _ATOM)
        elif uses[id]:
            term = _term(node, [_operand(pair, terms) for pair in _pairs(node)])
            if uses[id] > 1 and len(term.text) > _LONG:
                letter = next(letters)
                definitions.append(f"{letter} = {term.within(_SUM)}")
                term = _Term(letter, _ATOM)
            terms[id] = term
    text = terms[root_id].text
    if definitions:
        text = f"{text}, where {', '.join(definitions)}"
    return text if len(text) <= _WIDTH else None


def _letters(taken: Any) -> list[str]:
    used = set(taken)
    return [letter for letter in "pqrsuvabcdefhijklmn" if letter not in used] + [
        f"p{k}" for k in range(MOST_OPERATIONS)
    ]


def _uses(nodes: list[Node], root: int) -> Counter[int]:
    """Count the uses of each node on the way to the root."""
    uses = Counter([root])
    for id in range(root, -1, -1):
        if uses[id]:
            uses.update(parent for parent in nodes[id].parents if parent is not None)
    return uses


def _pairs(node: Node) -> list[tuple[int | None, Any]]:
    return list(zip(node.parents, node.operands, strict=True))


def _operand(pair: tuple[int | None, Any], terms: Mapping[int, _Term]) -> _Term:
    parent, value = pair
    return _constant(value) if parent is None else terms[parent]


def _written_out(trace: Trace, root: int) -> int:
    """Expand operations that are elementwise arithmetic under one name, and return the id of the root.

    Such a fused kernel is lowered to its body, whatever the builder; other operations need the builder.
    """
    nodes = trace.nodes[: root + 1]
    if not any(_is_fused(node) for node in nodes):
        return root
    now: dict[int, Any] = {}
    for id, node in enumerate(nodes):
        op = node.op
        if op is None:
            now[id] = trace[id]
            continue
        operands = [value if parent is None else now[parent] for parent, value in _pairs(node)]
        now[id] = op.lower(None, *operands) if _is_fused(node) else op(*operands, **node.attrs)  # type: ignore[misc]
    return now[root].id


def _is_fused(node: Node) -> bool:
    op = node.op
    return op is not None and op.name.endswith("_partial") and op.lower is not None


def _constant(value: Any) -> _Term:
    array = np.asarray(plain(value))
    if array.ndim == 0:
        text = value_text(array, _DIGITS).replace("-", "−")
        return _Term(text, _SIGN if text.startswith("−") else _ATOM)
    if array.size and array.dtype.kind in "biufc" and (array == array.flat[0]).all():
        return _constant(array.flat[0])
    return _Term(f"‹{errors.describe(array)}›", _ATOM)


def _term(node: Node, operands: list[_Term]) -> _Term:
    assert node.op is not None
    name = node.op.name
    if name in _INFIX and len(operands) == 2:
        return _infix(node, name, *operands)
    if name in _SILENT:
        return operands[0]
    write = _SPECIAL.get(name)
    term = write(node, operands) if write is not None else None
    return term or _call(name, node, operands)


def _infix(node: Node, name: str, left: _Term, right: _Term) -> _Term:
    sign, binding, left_binding, right_binding = _INFIX[name]
    first, second = node.parents
    if name == "multiply" and first is not None and first == second:
        return _Term(f"{left.within(_ATOM)}²", _POWER)
    if name == "multiply" and right.binding == _ATOM and left.text.endswith(f" · {right.text}"):
        return _Term(f"{left.text}²", _PRODUCT)
    if right.text.startswith("−"):
        right_binding = _ATOM
    return _Term(f"{left.within(left_binding)} {sign} {right.within(right_binding)}", binding)


def _call(name: str, node: Node, operands: list[_Term]) -> _Term:
    # Which shape is clear from what it is for, and would drown the rest.
    attrs = [
        attr.removeprefix("index=")
        for attr in call_text(node, _DIGITS).attrs
        if not attr.startswith("shape=")
    ]
    return _Term(f"{name}({', '.join([*(term.text for term in operands), *attrs])})", _ATOM)


def _negative(node: Node, operands: list[_Term]) -> _Term:
    return _Term(f"−{operands[0].within(_PRODUCT)}", _SIGN)


def _power(node: Node, operands: list[_Term]) -> _Term:
    base, exponent = operands
    digits = exponent.text.replace("−", "-")
    if digits.lstrip("-").isdecimal():
        return _Term(f"{base.within(_ATOM)}{digits.translate(_SUPERSCRIPTS)}", _POWER)
    return _Term(f"{base.within(_ATOM)}^{exponent.within(_ATOM)}", _POWER)


def _root(node: Node, operands: list[_Term]) -> _Term:
    text = operands[0].text
    is_word = all(sign.isalpha() or sign.isdecimal() for sign in text)  # which y² is not
    return _Term(f"√{text}" if is_word else f"√({text})", _POWER)


def _transpose(node: Node, operands: list[_Term]) -> _Term | None:
    order = tuple(range(np.ndim(plain(node.operands[0]))))
    swapped = (*order[:-2], *reversed(order[-2:]))
    axes = node.attrs.get("axes")
    given = tuple(reversed(order)) if axes is None else tuple(int(axis) % max(len(order), 1) for axis in axes)
    return _Term(f"{operands[0].within(_ATOM)}ᵀ", _POWER) if given == swapped and len(order) > 1 else None


def _swapaxes(node: Node, operands: list[_Term]) -> _Term | None:
    dimensions = np.ndim(plain(node.operands[0]))
    axes = {axis % dimensions for axis in node.attrs.values() if isinstance(axis, int)}
    last_two = {dimensions - 2, dimensions - 1}
    return _Term(f"{operands[0].within(_ATOM)}ᵀ", _POWER) if axes == last_two else None


def _getitem(node: Node, operands: list[_Term]) -> _Term | None:
    if len(operands) != 1 or "index" not in node.attrs:
        return None
    (index,) = [attr.removeprefix("index=") for attr in call_text(node).attrs if attr.startswith("index=")]
    return _Term(f"{operands[0].within(_ATOM)}{index}", _ATOM)


def _reciprocal(node: Node, operands: list[_Term]) -> _Term:
    return _Term(f"1 / {operands[0].within(_POWER)}", _PRODUCT)


_SPECIAL: dict[str, Callable[[Node, list[_Term]], _Term | None]] = {
    "negative": _negative,
    "power": _power,
    "pow": _power,
    "square": lambda node, operands: _Term(f"{operands[0].within(_ATOM)}²", _POWER),
    "sqrt": _root,
    "absolute": lambda node, operands: _Term(f"|{operands[0].text}|", _ATOM),
    "reciprocal": _reciprocal,
    "getitem": _getitem,
    "transpose": _transpose,
    "swapaxes": _swapaxes,
}
