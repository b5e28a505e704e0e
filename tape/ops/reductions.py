"""Sums, means, extremes, products and spreads over axes.

Every one takes ``axis`` (None, an int or a tuple) and ``keepdims``, and hands its primitive a tuple
of axes, checked at the call.
"""

from __future__ import annotations

import builtins
import operator
from math import prod as _product
from typing import Any

import numpy as np

from tape import series
from tape.batch_rules import along_axes
from tape.errors import ShapeError
from tape.op import Op, as_operand, broadcast_to, implements
from tape.ops.arithmetic import multiply
from tape.ops.joining import concatenate, stack
from tape.ops.selection import where
from tape.ops.shape import Axes, astype, reshape, transpose

__all__ = ["max", "mean", "min", "prod", "std", "sum", "var"]

Reduced = tuple[int, ...]


def _axes(name: str, a: Any, axis: Axes, *, allow_empty: bool = True) -> tuple[Any, Reduced | None]:
    """The operand, and its axes, checked, as a tuple; None stays None.

    Negative axes stay negative: they mean the same after a replay with more axes.
    """
    a = as_operand(a)
    shape = np.shape(a)
    if axis is None:
        axes = None
    else:
        given = axis if isinstance(axis, (tuple, list)) else (axis,)
        try:
            axes = tuple(operator.index(i) for i in given)
            counted = {range(len(shape))[i] for i in axes}
        except (IndexError, TypeError):
            raise ShapeError(f"{name}: there is no axis {axis} in shape {list(shape)}") from None
        if len(counted) != len(axes):
            raise ShapeError(f"{name}: axis {axis} names an axis twice")
    if not allow_empty and _count(shape, axes) == 0:
        raise ShapeError(f"{name} of no elements: shape {list(shape)}, axis {axis}. There is none to choose")
    return a, axes


def _count(shape: tuple[int, ...], axes: Reduced | None) -> int:
    """How many elements go into each result."""
    return _product(shape if axes is None else [shape[i] for i in axes])


def _kept(reduced: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
    """A reduced array with the summed axes back, of length one."""
    if keepdims or reduced.ndim == x.ndim:
        return reduced
    gone = range(x.ndim) if axis is None else [i % x.ndim for i in axis]
    return reshape(reduced, tuple(1 if i in gone else length for i, length in enumerate(x.shape)))


def _spread(g: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
    """The adjoint of a sum: the same for every element that went into it."""
    return broadcast_to(_kept(g, x, axis, keepdims), shape=x.shape)


def _lower_total(kind: str) -> Any:
    """Integers and bools add up in int64, as NumPy's do."""

    def lower(b: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
        return b.fold(kind, x if x.dtype.kind == "f" else b.cast(x, np.int64), axis, keepdims)

    return lower


def _lower_mean(b: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
    x = x if x.dtype.kind == "f" else b.cast(x, np.float64)
    return b.fold("sum", x, axis, keepdims) / b.literal(_count(x.shape, axis), x.dtype)


_sum = Op(
    lambda x, *, axis, keepdims: np.add.reduce(x, axis=axis, keepdims=keepdims),
    name="sum",
    batch=along_axes,
    lower=_lower_total("sum"),
    vjp=[lambda g, out, x, axis, keepdims: _spread(g, x, axis, keepdims)],
)


def _mean_forward(x: Any, *, axis: Reduced | None, keepdims: bool) -> Any:
    count = _count(np.shape(x), axis)
    if x.dtype in (np.float32, np.float64) and count:  # np.mean's result without its overhead
        return _sum.forward(x, axis=axis, keepdims=keepdims) / count
    return np.mean(x, axis=axis, keepdims=keepdims)


def _divide(g: Any, count: int) -> Any:
    return g * (1 / count) if count else g  # float16 has no room for a count above 65504


_mean = Op(
    _mean_forward,
    name="mean",
    batch=along_axes,
    lower=_lower_mean,
    vjp=[lambda g, out, x, axis, keepdims: _spread(_divide(g, _count(x.shape, axis)), x, axis, keepdims)],
)


def _weights(out: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
    """One for the extreme element of each reduction; several equal ones share it."""
    is_extreme = x == _kept(out, x, axis, keepdims)
    ties = astype(_sum(is_extreme, axis=axis, keepdims=True), x.dtype)
    return where(is_extreme, 1 / where(ties == 0, 1, ties), 0)  # NaN equals nothing


def _extreme(name: str, forward: Any) -> Op:
    return Op(
        lambda x, *, axis, keepdims: forward(x, axis=axis, keepdims=keepdims),
        name=name,
        taylor=series.linear,
        batch=along_axes,
        lower=lambda b, x, axis, keepdims: b.fold(name, x, axis, keepdims),
        vjp=[
            lambda g, out, x, axis, keepdims: _kept(g, x, axis, keepdims) * _weights(out, x, axis, keepdims)
        ],
        jvp=[
            lambda t, out, x, axis, keepdims: _sum(
                t * _weights(out, x, axis, keepdims), axis=axis, keepdims=keepdims
            )
        ],
    )


_max = _extreme("max", np.maximum.reduce)
_min = _extreme("min", np.minimum.reduce)


def _product_of_others(x: Any) -> Any:
    """For each element along the last axis, the product of the others; exact where some are zero.

    Pairs are multiplied, the shorter problem is solved, and each element of a pair gets the other
    one times what is outside the pair: O(n) work in O(log n) operations.
    """
    length = x.shape[-1]
    if length == 1:
        return np.ones(x.shape, x.dtype)
    if length % 2:
        x = concatenate([x, np.ones((*x.shape[:-1], 1), x.dtype)], axis=-1)
    first, second = x[..., ::2], x[..., 1::2]
    outside = _product_of_others(multiply(first, second))
    others = stack([second * outside, first * outside], axis=-1)
    return reshape(others, x.shape)[..., :length]


def _prod_partials(x: Any, axis: Reduced | None) -> Any:
    """The derivative of a product by each of its factors, in the shape of ``x``."""
    if not _product(x.shape):
        return np.zeros(x.shape, x.dtype)
    gone = tuple(range(x.ndim)) if axis is None else tuple(i % x.ndim for i in axis)
    order = (*(i for i in range(x.ndim) if i not in gone), *gone)
    moved = transpose(x, order)
    flat = reshape(moved, (*moved.shape[: x.ndim - len(gone)], _count(x.shape, axis)))
    others = reshape(_product_of_others(flat), moved.shape)
    return transpose(others, tuple(int(i) for i in np.argsort(order)))


_prod = Op(
    lambda x, *, axis, keepdims: np.multiply.reduce(x, axis=axis, keepdims=keepdims),
    name="prod",
    batch=along_axes,
    lower=_lower_total("prod"),
    vjp=[lambda g, out, x, axis, keepdims: _kept(g, x, axis, keepdims) * _prod_partials(x, axis)],
    jvp=[lambda t, out, x, axis, keepdims: _sum(t * _prod_partials(x, axis), axis=axis, keepdims=keepdims)],
)


def _var_partials(x: Any, axis: Reduced | None, ddof: float) -> Any:
    freedom = _count(x.shape, axis) - ddof
    return (x - _mean(x, axis=axis, keepdims=True)) * (2 / freedom if freedom > 0 else np.nan)


def _taylor_var(op: Any, out: Any, operands: Any, attrs: dict[str, Any]) -> series.Series:
    """The mean of the square of what is left after subtracting the mean, which is linear."""
    (a,), axis, keepdims = operands, attrs["axis"], attrs["keepdims"]
    count = _count(a[0].shape, axis)
    freedom = count - attrs["ddof"]
    centered = [None if part is None else part - _mean(part, axis=axis, keepdims=True) for part in a]
    c = [out]
    for k in range(1, len(a)):
        products = series.convolved(centered, centered, k, 0, k)
        mean = None if products is None else _mean(products, axis=axis, keepdims=keepdims)
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


_var = Op(
    lambda x, *, axis, ddof, keepdims: np.var(x, axis=axis, ddof=ddof, keepdims=keepdims),
    name="var",
    taylor=_taylor_var,
    batch=along_axes,
    lower=_lower_var,
    vjp=[lambda g, out, x, axis, ddof, keepdims: _kept(g, x, axis, keepdims) * _var_partials(x, axis, ddof)],
    jvp=[
        lambda t, out, x, axis, ddof, keepdims: _sum(
            t * _var_partials(x, axis, ddof), axis=axis, keepdims=keepdims
        )
    ],
)


def _std_partials(out: Any, x: Any, axis: Reduced | None, ddof: float, keepdims: bool) -> Any:
    # All equal: 0, and not what rounding makes of 0 / 0.
    is_constant = _max(x, axis=axis, keepdims=True) == _min(x, axis=axis, keepdims=True)
    spread = where(is_constant, 1, _kept(out, x, axis, keepdims))
    return _var_partials(x, axis, ddof) * where(is_constant, 0, 0.5 / spread)


_std = Op(
    lambda x, *, axis, ddof, keepdims: np.std(x, axis=axis, ddof=ddof, keepdims=keepdims),
    name="std",
    taylor=_taylor_std,
    batch=along_axes,
    lower=lambda b, x, **attrs: b.elementwise("sqrt", _lower_var(b, x, **attrs)),
    vjp=[
        lambda g, out, x, axis, ddof, keepdims: (
            _kept(g, x, axis, keepdims) * _std_partials(out, x, axis, ddof, keepdims)
        )
    ],
    jvp=[
        lambda t, out, x, axis, ddof, keepdims: _sum(
            t * _std_partials(out, x, axis, ddof, keepdims), axis=axis, keepdims=keepdims
        )
    ],
)


@implements(np.sum)
def sum(a: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """Sum over axes.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    axis : int or tuple of int, optional
        By default all.
    keepdims : bool
        Keep the summed axes with length one.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var

    Raises
    ------
    ShapeError
        If there is no such axis, or one is named twice.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.sum(np.ones((2, 3)), axis=0)
    array([2., 2., 2.])
    """
    a, axes = _axes("sum", a, axis)
    return _sum(a, axis=axes, keepdims=keepdims)


@implements(np.mean)
def mean(a: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """Arithmetic mean over axes. Arguments, result and errors as `sum`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.mean(np.array([[1.0, 3.0]]), axis=1)
    array([2.])
    """
    a, axes = _axes("mean", a, axis)
    return _mean(a, axis=axes, keepdims=keepdims)


@implements(np.max, np.amax)
def max(a: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """Largest element over axes. Arguments and result as `sum`.

    Equal elements share the derivative evenly.

    Raises
    ------
    ShapeError
        As `sum`, and if there are no elements to choose from.

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace()
    >>> tr.backward_param_grads(tape.ops.max(tr.param([1.0, 2.0, 2.0])))
    [array([0. , 0.5, 0.5])]
    """
    a, axes = _axes("max", a, axis, allow_empty=False)
    return _max(a, axis=axes, keepdims=keepdims)


@implements(np.min, np.amin)
def min(a: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """Smallest element over axes; as `max` otherwise.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.min([3.0, 1.0]))
    1.0
    """
    a, axes = _axes("min", a, axis, allow_empty=False)
    return _min(a, axis=axes, keepdims=keepdims)


@implements(np.prod)
def prod(a: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
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
    return _prod(a, axis=axes, keepdims=keepdims)


@implements(np.var)
def var(a: Any, axis: Axes = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
    """Variance over axes.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    axis : int or tuple of int, optional
        By default all.
    ddof : float
        The sum of squares is divided by the number of elements less this.
    keepdims : bool
        Keep the reduced axes with length one.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var

    Raises
    ------
    ShapeError
        If there is no such axis, or one is named twice.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.var([1.0, 3.0], ddof=1))
    2.0
    """
    a, axes = _axes("var", a, axis)
    return _var(a, axis=axes, ddof=ddof, keepdims=keepdims)


@implements(np.std)
def std(a: Any, axis: Axes = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
    """Standard deviation over axes; the derivative is 0 where all elements are equal.

    Arguments, result and errors as `var`.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.std([1.0, 3.0]))
    1.0
    """
    a, axes = _axes("std", a, axis)
    return _std(a, axis=axes, ddof=ddof, keepdims=keepdims)
