"""Reductions that leave NaN out.

NaN has derivative 0, at every order. Where there is nothing but NaN, results and warnings are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.table import implements
from tape.inspect.costs import declare_cost, passes
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.selection import batch_positions, isnan, reducing
from tape.ops.elementwise.selection import where as _where
from tape.ops.reduction.axes import operand_and_axes
from tape.ops.reduction.cumulative import cumprod, cumsum
from tape.ops.reduction.masked import nanmax_where, nanmean_where, nanmin_where
from tape.ops.reduction.options import checked_choice, checked_options, in_dtype
from tape.ops.reduction.reductions import max, min, prod, sum
from tape.ops.reduction.spreads import spread
from tape.ops.reduction.variances import nanstd_where, nanvar_where
from tape.ops.structure.shape import Axes

__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]

declare_samples(*(f"np.{name}(x, axis=1)" for name in __all__))


def _filled(a: Any, number: float) -> Any:
    """Return the operand with NaN replaced by a number; integers are never NaN."""
    a = as_operand(a)
    return _where(isnan(a), number, a) if np.result_type(a).kind in "fc" else a


@implements(np.nansum)
def nansum(
    a: Any,
    axis: Axes = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Sum over axes, NaN counting as 0. Parameters, result and errors are those of `sum`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> total = np.nansum(tr.param([1.0, np.nan, 2.0]))
    >>> float(total.value), tr.backward_param_grads(total)
    (3.0, [array([1., 0., 1.])])
    """
    operand_and_axes("nansum", a, axis)
    checked_options("nansum", a, where, initial, dtype)
    return sum(_filled(a, 0), axis, dtype, keepdims=keepdims, initial=initial, where=where)


@implements(np.nanprod)
def nanprod(
    a: Any,
    axis: Axes = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Product over axes, NaN counting as 1. Parameters, result and errors are those of `prod`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.nanprod([2.0, np.nan, 3.0]))
    6.0
    """
    operand_and_axes("nanprod", a, axis)
    checked_options("nanprod", a, where, initial, dtype)
    return prod(_filled(a, 1), axis, dtype, keepdims=keepdims, initial=initial, where=where)


@implements(np.nanmean)
def nanmean(
    a: Any, axis: Axes = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True
) -> Any:
    """Arithmetic mean over axes, without NaN. Parameters, result and errors are those of `mean`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.nanmean([1.0, np.nan, 3.0]))
    2.0
    """
    a, axes = operand_and_axes("nanmean", a, axis)
    where, dtype = checked_options("nanmean", a, where, dtype=dtype)
    return in_dtype(nanmean_where, dtype)(a, where, axis=axes, dtype=dtype, keepdims=keepdims)


@implements(np.nanvar)
def nanvar(
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
    """Variance over axes, without NaN. Parameters, result and errors are those of `var`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.nanvar([1.0, np.nan, 3.0]))
    1.0
    """
    a, axes = operand_and_axes("nanvar", a, axis)
    return spread(nanvar_where, a, axes, dtype, ddof, keepdims, where, mean, correction)


@implements(np.nanstd)
def nanstd(
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
    """Standard deviation over axes, without NaN. Parameters, result and errors are those of `std`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.nanstd([1.0, np.nan, 3.0]))
    1.0
    """
    a, axes = operand_and_axes("nanstd", a, axis)
    return spread(nanstd_where, a, axes, dtype, ddof, keepdims, where, mean, correction)


def _extreme(
    op: Op, whole: Callable[..., Any], a: Any, axis: Axes, keepdims: bool, initial: Any, where: Any
) -> Any:
    a, axes = operand_and_axes(op.name, a, axis, allow_empty=initial is not None)
    if np.result_type(a).kind not in "fc":  # never NaN
        return whole(a, axis, keepdims=keepdims, initial=initial, where=where)
    where = checked_choice(op.name, a, where, initial)
    return op(a, where, *([] if initial is None else [initial]), axis=axes, keepdims=keepdims)


@implements(np.nanmax)
def nanmax(
    a: Any, axis: Axes = None, *, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """Largest element that is not NaN, over axes. Parameters, result and errors are those of `max`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.nanmax([1.0, np.nan, 3.0]))
    3.0
    """
    return _extreme(nanmax_where, max, a, axis, keepdims, initial, where)


@implements(np.nanmin)
def nanmin(
    a: Any, axis: Axes = None, *, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """Smallest element that is not NaN, over axes. Parameters, result and errors are those of `max`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.nanmin([1.0, np.nan, 3.0]))
    1.0
    """
    return _extreme(nanmin_where, min, a, axis, keepdims, initial, where)


# ---- positions: recorded without a derivative -------------------------------------------------------


def _lower_position(kind: str, worst: float) -> Callable[..., Any]:
    def lower(b: Any, x: Any, axis: int | None, keepdims: bool) -> Any:
        is_nan = b.elementwise("isnan", x)
        found = b.position(kind, b.where(is_nan, worst, x), axis, keepdims)
        length = x.size if axis is None else x.shape[axis]
        nothing = b.fold("all", is_nan, axis, keepdims)
        return b.push("ravel_index", [b.where(nothing, length, found)], ((length,), False))  # stops there

    return lower


_nanargmax = reducing(np.nanargmax, batch_positions, _lower_position("argmax", -np.inf))
_nanargmin = reducing(np.nanargmin, batch_positions, _lower_position("argmin", np.inf))
declare_cost(passes(1), _nanargmax, _nanargmin)


@implements(np.nanargmax)
def nanargmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Index of the largest element that is not NaN; recorded without a derivative.

    Parameters and result are those of `argmax`.

    Raises
    ------
    ShapeError
        If there is no such axis, or nothing but NaN along it.

    Examples
    --------
    >>> import numpy as np, tape
    >>> int(tape.ops.nanargmax([1.0, np.nan, 3.0]))
    2
    """
    return _nanargmax(a, axis=axis, keepdims=keepdims)


@implements(np.nanargmin)
def nanargmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Index of the smallest element that is not NaN. Otherwise like `nanargmax`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> int(tape.ops.nanargmin([1.0, np.nan, 3.0]))
    0
    """
    return _nanargmin(a, axis=axis, keepdims=keepdims)


# ---- running reductions ----------------------------------------------------------------------------


@implements(np.nancumsum)
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Sums up to each element, NaN counting as 0. Parameters, result and errors are those of `cumsum`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.nancumsum([1.0, np.nan, 3.0])
    array([1., 1., 4.])
    """
    if axis is not None:
        operand_and_axes("nancumsum", a, axis)
    return cumsum(_filled(a, 0), axis, dtype)


@implements(np.nancumprod)
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Products up to each element, NaN counting as 1. Parameters, result and errors are those of `cumsum`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.nancumprod([2.0, np.nan, 3.0])
    array([2., 2., 6.])
    """
    if axis is not None:
        operand_and_axes("nancumprod", a, axis)
    return cumprod(_filled(a, 1), axis, dtype)
