"""Normalisation of channels by the statistics of a batch, of one sample, or of training."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.operands import as_operand, composed
from tape.errors import OptionError, ShapeError
from tape.ops.elementwise.elementary import sqrt
from tape.ops.nn.normalization import affine, check_shape, checked_channels, standardized
from tape.ops.reduction.reductions import mean
from tape.ops.reduction.spreads import var


@composed
def instance_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` in each channel of each sample.

    Parameters
    ----------
    x : array_like or Var
        ``(N, C, ...)``, floats, with one axis more at least.
    weight, bias : array_like or Var, optional
        ``(C,)``; by default 1 and 0.
    eps : float
        Keeps the derivative finite where all elements are equal.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``x``.

    Raises
    ------
    ShapeError
        If there are less than three axes, or weight or bias have another shape.
    DTypeError
        If ``x`` does not hold real floats.
    OptionError
        If ``eps`` is negative.

    See Also
    --------
    batch_norm : For the running statistics that PyTorch's function takes as well.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.instance_norm(np.array([[[1.0, 3.0], [10.0, 30.0]]])).round(3)
    array([[[-1.,  1.],
            [-1.,  1.]]])
    """
    x = checked_channels("instance_norm", x, weight, bias, eps, least=3)
    out = standardized(x, axis=tuple(range(2 - x.ndim, 0)), eps=float(eps))
    return affine(out, weight, bias, (x.shape[1], *(1 for _ in x.shape[2:])))


@composed
def batch_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    eps: float = 1e-5,
) -> Any:
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` in each channel, over all samples.

    PyTorch's function also writes new running statistics into the old ones. Here nothing is written:
    `batch_norm_statistics` returns them.

    Parameters
    ----------
    x : array_like or Var
        ``(N, C, ...)``, floats.
    running_mean, running_var : array_like or Var, optional
        ``(C,)``: what to normalise with; not used in training.
    weight, bias : array_like or Var, optional
        ``(C,)``; by default 1 and 0.
    training : bool
        Normalise with mean and variance of ``x``, through which derivatives flow.
    eps : float
        Keeps the derivative finite where all elements are equal.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``x``.

    Raises
    ------
    ShapeError
        If there are less than two axes, another array is not ``(C,)``, or there is but one element in a
        channel to normalise by, which would leave 0.
    OptionError
        If there are no statistics, and it is not training; or if ``eps`` is negative.
    DTypeError
        If ``x`` does not hold real floats.

    References
    ----------
    S. Ioffe and C. Szegedy, "Batch normalization" (2015).

    Examples
    --------
    >>> import numpy as np, tape
    >>> x = np.array([[1.0, 10.0], [3.0, 30.0]])
    >>> tape.nn.batch_norm(x, training=True).round(3)
    array([[-1., -1.],
           [ 1.,  1.]])
    >>> tape.nn.batch_norm(x, running_mean=np.zeros(2), running_var=np.array([1.0, 100.0])).round(3)
    array([[1., 1.],
           [3., 3.]])
    """
    x = checked_channels("batch_norm", x, weight, bias, eps)
    check_shape("batch_norm", "running_mean", running_mean, (x.shape[1],))
    check_shape("batch_norm", "running_var", running_var, (x.shape[1],))
    shape = (x.shape[1], *(1 for _ in x.shape[2:]))
    if training:
        _check_count("batch_norm", x)
        return affine(standardized(x, axis=_all_but_channels(x), eps=float(eps)), weight, bias, shape)
    if running_mean is None or running_var is None:
        raise OptionError("batch_norm needs running_mean and running_var, or training=True")
    deviation = sqrt(as_operand(running_var) + eps)
    scale = 1 / deviation if weight is None else as_operand(weight) / deviation
    shift = -as_operand(running_mean) * scale
    return affine(x, scale, shift if bias is None else shift + as_operand(bias), shape)


@composed
def batch_norm_statistics(
    x: Any, running_mean: Any, running_var: Any, momentum: float = 0.1
) -> tuple[Any, Any]:
    """Return running statistics of channels, moved toward those of a batch.

    Parameters
    ----------
    x : array_like or Var
        ``(N, C, ...)``, floats.
    running_mean, running_var : array_like or Var
        ``(C,)``.
    momentum : float
        The share by which they move, from 0 to 1.

    Returns
    -------
    running_mean : numpy.ndarray or Var
        ``(C,)``.
    running_var : numpy.ndarray or Var
        ``(C,)``, moved toward the unbiased variance, as in PyTorch.

    Raises
    ------
    ShapeError
        If there are less than two axes, the statistics are not ``(C,)``, or a channel has but one element.
    OptionError
        If ``momentum`` is not within 0 and 1.
    DTypeError
        If ``x`` does not hold real floats.

    Examples
    --------
    >>> import numpy as np, tape
    >>> x = np.array([[1.0, 10.0], [3.0, 30.0]])
    >>> tape.nn.batch_norm_statistics(x, np.zeros(2), np.ones(2), momentum=0.5)
    (array([ 1., 10.]), array([  1.5, 100.5]))
    """
    x = checked_channels("batch_norm_statistics", x, None, None, 0.0)
    if not 0 <= momentum <= 1:
        raise OptionError(f"batch_norm_statistics: momentum={momentum}. It must be within 0 and 1")
    check_shape("batch_norm_statistics", "running_mean", running_mean, (x.shape[1],))
    check_shape("batch_norm_statistics", "running_var", running_var, (x.shape[1],))
    _check_count("batch_norm_statistics", x)
    axes = _all_but_channels(x)
    old_mean, old_var = as_operand(running_mean), as_operand(running_var)
    return (
        (1 - momentum) * old_mean + momentum * mean(x, axis=axes),
        (1 - momentum) * old_var + momentum * var(x, axis=axes, ddof=1),
    )


def _all_but_channels(x: Any) -> tuple[int, ...]:
    return (0, *range(2, x.ndim))


def _check_count(name: str, x: Any) -> None:
    if x.shape[1] and np.size(x) == x.shape[1]:
        raise ShapeError(
            f"{name}: shape {list(x.shape)} has one element in each channel: the variance is undefined. "
            "Use a larger batch"
        )
