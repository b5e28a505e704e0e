"""Plots as picture files, in the style of `tape.viz.training`; imports matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tape.command.sampling import Curve, limits, panels
from tape.inspect.words import one_line
from tape.viz import training
from tape.viz.style import CURVES


def save(curves: Sequence[Curve], text: str, name: str, path: Path | None) -> None:
    """Write a picture of a function and its derivatives.

    Parameters
    ----------
    curves : sequence of Curve
        Of order 0, 1, ...
    text : str
        The expression, for the title.
    name : str
        The variable, for the axis.
    path : pathlib.Path or None
        Its ending says what kind of file: ``.png``, ``.svg``, ``.pdf``.

    Raises
    ------
    UnsupportedError
        If matplotlib is not installed.
    """
    groups = panels(curves)
    figure = training.figure_of(8, 4.5 if len(groups) == 1 else 2.5 * len(groups))
    stacked: Any = figure.subplots(len(groups), sharex=True, squeeze=False)
    for axes, group in zip(stacked[:, 0], groups, strict=True):
        training.dress(axes)
        axes.axhline(0, color=training.GREY, linewidth=0.8)
        for curve in group:
            x, y = _with_gaps(curve)
            axes.plot(x, y, color=CURVES[curve.order % len(CURVES)], label=curve.label)
        axes.set_ylim(*limits(group))
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1), labelcolor=training.INK)
    axes.set_xlabel(name, color=training.INK)
    axes.set_xlim(curves[0].x[0], curves[0].x[-1])
    figure.suptitle(one_line(f"f({name}) = {text}", 80).replace("$", r"\$"), color=training.INK)
    training.save(figure, path)


def _with_gaps(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of a curve, with NaN inserted wherever it is broken."""
    after = np.flatnonzero(curve.breaks) + 1
    return np.insert(curve.x, after, np.nan), np.insert(curve.y, after, np.nan)
