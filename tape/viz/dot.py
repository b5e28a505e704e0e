"""The graph of a tape as DOT text, which Graphviz lays out (`tape.viz.graph`).

Relies on `tape.viz.view` for the nodes and texts to draw. All names chosen by users are escaped here.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from tape import errors
from tape.inspect.words import one_line
from tape.viz.options import check_choice
from tape.viz.style import LIGHT, SANS
from tape.viz.view import View, look, node_id

if TYPE_CHECKING:
    from tape.core.trace import Trace
    from tape.core.var import Var

_MIDDLE = LIGHT.inactive_line  # neither light nor dark: to be seen on any ground
_GRAPH = f'bgcolor=transparent fontname="{SANS}" fontsize=11 fontcolor="{_MIDDLE}" nodesep=0.3 ranksep=0.4'
_NODE = (
    f'shape=box style="rounded,filled" fontname="{SANS}" fontsize=12 fontcolor="{LIGHT.ink}" '
    'margin="0.12,0.06" height=0.3'
)
_EDGE = f'color="{_MIDDLE}" arrowsize=0.7'
_SHAPES = {
    "param": 'shape=box style="filled" penwidth=1.75',
    "input": 'shape=note style="filled"',
    "op": "",
}


class DotOptions(TypedDict, total=False):
    """The options of `dot` other than the root."""

    direction: Literal["TB", "LR"]
    values: bool
    adjoints: bool
    precision: int
    highlight: Var | int | Iterable[Var | int]
    clusters: bool
    edges: Iterable[tuple[Var | int, Var | int]]
    ids: range | None
    limit: int


def dot(
    trace: Trace,
    root: Var | None = None,
    *,
    direction: Literal["TB", "LR"] = "TB",
    values: bool = True,
    adjoints: bool = True,
    precision: int = 4,
    highlight: Var | int | Iterable[Var | int] = (),
    clusters: bool = True,
    edges: Iterable[tuple[Var | int, Var | int]] = (),
    ids: range | None = None,
    limit: int = 500,
) -> str:
    """Return the graph of a trace in Graphviz's language DOT.

    Params are boxes, inputs notes, operations rounded boxes; the root has a thick outline. Green: evaluated.
    Yellow: has an adjoint. Red: highlighted. Grey: depends on no param. Constants are shown in the call that
    uses them.

    Parameters
    ----------
    trace : Trace
        The trace; it is not changed.
    root : Var, optional
        Draw only what this depends on, with the adjoints of a sweep from here (if it is a real float).
        By default the whole tape, with the adjoints of the trace's last `backward`, if there was one.
    direction : {"TB", "LR"}
        Data flows from top to bottom, or from left to right.
    values, adjoints : bool
        Whether to show these; large arrays by the least and the greatest element.
    precision : int
        Significant digits, 1 to 17.
    highlight : Var, int, or iterable of these
        Nodes to draw in red, as Vars or ids.
    clusters : bool
        Whether nodes of one name scope are drawn in a box together.
    edges : iterable of pairs
        Extra dashed edges from one node to another, as Vars or ids.
    ids : range, optional
        Draw only these nodes, as in ``ids=range(100, 200)``; parents outside are shown by their id.
    limit : int
        The most nodes that are drawn: layouts of large graphs take long, and nobody can read them.

    Returns
    -------
    str

    Raises
    ------
    OptionError
        If an option is not among the choices, there are more nodes than ``limit``, or an extra edge or
        highlight is not in the picture.
    TraceMismatchError
        If a Var is not on this trace.
    OutOfBoundsError
        If an id is not on the tape.

    Examples
    --------
    >>> import tape
    >>> from tape.viz.dot import dot
    >>> tr = tape.Trace(name="product")
    >>> y = tr.param(3.0, name="a") * 2.0
    >>> print(dot(tr, y))
    digraph "product" {
    ...
      n0 [label=<<B>a</B><BR/><FONT ...>%0 · param</FONT><BR/>3<BR/><FONT ...>∂ 2</FONT>> ...]
      n1 [label=<<B>multiply</B>(%0, 2)<BR/><FONT ...>%1</FONT><BR/>6<BR/><FONT ...>∂ 1</FONT>> ...]
      n0 -> n1
    }
    """
    check_choice("direction", direction, ("TB", "LR"))
    view = look(
        trace,
        root,
        adjoints=adjoints,
        highlight=highlight,
        ids=ids,
        precision=precision,
        limit=limit,
        otherwise="tape.viz.arc draws long tapes",
    )
    statements = {i: _node(view, i, values) for i in view.ids}
    lines = [f"graph [rankdir={direction} {_GRAPH}]", f"node [{_NODE}]", f"edge [{_EDGE}]"]
    lines += _clustered(view, statements) if clusters else statements.values()
    lines += _parent_edges(view)
    for ends in _pairs(edges):
        a, b = (node_id(trace, end, view.drawn) for end in ends)
        lines.append(f'n{a} -> n{b} [style=dashed color="{LIGHT.highlight_line}"]')
    body = "\n".join(f"  {line}" for line in lines)
    return f"digraph {_quoted([one_line(trace.name or 'tape', 80)])} {{\n{body}\n}}"


def _node(view: View, i: int, values: bool) -> str:
    """Return the statement that declares a node: its label and its style."""
    kind, state = view.kind(i), view.state(i)
    title = _bold(view.name(i) or view.op_name(i))
    if kind == "op":
        title += _escaped(view.arguments(i))
    small = " · ".join(part for part in (f"%{i}", kind if kind != "op" else "", view.type(i)) if part)
    rows = [title, _coloured(small, LIGHT.muted, 10)]
    if values:
        rows.append(_escaped(view.value(i)))
    if view.has_adjoint(i):
        rows.append(_coloured(f"∂ {view.adjoint(i)}", LIGHT.adjoint_ink))
    attributes = [
        f"label=<{'<BR/>'.join(rows)}>",
        f'fillcolor="{getattr(LIGHT, state)}" color="{getattr(LIGHT, f"{state}_line")}"',
        f"tooltip={_quoted(view.tooltip(i))}",
        _SHAPES[kind],
    ]
    if i == view.root:
        attributes.append("penwidth=2.5")
    return f"n{i} [{' '.join(part for part in attributes if part)}]"


def _parent_edges(view: View) -> Iterator[str]:
    """Yield an edge for every operand that is a node; parents that are not drawn are shown by their id."""
    named: set[int] = set()
    for i in view.ids:
        for parent in view.nodes[i].parents:
            if parent is None:
                continue
            if parent not in view.drawn and parent not in named:
                named.add(parent)
                plain = f'shape=plain style="" fontcolor="{_MIDDLE}" tooltip={_quoted(view.tooltip(parent))}'
                yield f'n{parent} [label="%{parent}" {plain}]'
            style = "" if view.nodes[parent].is_active else " [style=dotted]"
            yield f"n{parent} -> n{i}{style}"


def _clustered(view: View, statements: dict[int, str]) -> Iterator[str]:
    """Yield the statements, those of each name scope in a subgraph, nested as the scopes are."""
    inside: dict[tuple[str, ...], list[int]] = {}
    scopes: dict[tuple[str, ...], dict[tuple[str, ...], None]] = {(): {}}  # the scopes in each, in order
    for i in statements:
        scope = view.scope(i)
        inside.setdefault(scope, []).append(i)
        while scope and scope not in scopes:
            scopes[scope] = {}
            scope = scope[:-1]
    for scope in scopes:
        if scope:
            scopes[scope[:-1]][scope] = None
    # A stack of our own: how deep scopes are nested is up to the user.
    count = 0
    todo: list[tuple[str, ...] | str] = [()]
    while todo:
        scope_or_end = todo.pop()
        if isinstance(scope_or_end, str):
            yield scope_or_end
            continue
        scope, indent = scope_or_end, "  " * len(scope_or_end)
        if scope:
            yield (
                f"{indent[2:]}subgraph cluster_{count} {{ label={_quoted([one_line(scope[-1], 40)])} "
                f'labeljust=l style="rounded,filled" fillcolor="{_MIDDLE}18" color="{_MIDDLE}60"'
            )
            count += 1
            todo.append(f"{indent[2:]}}}")
        yield from (f"{indent}{statements[i]}" for i in inside.get(scope, ()))
        todo.extend(reversed(scopes[scope]))


def _pairs(edges: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    for edge in edges if isinstance(edges, Iterable) else [edges]:
        if not isinstance(edge, tuple | list) or len(edge) != 2:
            raise errors.OptionError(
                f"edges must be pairs of Vars or ids, as in [(x, y)], not {errors.describe(edge)}"
            )
        yield edge[0], edge[1]


def _quoted(lines: Sequence[str]) -> str:
    """Return a quoted string of DOT, where backslashes are escapes and & starts an entity."""
    text = "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for line in lines)
    return f'"{text}"'


def _escaped(text: str) -> str:
    """Return text for a label like HTML. Graphviz also stumbles over one that is all square brackets."""
    return html.escape(text).replace("]", "&#93;")


def _bold(text: str) -> str:
    return f"<B>{_escaped(text)}</B>" if text else ""


def _coloured(text: str, colour: str, size: int = 12) -> str:
    return f'<FONT COLOR="{colour}" POINT-SIZE="{size}">{_escaped(text)}</FONT>'
