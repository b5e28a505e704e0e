"""The learning curve: the loss at each step, smoothed, with its minimum and the first non-finite value.

Relies on `tape.viz.training` for the figure; knows nothing of where the numbers come from.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tape import errors
from tape.core.node import plain
from tape.viz.drawing import checked_path
from tape.viz.options import check_number
from tape.viz.style import CURVES
from tape.viz.training import (
    EXTENSIONS,
    INK,
    RED,
    Scale,
    caption,
    check_scale,
    dress,
    figure_of,
    is_logarithmic,
    listed,
    mark_nonfinite,
    save,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHORT = 100  # up to here nothing is smoothed unless asked for
_PIXELS = 1000  # longer curves are drawn as the band between least and largest


class _Losses(NamedTuple):
    name: str
    steps: np.ndarray
    values: np.ndarray


def curve(
    losses: Sequence[Any] | Mapping[str, Any],
    path: str | os.PathLike[str] | None = None,
    *,
    smooth: int | None = None,
    log: Scale = "auto",
    label: str = "loss",
) -> Figure:
    """Draw the loss at each step of a training.

    Parameters
    ----------
    losses : sequence of float, or mapping
        The loss at steps 0, 1, 2, ... For several curves a mapping from names to such sequences. A loss
        that is not evaluated at every step is a mapping from steps to losses:
        ``{"training": losses, "validation": {0: 2.3, 100: 0.7}}``.
    path : path-like, optional
        The file to save it to: .png, .svg or .pdf.
    smooth : int, optional
        The number of entries averaged for the strong line, over the raw values in faint colour; on a
        logarithmic axis it is their geometric mean. 1 for none. By default a fiftieth of a curve that
        is longer than 100 entries.
    log : bool or "auto"
        Whether the axis of the loss is logarithmic; "auto" if all is positive and spans two decades.
        There, values that are not positive are marked like non-finite ones.
    label : str
        The name of the axis, and of a single curve.

    Returns
    -------
    matplotlib.figure.Figure
        Notebooks show it. The legend shows each curve's last value and minimum. NaN and infinities are
        crosses at the upper edge, and the legend names the first step that had one.

    Raises
    ------
    OptionError
        If there are no losses, they are not sequences of real numbers, or an option or path is invalid.
    UnsupportedError
        If matplotlib is not installed.

    Examples
    --------
    >>> from tape.viz.curve import curve
    >>> figure = curve([4.0, 2.0, 1.0, 0.01, float("nan")])
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['loss: last 0.01 · min 0.01 at step 3', 'NaN at step 4']
    """
    checked = checked_path(path, EXTENSIONS)
    if smooth is not None:
        check_number("curve: smooth", smooth, "a number of steps, 1 for none", 1, is_whole=True)
    check_scale("curve", log)
    curves = _curves(losses, label)
    is_log = is_logarithmic(log, np.concatenate([each.values for each in curves]))

    figure = figure_of(7.5, 4.2)
    axes: Any = figure.subplots()
    dress(axes)
    axes.set_xlabel("step", color=INK)
    axes.set_ylabel(label, color=INK)
    axes.set_yscale("log" if is_log else "linear")
    if is_log:
        _widen(axes, np.concatenate([each.values for each in curves]))
    entries: list[tuple[Any, str]] = []
    for k, each in enumerate(curves):
        entries += _draw(axes, each, CURVES[k % len(CURVES)], smooth, is_log, len(curves) > 1)
    axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    if all(np.ptp(each.steps) == 0 for each in curves):
        axes.set_xlim(curves[0].steps[0] - 0.5, curves[0].steps[0] + 0.5)
    figure.legend(
        *zip(*entries, strict=True), loc="outside upper left", frameon=False, fontsize="small", labelcolor=INK
    )
    save(figure, checked)
    return figure


def _widen(axes: Any, values: np.ndarray) -> None:
    """Set the limits of a logarithmic axis, before drawing, for values that differ by rounding only."""
    decades = np.log10(values[np.isfinite(values) & (values > 0)])
    if decades.size and np.ptp(decades) < 1e-9:
        axes.set_ylim(*10.0 ** (np.clip(decades[0], -306, 307) + np.array([-1.0, 1.0])))


def _curves(losses: Any, label: str) -> list[_Losses]:
    """Return each curve with its steps, checked."""
    if not isinstance(losses, Mapping):
        return [_curve(label, losses)]
    if not losses:
        raise errors.OptionError("curve: there are no losses to draw. Give at least one curve")
    return [_curve(str(name), values) for name, values in losses.items()]


def _curve(name: str, losses: Any) -> _Losses:
    if isinstance(losses, Mapping):
        pairs = sorted(losses.items())
        steps = _numbers(f"the steps of {name}", [step for step, _ in pairs])
        return _Losses(name, steps, _numbers(name, [loss for _, loss in pairs]))
    values = _numbers(name, losses)
    return _Losses(name, np.arange(len(values), dtype=float), values)


def _numbers(name: str, values: Any) -> np.ndarray:
    try:
        array = np.asarray([plain(value) for value in values])
        array = array.astype(np.float64, casting="unsafe" if array.dtype == object else "same_kind")
    except (TypeError, ValueError) as error:
        raise errors.OptionError(f"curve: {name} is not a sequence of real numbers: {error}") from error
    if array.ndim != 1:
        raise errors.OptionError(
            f"curve: {name} has shape {list(array.shape)}. Give one number a step, such as their mean"
        )
    if not array.size:
        raise errors.OptionError(f"curve: {name} is empty. Draw it after the first step")
    return array


def _draw(
    axes: Any, each: _Losses, color: str, smooth: int | None, is_log: bool, is_named: bool
) -> list[tuple[Any, str]]:
    """Draw one curve, and return its entries of the legend."""
    name, steps, values = each
    drawable = np.isfinite(values) & (values > 0 if is_log else True)
    shown = np.where(drawable, values, np.nan)
    count = len(values)
    width = smooth or (count // 50 if count > _SHORT else 1)
    strong = {"color": color, "linewidth": 1.8, "solid_capstyle": "round"}
    if width > 1:
        axes.plot(*_outline(steps, shown), color=color, alpha=0.3, linewidth=0.8)
        every = slice(None, None, max(1, count // _PIXELS))
        (line,) = axes.plot(steps[every], _smoothed(shown, width, is_log)[every], **strong)
    else:
        marker = "o" if drawable.sum() <= 30 else None
        (line,) = axes.plot(*_outline(steps, shown), marker=marker, markersize=4, **strong)

    facts = []
    if drawable.any():
        least = int(np.nanargmin(shown))
        axes.plot(
            steps[least], shown[least], "o", color="white", markeredgecolor=color, markersize=8, zorder=3
        )
        facts.append(f"last {caption(shown[drawable][-1])}")
        facts.append(f"min {caption(shown[least])} at step {steps[least]:,.0f}")
    entries = [(line, f"{name}: {listed(facts) or 'nothing to draw'}")]
    if not drawable.all():
        cross = mark_nonfinite(axes, steps[~drawable], color if is_named else RED)
        entries.append((cross, f"{name}: {_broken(each, drawable)}" if is_named else _broken(each, drawable)))
    return entries


def _broken(each: _Losses, drawable: np.ndarray) -> str:
    """Describe the first value that cannot be drawn: where it is, what it is, how many follow."""
    (places,) = np.nonzero(~drawable)
    value = each.values[places[0]]
    what = "NaN" if np.isnan(value) else caption(value)
    more = f", {len(places) - 1:,} more after it" if len(places) > 1 else ""
    return f"{what} at step {each.steps[places[0]]:,.0f}{more}"


def _smoothed(values: np.ndarray, width: int, is_log: bool) -> np.ndarray:
    """Return the moving average over ``width`` entries, on the scale they are drawn on.

    In decades on a logarithmic axis, so that running sums lose nothing that could be seen.
    """
    is_number = ~np.isnan(values)
    scale = np.abs(values[is_number]).max(initial=0.0) or 1.0  # sums of it cannot overflow
    terms = np.log10(values) if is_log else values / scale
    sums = np.concatenate([[0.0], np.cumsum(np.where(is_number, terms, 0.0))])
    counts = np.concatenate([[0], np.cumsum(is_number)])
    centre = np.arange(len(values))
    low = np.maximum(centre - width // 2, 0)
    high = np.minimum(centre + (width + 1) // 2, len(values))
    means = (sums[high] - sums[low]) / np.maximum(counts[high] - counts[low], 1)
    return np.where(is_number, 10.0**means if is_log else means * scale, np.nan)


def _outline(steps: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reduce a curve to a few thousand points that look the same: the least and largest of each stretch."""
    if len(values) <= 4 * _PIXELS:
        return steps, values
    starts = np.arange(0, len(values), len(values) // _PIXELS)
    extremes = np.stack([np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)], axis=1)
    return np.repeat(steps[starts], 2), extremes.ravel()
