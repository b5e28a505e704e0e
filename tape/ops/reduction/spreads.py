"""How far elements spread: variances and standard deviations.

Of complex numbers it is the square of the distance to the mean that is averaged, and the result real.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from tape.core import series
from tape.core.linear import cast
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.record import specialised
from tape.core.table import implements
from tape.errors import OptionError, ShapeError
from tape.ops.elementwise.complex import conjugate, real
from tape.ops.elementwise.selection import isnan, where
from tape.ops.reduction.masked import _lower_mean as _lower_masked_mean
from tape.ops.reduction.masked import _masked, _shares_of
from tape.ops.reduction.reducing import (
    Reduced,
    _axes,
    _by_partials,
    _count,
    _kept,
    _lower_mean,
    _max,
    _mean,
    _min,
    _sum,
)
from tape.ops.reduction.reductions import _checked, _in_dtype, _is_plain
from tape.ops.structure.shape import Axes, astype

__all__ = ["std", "var"]


def _conjugate(x: Any) -> Any:
    return conjugate(x) if x.dtype.kind == "c" else x


# ---- of all elements -------------------------------------------------------------------------------


def _var_partials(out: Any, x: Any, axis: Reduced | None, ddof: float, keepdims: bool) -> Any:
    freedom = _count(x.shape, axis) - ddof
    centered = x - _mean(x, axis=axis, keepdims=True)
    return _conjugate(centered) * (2 / freedom if freedom > 0 else np.nan)


def _std_partials(out: Any, x: Any, axis: Reduced | None, ddof: float, keepdims: bool) -> Any:
    by_x = _var_partials(out, x, axis, ddof, keepdims)
    return by_x * _by_variance(_kept(out, x, axis, keepdims), x, x, axis) if x.size else by_x


def _by_variance(deviation: Any, lows: Any, highs: Any, axis: Reduced | None) -> Any:
    """The derivative of a deviation by the variance; 0 of equal elements, and of none.

    That is asked of the elements: what rounding leaves of their variance need not be 0.
    """
    is_constant = _max(lows, axis=axis, keepdims=True) <= _min(highs, axis=axis, keepdims=True)
    return where(is_constant, 0, 0.5 / where(is_constant, 1, deviation))


def _taylor_var(op: Any, out: Any, operands: Any, attrs: dict[str, Any]) -> series.Series:
    """The mean of the square of what is left after subtracting the mean, which is linear."""
    (a,), axis, keepdims = operands, attrs["axis"], attrs["keepdims"]
    count = _count(a[0].shape, axis)
    freedom = count - attrs["ddof"]
    centered = [None if part is None else part - _mean(part, axis=axis, keepdims=True) for part in a]
    conjugates = [None if part is None else _conjugate(part) for part in centered]
    c = [out]
    for k in range(1, len(a)):
        products = series.convolved(centered, conjugates, k, 0, k)
        mean = None if products is None else real(_mean(products, axis=axis, keepdims=keepdims))
        c.append(series.scaled(count / freedom if freedom > 0 else np.nan, mean))
    return c


def _taylor_std(op: Any, out: Any, operands: Any, attrs: dict[str, Any]) -> series.Series:
    variance = _taylor_var(op, out * out, operands, attrs)
    return series.square_root(op, out, [variance], attrs)


def _lower_var(b: Any, x: Any, axis: Reduced | None, ddof: float, keepdims: bool) -> Any:
    x = x if x.dtype.kind == "f" else b.cast(x, np.float64)
    centered = x - _lower_mean(b, x, axis, True)
    freedom = builtins.max(_count(x.shape, axis) - ddof, 0)
    return b.fold("sum", centered * centered, axis, keepdims) / b.literal(freedom, x.dtype)


_var = _by_partials(
    "var",
    lambda x, *, axis, ddof, keepdims: np.var(x, axis=axis, ddof=ddof, keepdims=keepdims),
    _var_partials,
    taylor=_taylor_var,
    lower=_lower_var,
)
_std = _by_partials(
    "std",
    lambda x, *, axis, ddof, keepdims: np.std(x, axis=axis, ddof=ddof, keepdims=keepdims),
    _std_partials,
    taylor=_taylor_std,
    lower=lambda b, x, **attrs: b.elementwise("sqrt", _lower_var(b, x, **attrs)),
)


# ---- of some, around the mean or around a number that is given -------------------------------------


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
    share = _shares_of(counts, out.dtype, axis)
    # The mean alone is in the dtype, as NumPy's: of complex numbers its real part, if that is real.
    center = mean[0] if mean else _sum(cast(x, dtype=dtype or x.dtype), axis=axis, keepdims=True) * share
    distance = where(counts, _conjugate(x - center), 0)
    slope = 2 * distance * _shares_of(counts, out.dtype, axis, ddof)
    return [slope, *(-slope for _ in mean)]


def _masked_std_partials(
    out: Any, x: Any, counts: Any, *mean: Any, axis: Reduced | None, keepdims: bool, **attrs: Any
) -> list[Any]:
    slopes = _masked_var_partials(out, x, counts, *mean, axis=axis, keepdims=keepdims, **attrs)
    if not x.size:
        return slopes
    deviation = _kept(out, x, axis, keepdims)
    deviation = where(isnan(deviation), np.inf, deviation)  # of too few, whose slopes are 0
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
    x = x if x.dtype.kind == "f" else b.cast(x, np.float64)
    dtype = dtype or x.dtype  # of the mean and of the sum, and nothing else
    center = mean[0] if mean else b.cast(_lower_masked_mean(b, x, counts, axis, True, dtype), dtype)
    distance = b.where(counts, x - center, 0)
    freedom = b.cast(b.fold("sum", b.cast(counts, np.int64), axis, keepdims), x.dtype) - ddof
    squares = b.fold("sum", b.cast(distance * distance, dtype), axis, keepdims)
    return b.cast(squares / b.elementwise("maximum", freedom, 0), dtype)


def _spread(
    function: Callable[..., Any], partials: Callable[..., Any], lower: Callable[..., Any], *, skips_nan: bool
) -> Op:
    def forward(
        x: Any, where: Any, *mean: Any, axis: Reduced | None, keepdims: bool, ddof: float, dtype: Any
    ) -> Any:
        options = {"mean": mean[0]} if mean else {}
        return np.real(function(x, axis, dtype, ddof=ddof, keepdims=keepdims, where=where, **options))

    return _masked(function.__name__, forward, partials, lower, skips_nan=skips_nan)


def _lower_masked_std(b: Any, *operands: Any, **attrs: Any) -> Any:
    return b.elementwise("sqrt", _lower_masked_var(b, *operands, **attrs))


_var_where = _spread(np.var, _masked_var_partials, _lower_masked_var, skips_nan=False)
_std_where = _spread(np.std, _masked_std_partials, _lower_masked_std, skips_nan=False)
_nanvar = _spread(np.nanvar, _masked_var_partials, _lower_masked_var, skips_nan=True)
_nanstd = _spread(np.nanstd, _masked_std_partials, _lower_masked_std, skips_nan=True)


# ---- what users call -------------------------------------------------------------------------------


def _freedom_lost(name: str, ddof: float, correction: float | None) -> float:
    if correction is None:
        return ddof
    if ddof:
        raise OptionError(f"{name}: ddof and correction are two names for the same. Give one of them")
    return correction


def _around(name: str, a: Any, mean: Any) -> list[Any]:
    """The mean that is given, as the operand it is, in a list; an empty one if there is none."""
    if mean is None:
        return []
    mean = as_operand(mean)
    try:
        fits = np.broadcast_shapes(np.shape(a), np.shape(mean)) == np.shape(a)
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(
            f"{name}: mean has shape {list(np.shape(mean))}, which does not broadcast to "
            f"{list(np.shape(a))}. Compute it with keepdims=True"
        )
    return [mean]


def _masked_spread(op: Op, *operands: Any, dtype: np.dtype[Any] | None, **attrs: Any) -> Any:
    """A spread, which is real; in the dtype that was asked for if that is complex."""
    out = _in_dtype(op, dtype)(*operands, dtype=dtype, **attrs)
    return out if dtype is None or dtype.kind != "c" else astype(out, dtype)


def _checked_spread(
    plain: Op,
    masked: Op,
    a: Any,
    axis: Axes,
    dtype: Any,
    ddof: float,
    keepdims: bool,
    where: Any,
    mean: Any,
    correction: float | None,
) -> Any:
    name = plain.name
    a, axes = _axes(name, a, axis, allow_number=False)
    ddof = _freedom_lost(name, ddof, correction)
    if mean is None and _is_plain(where, dtype=dtype):
        return plain(a, axis=axes, ddof=ddof, keepdims=keepdims)
    where, dtype = _checked(name, a, where, dtype=dtype)
    around = _around(name, a, mean)
    return _masked_spread(masked, a, where, *around, axis=axes, dtype=dtype, ddof=ddof, keepdims=keepdims)


@implements(np.var)
@specialised()
def var(
    a: Any,
    axis: Axes = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Variance over axes.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    axis : int or tuple of int, optional
        By default all.
    dtype : dtype_like, optional
        What to compute in.
    ddof : float
        The sum of squares is divided by the number of elements less this.
    keepdims : bool
        Keep the reduced axes with length one.
    where : array_like of bool or Var
        Which elements count; broadcasts to ``a``. The others have no derivative, and where too few count
        for the result to be a number, none has.
    mean : array_like or Var, optional
        What to measure distances from; broadcasts to ``a``. It is differentiated too. By default the
        mean over the axes.
    correction : float, optional
        Another name for ``ddof``.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Real, also of complex numbers.

    Raises
    ------
    ShapeError
        If there is no such axis, or one is named twice; if ``where`` or ``mean`` does not fit.
    DTypeError
        If ``where`` does not hold bools, or ``dtype`` is none.
    OptionError
        If there are both ``ddof`` and ``correction``.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.var([1.0, 3.0], ddof=1))
    2.0
    """
    return _checked_spread(_var, _var_where, a, axis, dtype, ddof, keepdims, where, mean, correction)


@implements(np.std)
@specialised()
def std(
    a: Any,
    axis: Axes = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Standard deviation over axes; the derivative is 0 where all elements are equal.

    Arguments, result and errors as `var`.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.std([1.0, 3.0]))
    1.0
    """
    return _checked_spread(_std, _std_where, a, axis, dtype, ddof, keepdims, where, mean, correction)
