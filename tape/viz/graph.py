"""The graph of a tape as a picture, laid out by Graphviz."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, Unpack

from tape.viz.dot import DotOptions, dot
from tape.viz.drawing import Drawing, checked_path, saved
from tape.viz.graphviz import render
from tape.viz.options import check_choice, check_number

if TYPE_CHECKING:
    from tape.core.trace import Trace
    from tape.core.var import Var

_FORMATS = ("svg", "png")
_ADVICE = (
    "use what needs nothing: tape.viz.arc draws the tape, tape.viz.dot returns the text for another renderer"
)


def graph(
    trace: Trace,
    path: str | os.PathLike[str] | None = None,
    *,
    root: Var | None = None,
    format: Literal["svg", "png"] | None = None,
    timeout: float = 60.0,
    **options: Unpack[DotOptions],
) -> Drawing:
    """Draw the graph of a trace, with Graphviz.

    Parameters
    ----------
    trace : Trace
        The trace; it is not changed.
    path : path, optional
        The file to save it to; the extension, .svg or .png, decides the format.
    root : Var, optional
        Draw only what this depends on.
    format : {"svg", "png"}, optional
        By default that of the path, or SVG. In SVG, the tooltip of a node has all its details.
    timeout : float
        The most seconds the layout may take.
    **options
        Those of `tape.viz.dot`: ``direction``, ``values``, ``adjoints``, ``precision``, ``highlight``,
        ``clusters``, ``edges``, ``ids``, ``limit``.

    Returns
    -------
    Drawing
        Notebooks show it; ``.data`` is the file, ``.save(path)`` writes it.

    Raises
    ------
    UnsupportedError
        If Graphviz is not installed, or fails.
    OptionError
        If the file cannot be written there, or the layout takes longer than ``timeout``; and as
        `tape.viz.dot`.
    TraceMismatchError, OutOfBoundsError
        As `tape.viz.dot`.

    Examples
    --------
    >>> import tape
    >>> from tape.viz.graph import graph
    >>> tr = tape.Trace()
    >>> y = tr.param(3.0, name="a") * 2.0
    >>> graph(tr, root=y)  # doctest: +SKIP
    <Drawing svg: 2024 bytes>
    """
    if format is not None:
        check_choice("format", format, _FORMATS)
    checked = checked_path(path, _FORMATS if format is None else (format,))
    check_number("timeout", timeout, "a number of seconds, up to a day", 0, 86_400)
    kind = format or (checked.suffix.lower().removeprefix(".") if checked else "svg")
    resolution = ["-Gdpi=144"] if kind == "png" else []  # sharp on today's screens
    text = dot(trace, root, **options)
    return saved(Drawing(render(text, kind, *resolution, timeout=timeout, advice=_ADVICE), kind), checked)
