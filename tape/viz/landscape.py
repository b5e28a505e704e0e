"""The picture of a slice of a loss landscape: contours, a surface, or a line.

`tape.viz.slices` computes the numbers, `tape.viz.training` makes the figure.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tape.viz.drawing import checked_path
from tape.viz.options import check_choice
from tape.viz.slices import LandscapeSlice, landscape_slice
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
    is_logarithmic,
    listed,
    mark_nonfinite,
    save,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEVELS = 25
_COLORMAP = "viridis"


def landscape(
    f: Callable[[Any], Any],
    params: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    directions: Sequence[Any] | None = None,
    trajectory: Iterable[Any] | None = None,
    span: float = 1.0,
    points: int = 41,
    seed: int = 0,
    filter_axis: int = 0,
    kind: Literal["contour", "surface", "line"] = "contour",
    log: Scale = "auto",
    progress: bool = False,
) -> Figure:
    """Draw a slice of the landscape of a loss around some params.

    The directions are random, with the filter norms of the params, which makes pictures of different
    networks comparable; or given; or the principal components of a training's path, which is drawn in.
    The method is that of Li et al. 2018, "Visualizing the Loss Landscape of Neural Nets",
    arXiv:1712.09913, sections 4 and 7. `landscape_slice` returns the same in numbers.

    Parameters
    ----------
    f : callable
        The loss: ``f(params)`` is a real number. It is called with plain arrays, ``points**2`` times
        (``points`` for a line), which ``tape.compile(f)`` makes fast.
    params : tree
        The centre of the slice. Its float and complex leaves are moved, others are passed on unchanged.
    path : path-like, optional
        The file to save it to: .png, .svg or .pdf.
    directions : sequence of trees, optional
        Two (one for a line), each like ``params``; they are used as they are.
    trajectory : iterable of trees, optional
        Snapshots of the params during a training, drawn as a path in the plane of its two leading
        principal components.
    span : float
        Half the width of the slice, in lengths of the directions. With a trajectory, how many times
        as wide as the path with a margin.
    points : int
        The number of points along each direction; if odd, ``params`` itself is one of them.
    seed : int
        The seed of the random directions.
    filter_axis : int
        Which axis of a matrix counts the filters: 0 if outputs come first, as in `tape.nn`; -1 for
        ``x @ w``.
    kind : {"contour", "surface", "line"}
        The kind of plot.
    log : bool or "auto"
        Whether the loss is on a logarithmic scale; "auto" if all is positive and spans two decades.
    progress : bool
        Whether to show a progress bar (needs tqdm).

    Returns
    -------
    matplotlib.figure.Figure
        Notebooks show it. The star is ``params``; where the loss is not finite, it is hatched.

    Raises
    ------
    OptionError
        If an option or path is invalid, or there is nothing to move.
    ShapeError
        If a direction or snapshot is not like ``params``, or the loss is not one real number.
    UnsupportedError
        If matplotlib is not installed.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.viz.landscape import landscape
    >>> x = np.random.default_rng(0).normal(size=(32, 2))
    >>> def loss(params):
    ...     return np.mean((np.tanh(x @ params["w"]) @ params["v"] - x[:, 0]) ** 2)
    >>> params = {"w": np.eye(2), "v": np.array([1.0, 0.1])}
    >>> figure = landscape(tape.compile(loss), params, points=11, filter_axis=-1)
    >>> figure.axes[0].get_xlabel()
    'direction 1'
    """
    check_choice("kind", kind, ("contour", "surface", "line"))
    checked = checked_path(path, EXTENSIONS)
    check_scale("landscape", log)
    figure = figure_of(6.8, 4.6 if kind == "line" else 5.6)
    found = landscape_slice(
        f,
        params,
        directions,
        trajectory=trajectory,
        dimensions=1 if kind == "line" else 2,
        span=span,
        points=points,
        seed=seed,
        filter_axis=filter_axis,
        progress=progress,
    )
    is_log = is_logarithmic(log, found.loss)
    {"contour": _contour, "surface": _surface, "line": _line}[kind](figure, found, is_log)
    figure.suptitle(_facts(found, is_log), x=0.01, ha="left", fontsize="small", color=INK)
    save(figure, checked)
    return figure


def _drawable(found: LandscapeSlice, is_log: bool) -> np.ndarray:
    return np.isfinite(found.loss) & (found.loss > 0 if is_log else True)


def _facts(found: LandscapeSlice, is_log: bool) -> str:
    """Return the caption: the least loss and its place, and what is not finite."""
    drawable = _drawable(found, is_log)
    facts = []
    if drawable.any():
        shown = np.where(drawable, found.loss, np.inf)
        j, i = np.unravel_index(shown.argmin(), shown.shape)
        place = [found.alpha[i], *([found.beta[j]] if len(found.directions) == 2 else [])]
        facts.append(f"min {caption(shown[j, i])} at ({', '.join(caption(x + 0.0) for x in place)})")
        facts.append(f"max {caption(found.loss[drawable].max())}")
    if not drawable.all():
        what = "not finite or not positive" if is_log else "not finite"
        facts.append(f"{np.sum(~drawable):,} of {drawable.size:,} points {what}")
    return listed(facts)


def _label(found: LandscapeSlice, k: int) -> str:
    if not found.explained:
        return f"direction {k + 1}"
    return f"principal direction {k + 1}: {100 * found.explained[k]:.0f}% of the path's variance"


def _norm(values: np.ndarray, is_log: bool) -> tuple[Any, np.ndarray]:
    """Return the colour scale of losses, and the contour levels."""
    from matplotlib.colors import LogNorm, Normalize

    low, high = values.min(), values.max()
    if is_log:
        low, high = (low, high) if high > low * (1 + 1e-6) else (low / 1.01, high * 1.01)
        return LogNorm(low, high), np.geomspace(low, high, _LEVELS)
    margin = 1e-6 * max(abs(low), abs(high)) or 1e-6
    low, high = (low, high) if high - low > margin else (low - margin, high + margin)
    return Normalize(low, high), np.linspace(low, high, _LEVELS)


# ---- contours ------------------------------------------------------------------------------------


def _contour(figure: Any, found: LandscapeSlice, is_log: bool) -> None:
    axes = figure.subplots()
    dress(axes)
    axes.grid(False)
    axes.set_xlabel(_label(found, 0), color=INK)
    axes.set_ylabel(_label(found, 1), color=INK)
    drawable = _drawable(found, is_log)
    if not drawable.all():
        axes.patch.set(facecolor="0.95", edgecolor="0.7", hatch="////", linewidth=0)
    if drawable.any():
        norm, levels = _norm(found.loss[drawable], is_log)
        loss = np.ma.masked_array(
            np.clip(np.where(drawable, found.loss, levels[0]), levels[0], levels[-1]), ~drawable
        )
        filled = axes.contourf(found.alpha, found.beta, loss, levels, norm=norm, cmap=_COLORMAP)
        axes.contour(found.alpha, found.beta, loss, levels[1:-1:2], colors="white", linewidths=0.4, alpha=0.6)
        bar = figure.colorbar(filled, ax=axes, label="loss", pad=0.02)
        _tick(bar, levels, is_log)
    axes.set(xlim=found.alpha[[0, -1]], ylim=found.beta[[0, -1]])
    if found.trajectory is not None:
        _path(axes, found.trajectory.T)
    axes.plot(0, 0, **_STAR)


_STAR: dict[str, Any] = {
    "marker": "*",
    "color": "white",
    "markeredgecolor": INK,
    "markersize": 14,
    "linestyle": "",
    "zorder": 5,
}


def _path(axes: Any, coordinates: np.ndarray) -> None:
    """Draw the path of the training on a white outline, which stands out on every colour."""
    dots = "." if coordinates.shape[1] <= 200 else ""
    axes.plot(*coordinates, color="white", linewidth=3.0, zorder=3)
    axes.plot(*coordinates, color=RED, linewidth=1.5, marker=dots, markersize=5, zorder=4)
    axes.plot(*coordinates[:, :1], "o", color="white", markeredgecolor=RED, markersize=8, zorder=4)


def _tick(bar: Any, levels: np.ndarray, is_log: bool) -> None:
    """Format labels of the colour scale independently of where decades begin."""
    chosen = levels[:: (_LEVELS - 1) // 6]
    bar.set_ticks(chosen, labels=[caption(level) for level in chosen])
    bar.minorticks_off()
    bar.ax.tick_params(labelsize="small", colors=INK)
    bar.outline.set_visible(False)
    bar.set_label("loss, logarithmic" if is_log else "loss", color=INK)


# ---- the surface ---------------------------------------------------------------------------------


def _surface(figure: Any, found: LandscapeSlice, is_log: bool) -> None:
    from scipy.interpolate import RegularGridInterpolator  # half a second, for whoever imports tape.viz

    axes = figure.add_subplot(projection="3d", computed_zorder=False)
    axes.set_xlabel(_label(found, 0).partition(":")[0], color=INK)
    axes.set_ylabel(_label(found, 1).partition(":")[0], color=INK)
    axes.set_zlabel("log10 of the loss" if is_log else "loss", color=INK)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.pane.set(facecolor="white", edgecolor="0.8")
    axes.tick_params(labelsize="small", colors=INK)
    drawable = _drawable(found, is_log)
    heights = np.full(found.loss.shape, np.nan)
    heights[drawable] = np.log10(found.loss[drawable]) if is_log else found.loss[drawable]
    if not drawable.any():
        return
    norm, _ = _norm(heights[drawable], False)
    alpha, beta = np.meshgrid(found.alpha, found.beta)
    axes.plot_surface(
        alpha,
        beta,
        heights,
        cmap=_COLORMAP,
        norm=norm,
        rcount=80,
        ccount=80,
        linewidth=0.1,
        edgecolor="white",
    )
    axes.set_zlim(norm.vmin, norm.vmax)
    lift = RegularGridInterpolator((found.beta, found.alpha), heights, bounds_error=False)
    if found.trajectory is not None:
        _path(axes, np.array([*found.trajectory.T, lift(found.trajectory[:, ::-1])]))
    centre = lift([[0.0, 0.0]])
    if np.isfinite(centre).all():
        axes.plot([0], [0], centre, **_STAR)
    axes.set_box_aspect(None, zoom=0.92)


# ---- the line ------------------------------------------------------------------------------------


def _line(figure: Any, found: LandscapeSlice, is_log: bool) -> None:
    axes = figure.subplots()
    dress(axes)
    axes.set_xlabel(_label(found, 0), color=INK)
    axes.set_ylabel("loss", color=INK)
    axes.set_yscale("log" if is_log else "linear")
    drawable = _drawable(found, is_log)[0]
    axes.plot(found.alpha, np.where(drawable, found.loss[0], np.nan), color=BLUE, linewidth=1.8)
    if not drawable.all():
        mark_nonfinite(axes, found.alpha[~drawable])
    axes.axvline(0, color=GREY, linewidth=0.8, linestyle=":")
    nearest = int(np.abs(found.alpha).argmin())
    if drawable[nearest]:
        axes.plot(found.alpha[nearest], found.loss[0, nearest], **_STAR)
