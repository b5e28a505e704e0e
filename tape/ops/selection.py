"""Choosing between values, comparing them, and rounding: piecewise functions and their masks.

What is constant almost everywhere (comparisons, logic, rounding, argmax) records without derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tape import batch_rules, errors, series
from tape.batch_rules import along_axes
from tape.functions import elementwise
from tape.op import Op, as_operand, implements

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "clip",
    "equal",
    "floor",
    "greater",
    "greater_equal",
    "invert",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "not_equal",
    "rint",
    "sign",
    "trunc",
    "where",
]

equal = elementwise(np.equal)
not_equal = elementwise(np.not_equal)
less = elementwise(np.less)
less_equal = elementwise(np.less_equal)
greater = elementwise(np.greater)
greater_equal = elementwise(np.greater_equal)
logical_and = elementwise(np.logical_and)
logical_or = elementwise(np.logical_or)
logical_xor = elementwise(np.logical_xor)
logical_not = elementwise(np.logical_not)
bitwise_and = elementwise(np.bitwise_and)
bitwise_or = elementwise(np.bitwise_or)
bitwise_xor = elementwise(np.bitwise_xor)
invert = elementwise(np.invert)
isnan = elementwise(np.isnan)
isinf = elementwise(np.isinf)
isfinite = elementwise(np.isfinite)
sign = elementwise(np.sign)
floor = elementwise(np.floor)
ceil = elementwise(np.ceil)
trunc = elementwise(np.trunc)
rint = elementwise(np.rint)

where: Callable[..., Any] = elementwise(
    np.where,
    None,
    lambda d, out, condition, x, y: where(condition, d, 0),
    lambda d, out, condition, x, y: where(condition, 0, d),
    taylor=series.linear,
    lower=lambda b, condition, x, y: b.where(condition, x, y),
    numpy=np.where,
    doc="``x`` where ``condition`` holds, else ``y``.",
)


def _share(d: Any, wins: Any, x: Any, y: Any) -> Any:
    """``d`` where an operand alone was chosen, half of it where both are equal."""
    return where(wins, d, where(x == y, 0.5 * d, 0))


maximum = elementwise(
    np.maximum,
    lambda d, out, x, y: _share(d, x > y, x, y),
    lambda d, out, x, y: _share(d, y > x, x, y),
    taylor=series.linear,
    doc="The larger of two values; equal ones share the derivative.",
)

minimum = elementwise(
    np.minimum,
    lambda d, out, x, y: _share(d, x < y, x, y),
    lambda d, out, x, y: _share(d, y < x, x, y),
    taylor=series.linear,
    doc="The smaller of two values; equal ones share the derivative.",
)


@implements(np.clip)
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """Limit values to an interval: ``minimum(maximum(a, a_min), a_max)``.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    a_min, a_max : array_like or Var, optional
        Bounds that broadcast with ``a``; None for no bound. They are differentiated too.
    min, max : array_like or Var, optional
        Other names for the bounds.

    Returns
    -------
    numpy.ndarray or Var
        Of the broadcast shape. At a bound the derivative is shared, as `maximum` does.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> x = tr.param(np.array([-2.0, 0.5, 3.0]))
    >>> tr.backward_param_grads(tape.ops.clip(x, 0.0, 1.0))
    [array([0., 1., 0.])]
    """
    lower, upper = (a_min if min is None else min), (a_max if max is None else max)
    bounds = [as_operand(bound) for bound in (lower, upper) if bound is not None]
    try:  # before the first of two operations is recorded
        np.broadcast_shapes(*(np.shape(operand) for operand in (a, *bounds)))
    except ValueError as error:
        raise errors.explain("clip", [a, *bounds], error) from error
    if lower is not None:
        a = maximum(a, lower)
    return a if upper is None else minimum(a, upper)


def _lower_isclose(build: Any, a: Any, b: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    a, b = (build.value(x) for x in (a, b))
    within = build.elementwise("absolute", a - b) <= atol + rtol * build.elementwise("absolute", b)
    is_finite = build.elementwise("logical_and", within, build.elementwise("isfinite", b))
    close = build.elementwise("logical_or", is_finite, build.elementwise("equal", a, b))
    if not equal_nan:
        return close
    both = build.elementwise("logical_and", *(build.elementwise("isnan", x) for x in (a, b)))
    return build.elementwise("logical_or", close, both)


_isclose = Op(
    lambda a, b, **tolerances: np.isclose(a, b, **tolerances),
    name="isclose",
    batch=batch_rules.elementwise,
    lower=_lower_isclose,
)
_all = Op(
    lambda x, *, axis, keepdims: np.all(x, axis=axis, keepdims=keepdims),
    name="all",
    batch=along_axes,
    lower=lambda b, x, axis, keepdims: b.fold("all", b.value(x, bool), axis, keepdims),
)
_any = Op(
    lambda x, *, axis, keepdims: np.any(x, axis=axis, keepdims=keepdims),
    name="any",
    batch=along_axes,
    lower=lambda b, x, axis, keepdims: b.fold("any", b.value(x, bool), axis, keepdims),
)


def _batch_position(op: Op, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    (x,) = operands
    if attrs["axis"] is not None:
        return along_axes(op, operands, is_batched, attrs, size)
    if attrs["keepdims"]:
        return NotImplemented
    return op(x.reshape((size, prod(x.shape[1:]))), axis=1, keepdims=False)


_argmax = Op(
    lambda x, *, axis, keepdims: np.argmax(x, axis=axis, keepdims=keepdims),
    name="argmax",
    batch=_batch_position,
    lower=lambda b, x, axis, keepdims: b.position("argmax", x, axis, keepdims),
)
_argmin = Op(
    lambda x, *, axis, keepdims: np.argmin(x, axis=axis, keepdims=keepdims),
    name="argmin",
    batch=_batch_position,
    lower=lambda b, x, axis, keepdims: b.position("argmin", x, axis, keepdims),
)


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether values are equal within a tolerance, as `numpy.isclose`; recorded, without derivative.

    Examples
    --------
    >>> import tape
    >>> bool(tape.ops.isclose(1.0, 1.0 + 1e-9))
    True
    """
    return _isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


@implements(np.all)
def all(a: Any, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> Any:
    """Whether all elements hold, over axes, as `numpy.all`; recorded, without derivative.

    Examples
    --------
    >>> import tape
    >>> bool(tape.ops.all([True, False]))
    False
    """
    return _all(a, axis=axis, keepdims=keepdims)


@implements(np.any)
def any(a: Any, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> Any:
    """Whether any element holds, over axes, as `numpy.any`; recorded, without derivative.

    Examples
    --------
    >>> import tape
    >>> bool(tape.ops.any([True, False]))
    True
    """
    return _any(a, axis=axis, keepdims=keepdims)


@implements(np.argmax)
def argmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Index of the largest element; recorded, without derivative.

    Parameters
    ----------
    a : array_like or Var
        Not empty along ``axis``.
    axis : int, optional
        None for the flattened array.
    keepdims : bool
        Keep ``axis`` with length one.

    Returns
    -------
    numpy.ndarray, numpy.integer or Var
        Of an integer dtype.

    Raises
    ------
    ShapeError
        If there is no such axis, or nothing along it.

    Examples
    --------
    >>> import tape
    >>> int(tape.ops.argmax([1.0, 3.0, 2.0]))
    1
    """
    return _argmax(a, axis=axis, keepdims=keepdims)


@implements(np.argmin)
def argmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Index of the smallest element; recorded, without derivative. As `argmax` otherwise.

    Examples
    --------
    >>> import tape
    >>> int(tape.ops.argmin([1.0, 3.0, 2.0]))
    0
    """
    return _argmin(a, axis=axis, keepdims=keepdims)
