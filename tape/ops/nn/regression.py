"""Losses of predicted numbers: squares, absolute values, mixtures of both, and likelihoods."""

from __future__ import annotations

from math import inf, pi
from math import log as _log
from typing import Any

import numpy as np

from tape.core.operands import composed
from tape.errors import OptionError, ShapeError
from tape.ops.elementwise.bodies import number, smooth
from tape.ops.elementwise.complex import absolute
from tape.ops.elementwise.elementary import exp, log, square
from tape.ops.elementwise.selection import maximum, where
from tape.ops.nn.losses import (
    Reduction,
    check_reduction,
    check_values,
    like_shaped,
    numbers_like_shaped,
    reals,
    reduced,
)
from tape.ops.structure.shape import expand_dims


@composed
def mse_loss(input: Any, target: Any, reduction: Reduction = "mean") -> Any:
    """The squared error, ``(input - target)**2``.

    Parameters
    ----------
    input, target : array_like or Var
        Arrays of one shape, whichever.
    reduction : {"mean", "sum", "none"}
        How to reduce the losses of the elements.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or for ``reduction="none"`` an array of the shape of the operands.

    Raises
    ------
    ShapeError
        If the shapes differ.
    OptionError
        If there is no such reduction.
    DTypeError
        If an operand is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.nn.mse_loss(np.array([1.0, 2.0]), np.array([1.0, 4.0])))
    2.0
    """
    input, target = like_shaped("mse_loss", reduction, input, target)
    return reduced(square(input - target), reduction)


@composed
def l1_loss(input: Any, target: Any, reduction: Reduction = "mean") -> Any:
    """The absolute error, with derivative 0 where it is 0; of complex numbers too. Otherwise like `mse_loss`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.nn.l1_loss(np.array([1.0, 2.0]), np.array([1.0, 4.0])))
    1.0
    """
    input, target = numbers_like_shaped("l1_loss", reduction, input, target)
    return reduced(absolute(input - target), reduction)


def _huber_loss(ns: Any, error: Any, delta: float) -> Any:
    size = ns.absolute(error)
    inner = ns.clip(size, -inf, delta)
    return inner * (size - 0.5 * inner)


_huber = smooth(
    "huber_loss",
    _huber_loss,
    lambda ns, error, delta: ns.clip(error, -delta, delta),
    lambda d, error, delta: where(abs(error) < delta, d, 0),
)


@composed
def huber_loss(input: Any, target: Any, reduction: Reduction = "mean", delta: float = 1.0) -> Any:
    """``e**2 / 2`` of errors e up to ``delta``, beyond that ``delta * (abs(e) - delta / 2)``.

    Parameters
    ----------
    input, target, reduction
        Same as for `mse_loss`.
    delta : float
        Positive.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        Same as for `mse_loss`.

    Raises
    ------
    ShapeError, DTypeError
        Same as for `mse_loss`.
    OptionError
        If there is no such reduction, or ``delta`` is not positive.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.huber_loss(np.array([0.5, 3.0]), np.zeros(2), "none")
    array([0.125, 2.5  ])
    """
    delta = number("huber_loss: delta", delta)
    if not delta > 0:
        raise OptionError(f"huber_loss: delta={delta}. It must be positive")
    input, target = like_shaped("huber_loss", reduction, input, target)
    return reduced(_huber(input - target, delta=delta), reduction)


@composed
def smooth_l1_loss(input: Any, target: Any, reduction: Reduction = "mean", beta: float = 1.0) -> Any:
    """`huber_loss` over ``beta``, its delta: the slope is 1 far out. With ``beta=0``, `l1_loss`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.smooth_l1_loss(np.array([0.5, 3.0]), np.zeros(2), "none", beta=2.0)
    array([0.0625, 2.    ])
    """
    beta = number("smooth_l1_loss: beta", beta)
    if not beta >= 0:
        raise OptionError(f"smooth_l1_loss: beta={beta}. It must not be negative")
    if not beta:
        input, target = numbers_like_shaped("smooth_l1_loss", reduction, input, target)
        return reduced(absolute(input - target), reduction)
    input, target = like_shaped("smooth_l1_loss", reduction, input, target)
    return reduced(_huber(input - target, delta=beta), reduction) / beta


@composed
def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: Reduction = "mean",
) -> Any:
    """Negative log likelihood of counts of a Poisson distribution, up to a constant.

    Parameters
    ----------
    input : array_like or Var
        The expected counts, or their logarithms. As in PyTorch they may be complex: so is the loss then.
    target : array_like or Var
        The counts, of the shape of ``input``.
    log_input : bool
        Whether ``input`` holds logarithms: the loss is ``exp(input) - target * input``, otherwise
        ``input - target * log(input + eps)``.
    full : bool
        Add Stirling's approximation of the logarithm of the factorial of counts above 1.
    eps : float
        Keeps logarithms finite.
    reduction : {"mean", "sum", "none"}
        How to reduce the losses of the elements.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or for ``reduction="none"`` an array of the shape of the operands.

    Raises
    ------
    ShapeError
        If the shapes differ.
    OptionError
        If there is no such reduction, or ``eps`` is not a number.
    DTypeError
        If ``target`` is complex, and ``full`` is True.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.poisson_nll_loss(np.zeros(2), np.array([0.0, 3.0]), reduction="none")
    array([1., 1.])
    """
    eps = number("poisson_nll_loss: eps", eps)
    if full:
        (target,) = reals("poisson_nll_loss with full=True", target)
    input, target = numbers_like_shaped("poisson_nll_loss", reduction, input, target)
    losses = exp(input) - target * input if log_input else input - target * log(input + eps)
    if full:
        is_large = target > 1
        count = where(is_large, target, 1)
        stirling = count * log(count) - count + 0.5 * log(2 * pi * count)
        losses = losses + where(is_large, stirling, 0)
    return reduced(losses, reduction)


@composed
def gaussian_nll_loss(
    input: Any,
    target: Any,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: Reduction = "mean",
) -> Any:
    """Negative log likelihood of normal distributions, ``(log(var) + (input - target)**2 / var) / 2``.

    Parameters
    ----------
    input, target : array_like or Var
        Arrays of one shape: means, and observations. As in PyTorch they may be complex: so is the loss then,
        with the square of the difference, not that of its absolute value.
    var : array_like or Var
        Variances: of the shape of ``input``, or of one for each sample without the last axis, or with the
        last axis of length one. None is negative.
    full : bool
        Add the constant, ``log(2 * pi) / 2``.
    eps : float
        The least variance: smaller ones are taken as this one, with derivative 0.
    reduction : {"mean", "sum", "none"}
        How to reduce the losses of the elements.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or for ``reduction="none"`` an array of the shape of ``input``.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If a variance is negative at the call, there is no such reduction, or ``eps`` is not a number.
    DTypeError
        If ``var`` is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.gaussian_nll_loss(np.array([0.0, 2.0]), np.zeros(2), np.ones(2), reduction="none")
    array([0., 2.])
    """
    name = "gaussian_nll_loss"
    check_reduction(name, reduction)
    eps = number(f"{name}: eps", eps)
    input, target = numbers_like_shaped(name, reduction, input, target)
    (var,) = reals(name, var)
    shape, given = input.shape, var.shape
    if given not in (shape, shape[:-1], (*shape[:-1], 1)):
        raise ShapeError(
            f"{name}: var has shape {list(given)}, input {list(shape)}. There must be a variance for each "
            "element, or one for all along the last axis"
        )
    check_values(name, "var", var, 0, np.inf)
    if given != shape and len(given) < len(shape):
        var = expand_dims(var, -1)
    var = maximum(var, eps)
    losses = 0.5 * (log(var) + square(input - target) / var)
    return reduced(losses + 0.5 * _log(2 * pi) if full else losses, reduction)
