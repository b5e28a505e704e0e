"""Sums, means, extremes and products over axes, with the keywords they have in NumPy.

A plain call is one operation of `tape.ops.reduction.reducing`; one with ``where``, ``initial`` or
``dtype`` one of `tape.ops.reduction.masked`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.record import specialised
from tape.core.table import implements
from tape.errors import DTypeError, OptionError, ShapeError, describe
from tape.ops.elementwise.arithmetic import subtract
from tape.ops.reduction.masked import _max_where, _mean_where, _min_where, _prod_where, _sum_where
from tape.ops.reduction.reducing import Reduced as Reduced
from tape.ops.reduction.reducing import _axes, _max, _mean, _min, _prod, _sum
from tape.ops.reduction.reducing import _kept as _kept
from tape.ops.structure.shape import Axes

__all__ = ["max", "mean", "min", "prod", "ptp", "sum"]


def _checked(
    name: str, a: Any, condition: Any = True, initial: Any = None, dtype: Any = None
) -> tuple[Any, np.dtype[Any] | None]:
    """What ``where`` and ``dtype`` stand for; an error if one of them, or ``initial``, does not fit."""
    shape = np.shape(a)
    condition = as_operand(condition)
    if np.result_type(condition).kind != "b":
        raise DTypeError(f"{name}: where is {describe(condition)}. It says which elements count, in bools")
    try:
        fits = np.broadcast_shapes(shape, np.shape(condition)) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(
            f"{name}: where has shape {list(np.shape(condition))}, which does not broadcast to {list(shape)}"
        )
    if np.ndim(initial):
        raise ShapeError(f"{name}: initial has shape {list(np.shape(initial))}. It is one number for all")
    try:
        return condition, None if dtype is None else np.dtype(dtype)
    except TypeError as error:
        raise DTypeError(f"{name}: {error}. Use a NumPy dtype or its name") from error


def _in_dtype(op: Op, dtype: np.dtype[Any] | None) -> Op:
    """The operation as it is in a dtype: among ints and bools it is constant to every derivative."""
    return op if dtype is None or dtype.kind in "fc" else op.without_rules()


def _checked_choice(name: str, a: Any, condition: Any, initial: Any) -> Any:
    """As `_checked`, for what has to choose an element."""
    condition, _ = _checked(name, a, condition, initial)
    if condition is not True and initial is None:
        raise OptionError(f"{name} with where= may have nothing to choose from. Give initial= as well")
    return condition


def _is_plain(condition: Any, initial: Any = None, dtype: Any = None) -> bool:
    return condition is True and initial is None and dtype is None


@implements(np.sum)
@specialised()
def sum(
    a: Any,
    axis: Axes = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Sum over axes.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    axis : int or tuple of int, optional
        By default all.
    dtype : dtype_like, optional
        What to add up in; by default that of ``a``, for small ints and bools int64.
    keepdims : bool
        Keep the summed axes with length one.
    initial : scalar or Var, optional
        What to start from. It is differentiated too.
    where : array_like of bool or Var
        Which elements count; broadcasts to ``a``. The others have no derivative.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var

    Raises
    ------
    ShapeError
        If there is no such axis, or one is named twice; if ``where`` or ``initial`` does not fit.
    DTypeError
        If ``where`` does not hold bools, or ``dtype`` is none.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.sum(np.ones((2, 3)), axis=0)
    array([2., 2., 2.])
    >>> tr = tape.Trace()
    >>> tr.backward_param_grads(np.sum(tr.param([1.0, 2.0]), where=[True, False]))
    [array([1., 0.])]
    """
    a, axes = _axes("sum", a, axis)
    if _is_plain(where, initial, dtype):
        return _sum(a, axis=axes, keepdims=keepdims)
    where, dtype = _checked("sum", a, where, initial, dtype)
    initial = 0 if initial is None else initial
    return _in_dtype(_sum_where, dtype)(a, where, initial, axis=axes, dtype=dtype, keepdims=keepdims)


@implements(np.mean)
@specialised()
def mean(a: Any, axis: Axes = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True) -> Any:
    """Arithmetic mean over axes. Arguments, result and errors as `sum`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.mean(np.array([[1.0, 3.0]]), axis=1)
    array([2.])
    """
    a, axes = _axes("mean", a, axis, allow_number=False)
    if _is_plain(where, dtype=dtype):
        return _mean(a, axis=axes, keepdims=keepdims)
    where, dtype = _checked("mean", a, where, dtype=dtype)
    return _in_dtype(_mean_where, dtype)(a, where, axis=axes, dtype=dtype, keepdims=keepdims)


def _extreme(
    name: str, plain: Any, masked: Any, a: Any, axis: Axes, keepdims: bool, initial: Any, where: Any
) -> Any:
    a, axes = _axes(name, a, axis, allow_empty=initial is not None)
    if _is_plain(where, initial):
        return plain(a, axis=axes, keepdims=keepdims)
    where = _checked_choice(name, a, where, initial)
    return masked(a, where, initial, axis=axes, keepdims=keepdims)


@implements(np.max, np.amax)
@specialised()
def max(a: Any, axis: Axes = None, *, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    """Largest element over axes. Arguments and result as `sum`; complex numbers are in lexical order.

    Equal elements share the derivative evenly, an equal ``initial`` among them.

    Raises
    ------
    ShapeError
        As `sum`, and if there are no elements to choose from, nor an initial one.
    DTypeError
        As `sum`.
    OptionError
        If there is a ``where``, but no ``initial``.

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace()
    >>> tr.backward_param_grads(tape.ops.max(tr.param([1.0, 2.0, 2.0])))
    [array([0. , 0.5, 0.5])]
    """
    return _extreme("max", _max, _max_where, a, axis, keepdims, initial, where)


@implements(np.min, np.amin)
@specialised()
def min(a: Any, axis: Axes = None, *, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    """Smallest element over axes; as `max` otherwise.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.min([3.0, 1.0]))
    1.0
    """
    return _extreme("min", _min, _min_where, a, axis, keepdims, initial, where)


@implements(np.prod)
@specialised()
def prod(
    a: Any,
    axis: Axes = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Product over axes, with exact derivatives where factors are zero.

    Arguments, result and errors as `sum`.

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace()
    >>> tr.backward_param_grads(tape.ops.prod(tr.param([2.0, 0.0, 3.0])))
    [array([0., 6., 0.])]
    """
    a, axes = _axes("prod", a, axis)
    if _is_plain(where, initial, dtype):
        return _prod(a, axis=axes, keepdims=keepdims)
    where, dtype = _checked("prod", a, where, initial, dtype)
    initial = 1 if initial is None else initial
    return _in_dtype(_prod_where, dtype)(a, where, initial, axis=axes, dtype=dtype, keepdims=keepdims)


@implements(np.ptp)
def ptp(a: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """The largest element less the smallest, over axes. Arguments, result and errors as `max`.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.ptp([3.0, 1.0, 2.0]))
    2.0
    """
    a, axes = _axes("ptp", a, axis, allow_empty=False)
    return subtract(_max(a, axis=axes, keepdims=keepdims), _min(a, axis=axes, keepdims=keepdims))
