"""The arc diagram: the tape as a column of nodes in order of execution, with arcs to their parents, as SVG.

The SVG is written here, without another program. Relies on `tape.viz.view` for the nodes and texts to draw.
`arcs` is the geometry alone, for other pictures of the same kind.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from html import escape
from math import log1p
from typing import TYPE_CHECKING, NamedTuple

from tape.inspect.words import columns_of, one_line
from tape.viz.drawing import Drawing, checked_path, px, saved
from tape.viz.options import check_number
from tape.viz.style import MONOSPACE, STATES, css, paint
from tape.viz.view import View, look

if TYPE_CHECKING:
    from tape.core.trace import Trace
    from tape.core.var import Var

_STEP = 22.0  # pixels from one row to the next, when there is text in them
_TEXT = 14.0  # below this there is no room for text
_LISTED = 300  # longer tapes are drawn small
_TALL = 6000.0  # pixels: what tapes that are drawn small shrink to, as far as their dots stay dots
_CHARACTER = 8.1  # the widest that fonts of 13 pixels have, see MONOSPACE
_BASELINE = 4.5  # from the middle of a line of text down to its baseline, which all programs place alike
_GAP = 20.0
_MARGIN = 16.0
_REACH = 220.0  # how far the longest arc may go
_EARLIER = -1  # stands for all parents that are not drawn


class Arc(NamedTuple):
    """One arc, from a node to one that uses it.

    Attributes
    ----------
    parent, child : int
        Their places in the line: 0, 1, 2, ...
    top, bottom : float
        How far down the line the parent and the child are.
    reach : float
        How far from the line it goes, halfway between.
    """

    parent: int
    child: int
    top: float
    bottom: float
    reach: float

    def path(self, x: float = 0.0, y: float = 0.0) -> str:
        """Return the arc as SVG path data, to the left of a line at ``x`` that starts at ``y``.

        Examples
        --------
        >>> from tape.viz.arc import arcs
        >>> arcs([[], [0]], step=20.0)[0].path(x=50.0)
        'M50 0C35.3 0 35.3 20 50 20'
        """
        far = x - self.reach * 4 / 3  # a Bezier curve goes three quarters of the way to its control points
        top, bottom = y + self.top, y + self.bottom
        return f"M{px(x)} {px(top)}C{px(far)} {px(top)} {px(far)} {px(bottom)} {px(x)} {px(bottom)}"


def arcs(parents: Sequence[Sequence[int]], *, step: float = _STEP, reach: float = _REACH) -> list[Arc]:
    """Compute the arcs of a column of nodes.

    An arc over more nodes reaches further, by the logarithm where a half circle would go too far: arcs over
    parts of what another one spans lie inside of that.

    Parameters
    ----------
    parents : sequence of sequences of int
        For each place in the line the places of its parents, all of them earlier.
    step : float
        The distance from one node to the next.
    reach : float
        How far an arc may go from the line.

    Returns
    -------
    list of Arc
        In the order of the children; one for each parent, however often it is used.

    Examples
    --------
    >>> from tape.viz.arc import arcs
    >>> [(arc.parent, arc.child, arc.top, arc.bottom) for arc in arcs([[], [], [0, 1]], step=10.0)]
    [(0, 2, 0.0, 20.0), (1, 2, 10.0, 20.0)]
    """
    longest = max((child - parent for child, found in enumerate(parents) for parent in found), default=1)
    unit = min(reach, 0.55 * step * longest) / log1p(longest)
    return [
        Arc(
            parent,
            child,
            parent * step,
            child * step,
            min(unit * log1p(child - parent), 0.6 * step * (child - parent)),
        )
        for child, found in enumerate(parents)
        for parent in dict.fromkeys(found)
    ]


def arc(
    trace: Trace,
    path: str | os.PathLike[str] | None = None,
    *,
    root: Var | None = None,
    values: bool = True,
    adjoints: bool = True,
    precision: int = 4,
    highlight: Var | int | Iterable[Var | int] = (),
    ids: range | None = None,
    step: float | None = None,
    limit: int = 20_000,
) -> Drawing:
    """Draw a trace as an arc diagram: nodes in order, one a row, with arcs to their parents on the left.

    Needs no other program. Params are squares, inputs diamonds, operations discs. Green: evaluated.
    Yellow: has an adjoint. Red: highlighted. Grey: depends on no param. Colours follow the reader's
    light or dark system; the tooltip of a node has all its details, and its arcs are highlighted with it.

    Parameters
    ----------
    trace : Trace
        The trace; it is not changed.
    path : path, optional
        The file to save it to, which ends in .svg.
    root : Var, optional
        Draw only what this depends on, with the adjoints of a sweep from here (if it is a real float).
        By default the whole tape, with the adjoints of the trace's last `backward`, if there was one.
    values, adjoints : bool
        Whether to show these; large arrays by the least and the greatest element.
    precision : int
        Significant digits, 1 to 17.
    highlight : Var, int, or iterable of these
        Nodes to draw in red, as Vars or ids.
    ids : range, optional
        Draw only these nodes, as in ``ids=range(100, 200)``; arcs from parents outside start at the top.
    step : float, optional
        Pixels from one node to the next, 0.5 to 1000. From 14 on every row has text, below that only named
        and highlighted nodes and the root, where there is room. By default 22; less for more than 300 nodes.
    limit : int
        The most nodes that are drawn.

    Returns
    -------
    Drawing
        Notebooks show it; ``str()`` of it is the SVG, ``.save(path)`` writes it.

    Raises
    ------
    OptionError
        If an option is out of range, the file cannot be written there, there are more nodes than
        ``limit``, or a highlight is not in the picture.
    TraceMismatchError
        If a Var is not on this trace.
    OutOfBoundsError
        If an id is not on the tape.

    Examples
    --------
    >>> import tape
    >>> from tape.viz.arc import arc
    >>> tr = tape.Trace()
    >>> y = tr.param(3.0, name="a") * 2.0
    >>> drawing = arc(tr, root=y)
    >>> str(drawing)[:4]
    '<svg'
    """
    checked = checked_path(path, ("svg",))
    if step is not None:
        check_number("step", step, "a number of pixels, from 0.5 to 1000", 0.5, 1000)
    view = look(
        trace,
        root,
        adjoints=adjoints,
        highlight=highlight,
        ids=ids,
        precision=precision,
        limit=limit,
        otherwise="tape.viz.html scrolls through tapes of any length",
    )
    return saved(Drawing(_svg(view, one_line(trace.name or "", 60), values, step).encode(), "svg"), checked)


# ---- the picture as a whole --------------------------------------------------------------------------


def _svg(view: View, name: str, values: bool, step: float | None) -> str:
    rows = _rows(view)
    if step is None:
        step = _STEP if len(rows) <= _LISTED else min(8.0, max(1.5, _TALL / len(rows)))
    place = {id: k for k, id in enumerate(rows)}
    parents = [_places(view, id, place) for id in rows]
    drawn = arcs(parents, step=step)
    x = _MARGIN + max((a.reach for a in drawn), default=0.0) + 8
    text = _listed if step >= _TEXT else _landmarks
    y = _MARGIN + (2 * _TEXT if text is _listed else 0.0) + step / 2
    labels, width = text(view, rows, values, step, x + 8 + _GAP / 2, y)
    by_child: list[list[Arc]] = [[] for _ in rows]
    for a in drawn:
        by_child[a.child].append(a)
    radius = max(0.8, min(5.0, 0.4 * step))
    body = [
        _group(view, rows, k, by_child[k], labels.get(k, ""), x, y + k * step, y, radius)
        for k in range(len(rows))
    ]
    height = y + max(len(rows) - 1, 0) * step + step / 2 + _MARGIN
    size = "" if text is _listed else " small"
    title = escape(f"Tape {name}: {len(view.ids)} nodes" if name else f"Tape of {len(view.ids)} nodes")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="tape-arc{size}" role="img" aria-label="{title}" '
            f'width="{px(width)}" height="{px(height)}" viewBox="0 0 {px(width)} {px(height)}">',
            f"<style>{_CSS}</style>",
            '<rect class="ground" width="100%" height="100%" rx="8"/>',
            labels.get(_HEADER, ""),
            *body,
            "</svg>\n",
        ]
    )


_HEADER = -1


def _dot_style(state: str) -> str:
    """Return the CSS of the dot of a node in this state."""
    return f".tape-arc .{state}>.dot{{{paint('fill', state)};{paint('stroke', f'{state}_line')}}}"


_RED = f"{paint('stroke', 'highlight_line')};stroke-width:2"
_CSS = (
    css(".tape-arc")
    + f".tape-arc{{max-width:100%;height:auto;font:13px {MONOSPACE}}}"
    + f".tape-arc .ground{{{paint('fill', 'ground')}}}"
    + f".tape-arc text{{{paint('fill', 'ink')}}}"
    + f".tape-arc .muted,.tape-arc .head{{{paint('fill', 'muted')}}}"
    + ".tape-arc .name{font-weight:bold}.tape-arc .head{font-size:11px}"
    + f".tape-arc .gradient{{{paint('fill', 'adjoint_ink')}}}"
    + f".tape-arc path{{fill:none;{paint('stroke', 'line')};stroke-width:1.25}}"
    + ".tape-arc .dot{stroke-width:1.5}.tape-arc .root .dot{stroke-width:3}"
    + f".tape-arc .row{{fill:transparent}}.tape-arc g:hover>.row{{{paint('fill', 'cluster')}}}"
    + ".tape-arc.small path,.tape-arc.small .dot{stroke-width:.75}"
    + "".join(_dot_style(state) for state in STATES)
    + f".tape-arc .active>path,.tape-arc .adjoint>path{{{paint('stroke', 'muted')}}}"
    + f".tape-arc .highlight>path,.tape-arc g:hover>path{{{_RED}}}"
)


def _rows(view: View) -> list[int]:
    """Return the ids of the rows: the nodes drawn, after one row for all parents that are not drawn."""
    is_cut = any(
        parent is not None and parent not in view.drawn for i in view.ids for parent in view.nodes[i].parents
    )
    return [*([_EARLIER] if is_cut else []), *view.ids]


def _places(view: View, id: int, place: dict[int, int]) -> list[int]:
    """Return the rows of a node's parents; those that are not drawn share the first row."""
    if id == _EARLIER:
        return []
    return [place.get(parent, 0) for parent in view.nodes[id].parents if parent is not None]


def _group(
    view: View,
    rows: Sequence[int],
    k: int,
    drawn: list[Arc],
    label: str,
    x: float,
    y: float,
    top: float,
    r: float,
) -> str:
    """Return the SVG group of a node: the arcs from its parents, its dot, its label and its tooltip."""
    id = rows[k]
    paths = "".join(f'<path d="{a.path(x - r - 1, top)}"/>' for a in drawn)
    if id == _EARLIER:
        return f'<g class="inactive"><title>nodes that are not drawn</title>{_dot("op", x, y, r)}{label}</g>'
    tooltip = escape("\n".join(view.tooltip(id)))
    is_root = " root" if id == view.root else ""
    return (
        f'<g class="{view.state(id)}{is_root}" data-id="{id}"><title>{tooltip}</title>{paths}'
        f"{_dot(view.kind(id), x, y, r)}{label}</g>"
    )


def _dot(kind: str, x: float, y: float, r: float) -> str:
    if kind == "op":
        return f'<circle class="dot" cx="{px(x)}" cy="{px(y)}" r="{px(r)}"/>'
    if kind == "param":
        side = px(2 * r)
        return f'<rect class="dot" x="{px(x - r)}" y="{px(y - r)}" width="{side}" height="{side}"/>'
    d = 1.2 * r
    corners = f"{px(x)},{px(y - d)} {px(x + d)},{px(y)} {px(x)},{px(y + d)} {px(x - d)},{px(y)}"
    return f'<polygon class="dot" points="{corners}"/>'


# ---- what is written beside the dots -----------------------------------------------------------------


def _listed(
    view: View, rows: Sequence[int], values: bool, step: float, x: float, y: float
) -> tuple[dict[int, str], float]:
    """Return the labels as an aligned table without empty columns, and its right edge."""
    table = [_cells(view, id, values) for id in rows]
    for above, below in zip(table[-2::-1], table[:0:-1], strict=True):
        if above[-1][1] == below[-1][1]:
            below[-1] = ("muted", "")  # the same scope as above
    heads = ("", "name", "operation", "type", "value", "adjoint", "scope")
    lefts, right = [], x
    for column, head in enumerate(heads):
        width = max((columns_of(row[column][1]) for row in table), default=0)
        lefts.append(right)
        if width:
            right += max(width, len(head)) * _CHARACTER + _GAP
    labels = {
        k: f'<rect class="row" x="{px(x - 6)}" y="{px(y + (k - 0.5) * step)}" width="{px(right - x)}" '
        f'height="{px(step)}" rx="4"/>'
        + _texts(((left, kind, text) for left, (kind, text) in zip(lefts, row, strict=True)), y + k * step)
        for k, row in enumerate(table)
    }
    used = [any(row[column][1] for row in table) for column in range(len(heads))]
    shown = ((left, "head", head) for left, head, is_used in zip(lefts, heads, used, strict=True) if is_used)
    labels[_HEADER] = _texts(shown, y - step / 2 - _TEXT)
    return labels, right - _GAP + _MARGIN


def _cells(view: View, id: int, values: bool) -> list[tuple[str, str]]:
    if id == _EARLIER:
        return [("muted", "..."), ("muted", ""), ("muted", "earlier nodes"), *[("muted", "")] * 4]
    kind = view.kind(id)
    return [
        ("muted", f"%{id}"),
        ("name", view.name(id)),
        ("muted" if kind != "op" else "call", view.op_name(id) + view.arguments(id)),
        ("muted", view.type(id)),
        ("value", view.value(id) if values else ""),
        ("gradient", view.adjoint(id)),
        ("muted", one_line("/".join(view.scope(id)), 40)),
    ]


def _landmarks(
    view: View, rows: Sequence[int], values: bool, step: float, x: float, y: float
) -> tuple[dict[int, str], float]:
    """Return labels for the root, named and highlighted nodes and some round ids, and their right edge."""
    every = next(n * 10**k for k in range(9) for n in (1, 2, 5) if n * 10**k * step >= 4 * _TEXT)
    # One label to a strip of the height of a line, so that none lies over another.
    strips: dict[int, tuple[int, int, str]] = {}
    for k, id in enumerate(rows):
        strip = int(k * step / _TEXT)
        rank, text = _landmark(view, id)
        if rank == 2 and id % every:
            continue
        if strip not in strips or rank < strips[strip][0]:
            strips[strip] = rank, k, text
    width = max((columns_of(text) for _, _, text in strips.values()), default=0)
    labels = {
        k: _texts([(x, "muted" if rank else "name", text)], y + (strip + 0.5) * _TEXT)
        for strip, (rank, k, text) in strips.items()
    }
    return labels, x + width * _CHARACTER + _MARGIN


def _landmark(view: View, id: int) -> tuple[int, str]:
    """Return the priority of a node's label, 0 first, and the label."""
    if id == _EARLIER:
        return 0, "earlier nodes"
    if id == view.root or id in view.highlighted:
        return 0, f"%{id} {view.name(id) or view.op_name(id)}"
    if view.nodes[id].name:
        return 1, f"%{id} {view.name(id)}"
    return 2, f"%{id}"


def _texts(texts: Iterable[tuple[float, str, str]], y: float) -> str:
    return "".join(
        f'<text class="{kind}" x="{px(x)}" y="{px(y + _BASELINE)}">{escape(text)}</text>'
        for x, kind, text in texts
        if text
    )
