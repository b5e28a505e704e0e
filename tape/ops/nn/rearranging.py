"""Elements of images moved: padding in PyTorch's order, and channels to pixels and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.core.operands import as_operand
from tape.errors import OptionError, ShapeError
from tape.ops.nn.geometry import whole
from tape.ops.structure.axes import transpose
from tape.ops.structure.indexing import getitem
from tape.ops.structure.padding import pad as numpy_pad
from tape.ops.structure.shape import reshape

_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(x: Any, pad: Sequence[int], mode: str = "constant", value: float = 0.0) -> Any:
    """Pad the last axes, the last one first, as in PyTorch; negative numbers cut elements off.

    Parameters
    ----------
    x : array_like or Var
        Any shape.
    pad : sequence of int
        ``(before, behind)`` of the last axis, then of the last but one, and so on.
    mode : {"constant", "reflect", "replicate", "circular"}
        What is put there: ``value``, elements mirrored at the last one, the last one, or those of the other
        end. Only constants go with negative numbers.
    value : float
        The constant.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    OptionError
        If ``mode`` is another one, or the numbers are no pairs of ints.
    ShapeError
        If there are more pairs than axes, or an axis is too short for what is cut off or mirrored.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.pad(np.array([[1.0, 2.0, 3.0]]), (1, -1))
    array([[0., 1., 2.]])
    >>> tape.nn.pad(np.array([[1.0, 2.0, 3.0]]), (2, 0), "reflect")
    array([[3., 2., 1., 2., 3.]])
    """
    if mode not in _MODES:
        raise OptionError(f"pad: mode={mode!r}. It must be one of {', '.join(map(repr, _MODES))}")
    x = as_operand(x)
    shape = np.shape(x)
    widths = _pairs(pad, len(shape))
    inside = [(max(before, 0), max(behind, 0)) for before, behind in widths]
    if widths != inside and mode != "constant":
        raise OptionError(f"pad: pad={tuple(pad)!r} is negative. Only mode='constant' cuts elements off")
    for length, (before, behind) in zip(shape, widths, strict=True):
        if length + before + behind < 0:
            raise ShapeError(f"pad: pad={tuple(pad)!r} cuts more off x, {list(shape)}, than is there")
        if mode in ("reflect", "circular") and max(before, behind) > length - (mode == "reflect"):
            raise ShapeError(f"pad: pad={tuple(pad)!r} in mode {mode!r} is more than x has, {list(shape)}")
    options = {"constant_values": value} if mode == "constant" else {}
    out = numpy_pad(x, inside, _MODES[mode], **options) if any(map(any, inside)) else x
    if widths == inside:
        return out
    return getitem(out, tuple(slice(-min(a, 0), min(b, 0) or None) for a, b in widths))


def _pairs(pad: Any, ndim: int) -> list[tuple[int, int]]:
    """Return a pair for each axis, the first one first."""
    numbers = np.asarray(pad)
    if numbers.ndim != 1 or numbers.size % 2 or (numbers.dtype.kind not in "iu" and numbers.size):
        raise OptionError(f"pad: pad={pad!r}. It must be ints, two for each axis from the last one on")
    if numbers.size > 2 * ndim:
        raise ShapeError(f"pad: pad={pad!r} has {numbers.size // 2} pairs, and x {ndim} axes")
    pairs = [(int(low), int(high)) for low, high in numbers.reshape(-1, 2)]
    return [(0, 0)] * (ndim - len(pairs)) + pairs[::-1]


def pixel_shuffle(x: Any, upscale_factor: int) -> Any:
    """Make each group of ``upscale_factor**2`` channels the pixels of a larger image.

    Parameters
    ----------
    x : array_like or Var
        ``(..., C * r**2, H, W)``.
    upscale_factor : int
        r.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., C, H * r, W * r)``.

    Raises
    ------
    ShapeError
        If x has fewer than three axes, or the channels make no squares.
    OptionError
        If ``upscale_factor`` is no positive int.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.pixel_shuffle(np.arange(4.0).reshape(4, 1, 1), 2)
    array([[[0., 1.],
            [2., 3.]]])
    """
    x, r = as_operand(x), whole("pixel_shuffle", "upscale_factor", upscale_factor, 1)
    lead, channels, height, width = _image("pixel_shuffle", np.shape(x))
    if channels % r**2:
        raise ShapeError(f"pixel_shuffle: {channels} channels are not a multiple of {r}**2")
    parts = reshape(x, (*lead, channels // r**2, r, r, height, width))
    n = len(lead)
    mixed = transpose(parts, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return reshape(mixed, (*lead, channels // r**2, height * r, width * r))


def pixel_unshuffle(x: Any, downscale_factor: int) -> Any:
    """Make the pixels of each square of an image channels of a smaller one: undo `pixel_shuffle`.

    Parameters
    ----------
    x : array_like or Var
        ``(..., C, H * r, W * r)``.
    downscale_factor : int
        r.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., C * r**2, H, W)``.

    Raises
    ------
    ShapeError
        If x has fewer than three axes, or the image does not fall into squares.
    OptionError
        If ``downscale_factor`` is no positive int.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.pixel_unshuffle(np.arange(4.0).reshape(1, 2, 2), 2).ravel()
    array([0., 1., 2., 3.])
    """
    x, r = as_operand(x), whole("pixel_unshuffle", "downscale_factor", downscale_factor, 1)
    lead, channels, height, width = _image("pixel_unshuffle", np.shape(x))
    if height % r or width % r:
        raise ShapeError(
            f"pixel_unshuffle: {height} by {width} pixels do not fall into squares of {r} by {r}"
        )
    parts = reshape(x, (*lead, channels, height // r, r, width // r, r))
    n = len(lead)
    mixed = transpose(parts, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return reshape(mixed, (*lead, channels * r**2, height // r, width // r))


def channel_shuffle(x: Any, groups: int) -> Any:
    """Mix groups of channels: the first of each group come first, then the second ones.

    Parameters
    ----------
    x : array_like or Var
        ``(N, C, ...)``.
    groups : int
        The number of groups.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``x``.

    Raises
    ------
    ShapeError
        If x has fewer than two axes, or the channels do not split evenly.
    OptionError
        If ``groups`` is no positive int.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.channel_shuffle(np.arange(4.0).reshape(1, 4, 1), 2).ravel()
    array([0., 2., 1., 3.])
    """
    x, groups = as_operand(x), whole("channel_shuffle", "groups", groups, 1)
    shape = np.shape(x)
    if len(shape) < 2 or shape[1] % groups:
        raise ShapeError(f"channel_shuffle: x has shape {list(shape)}. It must be (N, C, ...), with C a "
                         f"multiple of groups={groups}")  # fmt: skip
    parts = reshape(x, (shape[0], groups, shape[1] // groups, *shape[2:]))
    return reshape(transpose(parts, (0, 2, 1, *range(3, len(shape) + 1))), shape)


def _image(name: str, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int, int, int]:
    if len(shape) < 3:
        raise ShapeError(f"{name}: x has shape {list(shape)}. It must be (..., C, height, width)")
    channels, height, width = shape[-3:]
    return shape[:-3], channels, height, width
