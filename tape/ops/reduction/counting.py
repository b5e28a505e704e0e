"""Counts, and sums of weights over what is counted.

Counts are constant almost everywhere and have no derivative; sums of weights are differentiated by the
weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.op import Op
from tape.core.table import implements
from tape.inspect.costs import declare_cost, passes, searching
from tape.inspect.samples import declare_samples
from tape.ops.ordering.sorting import batch_first
from tape.ops.reduction.axes import operand_and_axes
from tape.ops.reduction.primitives import count_nonzero_along
from tape.ops.structure.indexing import getitem

__all__ = ["bincount", "count_nonzero", "digitize"]

declare_samples(
    "np.bincount(n, weights=u)",
    "np.count_nonzero(x)",
    "np.digitize(x, [0.4, 0.6])",
)


# ---- without a derivative --------------------------------------------------------------------------


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> Any:
    """Count the elements that are not zero, over axes; recorded without a derivative.

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
    numpy.ndarray, numpy.integer or Var

    Raises
    ------
    ShapeError
        If there is no such axis, or one is named twice.

    Examples
    --------
    >>> import tape
    >>> int(tape.ops.count_nonzero([0.0, 2.0, 3.0]))
    2
    """
    a, axes = operand_and_axes("count_nonzero", a, axis)
    return count_nonzero_along(a, axis=axes, keepdims=keepdims)


_digitize = Op(
    lambda x, bins, *, right: np.digitize(x, bins, right=right),
    name="digitize",
    batch=batch_first,
    lower=lambda b, x, bins, right: b.digitize(b.value(x), b.value(bins), right),
)
declare_cost(searching, _digitize)


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Return the bin that each element falls into; recorded without a derivative.

    Parameters
    ----------
    x : array_like or Var
        Real numbers, of any shape.
    bins : array_like or Var
        The edges, in order, up or down.
    right : bool
        Whether an edge belongs to the bin before it.

    Returns
    -------
    numpy.ndarray, numpy.integer or Var
        Ints, of the shape of ``x``.

    Raises
    ------
    ShapeError
        If the edges are not in order, or have several axes.
    DTypeError
        If ``x`` is complex.

    Examples
    --------
    >>> import tape
    >>> tape.ops.digitize([0.5, 2.5], [0.0, 1.0, 2.0])
    array([1, 3])
    """
    return _digitize(x, bins, right=right)


# ---- bins of ints ----------------------------------------------------------------------------------

_bincount = Op(
    lambda x, *, minlength: np.bincount(x, minlength=minlength),
    name="bincount",
    lower=lambda b, x, minlength: b.bincount(b.value(x), None, minlength),
    data_dependent=True,
)
_weighed_bincount = Op(
    lambda x, weights, *, minlength: np.bincount(x, weights, minlength),
    name="bincount",
    vjp=[None, lambda g, out, x, weights, minlength: getitem(g, x)],
    linear=True,
    lower=lambda b, x, weights, minlength: b.bincount(b.value(x), b.value(weights), minlength),
    data_dependent=True,
)
declare_cost(passes(1), _bincount, _weighed_bincount)


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """Count each number, or sum the weights of its occurrences.

    Parameters
    ----------
    x : array_like or Var of int
        Not negative; one axis.
    weights : array_like or Var, optional
        A real number for each element; differentiated.
    minlength : int
        The least number of counts in the result.

    Returns
    -------
    numpy.ndarray or Var
        Ints without weights, otherwise float64.

    Raises
    ------
    ShapeError
        If there are several axes, a number is negative, or the weights are not as many.
    DTypeError
        If ``x`` does not hold ints, or the weights are complex.

    Examples
    --------
    >>> import tape
    >>> tape.ops.bincount([0, 2, 2], weights=[0.5, 1.0, 2.0])
    array([0.5, 0. , 3. ])
    """
    if weights is None:
        return _bincount(x, minlength=minlength)
    return _weighed_bincount(x, weights, minlength=minlength)
