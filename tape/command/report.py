"""The report of `tape grad`, as text for people and as JSON for programs."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import numpy as np

from tape.command.derivatives import Derivatives
from tape.core.node import Node, plain
from tape.inspect.nonfinite import find_nonfinite

_MOST_SHOWN = 100


def as_text(found: Derivatives) -> str:
    """Format the value, the derivatives and the tape.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.command.derivatives import differentiate
    >>> from tape.command.report import as_text
    >>> from tape.expressions import expression
    >>> print(as_text(differentiate(expression("a * a"), {"a": np.float64(3)}, ["a"])))
    f = a * a
    <BLANKLINE>
    value  9.0
    df/da  6.0
    <BLANKLINE>
    <Trace f: 2 nodes, 1 param>
    ...
    """
    return "\n\n".join([facts(found), *([str(found.trace)] if found.trace.nodes else [])])


def facts(found: Derivatives) -> str:
    """Format the value and the derivatives, without the tape.

    Numbers are written so that reading them back gives the same number.
    """
    rows = [("value", _shown(found.value))]
    differential = "df"
    if np.shape(found.value) and found.partials:
        differential = "d(sum f)"
        rows.append(("sum f", f"{_shown(np.sum(found.value))}  ({found.differentiated})"))
    rows += [(f"{differential}/d{name}", _shown(x)) for name, x in found.partials.items()]
    rows += [(name, _shown(x)) for name, x in found.higher.items()]
    if found.tangents:
        direction = ", ".join(f"{name} by {_shown(x)}" for name, x in found.tangents.items())
        rows.append(("jvp", f"{_shown(found.tangent)}  (as {direction} moves)"))
    parts = [_headed("f = ", found.f.text), "\n".join(_aligned(rows))]
    broken = _not_finite(found)
    if broken:
        parts.append(broken)
    return "\n\n".join(parts)


def _headed(head: str, text: str) -> str:
    return head + text.replace("\n", "\n" + " " * len(head))


def _aligned(rows: list[tuple[str, str]]) -> list[str]:
    width = max(len(label) for label, _ in rows) + 2
    return [_headed(f"{label:<{width}}", text) for label, text in rows]


def _shown(value: Any) -> str:
    """Format a number by ``repr``, an array with as many digits as it takes to read it back."""
    array = np.asarray(value)
    if array.ndim == 0:
        return repr(array.item())
    return np.array2string(
        array,
        separator=", ",
        floatmode="unique",
        threshold=_MOST_SHOWN,
        max_line_width=64,
    )


def _not_finite(found: Derivatives) -> str:
    """Say where NaN or infinity came from and how to avoid it; empty if all results are finite."""
    results = [found.value, *found.partials.values(), *found.higher.values()]
    if all(np.all(np.isfinite(result)) for result in results):
        return ""
    given = [name for name, x in found.values.items() if not np.all(np.isfinite(x))]
    if given:
        return f"not finite: {', '.join(given)}, to begin with"
    origin = find_nonfinite(found.f, *found.values.values()).origin
    if origin is None:
        return "not finite: derivatives of higher order alone"
    excerpt = [] if origin.site is None else [f"    {line}" for line in origin.site.excerpt]
    details = [*origin.circumstances, origin.cure]
    filled = [fill(line, 78, initial_indent="  ", subsequent_indent="  ") for line in details]
    return "\n".join([f"not finite: {origin.headline}", *excerpt, *filled])


# ---- JSON ------------------------------------------------------------------------------------


def as_json(found: Derivatives) -> dict[str, Any]:
    """Convert everything that was computed to what JSON can hold.

    Returns
    -------
    dict
        ``expression``, ``variables``, ``value``, ``differentiated`` (``"value"``, or in words what sum it
        is), ``partials``, ``higher`` (by name: ``"d2f/da2"``), ``direction`` and ``jvp`` (null where not
        asked for), ``root`` (an id, or null) and ``nodes``: of each ``id``, ``kind`` (``param``, ``input``,
        ``op``), ``op``, ``name``, ``parents``, ``dtype``, ``shape``, ``value``, ``adjoint``. Arrays are
        nested lists; NaN and infinities the strings ``"NaN"``, ``"Infinity"``, ``"-Infinity"``; complex
        numbers ``{"re": ..., "im": ...}``.
    """
    adjoints = found.trace.adjoints or [None] * len(found.trace.nodes)
    return {
        "expression": found.f.text,
        "variables": {name: _plain_json(x) for name, x in found.values.items()},
        "value": _plain_json(found.value),
        "differentiated": found.differentiated,
        "partials": {name: _plain_json(x) for name, x in found.partials.items()},
        "higher": {name: _plain_json(x) for name, x in found.higher.items()},
        "direction": {name: _plain_json(x) for name, x in found.tangents.items()} or None,
        "jvp": None if found.tangent is None else _plain_json(found.tangent),
        "root": None if found.root is None else found.root.id,
        "nodes": [
            _node_json(i, node, adjoint)
            for i, (node, adjoint) in enumerate(zip(found.trace.nodes, adjoints, strict=True))
        ],
    }


def _node_json(i: int, node: Node, adjoint: Any) -> dict[str, Any]:
    array = np.asarray(plain(node.value))
    leaf = "param" if node.is_param else "input"
    return {
        "id": i,
        "kind": leaf if node.op is None else "op",
        "op": None if node.op is None else node.op.name,
        "name": node.name,
        "parents": list(node.parents),
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        "value": _plain_json(array),
        "adjoint": None if adjoint is None else _plain_json(adjoint),
    }


def _plain_json(value: Any) -> Any:
    return _each(np.asarray(plain(value)).tolist())


def _each(value: Any) -> Any:
    if isinstance(value, list):
        return [_each(element) for element in value]
    if isinstance(value, complex):
        return {"re": _each(value.real), "im": _each(value.imag)}
    if isinstance(value, float) and value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return value
