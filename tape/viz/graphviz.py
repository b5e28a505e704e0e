"""Running Graphviz: DOT text in, a file or a layout out.

The program ``dot`` is looked up when it is needed. Knows nothing of tapes.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tape import errors

Point = tuple[float, float]

_INCH = 72.0  # Graphviz computes in inches


@dataclass(frozen=True)
class Layout:
    """Positions of boxes and edges, in the units of the sizes, from the top left corner.

    Attributes
    ----------
    centres : list of (x, y)
        The centre of each box.
    curves : dict of (parent, child) to list of (x, y)
        Bezier curves: a point, then for each curve two control points and the next point.
    width, height : float
        The size of the drawing.
    """

    centres: list[Point]
    curves: Mapping[tuple[int, int], list[Point]]
    width: float
    height: float


def is_installed() -> bool:
    """Return whether the program ``dot`` can be found."""
    return shutil.which("dot") is not None


def layout(
    sizes: Sequence[Point],
    edges: Sequence[tuple[int, int]],
    *,
    direction: Literal["TB", "LR"] = "TB",
    gap: float = 24.0,
    layer_gap: float = 40.0,
    advice: str,
) -> Layout:
    """Lay out a directed graph of boxes in layers.

    Parameters
    ----------
    sizes : sequence of (width, height)
        The sizes of the boxes 0, 1, ...
    edges : sequence of (parent, child)
        Without repetitions.
    direction : {"TB", "LR"}
        From top to bottom, or from left to right.
    gap, layer_gap : float
        The space between boxes of one layer, and between layers.
    advice : str
        What to do without Graphviz, for the error message.

    Returns
    -------
    Layout

    Raises
    ------
    UnsupportedError
        If Graphviz is not installed, or fails.
    OptionError
        If it takes longer than a minute.

    Examples
    --------
    >>> import pytest, shutil; _ = shutil.which("dot") or pytest.skip("needs Graphviz")
    >>> from tape.viz.graphviz import layout
    >>> found = layout([(20, 10), (20, 10)], [(0, 1)], layer_gap=30.0, advice="")
    >>> found.centres, found.height
    ([(10.0, 5.0), (10.0, 45.0)], 50.0)
    """
    # Edges leave in the direction of the flow and arrive in it, as the heads of arrows do.
    tail, head = ("s", "n") if direction == "TB" else ("e", "w")
    lines = [
        f"graph [rankdir={direction} nodesep={gap / _INCH} ranksep={layer_gap / _INCH}]",
        'node [shape=box fixedsize=true label=""]',
        f"edge [dir=none tailport={tail} headport={head}]",
        *(f"{i} [width={w / _INCH} height={h / _INCH}]" for i, (w, h) in enumerate(sizes)),
        *(f"{parent} -> {child}" for parent, child in edges),
    ]
    text = "digraph {" + "\n".join(lines) + "}"
    found = render(text, "plain", advice=advice).decode()
    rows = [line.split() for line in found.splitlines()]
    (width, height), centres, curves = (0.0, 0.0), [(0.0, 0.0)] * len(sizes), {}

    def point(x: str, y: str) -> Point:
        return round(float(x) * _INCH, 2), round(height - float(y) * _INCH, 2)

    for kind, *row in rows:
        if kind == "graph":
            width, height = float(row[1]) * _INCH, float(row[2]) * _INCH
        elif kind == "node":
            centres[int(row[0])] = point(row[1], row[2])
        elif kind == "edge":
            numbers = row[3 : 3 + 2 * int(row[2])]
            curves[int(row[0]), int(row[1])] = [
                point(x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)
            ]
    return Layout(centres, curves, round(width, 2), round(height, 2))


def render(text: str, format: str, *options: str, timeout: float = 60.0, advice: str) -> bytes:
    """Return the file that ``dot`` writes for a graph.

    Parameters
    ----------
    text : str
        In the language DOT.
    format : str
        A format of Graphviz's: ``"svg"``, ``"png"``, ``"plain"``.
    *options : str
        More options of the command line.
    timeout : float
        Seconds the layout may take.
    advice : str
        What to do instead, for the error messages.

    Returns
    -------
    bytes

    Raises
    ------
    UnsupportedError
        If Graphviz is not installed, or fails.
    OptionError
        If it takes longer than ``timeout``.

    Examples
    --------
    >>> from tape.viz.graphviz import render
    >>> render("digraph {a -> b}", "svg", advice="")[:5]  # doctest: +SKIP
    b'<?xml'
    """
    program = shutil.which("dot")
    if program is None:
        raise errors.UnsupportedError(
            "Graphviz, which lays out graphs, is not installed (there is no program 'dot'). Install it: "
            "apt install graphviz (Debian, Ubuntu), conda install graphviz, brew install graphviz (macOS), "
            f"winget install Graphviz.Graphviz (Windows). Or {advice}"
        )
    try:
        done = subprocess.run(
            [program, f"-T{format}", *options], input=text.encode(), capture_output=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        raise errors.OptionError(
            f"Graphviz was not done after {timeout} s. Draw less (root=, ids=), or {advice}"
        ) from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise errors.UnsupportedError(
            f"Graphviz failed: {said or f'exit code {done.returncode}'}. Look at the text that tape.viz.dot "
            f"returns, or {advice}"
        )
    return done.stdout
