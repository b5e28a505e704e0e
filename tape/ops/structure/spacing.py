"""Spaced numbers between two ends, which are differentiated."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tape import errors
from tape.core import series
from tape.core.batch_rules import lift
from tape.core.failures import NUMPY_ERRORS
from tape.core.linear import sum_to
from tape.core.op import Op
from tape.core.operands import as_operand, composed
from tape.core.table import implements
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.arithmetic import divide, power, subtract
from tape.ops.structure.axes import axes_of
from tape.ops.structure.shape import as_dtype, astype, expand_dims, reshape, shared_shape

__all__ = ["geomspace", "linspace", "logspace"]

declare_samples(
    "np.geomspace, np.logspace(c, 2.0, 4)",
    "np.linspace(c, v, 3)",
)


def _weights(out: Any, *, num: int, endpoint: bool, axis: int, dtype: Any) -> Any:
    """Return the relative positions of elements, from 0 to 1, in a shape that broadcasts with the result."""
    weights = np.linspace(0.0, 1.0, num, endpoint).astype(out.dtype)
    return weights.reshape(tuple(num if k == axis else 1 for k in range(out.ndim)))


def _sum_along(x: Any, axis: int) -> Any:
    shape = x.shape
    return reshape(sum_to(x, shape=(*shape[:axis], 1, *shape[axis + 1 :])), shape[:axis] + shape[axis + 1 :])


def _with_axis(t: Any, out: Any, axis: int) -> Any:
    """Return an array of the shape of an end in one that broadcasts with the result."""
    shape = (1,) * (out.ndim - 1 - t.ndim) + t.shape
    return reshape(t, (*shape[:axis], 1, *shape[axis:]))


def _batch_between(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    ndim = max(np.ndim(x) - inside for x, inside in zip(operands, is_batched, strict=True))
    ends = [lift(x, inside, ndim) for x, inside in zip(operands, is_batched, strict=True)]
    return op(*ends, **{**attrs, "axis": attrs["axis"] + 1})


def _lower_between(combine: Callable[..., Any]) -> Callable[..., Any]:
    """Return the lowering of ``combine(start, stop, weights)``."""

    def lower(b: Any, start: Any, stop: Any, *, num: int, endpoint: bool, axis: int, dtype: Any) -> Any:
        ends = [b.value(end, dtype) for end in (start, stop)]
        ndim = max(end.ndim for end in ends)
        shapes = [(1,) * (ndim - end.ndim) + end.shape for end in ends]
        start, stop = (
            b.reshape(end, (*shape[:axis], 1, *shape[axis:])) for end, shape in zip(ends, shapes, strict=True)
        )
        weights = np.linspace(0, 1, num, endpoint).astype(dtype).reshape((num,) + (1,) * (ndim - axis))
        out = combine(b, start, stop, b.value(weights))
        return b.where(b.value(weights == 1), stop, out) if endpoint and num > 1 else out  # exactly the end

    return lower


def _unless_zero(b: Any, end: Any) -> Any:
    """Return an end; where it is zero, the program stops, and NumPy raises."""
    return end if b.known(end) else b.require(end, b.elementwise("not_equal", end, 0))


_linspace = Op(
    lambda start, stop, *, num, endpoint, axis, dtype: np.linspace(
        start, stop, num, endpoint, dtype=dtype, axis=axis
    ),
    name="linspace",
    vjp=[
        lambda g, out, start, stop, **how: _sum_along(g * (1 - _weights(out, **how)), how["axis"]),
        lambda g, out, start, stop, **how: _sum_along(g * _weights(out, **how), how["axis"]),
    ],
    jvp=[
        lambda t, out, start, stop, **how: _with_axis(t, out, how["axis"]) * (1 - _weights(out, **how)),
        lambda t, out, start, stop, **how: _with_axis(t, out, how["axis"]) * _weights(out, **how),
    ],
    taylor=series.linear,
    batch=_batch_between,
    lower=_lower_between(lambda b, start, stop, weights: start + (stop - start) * weights),
)

_geomspace = Op(
    lambda start, stop, *, num, endpoint, axis, dtype: np.geomspace(start, stop, num, endpoint, dtype, axis),
    name="geomspace",
    vjp=[
        lambda g, out, start, stop, **how: (
            _sum_along(g * out * (1 - _weights(out, **how)), how["axis"]) / start
        ),
        lambda g, out, start, stop, **how: _sum_along(g * out * _weights(out, **how), how["axis"]) / stop,
    ],
    jvp=[
        lambda t, out, start, stop, **how: (
            _with_axis(t / start, out, how["axis"]) * out * (1 - _weights(out, **how))
        ),
        lambda t, out, start, stop, **how: (
            _with_axis(t / stop, out, how["axis"]) * out * _weights(out, **how)
        ),
    ],
    batch=_batch_between,
    lower=_lower_between(
        lambda b, start, stop, weights: (
            _unless_zero(b, start) * b.elementwise("power", _unless_zero(b, stop) / start, weights)
        )
    ),
)


_ROUNDED = {op: Op(op.forward, name=op.name, batch=_batch_between) for op in (_linspace, _geomspace)}
"""The same for integers: without a derivative, and without lowering, which would round differently."""


def _between(op: Op, start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> Any:
    """Run `linspace` or `geomspace`; ``dtype`` is that of the result."""
    try:
        num = operator.index(num)
        ndim = len(np.broadcast_shapes(np.shape(start), np.shape(stop)))
    except NUMPY_ERRORS as error:
        raise errors.explain(op.name, (start, stop, num), error) from error
    (axis,) = axes_of(op.name, np.broadcast_to(0, (1,) * (ndim + 1)), axis)
    kind = as_dtype(op.name, dtype)
    chosen = op if kind.kind in "fc" else _ROUNDED[op]
    return chosen(start, stop, num=num, endpoint=bool(endpoint), axis=axis, dtype=kind)


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Return equally spaced numbers.

    Parameters
    ----------
    start, stop : array_like or Var
        The ends, of shapes that broadcast.
    num : int
        The number of values.
    endpoint : bool
        Whether ``stop`` is the last one; else it would be the one after that.
    retstep : bool
        Whether to return the distance as well.
    dtype : dtype_like, optional
        Dtype of the result; of integers it is constant to every derivative.
    axis : int
        Their positions in the result.

    Returns
    -------
    numpy.ndarray or Var
        Array of the broadcast shape of the ends with one more axis; with ``retstep`` a tuple of this and the
        distance.

    Raises
    ------
    ShapeError
        If the ends do not broadcast, there is no such axis, or ``num`` is negative.
    DTypeError
        If ``num`` is not an int, or ``dtype`` holds no numbers.

    Examples
    --------
    >>> import tape
    >>> tape.ops.linspace(0.0, 1.0, 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    start, stop = as_operand(start), as_operand(stop)
    kind = np.result_type(start, stop, 0.0) if dtype is None else dtype
    spaced = _between(_linspace, start, stop, num, endpoint, kind, axis)
    if not retstep:
        return spaced
    intervals = operator.index(num) - bool(endpoint)
    step = divide(subtract(stop, start), intervals) if intervals > 0 else np.nan
    return spaced, step


@implements(np.logspace)
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Return powers of a base, with equally spaced exponents.

    Parameters
    ----------
    start, stop : array_like or Var
        The exponents at the ends.
    base : array_like or Var
        Broadcasts with the ends.
    num, endpoint, dtype, axis
        Same as for `linspace`.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If the shapes do not broadcast, there is no such axis, or ``num`` is negative.
    DTypeError
        If ``num`` is not an int, or ``dtype`` holds no numbers.

    Examples
    --------
    >>> import tape
    >>> tape.ops.logspace(0.0, 2.0, 3)
    array([  1.,  10., 100.])
    """
    start, stop, base = (as_operand(x) for x in (start, stop, base))
    kind = None if dtype is None else as_dtype("logspace", dtype)
    if np.ndim(base):
        ndim = len(shared_shape("logspace", start, stop, base))
        start, stop, base = (
            reshape(x, (1,) * (ndim - np.ndim(x)) + np.shape(x)) if np.ndim(x) < ndim else x
            for x in (start, stop, base)
        )
    spaced = linspace(start, stop, num, endpoint, axis=axis)
    powers = power(expand_dims(base, axis) if np.ndim(base) else base, spaced)
    return powers if kind is None else astype(powers, kind, copy=False)


@implements(np.geomspace)
@composed
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """Return numbers of which each is the same multiple of the one before.

    Parameters
    ----------
    start, stop : array_like or Var
        The ends, of shapes that broadcast; both positive, both negative, or complex.
    num, endpoint, dtype, axis
        Same as for `linspace`.

    Returns
    -------
    numpy.ndarray or Var
        At least float64, unless there is a ``dtype``.

    Raises
    ------
    ShapeError
        If the ends do not broadcast or one is zero, there is no such axis, or ``num`` is negative.
    DTypeError
        If ``num`` is not an int, or ``dtype`` holds no numbers.

    Examples
    --------
    >>> import tape
    >>> tape.ops.geomspace(1.0, 8.0, 4)
    array([1., 2., 4., 8.])
    """
    start, stop = as_operand(start), as_operand(stop)
    kind = np.result_type(start, stop, np.float64) if dtype is None else dtype
    return _between(_geomspace, start, stop, num, endpoint, kind, axis)
