"""A slice of a loss landscape in numbers: the directions that span it, and the loss at each point.

Li, Xu, Taylor, Studer and Goldstein, "Visualizing the Loss Landscape of Neural Nets", 2018,
arXiv:1712.09913: random directions scaled filter by filter (section 4), or the leading principal components
of a training's path (section 7). Relies on `tape.tree`; knows nothing of pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tape import errors, tree
from tape.core.node import plain
from tape.system.progress import progress_bar
from tape.viz.options import check_number

_MARGIN = 1.2  # of the frame around a trajectory


class LandscapeSlice(NamedTuple):
    """The loss on a line or a plane through ``params``.

    Attributes
    ----------
    alpha : numpy.ndarray
        Coordinates along the first direction, ``(points,)``.
    beta : numpy.ndarray
        Coordinates along the second direction, ``(points,)``; for a line ``(1,)``, a zero.
    loss : numpy.ndarray
        ``loss[j, i]`` is ``f(params + alpha[i] * directions[0] + beta[j] * directions[1])``, NaN and
        infinities included: ``(len(beta), len(alpha))``, float64.
    directions : tuple
        One or two trees like ``params``.
    trajectory : numpy.ndarray or None
        The snapshots projected on the plane, ``(snapshots, 2)``.
    explained : tuple of float
        The share of the trajectory's variance along each direction; empty without one.
    """

    alpha: np.ndarray
    beta: np.ndarray
    loss: np.ndarray
    directions: tuple[Any, ...]
    trajectory: np.ndarray | None
    explained: tuple[float, ...]


def landscape_slice(
    f: Callable[[Any], Any],
    params: Any,
    directions: Sequence[Any] | None = None,
    *,
    trajectory: Iterable[Any] | None = None,
    dimensions: int = 2,
    span: float = 1.0,
    points: int = 41,
    seed: int = 0,
    filter_axis: int = 0,
    progress: bool = False,
) -> LandscapeSlice:
    """Evaluate a loss on a line or a plane through some params: the numbers behind `landscape`.

    Parameters
    ----------
    f : callable
        The loss: ``f(params)`` is a real number. It is called with plain arrays, ``points**dimensions``
        times, which ``tape.compile(f)`` makes fast.
    params : tree
        The centre of the slice. Its float and complex leaves are moved, others are passed on unchanged.
    directions : sequence of trees, optional
        As many as there are dimensions, each like ``params``; they are used as they are. By default
        random ones in which every filter has the norm of that filter in ``params``: each
        ``leaf[k]`` of leaves with two or more axes, other leaves as a whole. Zeros stay zero.
    trajectory : iterable of trees, optional
        Snapshots of the params during a training. The directions are the two leading principal components
        of their differences to ``params``, of norm 1.
    dimensions : {1, 2}
        1 for a line, 2 for a plane.
    span : float
        Half the width of the slice, in lengths of the directions. With a trajectory, how many times
        as wide as the path with a margin.
    points : int
        The number of points along each direction; if odd, ``params`` itself is one of them.
    seed : int
        The seed of the random directions.
    filter_axis : int
        Which axis counts the filters: 0 if outputs come first, as in `tape.nn`; -1 for ``x @ w``.
    progress : bool
        Whether to show a progress bar (needs tqdm).

    Returns
    -------
    LandscapeSlice
        ``(alpha, beta, loss, directions, trajectory, explained)``.

    Raises
    ------
    OptionError
        If an option is out of range, or there is nothing to move.
    ShapeError
        If a direction or snapshot is not like ``params``, or the loss is not one real number.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.viz.slices import landscape_slice
    >>> bowl = lambda p: p["x"] ** 2 + 10 * p["y"] ** 2
    >>> axes = {"x": 1.0, "y": 0.0}, {"x": 0.0, "y": 1.0}
    >>> found = landscape_slice(bowl, {"x": 0.0, "y": 0.0}, axes, points=3)
    >>> found.loss
    array([[11., 10., 11.],
           [ 1.,  0.,  1.],
           [11., 10., 11.]])
    """
    _check_options(dimensions, span, points, seed, filter_axis)
    space = _Space(params)
    path: np.ndarray | None = None
    explained: tuple[float, ...] = ()
    if trajectory is not None:
        if directions is not None or dimensions != 2:
            raise errors.OptionError(
                "landscape_slice: a trajectory finds its own two directions. Leave directions out, and draw "
                "no line"
            )
        vectors, path, explained = _principal(space, trajectory)
    elif directions is not None:
        vectors = _given(space, directions, dimensions)
    else:
        rng = np.random.default_rng(seed)
        vectors = [_random(space, rng, filter_axis) for _ in range(dimensions)]
    alpha, beta = _frame(path, dimensions, float(span), int(points))

    loss = np.empty((len(beta), len(alpha)))
    second = vectors[1] if dimensions == 2 else np.zeros(1)
    with progress_bar(progress, "landscape", loss.size, "point") as bar:
        for j, b in enumerate(beta):
            row = space.centre + b * second
            for i, a in enumerate(alpha):
                with np.errstate(all="ignore"):  # what overflows shows in the picture
                    loss[j, i] = _number(f(space.tree(row + a * vectors[0])))
                bar.update()
    trees = tuple(space.tree(vector) for vector in vectors)
    return LandscapeSlice(alpha, beta, loss, trees, path, explained)


def _check_options(dimensions: int, span: float, points: int, seed: int, filter_axis: int) -> None:
    limits = np.finfo(float)
    check_number("landscape_slice: dimensions", dimensions, "1 or 2", 1, 2, is_whole=True)
    check_number("landscape_slice: span", span, "a positive number", limits.tiny, limits.max)
    check_number("landscape_slice: points", points, "a whole number, at least 2", 2, is_whole=True)
    check_number("landscape_slice: seed", seed, "a whole number, at least 0", 0, is_whole=True)
    check_number("landscape_slice: filter_axis", filter_axis, "0 or -1", -np.inf, is_whole=True)


def _number(out: Any) -> float:
    """Convert the result of a loss function to a float."""
    value = np.asarray(plain(out))
    if value.size != 1 or value.dtype.kind not in "biuf":
        raise errors.ShapeError(
            f"landscape_slice: f returned {errors.describe(plain(out))}. A loss must be one real number; "
            "take its mean"
        )
    return float(value.reshape(()))


class _Space:
    """Trees like ``params`` as vectors of float64: the leaves that move, complex ones as pairs."""

    def __init__(self, params: Any) -> None:
        leaves, self.structure = tree.flatten(params)
        self.leaves = [plain(leaf) for leaf in leaves]
        arrays = [np.asarray(leaf) for leaf in self.leaves]
        self.moving = [k for k, array in enumerate(arrays) if array.dtype.kind in "fc"]
        self.arrays = [arrays[k] for k in self.moving]
        sizes = [array.size * (2 if array.dtype.kind == "c" else 1) for array in self.arrays]
        self.splits = np.cumsum(sizes)
        if not sum(sizes):
            raise errors.OptionError(
                "landscape_slice: params have no float to move. Convert them with astype(float)"
            )
        self.centre = self.joined(self.arrays)

    def joined(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Return the vector of arrays in the places of those that move."""
        parts = []
        for array, like in zip(arrays, self.arrays, strict=True):
            wide = np.complex128 if like.dtype.kind == "c" else np.float64
            parts.append(np.ascontiguousarray(array, wide).ravel().view(np.float64))
        return np.concatenate(parts)

    def vector(self, other: Any, what: str) -> np.ndarray:
        """Return the vector of another tree, which must be like ``params``."""
        leaves, structure = tree.flatten(other)
        if structure != self.structure:
            raise errors.ShapeError(
                f"landscape_slice: {what} is {tree.describe(structure)}, params are "
                f"{tree.describe(self.structure)}. Give it the same structure"
            )
        arrays = [np.asarray(plain(leaves[k])) for k in self.moving]
        for array, like in zip(arrays, self.arrays, strict=True):
            if array.shape != like.shape or (array.dtype.kind == "c") > (like.dtype.kind == "c"):
                raise errors.ShapeError(
                    f"landscape_slice: {what} has {errors.describe(array)} for a param of "
                    f"{errors.describe(like)}. Give it the same shapes"
                )
        return self.joined(arrays)

    def tree(self, vector: np.ndarray) -> Any:
        """Return the tree of a vector, with the dtypes of ``params``."""
        leaves = list(self.leaves)
        for k, like, part in zip(self.moving, self.arrays, np.split(vector, self.splits[:-1]), strict=True):
            wide = part.view(np.complex128) if like.dtype.kind == "c" else part
            leaf = wide.reshape(like.shape).astype(like.dtype)
            leaves[k] = leaf if isinstance(self.leaves[k], np.ndarray) else leaf[()]
        return tree.unflatten(self.structure, leaves)


def _given(space: _Space, directions: Sequence[Any], dimensions: int) -> list[np.ndarray]:
    if not isinstance(directions, list | tuple) or len(directions) != dimensions:
        count = (
            f"{len(directions)} of them"
            if isinstance(directions, list | tuple)
            else type(directions).__name__
        )
        raise errors.OptionError(
            f"landscape_slice: directions is {count}. Give a list of {dimensions}, each a tree like params"
        )
    return [space.vector(each, f"directions[{k}]") for k, each in enumerate(directions)]


def _random(space: _Space, rng: np.random.Generator, filter_axis: int) -> np.ndarray:
    """Return a Gaussian direction with the filter norms of params: section 4 of the paper."""
    parts = []
    for array in space.arrays:
        draw = rng.normal(size=array.shape)
        if array.dtype.kind == "c":
            draw = draw + 1j * rng.normal(size=array.shape)
        parts.append(draw * (_norms(array, filter_axis) / np.maximum(_norms(draw, filter_axis), 1e-300)))
    vector = space.joined(parts)
    if not vector.any():
        raise errors.OptionError(
            "landscape_slice: params are all zero, and random directions are as long as they are. Give "
            "directions"
        )
    return vector


def _norms(array: np.ndarray, filter_axis: int) -> np.ndarray:
    """Return the norm of each filter, or of the whole below two axes; it broadcasts against the array."""
    if array.ndim >= 2 and not -array.ndim <= filter_axis < array.ndim:
        raise errors.OptionError(
            f"landscape_slice: filter_axis={filter_axis} of {errors.describe(array)}. It must be 0 or -1"
        )
    filters = filter_axis % array.ndim if array.ndim >= 2 else None
    axes = tuple(axis for axis in range(array.ndim) if axis != filters)
    return np.sqrt(np.sum(np.abs(array.astype(np.complex128)) ** 2, axis=axes, keepdims=True))


def _principal(
    space: _Space, trajectory: Iterable[Any]
) -> tuple[list[np.ndarray], np.ndarray, tuple[float, float]]:
    """Return two principal directions of a path, its points in their plane, their shares of the variance."""
    if not isinstance(trajectory, Iterable):
        raise errors.OptionError(
            f"landscape_slice: trajectory is {errors.describe(trajectory)}. Give a list of trees like params"
        )
    snapshots = [space.vector(each, f"trajectory[{k}]") for k, each in enumerate(trajectory)]
    if len(snapshots) < 2 or space.centre.size < 2:
        raise errors.OptionError(
            "landscape_slice: a plane through a trajectory takes two snapshots and two numbers in params at "
            "least. Draw a line, without it"
        )
    moved = np.stack(snapshots) - space.centre
    if not np.isfinite(moved).all():
        raise errors.OptionError(
            "landscape_slice: the trajectory is not finite. Leave out what came after it broke"
        )
    _, lengths, directions = np.linalg.svd(moved - moved.mean(axis=0), full_matrices=False)
    directions = directions[:2]
    directions *= np.where(directions[np.arange(2), np.abs(directions).argmax(axis=1)] < 0, -1.0, 1.0)[
        :, None
    ]
    variances = lengths**2 / max(np.sum(lengths**2), np.finfo(float).tiny)
    return list(directions), moved @ directions.T, (float(variances[0]), float(variances[1]))


def _frame(
    path: np.ndarray | None, dimensions: int, span: float, points: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the points along each direction."""
    if path is None:
        alpha = np.linspace(-span, span, points)
        return alpha, alpha.copy() if dimensions == 2 else np.zeros(1)
    corners = np.concatenate([path, np.zeros((1, 2))])
    low, high = corners.min(axis=0), corners.max(axis=0)
    half = (high - low) / 2
    half = np.maximum(half, 0.1 * half.max()) * _MARGIN * span  # a straight path gets some width too
    half = np.where(half > 0, half, span)
    middle = (low + high) / 2
    return (
        np.linspace(middle[0] - half[0], middle[0] + half[0], points),
        np.linspace(middle[1] - half[1], middle[1] + half[1], points),
    )
