"""Random activations by noise that is given, so that randomness is an argument like any other."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from tape.core import batch_rules
from tape.core.nesting import traced
from tape.core.node import Handle, plain
from tape.core.op import Op
from tape.core.operands import as_operand, composed
from tape.errors import OptionError
from tape.inspect.costs import declare_cost, free
from tape.ops.elementwise.bodies import number
from tape.ops.elementwise.selection import argmax, where
from tape.ops.nn.dropout import checked_mask, checked_probability
from tape.ops.nn.losses import check_fits, reals
from tape.ops.reduction.softmax import softmax
from tape.ops.structure.positions import checked_axis
from tape.ops.structure.shape import astype, expand_dims

_DROPPED = -1.7580993408473766
"""What selu has at -inf: -scale * alpha (Klambauer, Unterthiner, Mayr and Hochreiter 2017)."""


@composed
def alpha_dropout(x: Any, p: float = 0.5, mask: Any = None) -> Any:
    """Dropout for `selu`: dropped elements get its limit, and mean 0 and variance 1 are kept.

    Parameters
    ----------
    x : array_like or Var
        Any shape.
    p : float
        The probability with which elements were dropped: see `dropout_mask`. If 1, all is zero.
    mask : array_like or Var
        Bools, or numbers that are zero where ``x`` is dropped, of a shape that broadcasts to that of ``x``.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``x``.

    Raises
    ------
    ShapeError, OptionError
        Like `dropout`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.alpha_dropout(np.array([1.0, 2.0]), 0.5, np.array([True, False])).round(4)
    array([ 1.6656, -0.7792])
    """
    p = checked_probability("alpha_dropout", p)
    x, is_kept = checked_mask("alpha_dropout", x, mask)
    if p == 1:
        return x * 0.0
    scale = 1 / sqrt((1 - p) * (1 + p * _DROPPED**2))
    return where(is_kept, x, _DROPPED) * scale - scale * p * _DROPPED


@composed
def rrelu(x: Any, lower: float = 1 / 8, upper: float = 1 / 3, slopes: Any = None) -> Any:
    """Leaky relu with a random slope for each element, or with the mean of these.

    Parameters
    ----------
    x : array_like or Var
        Any shape.
    lower, upper : float
        The slopes are drawn from between these.
    slopes : array_like or Var, optional
        Numbers between 0 and 1, as ``rng.random(x.shape)`` draws: where between the bounds each slope is.
        Their shape broadcasts to that of ``x``. Without them all slopes are the mean, as when evaluating.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Array of the shape of ``x``. The derivative at 0 is the slope.

    Raises
    ------
    ShapeError
        If the slopes do not fit.
    OptionError
        If a bound is not a number.
    DTypeError
        If an operand is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.rrelu(np.array([-1.0, 1.0]), 0.1, 0.3)
    array([-0.2,  1. ])
    >>> tape.nn.rrelu(np.array([-1.0, 1.0]), 0.1, 0.3, slopes=np.array([0.75, 0.5]))
    array([-0.25,  1.  ])
    """
    lower, upper = number("rrelu: lower", lower), number("rrelu: upper", upper)
    (x,) = reals("rrelu", x)
    if slopes is None:
        return where(x > 0, x, x * ((lower + upper) / 2))
    (slopes,) = reals("rrelu", slopes)
    check_fits("rrelu", "slopes", slopes, x.shape)
    return where(x > 0, x, x * (lower + (upper - lower) * slopes))


_straight_through = Op(
    lambda value, through: value,
    name="straight_through",
    vjp=[None, lambda g, out, value, through: g],
    jvp=[None, lambda t, out, value, through: t],
    batch=batch_rules.elementwise,
    lower=lambda b, value, through: b.value(value),
)
declare_cost(free, _straight_through)


@composed
def gumbel_softmax(logits: Any, noise: Any, tau: Any = 1.0, hard: bool = False, axis: int = -1) -> Any:
    """A relaxed draw from categories: softmax of logits with noise (Jang, Gu and Poole 2017).

    Parameters
    ----------
    logits : array_like or Var
        Logarithms of probabilities, up to a constant.
    noise : array_like or Var
        Draws of the Gumbel distribution, as ``rng.gumbel(size=logits.shape)``: nothing random is drawn here.
        Their shape broadcasts to that of ``logits``.
    tau : float, array_like or Var
        The temperature: towards 0 the draws become categories.
    hard : bool
        Whether the result is 1 for the largest and 0 elsewhere, with the derivative of the relaxed draw.
    axis : int
        The axis of the categories.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``logits``, which sums to 1 along the axis.

    Raises
    ------
    ShapeError
        If the noise does not fit, or there is no such axis.
    OptionError
        If ``tau`` is not positive, or no number.
    DTypeError
        If an operand is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.gumbel_softmax(np.log([0.25, 0.75]), np.zeros(2))
    array([0.25, 0.75])
    >>> tape.nn.gumbel_softmax(np.log([0.25, 0.75]), np.array([3.0, 0.0]), hard=True)
    array([1., 0.])
    """
    name = "gumbel_softmax"
    if isinstance(tau, Handle) or np.ndim(tau):
        (tau,) = reals(name, tau)
    else:
        tau = number(f"{name}: tau", tau)
    if not np.all(traced(tau) > 0):
        raise OptionError(f"{name}: tau={plain(tau)}. It must be positive")
    logits, noise = reals(name, logits, noise)
    check_fits(name, "noise", noise, logits.shape)
    if np.ndim(tau):
        check_fits(name, "tau", tau, logits.shape)
    place = checked_axis(name, logits.shape, axis)
    soft = softmax((logits + noise) / tau, place)
    if not hard:
        return soft
    length = soft.shape[place]
    places = np.arange(length).reshape(-1, *(1,) * (len(soft.shape) - place - 1))
    chosen = expand_dims(argmax(as_operand(soft), axis=place), place) == places
    return _straight_through(astype(chosen, soft.dtype), soft)
