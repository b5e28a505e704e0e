"""Weighted averages, covariances and correlations."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tape.core import batch_rules, pattern_rules, series
from tape.core.elementwise import elementwise
from tape.core.linear import broadcast_to as _broadcast_to
from tape.core.nesting import traced
from tape.core.op import Op
from tape.core.operands import as_operand, composed
from tape.core.table import implements
from tape.errors import OptionError, ShapeError, describe
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.arithmetic import divide, multiply, subtract
from tape.ops.elementwise.complex import conjugated, imag, real
from tape.ops.elementwise.elementary import sqrt
from tape.ops.elementwise.selection import maximum
from tape.ops.products.products import matmul
from tape.ops.reduction.axes import Reduced, count_along, operand_and_axes
from tape.ops.reduction.primitives import mean_along, sum_along
from tape.ops.structure.indexing import getitem
from tape.ops.structure.joining import concatenate
from tape.ops.structure.layout import copy
from tape.ops.structure.shape import Axes, as_dtype, astype, reshape, squeeze, transpose

__all__ = ["average", "corrcoef", "cov"]

declare_samples(
    "np.average(x, axis=1, weights=v)",
    "np.corrcoef, np.cov(x)",
)


def _fitted_weights(weights: Any, shape: tuple[int, ...], axes: Reduced | None) -> Any:
    """Return weights in a shape that broadcasts to that of the elements."""
    weights = as_operand(weights)
    given = np.shape(weights)
    if given == shape:
        _check_totals("average", weights, axes)
        return weights
    if axes is None:
        raise ShapeError(
            f"average: weights of shape {list(given)} for {list(shape)} need an axis to go along"
        )
    order = [axis % len(shape) for axis in axes]
    if given != tuple(shape[axis] for axis in order):
        raise ShapeError(
            f"average: weights of shape {list(given)} do not go along axis {axes} of {list(shape)}"
        )
    _check_totals("average", weights, None)
    weights = transpose(weights, tuple(int(i) for i in np.argsort(order)))
    return reshape(weights, tuple(n if axis in order else 1 for axis, n in enumerate(shape)))


def _check_totals(name: str, weights: Any, axes: Reduced | None) -> None:
    numbers = traced(weights)
    if np.shape(numbers) == np.shape(weights) and np.any(np.sum(numbers, axis=axes) == 0):
        raise OptionError(f"{name}: weights add up to zero. The mean is undefined")


@implements(np.average)
def average(
    a: Any, axis: Axes = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """Weighted mean over axes.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    axis : int or tuple of int, optional
        All axes by default.
    weights : array_like or Var, optional
        Array of the shape of ``a``, or as long as it along ``axis``. They are differentiated too. By default
        all are alike.
    returned : bool
        Whether to return the sum of the weights as well.
    keepdims : bool
        Keep the reduced axes with length one.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var, or a tuple of two of them
        The mean; with ``returned``, the sum of the weights in the same shape.

    Raises
    ------
    ShapeError
        If there is no such axis, or the weights do not fit.
    OptionError
        If weights add up to zero.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.average([1.0, 5.0], weights=[3.0, 1.0]))
    2.0
    """
    a, axes = operand_and_axes("average", a, axis, allow_number=False)
    if weights is None:
        mean = mean_along(a, axis=axes, keepdims=keepdims)
        total = np.asarray(count_along(np.shape(a), axes), np.result_type(mean))[()]
    else:
        weights = _fitted_weights(weights, np.shape(a), axes)
        wide = np.float64 if np.result_type(a).kind in "biu" else np.result_type(a)
        dtype = np.result_type(a, weights, wide)
        weights = astype(weights, dtype)
        total = sum_along(weights, axis=axes, keepdims=keepdims)
        mean = divide(sum_along(multiply(astype(a, dtype), weights), axis=axes, keepdims=keepdims), total)
    if returned and np.shape(total) != np.shape(mean):
        total = copy(_broadcast_to(total, shape=np.shape(mean)), "C")
    return (mean, total) if returned else mean


# ---- covariances -----------------------------------------------------------------------------------


def _table_shape(name: str, x: Any, rowvar: bool) -> tuple[int, int]:
    """Return the numbers of variables and observations, as `_observations` arranges them."""
    shape = np.shape(x)
    if len(shape) > 2:
        raise ShapeError(f"cov: {name} has shape {list(shape)}. It must have at most two axes")
    if len(shape) < 2:
        return 1, (shape or (1,))[0]
    return shape if rowvar else shape[::-1]


def _observations(x: Any, rowvar: bool) -> Any:
    """Return variables in rows, observations in columns."""
    if np.ndim(x) < 2:
        return reshape(x, (1, -1 if np.size(x) else 0))
    return x if rowvar else transpose(x)


def _check_sample_weights(name: str, weights: Any, count: int) -> None:
    if np.shape(weights) != (count,):
        raise ShapeError(f"cov: {name} of shape {list(np.shape(weights))} for {count} observations")
    if np.result_type(weights).kind == "c":
        raise OptionError(f"cov: {name} are {describe(weights)}. They must be real")
    if np.any(traced(weights) < 0):
        raise OptionError(f"cov: some {name} are negative")


def _sample_weights(fweights: Any, aweights: Any, count: int) -> tuple[Any, Any]:
    """Return the product of both weights of each observation, and the second ones; None without any.

    All is checked before anything is recorded.
    """
    given = {"fweights": fweights, "aweights": aweights}
    weights = {name: as_operand(each) for name, each in given.items() if each is not None}
    for name, each in weights.items():
        _check_sample_weights(name, each, count)
    if not weights:
        return None, None
    numbers = [traced(each) for each in weights.values()]
    if fweights is not None and np.any(numbers[0] != np.around(numbers[0])):
        raise OptionError("cov: some fweights are not whole numbers. Give them as aweights")
    if all(np.shape(each) == (count,) for each in numbers):  # those of a batch are not
        product = np.multiply(*numbers, dtype=np.float64) if len(numbers) == 2 else numbers[0]
        _check_totals("cov", product, None)
    converted = [astype(each, np.float64) for each in weights.values()]
    product = converted[0] * converted[1] if len(converted) == 2 else converted[0]
    return product, None if aweights is None else converted[-1]


def _freedom(w: Any, aweights: Any, total: Any, count: int, ddof: int) -> Any:
    """Return the divisor of the sum of products."""
    if w is None:
        return count - ddof
    if ddof == 0:
        return total
    if aweights is None:
        return total - ddof
    return total - ddof * sum_along(w * aweights, axis=None, keepdims=False) / total


_scaled: Op = Op(
    lambda x, *, factor: (x * factor).astype(x.dtype),  # rounded once, like NumPy's x *= factor
    name="scaled",
    pattern=pattern_rules.linear,
    vjp=[lambda g, out, x, factor: _scaled(g, factor=factor)],
    linear=True,
    batch=batch_rules.elementwise,
    lower=lambda b, x, factor: b.cast(x * b.literal(factor), x.dtype),
)


@implements(np.cov)
@composed
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """Covariances of variables, estimated from observations.

    Parameters
    ----------
    m : array_like or Var
        Variables in rows and observations in columns; one axis is a single variable.
    y : array_like or Var, optional
        More variables, with the same observations.
    rowvar : bool
        Whether variables are rows; otherwise they are columns.
    bias : bool
        Whether to divide by the number of observations, not by one less.
    ddof : int, optional
        The number to subtract from the number of observations instead.
    fweights : array_like or Var of int, optional
        The number of times each observation was made.
    aweights : array_like or Var, optional
        The weight of each observation; differentiated too.
    dtype : dtype_like, optional
        At least float64 by default.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        A row and a column for each variable; a number for a single one.

    Raises
    ------
    ShapeError
        If there are more than two axes, or weights are not as many as the observations.
    OptionError
        If a weight is negative or no whole number where it should be, all are zero, or ``ddof`` is none.

    Examples
    --------
    >>> import tape
    >>> tape.ops.cov([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    if ddof is not None and (not isinstance(ddof, (int, float, np.number)) or ddof % 1 != 0):
        raise OptionError(f"cov: ddof={ddof!r}. It must be a whole number")
    ddof = int(not bias) if ddof is None else int(ddof)
    parts = [as_operand(m), *([] if y is None else [as_operand(y)])]
    dtype = np.result_type(*parts, np.float64) if dtype is None else as_dtype("cov", dtype)
    shapes = [_table_shape(name, part, rowvar) for name, part in zip("my", parts, strict=False)]
    variables, count = shapes[0]
    if shapes[-1][1] != count:
        raise ShapeError(f"cov: m has {count} observations, and y has {shapes[-1][1]}")
    if not variables:
        return np.zeros((0, 0))
    w, aweights = _sample_weights(fweights, aweights, count)
    rows = [_observations(part, rowvar) for part in parts]
    x = astype(rows[0] if len(rows) == 1 else concatenate(rows), dtype)
    center, total = average(x, axis=1, weights=w, returned=True, keepdims=True)
    freedom = _freedom(w, aweights, getitem(total, (0, 0)), count, ddof)
    if np.any(traced(freedom) <= 0):
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
        freedom = maximum(freedom, 0)
    x = astype(subtract(x, center), dtype)
    weighed = transpose(x if w is None else multiply(x, w))
    product = matmul(x, conjugated(weighed))
    if w is None:
        return squeeze(_scaled(product, factor=divide(1, freedom)))
    return squeeze(multiply(product, divide(1, freedom)))


# Rounding can take a correlation past 1; its derivative is kept even so. That of NaN is NaN.
_correlation = elementwise(
    lambda c: np.clip(c, -1, 1),
    lambda d, out, c: d,
    taylor=series.linear,
    lower=lambda b, c: b.elementwise("minimum", b.elementwise("maximum", c, -1), 1),
    name="correlation",
)


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """Correlations of variables, estimated from observations.

    Parameters
    ----------
    x : array_like or Var
        Variables in rows and observations in columns; one axis is a single variable.
    y : array_like or Var, optional
        More variables, with the same observations.
    rowvar : bool
        Whether variables are rows; otherwise they are columns.
    dtype : dtype_like, optional
        At least float64 by default.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        A row and a column for each variable; a number for a single one. NaN for one that is constant.

    Raises
    ------
    ShapeError
        If there are more than two axes.

    Examples
    --------
    >>> import tape
    >>> tape.ops.corrcoef([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if not np.ndim(c):
        return divide(c, c)
    each = np.arange(c.shape[0])
    deviation = sqrt(real(getitem(c, (each, each))))
    c = divide(divide(c, getitem(deviation, (slice(None), None))), deviation)
    if c.dtype.kind != "c":
        return _correlation(c)
    return _correlation(real(c)) + multiply(_correlation(imag(c)), 1j)
