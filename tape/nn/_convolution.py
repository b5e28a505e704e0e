"""Convolutions, transposed convolutions and pooling over one, two or three axes."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod, sqrt
from typing import Any, ClassVar

import numpy as np

from tape.errors import OptionError
from tape.nn._layer import STATIC, Described, check_length, float_dtype
from tape.nn.initializers import uniform
from tape.ops.nn import convolution, pooling
from tape.ops.nn.geometry import per_axis, whole
from tape.ops.structure.padding import pad

Ints = int | tuple[int, ...]


@dataclass(init=False, eq=False, repr=False)
class _Convolution(Described):
    """The fields of all convolutions."""

    rank: ClassVar[int]
    is_transposed: ClassVar[bool] = False

    in_channels: int = field(metadata=STATIC)
    out_channels: int = field(metadata=STATIC)
    kernel_size: tuple[int, ...] = field(metadata=STATIC)
    stride: Ints = field(metadata=STATIC)
    padding: Any = field(metadata=STATIC)
    dilation: Ints = field(metadata=STATIC)
    groups: int = field(metadata=STATIC)
    weight: Any
    bias: Any

    def _build(
        self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints, padding: Any,
        dilation: Ints, groups: int, bias: bool, rng: Any, dtype: Any,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        self.in_channels = whole(name, "in_channels", in_channels, 1)
        self.out_channels = whole(name, "out_channels", out_channels, 1)
        self.groups = whole(name, "groups", groups, 1)
        if in_channels % groups or out_channels % groups:
            raise OptionError(
                f"{name}: {in_channels} and {out_channels} channels do not split into {groups} groups"
            )
        self.kernel_size = per_axis(name, "kernel_size", kernel_size, self.rank, 1)
        self.stride = per_axis(name, "stride", stride, self.rank, 1)
        self.dilation = per_axis(name, "dilation", dilation, self.rank, 1)
        self.padding = padding
        ends = (in_channels, out_channels) if self.is_transposed else (out_channels, in_channels)
        shape = (ends[0], ends[1] // groups, *self.kernel_size)
        dtype, bound = float_dtype(name, dtype), 1 / sqrt(prod(shape[1:]))
        self.weight = uniform(rng, shape, -bound, bound, dtype)
        self.bias = uniform(rng, (out_channels,), -bound, bound, dtype) if bias else None


_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
"""PyTorch's names of paddings, and NumPy's."""


@dataclass(init=False, eq=False, repr=False)
class _Plain(_Convolution):
    padding_mode: str = field(metadata=STATIC)

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Any = 0,
        dilation: Ints = 1, groups: int = 1, *, rng: Any, bias: bool = True, padding_mode: str = "zeros",
        dtype: Any = np.float32,
    ) -> None:  # fmt: skip
        self._build(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, rng, dtype
        )
        if padding_mode not in _MODES:
            raise OptionError(
                f"{type(self).__name__}: padding_mode={padding_mode!r}. It must be one of {', '.join(_MODES)}"
            )
        self.padding_mode = padding_mode

    def __call__(self, x: Any) -> Any:
        check_length(self, x, -self.rank - 1, self.in_channels)
        convolve = getattr(convolution, f"conv{self.rank}d")
        padding = self.padding
        if self.padding_mode != "zeros":
            x, padding = self._padded(x), 0
        return convolve(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def _padded(self, x: Any) -> Any:
        """Return an argument with elements of its own around it."""
        name = type(self).__name__
        stride = per_axis(name, "stride", self.stride, self.rank, 1)
        dilation = per_axis(name, "dilation", self.dilation, self.rank, 1)
        widths = convolution.padding_widths(name, self.padding, self.kernel_size, stride, dilation)
        fronts = np.ndim(x) - self.rank
        return pad(x, ((0, 0),) * fronts + widths, _MODES[self.padding_mode])


class Conv1d(_Plain):
    """Convolution of signals ``(N, C, length)``, or ``(C, length)``. Like `Conv2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> layer = tape.nn.Conv1d(3, 8, 5, padding="same", rng=np.random.default_rng(0))
    >>> layer(np.ones((2, 3, 20))).shape
    (2, 8, 20)
    """

    rank = 1


class Conv2d(_Plain):
    """Convolution of images ``(N, C, height, width)``, or ``(C, height, width)``.

    Parameters
    ----------
    in_channels, out_channels : int
        Numbers of channels of argument and result.
    kernel_size : int or tuple of int
        The size of the kernel along all axes, or along each.
    stride, padding, dilation, groups
        As for `conv2d`.
    bias : bool
        Whether a bias is added.
    padding_mode : {"zeros", "reflect", "replicate", "circular"}
        What stands in the padding: zeros, the mirror image, the element at the edge, or the other end.
    rng : numpy.random.Generator
        What the weights are drawn from: uniformly within ``1 / sqrt(fan_in)``, as in PyTorch.
    dtype : dtype
        That of weight and bias.

    Attributes
    ----------
    weight : numpy.ndarray
        ``(out_channels, in_channels / groups, height, width)``.
    bias : numpy.ndarray or None
        ``(out_channels,)``.

    Raises
    ------
    ShapeError
        When called, if ``x`` has another number of axes or channels, or is smaller than the kernel.
    OptionError
        If an option is out of range, ``rng`` is no generator or ``dtype`` none of floats.

    Examples
    --------
    >>> import numpy as np, tape
    >>> layer = tape.nn.Conv2d(3, 8, 3, stride=2, padding=1, rng=np.random.default_rng(0))
    >>> layer(np.ones((2, 3, 8, 8), np.float32)).shape
    (2, 8, 4, 4)
    """

    rank = 2


class Conv3d(_Plain):
    """Convolution of volumes ``(N, C, depth, height, width)``, or without N. Like `Conv2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> layer = tape.nn.Conv3d(1, 2, (1, 2, 2), rng=np.random.default_rng(0))
    >>> layer(np.ones((1, 4, 4, 4))).shape
    (2, 4, 3, 3)
    """

    rank = 3


@dataclass(init=False, eq=False, repr=False)
class _Transposed(_Convolution):
    is_transposed: ClassVar[bool] = True

    output_padding: Ints = field(metadata=STATIC)

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Any = 0,
        output_padding: Ints = 0, groups: int = 1, dilation: Ints = 1, *, rng: Any, bias: bool = True,
        dtype: Any = np.float32,
    ) -> None:  # fmt: skip
        self._build(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, rng, dtype
        )
        name = type(self).__name__
        self.output_padding = per_axis(name, "output_padding", output_padding, self.rank, 0)

    def __call__(self, x: Any) -> Any:
        check_length(self, x, -self.rank - 1, self.in_channels)
        convolve = getattr(convolution, f"conv_transpose{self.rank}d")
        return convolve(
            x, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups,
            self.dilation,
        )  # fmt: skip


class ConvTranspose1d(_Transposed):
    """Transposed convolution of signals ``(N, C, length)``. Like `ConvTranspose2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> layer = tape.nn.ConvTranspose1d(3, 2, 4, stride=2, rng=np.random.default_rng(0))
    >>> layer(np.ones((5, 3, 10))).shape
    (5, 2, 22)
    """

    rank = 1


class ConvTranspose2d(_Transposed):
    """Transposed convolution of images ``(N, C, height, width)``, or ``(C, height, width)``.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, bias, rng, dtype
        As for `Conv2d`.
    stride, padding, output_padding, groups, dilation
        As for `conv_transpose2d`.

    Attributes
    ----------
    weight : numpy.ndarray
        ``(in_channels, out_channels / groups, height, width)``.
    bias : numpy.ndarray or None
        ``(out_channels,)``.

    Raises
    ------
    ShapeError, OptionError
        As `Conv2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> layer = tape.nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1, rng=np.random.default_rng(0))
    >>> layer(np.ones((2, 8, 4, 4), np.float32)).shape
    (2, 3, 8, 8)
    """

    rank = 2


class ConvTranspose3d(_Transposed):
    """Transposed convolution of volumes ``(N, C, depth, height, width)``. Like `ConvTranspose2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> layer = tape.nn.ConvTranspose3d(2, 1, 3, rng=np.random.default_rng(0))
    >>> layer(np.ones((1, 2, 2, 2, 2))).shape
    (1, 1, 4, 4, 4)
    """

    rank = 3


# ---- pooling -----------------------------------------------------------------------------------------


@dataclass(init=False, eq=False, repr=False)
class _Pooling(Described):
    """Settings of pooling, which has no weights."""

    rank: ClassVar[int]

    kernel_size: Ints = field(metadata=STATIC)
    stride: Ints = field(metadata=STATIC)
    padding: Any = field(metadata=STATIC)

    def _build(self, kernel_size: Ints, stride: Ints | None, padding: Any) -> None:
        name = type(self).__name__
        self.kernel_size = per_axis(name, "kernel_size", kernel_size, self.rank, 1)
        self.stride = per_axis(name, "stride", kernel_size if stride is None else stride, self.rank, 1)
        self.padding = padding


@dataclass(init=False, eq=False, repr=False)
class _MaxPool(_Pooling):
    dilation: Ints = field(metadata=STATIC)
    ceil_mode: bool = field(metadata=STATIC)

    def __init__(
        self, kernel_size: Ints, stride: Ints | None = None, padding: Any = 0, dilation: Ints = 1,
        ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        self._build(kernel_size, stride, padding)
        self.dilation = per_axis(type(self).__name__, "dilation", dilation, self.rank, 1)
        self.ceil_mode = ceil_mode

    def __call__(self, x: Any) -> Any:
        pool = getattr(pooling, f"max_pool{self.rank}d")
        return pool(x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)


class MaxPool1d(_MaxPool):
    """Largest elements of windows of signals. Like `MaxPool2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.MaxPool1d(2)(np.array([[1.0, 2.0, 4.0, 3.0]]))
    array([[2., 4.]])
    """

    rank = 1


class MaxPool2d(_MaxPool):
    """Largest elements of windows of images ``(N, C, height, width)``.

    Parameters
    ----------
    kernel_size, stride, padding, dilation, ceil_mode
        As for `max_pool2d`.

    Raises
    ------
    OptionError
        If an option is out of range.
    ShapeError
        When called, if ``x`` has another number of axes, or is smaller than a window.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.MaxPool2d(2)(np.ones((1, 3, 8, 8))).shape
    (1, 3, 4, 4)
    """

    rank = 2


class MaxPool3d(_MaxPool):
    """Largest elements of windows of volumes. Like `MaxPool2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.MaxPool3d(2)(np.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 4, 4, 4)
    """

    rank = 3


@dataclass(init=False, eq=False, repr=False)
class _AvgPool(_Pooling):
    ceil_mode: bool = field(metadata=STATIC)
    count_include_pad: bool = field(metadata=STATIC)

    def __init__(
        self, kernel_size: Ints, stride: Ints | None = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        self._build(kernel_size, stride, padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def __call__(self, x: Any) -> Any:
        pool = getattr(pooling, f"avg_pool{self.rank}d")
        return pool(x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool1d(_AvgPool):
    """Averages of windows of signals. Like `AvgPool2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.AvgPool1d(2)(np.array([[1.0, 2.0, 4.0, 3.0]]))
    array([[1.5, 3.5]])
    """

    rank = 1


class AvgPool2d(_AvgPool):
    """Averages of windows of images ``(N, C, height, width)``.

    Parameters
    ----------
    kernel_size, stride, padding, ceil_mode, count_include_pad
        As for `avg_pool2d`.

    Raises
    ------
    OptionError, ShapeError
        As `MaxPool2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.AvgPool2d(2)(np.ones((1, 3, 8, 8))).shape
    (1, 3, 4, 4)
    """

    rank = 2


class AvgPool3d(_AvgPool):
    """Averages of windows of volumes. Like `AvgPool2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.AvgPool3d(2)(np.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 4, 4, 4)
    """

    rank = 3
