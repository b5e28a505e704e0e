"""A function of one variable and its derivatives on a grid, and the range that a plot shows.

Knows nothing of how plots are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tape import errors
from tape.transforms import taylor

FAR = 1e300
"""Larger values are not drawn; differences of smaller ones do not overflow."""

_NEAR = 1e-290
"""Curves that reach no further than this are flat."""

_CHECKED = 5
"""The number of points where the function is evaluated alone, to check that it works point by point."""

_STEEP = 20.0
"""Values further out than this many times the spread of most values are cut off."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One curve of a plot.

    Attributes
    ----------
    order : int
        Which derivative it is; 0 for the function itself.
    x, y : numpy.ndarray, shape [points]
        NaN where there is nothing to draw.
    breaks : numpy.ndarray of bool, shape [points - 1]
        Whether there is a pole or a jump between a point and the next: no line goes across.
    """

    order: int
    x: np.ndarray
    y: np.ndarray
    breaks: np.ndarray

    @property
    def label(self) -> str:
        """The name of the curve: ``f``, ``f'``, ``f''``, ``f'''``, ``f(4)``, ..."""
        return "f" + "'" * self.order if self.order < 4 else f"f({self.order})"

    @property
    def is_empty(self) -> bool:
        """Whether no point is finite."""
        return not np.any(np.isfinite(self.y))


def sample(f: Callable[[Any], Any], x: np.ndarray, order: int, text: str) -> list[Curve]:
    """Evaluate a function and its derivatives, all in one sweep of power series over the whole grid.

    One more derivative than ``order`` shows where a curve is broken: where it rises at two points and
    yet is lower at the second, there is a pole or a jump between them.

    Parameters
    ----------
    f : callable
        Of one array, element by element.
    x : numpy.ndarray, shape [points]
        Where; increasing.
    order : int
        The highest derivative wanted.
    text : str
        The name of the function in messages.

    Returns
    -------
    list of Curve
        One of each order from 0 up.

    Raises
    ------
    OptionError
        If ``f`` does not work element by element, or has complex values.
    TapeError
        If it is finite nowhere on the grid.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.command.sampling import sample
    >>> [curve.label for curve in sample(np.sin, np.linspace(0.0, 1.0, 5), 2, "sin(x)")]
    ['f', "f'", "f''"]
    """
    with np.errstate(all="ignore"):
        # Times one, what is true or false is drawn as 1 or 0.
        series = np.asarray(taylor(lambda x: 1.0 * f(x), x, np.ones_like(x), order + 1))
        if np.iscomplexobj(series):
            raise errors.OptionError(f"{text} has complex values. Plot its real, imag or abs")
        if series.shape == (order + 2,):  # a constant is one number
            series = np.broadcast_to(series[:, None], (order + 2, len(x)))
        if series.shape != (order + 2, len(x)) or not _works_alone(f, x, series[0]):
            raise errors.OptionError(
                f"{text} does not work point by point: the value at one x depends on the others. Plot a "
                "function of a single number"
            )
        ys = np.where(np.abs(series) < FAR, series, np.nan)
        curves = [Curve(k, x, ys[k], _breaks(ys[k], ys[k + 1])) for k in range(order + 1)]
    if curves[0].is_empty:
        raise errors.TapeError(f"{text} is finite nowhere from {x[0]:g} to {x[-1]:g}. Try another range")
    return curves


def _works_alone(f: Callable[[Any], Any], x: np.ndarray, y: np.ndarray) -> bool:
    chosen = np.linspace(0, len(x) - 1, _CHECKED).astype(int)
    alone = [np.asarray(f(x[i])) for i in chosen]
    return all(one.ndim == 0 for one in alone) and np.allclose(alone, y[chosen], rtol=1e-6, equal_nan=True)


def _breaks(y: np.ndarray, slope: np.ndarray) -> np.ndarray:
    rises = np.sign(np.diff(y))
    return (rises * np.sign(slope[:-1]) < 0) & (rises * np.sign(slope[1:]) < 0)


def limits(curves: Sequence[Curve]) -> tuple[float, float]:
    """Return the vertical range of a plot of these curves: poles are cut off, a margin is added.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.command.sampling import limits, sample
    >>> low, high = limits(sample(np.tan, np.linspace(-6.0, 6.0, 501), 0, "tan(x)"))
    >>> -100 < low < -3 and 3 < high < 100
    True
    """
    ranges = [_range(curve) for curve in curves if not curve.is_empty]
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    size = max(abs(low), abs(high))
    if high - low <= max(1e-12 * size, _NEAR):  # constant, but for rounding
        room = size / 2 if size > _NEAR else 1.0
        return low - room, high + room
    room = (high - low) / 40
    return low - room, high + room


def _range(curve: Curve) -> tuple[float, float]:
    y = curve.y[np.isfinite(curve.y)]
    low, high = float(np.min(y)), float(np.max(y))
    near_low, near_high = (float(q) for q in np.percentile(y, (5, 95)))
    spread = near_high - near_low
    reach = spread * (3.0 if np.any(curve.breaks) else _STEEP)
    if spread > 0 and high > near_high + reach:
        high = near_high + spread / 2
    if spread > 0 and low < near_low - reach:
        low = near_low - spread / 2
    return low, high


def panels(curves: Sequence[Curve]) -> list[list[Curve]]:
    """Group curves that can share an axis: all of them, or each alone if one would flatten another.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.command.sampling import panels, sample
    >>> x = np.linspace(0.0, 6.0, 100)
    >>> [len(panels(sample(f, x, 1, "f"))) for f in (np.sin, lambda x: np.sin(100 * x))]
    [1, 2]
    """
    drawn = [curve for curve in curves if not curve.is_empty]
    low, high = limits(drawn)
    heights = [own_high - own_low for own_low, own_high in map(_range, drawn)]
    whole = high - low
    if all(height > whole / 6 or height <= 1e-9 * whole for height in heights):  # constants are flat anyway
        return [drawn]
    return [[curve] for curve in drawn]
