"""The common parts of the plots of a training: colours, figure, axes, scale and saving.

Used by `tape.viz.curve`, `tape.viz.histograms` and `tape.viz.landscape`. matplotlib is imported when the
first plot is drawn, and no global state of it is touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tape import errors
from tape.inspect.words import brief
from tape.system.extras import need
from tape.viz.style import CURVES, LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scale = bool | Literal["auto"]
"""Whether an axis is logarithmic: True, False, or "auto" to look at the values."""

BLUE, RED, INK, GREY = CURVES[0], LIGHT.highlight_line, LIGHT.ink, LIGHT.muted
EXTENSIONS = ("png", "svg", "pdf")
"""Of files that pictures of a training can be saved to."""

_UNDATED = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}  # the same picture is the same file
_DECADES = 2.0
_MARKS = 500


def figure_of(width: float, height: float) -> Figure:
    """Return an empty figure, in inches, that belongs to no window.

    Raises
    ------
    UnsupportedError
        If matplotlib is not installed.
    """
    need("matplotlib.figure", "these pictures", "viz")
    from tape.viz.picture import Picture

    return Picture(figsize=(width, height), layout="constrained", facecolor="white")


def dress(axes: Any, *, grid: Literal["x", "y", "both"] = "both") -> None:
    """Style axes: two spines, a faint grid behind everything, small grey ticks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GREY)
    axes.grid(axis=grid, color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, labelsize="small", color=GREY)


def save(figure: Figure, path: Path | None) -> None:
    """Save the picture, if there is a path."""
    if path is not None:
        figure.savefig(path, dpi=150, metadata=_UNDATED.get(path.suffix.lower()))


def check_scale(function: str, log: Any) -> None:
    """Check the option ``log`` of a function.

    Raises
    ------
    OptionError
        If it is something else.
    """
    if not (isinstance(log, bool | np.bool_) or (isinstance(log, str) and log == "auto")):
        raise errors.OptionError(f"{function}: log={errors.describe(log)}. It must be True, False or 'auto'")


def is_logarithmic(log: Scale, values: np.ndarray) -> bool:
    """Whether these values are drawn on a logarithmic axis.

    Parameters
    ----------
    log : bool or "auto"
        "auto" if all finite values are positive and span two decades.
    values : numpy.ndarray
        Any shape; may hold NaN and infinities.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.viz.training import is_logarithmic
    >>> is_logarithmic("auto", np.array([1e-3, 5.0, np.inf]))
    True
    """
    finite = values[np.isfinite(values)]
    if log != "auto":
        return bool(log) and bool((finite > 0).any())
    if not finite.size or finite.min() <= 0:
        return False
    return bool(np.log10(finite.max()) - np.log10(finite.min()) >= _DECADES)


def mark_nonfinite(axes: Any, places: np.ndarray, color: str = RED) -> Any:
    """Draw crosses along the upper edge where values are not finite, at most 500, and return the artist."""
    shown = places[np.unique(np.linspace(0, len(places) - 1, _MARKS).astype(int))]
    (artist,) = axes.plot(
        shown,
        np.full(len(shown), 0.985),
        linestyle="",
        marker="x",
        color=color,
        markersize=6,
        markeredgewidth=1.6,
        clip_on=False,
        transform=axes.get_xaxis_transform(),
    )
    return artist


def caption(value: float) -> str:
    """Format a number for a caption: three digits, a real minus sign."""
    return brief(value, 3).replace("-", "\N{MINUS SIGN}")


def listed(words: Sequence[str]) -> str:
    """Join words by the dot that separates facts in a caption."""
    return " \N{MIDDLE DOT} ".join(words)
