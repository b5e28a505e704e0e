"""Reductions that leave NaN out.

NaN gets exactly no derivative and gives none, to any order. Where there is nothing but NaN, results and
warnings are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod as _product
from typing import Any

import numpy as np

from tape.core.batch_rules import along_axes
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.table import implements
from tape.ops.elementwise.selection import isnan
from tape.ops.elementwise.selection import where as _where
from tape.ops.reduction.cumulative import cumprod, cumsum
from tape.ops.reduction.masked import _nanmax, _nanmean, _nanmin
from tape.ops.reduction.reducing import _axes
from tape.ops.reduction.reductions import _checked, _checked_choice, _in_dtype, max, min, prod, sum
from tape.ops.reduction.spreads import _around, _freedom_lost, _masked_spread, _nanstd, _nanvar
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


def _filled(a: Any, number: float) -> Any:
    """The operand with a number in the place of NaN; whole numbers are never NaN."""
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
    """Sum over axes, NaN counting as 0. Arguments, result and errors as `sum`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> total = np.nansum(tr.param([1.0, np.nan, 2.0]))
    >>> float(total.value), tr.backward_param_grads(total)
    (3.0, [array([1., 0., 1.])])
    """
    _axes("nansum", a, axis)
    _checked("nansum", a, where, initial, dtype)
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
    """Product over axes, NaN counting as 1. Arguments, result and errors as `prod`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.nanprod([2.0, np.nan, 3.0]))
    6.0
    """
    _axes("nanprod", a, axis)
    _checked("nanprod", a, where, initial, dtype)
    return prod(_filled(a, 1), axis, dtype, keepdims=keepdims, initial=initial, where=where)


@implements(np.nanmean)
def nanmean(
    a: Any, axis: Axes = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True
) -> Any:
    """Arithmetic mean of what is not NaN, over axes. Arguments, result and errors as `mean`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.nanmean([1.0, np.nan, 3.0]))
    2.0
    """
    a, axes = _axes("nanmean", a, axis)
    where, dtype = _checked("nanmean", a, where, dtype=dtype)
    return _in_dtype(_nanmean, dtype)(a, where, axis=axes, dtype=dtype, keepdims=keepdims)


def _spread(
    op: Op,
    a: Any,
    axis: Axes,
    dtype: Any,
    ddof: float,
    keepdims: bool,
    where: Any,
    mean: Any,
    correction: float | None,
) -> Any:
    a, axes = _axes(op.name, a, axis)
    ddof = _freedom_lost(op.name, ddof, correction)
    where, dtype = _checked(op.name, a, where, dtype=dtype)
    around = _around(op.name, a, mean)
    return _masked_spread(op, a, where, *around, axis=axes, dtype=dtype, ddof=ddof, keepdims=keepdims)


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
    """Variance of what is not NaN, over axes. Arguments, result and errors as `var`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.nanvar([1.0, np.nan, 3.0]))
    1.0
    """
    return _spread(_nanvar, a, axis, dtype, ddof, keepdims, where, mean, correction)


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
    """Standard deviation of what is not NaN, over axes. Arguments, result and errors as `std`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.nanstd([1.0, np.nan, 3.0]))
    1.0
    """
    return _spread(_nanstd, a, axis, dtype, ddof, keepdims, where, mean, correction)


def _extreme(
    op: Op, whole: Callable[..., Any], a: Any, axis: Axes, keepdims: bool, initial: Any, where: Any
) -> Any:
    a, axes = _axes(op.name, a, axis, allow_empty=initial is not None)
    if np.result_type(a).kind not in "fc":  # which are never NaN
        return whole(a, axis, keepdims=keepdims, initial=initial, where=where)
    where = _checked_choice(op.name, a, where, initial)
    return op(a, where, *([] if initial is None else [initial]), axis=axes, keepdims=keepdims)


@implements(np.nanmax)
def nanmax(
    a: Any, axis: Axes = None, *, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """Largest element that is not NaN, over axes. Arguments, result and errors as `max`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.nanmax([1.0, np.nan, 3.0]))
    3.0
    """
    return _extreme(_nanmax, max, a, axis, keepdims, initial, where)


@implements(np.nanmin)
def nanmin(
    a: Any, axis: Axes = None, *, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """Smallest element that is not NaN, over axes. Arguments, result and errors as `max`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.nanmin([1.0, np.nan, 3.0]))
    1.0
    """
    return _extreme(_nanmin, min, a, axis, keepdims, initial, where)


# ---- positions: recorded, without derivative -------------------------------------------------------


def _batch_position(op: Op, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    (x,) = operands
    if attrs["axis"] is not None:
        return along_axes(op, operands, is_batched, attrs, size)
    found = op(x.reshape((size, _product(x.shape[1:]))), axis=1, keepdims=False)
    return found.reshape((size, *(1,) * (x.ndim - 1))) if attrs["keepdims"] else found


def _position(function: Callable[..., Any]) -> Op:
    return Op(
        lambda x, *, axis, keepdims: function(x, axis=axis, keepdims=keepdims),
        name=function.__name__,
        batch=_batch_position,
    )


_nanargmax = _position(np.nanargmax)
_nanargmin = _position(np.nanargmin)


@implements(np.nanargmax)
def nanargmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Index of the largest element that is not NaN; recorded, without derivative.

    Arguments and result as `argmax`.

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
    """Index of the smallest element that is not NaN; as `nanargmax` otherwise.

    Examples
    --------
    >>> import numpy as np, tape
    >>> int(tape.ops.nanargmin([1.0, np.nan, 3.0]))
    0
    """
    return _nanargmin(a, axis=axis, keepdims=keepdims)


# ---- running ---------------------------------------------------------------------------------------


@implements(np.nancumsum)
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Sums up to each element, NaN counting as 0. Arguments, result and errors as `cumsum`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.nancumsum([1.0, np.nan, 3.0])
    array([1., 1., 4.])
    """
    if axis is not None:
        _axes("nancumsum", a, axis)
    return cumsum(_filled(a, 0), axis, dtype)


@implements(np.nancumprod)
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Products up to each element, NaN counting as 1. Arguments, result and errors as `cumsum`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.nancumprod([2.0, np.nan, 3.0])
    array([2., 2., 6.])
    """
    if axis is not None:
        _axes("nancumprod", a, axis)
    return cumprod(_filled(a, 1), axis, dtype)
