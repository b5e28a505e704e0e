"""The softmax family, each computed relative to the largest element so that nothing overflows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core import series
from tape.core.batch_rules import along_axes, inner_axes, lift
from tape.core.linear import broadcast_to
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.specialise import specialised
from tape.inspect.costs import declare_cost, passes, per_row
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.complex import absolute, real
from tape.ops.elementwise.elementary import exp, log
from tape.ops.elementwise.selection import logical_or, where
from tape.ops.reduction.axes import Reduced, keep_axes, operand_and_axes
from tape.ops.reduction.primitives import sum_along
from tape.ops.structure.shape import Axes, reshape, shared_shape

__all__ = ["log_softmax", "logsumexp", "softmax"]

_DOUBLE = np.dtype(np.float64)

declare_samples("tape.ops.special.logsumexp(x, axis=1)")


def _shift(x: Any, axis: Reduced | None) -> Any:
    """Return the largest element (or real part), or 0 where that is infinite, with the reduced axes kept."""
    largest = np.maximum.reduce(x.real, axis=axis, keepdims=True)
    return np.where(np.isfinite(largest), largest, 0)


def logsumexp_forward(x: Any, *, axis: Reduced | None, keepdims: bool) -> Any:
    shift = _shift(x, axis)
    total = np.add.reduce(np.exp(x - shift), axis=axis, keepdims=True)
    with np.errstate(divide="ignore"):  # log 0 is the right answer where every element is -inf
        out = np.log(total) + shift
    return out if keepdims else out.squeeze(axis)[()]


def _series_of_all(a: series.Series, axis: Reduced | None) -> tuple[series.Series, series.Series]:
    """Return series of softmax p, and of logsumexp L, axes kept: ``p' = p (a' - L')``, ``L' = sum(p a')``."""
    p, L = [softmax_along(a[0], axis=axis)], [None]
    moved: series.Series = [None]  # j (a[j] - L[j])
    for k in range(1, len(a)):
        rates = [series.scaled(j, part) for j, part in enumerate(a)]
        rate = series.convolved(rates, p, k, 1, k)
        rate = None if rate is None else sum_along(rate, axis=axis, keepdims=True)
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


def lower_logsumexp(b: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
    shift = _lower_shift(b, x, axis)
    total = b.fold("sum", b.elementwise("exp", x - shift), axis, keepdims=True)
    out = b.elementwise("log", total) + shift
    kept = [] if axis is None else [n for i, n in enumerate(x.shape) if i not in {a % x.ndim for a in axis}]
    return out if keepdims else b.reshape(out, tuple(kept))


def lower_softmax(b: Any, x: Any, axis: Reduced | None) -> Any:
    weights = b.elementwise("exp", x - b.fold("max", x, axis, keepdims=True))
    return weights / b.fold("sum", weights, axis, keepdims=True)


def _lower_log_softmax(b: Any, x: Any, axis: Reduced | None) -> Any:
    shifted = x - b.fold("max", x, axis, keepdims=True)
    total = b.fold("sum", b.elementwise("exp", shifted), axis, keepdims=True)
    return shifted - b.elementwise("log", total)


def softmax_rule(d: Any, out: Any, x: Any, axis: Reduced | None) -> Any:
    return out * (d - sum_along(out * d, axis=axis, keepdims=True))  # a symmetric Jacobian


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


softmax_shares = Op(  # not exp(x - out), which has the rounding error of a large out
    _shares_forward,
    name="shares",
    taylor=_taylor_softmax,
    batch=along_axes,
    lower=_lower_shares,
    vjp=[softmax_rule],
    jvp=[softmax_rule],
    doc="Softmax, but 0 where all elements are -inf, and shared evenly by elements that are inf.",
)

_logsumexp = Op(
    logsumexp_forward,
    name="logsumexp",
    taylor=_taylor_logsumexp,
    batch=along_axes,
    lower=lower_logsumexp,
    vjp=[lambda g, out, x, axis, keepdims: keep_axes(g, x, axis, keepdims) * softmax_shares(x, axis=axis)],
    jvp=[
        lambda t, out, x, axis, keepdims: sum_along(
            t * softmax_shares(x, axis=axis), axis=axis, keepdims=keepdims
        )
    ],
)
declare_cost(passes(4, 2), _logsumexp)


def softmax_forward(x: Any, *, axis: Reduced | None) -> Any:
    with np.errstate(invalid="ignore"):  # NaN is the right answer where all are -inf, or one is inf
        weights = np.exp(x - np.maximum.reduce(x.real, axis=axis, keepdims=True))
        return weights / np.add.reduce(weights, axis=axis, keepdims=True)


softmax_along = Op(
    softmax_forward,
    name="softmax",
    taylor=_taylor_softmax,
    batch=along_axes,
    lower=lower_softmax,
    vjp=[softmax_rule],
    jvp=[softmax_rule],
)
declare_cost(per_row(5, 1), softmax_along)


def _log_softmax_forward(x: Any, *, axis: Reduced | None) -> Any:
    shifted = x - np.maximum.reduce(x, axis=axis, keepdims=True)
    return shifted - np.log(np.add.reduce(np.exp(shifted), axis=axis, keepdims=True))


log_softmax_along = Op(
    _log_softmax_forward,
    name="log_softmax",
    taylor=_taylor_log_softmax,
    batch=along_axes,
    lower=_lower_log_softmax,
    vjp=[lambda g, out, x, axis: g - exp(out) * sum_along(g, axis=axis, keepdims=True)],
    jvp=[lambda t, out, x, axis: t - sum_along(exp(out) * t, axis=axis, keepdims=True)],
)
declare_cost(per_row(5, 1), log_softmax_along)


def _weighted_shift(a: Any, b: Any, *, axis: Reduced | None) -> Any:
    return _shift(np.where(b == 0, -np.inf, np.real(a)), axis)


def _lower_weighted_shift(b: Any, a: Any, weights: Any, axis: Reduced | None) -> Any:
    return _lower_shift(b, b.where(b.elementwise("equal", weights, 0), -np.inf, a), axis)


def _batch_weighted_shift(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    ndim = max(np.ndim(x) - inside for x, inside in zip(operands, is_batched, strict=True))
    lifted = (lift(x, inside, ndim) for x, inside in zip(operands, is_batched, strict=True))
    return op(*lifted, axis=inner_axes(attrs["axis"], ndim))


_weighted_shift_op = Op(  # constant: its derivative cancels
    _weighted_shift, name="shift", batch=_batch_weighted_shift, lower=_lower_weighted_shift
)


def _weighted_sum(a: Any, b: Any, axis: Reduced | None, keepdims: bool) -> tuple[Any, Any]:
    """Return the sum of ``b * exp(a - shift)``, and the shift."""
    shift = _weighted_shift_op(a, b, axis=axis)
    reach = np.log(np.finfo(np.result_type(a, np.float16)).max) - 1
    counts = logical_or(b != 0, real(a - shift) < reach)  # elements without weight may be larger, or NaN
    terms = b * exp(where(counts, a - shift, -np.inf))
    total = sum_along(terms, axis=axis, keepdims=keepdims)
    return total, reshape(shift, total.shape)


def _floats(x: Any) -> Any:
    """Return integers and bools as float64, as SciPy computes: small integers would wrap around."""
    if isinstance(x, (bool, int)):
        return float(x)
    return x.astype(np.float64) if getattr(x, "dtype", _DOUBLE).kind in "iub" else x


def _scalar(x: Any) -> Any:
    """Return a plain array of shape () as a scalar."""
    return x[()] if type(x) is np.ndarray else x


@specialised()
def logsumexp(
    a: Any, axis: Axes = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """``log(sum(b * exp(a)))`` over axes, without overflow.

    Parameters
    ----------
    a : array_like or Var
        Not empty along ``axis``; -inf contributes nothing, inf has all of the derivative.
    axis : int or tuple of int, optional
        All axes by default.
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
        If there is no such axis, or no elements along it, or if ``b`` has a shape that does not fit.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.logsumexp([1000.0, 1000.0]))  # 1000 + log 2
    1000.693147180559...
    >>> tape.ops.logsumexp([1000.0, 0.0], b=[-1.0, 1.0], return_sign=True)
    (np.float64(1000.0), np.float64(-1.0))
    """
    if b is None and not return_sign:
        a, axes = operand_and_axes("logsumexp", a, axis, allow_empty=False)
        return _logsumexp(_floats(a), axis=axes, keepdims=keepdims)
    a, b = _floats(as_operand(a)), _floats(as_operand(1.0 if b is None else b))
    shape = shared_shape("logsumexp", a, b)
    _, axes = operand_and_axes("logsumexp", np.broadcast_to(0.0, shape), axis, allow_empty=False)
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


@specialised()
def softmax(a: Any, axis: Axes = -1) -> Any:
    """``exp(a) / sum(exp(a))`` over axes, without overflow.

    Parameters
    ----------
    a : array_like or Var
        Not empty along ``axis``; integers and bools are float64.
    axis : int, tuple of int or None
        Over which the results add up to one; None for all.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``a``.

    Raises
    ------
    ShapeError
        If there is no such axis, or no elements along it.

    Examples
    --------
    >>> import tape
    >>> tape.ops.softmax([0.0, 0.0])
    array([0.5, 0.5])
    """
    a, axes = operand_and_axes("softmax", a, axis, allow_empty=False)
    return softmax_along(_floats(a), axis=axes)


@specialised()
def log_softmax(a: Any, axis: Axes = -1) -> Any:
    """The logarithm of `softmax`, accurate for small probabilities too. Parameters are the same.

    Examples
    --------
    >>> import tape
    >>> tape.ops.log_softmax([0.0, -1000.0])
    array([    0., -1000.])
    """
    a, axes = operand_and_axes("log_softmax", a, axis, allow_empty=False)
    return log_softmax_along(_floats(a), axis=axes)
