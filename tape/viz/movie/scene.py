"""From frames to shapes: what an animation draws, and in which frames each shape is visible."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import hypot
from typing import Literal

from tape.inspect.words import one_line
from tape.viz.graphviz import Point
from tape.viz.movie.frames import SLOTS, Frame, call_of
from tape.viz.movie.plan import Cell, Entry, Place, Plan, graph_plan, length, row_plan
from tape.viz.movie.shapes import HUES, Box, Curve, Head, Scene, Shape, Span, Text
from tape.viz.passes import Phase
from tape.viz.view import View

_MARGIN = 20.0
_HEADER = 78.0  # what is said stands above the picture
_NARROWEST, _WIDEST_CAPTION = 420.0, 760.0

_Timeline = dict[int, list[tuple[int, str]]]  # for each node which text appears in which frame


def scene_of(
    view: View,
    frames: Sequence[Frame],
    passes: Sequence[Phase],
    *,
    title: str,
    layout: Literal["graph", "arc"],
    direction: Literal["TB", "LR"],
) -> Scene:
    """Return the shapes of an animation.

    Parameters
    ----------
    view : View
        Which nodes are drawn.
    frames : sequence of Frame
        Their frames.
    passes : sequence of {"forward", "backward", "tangent"}
        In their order.
    title : str
        The title of the picture, for screen readers.
    layout : {"graph", "arc"}
        Boxes in layers, or the rows of the tape.
    direction : {"TB", "LR"}
        The direction of the layers.

    Returns
    -------
    Scene
    """
    # Values that no pass writes have been there from the start.
    timelines: dict[Phase, _Timeline] = (
        {} if "forward" in passes else {"forward": {i: [(0, view.value(i))] for i in view.ids}}
    )
    for phase in SLOTS:
        if phase in passes:
            timelines[phase] = _timeline(frames, phase)
    place_of = {i: k for k, i in enumerate(view.ids)}
    entries = [_entry(view, i, timelines) for i in view.ids]
    edges = [
        (place_of[parent], place_of[i])
        for i in view.ids
        for parent in dict.fromkeys(view.nodes[i].parents)
        if parent in place_of
    ]
    origin = (_MARGIN, _HEADER)
    least = max(_NARROWEST, min(max(length(frame.caption) for frame in frames), _WIDEST_CAPTION))
    if layout == "graph":
        plan = graph_plan(entries, edges, direction, origin, least)
    else:
        plan = row_plan(entries, edges, origin, least)
    shapes = [*_edges(plan), *_flows(plan, frames, place_of)]
    for k, i in enumerate(view.ids):
        shapes += _states(view, i, plan.places[k], frames, timelines)
        shapes += _words(entries[k], plan.places[k], has_labels=layout == "graph")
        for phase in timelines:
            if phase in plan.places[k].cells:
                shapes += _writing(i, plan.places[k].cells[phase], phase, frames, timelines[phase][i])
    shapes += [
        Text(look="muted", x=x, y=y + 4, text=text, size=11, anchor="end", room=99, is_code=False)
        for x, y, text in plan.labels
    ]
    shapes += _header(frames, passes, plan.width)
    return Scene(title, plan.width + 2 * _MARGIN, plan.height + _HEADER + _MARGIN, shapes, len(frames))


def _timeline(frames: Sequence[Frame], phase: Phase) -> _Timeline:
    """Return which texts a pass shows for each node: while it writes, and afterwards."""
    timeline: _Timeline = defaultdict(list)
    for k, frame in enumerate(frames):
        if frame.phase == phase:
            for i, text in frame.written.items():
                if timeline[i] and timeline[i][-1][0] == k:  # written to twice in a row
                    timeline[i].pop()
                timeline[i].append((k, text))
                if frame.final[i] != text:
                    timeline[i].append((k + 1, frame.final[i]))
    return timeline


def _entry(view: View, i: int, timelines: dict[Phase, _Timeline]) -> Entry:
    """Return a node with the room its texts take; passes that never write to it get none."""
    widths = {
        phase: max((length(text) for _, text in texts[i]), default=0.0)
        for phase, texts in timelines.items()
        if texts[i]
    }
    return Entry(f"%{i}", call_of(view, i), widths)


# ---- nodes -------------------------------------------------------------------------------------------


def _states(
    view: View, i: int, place: Place, frames: Sequence[Frame], timelines: dict[Phase, _Timeline]
) -> Iterator[Shape]:
    """Yield the box of a node in each state, from the frame on in which it is reached, and its outlines."""
    radius = 8.0 if view.kind(i) == "op" else 2.0

    def box(look: str, seen: tuple[Span, ...] | None, grow: float = 0.0, note: Iterable[str] = ()) -> Box:
        return Box(
            look=look,
            seen=seen,
            x=place.x - grow,
            y=place.y - grow,
            width=place.width + 2 * grow,
            height=place.height + 2 * grow,
            radius=radius + grow,
            note=tuple(note),
        )

    yield box("waiting", None, note=view.tooltip(i))
    for phase, texts in timelines.items():
        if texts[i]:
            is_constant = phase == "forward" and not view.nodes[i].is_active
            yield box("inactive" if is_constant else HUES[phase], ((texts[i][0][0], len(frames)),))
    read = [k for k, frame in enumerate(frames) if i in frame.reads]
    visited = [k for k, frame in enumerate(frames) if i == frame.node]
    if read:
        yield box("read", _spans(read), 2.5)
    if visited:
        yield box("visited", _spans(visited), 2.5)


def _words(entry: Entry, place: Place, *, has_labels: bool) -> Iterator[Shape]:
    """Yield the texts of a box that never change."""
    x, y, room = place.id
    yield Text(look="muted", x=x, y=y + 4, text=entry.id, size=11, room=room)
    x, y, room = place.title
    yield Text(look="ink", x=x, y=y + 4.5, text=entry.title, is_bold=True, room=room)
    if has_labels:
        for phase, cell in place.cells.items():
            yield Text(
                look="muted", x=place.id[0], y=cell.y + 4, text=SLOTS[phase], size=11, room=60, is_code=False
            )


def _writing(
    i: int, cell: Cell, phase: Phase, frames: Sequence[Frame], texts: Sequence[tuple[int, str]]
) -> Iterator[Shape]:
    """Yield the texts that come and go in a cell, and a flash behind those that are just written."""
    ends = [*(k for k, _ in texts[1:]), len(frames)]
    for (start, text), end in zip(texts, ends, strict=True):
        if i in frames[start].written and frames[start].phase == phase:
            width = length(text) + 10
            yield Box(
                look=f"{HUES[phase]}-flash",
                seen=((start, start + 1),),
                x=cell.right + 5 - width,
                y=cell.y - 9,
                width=width,
                height=18,
                radius=4,
            )
        yield Text(
            look="ink",
            seen=((start, end),),
            x=cell.right,
            y=cell.y + 4.5,
            text=text,
            anchor="end",
            room=cell.right - cell.left + 8,
        )


# ---- edges -------------------------------------------------------------------------------------------


def _edges(plan: Plan) -> Iterator[Shape]:
    for curve in plan.curves.values():
        yield Curve(look="edge", points=tuple(curve))
    for curve in plan.curves.values():
        yield _head("edge-tip", curve[-2], curve[-1], None, 7.0)


def _flows(plan: Plan, frames: Sequence[Frame], place_of: dict[int, int]) -> Iterator[Shape]:
    """Yield the edges in use: values and tangents move along them, adjoints against them."""
    used: dict[tuple[int, int, Phase], list[int]] = defaultdict(list)
    for k, frame in enumerate(frames):
        if frame.phase is not None:
            for parent, child in frame.edges:
                used[place_of[parent], place_of[child], frame.phase].append(k)
    for (parent, child, phase), ks in used.items():
        curve, look, seen = plan.curves[parent, child], HUES[phase], _spans(ks)
        is_back = phase == "backward"
        yield Curve(look=f"{look}-edge", seen=seen, points=tuple(curve), flow=-1 if is_back else 1)
        before, tip = (curve[1], curve[0]) if is_back else (curve[-2], curve[-1])
        yield _head(f"{look}-tip", before, tip, seen, 11.0)


def _head(look: str, before: Point, tip: Point, seen: tuple[Span, ...] | None, size: float) -> Head:
    """Return the head of an arrow that arrives at ``tip`` from ``before``."""
    (x, y), dx, dy = tip, tip[0] - before[0], tip[1] - before[1]
    far = hypot(dx, dy) or 1.0
    dx, dy = dx / far * size, dy / far * size
    back, side = (x - dx, y - dy), (-dy * 0.42, dx * 0.42)
    return Head(
        look=look,
        seen=seen,
        corners=(tip, (back[0] + side[0], back[1] + side[1]), (back[0] - side[0], back[1] - side[1])),
    )


# ---- what is said ------------------------------------------------------------------------------------


def _header(frames: Sequence[Frame], passes: Sequence[Phase], width: float) -> Iterator[Shape]:
    """Yield the names of the passes, the number of the step, a progress bar and the caption."""
    x, right = _MARGIN, _MARGIN + width
    for phase in passes:
        now = [k for k, frame in enumerate(frames) if frame.phase == phase]
        others = [k for k, frame in enumerate(frames) if frame.phase != phase]
        for look, seen in ((f"{HUES[phase]}-tip", now), ("muted", others)):
            yield Text(
                look=look,
                seen=_spans(seen),
                x=x,
                y=28,
                text=phase,
                room=90,
                size=14,
                is_bold=True,
                is_code=False,
            )
        x += 9.0 * len(phase) + 16
    yield Box(look="track", x=_MARGIN, y=38, width=width, height=3, radius=1.5)
    for k, frame in enumerate(frames):
        only = ((k, k + 1),)
        look = f"{HUES[frame.phase or passes[-1]]}-tip"
        done = width * (k + 1) / len(frames)
        yield Box(look=look, seen=only, x=_MARGIN, y=38, width=done, height=3, radius=1.5)
        count = f"{k + 1} / {len(frames)}"
        yield Text(look="muted", seen=only, x=right, y=28, text=count, size=12, anchor="end", room=120)
        caption = one_line(frame.caption, int(width / length(" ")))
        yield Text(look="ink", seen=only, x=_MARGIN, y=61, text=caption, room=width)


def _spans(frames: Sequence[int]) -> tuple[Span, ...]:
    """Return frames, in order, as spans of consecutive ones."""
    spans: list[Span] = []
    for k in frames:
        if spans and spans[-1][1] == k:
            spans[-1] = (spans[-1][0], k + 1)
        else:
            spans.append((k, k + 1))
    return tuple(spans)
