"""Losses of classifiers by margins, and of elements with several labels.

Where a margin is just kept the derivative is 0, like that of relu.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.nesting import plain_batch, traced
from tape.core.operands import composed
from tape.errors import DTypeError, OptionError, OutOfBoundsError, ShapeError, describe_all
from tape.ops.elementwise.bodies import number
from tape.ops.elementwise.elementary import relu, softplus
from tape.ops.elementwise.selection import where
from tape.ops.nn.losses import Reduction, check_fits, check_reduction, like_shaped, reals, reduced
from tape.ops.reduction.cumulative import cumsum
from tape.ops.reduction.primitives import mean_along, sum_along
from tape.ops.structure.indexing import getitem
from tape.ops.structure.shape import astype, reshape
from tape.ops.structure.taking import take_along_axis


def _rows(name: str, input: Any, target: Any, per_row: bool) -> tuple[Any, Any]:
    """Return scores (N, C) or (C), and the labels of each row, which are checked: one, or C of them."""
    input, target = reals(name, input, target)
    if target.dtype.kind not in "iu":
        raise DTypeError(f"{name}: the target is {describe_all([target])}. It must hold ints")
    shape = input.shape
    wanted = shape if per_row else shape[:-1]
    if len(shape) not in (1, 2) or target.shape != wanted:
        raise ShapeError(
            f"{name}: input {list(shape)} and target {list(target.shape)}. They must be (N, C) and "
            f"{'(N, C)' if per_row else '(N)'}, or (C) and {'(C)' if per_row else '()'}"
        )
    known = traced(target)
    low = -1 if per_row else 0
    if np.any((known < low) | (known >= shape[-1])):
        values = np.asarray(plain_batch(target))
        at = tuple(map(int, np.argwhere((values < low) | (values >= shape[-1]))[0]))
        raise OutOfBoundsError(
            f"{name}: the target is {values[at]} at position {at}. It must be within [{low}, {shape[-1] - 1}]"
        )
    return input, target


@composed
def multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    reduction: Reduction = "mean",
) -> Any:
    """The mean over classes of how far each comes within a margin of the right one, to the power p.

    Parameters
    ----------
    input : array_like or Var
        Scores, ``(N, C)`` or ``(C,)``.
    target : array_like or Var
        The right classes, ints ``(N,)`` or ``()``.
    p : {1, 2}
        The power.
    margin : float
        By how much the score of the right class should be greater.
    weight : array_like or Var, optional
        ``(C,)``, what the loss is multiplied by, by the right class.
    reduction : {"mean", "sum", "none"}
        How to reduce the losses of the rows.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or losses of the shape of ``target`` for ``reduction="none"``.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If there is no such power or reduction, or ``margin`` is not a number.
    OutOfBoundsError
        If a class is none.
    DTypeError
        If an operand is complex, or ``target`` does not hold ints.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.multi_margin_loss(np.array([[0.5, 1.0, 3.0]]), np.array([2]), margin=2.25, reduction="none")
    array([0.08333333])
    """
    name = "multi_margin_loss"
    check_reduction(name, reduction)
    margin = number(f"{name}: margin", margin)
    if p not in (1, 2):
        raise OptionError(f"{name}: p={p!r}. It must be 1 or 2")
    input, target = _rows(name, input, target, per_row=False)
    places = reshape(target, (*target.shape, 1))
    right = take_along_axis(input, places, -1)
    excess = relu(margin - right + input)
    excess = excess if p == 1 else excess * excess
    classes = np.arange(input.shape[-1])
    losses = where(classes == places, 0, excess)
    if weight is not None:
        (weight,) = reals(name, weight)
        if weight.shape != input.shape[-1:]:
            raise ShapeError(
                f"{name}: weight has shape {list(weight.shape)}. It must be ({input.shape[-1]},)"
            )
        losses = losses * reshape(getitem(weight, target), (*target.shape, 1))
    return reduced(mean_along(losses, axis=(-1,), keepdims=False), reduction)


@composed
def multilabel_margin_loss(input: Any, target: Any, reduction: Reduction = "mean") -> Any:
    """The sum over labels and other classes of how far these come within 1 of those, divided by C.

    Parameters
    ----------
    input : array_like or Var
        Scores, ``(N, C)`` or ``(C,)``.
    target : array_like or Var
        Ints of that shape: the labels of each row, up to the first -1.
    reduction : {"mean", "sum", "none"}
        How to reduce the losses of the rows.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or losses ``(N,)`` or ``()`` for ``reduction="none"``.

    Raises
    ------
    ShapeError, OptionError, OutOfBoundsError, DTypeError
        Like `multi_margin_loss`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> scores, labels = np.array([[0.1, 0.2, 0.4, 0.8]]), np.array([[3, 0, -1, 1]])
    >>> round(float(tape.nn.multilabel_margin_loss(scores, labels)), 6)
    0.85
    """
    name = "multilabel_margin_loss"
    check_reduction(name, reduction)
    input, target = _rows(name, input, target, per_row=True)
    count = input.shape[-1]
    counts = cumsum(astype(target < 0, np.intp), axis=-1) == 0  # labels before the first -1
    labels = where(counts, target, 0)
    of_labels = reshape(take_along_axis(input, labels, -1), (*input.shape, 1))
    is_label = reshape(counts, (*input.shape, 1)) & (reshape(labels, (*input.shape, 1)) == np.arange(count))
    is_other = sum_along(astype(is_label, np.intp), axis=(-2,), keepdims=True) == 0
    others = reshape(input, (*input.shape[:-1], 1, count))
    excess = where(reshape(counts, (*input.shape, 1)) & is_other, relu(1 - of_labels + others), 0)
    return reduced(sum_along(excess, axis=(-2, -1), keepdims=False) / count, reduction)


@composed
def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any = None, reduction: Reduction = "mean"
) -> Any:
    """The mean over classes of the binary cross-entropy of scores.

    Parameters
    ----------
    input : array_like or Var
        Scores, ``(..., C)``.
    target : array_like or Var
        Array of that shape: 1 for labels, 0 for others.
    weight : array_like or Var, optional
        What the losses are multiplied by: an array that broadcasts to that shape.
    reduction : {"mean", "sum", "none"}
        How to reduce the losses of the rows.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or losses ``(...)`` for ``reduction="none"``.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or there is no axis.
    OptionError
        If there is no such reduction.
    DTypeError
        If an operand is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.multilabel_soft_margin_loss(np.array([[0.0, 800.0]]), np.array([[1, 0]]), reduction="none")
    array([400.34657359])
    """
    name = "multilabel_soft_margin_loss"
    input, target = like_shaped(name, reduction, input, target)
    if not input.ndim:
        raise ShapeError(f"{name} takes scores along the last axis, not a scalar")
    losses = target * softplus(-input) + (1 - target) * softplus(input)
    if weight is not None:
        (weight,) = reals(name, weight)
        check_fits(name, "weight", weight, input.shape)
        losses = weight * losses
    return reduced(mean_along(losses, axis=(-1,), keepdims=False), reduction)
