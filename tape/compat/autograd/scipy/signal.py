"""Autograd's ``convolve``: along some axes, summed over others, an outer product of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Literal

import numpy as np

from tape import errors

__all__ = ["convolve"]

Axes = Sequence[Sequence[int]]


def convolve(
    A: Any,
    B: Any,
    axes: Axes | None = None,
    dot_axes: Axes = ((), ()),
    mode: Literal["full", "valid", "same"] = "full",
) -> Any:
    """Convolve two arrays along some axes.

    Parameters
    ----------
    A, B : array or Var
        The arrays; their first axes belong together if there are no ``axes``.
    axes : pair of sequences of int, optional
        The axes of A and of B to convolve along; all by default.
    dot_axes : pair of sequences of int
        The axes of A and of B to sum the products over.
    mode : {"full", "valid", "same"}
        Along each axis the result has ``a + b - 1``, ``abs(a - b) + 1`` or ``a`` elements.

    Returns
    -------
    array or Var
        Its axes are the others of A, the others of B, then those of the convolution.

    Raises
    ------
    OptionError
        If the mode is unknown, or axes do not come in pairs.
    ShapeError
        If axes to sum over differ in length, or for ``"valid"`` neither array is larger along all axes.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd.scipy.signal import convolve
    >>> convolve(np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0]))
    array([ 1., 12., 23., 30.])
    >>> images, filters = np.ones((8, 3, 9, 9)), np.ones((3, 5, 2, 2))
    >>> convolve(images, filters, axes=([2, 3], [2, 3]), dot_axes=([1], [0]), mode="valid").shape
    (8, 5, 8, 8)
    """
    if mode not in ("full", "valid", "same"):
        raise errors.OptionError(f"convolve: mode must be 'full', 'valid' or 'same', not {mode!r}")
    A, B = (x if hasattr(x, "ndim") else np.asarray(x) for x in (A, B))
    if axes is None:
        if A.ndim != B.ndim:
            raise errors.OptionError(
                f"convolve: arrays of {A.ndim} and {B.ndim} axes. Say with axes which of "
                "them to convolve along"
            )
        axes = (range(A.ndim), range(B.ndim))
    along = [_positions(part, x.ndim) for part, x in zip(axes, (A, B), strict=True)]
    summed = [_positions(part, x.ndim) for part, x in zip(dot_axes, (A, B), strict=True)]
    if any(len(a) != len(b) or set(a) & set(c) for (a, b), c in ((along, summed[0]), (summed, along[0]))):
        raise errors.OptionError(
            f"convolve: axes {axes} and dot_axes {dot_axes} are not pairs of different axes"
        )
    left, rest_a, sizes_a = _sorted(A, along[0], summed[0])
    right, rest_b, sizes_b = _sorted(B, along[1], summed[1])
    if left.shape[1] != right.shape[1]:
        raise errors.ShapeError(
            f"convolve: dot_axes of shapes {A.shape} and {B.shape} hold {left.shape[1]} and {right.shape[1]} "
            "products. They must have one length"
        )
    is_swapped = mode == "valid" and any(a < b for a, b in zip(sizes_a, sizes_b, strict=True))
    if is_swapped and any(a > b for a, b in zip(sizes_a, sizes_b, strict=True)):
        raise errors.ShapeError(
            f"convolve: sizes {sizes_a} and {sizes_b}. One array must be the larger one along all "
            "axes for 'valid'"
        )
    if is_swapped:
        result = _slid(right, left, sizes_b, sizes_a, mode)  # (b, a, *sizes)
        result = np.swapaxes(result, 0, 1)
    else:
        result = _slid(left, right, sizes_a, sizes_b, mode)
    return np.reshape(result, (*rest_a, *rest_b, *result.shape[2:]))


def _positions(axes: Sequence[int], ndim: int) -> list[int]:
    found = [axis % ndim if -ndim <= axis < ndim else ndim for axis in axes]
    if len(set(found)) < len(found) or ndim in found:
        raise errors.OptionError(
            f"convolve: axes {list(axes)} of an array of {ndim} axes. Each must exist, once"
        )
    return found


def _sorted(x: Any, along: list[int], summed: list[int]) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
    """Return an array as (others, summed, *along), the shape of the others, and the sizes along."""
    others = [axis for axis in range(x.ndim) if axis not in along and axis not in summed]
    rest = tuple([x.shape[axis] for axis in others])
    sizes = tuple([x.shape[axis] for axis in along])
    count = prod([x.shape[axis] for axis in summed])
    return np.reshape(np.transpose(x, [*others, *summed, *along]), (prod(rest), count, *sizes)), rest, sizes


def _slid(x: Any, kernel: Any, sizes: tuple[int, ...], kernel_sizes: tuple[int, ...], mode: str) -> Any:
    """Return the sums of products (x's, kernel's, *positions) of a flipped kernel at all positions."""
    before = {
        "full": [k - 1 for k in kernel_sizes],
        "same": [k - 1 - (k - 1) // 2 for k in kernel_sizes],
        "valid": [0] * len(sizes),
    }[mode]
    after = {
        "full": [k - 1 for k in kernel_sizes],
        "same": [(k - 1) // 2 for k in kernel_sizes],
        "valid": [0] * len(sizes),
    }[mode]
    x = np.pad(x, [(0, 0), (0, 0), *zip(before, after, strict=True)])
    for axis, k in enumerate(
        kernel_sizes
    ):  # each axis becomes positions and, at the end, places in the kernel
        steps = x.shape[2 + axis] - k + 1
        windows = np.arange(steps)[:, None] + np.arange(k - 1, -1, -1)
        x = np.moveaxis(np.take(x, windows, axis=2 + axis), 3 + axis, -1)
    count = len(sizes)
    summed = [1, *range(2 + count, 2 + 2 * count)]
    product = np.tensordot(x, kernel, axes=(summed, [1, *range(2, 2 + count)]))  # (x's, *positions, kernel's)
    return np.moveaxis(product, -1, 1)
