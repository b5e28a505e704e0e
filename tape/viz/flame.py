"""The flame graph of a profile.

From top to bottom: the whole run, its passes, name scopes, functions, lines, operations; each as wide as the
time it took. Written here as SVG, without another program.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from os.path import basename
from typing import TYPE_CHECKING

from tape import errors
from tape.inspect.words import duration, one_line
from tape.viz.drawing import Drawing, checked_path, saved
from tape.viz.style import SANS, css, paint

if TYPE_CHECKING:
    from tape.inspect.profiling import Entry, Profile

_WIDTH, _ROW, _GAP, _CHARACTER = 960.0, 24.0, 1.0, 6.6  # pixels
_LEAST = 0.5  # pixels below which a part is not drawn
_PASSES = {"forward": "forward", "backward": "backward", "tangent": "forward mode"}
_ORDER = tuple(_PASSES.values())
_FILLS = {"forward": "active", "backward": "adjoint", "tangent": "tangent", "": "inactive"}


@dataclass
class _Part:
    """A part of the run: its name, its time, and its own parts."""

    name: str
    kind: str
    seconds: float = 0.0
    calls: int = 0
    parts: dict[str, _Part] = field(default_factory=dict)


def flame(profile: Profile, path: str | os.PathLike[str] | None = None) -> Drawing:
    """Draw a flame graph: bars as wide as their share of the time.

    From top to bottom: the run; forward (green), backward (yellow) and forward mode (blue); name scopes,
    functions, lines, operations. The tooltip of a bar has its time, share and calls.

    Parameters
    ----------
    profile : tape.inspect.profiling.Profile
        As `tape.profile` returns it for a function that is not compiled.
    path : path, optional
        The file to save it to, which ends in .svg.

    Returns
    -------
    Drawing
        Notebooks show it; ``str()`` of it is the SVG, ``.save(path)`` writes it.

    Raises
    ------
    OptionError
        If it is the profile of a program, which is one list of instructions and prints as such, or the file
        cannot be written there.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.viz.flame import flame
    >>> str(flame(tape.profile(lambda x: np.sum(np.sin(x)), np.ones(3))))[:4]
    '<svg'
    """
    entries = getattr(profile, "entries", None)
    if entries is None:
        raise errors.OptionError(
            f"there is no flame of {errors.describe(profile)}: pass what tape.profile returns for a function "
            "that is not compiled. The profile of a program is a list: print it"
        )
    checked = checked_path(path, ("svg",))
    run = _Part(f"{one_line(profile.name)}: {duration(profile.seconds)}", "")
    for entry in entries:
        _add(run, entry)
    return saved(Drawing(_svg(run).encode(), "svg"), checked)


def _add(run: _Part, entry: Entry) -> None:
    part = run
    for name in ("", *_path(entry)):
        if name:
            kind = "" if entry.site is None else entry.phase
            part = part.parts.setdefault(name, _Part(name, kind))
        part.seconds += entry.seconds
        part.calls += entry.calls


def _path(entry: Entry) -> list[str]:
    """Return the names of all parts that contain an entry, from the outside in."""
    site = entry.site
    if site is None:
        return [entry.op]
    file = basename(site.filename)
    line = f"{file}:{site.line}  {site.text}".rstrip()
    parts = (_PASSES[entry.phase], *site.scope, f"{site.function} ({file})", line, entry.op)
    return [one_line(part) for part in parts]


def _svg(run: _Part) -> str:
    bars = list(_bars(run))
    height = (max(depth for depth, *_ in bars) + 1) * _ROW
    title = escape(one_line(run.name, 120))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="tape-flame" role="img" aria-label="{title}" '
            f'width="{_WIDTH:g}" height="{height:g}" viewBox="0 0 {_WIDTH:g} {height:g}">',
            f"<style>{_CSS}</style>",
            f'<rect class="ground" width="{_WIDTH:g}" height="{height:g}"/>',
            *(_bar(run, part, x, width, depth) for depth, part, x, width in bars),
            "</svg>\n",
        ]
    )


_CSS = (
    css(".tape-flame")
    + f".tape-flame{{max-width:100%;height:auto;font:12px {SANS}}}"
    + f".tape-flame .ground{{{paint('fill', 'ground')}}}.tape-flame text{{{paint('fill', 'ink')}}}"
    + "".join(f".tape-flame .{fill}{{{paint('fill', fill)}}}" for fill in _FILLS.values())
    + f".tape-flame g:hover rect{{{paint('stroke', 'highlight_line')};stroke-width:1.5}}"
)


def _bars(run: _Part) -> Iterator[tuple[int, _Part, float, float]]:
    """Yield depth, part, left edge and width of all visible bars, the longest parts first."""
    scale = _WIDTH / (run.seconds or 1.0)
    waiting = [(0, run, 0.0)]
    while waiting:
        depth, part, x = waiting.pop()
        yield depth, part, x, part.seconds * scale if run.seconds else _WIDTH
        for inner in sorted(part.parts.values(), key=_rank):
            if inner.seconds * scale >= _LEAST:
                waiting.append((depth + 1, inner, x))
            x += inner.seconds * scale


def _rank(part: _Part) -> tuple[int, float]:
    """Sort key: passes in their order, other parts by time."""
    return (_ORDER.index(part.name) if part.name in _ORDER else len(_ORDER)), -part.seconds


def _bar(run: _Part, part: _Part, x: float, width: float, depth: int) -> str:
    share = f", {part.seconds / run.seconds:.1%}" if run.seconds else ""
    calls = f", {part.calls:,} calls" if part.calls else ""
    title = one_line(f"{part.name}: {duration(part.seconds)}{share}{calls}", 200)
    room = int((width - 8) / _CHARACTER)
    text = one_line(part.name, room) if room >= 3 else ""
    y = depth * _ROW
    return (
        f'<g><title>{escape(title)}</title><rect class="{_FILLS[part.kind]}" x="{x:.1f}" y="{y:g}" '
        f'width="{max(width - _GAP, 0.2):.1f}" height="{_ROW - _GAP:g}" rx="2"/>'
        + (f'<text x="{x + 4:.1f}" y="{y + 16:g}">{escape(text)}</text>' if text else "")
        + "</g>"
    )
