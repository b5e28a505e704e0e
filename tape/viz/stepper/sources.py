"""The source lines that recorded a tape, for the stepper: the place of each node, and the lines around.

Reads files through `linecache`, which also knows the cells of notebooks.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tape.inspect.words import one_line

if TYPE_CHECKING:
    from tape.core.sites import Site

_AROUND = 4  # lines shown before and after one that has recorded something
_MOST_LINES = 1500
_WIDTH = 240


def sources(sites: Iterable[Site | None]) -> dict[str, Any]:
    """Return where nodes were recorded, and the lines around.

    Parameters
    ----------
    sites : iterable of Site or None
        One for each node.

    Returns
    -------
    dict
        ``of``: for each node the index of its place, -1 for none. ``places``: file index, line, first and
        last column (-1 if unknown), function. ``files``: name, path and lines, as pairs of number and text.

    Examples
    --------
    >>> import tape
    >>> from tape.viz.stepper.sources import sources
    >>> sources([None])
    {'of': [-1], 'places': [], 'files': []}
    """
    index: dict[Site, int] = {}  # to look up the line of a place takes longer than to hash it
    of = [-1 if site is None else index.setdefault(site, len(index)) for site in sites]
    found = [(site.filename, site.line, *(site.columns or (-1, -1)), site.function) for site in index]
    lines: dict[str, set[int]] = {}
    for path, line, *_ in found:
        lines.setdefault(path, set()).add(line)
    numbers = {path: k for k, path in enumerate(lines)}
    places = [
        [numbers[path], line, begin, end, one_line(function, 60)]
        for path, line, begin, end, function in found
    ]
    most = max(1, _MOST_LINES // max(1, len(lines)))
    files = [
        {
            "name": one_line(os.path.basename(path), 80),
            "path": one_line(path, 200),
            "lines": _lines(path, numbers, most),
        }
        for path, numbers in lines.items()
    ]
    return {"of": of, "places": places, "files": files}


def _lines(filename: str, recording: set[int], most: int) -> list[tuple[int, str]]:
    """Return the lines that recorded something and those around, up to a limit, in order."""
    known = linecache.getlines(filename)
    around = _AROUND if len(recording) * (2 * _AROUND + 1) <= most else 0
    wanted = sorted({line + k for line in recording for k in range(-around, around + 1)})
    return [(line, _clean(known[line - 1].rstrip())) for line in wanted if 0 < line <= len(known)][:most]


def _clean(text: str) -> str:
    """Replace control characters by blanks, which keeps columns in their places."""
    return "".join(c if c.isprintable() else " " for c in text[:_WIDTH])
