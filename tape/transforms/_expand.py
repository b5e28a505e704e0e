"""Power series through a tape, node by node, for `tape.taylor` and for segments that run again.

For an operation without a recurrence the series follows from its forward rule. With a(t) for the operands and
c(t) for the result, that rule says ``c' = jvp(a', c, a)`` at every t. Recorded with leaves for c, a and a',
it is a tape like any other: its series, to one order less, is that of c'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tape.core.node import Handle, Node
from tape.core.results import Results, pack, unpack
from tape.core.rules import fit_tangent
from tape.core.series import Series, scaled
from tape.core.trace import Trace


def push_series(
    nodes: Sequence[Node], seeds: Mapping[int, Series], order: int, count: int, *, where: object
) -> list[Series | None]:
    """Return the power series of the first ``count`` nodes along a curve.

    Parameters
    ----------
    nodes : sequence of Node
        A tape.
    seeds : mapping of int to list
        The series of leaves that move, by node id: ``order + 1`` coefficients, None for zeros.
    order : int
        The highest power.
    count : int
        The number of nodes.
    where : object
        The place of a node, for messages.

    Returns
    -------
    list
        By node id; None where the series is constant.
    """
    found: list[Series | None] = [None] * count
    for i, seed in seeds.items():
        if i < count:
            found[i] = seed
    _expand(nodes, found, order, range(min(seeds, default=count) + 1, count), where=where)
    return found


_Known = dict[Any, tuple[Any, Series]]
"""Series integrated so far; each with the objects whose ids are in its key, which must stay alive."""


def _expand(
    nodes: Sequence[Node],
    found: list[Series | None],
    order: int,
    ids: Iterable[int],
    *,
    where: object,
    known: _Known | None = None,
) -> None:
    """Compute the series of some nodes, from those of their parents."""
    if not order:
        return  # values are known
    rest = [None] * order
    for i in ids:
        node = nodes[i]
        incoming = [None if parent is None else found[parent] for parent in node.parents]
        if not any(incoming):
            continue
        op = node.call.op
        assert op is not None  # a leaf has no parents
        operands = [
            [operand, *rest] if series is None else series
            for operand, series in zip(node.operands, incoming, strict=True)
        ]
        try:
            if op.taylor is not None:
                result = op.taylor(op, node.value, operands, node.call.attrs)
            else:
                result = _integrated_once(
                    op, node.value, operands, node.call.attrs, {} if known is None else known
                )
        except Exception as error:
            error.add_note(f"in the series of {op!r}, node %{i} of {where!r}")
            raise
        if any(part is not None for part in result[1:]):
            found[i] = [node.value, *(fit_tangent(_plain(part), node.value) for part in result[1:])]


def _plain(part: Any) -> Any:
    """Return a coefficient as a number of NumPy's: a complex number of Python's times one is Python's."""
    return np.complex128(part) if type(part) is complex else part


def _integrated_once(
    op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any], known: _Known
) -> Series:
    """Integrate each series once: rules that lead to two functions each, as Bessel's do, share many."""
    settings = tuple((name, type(value), value) for name, value in attrs.items())
    key = op, settings, tuple(tuple(map(id, a)) for a in series)
    try:
        hash(key)
    except TypeError:
        return _integrated(op, out, series, attrs, known)
    if key not in known:
        known[key] = series, _integrated(op, out, series, attrs, known)
    return known[key][1]


def _integrated(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any], known: _Known) -> Series:
    """Integrate the forward rule: coefficient k of c is coefficient k - 1 of c', divided by k."""
    order = len(series[0]) - 1
    if order == 1:
        return [out, op.tangent(out, [a[0] for a in series], [a[1] for a in series], attrs)]
    is_moving = [any(part is not None for part in a[1:]) for a in series]
    seeds: dict[int, Series] = {}
    operands: list[Any] = []
    tangents: list[Any] = []
    with Trace(op.name, strict=True) as trace:
        results = [trace.param(part) if part.dtype.kind in "fc" else part for part in unpack(out)]
        for a, moves in zip(series, is_moving, strict=True):
            if not moves:
                operands.append(a[0])
                tangents.append(None)
                continue
            first, *others = [scaled(k, part) for k, part in enumerate(a)][1:]
            velocity = np.zeros(a[0].shape, a[0].dtype)[()] if first is None else first
            operands.append(trace.param(a[0]))
            tangents.append(trace.param(velocity))
            seeds[operands[-1].id] = a[:-1]
            seeds[tangents[-1].id] = [velocity, *others]
        slope = fit_tangent(op.tangent(pack(results, out), operands, tangents, attrs), out)
    slopes = slope if type(slope) is Results else [slope]
    rest = [None] * (order - 1)
    roots = [_on(trace, each) for each in slopes]
    if not any(root is not None for root in roots):
        return [out, slope, *rest]
    leaves = [_on(trace, result) for result in results]
    nodes, count = trace.nodes, max(root.id for root in roots if root is not None) + 1
    needs_result = _depends_on(nodes, [leaf.id for leaf in leaves if leaf is not None], count)
    found: list[Series | None] = [seeds.get(i) for i in range(count)]
    _expand(
        nodes, found, order - 1, [i for i in range(count) if not needs_result[i]], where=trace, known=known
    )
    parts = [
        [part, each if root is None else root.node.value]
        for part, each, root in zip(unpack(out), slopes, roots, strict=True)
    ]
    # Nodes that depend on the result itself are known one order at a time only.
    later = [i for i in range(count) if needs_result[i] and nodes[i].parents]
    for k in range(1, order):
        upto = found
        if later:
            upto = [None if a is None else a[: k + 1] for a in found]
            for leaf, c in zip(leaves, parts, strict=True):
                if leaf is not None and leaf.id < count:
                    upto[leaf.id] = c
            _expand(nodes, upto, k, later, where=trace, known=known)
        for root, c in zip(roots, parts, strict=True):
            if root is None:
                c.append(None)
                continue
            derivative = upto[root.id] or [root.node.value, *rest]
            c.append(scaled(1 / (k + 1), derivative[k]))
    if type(slope) is not Results:
        return parts[0]
    columns = zip(*[c[1:] for c in parts], strict=True)
    return [out, *[Results(column) if any(x is not None for x in column) else None for column in columns]]


def _on(trace: Trace, value: Any) -> Any | None:
    """Return a value if it is a Var of a trace, else None."""
    return value if isinstance(value, Handle) and value.trace_ref is trace.ref else None


def _depends_on(nodes: Sequence[Node], leaves: Sequence[int], count: int) -> bytearray:
    """Return which of the first nodes depend on some leaves."""
    depends = bytearray(count)
    for leaf in leaves:
        if leaf < count:
            depends[leaf] = 1
    for i in range(count):
        depends[i] = depends[i] or any(parent is not None and depends[parent] for parent in nodes[i].parents)
    return depends
