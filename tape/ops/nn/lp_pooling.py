"""Power-average pooling: the p-norm of every window."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod
from typing import Any

from tape.errors import OptionError
from tape.ops.elementwise.arithmetic import power
from tape.ops.elementwise.bodies import number
from tape.ops.elementwise.selection import where
from tape.ops.nn.geometry import image_shape, per_axis
from tape.ops.nn.losses import reals
from tape.ops.nn.pooling import Option, avg_pool1d, avg_pool2d, avg_pool3d


def _lp(
    name: str, rank: int, pool: Callable[..., Any], x: Any, norm_type: float, kernel_size: Option,
    stride: Option | None, ceil_mode: bool,
) -> Any:  # fmt: skip
    p = number(f"{name}: norm_type", norm_type)
    if not 0 < p < inf:
        largest = f" The largest of each window is max{name[2:]}" if p == inf else ""
        raise OptionError(f"{name}: norm_type={p} must be positive and finite.{largest}")
    (x,) = reals(name, x)
    image_shape(name, x, rank)
    count = prod(per_axis(name, "kernel_size", kernel_size, rank, 1))
    stride = None if stride is None else per_axis(name, "stride", stride, rank, 1)
    sums = pool(power(x, p), kernel_size, stride, ceil_mode=ceil_mode) * count
    is_positive = sums > 0  # of others PyTorch takes 0, as for sums of odd powers below 0
    return where(is_positive, power(where(is_positive, sums, 1.0), 1 / p), 0.0)


def lp_pool1d(
    x: Any, norm_type: float, kernel_size: Option, stride: Option | None = None, ceil_mode: bool = False
) -> Any:
    """The p-norm of each window of signals ``(N, C, length)``. Like `lp_pool2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.lp_pool1d(np.array([[3.0, 4.0, 5.0, 12.0]]), 2, 2)
    array([[ 5., 13.]])
    """
    return _lp("lp_pool1d", 1, avg_pool1d, x, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    x: Any, norm_type: float, kernel_size: Option, stride: Option | None = None, ceil_mode: bool = False
) -> Any:
    """``(sum of x**p)**(1/p)`` of each window of images.

    Parameters
    ----------
    x : array_like or Var
        ``(N, C, height, width)``, or ``(C, height, width)``: the result then has no batch axis.
    norm_type : float
        p; where it is odd, or no int, elements should not be negative.
    kernel_size, stride, ceil_mode
        Same as for `max_pool2d`.

    Returns
    -------
    numpy.ndarray or Var
        ``(N, C, height, width)``. A sum that is not positive gives 0, with derivative 0.

    Raises
    ------
    ShapeError, OptionError
        Like `avg_pool2d`, or if ``norm_type`` is not positive and finite.
    DTypeError
        If x is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.lp_pool2d(np.array([[[1.0, 2.0], [2.0, 4.0]]]), 2, 2)
    array([[[5.]]])
    """
    return _lp("lp_pool2d", 2, avg_pool2d, x, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    x: Any, norm_type: float, kernel_size: Option, stride: Option | None = None, ceil_mode: bool = False
) -> Any:
    """The p-norm of each window of volumes ``(N, C, depth, height, width)``. Like `lp_pool2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.lp_pool3d(np.ones((1, 2, 2, 4)), 3, 2).round(6)
    array([[[[2., 2.]]]])
    """
    return _lp("lp_pool3d", 3, avg_pool3d, x, norm_type, kernel_size, stride, ceil_mode)
