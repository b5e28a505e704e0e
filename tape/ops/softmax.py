"""The softmax family, each computed relative to the largest element so that nothing overflows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tape.errors import DTypeError, OutOfBoundsError, ShapeError, TapeError
from tape.op import Op, as_operand
from tape.ops.elementary import exp
from tape.ops.reductions import Reduced, _axes, _kept, _sum
from tape.ops.selection import isfinite, where
from tape.ops.shape import Axes, expand_dims

__all__ = ["log_softmax", "logsumexp", "softmax", "softmax_cross_entropy"]

Reduction = Literal["mean", "sum", "none"]


def _shift(x: Any, axis: Reduced | None) -> Any:
    """The largest element, or 0 where that is infinite, with the reduced axes kept."""
    largest = np.maximum.reduce(x, axis=axis, keepdims=True)
    return np.where(np.isfinite(largest), largest, 0)


def _logsumexp_forward(x: Any, *, axis: Reduced | None, keepdims: bool) -> Any:
    shift = _shift(x, axis)
    total = np.add.reduce(np.exp(x - shift), axis=axis, keepdims=True)
    with np.errstate(divide="ignore"):  # log 0 is the right answer where every element is -inf
        out = np.log(total) + shift
    return out if keepdims else np.squeeze(out, axis)[()]


def _logsumexp_partials(out: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
    out = _kept(out, x, axis, keepdims)
    return exp(x - where(isfinite(out), out, 0))


_logsumexp = Op(
    _logsumexp_forward,
    name="logsumexp",
    vjp=[
        lambda g, out, x, axis, keepdims: (
            _kept(g, x, axis, keepdims) * _logsumexp_partials(out, x, axis, keepdims)
        )
    ],
    jvp=[
        lambda t, out, x, axis, keepdims: _sum(
            t * _logsumexp_partials(out, x, axis, keepdims), axis=axis, keepdims=keepdims
        )
    ],
)


def _softmax_forward(x: Any, *, axis: Reduced | None) -> Any:
    weights = np.exp(x - np.maximum.reduce(x, axis=axis, keepdims=True))
    return weights / np.add.reduce(weights, axis=axis, keepdims=True)


def _softmax_rule(d: Any, out: Any, x: Any, axis: Reduced | None) -> Any:
    return out * (d - _sum(out * d, axis=axis, keepdims=True))  # a symmetric Jacobian


_softmax = Op(_softmax_forward, name="softmax", vjp=[_softmax_rule], jvp=[_softmax_rule])


def _log_softmax_forward(x: Any, *, axis: Reduced | None) -> Any:
    shifted = x - np.maximum.reduce(x, axis=axis, keepdims=True)
    return shifted - np.log(np.add.reduce(np.exp(shifted), axis=axis, keepdims=True))


_log_softmax = Op(
    _log_softmax_forward,
    name="log_softmax",
    vjp=[lambda g, out, x, axis: g - exp(out) * _sum(g, axis=axis, keepdims=True)],
    jvp=[lambda t, out, x, axis: t - _sum(exp(out) * t, axis=axis, keepdims=True)],
)


def logsumexp(a: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """``log(sum(exp(a)))`` over axes, without overflow.

    Parameters
    ----------
    a : array_like or Var
        Floats, not empty along ``axis``; -inf contributes nothing.
    axis : int or tuple of int, optional
        By default all.
    keepdims : bool
        Keep the reduced axes with length one.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var

    Raises
    ------
    ShapeError
        If there is no such axis, or nothing along it.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.logsumexp([1000.0, 1000.0]) - 1000.0)  # log 2
    0.6931471805599...
    """
    a, axes = _axes("logsumexp", a, axis, allow_empty=False)
    return _logsumexp(a, axis=axes, keepdims=keepdims)


def softmax(a: Any, axis: Axes = -1) -> Any:
    """``exp(a) / sum(exp(a))`` over axes, without overflow.

    Parameters
    ----------
    a : array_like or Var
        Floats, not empty along ``axis``.
    axis : int, tuple of int or None
        Over which the results add up to one; None for all.

    Returns
    -------
    numpy.ndarray or Var
        Of the shape of ``a``.

    Raises
    ------
    ShapeError
        If there is no such axis, or nothing along it.

    Examples
    --------
    >>> import tape
    >>> tape.ops.softmax([0.0, 0.0])
    array([0.5, 0.5])
    """
    a, axes = _axes("softmax", a, axis, allow_empty=False)
    return _softmax(a, axis=axes)


def log_softmax(a: Any, axis: Axes = -1) -> Any:
    """The logarithm of `softmax`, accurate for small probabilities too. Arguments as there.

    Examples
    --------
    >>> import tape
    >>> tape.ops.log_softmax([0.0, -1000.0])
    array([    0., -1000.])
    """
    a, axes = _axes("log_softmax", a, axis, allow_empty=False)
    return _log_softmax(a, axis=axes)


_LAST: Reduced = (-1,)


def _cross_entropy_forward(logits: Any, target: Any, *, reduction: Reduction) -> Any:
    log_norm = _logsumexp_forward(logits, axis=_LAST, keepdims=False)
    if target.dtype.kind in "iu":
        losses = log_norm - np.take_along_axis(logits, target[..., None], axis=-1)[..., 0]
    else:
        losses = log_norm * np.add.reduce(target, axis=-1) - np.add.reduce(logits * target, axis=-1)
    if reduction == "none":
        return losses
    total = np.add.reduce(losses, axis=None)
    return total / losses.size if reduction == "mean" else total


def _per_sample(g: Any, logits: Any, reduction: Reduction) -> Any:
    """The adjoint of each sample's loss, against the last axis of the logits."""
    if reduction == "none":
        return expand_dims(g, -1)
    return g / (logits.size // logits.shape[-1]) if reduction == "mean" else g


def _cross_entropy_partials(logits: Any, target: Any) -> Any:
    probabilities = _softmax(logits, axis=_LAST)
    if target.dtype.kind in "iu":
        return probabilities - (expand_dims(target, -1) == np.arange(logits.shape[-1]))
    return probabilities * _sum(target, axis=_LAST, keepdims=True) - target


def _reduced(losses: Any, reduction: Reduction) -> Any:
    if reduction == "none":
        return losses
    total = _sum(losses, axis=None, keepdims=False)
    return total / losses.size if reduction == "mean" else total


def _cross_entropy_jvp(
    tangents: list[Any], out: Any, logits: Any, target: Any, *, reduction: Reduction
) -> Any:
    losses = None
    if tangents[0] is not None:
        losses = _sum(tangents[0] * _cross_entropy_partials(logits, target), axis=_LAST, keepdims=False)
    if tangents[1] is not None:
        part = -_sum(tangents[1] * _log_softmax(logits, axis=_LAST), axis=_LAST, keepdims=False)
        losses = part if losses is None else losses + part
    return None if losses is None else _reduced(losses, reduction)


def _cross_entropy_vjp_logits(g: Any, out: Any, logits: Any, target: Any, *, reduction: Reduction) -> Any:
    return _per_sample(g, logits, reduction) * _cross_entropy_partials(logits, target)


def _cross_entropy_vjp_target(g: Any, out: Any, logits: Any, target: Any, *, reduction: Reduction) -> Any:
    return -(_per_sample(g, logits, reduction) * _log_softmax(logits, axis=_LAST))


_cross_entropy = Op(
    _cross_entropy_forward,
    name="softmax_cross_entropy",
    vjp=[_cross_entropy_vjp_logits, _cross_entropy_vjp_target],
    jvp=_cross_entropy_jvp,
)


def softmax_cross_entropy(logits: Any, target: Any, reduction: Reduction = "mean") -> Any:
    """Cross-entropy of a target against ``softmax(logits)``, in nats, as one operation.

    Parameters
    ----------
    logits : array_like or Var
        ``(..., classes)``, floats.
    target : array_like or Var
        Either class indices ``(...)``, of an integer dtype, or probabilities ``(..., classes)``.
    reduction : {"mean", "sum", "none"}
        What to do with the losses of the samples.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or losses ``(...)`` for ``reduction="none"``. The gradient by the logits is
        ``softmax(logits) - target``.

    Raises
    ------
    ShapeError
        If the shapes do not belong together.
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
    logits, target = _checked_logits(logits, target)
    if reduction not in ("mean", "sum", "none"):
        raise TapeError(f"reduction is 'mean', 'sum' or 'none', not {reduction!r}")
    return _cross_entropy(logits, target, reduction=reduction)


def _checked_logits(logits: Any, target: Any) -> tuple[Any, Any]:
    logits, target = as_operand(logits), as_operand(target)
    shape, target_shape = np.shape(logits), np.shape(target)
    kind = np.result_type(target).kind
    if np.result_type(logits).kind != "f" or kind == "b":
        raise DTypeError(
            f"softmax_cross_entropy: logits {np.result_type(logits)} and target {np.result_type(target)}. "
            "Logits are floats, the target integers (class indices) or floats (probabilities)"
        )
    if not shape or not shape[-1]:
        raise ShapeError(
            f"softmax_cross_entropy: logits have shape {list(shape)}; the last axis holds the classes"
        )
    wanted = shape[:-1] if kind in "iu" else shape
    if target_shape != wanted:
        raise ShapeError(
            f"softmax_cross_entropy: logits {list(shape)} need a target of shape {list(wanted)}, "
            f"not {list(target_shape)}"
        )
    if kind in "iu" and np.prod(target_shape):
        indices = target
        while hasattr(indices, "value"):  # a Var: look at the numbers
            indices = indices.value
        if indices.min() < 0 or indices.max() >= shape[-1]:
            raise OutOfBoundsError(
                f"softmax_cross_entropy: class indices from {indices.min()} to {indices.max()}; "
                f"there are {shape[-1]} classes, numbered from 0"
            )
    return logits, target
