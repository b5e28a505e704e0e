"""NumPy's functions that call a user's function: on pieces, on rows, or on one axis after another."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import Handle
from tape.core.operands import as_operand, composed
from tape.core.table import implements
from tape.errors import DTypeError, ShapeError
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.selection import logical_not, logical_or, not_equal
from tape.ops.structure.indexing import getitem
from tape.ops.structure.joining import stack
from tape.ops.structure.layout import own, slowest_first
from tape.ops.structure.positions import checked_axis, flatnonzero
from tape.ops.structure.shape import astype, expand_dims, reshape, transpose
from tape.ops.structure.taking import put_along_axis
from tape.ops.structure.writing import fitting

__all__ = ["apply_along_axis", "apply_over_axes", "piecewise"]

declare_samples(
    "np.apply_along_axis(np.sort, 1, x)",
    "np.apply_over_axes(np.sum, x, [0, 1])",
    "np.piecewise(x, [x < 0.5, x >= 0.5], [np.sin, np.cos])",
)


# ---- pieces ------------------------------------------------------------------------------------------


def _conditions(x: Any, condlist: Any) -> list[Any]:
    """Return the conditions as a list: of a list, of one array with all of them, or of a single one.

    NumPy never takes an array of several axes for a single condition.
    """
    if isinstance(condlist, (list, tuple)):
        is_list_of_arrays = any(isinstance(part, (list, tuple, np.ndarray, Handle)) for part in condlist)
        is_single = np.ndim(x) != 0 and not is_list_of_arrays
    else:
        is_single = np.ndim(condlist) <= min(1, np.ndim(x))
    parts = [condlist] if is_single else [condlist[k] for k in range(len(condlist))]
    conditions = [as_operand(part) for part in parts]
    for k, part in enumerate(conditions):
        if np.shape(part) != np.shape(x):
            raise ShapeError(
                f"piecewise: condition {k} is {errors.describe(part)}, and x is {errors.describe(x)}. Give "
                "all the same shape, in a list"
            )
    return conditions


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Evaluate a function defined by pieces: each is called with the elements where its condition holds.

    Parameters
    ----------
    x : array_like or Var
        Any shape.
    condlist : sequence of array_like or Var
        Conditions, of the shape of ``x``; where several hold, the last one counts. Without a list around
        it, a single condition has one axis.
    funclist : sequence of callable, array_like or Var
        For each condition, ``f(elements, *args, **kw)`` of an array with one axis, or a constant. One
        more is for where no condition holds; by default that is 0.
    *args, **kw
        Handed on.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape and dtype of ``x``. A function is never called with elements of another piece, so
        that what would be NaN there does no harm.

    Raises
    ------
    ShapeError
        If there are more or fewer functions, or a condition has another shape.
    DTypeError
        If a constant is a complex number of Python's, and ``x`` is not complex.

    Notes
    -----
    A piece without elements is not called, as in NumPy. So `Trace.replay` does not call it either, where
    elements have moved into it since. A compiled function is recorded anew whenever a piece has changed
    in size: `select` and `where`, with arguments that are safe everywhere, are faster there.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> x = tr.param([-4.0, 9.0])
    >>> tr.backward_param_grads(np.piecewise(x, [x > 0], [np.sqrt, lambda v: -v]))
    [array([-1.        ,  0.16666667])]
    """
    x = as_operand(x)
    conditions = _conditions(x, condlist)
    count = len(conditions)
    if not count or len(funclist) not in (count, count + 1):
        raise ShapeError(
            f"piecewise: there are {count} conditions and {len(funclist)} functions. Give as many "
            "functions, or one more"
        )
    conditions = [
        _flat(part if np.result_type(part).kind == "b" else not_equal(part, 0)) for part in conditions
    ]
    if len(funclist) == count + 1:
        any_holds = conditions[0]
        for condition in conditions[1:]:
            any_holds = logical_or(any_holds, condition)
        conditions.append(logical_not(any_holds))
    shape, dtype = np.shape(x), np.result_type(x)
    flat = _flat(x)
    y: Any = np.zeros(np.shape(flat), dtype)
    for condition, piece in zip(conditions, funclist, strict=True):
        where_it_holds = flatnonzero(condition)
        if callable(piece):
            elements = getitem(flat, where_it_holds)
            if not elements.size:
                continue
            piece = piece(elements, *args, **kw)
        if type(piece) is complex and dtype.kind != "c":
            raise DTypeError(
                f"piecewise: {piece!r} is no element of {errors.describe(x)}. Give its real "
                "part, or convert x with astype"
            )
        piece = fitting(as_operand(piece), dtype)
        if np.result_type(piece) != dtype:
            piece = astype(piece, dtype)
        y = put_along_axis(y, where_it_holds, piece, 0)
    return own(y if len(shape) == 1 else reshape(y, shape), slowest_first(x))


def _flat(a: Any) -> Any:
    return a if np.ndim(a) == 1 else reshape(a, -1)


# ---- along axes --------------------------------------------------------------------------------------


@implements(np.apply_along_axis)
@composed
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function on every row along an axis, and put the results where the rows were.

    Parameters
    ----------
    func1d : callable
        ``func1d(row, *args, **kwargs)``, of an array with one axis; results are of one shape.
    axis : int
        The axis of the rows.
    arr : array_like or Var
        At least one axis.
    *args, **kwargs
        Handed on.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``arr``, with that of one result in place of the axis.

    Raises
    ------
    ShapeError
        If there is no such axis, there are no rows, or results differ in shape.

    Notes
    -----
    The function is recorded once for each row: one that works on whole arrays is faster.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.apply_along_axis(np.sum, 0, np.ones((2, 3)))
    array([2., 2., 2.])
    """
    arr = as_operand(arr)
    ndim = np.ndim(arr)
    axis = checked_axis("apply_along_axis", np.shape(arr), axis)
    others = [i for i in range(ndim) if i != axis]
    lead = tuple(np.shape(arr)[i] for i in others)
    if 0 in lead:
        raise ShapeError(f"apply_along_axis: there are no rows along axis {axis} in {errors.describe(arr)}")
    rows = transpose(arr, (*others, axis))
    results = [as_operand(func1d(getitem(rows, k), *args, **kwargs)) for k in np.ndindex(*lead)]
    inner = np.shape(results[0])
    out = reshape(stack(results), (*lead, *inner))
    places = range(len(lead), len(lead) + len(inner))
    return transpose(out, (*range(axis), *places, *range(axis, len(lead))))


@implements(np.apply_over_axes)
@composed
def apply_over_axes(func: Callable[..., Any], a: Any, axes: int | Sequence[int]) -> Any:
    """Call a function on an array and one axis after another.

    Parameters
    ----------
    func : callable
        ``func(array, axis)``, whose result has as many axes, or one less: that one is put back, with
        length one.
    a : array_like or Var
        Any shape.
    axes : int or sequence of int
        In the order in which they are used.

    Returns
    -------
    numpy.ndarray or Var
        With as many axes as ``a``.

    Raises
    ------
    ShapeError
        If a result has another number of axes.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.apply_over_axes(np.sum, np.ones((2, 3, 4)), [0, 2])
    array([[[8.],
            [8.],
            [8.]]])
    """
    value = as_operand(a)
    ndim = np.ndim(value)
    for given in axes if isinstance(axes, (Sequence, np.ndarray)) else (axes,):
        try:
            axis = operator.index(given)
        except TypeError as error:
            raise ShapeError(f"apply_over_axes: an axis is {given!r}. It must be an int") from error
        axis += ndim if axis < 0 else 0
        result = as_operand(func(value, axis))
        if np.ndim(result) == ndim - 1:
            result = expand_dims(result, axis)
        elif np.ndim(result) != ndim:
            raise ShapeError(
                f"apply_over_axes: the function returned {errors.describe(result)} for "
                f"{errors.describe(value)}. "
                "It may remove one axis and no more"
            )
        value = result
    return value
