"""The data of the stepper's page, as plain lists and dicts ready for JSON.

Columns instead of records, and texts that repeat (operations, dtypes, rules) once each: 10**4 nodes take a
few megabytes. The scripts of the page read it in stepper/model.js, where each field is listed again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from tape import errors
from tape.core.node import Node, plain
from tape.inspect.listing import call_text
from tape.inspect.words import one_line
from tape.viz.passes import Step, backward_steps, root_of, tangent_steps
from tape.viz.stepper.digest import Detail, detail_for, digest, shown
from tape.viz.stepper.rules import Rules, rule_formulas, rule_key
from tape.viz.stepper.sources import sources

if TYPE_CHECKING:
    from tape.core.trace import Trace
    from tape.core.var import Var

_PARAM, _ACTIVE, _NONFINITE = 1, 2, 4
_DIGITS = 6  # of constants
_MOST_RULES = 1000  # different ones: to run each takes half a millisecond


class _Table:
    """A table of texts, each stored once."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.index.setdefault(text, len(self.index))


def page_data(
    trace: Trace,
    root: Var | None,
    tangents: Mapping[Var, Any] | None,
    adjoints: bool,
    title: str,
    bar: Any,
) -> dict[str, Any]:
    """Return the data of the page.

    Parameters
    ----------
    trace, root, tangents, adjoints, title
        As for `tape.viz.html`.
    bar : progress bar
        Updated at every node of every pass.

    Returns
    -------
    dict
        Of numbers, texts, lists and dicts; nothing in it is NaN or infinite.

    Raises
    ------
    TapeError
        If a pass requested by ``root`` or ``tangents`` cannot run. Other passes that cannot run are left out,
        with the reason in ``notes``.

    Examples
    --------
    >>> import tape
    >>> from tape.system.progress import progress_bar
    >>> from tape.viz.stepper.data import page_data
    >>> tr = tape.Trace()
    >>> x = tr.param(3.0)
    >>> y = x * x
    >>> with progress_bar(False, "") as bar:
    ...     data = page_data(tr, y, None, True, "square", bar)
    >>> data["nodes"]["value"], data["backward"]["to"], data["backward"]["added"]
    ([3.0, 9.0], [1, 0, 0], [1.0, 3.0, 3.0])
    """
    values = {i: plain(node.value) for i, node in enumerate(trace.nodes)}
    notes: list[str] = []
    start = root_of(trace, root) if adjoints else None
    with np.errstate(all="ignore"):
        backward, adjoint_of = _backward(trace, start, root is not None, bar, notes)
        tangent, tangent_of = _tangent(trace, tangents, bar, notes)
        arrays = {"value": values, "adjoint": adjoint_of, "tangent": tangent_of}
        detail = detail_for(sum(value.size != 1 for value in values.values()))
        digests = {
            kind: {i: digest(value, detail) for i, value in held.items() if value.size != 1}
            for kind, held in arrays.items()
        }
        constants = _constants(trace, detail)
        nodes = _nodes(trace, values, bar)
    for i in {i for held in (adjoint_of, tangent_of) for i, value in held.items() if not _is_finite(value)}:
        nodes["flags"][i] |= _NONFINITE
    return {
        "title": title,
        "root": -1 if start is None else start.id,
        "notes": notes,
        "nodes": nodes,
        "backward": backward,
        "tangent": tangent,
        "digests": digests,
        "constants": constants,
        "sources": sources(node.site for node in trace.nodes),
    }


# ---- nodes -----------------------------------------------------------------------------------------


def _nodes(trace: Trace, values: Mapping[int, Any], bar: Any) -> dict[str, Any]:
    texts = _Table()
    rules: dict[Rules, int] = {}
    known: dict[Hashable, int] = {}
    columns: dict[str, list[Any]] = {
        name: [] for name in ("op", "type", "scope", "attrs", "rule", "flags", "operands", "value")
    }
    names = {}
    for i, node in enumerate(trace.nodes):
        bar.update()
        if node.name:
            names[i] = one_line(node.name, 80)
        flags = (_PARAM if node.is_param else 0) | (_ACTIVE if node.is_active else 0)
        call = call_text(node, _DIGITS)
        row = {
            "op": texts(one_line(call.op, 60)),
            "type": texts(errors.describe(values[i])),
            "scope": texts(" / ".join(one_line(name, 60) for name in node.site.scope) if node.site else ""),
            "attrs": texts(", ".join(one_line(attr, 100) for attr in call.attrs)),
            "rule": _rule(trace, node, rules, known),
            "flags": flags | (0 if _is_finite(values[i]) else _NONFINITE),
            "operands": [
                one_line(operand, 100) if parent is None else parent
                for parent, operand in zip(node.parents, call.operands, strict=True)
            ],
            "value": shown(values[i]),
        }
        for name, entry in row.items():
            columns[name].append(entry)
    return {
        **columns,
        "names": names,
        "texts": list(texts.index),
        "rules": [asdict(one) for one in rules],
    }


def _rule(trace: Trace, node: Node, rules: dict[Rules, int], known: dict[Hashable, int]) -> int:
    """Return the index of the rules of a node; -1 where there are too many different ones."""
    wants = [parent is not None and trace.nodes[parent].is_active for parent in node.parents]
    key = rule_key(node, wants)
    if key not in known:
        if len(known) >= _MOST_RULES:
            return -1
        known[key] = rules.setdefault(rule_formulas(node, wants), len(rules))
    return known[key]


def _constants(trace: Trace, detail: Detail) -> dict[int, dict[int, Any]]:
    """Return the operands that are arrays and on no tape, by node and position of the operand."""
    found: dict[int, dict[int, Any]] = {}
    digests: dict[int, dict[str, Any]] = {}  # by identity: a loop uses the same one again and again
    for i, node in enumerate(trace.nodes):
        for k, (parent, operand) in enumerate(zip(node.parents, node.operands, strict=True)):
            value = plain(operand)
            if parent is None and np.size(value) != 1 and detail.numbers:
                if id(value) not in digests:
                    digests[id(value)] = digest(value, detail)
                found.setdefault(i, {})[k] = digests[id(value)]
    return found


def _is_finite(value: Any) -> bool:
    return value.dtype.kind not in "fc" or bool(np.isfinite(value).all())


# ---- passes ----------------------------------------------------------------------------------------


def _backward(
    trace: Trace, root: Var | None, was_asked_for: bool, bar: Any, notes: list[str]
) -> tuple[dict[str, Any] | None, dict[int, Any]]:
    """Return the steps of the reverse sweep, flat, and the final adjoint of each node."""
    if root is None:
        return None, {}
    nodes, offsets, to, added, total = [], [0], [], [], []
    last: dict[int, Any] = {}
    try:
        for step in _counted(backward_steps(trace, root, _seed(trace, root)), bar):
            nodes.append(step.node)
            for write in step.writes:
                is_first = write.id not in last
                last[write.id] = write.total
                to.append(write.id)
                added.append(shown(write.added))
                total.append(None if is_first else shown(write.total))
            offsets.append(len(to))
    except errors.TapeError as error:
        if was_asked_for:
            raise
        notes.append(f"There is no backward pass: {_reason(error)}")
        return None, {}
    return {"node": nodes, "offset": offsets, "to": to, "added": added, "total": total}, last


def _seed(trace: Trace, root: Var) -> Any:
    """Return the seed of the trace's last sweep, if it was from this root."""
    if trace.adjoints is None or trace.root is None or trace.root.id != root.id:
        return None
    return plain(trace.adjoints[root.id])


def _tangent(
    trace: Trace, tangents: Mapping[Var, Any] | None, bar: Any, notes: list[str]
) -> tuple[dict[str, Any] | None, dict[int, Any]]:
    """Return the steps of the forward-mode sweep, flat, and the tangent of each node."""
    last: dict[int, Any] = {}
    try:
        for step in _counted(tangent_steps(trace, tangents), bar):
            last[step.node] = step.writes[0].total
    except errors.TapeError as error:
        if tangents is not None:
            raise
        notes.append(f"There is no forward-mode pass: {_reason(error)}")
        return None, {}
    return ({"node": list(last), "total": [shown(value) for value in last.values()]} if last else None), last


def _reason(error: errors.TapeError) -> str:
    """Return the message of an error, without the place in the code."""
    return one_line(str(error).partition(" [at ")[0], 300)


def _counted(steps: Iterable[Step], bar: Any) -> Iterable[Step]:
    for step in steps:
        bar.update()
        yield step
