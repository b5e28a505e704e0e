"""Activations that are piecewise linear or quadratic.

At a kink the derivative is that from the left, like that of relu. For functions that are constant on both
sides of a piece it is 0 at both of its ends.
"""

from __future__ import annotations

from typing import Any

from tape.core.elementwise import elementwise
from tape.core.operands import as_operand
from tape.core.record import recorder_of
from tape.errors import OptionError, ShapeError
from tape.kernels.choices import select
from tape.ops.elementwise.bodies import linear_in_pieces, number, smooth
from tape.ops.elementwise.selection import logical_and, where
from tape.ops.structure.shape import reshape


def _prelu_forward(x: Any, weight: Any) -> Any:
    return select(x > 0, x, weight * x)


_prelu: Any = elementwise(
    _prelu_forward,
    lambda d, out, x, weight: where(x > 0, d, d * weight),
    lambda d, out, x, weight: where(x > 0, 0, d * x),
    lower=lambda b, x, weight: b.where(b.elementwise("greater", x, 0), x, weight * x),
    name="prelu",
)


def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Any:
    """``x`` where it is positive, else ``negative_slope * x``.

    Parameters
    ----------
    x : array_like or Var
        Any shape.
    negative_slope : float or Var
        One number; also the derivative at 0.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Array of the shape of ``x``.

    Raises
    ------
    ShapeError
        If there are several slopes: see `prelu`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.leaky_relu(np.array([-1.0, 2.0]), 0.5)
    array([-0.5,  2. ])
    """
    negative_slope = as_operand(negative_slope)
    if getattr(negative_slope, "ndim", 0):
        raise ShapeError(
            f"leaky_relu: negative_slope has shape {list(negative_slope.shape)}. It must be a number; prelu "
            "takes one for each channel"
        )
    return _prelu(x, negative_slope)


def prelu(x: Any, weight: Any) -> Any:
    """``x`` where it is positive, else ``weight * x``, with learned weights.

    Parameters
    ----------
    x : array_like or Var
        ``(N, C, ...)``, or any shape for a single weight.
    weight : array_like or Var
        ``(C,)``, ``(1,)`` or ``()``; also the derivative at 0.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Array of the shape of ``x``.

    Raises
    ------
    ShapeError
        If there are neither one weight nor as many as channels.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.prelu(np.array([[-1.0, -1.0, 3.0]]), np.array([0.5, 0.25, 0.0]))
    array([[-0.5 , -0.25,  3.  ]])
    """
    x, weight = as_operand(x), as_operand(weight)
    shape, weights = getattr(x, "shape", ()), getattr(weight, "shape", ())
    if weights in ((), (1,)):
        return _prelu(x, reshape(weight, ()) if weights else weight)
    if len(shape) < 2 or weights != shape[1:2]:
        raise ShapeError(
            f"prelu: weight has shape {list(weights)}, x {list(shape)}. Give one weight, or one for each "
            "channel: axis 1 of x"
        )
    return _prelu(x, reshape(weight, (*weights, *(1,) * (len(shape) - 2))))


_hardtanh = linear_in_pieces(
    "hardtanh",
    lambda ns, x, low, high: ns.clip(x, low, high),
    lambda d, x, low, high: where(logical_and(x > low, x < high), d, 0),
)


def hardtanh(x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """``x`` limited to ``min_val`` and ``max_val``.

    Parameters
    ----------
    x : array_like or Var
        Any shape; ints become floats.
    min_val, max_val : float
        Where the derivative is 0, as it is outside.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Array of the shape of ``x``.

    Raises
    ------
    OptionError
        If a bound is not a number, or the lower one is above the upper.
    UnsupportedError
        If a bound is a Var.
    DTypeError
        If ``x`` is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.hardtanh(np.array([-3.0, 0.5, 2.0]))
    array([-1. ,  0.5,  1. ])
    """
    low, high = number("hardtanh: min_val", min_val), number("hardtanh: max_val", max_val)
    if not low <= high:
        raise OptionError(f"hardtanh: min_val={low} is above max_val={high}. Swap them")
    return _hardtanh(x, low=low, high=high)


def relu6(x: Any) -> Any:
    """``minimum(relu(x), 6)``; the derivative at 0 and at 6 is 0.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.relu6(np.array([-3.0, 0.5, 7.0]))
    array([0. , 0.5, 6. ])
    """
    return _hardtanh(x, low=0.0, high=6.0)


_SIXTH = 1 / 6  # of 3 and 6, rounded, it is 0.5 and 1 in all dtypes

hardsigmoid = recorder_of(
    linear_in_pieces(
        "hardsigmoid",
        lambda ns, x: ns.clip(x * _SIXTH + 0.5, 0, 1),
        lambda d, x: where(abs(x) < 3, d * _SIXTH, 0),
        doc="``relu6(x + 3) / 6``, in pieces what sigmoid is; the derivative at -3 and 3 is 0, between them "
        "1/6 in the dtype of x. PyTorch has it in float32 always, and is 2e-8 off in float64.",
    ),
    1,
)


def _hardswish(ns: Any, x: Any) -> Any:
    return ns.where(x <= -3, 0, ns.where(x >= 3, x, x * (x * _SIXTH + 0.5)))


def _hardswish_slope(ns: Any, x: Any) -> Any:
    sixth = x * _SIXTH
    return ns.where(x <= -3, 0, ns.where(x >= 3, 1, sixth + 0.5 + sixth))


hardswish = recorder_of(
    smooth(
        "hardswish",
        _hardswish,
        _hardswish_slope,
        lambda d, x: where(abs(x) < 3, d / 3, 0),
        doc="``x * hardsigmoid(x)``; the derivative at -3 is 0, at 3 it is 1.",
    ),
    1,
)


def _checked_width(name: str, lambd: Any) -> float:
    width = number(f"{name}: lambd", lambd)
    if not width >= 0:
        raise OptionError(f"{name}: lambd={width}. It must not be negative")
    return width


_hardshrink = linear_in_pieces(
    "hardshrink",
    lambda ns, x, width: ns.where(ns.absolute(x) <= width, 0, x),
    lambda d, x, width: where(abs(x) <= width, 0, d),
)
_softshrink = linear_in_pieces(
    "softshrink",
    lambda ns, x, width: x - ns.clip(x, -width, width),
    lambda d, x, width: where(abs(x) <= width, 0, d),
)


def hardshrink(x: Any, lambd: float = 0.5) -> Any:
    """``x``, and 0 where ``abs(x) <= lambd``.

    Parameters
    ----------
    x : array_like or Var
        Any shape; ints become floats.
    lambd : float
        Not negative. At this distance from 0 the derivative is 0, as it is inside.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Array of the shape of ``x``.

    Raises
    ------
    OptionError
        If ``lambd`` is negative or no number.
    UnsupportedError
        If ``lambd`` is a Var.
    DTypeError
        If ``x`` is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.hardshrink(np.array([-2.0, 0.25, 0.75]))
    array([-2.  ,  0.  ,  0.75])
    """
    return _hardshrink(x, width=_checked_width("hardshrink", lambd))


def softshrink(x: Any, lambd: float = 0.5) -> Any:
    """``x`` moved towards 0 by ``lambd``, at most to 0. Otherwise like `hardshrink`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.softshrink(np.array([-2.0, 0.25, 0.75]))
    array([-1.5 ,  0.  ,  0.25])
    """
    return _softshrink(x, width=_checked_width("softshrink", lambd))


_threshold = linear_in_pieces(
    "threshold",
    lambda ns, x, least, value: ns.where(x > least, x, value),
    lambda d, x, least, value: where(x > least, d, 0),
)


def threshold(x: Any, threshold: float, value: float) -> Any:
    """``x`` where that is above ``threshold``, else ``value``.

    Parameters
    ----------
    x : array_like or Var
        Any shape; ints become floats.
    threshold, value : float
        At the threshold the derivative is 0, as it is below.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Array of the shape of ``x``.

    Raises
    ------
    OptionError
        If one of them is not a number.
    UnsupportedError
        If one of them is a Var.
    DTypeError
        If ``x`` is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.threshold(np.array([-2.0, 0.25]), 0.0, -1.0)
    array([-1.  ,  0.25])
    """
    least, value = number("threshold: threshold", threshold), number("threshold: value", value)
    return _threshold(x, least=least, value=value)
