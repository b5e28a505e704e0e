"""Losses of predicted probabilities: binary cross-entropies, and divergence."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from tape.core.operands import composed
from tape.errors import ShapeError
from tape.ops.elementwise.bodies import pointwise
from tape.ops.elementwise.elementary import exp, sigmoid
from tape.ops.elementwise.selection import maximum
from tape.ops.nn.activations import logsigmoid
from tape.ops.nn.losses import (
    Reduction,
    check_fits,
    check_reduction,
    check_values,
    like_shaped,
    reals,
    reduced,
)
from tape.ops.special.losses import xlogy


def _binary(ns: Any, p: Any, target: Any) -> Any:
    yes, no = ns.clip(ns.log(p), -100.0, inf), ns.clip(ns.log1p(-p), -100.0, inf)
    return (target - 1) * no - target * yes


def _log_odds_against(ns: Any, p: Any) -> Any:
    return ns.clip(ns.log1p(-p), -100.0, inf) - ns.clip(ns.log(p), -100.0, inf)


def _variance(p: Any) -> Any:
    """Return ``p * (1 - p)``, bounded below as in PyTorch."""
    return maximum(p * (1 - p), max(1e-12, np.finfo(p.dtype).tiny))


_against = pointwise("log_odds_against", _log_odds_against, lambda d, out, p: -(d / _variance(p)))
_binary_cross_entropy = pointwise(
    "binary_cross_entropy",
    _binary,
    lambda d, out, p, target: d * ((p - target) / _variance(p)),
    lambda d, out, p, target: d * _against(p),
)


def _of_logits(ns: Any, x: Any, target: Any) -> Any:
    return ns.clip(x, 0, inf) - x * target + ns.log1p(ns.exp(-ns.absolute(x)))


_binary_cross_entropy_of_logits = pointwise(
    "binary_cross_entropy_with_logits",
    _of_logits,
    lambda d, out, x, target: d * (sigmoid(x) - target),
    lambda d, out, x, target: -(d * x),
)


def _times_its_log(ns: Any, x: Any) -> Any:
    return x * ns.log(ns.where(x == 0, 1, x))


# The formula of xlogy(x, x), whose loop is scalar.
_negative_entropy = pointwise("negative_entropy", _times_its_log, lambda d, out, x: xlogy(d, x) + d)


def _weighed(losses: Any, weight: Any, reduction: str) -> Any:
    return reduced(losses if weight is None else losses * weight, reduction)


def _element_weights(name: str, what: str, weight: Any, shape: tuple[int, ...]) -> Any:
    if weight is None:
        return None
    (weight,) = reals(name, weight)
    check_fits(name, what, weight, shape)
    return weight


@composed
def binary_cross_entropy(input: Any, target: Any, weight: Any = None, reduction: Reduction = "mean") -> Any:
    """``-(target * log(input) + (1 - target) * log(1 - input))``.

    Parameters
    ----------
    input : array_like or Var
        Probabilities, of any shape.
    target : array_like or Var
        Array of that shape: 0, 1, or probabilities.
    weight : array_like or Var, optional
        Weight of each loss; broadcasts to the shape of ``input``.
    reduction : {"mean", "sum", "none"}
        How to reduce the losses of the elements.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or for ``reduction="none"`` an array of the shape of ``input``. At probabilities 0 and 1, as
        in PyTorch, logarithms are no less than -100, and derivatives by ``input`` are ``(input - target) /
        1e-12``.

    Raises
    ------
    ShapeError
        If the shapes differ, or that of ``weight`` does not fit.
    OptionError
        If ``input`` is not within 0 and 1 at the call, or there is no such reduction.
    DTypeError
        If an operand is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.binary_cross_entropy(np.array([0.5, 0.0]), np.array([1, 0]), reduction="none")
    array([0.69314718, 0.        ])
    """
    name = "binary_cross_entropy"
    input, target = like_shaped(name, reduction, input, target)
    check_values(name, "input", input, 0, 1)
    weight = _element_weights(name, "weight", weight, input.shape)
    return _weighed(_binary_cross_entropy(input, target), weight, reduction)


@composed
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, reduction: Reduction = "mean", pos_weight: Any = None
) -> Any:
    """`binary_cross_entropy` of ``sigmoid(input)``, accurate where that is close to 0 or 1.

    Parameters
    ----------
    input : array_like or Var
        Logits, of any shape.
    target : array_like or Var
        Array of that shape: 0, 1, or probabilities.
    weight : array_like or Var, optional
        Weight of each loss; broadcasts to the shape of ``input``.
    reduction : {"mean", "sum", "none"}
        How to reduce the losses of the elements.
    pos_weight : array_like or Var, optional
        For the part of each loss that has the factor ``target``; broadcasts to the shape of ``input``.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or for ``reduction="none"`` an array of the shape of ``input``.

    Raises
    ------
    ShapeError
        If the shapes differ, or that of a weight does not fit.
    OptionError
        If there is no such reduction.
    DTypeError
        If an operand is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> logits = np.array([1000.0, -1000.0])
    >>> tape.nn.binary_cross_entropy_with_logits(logits, np.array([1, 1]), reduction="none")
    array([   0., 1000.])
    """
    name = "binary_cross_entropy_with_logits"
    input, target = like_shaped(name, reduction, input, target)
    weight = _element_weights(name, "weight", weight, input.shape)
    pos_weight = _element_weights(name, "pos_weight", pos_weight, input.shape)
    losses = _binary_cross_entropy_of_logits(input, target)
    if pos_weight is not None:
        losses = losses - (pos_weight - 1) * target * logsigmoid(input)
    return _weighed(losses, weight, reduction)


@composed
def kl_div(input: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Any:
    """``target * (log(target) - input)``: the Kullback-Leibler divergence, of log probabilities ``input``.

    Parameters
    ----------
    input : array_like or Var
        Log probabilities.
    target : array_like or Var
        Probabilities, of the shape of ``input``. A 0 adds nothing; the derivative by it is infinite.
    reduction : {"mean", "batchmean", "sum", "none"}
        How to reduce the losses of the elements; "batchmean" is their sum over the length of the first
        axis, which is the divergence itself.
    log_target : bool
        Whether ``target`` holds logarithms too.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or for ``reduction="none"`` an array of the shape of ``input``.

    Raises
    ------
    ShapeError
        If the shapes differ, or there is no first axis for "batchmean".
    OptionError
        If there is no such reduction.
    DTypeError
        If an operand is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.kl_div(np.log([0.5, 0.5]), np.array([0.5, 0.0]), "none")
    array([0., 0.])
    """
    check_reduction("kl_div", reduction, "batchmean")
    is_mean_of_batch = reduction == "batchmean"
    input, target = like_shaped("kl_div", "sum" if is_mean_of_batch else reduction, input, target)
    shape = input.shape
    if is_mean_of_batch and not shape:
        raise ShapeError("kl_div: there is no first axis for reduction='batchmean'. Use 'sum'")
    losses = exp(target) * (target - input) if log_target else _negative_entropy(target) - target * input
    return reduced(losses, "sum") / shape[0] if is_mean_of_batch else reduced(losses, reduction)
