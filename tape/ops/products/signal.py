"""One-dimensional signals: convolution, correlation, interpolation, phases."""

from __future__ import annotations

from math import pi, prod
from typing import Any

import numpy as np

from tape import errors
from tape.core import pattern_rules, series
from tape.core.batch_rules import along_axes
from tape.core.op import Op
from tape.core.operands import as_operand, composed
from tape.core.table import implements
from tape.errors import OptionError, ShapeError
from tape.inspect.costs import declare_cost, free, searching
from tape.inspect.samples import declare_samples
from tape.kernels.accumulate import Scattered
from tape.ops.elementwise.complex import conjugated
from tape.ops.elementwise.rounding import remainder
from tape.ops.elementwise.selection import equal, greater, less, where
from tape.ops.ordering.sorting import argsort, batch_first
from tape.ops.structure.indexing import getitem, index_along
from tape.ops.structure.joining import concatenate
from tape.ops.structure.shape import astype, ravel

__all__ = ["convolve", "correlate", "interp", "unwrap"]

declare_samples(
    "np.convolve(u, v)",
    'np.correlate(v, u, "full")',
    "np.interp(x, np.linspace(0, 1, len(u)), u)",
    "np.unwrap(7 * v)",
)


# ---- convolution and correlation -------------------------------------------------------------------
#
# The operations have two modes: "full", all sums of products, and "valid", those where the shorter operand
# lies within the longer one. The derivative by either operand is again one of them. They call `np.convolve`
# and `np.correlate`, and not the convolutions of `tape.nn`, for NumPy's exact values.


def _turned(a: Any) -> Any:
    return getitem(a, slice(None, None, -1))


def _convolve_adjoint(g: Any, x: Any, other: Any, mode: str) -> Any:
    """Return the adjoint of a convolution by ``x``."""
    if mode == "full":
        return _correlate(g, conjugated(other), mode="valid")
    if x.size >= other.size:
        return _convolve(g, _turned(other), mode="full")
    return _turned(_correlate(other, conjugated(g), mode="valid"))


def _lower_convolve(b: Any, a: Any, v: Any, mode: str) -> Any:
    return _slide(b, b.value(a), b.slice(v := b.value(v), (v.size - 1,), (-1,), v.shape), mode)


def _lower_correlate(b: Any, a: Any, v: Any, mode: str) -> Any:
    return _slide(b, b.value(a), b.value(v), mode)


def _slide(b: Any, a: Any, v: Any, mode: str) -> Any:
    """Return the sums of products of two vectors; those with the longer one second come in reverse."""
    dtype = np.promote_types(a.dtype, v.dtype)
    longer, shorter = (a, v) if a.size >= v.size else (v, a)
    sizes = (longer.size, shorter.size, int(mode == "full"))
    count = a.size + v.size - 1 if mode == "full" else longer.size - shorter.size + 1
    out = b.kernel("correlate", (longer, shorter), sizes, (count,), dtype)
    return out if longer is a else b.slice(out, (count - 1,), (-1,), (count,))


@pattern_rules.multilinear
def _pattern_of_windows(
    sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any
) -> Any:
    """Pattern rule of sliding products: an element depends on those of its window."""
    if all(is_moving):
        return pattern_rules.dense(sets, op, operands, is_moving, attrs, out)
    x, other = operands if is_moving[0] else operands[::-1]
    x = x[::-1] if op is _correlate and is_moving[1] else x
    width, length = np.shape(other)[0], x.shape[0]
    padded = np.pad(x, width - 1)
    full = sets.over(np.lib.stride_tricks.sliding_window_view(padded, width), -1, False)
    first = {"full": 0, "same": (min(width, length) - 1) // 2, "valid": min(width, length) - 1}
    start = first[attrs["mode"]]
    return full[start : start + np.shape(out)[0]]


_convolve: Op = Op(
    lambda a, v, *, mode: np.convolve(a, v, mode),
    name="convolve",
    pattern=_pattern_of_windows,
    data_dependent=False,
    lower=_lower_convolve,
    vjp=[
        lambda g, out, a, v, mode: _convolve_adjoint(g, a, v, mode),
        lambda g, out, a, v, mode: _convolve_adjoint(g, v, a, mode),
    ],
    linear=True,
)

_correlate: Op = Op(
    lambda a, v, *, mode: np.correlate(a, v, mode),
    name="correlate",
    pattern=_pattern_of_windows,
    data_dependent=False,
    lower=_lower_correlate,
    vjp=[  # the convolution with the second operand reversed and conjugated
        lambda g, out, a, v, mode: _convolve_adjoint(g, a, conjugated(_turned(v)), mode),
        lambda g, out, a, v, mode: conjugated(_turned(_convolve_adjoint(g, v, a, mode))),
    ],
    linear=True,
)
declare_cost(lambda out, shapes, attrs: 2 * prod(shapes[0]) * prod(shapes[1]), _convolve, _correlate)


def _sliding(op: Op, a: Any, v: Any, mode: str) -> Any:
    """Run a convolution or correlation in one of NumPy's modes."""
    a, v = as_operand(a), as_operand(v)
    if mode not in ("full", "same", "valid"):
        raise OptionError(f"{op.name}: mode is {mode!r}. It must be 'full', 'same' or 'valid'")
    for x in (a, v):
        if np.ndim(x) != 1 or np.size(x) == 0:
            shapes = f"{list(np.shape(a))} and {list(np.shape(v))}"
            raise ShapeError(f"{op.name} of shapes {shapes}. Both must be vectors, and not empty")
    if mode != "same":
        return op(a, v, mode=mode)
    longest, shortest = max(a.size, v.size), min(a.size, v.size)
    start = (shortest - 1) // 2
    if op is _correlate and a.size < v.size:  # NumPy exchanges them, and reverses the result
        start = shortest - 1 - start
    return getitem(op(a, v, mode="full"), slice(start, start + longest))


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The convolution of two vectors.

    Parameters
    ----------
    a, v : array_like or Var
        ``(n,)`` and ``(m,)``, not empty.
    mode : {"full", "same", "valid"}
        All ``n + m - 1`` sums, as many from the middle as the longer operand has elements, or those
        in which the shorter one takes part as a whole.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If an operand is empty, or neither a vector nor a scalar.
    OptionError
        If ``mode`` is something else.

    Examples
    --------
    >>> import tape
    >>> tape.ops.convolve([1.0, 2.0], [1.0, 10.0])
    array([ 1., 12., 20.])
    """
    a, v = (x if np.ndim(x) else ravel(x) for x in (as_operand(a), as_operand(v)))
    return _sliding(_convolve, a, v, mode)


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The correlation of two vectors: sums of ``a[n + k] * conj(v[n])``.

    Parameters, result and errors are those of `convolve`; both must be vectors.

    Examples
    --------
    >>> import tape
    >>> tape.ops.correlate([1.0, 2.0, 3.0], [1.0, 10.0])
    array([21., 32.])
    """
    return _sliding(_correlate, a, v, mode)


# ---- interpolation ---------------------------------------------------------------------------------
#
# There are n + 1 intervals: the first is left of all knots, the last right of them. The value at a position
# is a mean of those at both ends of its interval; the share of the end is 1 in the first interval, 0 in the
# last.


def _interval_forward(x: Any, xp: Any) -> Any:
    count = np.searchsorted(xp, x, side="right")
    return np.where(x == xp[-1], len(xp) - 1, count)  # the last knot belongs to the interval before


def _lower_interval(b: Any, x: Any, xp: Any) -> Any:
    x, xp = b.value(x), b.value(xp)
    is_last = b.elementwise("equal", x, b.slice(xp, (xp.size - 1,), (1,), (1,)))
    return b.where(b.reshape(is_last, x.shape), xp.size - 1, b.search(xp, x, "right"))


_interval = Op(_interval_forward, name="interval", batch=batch_first, lower=_lower_interval)


def _gathered_forward(w: Any, interval: Any, *, count: int) -> Any:
    interval = np.asarray(interval)
    lead = w.shape[: w.ndim - interval.ndim]
    index = (*(slice(None),) * len(lead), interval.reshape(-1))
    return Scattered(w.reshape((*lead, interval.size)), index, (*lead, count)).dense()


_gathered = Op(
    _gathered_forward,
    name="gathered",
    pattern=pattern_rules.adds(lambda numbers, interval, **_: numbers[..., np.asarray(interval)]),
    vjp=[lambda g, out, w, interval, count: getitem(g, (..., interval)), None],
    linear=True,
    batch=batch_first,
    lower=lambda b, w, interval, count: b.written(b.value(w), (interval,), (count,)),
    doc="The sum of the values at the positions in each interval.",
)
declare_cost(free, _gathered)


def _per_interval(first: float, inner: Any, last: float) -> Any:
    ends = np.full(1, first, inner.dtype), np.full(1, last, inner.dtype)
    return concatenate([ends[0], inner, ends[1]])


def _widths(xp: Any) -> Any:
    widths = getitem(xp, slice(1, None)) - getitem(xp, slice(-1))
    return where(equal(widths, 0), 1, widths)  # no position is between equal knots


def _slope(x: Any, xp: Any, fp: Any) -> Any:
    """Return the slope of the line, at each position."""
    slopes = (getitem(fp, slice(1, None)) - getitem(fp, slice(-1))) / _widths(xp)
    return getitem(_per_interval(0.0, slopes, 0.0), _interval(x, xp))


def _share(x: Any, xp: Any, interval: Any) -> Any:
    """Return the share of the knot at the end of the interval, at each position."""
    starts = concatenate([getitem(xp, slice(1)), xp])
    scales = _per_interval(0.0, 1 / _widths(xp), 0.0)
    share = (x - getitem(starts, interval)) * getitem(scales, interval)
    return where(equal(interval, 0), 1.0, share)


def _pushed(t: Any, x: Any, xp: Any) -> Any:
    """Return the tangents of the knots, or of their values, summed at each position."""
    interval = _interval(x, xp)
    starts, ends = concatenate([getitem(t, slice(1)), t]), concatenate([t, getitem(t, slice(-1, None))])
    share = _share(x, xp, interval)
    return getitem(starts, interval) * (1 - share) + getitem(ends, interval) * share


def _pulled(d: Any, x: Any, xp: Any) -> Any:
    """Return the adjoints at the positions, summed for each knot or its value: the transpose of `_pushed`."""
    interval, count = _interval(x, xp), len(xp) + 1
    of_ends = _gathered(d * _share(x, xp, interval), interval, count=count)
    of_starts = _gathered(d, interval, count=count) - of_ends
    return getitem(of_starts, slice(1, None)) + getitem(of_ends, slice(-1))


def _lower_interp(b: Any, x: Any, xp: Any, fp: Any) -> Any:
    x, xp, fp = (b.value(b.value(a), np.float64) for a in (x, xp, fp))
    if not x.size:
        return x
    return b.kernel("interp", (x, xp, fp), (x.size, xp.size), x.shape, np.float64)


_interp = Op(
    lambda x, xp, fp: np.interp(x, xp, fp),
    name="interp",
    data_dependent=False,
    lower=_lower_interp,
    vjp=[
        lambda g, out, x, xp, fp: g * _slope(x, xp, fp),
        lambda g, out, x, xp, fp: -_pulled(g * _slope(x, xp, fp), x, xp),
        lambda g, out, x, xp, fp: _pulled(g, x, xp),
    ],
    jvp=[
        lambda t, out, x, xp, fp: t * _slope(x, xp, fp),
        lambda t, out, x, xp, fp: -(_pushed(t, x, xp) * _slope(x, xp, fp)),
        lambda t, out, x, xp, fp: _pushed(t, x, xp),
    ],
)
declare_cost(searching, _interp, _interval)


@implements(np.interp)
@composed
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Interpolate linearly between given points.

    Parameters
    ----------
    x : array_like or Var
        The points, of any shape.
    xp : array_like or Var
        ``(n,)``: where the points are, increasing.
    fp : array_like or Var
        ``(n,)``: their values, real or complex.
    left, right : scalar or Var, optional
        The values before the first point and after the last one; by default theirs.
    period : float or Var, optional
        Positions that far apart are the same. Points need not be in order then, and ``left`` and
        ``right`` play no part.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Array of the shape of ``x``, in double precision. At a point the derivative by ``x`` is the slope to
        its right; at the last one, that to its left.

    Raises
    ------
    ShapeError
        If there are no points, or not as many values as positions.
    OptionError
        If ``period`` is 0.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> x = tr.param(0.5)
    >>> tr.backward_param_grads(np.interp(x, [0.0, 1.0, 2.0], [0.0, 3.0, 4.0]))
    [array(3.)]
    """
    x, xp, fp = as_operand(x), as_operand(xp), as_operand(fp)
    if np.ndim(xp) != 1 or np.shape(xp) != np.shape(fp) or not np.size(xp):
        shapes = f"{list(np.shape(xp))} and {list(np.shape(fp))}"
        raise ShapeError(f"interp: positions and values of shapes {shapes}. Both must be (n,), and not empty")
    # NumPy computes in double precision, and so must the rules: ints could not hold their differences.
    x, xp, fp = (astype(a, np.result_type(a, np.float64), copy=False) for a in (x, xp, fp))
    if period is None:
        out = _interp(x, xp, fp)
        if left is not None:
            out = where(less(x, getitem(xp, 0)), left, out)
        if right is not None:
            out = where(greater(x, getitem(xp, -1)), right, out)
        return out
    if np.ndim(period) or period == 0:
        raise OptionError(f"interp: the period is {errors.describe(period)}. It must be a number, not 0")
    period = np.abs(period)
    x, xp = remainder(x, period), remainder(xp, period)
    order = argsort(xp)
    xp, fp = getitem(xp, order), getitem(fp, order)
    first, last = slice(0, 1), slice(-1, None)
    xp = concatenate([getitem(xp, last) - period, xp, getitem(xp, first) + period])
    fp = concatenate([getitem(fp, last), fp, getitem(fp, first)])
    return _interp(x, xp, fp)


# ---- phases ----------------------------------------------------------------------------------------


def _lower_unwrap(b: Any, p: Any, discont: Any, axis: int, period: Any) -> Any:
    """Lower to what `numpy.unwrap` does, for floats."""
    axis %= p.ndim
    after, before = (b.read(p, index_along(axis, part)) for part in (slice(1, None), slice(None, -1)))
    low, high, least = -period / 2, period / 2, period / 2 if discont is None else discont
    step = after - before
    turned = b.elementwise("remainder", step - low, period) + low
    is_ambiguous = b.elementwise(
        "logical_and", b.elementwise("equal", turned, low), b.elementwise("greater", step, 0)
    )
    change = b.where(is_ambiguous, high, turned) - step
    change = b.where(b.elementwise("less", b.elementwise("absolute", step), least), 0, change)
    first = b.value(b.read(p, index_along(axis, slice(0, 1))), change.dtype)
    return b.concatenate([first, after + b.scan("sum", change, axis)], axis)


_unwrap = Op(
    lambda p, *, discont, axis, period: np.unwrap(p, discont, axis, period=period),
    name="unwrap",
    lower=_lower_unwrap,
    vjp=[lambda g, out, p, discont, axis, period: g],
    jvp=[lambda t, out, p, discont, axis, period: t],
    taylor=series.linear,
    batch=along_axes,
)


@implements(np.unwrap)
def unwrap(p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * pi) -> Any:
    """Unwrap phases: add multiples of the period where neighbours differ by more than half.

    Parameters
    ----------
    p : array_like or Var
        One axis at least.
    discont : float, optional
        The smallest jump to take away, if larger than half of the period.
    axis : int
        The axis.
    period : float
        Masks may be added.

    Returns
    -------
    numpy.ndarray or Var
        The derivative is that of ``p``.

    Raises
    ------
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import tape
    >>> tape.ops.unwrap([0.0, 3.0, 6.0, 1.0], period=8)
    array([0., 3., 6., 9.])
    """
    return _unwrap(p, discont=discont, axis=axis, period=period)
