"""Normalisation: by each sample, by groups of its channels, and by a batch with running statistics."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tape.errors import OptionError, ShapeError
from tape.nn._layer import STATIC, Described, check_length, float_dtype, title
from tape.ops.nn.batch_normalization import batch_norm, batch_norm_statistics
from tape.ops.nn.geometry import whole
from tape.ops.nn.normalization import group_norm, layer_norm, rms_norm
from tape.transforms.stop import stop_gradient


def _lengths(name: str, shape: Any) -> tuple[int, ...]:
    try:
        lengths = (operator.index(shape),) if np.ndim(shape) == 0 else tuple(map(operator.index, shape))
    except TypeError:
        lengths = ()
    if not lengths or min(lengths) < 1:
        raise OptionError(f"{name}: normalized_shape={shape!r}. It must be an int or ints of at least 1")
    return lengths


def _check_end(layer: Any, x: Any, lengths: tuple[int, ...]) -> None:
    shape = np.shape(x)
    if shape[-len(lengths) :] != lengths:
        raise ShapeError(f"{title(layer)}: x has shape {list(shape)}, not ending with {list(lengths)}")


@dataclass(init=False, eq=False, repr=False)
class LayerNorm(Described):
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` along the last axes.

    Parameters
    ----------
    normalized_shape : int or sequence of int
        The lengths of these axes.
    eps : float
        Keeps the derivative finite where all elements are equal.
    elementwise_affine, bias : bool
        Whether there are a weight and a bias; whether there is a bias beside the weight.
    dtype : dtype
        That of weight and bias.

    Attributes
    ----------
    weight, bias : numpy.ndarray or None
        Arrays of shape ``normalized_shape``, ones and zeros at first.

    Raises
    ------
    ShapeError
        When called, if the shape of ``x`` ends otherwise.
    OptionError
        If a length is no positive int, or ``dtype`` none of floats.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.LayerNorm(2)(np.array([[1.0, 3.0], [10.0, 30.0]])).round(3)
    array([[-1.,  1.],
           [-1.,  1.]])
    """

    normalized_shape: tuple[int, ...] = field(metadata=STATIC)
    eps: float = field(metadata=STATIC)
    weight: Any
    bias: Any

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True,
        bias: bool = True, *, dtype: Any = np.float32,
    ) -> None:  # fmt: skip
        self.normalized_shape = _lengths("LayerNorm", normalized_shape)
        self.eps = eps
        dtype = float_dtype("LayerNorm", dtype)
        self.weight = np.ones(self.normalized_shape, dtype) if elementwise_affine else None
        self.bias = np.zeros(self.normalized_shape, dtype) if elementwise_affine and bias else None

    def __call__(self, x: Any) -> Any:
        _check_end(self, x, self.normalized_shape)
        return layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


@dataclass(init=False, eq=False, repr=False)
class RMSNorm(Described):
    """``x / sqrt(mean(x**2) + eps) * weight`` along the last axes.

    Parameters
    ----------
    normalized_shape, dtype
        As for `LayerNorm`.
    eps : float, optional
        By default the distance from 1 to the next float of the dtype of ``x``.
    elementwise_affine : bool
        Whether there is a weight.

    Attributes
    ----------
    weight : numpy.ndarray or None
        Array of shape ``normalized_shape``, ones at first.

    Raises
    ------
    ShapeError, OptionError
        As `LayerNorm`.

    Examples
    --------
    >>> import tape
    >>> tape.nn.RMSNorm(4)([3.0, 4.0, 0.0, 0.0]).round(3)
    array([1.2, 1.6, 0. , 0. ])
    """

    normalized_shape: tuple[int, ...] = field(metadata=STATIC)
    eps: float | None = field(metadata=STATIC)
    weight: Any

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float | None = None,
        elementwise_affine: bool = True, *, dtype: Any = np.float32,
    ) -> None:  # fmt: skip
        self.normalized_shape = _lengths("RMSNorm", normalized_shape)
        self.eps = eps
        dtype = float_dtype("RMSNorm", dtype)
        self.weight = np.ones(self.normalized_shape, dtype) if elementwise_affine else None

    def __call__(self, x: Any) -> Any:
        _check_end(self, x, self.normalized_shape)
        return rms_norm(x, self.normalized_shape, self.weight, self.eps)


@dataclass(init=False, eq=False, repr=False)
class GroupNorm(Described):
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` in each sample, over groups of channels.

    Parameters
    ----------
    num_groups, num_channels : int
        How many groups the channels form, in order and all of one size; the length of axis 1.
    eps, dtype
        As for `LayerNorm`.
    affine : bool
        Whether there are a weight and a bias.

    Attributes
    ----------
    weight, bias : numpy.ndarray or None
        ``(num_channels,)``, ones and zeros at first.

    Raises
    ------
    ShapeError
        When called, if ``x`` is not ``(N, num_channels, ...)``.
    OptionError
        If the channels do not make so many groups, or ``dtype`` is none of floats.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.GroupNorm(2, 4)(np.array([[1.0, 3.0, 10.0, 30.0]])).round(3)
    array([[-1.,  1., -1.,  1.]])
    """

    num_groups: int = field(metadata=STATIC)
    num_channels: int = field(metadata=STATIC)
    eps: float = field(metadata=STATIC)
    weight: Any
    bias: Any

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, *,
        dtype: Any = np.float32,
    ) -> None:  # fmt: skip
        self.num_groups = whole("GroupNorm", "num_groups", num_groups, 1)
        self.num_channels = whole("GroupNorm", "num_channels", num_channels, 1)
        if num_channels % num_groups:
            raise OptionError(f"GroupNorm: {num_channels} channels do not split into {num_groups} groups")
        self.eps = eps
        dtype = float_dtype("GroupNorm", dtype)
        self.weight = np.ones(num_channels, dtype) if affine else None
        self.bias = np.zeros(num_channels, dtype) if affine else None

    def __call__(self, x: Any) -> Any:
        check_length(self, x, 1, self.num_channels)
        return group_norm(x, self.num_groups, self.weight, self.bias, self.eps)


# ---- batches -----------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class BatchStatistics(Described):
    """Running statistics of a `BatchNorm`: its state.

    Attributes
    ----------
    running_mean, running_var : numpy.ndarray
        ``(num_features,)``.
    num_batches_tracked : numpy.int64
        The number of batches seen.
    """

    running_mean: Any
    running_var: Any
    num_batches_tracked: Any


@dataclass(init=False, eq=False, repr=False)
class BatchNorm(Described):
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` in each channel, over all samples.

    In training mean and variance are those of the batch, and the state moves toward them; otherwise they
    are those of the state. The state is an argument and a result: nothing is written.

    Parameters
    ----------
    num_features : int
        The number of channels: the length of axis 1.
    eps, dtype
        As for `LayerNorm`.
    momentum : float or None
        The share by which the state moves, from 0 to 1. With None the state is the average over all batches.
    affine : bool
        Whether there are a weight and a bias.

    Attributes
    ----------
    weight, bias : numpy.ndarray or None
        ``(num_features,)``, ones and zeros at first.

    Raises
    ------
    ShapeError
        When called, if ``x`` is not ``(N, num_features, ...)``, or in training has one element a channel.
    OptionError
        If an option is out of range; when called without a state.

    See Also
    --------
    init_state : The states of all layers of a model.

    Examples
    --------
    >>> import numpy as np, tape
    >>> layer = tape.nn.BatchNorm(2)
    >>> x = np.array([[1.0, 10.0], [3.0, 30.0]], np.float32)
    >>> y, state = layer(x, layer.init_state(), train=True)
    >>> y.round(3)
    array([[-1., -1.],
           [ 1.,  1.]], dtype=float32)
    >>> state.running_mean
    array([0.2, 2. ], dtype=float32)
    """

    num_features: int = field(metadata=STATIC)
    eps: float = field(metadata=STATIC)
    momentum: float | None = field(metadata=STATIC)
    dtype: np.dtype[Any] = field(metadata=STATIC)
    weight: Any
    bias: Any

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        *, dtype: Any = np.float32,
    ) -> None:  # fmt: skip
        self.num_features = whole("BatchNorm", "num_features", num_features, 1)
        self.eps = eps
        if momentum is not None and not 0 <= momentum <= 1:
            raise OptionError(f"BatchNorm: momentum={momentum}. It must be within 0 and 1, or None")
        self.momentum = momentum
        self.dtype = float_dtype("BatchNorm", dtype)
        self.weight = np.ones(num_features, self.dtype) if affine else None
        self.bias = np.zeros(num_features, self.dtype) if affine else None

    def init_state(self) -> BatchStatistics:
        """Return the statistics before the first batch: mean 0 and variance 1."""
        shape, dtype = self.num_features, self.dtype
        return BatchStatistics(np.zeros(shape, dtype), np.ones(shape, dtype), np.int64(0))

    def __call__(self, x: Any, state: Any = None, *, train: bool = False) -> tuple[Any, Any]:
        if state is None:
            raise OptionError(
                f"{title(self)} needs its state: y, state = layer(x, state, train=...). The first one is "
                "layer.init_state(), and that of a whole model tape.nn.init_state(model)"
            )
        check_length(self, x, 1, self.num_features)
        if not train:
            out = batch_norm(
                x, state.running_mean, state.running_var, self.weight, self.bias, False, self.eps
            )
            return out, state
        out = batch_norm(x, None, None, self.weight, self.bias, True, self.eps)
        count = state.num_batches_tracked + 1
        mean, variance = self._moved(stop_gradient(x), state, count)
        return out, BatchStatistics(
            stop_gradient(mean).astype(self.dtype),  # whatever the dtype of x
            stop_gradient(variance).astype(self.dtype),
            count,
        )

    def _moved(self, x: Any, state: BatchStatistics, count: Any) -> tuple[Any, Any]:
        """Return running mean and variance after a batch, the one of this number."""
        mean, variance = state.running_mean, state.running_var
        if self.momentum is not None:
            return batch_norm_statistics(x, mean, variance, self.momentum)
        new_mean, new_variance = batch_norm_statistics(x, mean, variance, 1.0)
        share = 1.0 / count
        return mean + share * (new_mean - mean), variance + share * (new_variance - variance)
