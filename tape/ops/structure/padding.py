"""Padding: arrays with more elements around them, in every mode of `numpy.pad`.

As in NumPy one axis is padded after the other, each over the whole length of those before. The pieces in
front and behind are made by operations, and joined with the array.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import Handle
from tape.core.operands import as_operand, composed
from tape.core.table import implements
from tape.errors import DTypeError, OptionError, ShapeError, UnsupportedError
from tape.inspect.samples import declare_samples
from tape.ops.structure.indexing import part_along
from tape.ops.structure.joining import concatenate, stack
from tape.ops.structure.layout import copy, own, slowest_first
from tape.ops.structure.repeating import broadcast_arrays
from tape.ops.structure.rolling import flip
from tape.ops.structure.shape import astype, broadcast_to
from tape.ops.structure.spacing import linspace
from tape.ops.structure.writing import stored_in

__all__ = ["pad"]

declare_samples('np.pad(x, 1, mode="reflect")')

Pieces = tuple[Any, Any]


@implements(np.pad)
@composed
def pad(array: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Any:
    """Pad an array with elements around it.

    Parameters
    ----------
    array : array_like or Var
        Any shape.
    pad_width : int, sequence of int, or dict of int to int or pair of int
        The number of elements before and after: one for all, a pair for every axis, a pair for each, or
        those of some axes.
    mode : str
        "constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect",
        "symmetric", "wrap" or "empty" (whose elements are zero when recorded, as they must be
        something).
    **kwargs
        ``constant_values`` for "constant", ``end_values`` for "linear_ramp": like ``pad_width`` one value,
        a pair, or a pair for each axis; by default zero. They are differentiated too.
        ``stat_length`` for the statistics: of how many elements at each end, by default all.
        ``reflect_type`` for "reflect" and "symmetric": "even", or "odd" for twice the value at the edge
        less the mirror image.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there is not a width (or value) for each end, one is negative, or there is nothing to repeat.
    DTypeError
        If ``pad_width`` does not hold ints.
    OptionError
        If there is no such mode, or it does not take one of the options.
    UnsupportedError
        If ``mode`` is a function: it would write into the result.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.pad(np.array([1.0, 2.0, 3.0]), (1, 2), "reflect")
    array([2., 1., 2., 3., 2., 1.])
    """
    if callable(mode):
        raise UnsupportedError(
            "pad: a function as mode writes into the result. Make the pieces with operations, and join "
            "them with np.concatenate"
        )
    if mode not in _MODES:
        raise OptionError(f"pad: there is no mode {mode!r}. It must be one of {', '.join(_MODES)}")
    pieces, takes = _MODES[mode]
    if not kwargs.keys() <= {takes}:
        raise OptionError(f"pad: mode {mode!r} takes {takes or 'no option'}, not {', '.join(kwargs)}")
    x = as_operand(array)
    shape, axes, widths = np.shape(x), slowest_first(x, "A"), _widths(x, pad_width)
    is_stuck = any(length == 0 and any(pair) for length, pair in zip(shape, widths, strict=True))
    if is_stuck and mode not in ("constant", "empty"):
        raise ShapeError(f"pad: {errors.describe(x)} has nothing to repeat. Use mode 'constant'")
    options = _options(takes, kwargs.get(takes), x) if takes else [None] * len(shape)
    for axis, (before, behind) in enumerate(widths):
        while before or behind:  # the repeated part may be shorter than the padding
            front, back = pieces(x, axis, before, behind, options[axis], shape[axis])
            x = concatenate([part for part in (front, x, back) if part is not None], axis)
            before -= 0 if front is None else front.shape[axis]
            behind -= 0 if back is None else back.shape[axis]
    return own(x, axes) if np.ndim(x) and (isinstance(array, Handle) or any(map(any, widths))) else copy(x)


# ---- arguments -----------------------------------------------------------------------------------


def _widths(x: Any, pad_width: Any) -> list[tuple[int, int]]:
    """Return the number of elements before and after, for each axis."""
    ndim = np.ndim(x)
    if isinstance(pad_width, dict):
        named: list[Any] = [(0, 0)] * ndim
        try:
            for axis, pair in pad_width.items():
                named[axis] = pair if isinstance(pair, tuple) else (pair, pair)
        except (IndexError, TypeError) as error:
            raise ShapeError(f"pad: {errors.describe(x)} has no axis {axis!r} to be padded") from error
        pad_width = named or 0
    widths = np.asarray(pad_width)
    if widths.dtype.kind not in "iu":
        raise DTypeError(f"pad: pad_width={errors.describe(pad_width)}. It must be ints")
    if (widths < 0).any():
        raise ShapeError(f"pad: pad_width={errors.describe(pad_width)}. To make an array smaller, slice it")
    return [(int(before), int(behind)) for before, behind in _pairs("pad_width", widths, ndim)]


def _pairs(name: str, values: Any, ndim: int, dtype: Any = None) -> list[Any]:
    """Return one value, a pair, or a pair for each axis as a pair for each axis."""
    values = _as_array(values, dtype)
    try:
        np.broadcast_to(np.broadcast_to(0, np.shape(values)), (ndim, 2))
    except ValueError as error:
        raise ShapeError(
            f"pad: {name} of shape {list(np.shape(values))} for {ndim} axes. It must be one value, a pair, "
            "or a pair for each axis"
        ) from error
    pairs = broadcast_to(values, (ndim, 2))
    return [(pairs[axis, 0], pairs[axis, 1]) for axis in range(ndim)]


def _as_array(values: Any, dtype: Any) -> Any:
    """Return nested sequences as one array; those with Vars in them in a dtype."""
    if not isinstance(values, (list, tuple)):
        return as_operand(values)
    parts = [_as_array(part, dtype) for part in values]
    if not any(isinstance(part, Handle) for part in parts):
        return as_operand(values)
    return stack(broadcast_arrays(*parts), dtype=dtype, casting="unsafe")


def _options(name: str, given: Any, x: Any) -> list[Any]:
    """Return an option of a mode, for each axis."""
    ndim = np.ndim(x)
    if name == "reflect_type":
        if given not in (None, "even", "odd"):
            raise OptionError(f"pad: reflect_type={given!r}. It must be 'even' or 'odd'")
        return [given] * ndim
    if name != "stat_length":
        return _pairs(name, 0 if given is None else given, ndim, np.result_type(x))
    if given is None:
        return [(None, None)] * ndim
    lengths = np.asarray(given)
    if lengths.dtype.kind not in "iu" or (lengths < 1).any():
        raise OptionError(f"pad: stat_length={given!r}. It must be at least 1")
    return _pairs(name, lengths, ndim)


# ---- the pieces in front and behind: (x, axis, before, behind, option, length of the axis at first) ----


def _spread(x: Any, axis: int, count: int, value: Any) -> Any:
    """Repeat a value, or an array of length one along the axis, along the axis."""
    return broadcast_to(value, (*x.shape[:axis], count, *x.shape[axis + 1 :]))


def _constant(x: Any, axis: int, before: int, behind: int, values: Any, length: int) -> Pieces:
    is_converted = x.dtype.kind in "iu" and any(np.result_type(value) != x.dtype for value in values)
    convert = stored_in if is_converted else astype
    front, back = (
        _spread(x, axis, count, convert(value, x.dtype)) if count else None
        for count, value in zip((before, behind), values, strict=True)
    )
    return front, back


def _empty_space(x: Any, axis: int, before: int, behind: int, option: Any, length: int) -> Pieces:
    return _constant(x, axis, before, behind, (0, 0), length)


def _edge(x: Any, axis: int, before: int, behind: int, option: Any, length: int) -> Pieces:
    return (
        _spread(x, axis, before, part_along(x, axis, slice(0, 1))) if before else None,
        _spread(x, axis, behind, part_along(x, axis, slice(length - 1, None))) if behind else None,
    )


def _ramp(x: Any, axis: int, before: int, behind: int, values: Any, length: int) -> Pieces:
    def from_end(value: Any, count: int, edge: int) -> Any:
        return linspace(value, part_along(x, axis, edge), count, endpoint=False, dtype=x.dtype, axis=axis)

    return (
        from_end(values[0], before, 0) if before else None,
        flip(from_end(values[1], behind, -1), axis) if behind else None,
    )


def _statistic(
    function: Callable[..., Any], x: Any, axis: int, before: int, behind: int, lengths: Any, length: int
) -> Pieces:
    def of(part: slice) -> Any:
        found = function(part_along(x, axis, part), axis=axis, keepdims=True)
        rounded = np.rint(found) if x.dtype.kind in "iu" and found.dtype.kind == "f" else found
        return astype(rounded, x.dtype, copy=False)

    first, last = (length if count is None else min(int(count), length) for count in lengths)
    front = of(slice(0, first)) if before else None
    is_shared = before and first == last == length
    back = front if is_shared or not behind else of(slice(length - last, length))
    return (
        _spread(x, axis, before, front) if before else None,
        _spread(x, axis, behind, back) if behind else None,
    )


def _mirror(
    mode: str, x: Any, axis: int, before: int, behind: int, reflect_type: str | None, length: int
) -> Pieces:
    if length == 1:
        return _edge(x, axis, before, behind, None, length)
    total = x.shape[axis]
    again = mode == "symmetric"  # whether the element at the edge is repeated
    period = length if again else length - 1
    most = (total if again else total - 1) // period * period

    def backwards(start: int, count: int, edge: slice) -> Any:
        stop = start - count
        mirrored = part_along(x, axis, slice(start, stop if stop >= 0 else None, -1))
        return 2 * part_along(x, axis, edge) - mirrored if reflect_type == "odd" else mirrored

    before, behind = min(before, most), min(behind, most)
    return (
        backwards(before - again, before, slice(0, 1)) if before else None,
        backwards(total - 2 + again, behind, slice(total - 1, total)) if behind else None,
    )


def _wrap(x: Any, axis: int, before: int, behind: int, option: Any, length: int) -> Pieces:
    total = x.shape[axis]
    most = total // length * length
    before, behind = min(before, most), min(behind, most)
    return (
        part_along(x, axis, slice(most - before, most)) if before else None,
        part_along(x, axis, slice(total - most, total - most + behind)) if behind else None,
    )


_MODES: dict[str, tuple[Callable[..., Pieces], str | None]] = {
    "constant": (_constant, "constant_values"),
    "edge": (_edge, None),
    "linear_ramp": (_ramp, "end_values"),
    "maximum": (partial(_statistic, np.max), "stat_length"),
    "mean": (partial(_statistic, np.mean), "stat_length"),
    "median": (partial(_statistic, np.median), "stat_length"),
    "minimum": (partial(_statistic, np.min), "stat_length"),
    "reflect": (partial(_mirror, "reflect"), "reflect_type"),
    "symmetric": (partial(_mirror, "symmetric"), "reflect_type"),
    "wrap": (_wrap, None),
    "empty": (_empty_space, None),
}
"""For each mode what makes the pieces, and the option it takes."""
