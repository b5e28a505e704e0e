"""What the pictures of a training share: their colours, their frame, their scale, where they are saved.

`tape.viz.curve`, `tape.viz.histograms` and `tape.viz.landscape` rely on it. matplotlib is imported when
the first picture is drawn, and no global state of it is touched.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tape import errors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "BLUE",
    "COLORS",
    "GREY",
    "INK",
    "RED",
    "Scale",
    "check_path",
    "dress",
    "figure_of",
    "is_logarithmic",
    "listed",
    "mark_nonfinite",
    "number",
    "save",
]

Scale = bool | Literal["auto"]
"""Whether an axis is logarithmic: True, False, or "auto" to look at the values."""

BLUE, RED = "#4477aa", "#ee6677"
COLORS = (BLUE, "#ee7733", "#228833", "#aa3377", "#33bbee", "#997700", "#666666")
"""Paul Tol's colours, which the colour-blind tell apart: personal.sron.nl/~pault. Red marks what is wrong."""
INK, GREY = "#333333", "#777777"

_DECADES = 2.0
_MARKS = 500


def check_path(path: str | os.PathLike[str] | None) -> Path | None:
    """Where a picture goes, looked at before the work starts.

    Parameters
    ----------
    path : path-like or None
        Ends with ``.png``, ``.svg`` or ``.pdf``; None for nowhere.

    Raises
    ------
    OptionError
        If it ends otherwise, or its folder does not exist.
    """
    if path is None:
        return None
    path = Path(path)
    if path.suffix.lower() not in (".png", ".svg", ".pdf") or path.is_dir():
        raise errors.OptionError(f"path={str(path)!r}. It is the name of a .png, .svg or .pdf file")
    if not path.parent.is_dir():
        raise errors.OptionError(f"path={str(path)!r}: there is no folder {path.parent}. Make it first")
    return path


def figure_of(width: float, height: float) -> Figure:
    """An empty figure, in inches, that belongs to no window.

    Raises
    ------
    UnsupportedError
        If matplotlib is not installed.
    """
    try:
        from tape.viz.picture import Picture
    except ImportError as error:
        raise errors.UnsupportedError(
            "pictures of a training are drawn by matplotlib, which is not installed: pip install matplotlib"
        ) from error
    return Picture(figsize=(width, height), layout="constrained", facecolor="white")


def dress(axes: Any, *, grid: Literal["x", "y", "both"] = "both") -> None:
    """A light frame: two spines, a faint grid behind everything, small grey ticks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GREY)
    axes.grid(axis=grid, color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, labelsize="small", color=GREY)


def save(figure: Figure, path: Path | None) -> None:
    """Save the picture, unless it goes nowhere."""
    if path is not None:
        figure.savefig(path, dpi=150)


def is_logarithmic(function: str, log: Scale, values: np.ndarray) -> bool:
    """Whether these values are drawn on a logarithmic axis.

    Parameters
    ----------
    function : str
        Who asks, for the message.
    log : bool or "auto"
        "auto" if all finite values are positive and span two decades.
    values : numpy.ndarray
        Any shape; may hold NaN and infinities.

    Raises
    ------
    OptionError
        If ``log`` is something else.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.viz.training import is_logarithmic
    >>> is_logarithmic("curve", "auto", np.array([1e-3, 5.0, np.inf]))
    True
    """
    if log not in (True, False, "auto"):
        raise errors.OptionError(f"{function}: log={log!r}. It is True, False or 'auto'")
    finite = values[np.isfinite(values)]
    if log != "auto":
        return bool(log) and bool((finite > 0).any())
    if not finite.size or finite.min() <= 0:
        return False
    return bool(np.log10(finite.max()) - np.log10(finite.min()) >= _DECADES)


def mark_nonfinite(axes: Any, places: np.ndarray, color: str = RED) -> Any:
    """Crosses along the upper edge where values are not finite; of very many only some. The artist."""
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


def number(value: float) -> str:
    """A number in a caption: three digits, a real minus sign."""
    return f"{value:.3g}".replace("-", "\N{MINUS SIGN}")


def listed(words: Sequence[str]) -> str:
    """Words, separated by the dot that separates facts in a caption."""
    return " \N{MIDDLE DOT} ".join(words)
