"""The operations behind variances and standard deviations: of all elements, and of selected ones."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from tape.core import series
from tape.core.linear import cast
from tape.core.op import Op
from tape.inspect.costs import declare_cost, passes
from tape.ops.elementwise.complex import conjugated, real
from tape.ops.elementwise.selection import isnan, where
from tape.ops.reduction.axes import Reduced, count_along, keep_axes
from tape.ops.reduction.masked import lower_masked_mean, masked_reduction, share_of_counted
from tape.ops.reduction.primitives import (
    lower_mean,
    max_along,
    mean_along,
    min_along,
    reduction_by_partials,
    sum_along,
)

# ---- of all elements -------------------------------------------------------------------------------


def _var_partials(out: Any, x: Any, axis: Reduced | None, ddof: float, keepdims: bool) -> Any:
    freedom = count_along(x.shape, axis) - ddof
    centered = x - mean_along(x, axis=axis, keepdims=True)
    return conjugated(centered) * (2 / freedom if freedom > 0 else np.nan)


def _std_partials(out: Any, x: Any, axis: Reduced | None, ddof: float, keepdims: bool) -> Any:
    by_x = _var_partials(out, x, axis, ddof, keepdims)
    return by_x * _by_variance(keep_axes(out, x, axis, keepdims), x, x, axis) if x.size else by_x


def _by_variance(deviation: Any, lows: Any, highs: Any, axis: Reduced | None) -> Any:
    """Return the derivative of a deviation by the variance; 0 if all elements are equal, or there are none.

    This compares the elements: rounding may leave a variance that is not 0.
    """
    is_constant = max_along(lows, axis=axis, keepdims=True) <= min_along(highs, axis=axis, keepdims=True)
    return where(is_constant, 0, 0.5 / where(is_constant, 1, deviation))


def _taylor_var(op: Any, out: Any, operands: Any, attrs: dict[str, Any]) -> series.Series:
    """Taylor rule: the mean of the squared distances to the mean, which is linear."""
    (a,), axis, keepdims = operands, attrs["axis"], attrs["keepdims"]
    count = count_along(a[0].shape, axis)
    freedom = count - attrs["ddof"]
    centered = [None if part is None else part - mean_along(part, axis=axis, keepdims=True) for part in a]
    conjugates = [None if part is None else conjugated(part) for part in centered]
    c = [out]
    for k in range(1, len(a)):
        products = series.convolved(centered, conjugates, k, 0, k)
        mean = None if products is None else real(mean_along(products, axis=axis, keepdims=keepdims))
        c.append(series.scaled(count / freedom if freedom > 0 else np.nan, mean))
    return c


def _taylor_std(op: Any, out: Any, operands: Any, attrs: dict[str, Any]) -> series.Series:
    variance = _taylor_var(op, out * out, operands, attrs)
    return series.square_root(op, out, [variance], attrs)


def _lower_var(b: Any, x: Any, axis: Reduced | None, ddof: float, keepdims: bool) -> Any:
    if x.dtype == np.float16:  # as NumPy
        return b.cast(_lower_var(b, b.cast(x, np.float32), axis, ddof, keepdims), x.dtype)
    x = x if x.dtype.kind in "fc" else b.cast(x, np.float64)
    centered = x - lower_mean(b, x, axis, True)
    freedom = builtins.max(count_along(x.shape, axis) - ddof, 0)
    squares = b.squares(centered)
    return b.fold("sum", squares, axis, keepdims) / b.literal(freedom, squares.dtype)


var_along = reduction_by_partials(
    "var",
    lambda x, *, axis, ddof, keepdims: np.asarray(x).var(axis, ddof=ddof, keepdims=keepdims),
    _var_partials,
    taylor=_taylor_var,
    lower=_lower_var,
)
std_along = reduction_by_partials(
    "std",
    lambda x, *, axis, ddof, keepdims: np.asarray(x).std(axis, ddof=ddof, keepdims=keepdims),
    _std_partials,
    taylor=_taylor_std,
    lower=lambda b, x, **attrs: b.elementwise("sqrt", _lower_var(b, x, **attrs)),
)


# ---- of selected elements, around the mean or a given number ---------------------------------------


def _masked_var_partials(
    out: Any,
    x: Any,
    counts: Any,
    *mean: Any,
    axis: Reduced | None,
    keepdims: bool,
    ddof: float,
    dtype: Any,
) -> list[Any]:
    share = share_of_counted(counts, out.dtype, axis)
    # Only the mean is computed in the dtype, as in NumPy: its real part, if that is real.
    center = mean[0] if mean else sum_along(cast(x, dtype=dtype or x.dtype), axis=axis, keepdims=True) * share
    distance = where(counts, conjugated(x - center), 0)
    slope = 2 * distance * share_of_counted(counts, out.dtype, axis, ddof)
    return [slope, *(-slope for _ in mean)]


def _masked_std_partials(
    out: Any, x: Any, counts: Any, *mean: Any, axis: Reduced | None, keepdims: bool, **attrs: Any
) -> list[Any]:
    slopes = _masked_var_partials(out, x, counts, *mean, axis=axis, keepdims=keepdims, **attrs)
    if not x.size:
        return slopes
    deviation = keep_axes(out, x, axis, keepdims)
    deviation = where(isnan(deviation), np.inf, deviation)  # NaN of too few elements, whose slopes are 0
    if mean:
        by_variance = where(deviation == 0, 0, 0.5 / where(deviation == 0, 1, deviation))
    else:
        by_variance = _by_variance(deviation, where(counts, x, -np.inf), where(counts, x, np.inf), axis)
    return [slope * by_variance for slope in slopes]


def _lower_masked_var(
    b: Any,
    x: Any,
    counts: Any,
    *mean: Any,
    axis: Reduced | None,
    keepdims: bool,
    ddof: float,
    dtype: Any,
) -> Any:
    if dtype is not None and x.dtype.kind == "c":
        b.refuse("the mean and the sum are of another dtype")
    x = x if x.dtype.kind in "fc" else b.cast(x, np.float64)
    dtype = dtype or x.dtype  # of the mean and the sum only
    center = mean[0] if mean else b.cast(lower_masked_mean(b, x, counts, axis, True, dtype), dtype)
    distance = b.where(counts, x - center, 0)
    part = np.finfo(x.dtype).dtype
    dtype = part if x.dtype.kind == "c" else dtype
    freedom = b.cast(b.fold("sum", b.cast(counts, np.int64), axis, keepdims), part) - ddof
    squares = b.fold("sum", b.cast(b.squares(distance), dtype), axis, keepdims)
    return b.cast(squares / b.elementwise("maximum", freedom, 0), dtype)


def _spread(
    function: Callable[..., Any], partials: Callable[..., Any], lower: Callable[..., Any], *, skips_nan: bool
) -> Op:
    def forward(
        x: Any, where: Any, *mean: Any, axis: Reduced | None, keepdims: bool, ddof: float, dtype: Any
    ) -> Any:
        options = {"mean": mean[0]} if mean else {}
        return np.real(function(x, axis, dtype, ddof=ddof, keepdims=keepdims, where=where, **options))

    return masked_reduction(function.__name__, forward, partials, lower, skips_nan=skips_nan)


def _lower_masked_std(b: Any, *operands: Any, **attrs: Any) -> Any:
    return b.elementwise("sqrt", _lower_masked_var(b, *operands, **attrs))


var_where = _spread(np.var, _masked_var_partials, _lower_masked_var, skips_nan=False)
std_where = _spread(np.std, _masked_std_partials, _lower_masked_std, skips_nan=False)
nanvar_where = _spread(np.nanvar, _masked_var_partials, _lower_masked_var, skips_nan=True)
declare_cost(passes(4, 2), var_along, var_where, nanvar_where)
nanstd_where = _spread(np.nanstd, _masked_std_partials, _lower_masked_std, skips_nan=True)
declare_cost(passes(4, 3), std_along, std_where, nanstd_where)
