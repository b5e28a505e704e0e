"""Sums, products and extremes up to each element, along one axis.

The derivatives of running products are linear recurrences (`tape.ops.reduction.recurrences`): exact where
factors are zero, and O(n).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tape.core import pattern_rules, series
from tape.core.batch_rules import along_axes
from tape.core.node import plain
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.specialise import specialised
from tape.core.table import implements
from tape.errors import ShapeError
from tape.inspect.costs import declare_cost, passes
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.elementary import exp
from tape.ops.elementwise.selection import where
from tape.ops.number_axes import axis_of
from tape.ops.reduction.axes import operand_and_axis
from tape.ops.reduction.options import checked_options
from tape.ops.reduction.recurrences import linear_recurrence, neighbours
from tape.ops.structure.indexing import HOLE, getitem, index_along, scatter
from tape.ops.structure.joining import concatenate
from tape.ops.structure.shape import astype, ravel, reshape

__all__ = ["cummax", "cummin", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "logcumsumexp"]

declare_samples(
    "np.cumprod, np.cumsum, np.cumulative_prod(x, axis=1)",
    "np.cumulative_sum(x, axis=1, include_initial=True)",
)


# ---- sums and products -----------------------------------------------------------------------------


def _backwards_cumsum(x: Any, *, axis: int) -> Any:
    out = np.empty_like(x)
    np.add.accumulate(np.flip(x, axis), axis=axis, out=np.flip(out, axis))
    return out


_cumsum: Op = Op(
    lambda x, *, axis: x.cumsum(axis),  # np.cumsum takes a microsecond to call this
    name="cumsum",
    pattern=pattern_rules.running(backwards=False),
    vjp=[lambda g, out, x, axis: _cumsum_back(g, axis=axis)],
    linear=True,
    batch=along_axes,
    lower=lambda b, x, axis: b.scan("sum", x, axis),
)
_cumsum_back: Op = Op(
    _backwards_cumsum,
    name="backwards_cumsum",
    pattern=pattern_rules.running(backwards=True),
    vjp=[lambda g, out, x, axis: _cumsum(g, axis=axis)],
    linear=True,
    batch=along_axes,
    lower=lambda b, x, axis: b.scan("sum", x, axis, backwards=True),
)
declare_cost(passes(1), _cumsum_back)


def _cumprod_vjp(g: Any, out: Any, x: Any, axis: int) -> Any:
    after = linear_recurrence(neighbours(x, axis, 0, backwards=True), g, axis=axis, backwards=True)
    return after * neighbours(out, axis, 1)


_cumprod = Op(
    lambda x, *, axis: np.cumprod(x, axis=axis),
    name="cumprod",
    vjp=[_cumprod_vjp],
    jvp=[
        lambda t, out, x, axis: linear_recurrence(x, t * neighbours(out, axis, 1), axis=axis, backwards=False)
    ],
    batch=along_axes,
    lower=lambda b, x, axis: b.scan("prod", x, axis),
)


# ---- extremes ----------------------------------------------------------------------------------------


def _first_positions(x: Any, *, axis: int, ufunc: np.ufunc) -> Any:
    """Return the flat position of the extreme element up to each one; the first of equal ones."""
    x = np.moveaxis(x, axis, -1)
    running = ufunc.accumulate(x, axis=-1)
    is_new = np.ones(x.shape, bool)
    before, after = running[..., :-1], running[..., 1:]
    is_new[..., 1:] = (before != after) & ~np.isnan(before)  # the first stays
    last_new = np.maximum.accumulate(np.where(is_new, np.arange(x.shape[-1]), 0), axis=-1)
    flat = np.moveaxis(np.arange(x.size).reshape(np.moveaxis(x, -1, axis).shape), axis, -1)
    return np.moveaxis(np.take_along_axis(flat, last_new, -1), -1, axis)


def _lower_first_positions(b: Any, x: Any, axis: int, ufunc: np.ufunc) -> Any:
    if not x.size:
        return b.broadcast(b.literal(0, np.int64), x.shape)
    axis %= x.ndim
    running = b.scan(_SCANS[ufunc], x, axis)
    before, after = (b.read(running, index_along(axis, part)) for part in (slice(None, -1), slice(1, None)))
    is_new = b.elementwise(
        "logical_and", b.elementwise("not_equal", before, after), b.elementwise("equal", before, before)
    )
    firsts = np.arange(x.size).reshape(x.shape).take([0], axis)
    steps = np.arange(1.0, x.shape[axis]).reshape(-1, *(1,) * (x.ndim - axis - 1)) * prod(x.shape[axis + 1 :])
    last_new = b.concatenate([b.value(np.zeros(firsts.shape)), b.where(is_new, steps, 0.0)], axis)
    return b.cast(b.scan("max", last_new, axis), np.int64) + firsts


_positions = Op(_first_positions, name="extreme_positions", lower=_lower_first_positions)
_SCANS: dict[np.ufunc, str] = {np.maximum: "max", np.minimum: "min"}
"""Their names in programs."""


def _running_extreme(name: str, ufunc: np.ufunc) -> Op:
    def vjp(g: Any, out: Any, x: Any, axis: int) -> Any:
        position = _positions(x, axis=axis, ufunc=ufunc)
        return reshape(scatter(g, position, index=(HOLE,), shape=(x.size,)), x.shape)

    return Op(
        lambda x, *, axis: ufunc.accumulate(x, axis=axis),
        name=name,
        vjp=[vjp],
        jvp=[lambda t, out, x, axis: getitem(ravel(t), _positions(x, axis=axis, ufunc=ufunc))],
        taylor=series.linear,
        batch=along_axes,
        lower=lambda b, x, axis: b.scan(_SCANS[ufunc], x, axis),
    )


_cummax = _running_extreme("cummax", np.maximum)
_cummin = _running_extreme("cummin", np.minimum)


def _logcumsumexp_steps(out: Any, x: Any, axis: int) -> tuple[Any, Any]:
    """Return the shares of each step: of the sum before it, and of the new element. They add up to 1."""
    finite = where(out == -np.inf, 0, out)
    return exp(neighbours(out, axis, -np.inf) - finite), exp(x - finite)


def _logcumsumexp_vjp(g: Any, out: Any, x: Any, axis: int) -> Any:
    kept, share = _logcumsumexp_steps(out, x, axis)
    factors = neighbours(kept, axis, 0, backwards=True)
    return share * linear_recurrence(factors, g, axis=axis, backwards=True)


def _logcumsumexp_jvp(t: Any, out: Any, x: Any, axis: int) -> Any:
    kept, share = _logcumsumexp_steps(out, x, axis)
    return linear_recurrence(kept, t * share, axis=axis, backwards=False)


_logcumsumexp = Op(
    lambda x, *, axis: np.logaddexp.accumulate(x, axis=axis),
    name="logcumsumexp",
    vjp=[_logcumsumexp_vjp],
    jvp=[_logcumsumexp_jvp],
    batch=along_axes,
    lower=lambda b, x, axis: b.scan("logaddexp", b.cast(x, np.float64), axis),
)


# ---- public functions ------------------------------------------------------------------------------


def _running(name: str, op: Op, a: Any, axis: int | None, dtype: Any = None) -> Any:
    """Run an operation along an axis, or along the flattened array."""
    a = as_operand(a)
    axis = axis_of(a, axis)
    if axis is not None:
        a, axis = operand_and_axis(name, a, axis)
    _, dtype = checked_options(name, a, dtype=dtype)
    if dtype is not None:
        a = astype(a, dtype)  # elements added one by one may as well be converted before
    out = op(ravel(a) if axis is None and np.ndim(a) != 1 else a, axis=axis or 0)
    # Ints and bools are accumulated in 64 bits, of which a narrow dtype keeps the last ones.
    return out if dtype is None or out.dtype == dtype else astype(out, dtype)


@implements(np.cumsum)
@specialised()
def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Return the sums of all elements up to each one.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    axis : int, optional
        By default the array is flattened.
    dtype : dtype_like, optional
        The dtype to accumulate in; by default that of ``a``, int64 for small ints and bools.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``a``, or flat.

    Raises
    ------
    ShapeError
        If there is no such axis.
    DTypeError
        If ``dtype`` is none.

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace()
    >>> y = tape.ops.cumsum(tr.param([1.0, 2.0, 3.0]))
    >>> y.value, tr.backward_param_grads(y)
    (array([1., 3., 6.]), [array([3., 2., 1.])])
    """
    return _running("cumsum", _cumsum, a, axis, dtype)


@implements(np.cumprod)
@specialised()
def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Return the products of all elements up to each one, with exact derivatives where factors are zero.

    Parameters, result and errors are those of `cumsum`.

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace()
    >>> y = tape.ops.cumprod(tr.param([2.0, 0.0, 3.0]))
    >>> y.value, tr.backward_param_grads(y)
    (array([2., 0., 0.]), [array([1., 8., 0.])])
    """
    return _running("cumprod", _cumprod, a, axis, dtype)


def _cumulative(name: str, op: Op, x: Any, axis: int | None, dtype: Any, initial: float | None) -> Any:
    x = as_operand(x)
    if axis is None and np.ndim(x) > 1:
        raise ShapeError(f"{name} of shape {list(np.shape(x))} needs an axis")
    axis = axis_of(x, axis)
    x, axis = (x, None) if axis is None else operand_and_axis(name, x, axis)
    running = _running(name, op, x, axis, dtype)
    if initial is None:
        return running
    shape = list(running.shape)
    shape[axis or 0] = 1
    first = np.full_like(plain(running), initial, shape=shape)  # with the memory layout of the others
    return concatenate([first, running], axis=axis or 0)


@implements(np.cumulative_sum)
def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Return the sums of all elements up to each one, as `cumsum`, with the signature of the array API.

    Parameters
    ----------
    x : array_like or Var
        Any shape.
    axis : int, optional
        Which; may be left out if there is but one.
    dtype : dtype_like, optional
        The dtype to accumulate in.
    include_initial : bool
        Whether the first result is the sum of nothing.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there is no such axis, or none is named and there are several.
    DTypeError
        If ``dtype`` is none.

    Examples
    --------
    >>> import tape
    >>> tape.ops.cumulative_sum([1.0, 2.0], include_initial=True)
    array([0., 1., 3.])
    """
    return _cumulative("cumulative_sum", _cumsum, x, axis, dtype, 0 if include_initial else None)


@implements(np.cumulative_prod)
def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Return the products of all elements up to each one. Parameters are those of `cumulative_sum`.

    Examples
    --------
    >>> import tape
    >>> tape.ops.cumulative_prod([2.0, 3.0], include_initial=True)
    array([1., 2., 6.])
    """
    return _cumulative("cumulative_prod", _cumprod, x, axis, dtype, 1 if include_initial else None)


def cummax(a: Any, axis: int | None = None) -> Any:
    """Return the largest of all elements up to each one, as ``np.maximum.accumulate`` does.

    Of equal elements the first has the derivative. Parameters, result and errors are those of `cumsum`.

    Examples
    --------
    >>> import tape
    >>> tape.ops.cummax([1.0, 3.0, 2.0])
    array([1., 3., 3.])
    """
    return _running("cummax", _cummax, a, axis)


def cummin(a: Any, axis: int | None = None) -> Any:
    """Return the smallest of all elements up to each one, as ``np.minimum.accumulate`` does.

    Otherwise like `cummax`.

    Examples
    --------
    >>> import tape
    >>> tape.ops.cummin([3.0, 1.0, 2.0])
    array([3., 1., 1.])
    """
    return _running("cummin", _cummin, a, axis)


def logcumsumexp(a: Any, axis: int | None = None) -> Any:
    """Return logarithms of the sums of exponentials up to each element, as ``np.logaddexp.accumulate`` does.

    Parameters, result and errors are those of `cumsum`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.logcumsumexp(np.log([1.0, 2.0, 3.0]))
    array([0.        , 1.09861229, 1.79175947])
    """
    return _running("logcumsumexp", _logcumsumexp, a, axis)
