"""Curves as a picture file, through matplotlib, which is imported only here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tape import errors
from tape.command.sampling import Curve, limits, panels

__all__ = ["save"]

_COLOURS = ("#2a78d6", "#d97706", "#2f9e51", "#a43fb5", "#d92d20", "#5b6570")


def save(curves: Sequence[Curve], text: str, name: str, path: str) -> None:
    """Write a picture of a function and its derivatives.

    Parameters
    ----------
    curves : sequence of Curve
        Of order 0, 1, ...
    text : str
        The expression, for the title.
    name : str
        The variable, for the axis.
    path : str
        Its ending says what kind of file: ``.png``, ``.svg``, ``.pdf``.

    Raises
    ------
    OptionError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise errors.OptionError(
            "--out needs matplotlib, which is not installed: pip install matplotlib"
        ) from error
    groups = panels(curves)
    figure = Figure(figsize=(8, 4.5 if len(groups) == 1 else 2.5 * len(groups)), layout="constrained")
    for axes, group in zip(
        figure.subplots(len(groups), sharex=True, squeeze=False)[:, 0], groups, strict=True
    ):
        axes.axhline(0, color="#a9b2bb", linewidth=0.8)
        for curve in group:
            x, y = _with_gaps(curve)
            axes.plot(x, y, color=_COLOURS[curve.order % len(_COLOURS)], label=curve.label)
        axes.set_ylim(*limits(group))
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    axes.set_xlabel(name)
    axes.set_xlim(curves[0].x[0], curves[0].x[-1])
    title = " ".join(f"f({name}) = {text}".split()).replace("$", r"\$")
    figure.suptitle(title if len(title) <= 80 else f"{title[:77]}...")
    figure.savefig(path, dpi=150, metadata={"Date": None} if path.lower().endswith(".svg") else None)


def _with_gaps(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    """The points of a curve, with NaN put in wherever it is broken."""
    after = np.flatnonzero(curve.breaks) + 1
    return np.insert(curve.x, after, np.nan), np.insert(curve.y, after, np.nan)
