"""Images at other points: enlarged or reduced along each axis, or read at points of a grid.

A new element is a sum of a few old ones along each axis, its taps: one for the nearest, two for linear and
four for cubic interpolation (Keys 1981, with a = -0.75).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from math import floor
from typing import Any

import numpy as np

from tape.errors import OptionError, ShapeError
from tape.ops.elementwise.complex import absolute
from tape.ops.elementwise.limits import clip
from tape.ops.elementwise.rounding import floor as floor_of
from tape.ops.elementwise.rounding import rint
from tape.ops.elementwise.selection import where
from tape.ops.nn.adaptive_pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from tape.ops.nn.geometry import per_axis, wholes
from tape.ops.nn.losses import reals
from tape.ops.products.products import matmul
from tape.ops.structure.axes import moveaxis
from tape.ops.structure.indexing import getitem
from tape.ops.structure.shape import astype, reshape
from tape.ops.structure.taking import taken

_AREA = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}
_RANKS = {"linear": (1,), "bilinear": (2,), "bicubic": (2,), "trilinear": (3,)}
_ANY_RANK = ("nearest", "nearest-exact", "area")


# ---- taps --------------------------------------------------------------------------------------------------


def _cubic(t: Any) -> list[Any]:
    """Return the weights of the elements at -1, 0, 1 and 2 for a point at t between 0 and 1."""
    a = -0.75
    near, far = [t, 1 - t], [t + 1, 2 - t]
    inner = [((a + 2) * s - (a + 3)) * s * s + 1 for s in near]
    outer = [((a * s - 5 * a) * s + 8 * a) * s - 4 * a for s in far]
    return [outer[0], inner[0], inner[1], outer[1]]


@lru_cache(maxsize=256)
def _taps(
    mode: str, length: int, count: int, scale: float, align_corners: bool
) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Return the positions of old elements along an axis, and the weights that they are multiplied by."""
    at = np.arange(count)
    if mode.startswith("nearest"):
        middle = 0.5 if mode == "nearest-exact" else 0.0
        return [(np.minimum(np.floor((at + middle) * scale).astype(np.intp), length - 1), None)]
    if align_corners:
        points = at * ((length - 1) / (count - 1) if count > 1 else 0.0)
    else:
        points = (at + 0.5) * scale - 0.5
    if mode == "bicubic":
        below = np.floor(points).astype(np.intp)
        weights = _cubic(points - below)
        return [(np.clip(below + k - 1, 0, length - 1), weights[k]) for k in range(4)]
    points = np.maximum(points, 0.0)
    below = np.minimum(np.floor(points).astype(np.intp), length - 1)
    share = points - below
    return [(below, 1 - share), (np.minimum(below + 1, length - 1), share)]


def interpolate(
    x: Any,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool = False,
) -> Any:
    """Enlarge or reduce images.

    Parameters
    ----------
    x : array_like or Var
        ``(N, C, length)``, ``(N, C, height, width)`` or ``(N, C, depth, height, width)``.
    size : int or sequence of int, optional
        The new lengths: one for all axes, or one for each.
    scale_factor : float or sequence of float, optional
        What lengths are multiplied by, rounded down. One of the two must be given.
    mode : {"nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area"}
        How old elements are combined: the one before or the nearest one; linear or cubic interpolation, of
        one, two or three axes; the mean of those that a new element covers.
    align_corners : bool
        Whether the middles of the elements at the ends stay where they are; otherwise the ends of these do.

    Returns
    -------
    numpy.ndarray or Var
        ``(N, C, *size)``.

    Raises
    ------
    ShapeError
        If x has another number of axes, or is empty along one of those.
    OptionError
        If there is no such mode for this number of axes, or not one of ``size`` and ``scale_factor``.
    DTypeError
        If x is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.interpolate(np.array([[[1.0, 3.0]]]), 4, mode="linear")
    array([[[1. , 1.5, 2.5, 3. ]]])
    >>> tape.nn.interpolate(np.array([[[1.0, 3.0]]]), scale_factor=2.0)
    array([[[1., 1., 3., 3.]]])
    """
    (x,) = reals("interpolate", x)
    rank = len(x.shape) - 2
    if rank not in (1, 2, 3):
        raise ShapeError(
            f"interpolate: x has shape {list(x.shape)}. It must be (N, C, ...), with 1 to 3 axes"
        )
    if mode not in _ANY_RANK and rank not in _RANKS.get(mode, ()):
        fitting = [*_ANY_RANK, *(known for known, ranks in _RANKS.items() if rank in ranks)]
        raise OptionError(f"interpolate: mode={mode!r} with {rank} axes. It must be one of {fitting}")
    if align_corners and mode in _ANY_RANK:
        raise OptionError(f"interpolate: mode={mode!r} takes no align_corners")
    spatial = x.shape[2:]
    counts, scales = _sizes(spatial, size, scale_factor)
    if mode == "area":
        return _AREA[rank](x, counts)
    for axis, (length, count, scale) in enumerate(zip(spatial, counts, scales, strict=True), 2):
        taps = _taps(mode, length, count, scale, bool(align_corners))
        parts = [_weighted(taken(x, places, axis), weights, axis) for places, weights in taps]
        x = sum(parts[1:], start=parts[0])
    return x


def _weighted(x: Any, weights: np.ndarray | None, axis: int) -> Any:
    if weights is None:
        return x
    shape = (-1, *(1,) * (len(x.shape) - axis - 1))
    return x * weights.reshape(shape).astype(x.dtype if x.dtype.kind == "f" else np.float64)


def _sizes(
    spatial: tuple[int, ...], size: Any, scale_factor: Any
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the new lengths, and the distances between new elements in old ones."""
    name, rank = "interpolate", len(spatial)
    if (size is None) == (scale_factor is None):
        raise OptionError(
            f"{name}: size={size!r} and scale_factor={scale_factor!r}. One of them must be given"
        )
    if not all(spatial):
        raise ShapeError(f"{name}: there is nothing in {list(spatial)} elements to interpolate")
    if size is not None:
        counts = per_axis(name, "size", size, rank, 1)
        return counts, tuple(length / count for length, count in zip(spatial, counts, strict=True))
    given = tuple(scale_factor) if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * rank
    try:
        factors = tuple(map(float, given))
    except (TypeError, ValueError):
        factors = ()
    if len(factors) != rank or not all(0 < factor < np.inf for factor in factors):
        raise OptionError(
            f"{name}: scale_factor={scale_factor!r}. It must be positive, one or one for each axis"
        )
    counts = tuple(floor(length * factor) for length, factor in zip(spatial, factors, strict=True))
    if not all(counts):
        raise OptionError(f"{name}: scale_factor={scale_factor!r} leaves nothing of {list(spatial)} elements")
    return counts, tuple(1 / factor for factor in factors)


# ---- grids -------------------------------------------------------------------------------------------------


def affine_grid(theta: Any, size: Sequence[int], align_corners: bool = False) -> Any:
    """Return the points that affine maps take the middles of pixels to, for `grid_sample`.

    Parameters
    ----------
    theta : array_like or Var
        ``(N, 2, 3)``: the maps, of points (x, y, 1) between -1 and 1; or ``(N, 3, 4)``.
    size : sequence of int
        The shape of the images, ``(N, C, height, width)``; or ``(N, C, depth, height, width)``.
    align_corners : bool
        Whether -1 and 1 are the middles of the pixels at the ends; otherwise the ends of these.

    Returns
    -------
    numpy.ndarray or Var
        ``(N, height, width, 2)``, or ``(N, depth, height, width, 3)``.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    DTypeError
        If an operand is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> same = np.array([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> tape.nn.affine_grid(same, (1, 1, 1, 2))
    array([[[[-0.5,  0. ],
             [ 0.5,  0. ]]]])
    """
    (theta,) = reals("affine_grid", theta)
    size = wholes("affine_grid", "size", size, 0)
    rank = len(size) - 2
    if rank not in (2, 3) or theta.shape != (size[0], rank, rank + 1):
        raise ShapeError(
            f"affine_grid: theta has shape {list(theta.shape)}, for images {list(size)}. It must be (N, 2, 3)"
            " for (N, C, height, width), or (N, 3, 4) for (N, C, depth, height, width)"
        )
    axes = []
    for n in size[2:]:
        middles = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        axes.append(middles if align_corners else middles * ((n - 1) / n))
    points = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(tuple(size[2:]))], axis=-1)
    flat = points.reshape(-1, rank + 1).astype(theta.dtype if theta.dtype.kind == "f" else np.float64)
    return reshape(matmul(flat, moveaxis(theta, 1, 2)), (size[0], *size[2:], rank))


def grid_sample(
    x: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Any:
    """Read images at points: interpolation that is differentiable by the images and by the points.

    Parameters
    ----------
    x : array_like or Var
        ``(N, C, height, width)``, or ``(N, C, depth, height, width)``.
    grid : array_like or Var
        ``(N, ..., 2)`` or ``(N, ..., 3)`` with as many axes as x: points (x, y[, z]) between -1 and 1.
    mode : {"bilinear", "nearest", "bicubic"}
        Linear interpolation, also of three axes; the nearest pixel; or cubic interpolation, of two axes.
    padding_mode : {"zeros", "border", "reflection"}
        What is outside: nothing, the pixel at the end, or the image mirrored.
    align_corners : bool
        Whether -1 and 1 are the middles of the pixels at the ends; otherwise the ends of these.

    Returns
    -------
    numpy.ndarray or Var
        ``(N, C, ...)``, with the axes of the grid.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If there is no such mode.
    DTypeError
        If an operand is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> image = np.array([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> tape.nn.grid_sample(image, np.array([[[[0.0, 0.0], [0.5, 0.5]]]]))
    array([[[[2.5, 4. ]]]])
    """
    x, grid = reals("grid_sample", x, grid)
    rank = len(x.shape) - 2
    if rank not in (2, 3) or len(grid.shape) != rank + 2 or grid.shape[:: rank + 1] != (x.shape[0], rank):
        raise ShapeError(
            f"grid_sample: x has shape {list(x.shape)}, grid {list(grid.shape)}. They must be (N, C, H, W)"
            " and (N, h, w, 2), or (N, C, D, H, W) and (N, d, h, w, 3)"
        )
    if mode not in ("bilinear", "nearest", "bicubic") or (mode == "bicubic" and rank == 3):
        raise OptionError(
            f"grid_sample: mode={mode!r}. It must be 'bilinear', 'nearest' or, of images, 'bicubic'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise OptionError(
            f"grid_sample: padding_mode={padding_mode!r}. It must be 'zeros', 'border' or 'reflection'"
        )
    if not all(x.shape[2:]):
        raise ShapeError(f"grid_sample: there is nothing in {list(x.shape[2:])} elements to read")
    taps = []
    for axis, n in enumerate(x.shape[2:]):
        point = _unscaled(getitem(grid, (..., rank - 1 - axis)), n, align_corners)
        taps.append(_at_points(point, n, mode, padding_mode, align_corners))
    each = np.arange(x.shape[0]).reshape(-1, *(1,) * rank)
    parts = []
    for chosen in product(*taps):
        places, weights, insides = zip(*chosen, strict=True)
        read = getitem(x, (each, slice(None), *places))  # (N, ..., C)
        factor = _product([weight for weight in weights if weight is not None])
        inside = _product([inside for inside in insides if inside is not None], lambda a, b: a & b)
        if factor is not None:
            read = read * reshape(factor, (*factor.shape, 1))
        parts.append(read if inside is None else where(reshape(inside, (*inside.shape, 1)), read, 0))
    return moveaxis(sum(parts[1:], start=parts[0]), -1, 1)


def _product(factors: Sequence[Any], times: Callable[[Any, Any], Any] = lambda a, b: a * b) -> Any:
    out = None
    for factor in factors:
        out = factor if out is None else times(out, factor)
    return out


def _unscaled(point: Any, n: int, align_corners: bool) -> Any:
    """Return positions among n pixels, of points between -1 and 1."""
    return (point + 1) * ((n - 1) / 2) if align_corners else (point + 1) * (n / 2) - 0.5


def _at_points(point: Any, n: int, mode: str, padding_mode: str, align_corners: bool) -> list[Any]:
    """Return for each tap its position, its weight (None for 1), and whether it is inside (None: always)."""
    if mode != "bicubic":
        point = _drawn_inside(point, n, padding_mode, align_corners)
    if mode == "nearest":
        return [_tap(rint(point), None, n, padding_mode, align_corners)]
    below = floor_of(point)
    share = point - below
    if mode == "bilinear":
        return [
            _tap(below, 1 - share, n, padding_mode, align_corners),
            _tap(below + 1, share, n, padding_mode, align_corners),
        ]
    weights = _cubic(share)
    return [
        _tap(_drawn_inside(below + (k - 1), n, padding_mode, align_corners), weights[k], n, padding_mode,
             align_corners)
        for k in range(4)
    ]  # fmt: skip


def _tap(at: Any, weight: Any, n: int, padding_mode: str, align_corners: bool) -> tuple[Any, Any, Any]:
    inside = (at >= 0) & (at <= n - 1) if padding_mode == "zeros" else None
    held = clip(where(at == at, at, 0), 0, n - 1)  # NaN is no position
    return astype(held, np.intp), weight, inside


def _drawn_inside(point: Any, n: int, padding_mode: str, align_corners: bool) -> Any:
    """Return positions that are among the pixels, but for padding with zeros."""
    if padding_mode == "zeros":
        return point
    if padding_mode == "reflection":
        low, span = (0.0, n - 1) if align_corners else (-0.5, n)
        if span == 0:
            return clip(point, 0, 0)
        away = absolute(point - low)
        flips = floor_of(away / span)
        rest = away - flips * span
        point = where(flips % 2 == 0, rest + low, span - rest + low)
    return clip(point, 0, n - 1)
