"""Animations of the passes over a tape: an SVG that plays in any browser, or a GIF.

The public side of `tape.viz.movie`: checks the options, and runs its stages in turn.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tape import errors
from tape.inspect.words import one_line
from tape.viz.drawing import Drawing, checked_path, saved
from tape.viz.graphviz import is_installed
from tape.viz.movie.frames import SLOTS, frames_of
from tape.viz.movie.gif import gif
from tape.viz.movie.scene import scene_of
from tape.viz.movie.svg import svg
from tape.viz.options import check_choice, check_number, check_trace
from tape.viz.passes import Phase, root_of
from tape.viz.view import look

if TYPE_CHECKING:
    from tape.core.trace import Trace
    from tape.core.var import Var


@dataclass(frozen=True, repr=False)
class Animation(Drawing):
    """An animated picture; notebooks play it as the last value of a cell.

    Attributes
    ----------
    data : bytes
        The file: SVG in UTF-8, or GIF.
    format : {"svg", "gif"}
        Which of the two.
    frames : int
        The number of frames.
    seconds : float
        How long it takes, the pause at the end included.
    """

    frames: int
    seconds: float

    def __repr__(self) -> str:
        return f"<Animation {self.format}: {self.frames} frames, {self.seconds:g} s, {len(self.data)} bytes>"


def animate(
    trace: Trace,
    path: str | os.PathLike[str] | None = None,
    *,
    root: Var | None = None,
    seed: Any = None,
    tangents: Mapping[Var, Any] | None = None,
    passes: Sequence[Phase] | None = None,
    layout: Literal["graph", "arc"] | None = None,
    direction: Literal["TB", "LR"] = "TB",
    seconds: float = 0.8,
    pause: float = 2.4,
    precision: int = 4,
    ids: range | None = None,
    limit: int = 200,
) -> Animation:
    """Animate how values, adjoints and tangents are computed: a frame for each node that is visited.

    In each frame the visited node has a thick red outline and the nodes it reads a thin one; edges in use
    and new values are highlighted, and sums are written out. Nodes turn green when they are evaluated,
    yellow with their adjoint, blue with their tangent; grey ones depend on no param. The animation repeats.

    Parameters
    ----------
    trace : Trace
        The trace; it is not changed.
    path : path, optional
        The file to save it to: .svg plays in browsers, sharp at any size, in the light or dark colours of the
        reader's system; .gif plays everywhere else, and needs Pillow and matplotlib. By default an SVG that
        is not saved.
    root : Var, optional
        The result to differentiate; only what it depends on is drawn. By default the root of the last
        `backward`, or the last node, and the whole tape is drawn.
    seed : array_like, optional
        The adjoint of the root that the backward pass starts from. Ones by default.
    tangents : mapping of Var to array_like, optional
        The tangents of leaves for the forward-mode pass, as for `Trace.jvp`. By default ones for every param.
    passes : sequence of {"forward", "backward", "tangent"}, optional
        The passes to show, in this order. By default forward; then tangent if there are tangents, else
        backward if there is something to differentiate.
    layout : {"graph", "arc"}, optional
        "graph": boxes in layers, placed by Graphviz. "arc": the tape as it is, a row for each node, with arcs
        to its parents. By default the graph if Graphviz is installed, else the rows.
    direction : {"TB", "LR"}
        The direction of the graph: from top to bottom, or from left to right.
    seconds, pause : float
        The duration of a frame, and the extra duration of the last one.
    precision : int
        Significant digits, 1 to 17.
    ids : range, optional
        Draw only these nodes, as in ``ids=range(100, 200)``.
    limit : int
        The most nodes that are drawn. For more, there is `tape.viz.html`.

    Returns
    -------
    Animation
        Notebooks play it; ``.data`` is the file, ``.save(path)`` writes it.

    Raises
    ------
    OptionError
        If there is nothing to draw, or more than ``limit`` nodes; if ``passes`` has a backward pass and there
        is nothing to differentiate; if the file cannot be written there, or an option is not among the
        choices.
    UnsupportedError
        If Pillow or matplotlib is not installed for a GIF, or Graphviz for ``layout="graph"``.
    TraceMismatchError, SeedError, DTypeError
        As raised by `Trace.backward` and `Trace.jvp`.

    Examples
    --------
    >>> import tape
    >>> from tape.viz.animate import animate
    >>> tr = tape.Trace()
    >>> a, b = tr.param(3.0, name="a"), tr.param(2.0, name="b")
    >>> y = a * b + a
    >>> animate(tr)
    <Animation svg: 8 frames, 8.8 s, ... bytes>
    """
    checked = checked_path(path, ("svg", "gif"))
    format = checked.suffix.lower().removeprefix(".") if checked else "svg"
    check_trace(trace)
    _check_options(passes, layout, direction, seconds, pause)
    end = root_of(trace, root)
    view = look(
        trace,
        root,
        adjoints=False,
        ids=ids,
        precision=precision,
        limit=limit,
        otherwise="tape.viz.html steps through tapes of any length",
    )
    if not view.ids:
        raise errors.OptionError(f"there is nothing to draw: no node of {trace!r}. Record operations first")
    shown = _passes(passes, end, tangents)
    if "backward" in shown and end is None:
        raise errors.OptionError(
            "the last node depends on no param, or is not a real float: there is nothing to differentiate. "
            "Pass the result as root=, or passes=['forward']"
        )
    frames = frames_of(trace, view, shown, end, seed, tangents)
    title = one_line(f"{' and '.join(shown)} pass over {trace.name or 'a tape'}", 120)
    if layout is None:
        layout = "graph" if is_installed() else "arc"
    scene = scene_of(view, frames, shown, title=title, layout=layout, direction=direction)
    data = svg(scene, seconds, pause).encode() if format == "svg" else gif(scene, seconds, pause)
    return saved(Animation(data, format, scene.frames, round(scene.frames * seconds + pause, 6)), checked)


def _check_options(passes: Any, layout: Any, direction: Any, seconds: Any, pause: Any) -> None:
    known = list(SLOTS)
    if passes is not None and (
        not isinstance(passes, list | tuple)
        or not passes
        or any(p not in known for p in passes)
        or len({*passes}) < len(passes)
    ):
        raise errors.OptionError(
            f"passes must be a list of {known}, each at most once, as in passes=['forward'], not "
            f"{errors.describe(passes)}"
        )
    if layout is not None:
        check_choice("layout", layout, ("graph", "arc"))
    check_choice("direction", direction, ("TB", "LR"))
    check_number("seconds", seconds, "a number of seconds, from 0.02 to 60", 0.02, 60)
    check_number("pause", pause, "a number of seconds, from 0 to 60", 0, 60)


def _passes(given: Sequence[Phase] | None, root: Var | None, tangents: object) -> Sequence[Phase]:
    if given is not None:
        return given
    if tangents is not None:
        return ["forward", "tangent"]
    return ["forward"] if root is None else ["forward", "backward"]
