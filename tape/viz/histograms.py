"""Histograms of the gradient of each param; for many params, quantiles side by side.

Relies on `tape.viz.training` for the figure and on `tape.tree` for names. Values are counted in units of a
power of ten, so that neither tiny nor huge gradients are lost.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tape import errors, tree
from tape.core.node import plain
from tape.viz.drawing import checked_path
from tape.viz.options import check_trace
from tape.viz.training import (
    BLUE,
    EXTENSIONS,
    GREY,
    INK,
    RED,
    Scale,
    caption,
    check_scale,
    dress,
    figure_of,
    listed,
    save,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tape.core.trace import Trace

_PANELS = 24  # more params than that are drawn as quantiles
_COLUMNS = 4
_ROWS_NAMED = 120
_LOWEST = -307  # powers of ten below lose digits
_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


class _Gradient(NamedTuple):
    """A gradient: its finite elements in units of ``10**exponent``, and the facts in its caption."""

    name: str
    shape: tuple[int, ...]
    exponent: int
    values: np.ndarray
    zeros: float  # share of the elements that are exactly zero; NaN of none
    bad: str  # what is not finite
    is_magnitude: bool


def histograms(
    gradients: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    names: Sequence[str] | None = None,
    trace: Trace | None = None,
    log: Scale = "auto",
) -> Figure:
    """Draw how the elements of each gradient are distributed.

    Up to 24 params get a histogram each, with the gradient's shape, mean, standard deviation and share
    of exact zeros. More params are drawn as one row each: the range, the quartiles and the median of
    log10 of the magnitudes, beside the share of zeros. NaN and infinities are counted in red.

    Parameters
    ----------
    gradients : list or tree
        The result of `Trace.backward_param_grads` or of a function made by `tape.grad`: arrays of any
        shape and numeric dtype. Of complex gradients the magnitude is drawn.
    path : path-like, optional
        The file to save it to: .png, .svg or .pdf.
    names : sequence of str, optional
        The names of the gradients, in order. By default the places in the tree.
    trace : Trace, optional
        The trace whose params these are the gradients of, for their names.
    log : bool or "auto"
        Whether the counts are on a logarithmic axis; "auto" where one bar would dwarf the others.

    Returns
    -------
    matplotlib.figure.Figure
        Notebooks show it.

    Raises
    ------
    OptionError
        If there are no gradients, they are not numeric arrays, there is another number of names, or an
        option or path is invalid.
    UnsupportedError
        If matplotlib is not installed.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.viz.histograms import histograms
    >>> tr = tape.Trace()
    >>> w, b = tr.param(np.linspace(-1, 1, 12).reshape(3, 4), name="w"), tr.param(np.zeros(4), name="b")
    >>> loss = np.sum(np.tanh(np.ones(3) @ w + b) ** 2)
    >>> figure = histograms(tr.backward_param_grads(loss), trace=tr)
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['w  3×4', 'b  4']
    """
    checked = checked_path(path, EXTENSIONS)
    check_scale("histograms", log)
    leaves, structure = tree.flatten(gradients)
    if not leaves:
        raise errors.OptionError("histograms: there are no gradients. Give at least one array")
    called = _names(structure, names, trace)
    if len(called) != len(leaves):
        raise errors.OptionError(
            f"histograms: {len(called)} names for {len(leaves)} gradients. Give one for each, in order"
        )
    parts = [_gradient(name, plain(leaf)) for name, leaf in zip(called, leaves, strict=True)]
    figure = _panels(parts, log) if len(parts) <= _PANELS else _overview(parts)
    save(figure, checked)
    return figure


def _names(structure: Any, names: Sequence[str] | None, trace: Trace | None) -> list[str]:
    if isinstance(names, str) or not isinstance(names, Iterable | None):
        raise errors.OptionError(f"histograms: names must be a list of str, not {errors.describe(names)}")
    if names is not None:
        return [str(name) for name in names]
    if trace is not None:
        check_trace(trace)
        return [param.node.name or f"%{param.id}" for param in trace.params]
    places = (re.sub(r"\['(\w+)'\]", r".\1", name) for name in tree.names(structure, ""))
    return [place.lstrip(".") or "gradient" for place in places]


def _gradient(name: str, leaf: Any) -> _Gradient:
    array = np.asarray(leaf)
    if array.dtype.kind not in "biufc":
        raise errors.OptionError(
            f"histograms: {name} is {errors.describe(leaf)}. Gradients must be arrays of numbers"
        )
    is_complex = array.dtype.kind == "c"
    with np.errstate(all="ignore"):  # the magnitude of a huge complex number may be infinite
        values = np.abs(array).astype(np.float64) if is_complex else array.astype(np.float64)
    values = values.ravel()
    zeros = float(np.mean(values == 0)) if values.size else np.nan
    nans, infinities = int(np.isnan(values).sum()), int(np.isinf(values).sum())
    counted = [(nans, "NaN"), (infinities, "infinite")]
    bad = listed([f"{count:,} {what}" for count, what in counted if count])
    values = values[np.isfinite(values)]
    largest = np.abs(values).max(initial=0.0)
    exponent = int(np.floor(np.log10(largest))) if largest else 0
    exponent = 0 if -2 <= exponent <= 2 else max(exponent, _LOWEST)
    return _Gradient(name, array.shape, exponent, values / 10.0**exponent, zeros, bad, is_complex)


# ---- up to 24: a histogram each ------------------------------------------------------------------


def _panels(parts: Sequence[_Gradient], log: Scale) -> Figure:
    columns = min(len(parts), _COLUMNS) if len(parts) != _COLUMNS else 2
    rows = -(-len(parts) // columns)
    figure = figure_of(max(3.1 * columns, 5.0), max(2.3 * rows, 3.2))
    width = max(30, 100 // columns)
    for axes, part in zip_longest(figure.subplots(rows, columns, squeeze=False).flat, parts):
        if part is None:
            axes.remove()
        else:
            _panel(axes, part, log, width)
    return figure


def _panel(axes: Any, part: _Gradient, log: Scale, width: int) -> None:
    dress(axes, grid="y")
    shape = "\N{MULTIPLICATION SIGN}".join(map(str, part.shape)) or "scalar"
    name = _shortened(part.name, width - len(shape) - len(part.bad))
    axes.set_title(f"{name}  {shape}", loc="left", fontsize="small", fontweight="bold", color=INK, pad=15)
    axes.set_title(part.bad, loc="right", fontsize="small", color=RED, pad=15)
    axes.text(0, 1.03, _facts(part), transform=axes.transAxes, fontsize="x-small", color=GREY)
    if not part.values.size:
        axes.set(xticks=[], yticks=[])
        what = "nothing finite" if part.bad else "no elements"
        axes.text(0.5, 0.5, what, transform=axes.transAxes, ha="center", color=GREY)
        return
    edges = _edges(part.values)
    counts, _ = np.histogram(part.values, edges)
    axes.bar(edges[:-1], counts, np.diff(edges), align="edge", color=BLUE, edgecolor="white", linewidth=0.3)
    if len(counts) == 1:
        axes.margins(x=4.0)
    elif edges[0] < 0 < edges[-1]:
        axes.axvline(0, color=GREY, linewidth=0.8, linestyle=":")
    full = counts[counts > 0]
    is_dwarfing = full.max() > 30 * np.median(full)
    if log is True or (log == "auto" and is_dwarfing):
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.5)
    else:
        axes.yaxis.get_major_locator().set_params(integer=True, min_n_ticks=1, nbins=4)
    axes.xaxis.get_major_locator().set_params(nbins=5)
    unit = f"{'|g|' if part.is_magnitude else 'g'}"
    if part.exponent:
        unit += f"  /  $10^{{{part.exponent}}}$"
    axes.set_xlabel(unit, fontsize="small", color=INK)


def _edges(values: np.ndarray) -> np.ndarray:
    """Return the edges of the bars; of a single bar if all values are about equal."""
    low, high = values.min(), values.max()
    count = int(np.clip(np.sqrt(values.size) * 2, 5, 50))
    edges = np.linspace(low, high, count + 1)
    if high - low > 1e-9 * max(abs(low), abs(high)):
        return edges
    margin = 0.02 * abs(low) or 0.02
    return np.array([low - margin, high + margin])


def _facts(part: _Gradient) -> str:
    """Return mean, standard deviation and share of zeros on a line."""
    if not part.values.size:
        return ""
    mean, deviation = (_scaled(float(f(part.values)), part.exponent) for f in (np.mean, np.std))
    facts = [f"mean {mean}", f"std {deviation}"]
    return listed([*facts, f"{_share(part.zeros)} zeros"] if part.zeros else facts)


def _scaled(value: float, exponent: int) -> str:
    """Return ``value * 10**exponent``, also where a float cannot hold it."""
    if not exponent or not value:
        return caption(value)
    mantissa, _, power = f"{value:.2e}".partition("e")
    return caption(float(mantissa)) + f"e{int(power) + exponent}".replace("-", "\N{MINUS SIGN}")


def _share(share: float) -> str:
    """Format a share in percent; 0 and 100 are exact."""
    if 0 < share < 0.01:
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{100 * share:.0f}%"


def _shortened(text: str, width: int) -> str:
    """Return the text, or its two ends."""
    if len(text) <= width:
        return text
    half = max(width - 3, 4) // 2
    return f"{text[:half]}...{text[-half:]}"


# ---- more: quantiles side by side ----------------------------------------------------------------


def _overview(parts: Sequence[_Gradient]) -> Figure:
    """Draw one row a param, the first on top."""
    figure = figure_of(9.0, 1.2 + 0.15 * min(len(parts), _ROWS_NAMED))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(4, 1))
    rows = np.arange(len(parts))
    quantiles = np.array([_quantiles(part) for part in parts]).T
    least, lower, median, upper, largest = quantiles
    thick = min(5.0, 5.0 * _ROWS_NAMED / len(parts))
    left.hlines(rows, least, largest, color=BLUE, linewidth=thick / 4, alpha=0.6, label="range")
    left.hlines(rows, lower, upper, color=BLUE, linewidth=thick, label="middle half")
    left.plot(median, rows, "o", color="white", markeredgecolor=INK, markersize=thick * 0.8, label="median")
    right.barh(rows, [100 * part.zeros for part in parts], color=BLUE, height=0.7)

    every = -(-len(parts) // _ROWS_NAMED)
    left.set_yticks(rows[::every], [_shortened(part.name, 40) for part in parts[::every]])
    left.set_ylim(len(parts) - 0.4, -0.6)
    for axes, title in (
        (left, "log10 |g| of what is not zero"),
        (right, "zeros, %"),
    ):
        dress(axes, grid="x")
        axes.set_title(title, loc="left", fontsize="small", fontweight="bold", color=INK)
    left.tick_params(axis="y", labelsize="x-small", length=0)
    right.tick_params(axis="y", left=False, labelleft=False)
    right.set_xlim(0, 100)
    for row, part in enumerate(parts):
        if part.bad or not part.values.size:
            right.text(
                3, row, part.bad or "empty", color=RED if part.bad else GREY, fontsize="x-small", va="center"
            )
    figure.legend(loc="outside lower left", ncols=3, frameon=False, fontsize="small", labelcolor=INK)
    return figure


def _quantiles(part: _Gradient) -> np.ndarray:
    magnitudes = np.abs(part.values[part.values != 0])
    if not magnitudes.size:
        return np.full(len(_QUANTILES), np.nan)
    return np.quantile(np.log10(magnitudes), _QUANTILES) + part.exponent
