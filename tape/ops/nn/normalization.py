"""Normalisations: elements, centred or not, over their root mean square, along axes or groups of channels.

Two operations do the work, one that subtracts the mean and one that does not. Their Jacobians are symmetric,
so that one rule is both the vjp and the jvp.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tape.core.batch_rules import along_axes
from tape.core.op import Op
from tape.core.operands import as_operand, composed
from tape.errors import DTypeError, OptionError, ShapeError, describe
from tape.inspect.costs import declare_cost, per_row
from tape.ops.elementwise.selection import maximum
from tape.ops.linalg.norms import vector_norm
from tape.ops.nn.geometry import number, whole
from tape.ops.nn.losses import in_single
from tape.ops.number_axes import axis_of
from tape.ops.reduction.axes import count_along, operand_and_axis
from tape.ops.reduction.primitives import mean_along
from tape.ops.structure.padding import pad
from tape.ops.structure.shape import reshape

Axes = tuple[int, ...]
Mean = Callable[[Any], Any]


# ---- the two operations ------------------------------------------------------------------------------


def _centred(x: Any, mean: Mean) -> Any:
    return x - mean(x)


def _uncentred(x: Any, mean: Mean) -> Any:
    return x


def _normalisation(name: str, centred: Callable[[Any, Mean], Any]) -> Op:
    """Return the operation ``c / sqrt(mean(c**2) + eps)`` along axes, where c is ``centred(x, mean)``.

    With s for the reciprocal square root, ``ds = -s**3 * mean(c * dc)``, so that a derivative d of x becomes
    ``s * (dc - out * mean(out * d))``: the projections are symmetric. s is a separate operation, which a
    program has computed before.
    """

    def parts(x: Any, mean: Mean, sqrt: Callable[[Any], Any], eps: float) -> tuple[Any, Any]:
        c = centred(x, mean)
        return c, 1 / sqrt(mean(c * c) + eps)

    def computed(x: Any, axis: Axes, eps: float) -> tuple[Any, Any]:
        wide = x.astype(np.float32) if x.dtype == np.float16 else x  # whose squares do not overflow
        return parts(wide, lambda x: mean_along.forward(x, axis=axis, keepdims=True), np.sqrt, eps)

    def lowered(b: Any, x: Any, axis: Axes, eps: float) -> tuple[Any, Any]:
        if not x.size:
            return x, x
        if x.dtype == np.float16:
            b.refuse("halves are added as floats")

        def mean(x: Any) -> Any:
            return b.fold("sum", x, axis, keepdims=True) * b.literal(1 / count_along(x.shape, axis), x.dtype)

        return parts(x, mean, lambda x: b.elementwise("sqrt", x), eps)

    def forward(x: Any, *, axis: Axes, eps: float) -> Any:
        if not x.size:
            return np.zeros(x.shape, x.dtype)
        c, s = computed(x, axis, eps)
        return (c * s).astype(x.dtype) if x.dtype == np.float16 else c * s

    def factor(x: Any, *, axis: Axes, eps: float) -> Any:
        s = computed(x, axis, eps)[1]
        return s.astype(x.dtype) if x.dtype == np.float16 else s

    def lower(b: Any, x: Any, axis: Axes, eps: float) -> Any:
        c, s = lowered(b, x, axis, eps)
        return c * s

    def rule(d: Any, out: Any, x: Any, axis: Axes, eps: float) -> Any:
        if not x.size:
            return np.zeros(x.shape, x.dtype)

        def mean(x: Any) -> Any:
            return mean_along(x, axis=axis, keepdims=True)

        return scale(x, axis=axis, eps=eps) * (centred(d, mean) - out * mean(out * d))

    op = Op(forward, name=name, vjp=[rule], jvp=[rule], batch=along_axes, lower=lower)
    scale = Op(
        factor,
        name=f"{name}_scale",
        vjp=[
            lambda g, out, x, axis, eps: (
                g * (out * out) * (-1 / count_along(x.shape, axis)) * op(x, axis=axis, eps=eps)
            )
        ],
        jvp=[
            lambda t, out, x, axis, eps: (
                -(out * out) * mean_along(op(x, axis=axis, eps=eps) * t, axis=axis, keepdims=True)
            )
        ],
        batch=along_axes,
        lower=lambda b, x, axis, eps: lowered(b, x, axis, eps)[1],
    )
    return op


standardized = _normalisation("standardized", _centred)
declare_cost(per_row(5, 5), standardized)
_scaled = _normalisation("rms_normalized", _uncentred)
declare_cost(per_row(3, 3), _scaled)


# ---- shared by the public functions ------------------------------------------------------------------


def checked_floats(name: str, x: Any, kinds: str = "f") -> Any:
    """Return an operand, which must hold floats, or numbers of other kinds of NumPy's."""
    x = as_operand(x)
    if np.result_type(x).kind not in kinds:
        real = "" if "c" in kinds else "real "
        raise DTypeError(f"{name} of {describe(x)}. It must be {real}floats: convert with astype")
    return x


def check_shape(name: str, what: str, given: Any, shape: tuple[int, ...]) -> None:
    """Raise if an array, which may be None, has another shape."""
    if given is not None and np.shape(given) != shape:
        raise ShapeError(f"{name}: {what} has shape {list(np.shape(given))}. It must have {list(shape)}")


def affine(x: Any, weight: Any, bias: Any, shape: Sequence[int]) -> Any:
    """Return ``x * weight + bias``, reshaped to broadcast; None leaves either out."""
    if weight is not None:
        x = x * reshape(as_operand(weight), tuple(shape))
    return x if bias is None else x + reshape(as_operand(bias), tuple(shape))


def check_eps(name: str, eps: float) -> None:
    """Raise if eps does not keep the divisor from becoming zero."""
    if not number(name, "eps", eps) >= 0:
        raise OptionError(f"{name}: eps={eps}. It is added to a variance, and must not be negative")


def _last_axes(
    name: str, x: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float | None
) -> tuple[Any, Axes, tuple[int, ...], float]:
    """Return the operand, its axes to normalise and their lengths, and eps, checked."""
    try:
        lengths = tuple(map(operator.index, np.atleast_1d(normalized_shape)))
    except TypeError as error:
        raise ShapeError(f"{name}: normalized_shape={normalized_shape!r}. It must be ints") from error
    shape = np.shape(x)
    if not lengths or shape[len(shape) - len(lengths) :] != lengths:
        raise ShapeError(
            f"{name}: normalized_shape {list(lengths)} does not end the shape {list(shape)} of x"
        )
    check_shape(name, "weight", weight, lengths)
    check_shape(name, "bias", bias, lengths)
    eps = float(np.finfo(x.dtype).eps) if eps is None else eps
    check_eps(name, eps)
    return x, tuple(range(-len(lengths), 0)), lengths, eps


# ---- public ------------------------------------------------------------------------------------------


def layer_norm(
    x: Any, normalized_shape: int | Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` along the last axes.

    Parameters
    ----------
    x : array_like or Var
        ``(..., *normalized_shape)``, floats.
    normalized_shape : int or sequence of int
        The lengths of the axes that mean and variance are taken along.
    weight, bias : array_like or Var, optional
        Array of shape ``normalized_shape``; by default 1 and 0.
    eps : float
        Keeps the derivative finite where all elements are equal.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``x``.

    Raises
    ------
    ShapeError
        If the shape of ``x`` does not end like this, or weight or bias have another one.
    DTypeError
        If ``x`` does not hold real floats.
    OptionError
        If ``eps`` is negative.

    References
    ----------
    J. L. Ba, J. R. Kiros and G. E. Hinton, "Layer normalization" (2016).

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.layer_norm(np.array([[1.0, 3.0], [10.0, 30.0]]), 2).round(3)
    array([[-1.,  1.],
           [-1.,  1.]])
    """
    x = checked_floats("layer_norm", x)
    x, axes, lengths, eps = _last_axes("layer_norm", x, normalized_shape, weight, bias, eps)
    return affine(standardized(x, axis=axes, eps=float(eps)), weight, bias, lengths)


def rms_norm(
    x: Any, normalized_shape: int | Sequence[int], weight: Any = None, eps: float | None = None
) -> Any:
    """``x / sqrt(mean(x**2) + eps) * weight`` along the last axes.

    Parameters
    ----------
    x : array_like or Var
        ``(..., *normalized_shape)``, floats. As in PyTorch they may be complex, and ``x**2`` is complex then.
    normalized_shape, weight
        Same as for `layer_norm`.
    eps : float, optional
        By default the distance from 1 to the next float of the dtype of ``x``.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``x``.

    Raises
    ------
    ShapeError, OptionError
        Like `layer_norm`.
    DTypeError
        If ``x`` does not hold floats.

    References
    ----------
    B. Zhang and R. Sennrich, "Root mean square layer normalization" (2019).

    Examples
    --------
    >>> import tape
    >>> tape.nn.rms_norm([3.0, 4.0, 0.0, 0.0], 4).round(3)
    array([1.2, 1.6, 0. , 0. ])
    """
    x = checked_floats("rms_norm", x, "fc")
    x, axes, lengths, eps = _last_axes("rms_norm", x, normalized_shape, weight, None, eps)
    return affine(_scaled(x, axis=axes, eps=float(eps)), weight, None, lengths)


def checked_channels(name: str, x: Any, weight: Any, bias: Any, eps: float, least: int = 2) -> Any:
    """Return an operand ``(N, C, ...)`` of floats with a weight and a bias for each channel, checked."""
    x = checked_floats(name, x)
    if np.ndim(x) < least:
        raise ShapeError(
            f"{name}: x has shape {list(np.shape(x))}. It must have at least {least} axes: (N, C, ...)"
        )
    check_shape(name, "weight", weight, (x.shape[1],))
    check_shape(name, "bias", bias, (x.shape[1],))
    check_eps(name, eps)
    return x


def group_norm(x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` in each sample, over groups of channels.

    Parameters
    ----------
    x : array_like or Var
        ``(N, C, ...)``, floats.
    num_groups : int
        The number of groups the channels form, in order and all of one size.
    weight, bias : array_like or Var, optional
        ``(C,)``; by default 1 and 0.
    eps : float
        Same as for `layer_norm`.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``x``.

    Raises
    ------
    ShapeError
        If there are less than two axes, or weight or bias have another shape.
    OptionError
        If the channels do not make so many groups, or ``eps`` is negative.
    DTypeError
        If ``x`` does not hold real floats.

    References
    ----------
    Y. Wu and K. He, "Group normalization" (2018).

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.group_norm(np.array([[1.0, 3.0, 10.0, 30.0]]), 2).round(3)
    array([[-1.,  1., -1.,  1.]])
    """
    x = checked_channels("group_norm", x, weight, bias, eps)
    samples, channels, *lengths = x.shape
    if channels % whole("group_norm", "num_groups", num_groups, 1):
        raise OptionError(
            f"group_norm: {channels} channels do not split into {num_groups} groups of one size"
        )
    groups = reshape(x, (samples, num_groups, channels // num_groups * prod(lengths)))
    out = reshape(standardized(groups, axis=(-1,), eps=float(eps)), x.shape)
    return affine(out, weight, bias, (channels, *(1 for _ in lengths)))


def normalize(x: Any, p: float = 2.0, axis: int = 1, eps: float = 1e-12) -> Any:
    """Divide vectors along an axis by their norms, or by ``eps`` if that is larger.

    Parameters
    ----------
    x : array_like or Var
        Any shape.
    p : float
        Order of the norm: 2 for lengths, 1 for sums of absolute values, inf for the largest of these.
    axis : int
        The axis of the vectors.
    eps : float
        The divisor of shorter vectors, also of zeros, which stay zeros.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``x``.

    Raises
    ------
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import tape
    >>> tape.nn.normalize([[3.0, 4.0], [0.0, 0.0]])
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    if axis_of(x, axis) is None and axis is not None:  # a scalar, as a vector of one element
        return reshape(normalize(reshape(x, (1,)), p, 0, eps), ())
    x, axis = operand_and_axis("normalize", x, axis)
    return in_single(lambda x: x / maximum(vector_norm(x, ord=p, axis=axis, keepdims=True), eps), x)


@composed
def local_response_norm(x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """``x / (k + alpha * mean of x**2)**beta``, with means over the nearest channels.

    Parameters
    ----------
    x : array_like or Var
        ``(N, C, ...)``, floats.
    size : int
        The number of channels a mean is taken over, half of them before; beyond the ends there are zeros.
    alpha, beta, k : float
        As in the formula.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``x``.

    Raises
    ------
    ShapeError
        If there are less than three axes.
    OptionError
        If ``size`` is less than one.
    DTypeError
        If ``x`` does not hold real floats.

    References
    ----------
    A. Krizhevsky, I. Sutskever and G. E. Hinton, "ImageNet classification with deep convolutional neural
    networks" (2012), section 3.3.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.local_response_norm(np.ones((1, 3, 1)), 3, alpha=3.0, beta=1.0)[0, :, 0]
    array([0.33333333, 0.25      , 0.33333333])
    """
    x = checked_channels("local_response_norm", x, None, None, 0.0, least=3)
    size = whole("local_response_norm", "size", size, 1)
    for name, each in (("alpha", alpha), ("beta", beta), ("k", k)):
        number("local_response_norm", name, each)
    channels = x.shape[1]
    widths = [(0, 0), (size // 2, (size - 1) // 2), *((0, 0) for _ in x.shape[2:])]
    squares = pad(x * x, widths)
    total: Any = squares[:, :channels]
    for first in range(1, size):
        total = total + squares[:, first : first + channels]
    return x / (total * (alpha / size) + k) ** beta
