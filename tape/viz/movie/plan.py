"""The layout of an animation: nodes as boxes of a graph, or as the rows of the tape.

Relies on `tape.viz.graphviz` and on the arcs of `tape.viz.arc`. Knows nothing of frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tape.inspect.words import columns_of
from tape.viz.arc import arcs
from tape.viz.graphviz import Point, layout
from tape.viz.movie.frames import SLOTS
from tape.viz.passes import Phase

_ADVANCE = 0.602  # of a character of monospaced fonts, in units of the font's size
_PAD = 10.0
_LINE = 19.0  # a line of text in a box
_TITLE = 24.0
_ROW = 28.0  # a node in the rows of a tape
_HEADING = 20.0


def length(text: str, size: float = 13.0) -> float:
    """Return the width of a text in monospaced characters; wide ones take the place of two."""
    return columns_of(text) * size * _ADVANCE


@dataclass(frozen=True)
class Entry:
    """A node to place: its id and title, and the width of the widest text that each pass writes to it."""

    id: str
    title: str
    widths: Mapping[Phase, float]


@dataclass(frozen=True)
class Cell:
    """The room for what a pass writes to a node: from ``left`` to ``right``, around the height ``y``."""

    left: float
    right: float
    y: float


@dataclass(frozen=True)
class Place:
    """The position of a node and of its texts.

    Attributes
    ----------
    x, y, width, height : float
        Its box.
    id, title : (x, y, room)
        The starts of these texts, in the middle of their height, and the width they have.
    cells : dict
        For each pass where it writes.
    """

    x: float
    y: float
    width: float
    height: float
    id: tuple[float, float, float]
    title: tuple[float, float, float]
    cells: Mapping[Phase, Cell]


@dataclass(frozen=True)
class Plan:
    """The positions of everything.

    Attributes
    ----------
    places : list of Place
        One a node.
    curves : dict of (parent, child) to list of (x, y)
        Bezier curves: a point, then for each curve two control points and the next point.
    labels : list of (x, y, text)
        What cells are called: the ends of these texts, in the middle of their height; in a graph there is
        a label in every box, at the left.
    width, height : float
        The extent of all.
    """

    places: list[Place]
    curves: dict[tuple[int, int], list[Point]]
    labels: list[tuple[float, float, str]]
    width: float
    height: float


def graph_plan(
    entries: Sequence[Entry],
    edges: Sequence[tuple[int, int]],
    direction: Literal["TB", "LR"],
    origin: Point,
    least_width: float,
) -> Plan:
    """Place nodes as boxes in layers, with a title and a line for each pass."""
    label = max(length(name, 11) for name in SLOTS.values()) + 8
    sizes = [
        (
            max(length(entry.id, 11) + 8 + length(entry.title), label + max(entry.widths.values()))
            + 2 * _PAD,
            _TITLE + _LINE * len(entry.widths) + 8,
        )
        for entry in entries
    ]
    found = layout(
        sizes,
        edges,
        direction=direction,
        layer_gap=38.0 if direction == "TB" else 52.0,
        advice="draw the rows of the tape: layout='arc'",
    )
    x0, y0 = origin[0] + max(least_width - found.width, 0.0) / 2, origin[1]
    places = []
    for entry, (x, y), (width, height) in zip(entries, found.centres, sizes, strict=True):
        left, top = x0 + x - width / 2, y0 + y - height / 2
        right = left + width - _PAD
        title_x = left + _PAD + length(entry.id, 11) + 8
        cells = {
            phase: Cell(left + _PAD + label, right, top + _TITLE + _LINE * (k + 0.5) + 2)
            for k, phase in enumerate(entry.widths)
        }
        middle = top + _TITLE / 2 + 2
        places.append(
            Place(
                left,
                top,
                width,
                height,
                (left + _PAD, middle, title_x - left),
                (title_x, middle, right - title_x),
                cells,
            )
        )
    curves = {edge: [(x0 + x, y0 + y) for x, y in curve] for edge, curve in found.curves.items()}
    return Plan(places, curves, [], max(found.width, least_width), found.height)


def row_plan(
    entries: Sequence[Entry], edges: Sequence[tuple[int, int]], origin: Point, least_width: float
) -> Plan:
    """Place nodes as the rows of the tape, with a column for each pass and arcs to the parents."""
    parents: list[list[int]] = [[] for _ in entries]
    for parent, child in edges:
        parents[child].append(parent)
    found = arcs(parents, step=_ROW, reach=160.0)
    id_width = max(length(entry.id, 11) for entry in entries) + 8
    title_width = max(length(entry.title) for entry in entries)
    columns = {
        phase: max(*(entry.widths.get(phase, 0.0) for entry in entries), length(name, 11))
        for phase, name in SLOTS.items()
        if any(phase in entry.widths for entry in entries)
    }
    reach = max((arc.reach for arc in found), default=0.0) + 12
    width = 2 * _PAD + id_width + title_width + sum(columns.values()) + 24 * len(columns)
    total = max(reach + width, least_width)
    x0, y0 = origin[0] + (total - reach - width) / 2 + reach, origin[1] + _HEADING
    cells_at, right = {}, x0 + _PAD + id_width + title_width
    for phase, wide in columns.items():
        cells_at[phase] = (right + 24, right + 24 + wide)
        right += 24 + wide
    places = []
    for k, entry in enumerate(entries):
        top, title_x = y0 + k * _ROW, x0 + _PAD + id_width
        middle = top + _ROW / 2
        places.append(
            Place(
                x0,
                top + 2,
                width,
                _ROW - 4,
                (x0 + _PAD, middle, id_width),
                (title_x, middle, title_width),
                {phase: Cell(*cells_at[phase], middle) for phase in entry.widths},
            )
        )
    curves = {}
    for arc in found:
        far, above, below = x0 - arc.reach * 4 / 3, y0 + arc.top + _ROW / 2, y0 + arc.bottom + _ROW / 2
        curves[arc.parent, arc.child] = [(x0, above), (far, above), (far, below), (x0, below)]
    labels = [(end, y0 - _HEADING / 2, SLOTS[phase]) for phase, (_, end) in cells_at.items()]
    return Plan(places, curves, labels, total, _HEADING + _ROW * len(entries))
