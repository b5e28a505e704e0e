"""The softmax family, each computed relative to the largest element so that nothing overflows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tape.core import series
from tape.core.batch_rules import along_axes, inner_axes
from tape.core.linear import broadcast_to
from tape.core.node import Handle
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.record import recorder_of
from tape.errors import DTypeError, OptionError, ShapeError, explain
from tape.kernels.cross_entropy import indexed_excess, indexed_losses
from tape.ops.elementwise.complex import absolute, real
from tape.ops.elementwise.elementary import exp, log
from tape.ops.elementwise.selection import logical_or, where
from tape.ops.reduction.reductions import Reduced, _axes, _kept, _sum
from tape.ops.structure.shape import Axes, expand_dims, reshape

__all__ = ["log_softmax", "logsumexp", "softmax", "softmax_cross_entropy"]

Reduction = Literal["mean", "sum", "none"]


def _shift(x: Any, axis: Reduced | None) -> Any:
    """The largest element (or real part), or 0 where that is infinite, with the reduced axes kept."""
    largest = np.maximum.reduce(np.real(x), axis=axis, keepdims=True)
    return np.where(np.isfinite(largest), largest, 0)


def _logsumexp_forward(x: Any, *, axis: Reduced | None, keepdims: bool) -> Any:
    shift = _shift(x, axis)
    total = np.add.reduce(np.exp(x - shift), axis=axis, keepdims=True)
    with np.errstate(divide="ignore"):  # log 0 is the right answer where every element is -inf
        out = np.log(total) + shift
    return out if keepdims else np.squeeze(out, axis)[()]


def _series_of_all(a: series.Series, axis: Reduced | None) -> tuple[series.Series, series.Series]:
    """Series of softmax p, and of logsumexp L with axes kept: ``p' = p (a' - L')``, ``L' = sum(p a')``."""
    p, L = [_softmax(a[0], axis=axis)], [None]
    moved: series.Series = [None]  # j (a[j] - L[j])
    for k in range(1, len(a)):
        rates = [series.scaled(j, part) for j, part in enumerate(a)]
        rate = series.convolved(rates, p, k, 1, k)
        rate = None if rate is None else _sum(rate, axis=axis, keepdims=True)
        L.append(series.scaled(1 / k, rate))
        moved.append(series.total((rates[k], series.scaled(-1, rate))))
        p.append(series.scaled(1 / k, series.convolved(moved, p, k, 1, k)))
    return p, L


def _taylor_logsumexp(op: Any, out: Any, operands: Any, attrs: dict[str, Any]) -> series.Series:
    _, L = _series_of_all(operands[0], attrs["axis"])
    return [out, *(None if part is None else reshape(part, out.shape) for part in L[1:])]


def _taylor_softmax(op: Any, out: Any, operands: Any, attrs: dict[str, Any]) -> series.Series:
    return [out, *_series_of_all(operands[0], attrs["axis"])[0][1:]]


def _taylor_log_softmax(op: Any, out: Any, operands: Any, attrs: dict[str, Any]) -> series.Series:
    (a,) = operands
    _, L = _series_of_all(a, attrs["axis"])
    return [out, *(series.total((a[k], series.scaled(-1, L[k]))) for k in range(1, len(a)))]


def _lower_shift(b: Any, x: Any, axis: Reduced | None) -> Any:
    largest = b.fold("max", x, axis, keepdims=True)
    return b.where(b.elementwise("isfinite", largest), largest, 0)


def _lower_shifted(b: Any, x: Any, axis: Reduced | None) -> tuple[Any, Any]:
    """``x`` less its largest element, or 0 where that is infinite, and that element."""
    shift = _lower_shift(b, x, axis)
    return x - shift, shift


def _lower_logsumexp(b: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
    shifted, shift = _lower_shifted(b, x, axis)
    total = b.fold("sum", b.elementwise("exp", shifted), axis, keepdims=True)
    out = b.elementwise("log", total) + shift
    kept = [] if axis is None else [n for i, n in enumerate(x.shape) if i not in {a % x.ndim for a in axis}]
    return out if keepdims else b.reshape(out, tuple(kept))


def _lower_softmax(b: Any, x: Any, axis: Reduced | None) -> Any:
    weights = b.elementwise("exp", _lower_shifted(b, x, axis)[0])
    return weights / b.fold("sum", weights, axis, keepdims=True)


def _lower_log_softmax(b: Any, x: Any, axis: Reduced | None) -> Any:
    shifted = x - b.fold("max", x, axis, keepdims=True)
    total = b.fold("sum", b.elementwise("exp", shifted), axis, keepdims=True)
    return shifted - b.elementwise("log", total)


def _softmax_rule(d: Any, out: Any, x: Any, axis: Reduced | None) -> Any:
    return out * (d - _sum(out * d, axis=axis, keepdims=True))  # a symmetric Jacobian


def _shares_forward(x: Any, *, axis: Reduced | None) -> Any:
    largest = np.maximum.reduce(np.real(x), axis=axis, keepdims=True)
    with np.errstate(invalid="ignore"):
        shifted = x - np.where(np.isfinite(largest), largest, np.inf)
    weights = np.exp(np.where(np.real(x) == np.inf, 0, shifted))
    total = np.add.reduce(weights, axis=axis, keepdims=True)
    return weights / np.where(total == 0, 1, total)


def _lower_shares(b: Any, x: Any, axis: Reduced | None) -> Any:
    largest = b.fold("max", x, axis, keepdims=True)
    shifted = x - b.where(b.elementwise("isfinite", largest), largest, np.inf)
    weights = b.elementwise("exp", b.where(b.elementwise("equal", x, np.inf), 0, shifted))
    total = b.fold("sum", weights, axis, keepdims=True)
    return weights / b.where(b.elementwise("equal", total, 0), 1, total)


_shares = Op(  # and not exp(x - out), which would be off by the rounding of out, which may be large
    _shares_forward,
    name="shares",
    taylor=_taylor_softmax,
    batch=along_axes,
    lower=_lower_shares,
    vjp=[_softmax_rule],
    jvp=[_softmax_rule],
    doc="As softmax; where all is -inf 0, and what is inf has everything, shared evenly.",
)

_logsumexp = Op(
    _logsumexp_forward,
    name="logsumexp",
    taylor=_taylor_logsumexp,
    batch=along_axes,
    lower=_lower_logsumexp,
    vjp=[lambda g, out, x, axis, keepdims: _kept(g, x, axis, keepdims) * _shares(x, axis=axis)],
    jvp=[lambda t, out, x, axis, keepdims: _sum(t * _shares(x, axis=axis), axis=axis, keepdims=keepdims)],
)


def _softmax_forward(x: Any, *, axis: Reduced | None) -> Any:
    weights = np.exp(x - _shift(x, axis))
    with np.errstate(invalid="ignore"):  # NaN is the right answer where every element is -inf
        return weights / np.add.reduce(weights, axis=axis, keepdims=True)


_softmax = Op(
    _softmax_forward,
    name="softmax",
    taylor=_taylor_softmax,
    batch=along_axes,
    lower=_lower_softmax,
    vjp=[_softmax_rule],
    jvp=[_softmax_rule],
)


def _log_softmax_forward(x: Any, *, axis: Reduced | None) -> Any:
    shifted = x - np.maximum.reduce(x, axis=axis, keepdims=True)
    return shifted - np.log(np.add.reduce(np.exp(shifted), axis=axis, keepdims=True))


_log_softmax = Op(
    _log_softmax_forward,
    name="log_softmax",
    taylor=_taylor_log_softmax,
    batch=along_axes,
    lower=_lower_log_softmax,
    vjp=[lambda g, out, x, axis: g - exp(out) * _sum(g, axis=axis, keepdims=True)],
    jvp=[lambda t, out, x, axis: t - _sum(exp(out) * t, axis=axis, keepdims=True)],
)


def _weighted_shift(a: Any, b: Any, *, axis: Reduced | None) -> Any:
    return _shift(np.where(b == 0, -np.inf, np.real(a)), axis)


def _lower_weighted_shift(b: Any, a: Any, weights: Any, axis: Reduced | None) -> Any:
    return _lower_shift(b, b.where(b.elementwise("equal", weights, 0), -np.inf, a), axis)


def _batch_weighted_shift(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    return op(*operands, axis=inner_axes(attrs["axis"], operands[0].ndim - is_batched[0]))


_weighted_shift_op = Op(  # without a derivative: it cancels
    _weighted_shift, name="shift", batch=_batch_weighted_shift, lower=_lower_weighted_shift
)


def _weighted_sum(a: Any, b: Any, axis: Reduced | None, keepdims: bool) -> tuple[Any, Any]:
    """The sum of ``b * exp(a - shift)``, and the shift."""
    shift = _weighted_shift_op(a, b, axis=axis)
    reach = np.log(np.finfo(np.result_type(a, np.float16)).max) - 1
    counts = logical_or(b != 0, real(a - shift) < reach)  # what has no weight may be larger, or NaN
    terms = b * exp(where(counts, a - shift, -np.inf))
    total = _sum(terms, axis=axis, keepdims=keepdims)
    return total, reshape(shift, total.shape)


def _scalar(x: Any) -> Any:
    """A plain array of shape () as a scalar."""
    return x[()] if type(x) is np.ndarray else x


def logsumexp(
    a: Any, axis: Axes = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """``log(sum(b * exp(a)))`` over axes, without overflow.

    Parameters
    ----------
    a : array_like or Var
        Not empty along ``axis``; -inf contributes nothing, inf has all of the derivative.
    axis : int or tuple of int, optional
        By default all.
    b : array_like or Var, optional
        Weights, of a shape that broadcasts with that of ``a``; by default 1.
    keepdims : bool
        Keep the reduced axes with length one.
    return_sign : bool
        Return the logarithm of the absolute value of the sum, and its sign. Without, the logarithm of a
        negative sum is NaN.

    Returns
    -------
    numpy.ndarray, numpy.number or Var
        Where the sum is 0, this is -inf, and the derivative 0.
    numpy.ndarray, numpy.number or Var
        The sign (of complex numbers ``sum / abs(sum)``), with ``return_sign``.

    Raises
    ------
    ShapeError
        If there is no such axis, or nothing along it, or if ``b`` has a shape that does not fit.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.logsumexp([1000.0, 1000.0]))  # 1000 + log 2
    1000.693147180559...
    >>> tape.ops.logsumexp([1000.0, 0.0], b=[-1.0, 1.0], return_sign=True)
    (np.float64(1000.0), np.float64(-1.0))
    """
    if b is None and not return_sign:
        a, axes = _axes("logsumexp", a, axis, allow_empty=False)
        return _logsumexp(a, axis=axes, keepdims=keepdims)
    a, b = as_operand(a), as_operand(1.0 if b is None else b)
    try:
        shape = np.broadcast_shapes(np.shape(a), np.shape(b))
    except ValueError as error:
        raise explain("logsumexp", (a, b), error) from error
    _, axes = _axes("logsumexp", np.broadcast_to(0.0, shape), axis, allow_empty=False)
    a, b = (x if np.shape(x) == shape else broadcast_to(x, shape=shape) for x in (a, b))
    total, shift = _weighted_sum(a, b, axes, keepdims)
    is_zero = total == 0
    safe = where(is_zero, 1, total)
    if return_sign:
        size = absolute(safe)
        return _scalar(where(is_zero, -np.inf, log(size) + shift)), _scalar(where(is_zero, 0, safe / size))
    if total.dtype.kind == "c":
        return _scalar(where(is_zero, -np.inf, log(safe) + shift))
    is_negative = total < 0
    logarithm = log(where(is_negative, 1, safe)) + shift
    return _scalar(where(is_zero, -np.inf, where(is_negative, np.nan, logarithm)))


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


def _excess_forward(logits: Any, target: Any, weight: float = 1.0) -> Any:
    if target.dtype.kind in "iu":
        return indexed_excess(logits, target, weight)
    mass = np.add.reduce(target, axis=-1, keepdims=True)
    return (_softmax_forward(logits, axis=_LAST) * mass - target) * weight


def _excess_by_logits(d: Any, out: Any, logits: Any, target: Any) -> Any:
    rule = _softmax_rule(d, _softmax(logits, axis=_LAST), logits, _LAST)
    return rule if target.dtype.kind in "iu" else rule * _sum(target, axis=_LAST, keepdims=True)


def _excess_vjp_target(g: Any, out: Any, logits: Any, target: Any) -> Any:
    return _sum(g * _softmax(logits, axis=_LAST), axis=_LAST, keepdims=True) - g


def _excess_jvp_target(t: Any, out: Any, logits: Any, target: Any) -> Any:
    return _softmax(logits, axis=_LAST) * _sum(t, axis=_LAST, keepdims=True) - t


def _lower_indexed(b: Any, logits: Any) -> tuple[Any, Any]:
    """Exponentials of logits less their largest, and that: NaN where it is infinite, as in the kernels."""
    largest = b.fold("max", logits, _LAST, keepdims=True)
    return b.elementwise("exp", logits - largest), largest


def _lower_excess(b: Any, logits: Any, target: Any) -> Any:
    if target.dtype.kind in "iu":
        weights, _ = _lower_indexed(b, logits)
        shares = weights / b.fold("sum", weights, _LAST, keepdims=True)
        rows = b.reshape(shares, (target.size, logits.shape[-1]))
        return b.reshape(b.add_picked(rows, b.reshape(target, (target.size,)), -1), logits.shape)
    mass = b.fold("sum", target, _LAST, keepdims=True)
    return _lower_softmax(b, logits, _LAST) * mass - target


# The derivative of the losses by the logits: the predicted distribution less the wanted one.
_excess = recorder_of(
    Op(
        _excess_forward,
        name="softmax_excess",
        lower=_lower_excess,
        vjp=[_excess_by_logits, _excess_vjp_target],
        jvp=[_excess_by_logits, _excess_jvp_target],
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
    """The loss of each sample, and their sum."""
    _check_target(logits, target)
    if target.dtype.kind in "iu":
        return indexed_losses(logits, target)
    log_norm = _logsumexp_forward(logits, axis=_LAST, keepdims=False)
    losses = log_norm * np.add.reduce(target, axis=-1) - _expected(logits, target)
    return losses, np.add.reduce(losses, axis=None)


def _expected(logits: Any, target: Any) -> Any:
    with np.errstate(invalid="ignore"):  # a logit of -inf counts for nothing where its probability is 0
        return np.add.reduce(np.where(target == 0, 0, logits * target), axis=-1)


def _cross_entropy(reduction: Reduction) -> Callable[..., Any]:
    """The operation for one reduction: three of them, so that none has static arguments."""

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
            log_norm = _lower_logsumexp(b, logits, _LAST, False)
            expected = b.fold("sum", b.where(b.elementwise("equal", target, 0), 0, logits * target), _LAST)
            losses = log_norm * b.fold("sum", target, _LAST) - expected
        if reduction == "none":
            return losses
        total = b.fold("sum", losses)
        return total / b.literal(losses.size, losses.dtype) if reduction == "mean" else total

    def per_sample(g: Any, logits: Any) -> Any:
        """The adjoint of each sample's loss, against the last axis of the logits."""
        if reduction == "none":
            return expand_dims(g, -1)
        return g / (logits.size // logits.shape[-1]) if reduction == "mean" else g

    def by_logits(g: Any, out: Any, logits: Any, target: Any) -> Any:
        weight = per_sample(g, logits)
        if type(logits) is type(target) is np.ndarray and isinstance(weight, np.floating):
            return _excess_forward(logits, target, float(weight))  # weighted while it is computed
        return weight * _excess(logits, target)

    def reduced(products: Any) -> Any:
        losses = _sum(products, axis=_LAST, keepdims=False)
        if reduction == "none":
            return losses
        total = _sum(losses, axis=None, keepdims=False)
        return total / losses.size if reduction == "mean" else total

    op = Op(
        forward,
        name=f"softmax_cross_entropy_{reduction}",
        lower=lower,
        vjp=[
            by_logits,
            lambda g, out, logits, target: -(per_sample(g, logits) * _log_softmax(logits, axis=_LAST)),
        ],
        jvp=[
            lambda t, out, logits, target: reduced(t * _excess(logits, target)),
            lambda t, out, logits, target: -reduced(t * _log_softmax(logits, axis=_LAST)),
        ],
    )
    return recorder_of(op, 2)


_CROSS_ENTROPIES: dict[str, Callable[..., Any]] = {
    "mean": _cross_entropy("mean"),
    "sum": _cross_entropy("sum"),
    "none": _cross_entropy("none"),
}


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
    operation = _CROSS_ENTROPIES.get(reduction)
    if operation is None:
        raise OptionError(f"reduction is 'mean', 'sum' or 'none', not {reduction!r}")
    return operation(_as_array(logits), _as_array(target))


def _as_array(operand: Any) -> Any:
    return operand if isinstance(operand, (np.ndarray, Handle)) else np.asarray(operand)
