"""Convolutions of signals, images and volumes, and transposed ones.

Arguments are checked here; the operations behind the functions are in `tape.ops.nn.convolving`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.core.operands import as_operand
from tape.errors import OptionError, ShapeError
from tape.ops.elementwise.arithmetic import add
from tape.ops.nn.convolving import conv, conv_input
from tape.ops.nn.geometry import (
    Counts,
    Paddings,
    extents,
    image_shape,
    on_batches,
    paddings,
    per_axis,
    whole,
    window_counts,
)
from tape.ops.structure.padding import pad
from tape.ops.structure.shape import reshape

Option = int | Sequence[int]
Padding = int | Sequence[int | Sequence[int]]

# ---- arguments -------------------------------------------------------------------


def _operands(name: str, rank: int, x: Any, w: Any, bias: Any) -> tuple[Any, Any, Any, Counts]:
    """Return the operands, and the shape of x with a batch axis."""
    x, w = as_operand(x), as_operand(w)
    bias = None if bias is None else as_operand(bias)
    shape = image_shape(name, x, rank)
    if np.ndim(w) != rank + 2 or not np.size(w):
        raise ShapeError(f"{name}: w has shape {list(np.shape(w))}. It must have {rank + 2} axes, not empty")
    return x, w, bias, shape


def _check_channels(name: str, form: str, w: Any, groups: int, channels: int, taken: int) -> None:
    """Check that w takes the channels of x, and splits into groups."""
    if w.shape[0] % groups:
        raise ShapeError(
            f"{name}: the first axis of w of shape {list(w.shape)} does not split into groups={groups}"
        )
    if channels != taken:
        raise ShapeError(
            f"{name}: x has {channels} channels, and w of shape {list(w.shape)} with groups={groups} takes "
            f"{taken}. w is {form}"
        )


def _check_bias(name: str, bias: Any, channels: int) -> None:
    if bias is not None and np.shape(bias) != (channels,):
        raise ShapeError(
            f"{name}: bias has shape {list(np.shape(bias))}. It must hold a number for each of the "
            f"{channels} output channels: {[channels]}"
        )


def _with_bias(out: Any, bias: Any) -> Any:
    return out if bias is None else add(out, reshape(bias, (bias.size, *(1,) * (out.ndim - 2))))


def padding_widths(name: str, padding: Any, kernel: Counts, stride: Counts, dilation: Counts) -> Paddings:
    """Return the padding, which may be given by name, as a pair (low, high) for each axis."""
    if padding == "valid":
        return ((0, 0),) * len(kernel)
    if padding != "same":
        if isinstance(padding, str):
            raise OptionError(f"{name}: padding={padding!r}. It takes 'same', 'valid', ints or pairs")
        return paddings(name, padding, len(kernel))
    if any(step != 1 for step in stride):
        raise OptionError(f"{name}: padding='same' needs stride 1, not {list(stride)}. Give it as numbers")
    totals = [reach - 1 for reach in extents(kernel, dilation)]
    return tuple([(total // 2, total - total // 2) for total in totals])


# ---- convolution -----------------------------------------------------------------------------------


def _convolve(
    name: str, rank: int, x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any
) -> Any:
    x, w, bias, shape = _operands(name, rank, x, w, bias)
    kernel, groups = w.shape[2:], whole(name, "groups", groups, 1)
    steps = per_axis(name, "stride", stride, rank, 1)
    spread = per_axis(name, "dilation", dilation, rank, 1)
    pads = padding_widths(name, padding, kernel, steps, spread)
    _check_channels(name, "(O, C / groups, *kernel)", w, groups, shape[1], w.shape[1] * groups)
    _check_bias(name, bias, w.shape[0])
    window_counts(name, shape[2:], kernel, steps, pads, spread)

    def convolved(x: Any) -> Any:
        out = conv(x, w, stride=steps, padding=pads, dilation=spread, groups=groups)
        return _with_bias(out, bias)

    return on_batches(convolved, x, rank)


def conv1d(
    x: Any, w: Any, bias: Any = None, stride: Option = 1, padding: Padding | str = 0, dilation: Option = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Convolve signals ``(N, C, length)`` with kernels ``(O, C / groups, length)``. Like `conv2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.conv1d(np.array([[1.0, 2.0, 4.0, 8.0]]), np.array([[[-1.0, 1.0]]]))
    array([[1., 2., 4.]])
    """
    return _convolve("conv1d", 1, x, w, bias, stride, padding, dilation, groups)


def conv2d(
    x: Any, w: Any, bias: Any = None, stride: Option = 1, padding: Padding | str = 0, dilation: Option = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Convolve images with kernels: sums of ``w[o, c, k] * x[n, c, stride * i + dilation * k - padding]``.

    Parameters
    ----------
    x : array_like or Var
        ``(N, C, height, width)``, or ``(C, height, width)``: the result then has no batch axis.
    w : array_like or Var
        ``(O, C / groups, height, width)``, not empty.
    bias : array_like or Var, optional
        ``(O,)``: added to each channel of the result.
    stride : int or tuple of int
        The distance between windows: for all axes, or one for each.
    padding : int, tuple of int, tuple of pairs, "same" or "valid"
        The number of zeros around x: at both ends of all axes, of each axis, or ``(low, high)`` for
        each axis. "same" gives a result of the size of x and needs stride 1; where that
        takes an odd number of zeros, there is one more at the high end. "valid" is 0.
    dilation : int or tuple of int
        The distance between the elements that a kernel meets.
    groups : int
        The number of independent groups of channels: the first ``O / groups`` channels of the result are
        computed from the first ``C / groups`` of x, and so on.

    Returns
    -------
    numpy.ndarray or Var
        ``(N, O, height, width)``, where ``height`` is ``(height + low + high - dilation * (kernel - 1) - 1)
        // stride + 1`` of what these are for x and the kernel.

    Raises
    ------
    ShapeError
        If an operand has the wrong number of axes, channels do not fit, or the kernel is larger than the
        padded x.
    OptionError
        If stride, dilation or groups is less than 1 or padding less than 0, or one is not an int.

    Examples
    --------
    >>> import numpy as np, tape
    >>> x, w = np.ones((1, 3, 5, 5)), np.ones((4, 3, 3, 3))
    >>> tape.nn.conv2d(x, w, stride=2, padding=1)[0, 0]
    array([[12., 18., 12.],
           [18., 27., 18.],
           [12., 18., 12.]])
    """
    return _convolve("conv2d", 2, x, w, bias, stride, padding, dilation, groups)


def conv3d(
    x: Any, w: Any, bias: Any = None, stride: Option = 1, padding: Padding | str = 0, dilation: Option = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Convolve volumes ``(N, C, depth, height, width)``; kernels have five axes too. Like `conv2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.conv3d(np.ones((1, 2, 3, 3, 3)), np.ones((4, 2, 2, 2, 2))).shape
    (1, 4, 2, 2, 2)
    """
    return _convolve("conv3d", 3, x, w, bias, stride, padding, dilation, groups)


# ---- transposed convolution ------------------------------------------------------------------------


def _transpose(
    name: str, rank: int, x: Any, w: Any, bias: Any, stride: Any, padding: Any, output_padding: Any,
    groups: Any, dilation: Any,
) -> Any:  # fmt: skip
    x, w, bias, shape = _operands(name, rank, x, w, bias)
    kernel, groups = w.shape[2:], whole(name, "groups", groups, 1)
    steps = per_axis(name, "stride", stride, rank, 1)
    spread = per_axis(name, "dilation", dilation, rank, 1)
    pads = paddings(name, padding, rank)
    more = per_axis(name, "output_padding", output_padding, rank, 0)
    if any(extra >= max(step, d) for extra, step, d in zip(more, steps, spread, strict=True)):
        raise OptionError(
            f"{name}: output_padding={list(more)} must be less than the stride {list(steps)} or the dilation "
            f"{list(spread)}. Pad the result"
        )
    _check_channels(name, "(C, O / groups, *kernel)", w, groups, shape[1], w.shape[0])
    _check_bias(name, bias, w.shape[1] * groups)
    lengths, ends, zeros = [], [], []
    for n, reach, step, (low, high), extra in zip(
        shape[2:], extents(kernel, spread), steps, pads, more, strict=True
    ):
        # The windows of the transposed convolution leave `left` elements over at the high end. Where dilation
        # allows more of them than another window would take, zeros are appended at the end.
        left = max(extra - high, 0)
        zeros.append((0, left // step * step))
        ends.append((low, max(high - extra, 0)))
        lengths.append((n - 1) * step + reach - sum(ends[-1]) + left % step)
    if not all(shape[2:]) or min(lengths) < 1:
        raise ShapeError(
            f"{name}: of {list(shape[2:])} elements the result would have {lengths}: padding {list(pads)} "
            "takes away more than there is. Pad less"
        )

    def transposed(x: Any) -> Any:
        out = conv_input(
            x, w, spatial=tuple(lengths), stride=steps, padding=tuple(ends), dilation=spread, groups=groups
        )
        if any(map(any, zeros)):
            out = pad(out, [(0, 0), (0, 0), *zeros])
        return _with_bias(out, bias)

    return on_batches(transposed, x, rank)


def conv_transpose1d(
    x: Any, w: Any, bias: Any = None, stride: Option = 1, padding: Padding = 0, output_padding: Option = 0,
    groups: int = 1, dilation: Option = 1,
) -> Any:  # fmt: skip
    """The transpose of `conv1d` by x, for signals ``(N, C, length)``. Like `conv_transpose2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.conv_transpose1d(np.array([[1.0, 10.0]]), np.ones((1, 1, 3)), stride=2)
    array([[ 1.,  1., 11., 10., 10.]])
    """
    return _transpose("conv_transpose1d", 1, x, w, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    x: Any, w: Any, bias: Any = None, stride: Option = 1, padding: Padding = 0, output_padding: Option = 0,
    groups: int = 1, dilation: Option = 1,
) -> Any:  # fmt: skip
    """Transposed convolution of images: each element of x adds a multiple of the kernel to the result.

    It is the transpose of `conv2d` (with the same kernel, stride, padding, dilation and groups) as a linear
    function of its first argument.

    Parameters
    ----------
    x : array_like or Var
        ``(N, C, height, width)``, or ``(C, height, width)``: the result then has no batch axis.
    w : array_like or Var
        ``(C, O / groups, height, width)``, not empty.
    bias : array_like or Var, optional
        ``(O,)``: added to each channel of the result.
    stride : int or tuple of int
        The distance of the elements of x in the result: for all axes, or one for each.
    padding : int, tuple of int or tuple of pairs
        Length taken away at the ends, where `conv2d` would put padding.
    output_padding : int or tuple of int
        Length added to the result at the high ends. Less than the stride or the dilation.
    groups : int
        The number of independent groups of channels.
    dilation : int or tuple of int
        The distance between the elements of a kernel in the result.

    Returns
    -------
    numpy.ndarray or Var
        ``(N, O, height, width)``, where ``height`` is ``(height - 1) * stride - low - high + dilation *
        (kernel - 1) + output_padding + 1`` of what these are for x and the kernel.

    Raises
    ------
    ShapeError
        If an operand has the wrong number of axes, channels do not fit, or padding leaves nothing.
    OptionError
        If stride, dilation or groups is less than 1, padding less than 0, or ``output_padding`` too large.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.conv_transpose2d(np.array([[[1.0, 10.0]]]), np.ones((1, 1, 2, 2)))
    array([[[ 1., 11., 10.],
            [ 1., 11., 10.]]])
    """
    return _transpose("conv_transpose2d", 2, x, w, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    x: Any, w: Any, bias: Any = None, stride: Option = 1, padding: Padding = 0, output_padding: Option = 0,
    groups: int = 1, dilation: Option = 1,
) -> Any:  # fmt: skip
    """The transpose of `conv3d` by x, for volumes. Like `conv_transpose2d`, with one more axis.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.conv_transpose3d(np.ones((1, 2, 2, 2, 2)), np.ones((2, 4, 3, 3, 3)), stride=2).shape
    (1, 4, 5, 5, 5)
    """
    return _transpose("conv_transpose3d", 3, x, w, bias, stride, padding, output_padding, groups, dilation)
