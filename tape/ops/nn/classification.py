"""Losses of predicted classes, which are given by number; and one-hot encoding."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tape.core import pattern_rules
from tape.core.nesting import plain_batch
from tape.core.node import Handle
from tape.core.op import Op
from tape.core.operands import as_operand, composed
from tape.errors import DTypeError, OptionError, OutOfBoundsError, ShapeError, describe
from tape.inspect.costs import declare_cost, free
from tape.ops.elementwise.bodies import number
from tape.ops.elementwise.selection import where
from tape.ops.nn.losses import Reduction, check_reduction, reals, reduced
from tape.ops.reduction.cross_entropy import softmax_cross_entropy
from tape.ops.reduction.primitives import sum_along
from tape.ops.reduction.softmax import log_softmax
from tape.ops.structure.axes import moveaxis
from tape.ops.structure.layout import of_kind
from tape.ops.structure.positions import checked_axis
from tape.ops.structure.shape import astype, expand_dims
from tape.ops.structure.taking import take


def _check_classes(name: str, target: Any, classes: int, ignored: int | None = None) -> None:
    """Check that class indices, as they are at the call, are within bounds; name the first one outside."""
    values = np.asarray(plain_batch(target))
    if values.dtype.kind not in "iu":
        raise DTypeError(f"{name}: the classes are {describe(target)}. Number them with ints from 0")
    if not values.size or (values.min() >= 0 and values.max() < classes):
        return
    is_outside = (values < 0) | (values >= classes)
    if ignored is not None:
        is_outside &= values != ignored
    if is_outside.any():
        at = tuple(map(int, np.argwhere(is_outside)[0]))
        raise OutOfBoundsError(
            f"{name}: class {values[at]} at position {at} is out of bounds: there are {classes} classes, "
            f"0 to {classes - 1}" + ("" if ignored is None else f", besides ignore_index={ignored}")
        )


def _one_hot_forward(x: Any, *, classes: int, dtype: np.dtype[Any]) -> Any:
    _check_classes("one_hot", x, classes)
    return np.equal(np.asarray(x)[..., None], np.arange(classes)).astype(dtype)


def _lower_one_hot(b: Any, x: Any, classes: int, dtype: np.dtype[Any]) -> Any:
    made_in = dtype if dtype.kind == "f" else np.dtype(np.float64)  # the dtype in which the machine adds
    shape = (x.size, classes)
    ones = b.broadcast(b.literal(0, made_in), shape)
    if x.size:
        ones = b.add_picked(ones, b.reshape(x, shape[:1]), 1)  # raises for a row without such a column
    return b.cast(b.reshape(ones, (*x.shape, classes)), dtype)


_one_hot = Op(
    _one_hot_forward,
    name="one_hot",
    batch=lambda op, operands, is_batched, attrs, size: op(*operands, **attrs),
    lower=_lower_one_hot,
)


@composed
def one_hot(x: Any, num_classes: int, dtype: Any = float) -> Any:
    """Encode classes as rows of zeros with a one; recorded without a derivative.

    Parameters
    ----------
    x : array_like or Var
        Classes, of any shape: ints from 0.
    num_classes : int
        The number of classes.
    dtype : dtype_like
        Dtype of the result.

    Returns
    -------
    numpy.ndarray or Var
        ``(*x.shape, num_classes)``.

    Raises
    ------
    OutOfBoundsError
        If a class is not within ``0 .. num_classes - 1``.
    DTypeError
        If the classes are not ints, or ``dtype`` is none.
    OptionError
        If ``num_classes`` is not a positive int.

    Examples
    --------
    >>> import tape
    >>> tape.nn.one_hot([2, 0], 3)
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    try:
        classes = operator.index(num_classes)
    except TypeError:
        classes = 0
    if classes < 1:
        raise OptionError(f"one_hot: num_classes={num_classes!r}. It must be a positive int")
    try:
        kind = np.dtype(dtype)
    except TypeError as error:
        raise DTypeError(f"one_hot: {error}. Use a NumPy dtype or its name") from error
    x = as_operand(x)
    _check_classes("one_hot", x, classes)
    return _one_hot(x, classes=classes, dtype=kind)


def _picked(x: Any, target: Any) -> Any:
    _check_classes("nll_loss", target, x.shape[-1])
    return np.take_along_axis(x, np.asarray(target)[..., None], -1)[..., 0]


def _lower_picked(b: Any, x: Any, target: Any) -> Any:
    if not target.size:
        return b.broadcast(b.literal(0, x.dtype), target.shape)
    rows = b.reshape(x, (target.size, x.shape[-1]))
    return b.reshape(b.picked(rows, b.reshape(target, (target.size,))), target.shape)


def _batch(op: Any, operands: Any, is_batched: Any, attrs: Any, size: int) -> Any:
    inner = (x if many else expand_dims(x, 0) for x, many in zip(operands, is_batched, strict=True))
    return op(*inner, **attrs)


_pick: Op = Op(  # not take_along_axis, in which classes may count from the end
    _picked,
    name="pick",
    pattern=pattern_rules.reads(lambda x, target: (-1,)),
    vjp=[lambda g, out, x, target: _place(g, target, classes=x.shape[-1]), None],
    linear=True,
    batch=_batch,
    lower=_lower_picked,
    doc="The element of each row, along the last axis, that the target names.",
)


def _placed(g: Any, target: Any, *, classes: int) -> Any:
    _check_classes("nll_loss", target, classes)
    g, target = np.broadcast_arrays(g, target)
    rows = np.zeros((target.size, classes), g.dtype)
    rows[np.arange(target.size), target.reshape(-1)] = g.reshape(-1)
    return rows.reshape((*target.shape, classes))


def _lower_placed(b: Any, g: Any, target: Any, classes: int) -> Any:
    return _lower_one_hot(b, target, classes, g.dtype) * b.reshape(g, (*g.shape, 1))


_place: Op = Op(
    _placed,
    name="place",
    vjp=[lambda d, out, g, target, classes: _pick(d, target), None],
    linear=True,
    batch=_batch,
    lower=_lower_placed,
    doc="The transpose of `pick`: rows of zeros, except for the element that the target names.",
)
declare_cost(free, _pick, _place, _one_hot)


class _Labels:
    """Checked class indices, with ignored ones apart.

    Whether any is ignored is asked of plain targets only: a Var may hold others on replay.
    """

    def __init__(self, name: str, target: Any, shape: tuple[int, ...], weight: Any, ignored: Any) -> None:
        if target.shape != shape[:-1]:
            raise ShapeError(
                f"{name}: target has shape {list(target.shape)}. It must have a class for each sample: "
                f"{list(shape[:-1])}"
            )
        self.ignored = int(number(f"{name}: ignore_index", ignored))
        _check_classes(name, target, shape[-1], self.ignored)
        self.weight = weight
        self.are_all_counted = not isinstance(target, Handle) and not np.any(target == self.ignored)
        self.counts = True if self.are_all_counted else target != self.ignored
        self.classes = target if self.are_all_counted else where(self.counts, target, 0)

    def reduced(self, losses: Any, reduction: str, smoothed: Any = 0) -> Any:
        """Return the reduction of weighted losses that count, and of a part without weights."""
        weights = None if self.weight is None else take(self.weight, self.classes)
        losses = (losses if weights is None else losses * weights) + smoothed
        if not self.are_all_counted:
            losses = of_kind(where(self.counts, losses, 0), losses)
        if reduction != "mean" or (weights is None and self.are_all_counted):
            return reduced(losses, reduction)
        if weights is None:
            weights = astype(self.counts, losses.dtype)
        elif not self.are_all_counted:
            weights = where(self.counts, weights, 0)
        total = reduced(weights, "sum")
        return reduced(losses, "sum") / where(total == 0, np.nan, total)  # of no elements, as in PyTorch


def _classes_last(name: str, input: Any, axis: Any) -> Any:
    """Return the input with the axis of the classes moved to the end."""
    shape = input.shape
    if input.dtype.kind != "f":
        raise DTypeError(f"{name}: input is {describe(input)}. It must hold floats, one for each class")
    axis = checked_axis(name, shape, axis if len(shape) != 1 else 0)
    if not shape[axis]:
        raise ShapeError(f"{name}: input has shape {list(shape)}, and no classes along axis {axis}")
    return input if axis == len(shape) - 1 else moveaxis(input, axis, -1)


def _class_weights(name: str, weight: Any, classes: int) -> Any:
    if weight is None:
        return None
    (weight,) = reals(name, weight)
    if weight.shape != (classes,):
        raise ShapeError(
            f"{name}: weight has shape {list(weight.shape)}. It must have one for each class: [{classes}]"
        )
    return weight


@composed
def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
    axis: int = 1,
) -> Any:
    """Minus the element of ``input`` that the target names: the loss of log probabilities.

    Parameters
    ----------
    input : array_like or Var
        Log probabilities, ``(N, C, ...)`` or ``(C,)``.
    target : array_like or Var
        Class indices, ``(N, ...)`` or ``()``.
    weight : array_like or Var, optional
        ``(C,)``: how much each class counts.
    ignore_index : int
        Samples of this class do not count, and their input has derivative 0.
    reduction : {"mean", "sum", "none"}
        How to reduce the losses of the samples. The mean is that of weighted samples, NaN if none counts.
    axis : int
        The axis of ``input`` that holds the classes, if there are several.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or losses of the shape of ``target`` for ``reduction="none"``.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or there is no such axis.
    OutOfBoundsError
        If a class is not within ``0 .. C - 1``; also when a program or a replay meets one.
    DTypeError
        If the input does not hold floats, or the target no ints.
    OptionError
        If there is no such reduction.

    Examples
    --------
    >>> import numpy as np, tape
    >>> log_probabilities = np.log([[0.5, 0.5], [0.25, 0.75]])
    >>> tape.nn.nll_loss(log_probabilities, np.array([0, 1]), reduction="none")
    array([0.69314718, 0.28768207])
    """
    check_reduction("nll_loss", reduction)
    input, target = reals("nll_loss", input, target)
    input = _classes_last("nll_loss", input, axis)
    weight = _class_weights("nll_loss", weight, input.shape[-1])
    labels = _Labels("nll_loss", target, input.shape, weight, ignore_index)
    return labels.reduced(-_pick(input, labels.classes), reduction)


@composed
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
    label_smoothing: float = 0.0,
    axis: int = 1,
) -> Any:
    """Cross-entropy of a target against the softmax of ``input``.

    Parameters
    ----------
    input : array_like or Var
        Logits, ``(N, C, ...)`` or ``(C,)``.
    target : array_like or Var
        Class indices ``(N, ...)`` or ``()``, of an integer dtype, or probabilities of the shape of ``input``.
    weight : array_like or Var, optional
        ``(C,)``: how much each class counts.
    ignore_index : int
        Samples of this class index do not count, and their input has derivative 0.
    reduction : {"mean", "sum", "none"}
        How to reduce the losses of the samples. With class indices the mean is that of weighted samples,
        NaN if none counts.
    label_smoothing : float
        The share of the target, from 0 to 1, that is spread evenly over all classes.
    axis : int
        The axis of ``input`` that holds the classes, if there are several.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or losses ``(N, ...)`` for ``reduction="none"``.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or there is no such axis.
    OutOfBoundsError
        If a class index is not within ``0 .. C - 1``; also when a program or a replay meets one.
    DTypeError
        If the input does not hold floats, or the target is bool.
    OptionError
        If there is no such reduction, or ``label_smoothing`` is not within 0 and 1.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.nn.cross_entropy(np.zeros((3, 4)), np.array([0, 1, -100])))  # log 4
    1.3862943611198...
    """
    name = "cross_entropy"
    check_reduction(name, reduction)
    smoothing = number(f"{name}: label_smoothing", label_smoothing)
    if not 0 <= smoothing <= 1:
        raise OptionError(f"{name}: label_smoothing={smoothing}. It must be within 0 and 1")
    input, target = reals(name, input, target)
    given = input.shape
    input = _classes_last(name, input, axis)
    classes = input.shape[-1]
    weight = _class_weights(name, weight, classes)
    if target.dtype.kind == "f":
        if target.shape != given:
            raise ShapeError(
                f"{name}: input {list(given)} and probabilities {list(target.shape)}. Their shapes must be "
                "the same; for class indices, use ints"
            )
        target = _classes_last(name, target, axis)
        if smoothing:
            target = target * (1 - smoothing) + smoothing / classes
        return softmax_cross_entropy(input, target if weight is None else target * weight, reduction)
    labels = _Labels(name, target, input.shape, weight, ignore_index)
    if not smoothing:
        if weight is None and labels.are_all_counted:
            return softmax_cross_entropy(input, target, reduction)
        return labels.reduced(softmax_cross_entropy(input, labels.classes, "none"), reduction)
    logs = log_softmax(input)
    spread = sum_along(logs if weight is None else logs * weight, axis=(-1,), keepdims=False)
    losses = _pick(logs, labels.classes) * (smoothing - 1)
    return labels.reduced(losses, reduction, spread * (-smoothing / classes))
