"""The primitive reductions: sum, mean, product, extremes and count of all elements along axes.

Each takes an operand and a tuple of axes that `tape.ops.reduction.axes` has checked. Reductions with
``where=``, ``initial=`` or ``dtype=`` are in `tape.ops.reduction.masked`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod as _product
from typing import Any

import numpy as np

from tape.core import pattern_rules, series
from tape.core.batch_rules import along_axes
from tape.core.linear import sum_to
from tape.core.op import Op
from tape.inspect.costs import declare_cost, passes
from tape.kernels.choices import extremes_share
from tape.kernels.recurrences import products_share
from tape.ops.elementwise.arithmetic import multiply
from tape.ops.elementwise.selection import where
from tape.ops.reduction.axes import Reduced, count_along, keep_axes, spread_over_axes
from tape.ops.structure.joining import concatenate, stack
from tape.ops.structure.shape import astype, reshape, transpose


def reduction_by_partials(
    name: str,
    forward: Callable[..., Any],
    partials: Callable[..., Any],
    *,
    taylor: Any = None,
    lower: Any = None,
) -> Op:
    """Return a reduction of one operand, given its partial derivatives.

    ``partials(out, x, axis=, keepdims=, ...)`` returns them in the shape of ``x``.
    """

    def vjp(g: Any, out: Any, x: Any, axis: Reduced | None, keepdims: bool, **attrs: Any) -> Any:
        return keep_axes(g, x, axis, keepdims) * partials(out, x, axis=axis, keepdims=keepdims, **attrs)

    def jvp(t: Any, out: Any, x: Any, axis: Reduced | None, keepdims: bool, **attrs: Any) -> Any:
        moved = t * partials(out, x, axis=axis, keepdims=keepdims, **attrs)
        return sum_along(moved, axis=axis, keepdims=keepdims)

    return Op(forward, name=name, vjp=[vjp], jvp=[jvp], taylor=taylor, batch=along_axes, lower=lower)


# ---- sums and means --------------------------------------------------------------------------------


def _lower_total(kind: str) -> Any:
    """Lower to a fold; integers and bools accumulate in int64, as in NumPy."""

    def lower(b: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
        return b.fold(kind, x if x.dtype.kind in "fc" else b.cast(x, np.int64), axis, keepdims)

    return lower


def lower_mean(b: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
    count = count_along(x.shape, axis)
    if x.dtype in (np.float16, np.complex64):  # NumPy adds halves as floats, and divides in double precision
        wide = np.dtype(np.float64 if x.dtype == np.float16 else np.complex128)
        added = x if x.dtype == np.complex64 else b.cast(x, np.float32)
        total = b.fold("sum", added, axis, keepdims)
        return b.cast(b.cast(b.cast(total, wide) / b.literal(count, wide), added.dtype), x.dtype)
    x = x if x.dtype.kind in "fc" else b.cast(x, np.float64)
    return b.fold("sum", x, axis, keepdims) / b.literal(count, x.dtype)


sum_along = Op(
    lambda x, *, axis, keepdims: np.add.reduce(x, axis=axis, keepdims=keepdims),
    name="sum",
    pattern=pattern_rules.sums,
    batch=along_axes,
    lower=_lower_total("sum"),
    vjp=[lambda g, out, x, axis, keepdims: spread_over_axes(g, x, axis, keepdims)],
    linear=True,
)


def _mean_forward(x: Any, *, axis: Reduced | None, keepdims: bool) -> Any:
    count = count_along(np.shape(x), axis)
    if x.dtype in (np.float32, np.float64) and count:  # np.mean's result without its overhead
        return sum_along.forward(x, axis=axis, keepdims=keepdims) / count
    return np.mean(x, axis=axis, keepdims=keepdims)


def _divide(g: Any, count: int) -> Any:
    return g * (1 / count) if count else g  # float16 cannot hold a count above 65504


mean_along = Op(
    _mean_forward,
    name="mean",
    pattern=pattern_rules.sums,
    batch=along_axes,
    lower=lower_mean,
    vjp=[
        lambda g, out, x, axis, keepdims: spread_over_axes(
            _divide(g, count_along(x.shape, axis)), x, axis, keepdims
        )
    ],
    linear=True,
)
declare_cost(passes(1, 1), mean_along)


# ---- extremes --------------------------------------------------------------------------------------


count_nonzero_along = Op(
    lambda x, *, axis, keepdims: np.count_nonzero(x, axis=axis, keepdims=keepdims),
    name="count_nonzero",
    batch=along_axes,
    lower=lambda b, x, axis, keepdims: b.fold("sum", b.cast(b.cast(x, bool), np.int64), axis, keepdims),
)


def share_of_ties(is_extreme: Any, others: Any, dtype: Any, axis: Reduced | None) -> Any:
    """Return the share of each extreme element: equal ones, and as many others, share it."""
    ties = count_nonzero_along(is_extreme, axis=axis, keepdims=True) + others
    return astype(1 / where(ties == 0, 1, ties), dtype)


def _extreme(name: str, forward: Callable[..., Any], lower: Callable[..., Any]) -> Op:
    """Return the operation for the largest or smallest element; equal ones share the derivative."""

    def vjp(g: Any, out: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
        g, extreme = keep_axes(g, x, axis, keepdims), keep_axes(out, x, axis, keepdims)
        passed = extremes_share(g, x, extreme)
        if passed is not None:
            return passed
        is_extreme = x == extreme
        ties = count_nonzero_along(is_extreme, axis=axis, keepdims=True)
        return where(is_extreme, g / astype(where(ties == 0, 1, ties), g.dtype), 0)

    def jvp(t: Any, out: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
        is_extreme = x == keep_axes(out, x, axis, keepdims)
        moved = where(is_extreme, t * share_of_ties(is_extreme, 0, x.dtype, axis), 0)
        return sum_along(moved, axis=axis, keepdims=keepdims)

    return Op(forward, name=name, vjp=[vjp], jvp=[jvp], taylor=series.linear, batch=along_axes, lower=lower)


def _folded(name: str, ufunc: np.ufunc) -> Op:
    return _extreme(
        name,
        lambda x, *, axis, keepdims: ufunc.reduce(x, axis=axis, keepdims=keepdims),
        lambda b, x, axis, keepdims: b.fold(name, x, axis, keepdims),
    )


max_along = _folded("max", np.maximum)
min_along = _folded("min", np.minimum)


# ---- products --------------------------------------------------------------------------------------


def _product_of_others(x: Any) -> Any:
    """Return, for each element along the last axis, the product of the others; exact where some are zero.

    Pairs are multiplied, the problem of half the length is solved, and each element of a pair gets the other
    one times the product outside the pair: O(n) work in O(log n) operations.
    """
    length = x.shape[-1]
    if length == 1:
        return np.ones(x.shape, x.dtype)
    if length % 2:
        x = concatenate([x, np.ones((*x.shape[:-1], 1), x.dtype)], axis=-1)
    first, second = x[..., ::2], x[..., 1::2]
    outside = _product_of_others(multiply(first, second))
    others = stack([second * outside, first * outside], axis=-1)
    return reshape(others, x.shape)[..., :length]


def partials_of_product(x: Any, axis: Reduced | None) -> Any:
    """Return the derivative of a product by each of its factors, in the shape of ``x``."""
    if not _product(x.shape):
        return np.zeros(x.shape, x.dtype)
    gone = tuple(range(x.ndim)) if axis is None else tuple(i % x.ndim for i in axis)
    order = (*(i for i in range(x.ndim) if i not in gone), *gone)
    moved = transpose(x, order)
    flat = reshape(moved, (*moved.shape[: x.ndim - len(gone)], count_along(x.shape, axis)))
    others = reshape(_product_of_others(flat), moved.shape)
    return transpose(others, tuple(int(i) for i in np.argsort(order)))


def _prod_vjp(g: Any, out: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
    g = keep_axes(g, x, axis, keepdims)
    shares = products_share(g, x)
    return g * partials_of_product(x, axis) if shares is None else shares


def _prod_jvp(t: Any, out: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
    return sum_along(t * partials_of_product(x, axis), axis=axis, keepdims=keepdims)


prod_along = Op(
    lambda x, *, axis, keepdims: np.multiply.reduce(x, axis=axis, keepdims=keepdims),
    name="prod",
    vjp=[_prod_vjp],
    jvp=[_prod_jvp],
    batch=along_axes,
    lower=_lower_total("prod"),
)
declare_cost(passes(1), sum_to, sum_along, prod_along, max_along, min_along, count_nonzero_along)
