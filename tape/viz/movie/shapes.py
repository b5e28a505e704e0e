"""The shapes of an animation, each with the frames in which it is visible.

The interface between the scene and those who draw it, `tape.viz.movie.svg` and `tape.viz.movie.gif`. Colours
are fields of `tape.viz.style.Palette`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tape.viz.graphviz import Point
from tape.viz.passes import Phase

Span = tuple[int, int]  # frames from the first up to, and without, the second


@dataclass(frozen=True)
class Look:
    """The colours of a shape, as fields of `tape.viz.style.Palette`; empty for none."""

    fill: str = ""
    line: str = ""
    width: float = 1.0


HUES: dict[Phase, str] = {"forward": "active", "backward": "adjoint", "tangent": "tangent"}
"""The colour of each pass, as the beginning of a look's name."""

LOOKS = {
    "waiting": Look("ground", "line", 1.2),
    "inactive": Look("inactive", "inactive_line", 1.2),
    "read": Look("", "highlight_line", 1.4),
    "visited": Look("", "highlight_line", 3.0),
    "edge": Look("", "line", 1.3),
    "edge-tip": Look("line"),
    "track": Look("inactive"),
    "ink": Look("ink"),
    "muted": Look("muted"),
    **{hue: Look(hue, f"{hue}_line", 1.2) for hue in HUES.values()},
    **{f"{hue}-flash": Look("ground", f"{hue}_line", 1.2) for hue in HUES.values()},
    **{f"{hue}-edge": Look("", f"{hue}_line", 2.6) for hue in HUES.values()},
    **{f"{hue}-tip": Look(f"{hue}_line") for hue in HUES.values()},
}
"""Styles of shapes. Text has the colour of the fill."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The base of all shapes: a look, and the frames in which it is visible; None for all frames."""

    look: str
    seen: tuple[Span, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Box(Shape):
    """A rectangle with rounded corners; ``note`` is its tooltip, in lines."""

    x: float
    y: float
    width: float
    height: float
    radius: float = 0.0
    note: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Curve(Shape):
    """A chain of Bezier curves: a point, then for each curve two control points and the next point.

    ``flow`` says whether something moves along it: 1 from start to end, -1 the other way, 0 if not.
    """

    points: tuple[Point, ...]
    flow: int = 0


@dataclass(frozen=True, kw_only=True)
class Head(Shape):
    """The head of an arrow: its tip and the two other corners."""

    corners: tuple[Point, Point, Point]


@dataclass(frozen=True, kw_only=True)
class Text(Shape):
    """A line of text; ``x`` is its start, middle or end, ``y`` its baseline, ``room`` the width it has."""

    x: float
    y: float
    text: str
    room: float
    size: float = 13.0
    anchor: Literal["start", "middle", "end"] = "start"
    is_bold: bool = False
    is_code: bool = True


@dataclass(frozen=True)
class Scene:
    """All shapes, in the order in which they are painted, and how many frames there are."""

    title: str
    width: float
    height: float
    shapes: Sequence[Shape]
    frames: int
