"""The graph of a tape as a picture, laid out by the program ``dot`` of Graphviz, if that is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Literal, Unpack

from tape import errors
from tape.viz.dot import DotOptions, dot
from tape.viz.drawing import Drawing, checked_path
from tape.viz.options import check_choice, check_number

if TYPE_CHECKING:
    from tape.core.trace import Trace
    from tape.core.var import Var

__all__ = ["graph"]

_FORMATS = ("svg", "png")


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
        Stays as it is.
    path : path, optional
        Where to save it; the extension, .svg or .png, says as what.
    root : Var, optional
        Draw only what this depends on.
    format : {"svg", "png"}, optional
        By default that of the path, or SVG. SVG shows all there is to know of a node under the mouse.
    timeout : float
        How many seconds the layout may take.
    **options
        As for `tape.viz.dot`: ``direction``, ``values``, ``adjoints``, ``precision``, ``highlight``,
        ``clusters``, ``edges``, ``ids``, ``limit``.

    Returns
    -------
    Drawing
        Which notebooks show; ``.data`` is the file, ``.save(path)`` writes it.

    Raises
    ------
    UnsupportedError
        If Graphviz is not installed, with how to install it; or if it fails.
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
    check_number("timeout", timeout, "a time in seconds, up to a day", 0, 86_400)
    kind = format or (checked.suffix.lower().removeprefix(".") if checked else "svg")
    drawing = Drawing(_render(dot(trace, root, **options), kind, timeout), kind)
    if checked is not None:
        drawing.save(checked)
    return drawing


def _render(text: str, format: str, timeout: float) -> bytes:
    """What Graphviz makes of DOT text."""
    program = shutil.which("dot")
    if program is None:
        raise errors.UnsupportedError(
            "Graphviz, which draws graphs, is not installed (there is no program 'dot'). Install it: "
            "apt install graphviz (Debian, Ubuntu), conda install graphviz, brew install graphviz (macOS), "
            "winget install Graphviz.Graphviz (Windows). Or use what needs nothing: tape.viz.arc draws the "
            "tape, tape.viz.dot gives the text for any other renderer"
        )
    resolution = ["-Gdpi=144"] if format == "png" else []  # sharp on today's screens
    try:
        done = subprocess.run(
            [program, f"-T{format}", *resolution], input=text.encode(), capture_output=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        raise errors.OptionError(
            f"Graphviz was not done after {timeout} s. Draw less (root=, ids=), allow it more (timeout=), or "
            "use tape.viz.arc"
        ) from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise errors.UnsupportedError(
            f"Graphviz failed: {said or f'exit code {done.returncode}'}. Look at what tape.viz.dot gives, or "
            "use tape.viz.arc"
        )
    return done.stdout
