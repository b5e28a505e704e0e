"""Pooling: the largest element or the mean of every window of signals, images and volumes.

The arithmetic is that of `tape.kernels.pooling`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial, reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tape.core import series
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.errors import OptionError, ShapeError
from tape.inspect.costs import declare_cost
from tape.kernels import pooling as kernels
from tape.kernels.windowed import pooling_parameters
from tape.ops.elementwise.arithmetic import divide
from tape.ops.elementwise.selection import argmax
from tape.ops.nn.geometry import (
    Counts,
    Paddings,
    check_real,
    computed,
    extents,
    image_shape,
    on_batches,
    paddings,
    per_axis,
    window_counts,
)
from tape.ops.structure.indexing import getitem
from tape.ops.structure.shape import astype, repeated, reshape

Option = int | Sequence[int]
Padding = int | Sequence[int | Sequence[int]]


# ---- the operations --------------------------------------------------------------------------------


def _batch(op: Op, operands: Any, is_batched: Sequence[bool], at: dict[str, Any], size: int) -> Any:
    """Batch rule: images of a batch are more images."""
    whole = [repeated(x, many, size) for x, many in zip(operands, is_batched, strict=True)]
    out = op(*[reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:])) for x in whole], **at)
    return reshape(out, (size, whole[0].shape[1], *out.shape[1:]))


def _pooling(name: str, operands: str, out: str, *rules: Any, **options: Any) -> Op:
    """Return an operation; operands and result have the elements of images, x, or of windows, y."""

    def lower(b: Any, *values: Any, **at: Any) -> Any:
        shapes = dict(zip(operands, [value.shape for value in values], strict=True))
        lead, options = values[0].shape[:2], (at["window"], at["stride"], at["padding"], at["dilation"])
        spatial = shapes["x"][2:] if "x" in shapes else at["spatial"]
        counts = shapes["y"][2:] if "y" in shapes else window_counts(name, spatial, *options)
        shape = (*lead, *(spatial if out == "x" else counts))
        dtype = np.result_type(*[value.dtype for value in values])
        if not all(lead):
            return b.broadcast(b.literal(0, dtype), shape)
        parameters = pooling_parameters((*lead, *spatial), at["window"], counts, *options[1:])
        return b.kernel(name, values, parameters, shape, dtype)

    forward = partial(computed, getattr(kernels, name))
    return Op(forward, name=name, vjp=rules, batch=_batch, lower=lower, **options)


_max_pool: Op = _pooling(
    "max_pool",
    "x",
    "y",
    lambda g, out, x, **at: _max_pool_vjp(g, x, out, **at),
    jvp=[lambda t, out, x, **at: _max_pool_jvp(t, x, out, **at)],
    taylor=series.linear,
)

# Which elements are largest is constant almost everywhere: these are linear in the first operand alone.
_max_pool_vjp: Op = _pooling(
    "max_pool_vjp",
    "yxy",
    "x",
    lambda d, out, g, x, y, **at: _max_pool_jvp(d, x, y, **at),
    None,
    None,
    linear=True,
)

_max_pool_jvp: Op = _pooling(
    "max_pool_jvp",
    "xxy",
    "y",
    lambda g, out, t, x, y, **at: _max_pool_vjp(g, x, y, **at),
    None,
    None,
    linear=True,
)

_sum_pool: Op = _pooling(
    "sum_pool", "x", "y", lambda g, out, x, **at: _sum_pool_vjp(g, spatial=x.shape[2:], **at), linear=True
)
declare_cost(lambda out, shapes, at: prod(out) * prod(at["window"]), _max_pool, _sum_pool, _max_pool_jvp)

_sum_pool_vjp: Op = _pooling(
    "sum_pool_vjp", "y", "x", lambda d, out, g, spatial, **at: _sum_pool(d, **at), linear=True
)
declare_cost(lambda out, shapes, at: prod(shapes[0]) * prod(at["window"]), _max_pool_vjp, _sum_pool_vjp)


# ---- windows ---------------------------------------------------------------------------------------


class _Windows(NamedTuple):
    """The static arguments of the operations."""

    window: Counts
    stride: Counts
    padding: Paddings
    dilation: Counts


def _windows(
    name: str, spatial: Counts, size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[_Windows, Paddings]:
    """Return the windows, and the padding that was asked for: with ``ceil_mode`` there may be more."""
    rank = len(spatial)
    window = per_axis(name, "kernel_size", size, rank, 1)
    steps = window if stride is None else per_axis(name, "stride", stride, rank, 1)
    pads = asked = paddings(name, padding, rank)
    spread = per_axis(name, "dilation", dilation, rank, 1)
    reach = extents(window, spread)
    if any(2 * max(pair) > extent for pair, extent in zip(pads, reach, strict=True)):
        raise OptionError(
            f"{name}: padding={padding!r} is more than half of the windows, which reach over {list(reach)} "
            "elements. Pad less"
        )
    if ceil_mode:
        axes = zip(spatial, reach, steps, pads, strict=True)
        pads = tuple([(pair[0], _high(length, extent, step, *pair)) for length, extent, step, pair in axes])
    counts = window_counts(name, spatial, window, steps, pads, spread)
    windows = _Windows(window, steps, pads, spread)
    if any(d > 1 for d in spread) and any(np.min(n) == 0 for n in _taps_within(spatial, windows, counts)):
        raise ShapeError(
            f"{name}: a window of size {list(window)} with dilation {list(spread)} lies entirely in the "
            f"padding {list(pads)} of {list(spatial)} elements. Pad less"
        )
    return windows, asked


def _high(length: int, extent: int, step: int, low: int, high: int) -> int:
    """Return the high padding that makes room for the last window if it begins within x."""
    count = (length + low + high - extent + step - 1) // step + 1
    if (count - 1) * step >= length + low:
        count -= 1
    return max(high, (count - 1) * step + extent - low - length) if count > 0 else high


def _taps_within(
    spatial: Counts, windows: _Windows, counts: Counts, padding: Paddings | None = None
) -> list[np.ndarray]:
    """Return, for each axis, how many taps of each window meet an element, or ``padding`` that counts."""
    found = []
    for axis, (length, count) in enumerate(zip(spatial, counts, strict=True)):
        first = np.arange(count)[:, np.newaxis] * windows.stride[axis] - windows.padding[axis][0]
        places = first + np.arange(windows.window[axis]) * windows.dilation[axis]
        low, high = padding[axis] if padding is not None else (0, 0)
        found.append(np.sum((places >= -low) & (places < length + high), axis=1))
    return found


# ---- the largest element ---------------------------------------------------------------------------


def _max(
    name: str, rank: int, x: Any, size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
    return_indices: bool,
) -> Any:  # fmt: skip
    x = as_operand(x)
    spatial = image_shape(name, x, rank)[2:]
    check_real(name, x)
    windows, _ = _windows(name, spatial, size, stride, padding, dilation, ceil_mode)
    out = on_batches(lambda x: _max_pool(x, **windows._asdict()), x, rank)
    return (out, reshape(_largest(x, spatial, windows), out.shape)) if return_indices else out


def _largest(x: Any, spatial: Counts, windows: _Windows) -> Any:
    """Return the position of the first largest element of each window, counted through all spatial axes."""
    places = _places(spatial, windows, window_counts("max_pool", spatial, *windows))
    taps = getitem(reshape(x, (*x.shape[: x.ndim - len(spatial)], prod(spatial))), (..., places))
    return getitem(places, (np.arange(len(places)), argmax(taps, axis=-1)))


@lru_cache(maxsize=16)
def _places(spatial: Counts, windows: _Windows, counts: Counts) -> np.ndarray:
    """Return, for each window, the positions of its taps; in place of taps in the padding one within x."""
    places = np.zeros((1, 1), np.intp)
    for length, count, size, step, (low, _), spread in zip(spatial, counts, *windows, strict=True):
        taps = np.arange(count)[:, np.newaxis] * step - low + np.arange(size) * spread
        is_within = (taps >= 0) & (taps < length)
        first = np.take_along_axis(taps, np.argmax(is_within, axis=1)[:, np.newaxis], axis=1)
        each = np.where(is_within, taps, first)
        places = places[:, np.newaxis, :, np.newaxis] * length + each[:, np.newaxis, :]
        places = places.reshape((places.shape[0] * count, -1))
    places.flags.writeable = False
    return places


def max_pool1d(
    x: Any, kernel_size: Option, stride: Option | None = None, padding: Padding = 0, dilation: Option = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of signals ``(N, C, length)``. Like `max_pool2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.max_pool1d(np.array([[3.0, 1.0, 2.0, 5.0, 4.0]]), 2, ceil_mode=True)
    array([[3., 5., 4.]])
    """
    return _max("max_pool1d", 1, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    x: Any, kernel_size: Option, stride: Option | None = None, padding: Padding = 0, dilation: Option = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of images.

    Parameters
    ----------
    x : array_like or Var
        ``(N, C, height, width)``, or ``(C, height, width)``: the result then has no batch axis. Real.
    kernel_size : int or tuple of int
        Size of the windows: for all axes, or one for each.
    stride : int or tuple of int, optional
        The distance between windows; by default their size.
    padding : int, tuple of int or tuple of pairs
        The reach of windows beyond x: at both ends of all axes, of each axis, or ``(low, high)`` for each.
        Half of a window at most. What is out there is never the largest.
    dilation : int or tuple of int
        The distance between the elements of a window.
    ceil_mode : bool
        Whether there is one more window at the high end where elements are left over; it begins within x.
    return_indices : bool
        Whether to return the positions of the largest elements, too, for `max_unpool2d`.

    Returns
    -------
    numpy.ndarray or Var
        ``(N, C, height, width)``: of these, ``(height + low + high - dilation * (kernel_size - 1) - 1) //
        stride + 1``, or rounded up with ``ceil_mode``. Elements that are equally large share the derivative
        evenly; a NaN makes its windows NaN.
    numpy.ndarray
        With ``return_indices``: ints of the same shape, where the first largest element of each window is,
        counted through height and width of x.

    Raises
    ------
    ShapeError
        If x has the wrong number of axes, or a window is larger than x with its padding, or does not meet it.
    OptionError
        If ``kernel_size``, ``stride`` or ``dilation`` is less than 1, padding less than 0 or more than half
        of a window, or one is not an int.
    DTypeError
        If x is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.max_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
    array([[[ 5.,  7.],
            [13., 15.]]])
    """
    return _max("max_pool2d", 2, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    x: Any, kernel_size: Option, stride: Option | None = None, padding: Padding = 0, dilation: Option = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of volumes ``(N, C, depth, height, width)``. Like `max_pool2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.max_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2)
    array([[[[7.]]]])
    """
    return _max("max_pool3d", 3, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


# ---- the mean --------------------------------------------------------------------------------------


def _mean(
    name: str, rank: int, x: Any, size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    x = as_operand(x)
    spatial = image_shape(name, x, rank)[2:]
    windows, asked = _windows(name, spatial, size, stride, padding, 1, ceil_mode)
    divisor: Any = divisor_override
    if divisor is None:
        divisor = _divisor(spatial, windows, asked if count_include_pad else ((0, 0),) * rank)
    elif np.ndim(divisor) or not divisor:
        raise OptionError(f"{name}: divisor_override={divisor!r}. It must be a number, not 0")
    if x.dtype.kind not in "fc":
        x = astype(x, np.float64)  # small ints would wrap around
    if isinstance(divisor, np.ndarray):
        divisor = divisor.astype(x.dtype)
    return on_batches(lambda x: divide(_sum_pool(x, **windows._asdict()), divisor), x, rank)


def _divisor(spatial: Counts, windows: _Windows, counted: Paddings) -> Any:
    """Return the number of elements in each window: an array, or a number where it is the same for all."""
    if counted == windows.padding:
        return float(prod(windows.window))
    sizes = _taps_within(spatial, windows, window_counts("avg_pool", spatial, *windows), counted)
    return reduce(np.multiply.outer, sizes)


def avg_pool1d(
    x: Any, kernel_size: Option, stride: Option | None = None, padding: Padding = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The mean of each window of signals ``(N, C, length)``. Like `avg_pool2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.avg_pool1d(np.array([[3.0, 1.0, 2.0, 6.0]]), 2)
    array([[2., 4.]])
    """
    return _mean("avg_pool1d", 1, x, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    x: Any, kernel_size: Option, stride: Option | None = None, padding: Padding = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """The mean of each window of images.

    Parameters
    ----------
    x : array_like or Var
        ``(N, C, height, width)``, or ``(C, height, width)``: the result then has no batch axis.
        Ints count as float64.
    kernel_size, stride, padding, ceil_mode
        Same as for `max_pool2d`. Padding is zeros.
    count_include_pad : bool
        Whether padding counts in the mean. What ``ceil_mode`` adds to it never does.
    divisor_override : number, optional
        The divisor of all sums, in place of the number of elements.

    Returns
    -------
    numpy.ndarray or Var
        ``(N, C, height, width)``, with the same number of windows.

    Raises
    ------
    ShapeError
        If x has the wrong number of axes, or a window is larger than x with its padding.
    OptionError
        If ``kernel_size`` or ``stride`` is less than 1, padding less than 0 or more than half of a window,
        one is not an int, or ``divisor_override`` is 0.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.avg_pool2d(np.ones((1, 3, 3)), 2, padding=1)
    array([[[0.25, 0.5 ],
            [0.5 , 1.  ]]])
    >>> tape.nn.avg_pool2d(np.ones((1, 3, 3)), 2, padding=1, count_include_pad=False)
    array([[[1., 1.],
            [1., 1.]]])
    """
    return _mean(
        "avg_pool2d", 2, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool3d(
    x: Any, kernel_size: Option, stride: Option | None = None, padding: Padding = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """The mean of each window of volumes ``(N, C, depth, height, width)``. Like `avg_pool2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.avg_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2)
    array([[[[3.5]]]])
    """
    return _mean(
        "avg_pool3d", 3, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
