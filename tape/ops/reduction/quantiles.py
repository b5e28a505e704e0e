"""Medians, quantiles and percentiles, with and without NaN.

Each is an interpolation between two of the sorted elements, and these two alone have a derivative; of equal
elements any one. Which two is given by a position among the n sorted elements, linear in the quantile for
most methods; for the others it is found by NumPy: it is their quantile of 0, 1, ..., n - 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape.core.batch_rules import along_axes
from tape.core.linear import cast
from tape.core.nesting import traced
from tape.core.op import Op
from tape.core.operands import as_operand, composed
from tape.core.table import implements
from tape.errors import OptionError, UnsupportedError
from tape.inspect.costs import declare_cost, sorting
from tape.inspect.samples import declare_samples
from tape.ops.reduction.axes import Reduced, count_along, operand_and_axes
from tape.ops.reduction.order_statistics import (
    LINES,
    lower_interpolation,
    lower_median,
    lower_quantile,
)
from tape.ops.reduction.primitives import sum_along
from tape.ops.structure.indexing import HOLE, getitem, scatter
from tape.ops.structure.joining import stack
from tape.ops.structure.shape import Axes, astype, ravel, reshape

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

declare_samples(
    "np.median, np.nanmedian(x, axis=1)",
    "np.nanpercentile(x, 30, axis=1)",
    "np.nanquantile, np.quantile(x, 0.3, axis=1)",
    "np.percentile(x, [20, 70], axis=0)",
)

_STEPS = frozenset(
    {
        "averaged_inverted_cdf",
        "closest_observation",
        "higher",
        "inverted_cdf",
        "lower",
        "midpoint",
        "nearest",
    }
)
"""Methods by which it is constant but for jumps."""
_MANY = 16
"""From how many sorted positions on it is better to sort than to partition."""
_SHORT = 64
"""Up to how many elements, too."""


# ---- selection of elements -------------------------------------------------------------------------


def _positions(counts: np.ndarray, q: np.ndarray, method: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return positions among sorted elements, for each quantile and count, and their derivative by q."""
    positions = np.zeros((*q.shape, *counts.shape))
    growth = np.zeros(positions.shape)
    for count in np.unique(counts[counts > 0]):
        if method in LINES:
            a, b = LINES[method]
            line, slope = a + (count + b) * q, count + b
            found, slopes = np.clip(line, 0, count - 1), np.where(line >= 0, slope, 0.0)
        else:
            found, slopes = np.quantile(np.arange(count, dtype=float), q, method=method), np.zeros(q.shape)
        positions[..., counts == count] = np.asarray(found)[..., None]
        growth[..., counts == count] = np.asarray(slopes)[..., None]
    return positions, growth


def _ranked(rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the places of elements in each row by rank, for ranks that are wanted; equal ones in order."""
    if len(wanted) >= _MANY or rows.shape[1] <= _SHORT:
        return rows.argsort(axis=1, kind="stable")
    ranks = rows.argpartition(wanted, axis=1)
    are_nan = np.isnan(rows)
    for rank in wanted:
        values = np.take_along_axis(rows, ranks[:, rank, None], 1)
        is_nan = np.isnan(values)
        are_equal = np.where(is_nan, are_nan, rows == values)
        if np.count_nonzero(are_equal) > len(rows):
            before = np.sum(np.where(is_nan, ~are_nan, rows < values), axis=1, keepdims=True)
            ranks[:, rank] = np.argmax(np.cumsum(are_equal, axis=1) > rank - before, axis=1)
    return ranks


def _interpolation_forward(
    x: Any, q: Any, *, scale: float, axis: Reduced | None, method: str, keepdims: bool, skips_nan: bool
) -> np.ndarray:
    """Return, for each result, the flat positions of its two elements, their weights, and the slope by q.

    The five are stacked, each in the shape of the result.
    """
    gone = [i % x.ndim for i in (range(x.ndim) if axis is None else axis)]
    lead = [i for i in range(x.ndim) if i not in gone]
    order = (*lead, *gone)

    def in_rows(array: Any) -> Any:
        return np.transpose(array, order).reshape((-1, count_along(x.shape, axis)))

    rows, places = in_rows(x), in_rows(np.arange(x.size).reshape(x.shape))
    number, length = rows.shape
    counts = length - np.isnan(rows).sum(axis=1) if skips_nan else np.full(number, length)
    q = np.asarray(q) / scale
    positions, growth = _positions(counts, q, method)
    below = np.floor(positions).astype(np.intp)
    above = np.minimum(below + 1, np.maximum(counts - 1, 0))
    ranks = _ranked(rows, np.unique([below, above]))
    each = np.arange(number)
    elements = [places[each, ranks[each, part]] for part in (below, above)]
    weight = positions - below
    has_any = counts > 0
    parts = np.stack([*elements, (1 - weight) * has_any, weight * has_any, growth / scale])
    left = tuple(1 if i in gone else n for i, n in enumerate(x.shape) if keepdims or i not in gone)
    return parts.reshape((5, *q.shape, *left))


def _summed_to(q: Any, change: Any) -> Any:
    """Return the adjoint of quantiles: the sum over the results of each one."""
    return sum_along(change, axis=tuple(range(np.ndim(q), change.ndim)), keepdims=False)


def _spread_from(t: Any, out: Any) -> Any:
    """Return the tangents of quantiles, in a shape that broadcasts with results."""
    return reshape(t, (*t.shape, *(1,) * (out.ndim - t.ndim)))


def _interpolation_jvp(t: Any, out: Any, x: Any, q: Any, **attrs: Any) -> Any:
    moved = _spread_from(t, out[0]) * out[4]
    still = np.zeros(moved.shape, moved.dtype)
    return stack([still, still, -moved, moved, still])


_interpolation = Op(
    _interpolation_forward,
    name="interpolation",
    data_dependent=False,
    lower=lower_interpolation,
    vjp=[None, lambda g, out, x, q, **attrs: _summed_to(q, out[4] * (g[3] - g[2]))],
    jvp=[None, _interpolation_jvp],
)


def _elements_and_weights(x: Any, q: Any, out: Any, attrs: dict[str, Any]) -> tuple[Any, Any]:
    parts = _interpolation(x, q, **attrs)
    return astype(parts[:2], np.intp), cast(parts[2:4], dtype=out.dtype)


def _vjp(g: Any, out: Any, x: Any, q: Any, **attrs: Any) -> Any:
    if not x.size:
        return np.zeros(x.shape, x.dtype)
    places, weights = _elements_and_weights(x, q, out, attrs)
    return reshape(scatter(weights * g, places, index=(HOLE,), shape=(x.size,)), x.shape)


def _jvp(t: Any, out: Any, x: Any, q: Any, **attrs: Any) -> Any:
    if not x.size:
        return np.zeros(out.shape, out.dtype)
    places, weights = _elements_and_weights(x, q, out, attrs)
    return sum_along(weights * getitem(ravel(t), places), axis=(0,), keepdims=False)


def _slope(x: Any, q: Any, attrs: dict[str, Any]) -> Any:
    """Return the derivative of the result by the quantile."""
    parts = _interpolation(x, q, **attrs)
    below, above = cast(getitem(ravel(x), astype(parts[:2], np.intp)), dtype=parts.dtype)
    return parts[4] * (above - below)


def _vjp_q(g: Any, out: Any, x: Any, q: Any, **attrs: Any) -> Any:
    return _summed_to(q, g * _slope(x, q, attrs)) if x.size else np.zeros(np.shape(q))


def _jvp_q(t: Any, out: Any, x: Any, q: Any, **attrs: Any) -> Any:
    return _spread_from(t, out) * _slope(x, q, attrs) if x.size else np.zeros(out.shape)


# ---- operations ------------------------------------------------------------------------------------


def _batch_quantile(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    x, q = operands
    if is_batched[1] or np.ndim(q):
        return NotImplemented
    return along_axes(_with_q(op, q), [x], is_batched, attrs, size)


def _with_q(op: Any, q: Any) -> Callable[..., Any]:
    return lambda x, **attrs: op(x, q, **attrs)


def _quantile_op(function: Callable[..., Any], scale: float, *, skips_nan: bool) -> Op:
    """Return an operation of two operands, the elements and the quantiles."""
    fixed: dict[str, Any] = {"scale": scale, "skips_nan": skips_nan}

    def with_settings(rule: Callable[..., Any]) -> Callable[..., Any]:
        return lambda d, out, x, q, **attrs: rule(d, out, x, q, **attrs, **fixed)

    return Op(
        lambda x, q, *, axis, method, keepdims: function(x, q, axis=axis, method=method, keepdims=keepdims),
        name=function.__name__,
        vjp=[with_settings(_vjp), with_settings(_vjp_q)],
        jvp=[with_settings(_jvp), with_settings(_jvp_q)],
        batch=_batch_quantile,
        lower=lambda b, x, q, **attrs: lower_quantile(b, x, q, **attrs, **fixed),
    )


def _median_op(function: Callable[..., Any], *, skips_nan: bool) -> Op:
    fixed = {"scale": 1.0, "method": "linear", "skips_nan": skips_nan}

    def with_settings(rule: Callable[..., Any]) -> Callable[..., Any]:
        return lambda d, out, x, **attrs: rule(d, out, x, 0.5, **attrs, **fixed)

    return Op(
        lambda x, *, axis, keepdims: function(x, axis=axis, keepdims=keepdims),
        name=function.__name__,
        vjp=[with_settings(_vjp)],
        jvp=[with_settings(_jvp)],
        batch=along_axes,
        lower=lambda b, x, **attrs: lower_median(b, x, **attrs, skips_nan=skips_nan),
    )


_quantile = _quantile_op(np.quantile, 1.0, skips_nan=False)
_percentile = _quantile_op(np.percentile, 100.0, skips_nan=False)
_nanquantile = _quantile_op(np.nanquantile, 1.0, skips_nan=True)
_nanpercentile = _quantile_op(np.nanpercentile, 100.0, skips_nan=True)
_median = _median_op(np.median, skips_nan=False)
_nanmedian = _median_op(np.nanmedian, skips_nan=True)
declare_cost(sorting, _median, _quantile, _percentile, _nanmedian, _nanquantile, _nanpercentile)


def _called(op: Op, top: int, a: Any, q: Any, axis: Axes, method: str, keepdims: bool, weights: Any) -> Any:
    name = op.name
    a, axes = operand_and_axes(name, a, axis, allow_number=False)
    q = as_operand(q)
    if method not in LINES and method not in _STEPS:
        raise OptionError(
            f"{name}: method={method!r}. It must be one of {', '.join(sorted({*LINES, *_STEPS}))}"
        )
    if weights is not None:
        raise UnsupportedError(f"{name} with weights= has no rule. Repeat elements, or sort and np.cumsum")
    if axes == () and np.ndim(q) > 1 and op in (_nanquantile, _nanpercentile):
        raise UnsupportedError(
            f"{name}: q of {np.ndim(q)} axes with axis=(), for which NumPy mixes up the axes. Use np.ravel(q)"
        )
    numbers = traced(q)
    if not np.all((numbers >= 0) & (numbers <= top)):
        raise OptionError(f"{name}: q is not between 0 and {top}")
    return op(a, q, axis=axes, method=method, keepdims=keepdims)


@implements(np.median)
def median(a: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """Return the middle of the sorted elements, over axes; the mean of the middle two for an even number.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    axis : int or tuple of int, optional
        All axes by default.
    keepdims : bool
        Keep the reduced axes with length one.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        The elements in the middle have the derivative; equal ones by their order.

    Raises
    ------
    ShapeError
        If there is no such axis, or one is named twice.

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace()
    >>> tr.backward_param_grads(tape.ops.median(tr.param([4.0, 1.0, 2.0, 9.0])))
    [array([0.5, 0. , 0.5, 0. ])]
    """
    a, axes = operand_and_axes("median", a, axis, allow_number=False)
    return _median(a, axis=axes, keepdims=keepdims)


@implements(np.nanmedian)
def nanmedian(a: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """Median of the elements that are not NaN. Otherwise like `median`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.nanmedian([1.0, np.nan, 4.0]))
    2.5
    """
    a, axes = operand_and_axes("nanmedian", a, axis, allow_number=False)
    return _nanmedian(a, axis=axes, keepdims=keepdims)


@implements(np.quantile)
@composed
def quantile(
    a: Any, q: Any, axis: Axes = None, *, method: str = "linear", keepdims: bool = False, weights: Any = None
) -> Any:
    """Return quantiles: the values that given shares of the elements are not above, over axes.

    Parameters
    ----------
    a : array_like or Var
        Real numbers, of any shape.
    q : array_like or Var
        Shares, between 0 and 1. They are differentiated too, by the line between two elements.
    axis : int or tuple of int, optional
        All axes by default.
    method : str
        The method of interpolation: one of those of `numpy.quantile`.
    keepdims : bool
        Keep the reduced axes with length one.
    weights : None
        Not supported.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        The axes of ``q`` come first. The elements that are interpolated have the derivative; equal ones
        by their order.

    Raises
    ------
    ShapeError
        If there is no such axis, or one is named twice.
    OptionError
        If ``q`` is out of range, or there is no such method.
    UnsupportedError
        If there are weights.
    DTypeError
        If ``a`` is complex.

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace()
    >>> tr.backward_param_grads(tape.ops.quantile(tr.param([4.0, 1.0, 2.0]), 0.25))
    [array([0. , 0.5, 0.5])]
    """
    return _called(_quantile, 1, a, q, axis, method, keepdims, weights)


@implements(np.percentile)
@composed
def percentile(
    a: Any, q: Any, axis: Axes = None, *, method: str = "linear", keepdims: bool = False, weights: Any = None
) -> Any:
    """Return percentiles: quantiles with shares between 0 and 100. Otherwise like `quantile`.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.percentile([1.0, 2.0, 4.0], 75))
    3.0
    """
    return _called(_percentile, 100, a, q, axis, method, keepdims, weights)


@implements(np.nanquantile)
@composed
def nanquantile(
    a: Any, q: Any, axis: Axes = None, *, method: str = "linear", keepdims: bool = False, weights: Any = None
) -> Any:
    """Quantiles of the elements that are not NaN. Otherwise like `quantile`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.nanquantile([1.0, np.nan, 4.0], 0.5))
    2.5
    """
    return _called(_nanquantile, 1, a, q, axis, method, keepdims, weights)


@implements(np.nanpercentile)
@composed
def nanpercentile(
    a: Any, q: Any, axis: Axes = None, *, method: str = "linear", keepdims: bool = False, weights: Any = None
) -> Any:
    """Percentiles of the elements that are not NaN. Otherwise like `percentile`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.nanpercentile([1.0, np.nan, 4.0], 50))
    2.5
    """
    return _called(_nanpercentile, 100, a, q, axis, method, keepdims, weights)
