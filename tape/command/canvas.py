"""A character canvas: braille dots, or one ASCII mark a cell.

Knows nothing of axes or numbers: points are given in dots, from the top left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_DOT_BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]], np.uint8)
_BLANK_BRAILLE = 0x2800


@dataclass(frozen=True)
class Marks:
    """The character set of a chart.

    Attributes
    ----------
    dots : tuple of int
        Dots of a cell, across and down.
    letters : str
        The mark of each curve, for cells of one dot; empty for braille.
    patterns : tuple of (int, int)
        The dashes of each curve: dots on, dots off.
    vertical, left_tick, corner, horizontal, tick, zero : str
        The characters of axes.
    """

    dots: tuple[int, int]
    letters: str
    patterns: tuple[tuple[int, int], ...]
    vertical: str
    left_tick: str
    corner: str
    horizontal: str
    tick: str
    zero: str


BRAILLE = Marks((2, 4), "", ((1, 0), (5, 3), (1, 2), (7, 4)), "│", "┤", "└", "─", "┬", "┈")
ASCII = Marks((1, 1), "*+ox#@", ((1, 0),), "|", "+", "+", "-", "+", ".")


class Canvas:
    """A grid of character cells to draw curves on.

    Parameters
    ----------
    columns, rows : int
        The number of cells.
    marks : Marks
        The character set.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.command.canvas import ASCII, Canvas
    >>> canvas = Canvas(5, 3, ASCII)
    >>> canvas.line(np.array([0.0, 2.0, 4.0]), np.array([2.0, 0.0, 2.0]), curve=0)
    >>> print("\\n".join(canvas.text()))
      *
     * *
    *   *
    """

    def __init__(self, columns: int, rows: int, marks: Marks) -> None:
        self.marks = marks
        self.owners = np.full((rows, columns), -1)
        self.bits = np.zeros((rows, columns), np.uint8)

    @property
    def size(self) -> tuple[int, int]:
        """The number of dots, across and down."""
        rows, columns = self.owners.shape
        return columns * self.marks.dots[0], rows * self.marks.dots[1]

    def line(self, x: np.ndarray, y: np.ndarray, curve: int) -> None:
        """Draw straight lines from each point to the next.

        Parameters
        ----------
        x, y : numpy.ndarray, shape [points]
            In dots, finite; what lies outside is not drawn.
        curve : int
            The number of the curve, which decides its dashes and owns the cells.
        """
        across, down = self.size
        path = _rasterised(x, np.clip(y, -1.0, down))  # no further: a steep line has dots enough as it is
        on, off = self.marks.patterns[curve % len(self.marks.patterns)]
        path = path[np.arange(len(path)) % (on + off) < on]
        column, row = path[(path >= 0).all(1) & (path[:, 0] < across) & (path[:, 1] < down)].T
        wide, high = self.marks.dots
        cells = (row // high, column // wide)
        np.bitwise_or.at(self.bits, cells, _DOT_BITS[row % high, column % wide])
        self.owners[cells] = curve

    def text(self) -> list[str]:
        """Return the rows, without trailing blanks."""
        rows, columns = self.owners.shape
        return ["".join(self.character(r, c) or " " for c in range(columns)).rstrip() for r in range(rows)]

    def character(self, row: int, column: int) -> str:
        """Return the character of a cell; empty if nothing is drawn there."""
        owner = int(self.owners[row, column])
        if owner < 0:
            return ""
        if self.marks.letters:
            return self.marks.letters[owner % len(self.marks.letters)]
        return chr(_BLANK_BRAILLE + int(self.bits[row, column]))


def _rasterised(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the dots of a polyline, shape [dots, 2], without repetitions."""
    points = np.stack([x, y], 1)
    counts = np.maximum(np.ceil(np.abs(np.diff(points, axis=0)).max(1, initial=0.0)), 1).astype(int)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    done = (np.arange(len(first)) - first) / np.repeat(counts, counts)  # of the way to the next point
    between = np.repeat(points[:-1], counts, 0) + done[:, None] * np.repeat(
        np.diff(points, axis=0), counts, 0
    )
    dots = np.rint(np.concatenate([between, points[-1:]])).astype(int)
    is_new = np.concatenate([[True], np.any(np.diff(dots, axis=0) != 0, axis=1)])
    return dots[is_new]
