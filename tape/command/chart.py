"""Curves as text for a terminal: axes with ticks, a legend, colours.

Drawn here and by no library: uniplot rounds tick labels (2 for 2.5) and tells curves apart by colour alone,
plotext draws through one global figure; here curves have dashes, and no line crosses a pole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from tape.command.canvas import Canvas, Marks
from tape.command.sampling import Curve, limits

_COLOURS = (36, 33, 35, 32, 34, 31)  # cyan, yellow, magenta, green, blue, red
_FAINT = 2
_PIECE = 5


def chart(curves: Sequence[Curve], columns: int, rows: int, marks: Marks, *, is_coloured: bool) -> list[str]:
    """Draw curves that share their axes.

    Parameters
    ----------
    curves : sequence of Curve
        Over the same x, each with a finite point; their orders decide dashes and colours.
    columns, rows : int
        The size of the chart in characters, at least 24 and 6.
    marks : Marks
        The character set.
    is_coloured : bool
        Whether to use the terminal's colours.

    Returns
    -------
    list of str
        Lines, without trailing blanks.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.command.canvas import ASCII
    >>> from tape.command.chart import chart
    >>> from tape.command.sampling import sample
    >>> curves = sample(lambda x: x * x, np.linspace(-2.0, 2.0, 81), 0, "x*x")
    >>> print("\\n".join(chart(curves, 40, 10, ASCII, is_coloured=False)))
        ***** f
     4 +*                                 *
       | **                             **
     3 +   **                         **
     2 +    ***                     ***
     1 +      ***                 ***
       |         ****         ****
     0 +.............*********.............
       ++----------------+----------------+
        -2               0                2
    """
    low, high = limits(curves)
    rows = max(rows - 3, 4)
    heights = ticks(low, high, max(3, rows // 4))
    gutter = max(len(text) for _, text in heights) + 1
    canvas = Canvas(max(columns - gutter - 3, 16), rows, marks)
    across, down = canvas.size
    x = curves[0].x
    xs = (x - x[0]) / (x[-1] - x[0]) * (across - 1)

    def dots(y: np.ndarray) -> np.ndarray:
        return (high - y) / (high - low) * (down - 1)

    for curve in reversed(curves):  # the function itself on top
        ys = dots(curve.y)
        for run in _runs(curve):
            canvas.line(xs[run], ys[run], curve.order)
    tick_rows = np.rint(dots(np.array([y for y, _ in heights]))).astype(int) // marks.dots[1]
    at_row = {int(row): text for row, (_, text) in zip(tick_rows, heights, strict=True)}
    zero = next((int(row) for row, (y, _) in zip(tick_rows, heights, strict=True) if y == 0), None)
    lines = [" " * (gutter + 2) + _legend(curves, marks, is_coloured)]
    for r in range(rows):
        axis = f"{at_row.get(r, ''):>{gutter}} {marks.left_tick if r in at_row else marks.vertical}"
        cells = _cells(canvas, r, marks.zero if r == zero else " ", is_coloured)
        lines.append(_painted(axis, _FAINT, is_coloured) + cells)
    foot = _foot(x, canvas.owners.shape[1], marks)
    lines += [_painted(" " * (gutter + 1) + text, _FAINT, is_coloured) for text in foot]
    return [line.rstrip() for line in lines]


def ticks(low: float, high: float, count: int) -> list[tuple[float, str]]:
    """Return round numbers between two limits, with their labels.

    Parameters
    ----------
    low, high : float
        The limits, the smaller first.
    count : int
        About how many.

    Returns
    -------
    list of (float, str)

    Examples
    --------
    >>> from tape.command.chart import ticks
    >>> [text for _, text in ticks(-1.05, 1.05, 4)]
    ['-1.0', '-0.5', '0.0', '0.5', '1.0']
    """
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * unit for unit in (1.0, 2.0, 5.0, 10.0) if power * unit >= rough * 0.7)
    at = [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    largest = max(abs(low), abs(high))
    digits = max(1, math.floor(math.log10(largest)) + 1 - math.floor(math.log10(step) + 1e-9))
    form = f".{decimals}f" if step >= 1e-4 and largest < 1e6 else f".{digits}g"
    written = [format(value, form) for value in at]
    return [(float(text), text) for text in written]  # multiples of a step are not as round


def _runs(curve: Curve) -> list[slice]:
    """Return the slices to draw in one go: finite, and without a pole inside."""
    is_finite = np.isfinite(curve.y)
    joined = is_finite[:-1] & is_finite[1:] & ~curve.breaks
    starts = np.flatnonzero(is_finite & ~np.concatenate([[False], joined]))
    stops = np.flatnonzero(is_finite & ~np.concatenate([joined, [False]])) + 1
    return [slice(start, stop) for start, stop in zip(starts, stops, strict=True)]


def _legend(curves: Sequence[Curve], marks: Marks, is_coloured: bool) -> str:
    """Return the legend: a piece of each line, and its label."""
    entries = []
    for curve in curves:
        piece = Canvas(_PIECE, 1, marks)
        middle = (piece.size[1] - 1) // 2
        piece.line(np.array([0.0, piece.size[0] - 1.0]), np.array([middle, middle]), curve.order)
        entries.append(f"{_cells(piece, 0, ' ', is_coloured)} {curve.label}")
    return "   ".join(entries)


def _cells(canvas: Canvas, row: int, blank: str, is_coloured: bool) -> str:
    """Return one row of the canvas, each stretch of one curve in its colour."""
    parts = []
    owners = canvas.owners[row].tolist()
    for owner, columns in groupby(range(len(owners)), owners.__getitem__):
        text = "".join(canvas.character(row, column) or blank for column in columns)
        parts.append(_painted(text, _FAINT if owner < 0 else _colour(owner), is_coloured))
    return "".join(parts)


def _colour(order: int) -> int:
    return _COLOURS[order % len(_COLOURS)]


def _painted(text: str, colour: int, is_coloured: bool) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if is_coloured and text.strip() else text


def _foot(x: np.ndarray, columns: int, marks: Marks) -> list[str]:
    """Return the horizontal axis and the labels of its ticks."""
    low, high = float(x[0]), float(x[-1])
    axis, words = [marks.horizontal] * columns, [" "] * (columns + 8)
    free_from = 0
    for value, text in ticks(low, high, max(2, columns // 12)):
        column = round((value - low) / (high - low) * (columns - 1))
        sign = int(text.startswith("-"))  # digits stand centred, without it
        start = max(column - (len(text) - sign) // 2 - sign, 0)
        axis[column] = marks.tick
        if start >= free_from:
            words[start : start + len(text)] = text
            free_from = start + len(text) + 1
    return [marks.corner + "".join(axis), " " + "".join(words)]
