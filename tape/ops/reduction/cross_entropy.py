"""Cross-entropy of a target against softmax, one operation; its derivative is ``softmax - target``."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Literal

import numpy as np

from tape.core.linear import broadcast_to
from tape.core.node import Handle
from tape.core.op import Op
from tape.core.record import recorder_of
from tape.errors import DTypeError, OptionError, ShapeError
from tape.inspect.costs import declare_cost, passes
from tape.inspect.samples import declare_samples
from tape.kernels.cross_entropy import indexed_excess, indexed_losses
from tape.ops.reduction.axes import Reduced
from tape.ops.reduction.primitives import sum_along
from tape.ops.reduction.softmax import (
    log_softmax_along,
    logsumexp_forward,
    lower_logsumexp,
    lower_softmax,
    softmax_along,
    softmax_forward,
    softmax_rule,
)
from tape.ops.structure.shape import expand_dims

__all__ = ["softmax_cross_entropy"]

declare_samples("tape.ops.softmax_cross_entropy(x, n)")

Reduction = Literal["mean", "sum", "none"]
_LAST: Reduced = (-1,)


def _excess_forward(logits: Any, target: Any, weight: float = 1.0) -> Any:
    if target.dtype.kind in "iu":
        return indexed_excess(logits, target, weight)
    mass = np.add.reduce(target, axis=-1, keepdims=True)
    return (softmax_forward(logits, axis=_LAST) * mass - target) * weight


def _excess_by_logits(d: Any, out: Any, logits: Any, target: Any) -> Any:
    rule = softmax_rule(d, softmax_along(logits, axis=_LAST), logits, _LAST)
    return rule if target.dtype.kind in "iu" else rule * sum_along(target, axis=_LAST, keepdims=True)


def _excess_vjp_target(g: Any, out: Any, logits: Any, target: Any) -> Any:
    return sum_along(g * softmax_along(logits, axis=_LAST), axis=_LAST, keepdims=True) - g


def _excess_jvp_target(t: Any, out: Any, logits: Any, target: Any) -> Any:
    return softmax_along(logits, axis=_LAST) * sum_along(t, axis=_LAST, keepdims=True) - t


def _lower_indexed(b: Any, logits: Any) -> tuple[Any, Any]:
    """Return the exponentials of logits relative to the largest, and that; NaN where it is infinite."""
    largest = b.fold("max", logits, _LAST, keepdims=True)
    return b.elementwise("exp", logits - largest), largest


def _lower_excess(b: Any, logits: Any, target: Any) -> Any:
    if target.dtype.kind in "iu":
        weights, _ = _lower_indexed(b, logits)
        shares = weights / b.fold("sum", weights, _LAST, keepdims=True)
        rows = b.reshape(shares, (target.size, logits.shape[-1]))
        return b.reshape(b.add_picked(rows, b.reshape(target, (target.size,)), -1), logits.shape)
    mass = b.fold("sum", target, _LAST, keepdims=True)
    return lower_softmax(b, logits, _LAST) * mass - target


def _whole(operands: Any, is_batched: Any, size: int) -> Any:
    """Return operands that all have the axis of the batch: one sample of a batch is a sample like others."""
    return [
        x if inside else broadcast_to(x, shape=(size, *np.shape(x)))
        for x, inside in zip(operands, is_batched, strict=True)
    ]


# The derivative of the losses by the logits: the predicted distribution minus the target.
_excess = recorder_of(
    Op(
        _excess_forward,
        name="softmax_excess",
        lower=_lower_excess,
        vjp=[_excess_by_logits, _excess_vjp_target],
        jvp=[_excess_by_logits, _excess_jvp_target],
        batch=lambda op, operands, is_batched, attrs, size: op(*_whole(operands, is_batched, size)),
    ),
    2,
)


def _check_target(logits: Any, target: Any) -> None:
    if logits.dtype.kind != "f" or target.dtype.kind == "b":
        raise DTypeError(
            f"softmax_cross_entropy: logits are {logits.dtype}, the target is {target.dtype}. "
            "Logits are floats, the target integers (class indices) or floats (probabilities)"
        )
    shape = logits.shape
    if not shape or not shape[-1]:
        raise ShapeError(
            f"softmax_cross_entropy: logits have shape {list(shape)}; the last axis holds the classes"
        )
    if target.shape != (shape if target.dtype.kind == "f" else shape[:-1]):
        raise ShapeError(
            f"softmax_cross_entropy: logits {list(shape)} and a target {list(target.shape)}. "
            f"It needs class indices {list(shape[:-1])} or probabilities {list(shape)}"
        )


def _losses(logits: Any, target: Any) -> tuple[Any, Any]:
    """Return the loss of each sample, and their sum."""
    _check_target(logits, target)
    if target.dtype.kind in "iu":
        return indexed_losses(logits, target)
    log_norm = logsumexp_forward(logits, axis=_LAST, keepdims=False)
    losses = log_norm * np.add.reduce(target, axis=-1) - _expected(logits, target)
    return losses, np.add.reduce(losses, axis=None)


def _expected(logits: Any, target: Any) -> Any:
    with np.errstate(invalid="ignore"):  # a logit of -inf adds nothing where its probability is 0
        return np.add.reduce(np.where(target == 0, 0, logits * target), axis=-1)


def _cross_entropy(reduction: Reduction) -> Callable[..., Any]:
    """Return the operation for one reduction: there are three, so that none has static arguments."""

    def forward(logits: Any, target: Any) -> Any:
        losses, total = _losses(logits, target)
        if reduction == "none":
            return losses
        if reduction == "mean":
            total = total / losses.size if losses.size else np.nan
        return losses.dtype.type(total)

    def lower(b: Any, logits: Any, target: Any) -> Any:
        if target.dtype.kind in "iu":
            weights, largest = _lower_indexed(b, logits)
            log_norm = b.reshape(
                b.elementwise("log", b.fold("sum", weights, _LAST, keepdims=True)) + largest,
                logits.shape[:-1],
            )
            rows = (log_norm.size, logits.shape[-1])
            chosen = b.picked(b.reshape(logits, rows), b.reshape(target, rows[:1]))
            losses = log_norm - b.reshape(chosen, log_norm.shape)
        else:
            log_norm = lower_logsumexp(b, logits, _LAST, False)
            expected = b.fold("sum", b.where(b.elementwise("equal", target, 0), 0, logits * target), _LAST)
            losses = log_norm * b.fold("sum", target, _LAST) - expected
        if reduction == "none":
            return losses
        total = b.fold("sum", losses)
        return total / b.literal(losses.size, losses.dtype) if reduction == "mean" else total

    def per_sample(g: Any, logits: Any) -> Any:
        """Return the adjoint of each sample's loss, shaped to broadcast against the logits."""
        if reduction == "none":
            return expand_dims(g, -1)
        return g / (logits.size // logits.shape[-1]) if reduction == "mean" else g

    def by_logits(g: Any, out: Any, logits: Any, target: Any) -> Any:
        weight = per_sample(g, logits)
        if type(logits) is type(target) is np.ndarray and isinstance(weight, np.floating):
            return _excess_forward(logits, target, float(weight))  # weighted while it is computed
        return weight * _excess(logits, target)

    def reduced(products: Any) -> Any:
        losses = sum_along(products, axis=_LAST, keepdims=False)
        if reduction == "none":
            return losses
        total = sum_along(losses, axis=None, keepdims=False)
        return total / losses.size if reduction == "mean" else total

    def batch(op: Op, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
        losses = _CROSS_ENTROPIES["none"](*_whole(operands, is_batched, size))
        if reduction == "none":
            return losses
        axes = tuple(range(1, losses.ndim))
        total = sum_along(losses, axis=axes, keepdims=False) if axes else losses
        return total / (prod(losses.shape[1:]) or np.nan) if reduction == "mean" else total

    op = Op(
        forward,
        name=f"softmax_cross_entropy_{reduction}",
        lower=lower,
        vjp=[
            by_logits,
            lambda g, out, logits, target: -(per_sample(g, logits) * log_softmax_along(logits, axis=_LAST)),
        ],
        jvp=[
            lambda t, out, logits, target: reduced(t * _excess(logits, target)),
            lambda t, out, logits, target: -reduced(t * log_softmax_along(logits, axis=_LAST)),
        ],
        batch=batch,
    )
    return recorder_of(op, 2)


_CROSS_ENTROPIES: dict[str, Callable[..., Any]] = {
    "mean": _cross_entropy("mean"),
    "sum": _cross_entropy("sum"),
    "none": _cross_entropy("none"),
}
declare_cost(passes(4, 1), *_CROSS_ENTROPIES.values())


def softmax_cross_entropy(logits: Any, target: Any, reduction: Reduction = "mean") -> Any:
    """Cross-entropy of a target against ``softmax(logits)``, in nats, as one operation.

    Parameters
    ----------
    logits : array_like or Var
        ``(..., classes)``, floats.
    target : array_like or Var
        Either class indices ``(...)``, of an integer dtype, or probabilities ``(..., classes)``.
    reduction : {"mean", "sum", "none"}
        How to reduce the losses of the samples.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or losses ``(...)`` for ``reduction="none"``. The gradient by the logits is
        ``softmax(logits) - target``.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OutOfBoundsError
        If a class index is not within ``0 .. classes - 1``.
    DTypeError
        If the logits are not floats, or the target is bool.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.softmax_cross_entropy(np.zeros((3, 4)), np.array([0, 1, 3])))  # log 4
    1.3862943611198...
    """
    operation = _CROSS_ENTROPIES.get(reduction)
    if operation is None:
        raise OptionError(f"reduction must be 'mean', 'sum' or 'none', not {reduction!r}")
    return operation(_as_array(logits), _as_array(target))


def _as_array(operand: Any) -> Any:
    return operand if isinstance(operand, (np.ndarray, Handle)) else np.asarray(operand)
