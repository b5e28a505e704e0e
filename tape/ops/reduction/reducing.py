"""What reductions are made of: axes, and the sum, mean, product and extremes of everything along them.

The operations here take an operand and a tuple of axes, checked at the call. What the functions of
`tape.ops.reduction.reductions` call when they are given more than that is in `tape.ops.reduction.masked`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import prod as _product
from typing import Any

import numpy as np

from tape.core import series
from tape.core.batch_rules import along_axes
from tape.core.linear import broadcast_to
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.errors import ShapeError
from tape.kernels.choices import extremes_share
from tape.kernels.recurrences import products_share
from tape.ops.elementwise.arithmetic import multiply
from tape.ops.elementwise.selection import where
from tape.ops.number_axes import axis_of
from tape.ops.structure.joining import concatenate, stack
from tape.ops.structure.shape import Axes, astype, reshape, transpose

__all__: list[str] = []

Reduced = tuple[int, ...]

_SMALL = 1024


def _axes(
    name: str, a: Any, axis: Axes, *, allow_empty: bool = True, allow_number: bool = True
) -> tuple[Any, Reduced | None]:
    """The operand, and its axes, checked, as a tuple; None stays None, and stands for the axis of a number.

    Negative axes stay negative: they mean the same after a replay with more axes. What NumPy does along an
    axis of a number, it does in some functions only.
    """
    a = as_operand(a)
    shape = np.shape(a)
    if allow_number and not shape:
        axis = axis_of(a, axis)
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


def _axis(name: str, a: Any, axis: Any) -> tuple[Any, int]:
    """The operand, of one axis at least, and one axis of it, checked."""
    a, axes = _axes(name, a, axis, allow_number=False)
    if axes is None or len(axes) != 1:
        raise ShapeError(f"{name} goes along one axis, not {axis}")
    return a, axes[0]


def _count(shape: tuple[int, ...], axes: Reduced | None) -> int:
    """How many elements go into each result."""
    return _product(shape if axes is None else [shape[i] for i in axes])


def _kept(reduced: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
    """A reduced array with the summed axes back, of length one."""
    if keepdims or reduced.ndim == x.ndim:
        return reduced
    ndim = x.ndim
    gone = range(ndim) if axis is None else [i % ndim for i in axis]
    shape = tuple([1 if i in gone else length for i, length in enumerate(x.shape)])
    return reduced.reshape(shape)


def _spread(g: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
    """The adjoint of a sum: the same for every element that went into it."""
    g = _kept(g, x, axis, keepdims)
    if type(g) is np.ndarray and x.size <= _SMALL:  # to write so few takes less time than to make a view
        spread = np.empty(x.shape, g.dtype)
        spread[...] = g
        return spread
    return broadcast_to(g, shape=x.shape)


def _by_partials(
    name: str,
    forward: Callable[..., Any],
    partials: Callable[..., Any],
    *,
    taylor: Any = None,
    lower: Any = None,
) -> Op:
    """A reduction of one operand, given what it changes by with each element.

    ``partials(out, x, axis=, keepdims=, ...)`` is that derivative, in the shape of ``x``.
    """

    def vjp(g: Any, out: Any, x: Any, axis: Reduced | None, keepdims: bool, **attrs: Any) -> Any:
        return _kept(g, x, axis, keepdims) * partials(out, x, axis=axis, keepdims=keepdims, **attrs)

    def jvp(t: Any, out: Any, x: Any, axis: Reduced | None, keepdims: bool, **attrs: Any) -> Any:
        moved = t * partials(out, x, axis=axis, keepdims=keepdims, **attrs)
        return _sum(moved, axis=axis, keepdims=keepdims)

    return Op(forward, name=name, vjp=[vjp], jvp=[jvp], taylor=taylor, batch=along_axes, lower=lower)


# ---- sums and means --------------------------------------------------------------------------------


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
    linear=True,
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
    linear=True,
)


# ---- extremes --------------------------------------------------------------------------------------


_count_nonzero = Op(
    lambda x, *, axis, keepdims: np.count_nonzero(x, axis=axis, keepdims=keepdims),
    name="count_nonzero",
    batch=along_axes,
    lower=lambda b, x, axis, keepdims: b.fold("sum", b.cast(b.cast(x, bool), np.int64), axis, keepdims),
)


def _shares(is_extreme: Any, others: Any, dtype: Any, axis: Reduced | None) -> Any:
    """What each extreme element gets; several equal ones, and as many others, share it."""
    ties = _count_nonzero(is_extreme, axis=axis, keepdims=True) + others
    return astype(1 / where(ties == 0, 1, ties), dtype)


def _extreme(name: str, forward: Callable[..., Any], lower: Callable[..., Any]) -> Op:
    """The largest or smallest element; several equal ones share the derivative. NaN equals nothing."""

    def vjp(g: Any, out: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
        g, extreme = _kept(g, x, axis, keepdims), _kept(out, x, axis, keepdims)
        passed = extremes_share(g, x, extreme)
        if passed is not None:
            return passed
        is_extreme = x == extreme
        return where(is_extreme, g * _shares(is_extreme, 0, x.dtype, axis), 0)

    def jvp(t: Any, out: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
        is_extreme = x == _kept(out, x, axis, keepdims)
        moved = where(is_extreme, t * _shares(is_extreme, 0, x.dtype, axis), 0)
        return _sum(moved, axis=axis, keepdims=keepdims)

    return Op(forward, name=name, vjp=[vjp], jvp=[jvp], taylor=series.linear, batch=along_axes, lower=lower)


def _folded(name: str, ufunc: np.ufunc) -> Op:
    return _extreme(
        name,
        lambda x, *, axis, keepdims: ufunc.reduce(x, axis=axis, keepdims=keepdims),
        lambda b, x, axis, keepdims: b.fold(name, x, axis, keepdims),
    )


_max = _folded("max", np.maximum)
_min = _folded("min", np.minimum)


# ---- products --------------------------------------------------------------------------------------


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


def _prod_vjp(g: Any, out: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
    g = _kept(g, x, axis, keepdims)
    shares = products_share(g, x)
    return g * _prod_partials(x, axis) if shares is None else shares


def _prod_jvp(t: Any, out: Any, x: Any, axis: Reduced | None, keepdims: bool) -> Any:
    return _sum(t * _prod_partials(x, axis), axis=axis, keepdims=keepdims)


_prod = Op(
    lambda x, *, axis, keepdims: np.multiply.reduce(x, axis=axis, keepdims=keepdims),
    name="prod",
    vjp=[_prod_vjp],
    jvp=[_prod_jvp],
    batch=along_axes,
    lower=_lower_total("prod"),
)
