"""Sums, means, extremes and products over axes, with the keywords they have in NumPy.

A plain call is one operation of `tape.ops.reduction.primitives`; one with ``where``, ``initial`` or ``dtype``
one of `tape.ops.reduction.masked`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.specialise import specialised
from tape.core.table import implements
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.arithmetic import subtract
from tape.ops.reduction.axes import operand_and_axes
from tape.ops.reduction.masked import max_where, mean_where, min_where, prod_where, sum_where
from tape.ops.reduction.options import checked_choice, checked_options, in_dtype, is_plain
from tape.ops.reduction.primitives import max_along, mean_along, min_along, prod_along, sum_along
from tape.ops.structure.shape import Axes

__all__ = ["max", "mean", "min", "prod", "ptp", "sum"]

declare_samples(
    "np.amax, np.amin, np.mean(x, axis=0)",
    "np.max, np.min, np.prod, np.ptp, np.sum(x, axis=1)",
)


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
        All axes by default.
    dtype : dtype_like, optional
        The dtype to accumulate in; by default that of ``a``, int64 for small ints and bools.
    keepdims : bool
        Keep the summed axes with length one.
    initial : scalar or Var, optional
        The value to start from. It is differentiated too.
    where : array_like of bool or Var
        Mask of the elements that count; broadcasts to ``a``. The others have no derivative.

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
    a, axes = operand_and_axes("sum", a, axis)
    if is_plain(where, initial, dtype):
        return sum_along(a, axis=axes, keepdims=keepdims)
    where, dtype = checked_options("sum", a, where, initial, dtype)
    initial = 0 if initial is None else initial
    return in_dtype(sum_where, dtype)(a, where, initial, axis=axes, dtype=dtype, keepdims=keepdims)


@implements(np.mean)
@specialised()
def mean(a: Any, axis: Axes = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True) -> Any:
    """Arithmetic mean over axes. Parameters, result and errors are those of `sum`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.mean(np.array([[1.0, 3.0]]), axis=1)
    array([2.])
    """
    a, axes = operand_and_axes("mean", a, axis, allow_number=False)
    if is_plain(where, dtype=dtype):
        return mean_along(a, axis=axes, keepdims=keepdims)
    where, dtype = checked_options("mean", a, where, dtype=dtype)
    return in_dtype(mean_where, dtype)(a, where, axis=axes, dtype=dtype, keepdims=keepdims)


def _extreme(
    name: str, plain: Any, masked: Any, a: Any, axis: Axes, keepdims: bool, initial: Any, where: Any
) -> Any:
    a, axes = operand_and_axes(name, a, axis, allow_empty=initial is not None)
    if is_plain(where, initial):
        return plain(a, axis=axes, keepdims=keepdims)
    where = checked_choice(name, a, where, initial)
    return masked(a, where, initial, axis=axes, keepdims=keepdims)


@implements(np.max, np.amax)
@specialised()
def max(a: Any, axis: Axes = None, *, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    """Largest element over axes. Parameters and result are those of `sum`.

    Complex numbers are in lexical order. Equal elements share the derivative evenly, an equal ``initial``
    among them.

    Raises
    ------
    ShapeError
        Same as for `sum`, and if there are no elements to choose from, nor an initial one.
    DTypeError
        Same as for `sum`.
    OptionError
        If there is a ``where``, but no ``initial``.

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace()
    >>> tr.backward_param_grads(tape.ops.max(tr.param([1.0, 2.0, 2.0])))
    [array([0. , 0.5, 0.5])]
    """
    return _extreme("max", max_along, max_where, a, axis, keepdims, initial, where)


@implements(np.min, np.amin)
@specialised()
def min(a: Any, axis: Axes = None, *, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    """Smallest element over axes. Otherwise like `max`.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.min([3.0, 1.0]))
    1.0
    """
    return _extreme("min", min_along, min_where, a, axis, keepdims, initial, where)


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

    Parameters, result and errors are those of `sum`.

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace()
    >>> tr.backward_param_grads(tape.ops.prod(tr.param([2.0, 0.0, 3.0])))
    [array([0., 6., 0.])]
    """
    a, axes = operand_and_axes("prod", a, axis)
    if is_plain(where, initial, dtype):
        return prod_along(a, axis=axes, keepdims=keepdims)
    where, dtype = checked_options("prod", a, where, initial, dtype)
    initial = 1 if initial is None else initial
    return in_dtype(prod_where, dtype)(a, where, initial, axis=axes, dtype=dtype, keepdims=keepdims)


@implements(np.ptp)
def ptp(a: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """The range over axes: largest minus smallest element. Parameters, result and errors are those of `max`.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.ptp([3.0, 1.0, 2.0]))
    2.0
    """
    a, axes = operand_and_axes("ptp", a, axis, allow_empty=False)
    return subtract(max_along(a, axis=axes, keepdims=keepdims), min_along(a, axis=axes, keepdims=keepdims))
