"""Linear filters: recurrences with constant coefficients along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors, ops
from tape.core.op import Op
from tape.inspect.costs import declare_cost
from tape.ops.reduction.recurrences import linear_recurrence
from tape.ops.structure.indexing import part_along
from tape.scipy._operands import Array, axis_at, inexact, require
from tape.scipy._sliding import slid_along

__all__ = ["coefficients", "lfilter", "lfilter_zi", "sections", "sosfilt", "sosfilt_zi"]


# ---- y[n] = x[n] - a[0] y[n - 1] - a[1] y[n - 2] - ... -----------------------------------------------


def _forward(a: Any, x: Any, *, axis: int) -> Any:
    from scipy import signal

    dtype = np.result_type(a, x)
    wide = np.result_type(dtype, np.float32)  # there is no filter of float16
    one = np.ones(1, wide)
    return signal.lfilter(one, np.concatenate([one, a]), x.astype(wide), axis).astype(dtype)


def _delayed(y: Array, count: int, axis: int) -> Array:
    """Return a signal so many samples later, after zeros."""
    widths = [(0, 0)] * y.ndim
    widths[axis] = (count, 0)
    return ops.pad(part_along(y, axis, slice(0, max(y.shape[axis] - count, 0))), widths)[
        (*(slice(None),) * axis, slice(0, y.shape[axis]))
    ]


def _vjp(g: Any, y: Any, a: Any, x: Any, axis: int) -> list[Any]:
    back = ops.flip(_all_pole(a, ops.flip(g, axis=axis), axis=axis), axis=axis)
    by_a = [-ops.sum(back * _delayed(y, k + 1, axis)) for k in range(a.shape[0])]
    return [ops.stack(by_a), back]


def _by_a(t: Any, y: Any, a: Any, x: Any, axis: int) -> Any:
    moved = sum((t[k] * _delayed(y, k + 1, axis) for k in range(a.shape[0])), start=0.0)
    return -_all_pole(a, moved, axis=axis)


def _batch(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    a, x = operands
    if not is_batched[0]:
        return op(a, x, axis=attrs["axis"] + 1)
    if not size:
        return np.zeros((0, *x.shape[is_batched[1] :]), x.dtype)
    return ops.stack([op(a[k], x[k] if is_batched[1] else x, **attrs) for k in range(size)])


_all_pole: Op = Op(
    _forward,
    name="all_pole",
    vjp=_vjp,
    jvp=[_by_a, lambda t, y, a, x, axis: _all_pole(a, t, axis=axis)],
    batch=_batch,
    data_dependent=False,
    doc="A signal after a filter that has poles alone.",
)
declare_cost(lambda out, shapes, attrs: 2.0 * shapes[0][0] * float(np.prod(out)), _all_pole)


def _recursive(a: Array, x: Array, axis: int) -> Array:
    """Return the signal after the filter ``1 / (1 + a[0] z^-1 + ...)``."""
    if a.shape[0] == 0 or not x.size:
        return x
    if a.shape[0] == 1:  # an instruction of programs
        return linear_recurrence(ops.broadcast_to(-a, x.shape), x, axis=axis, backwards=False)
    return _all_pole(a, x, axis=axis)


# ---- filters ---------------------------------------------------------------------------------------


def coefficients(b: Any, a: Any, what: str) -> tuple[Array, Array]:
    b, a = (ops.reshape(c, (1,)) if not c.ndim else c for c in (inexact(b), inexact(a)))
    if b.ndim != 1 or a.ndim != 1 or not a.size or not b.size:
        raise errors.ShapeError(
            f"{what}: coefficients of shapes {list(b.shape)} and {list(a.shape)}. Both must be vectors"
        )
    require(a[0] != 0, f"{what}: the first coefficient of a is 0. Divide by another one, or drop it")
    return b / a[0], a / a[0]


def _padded(c: Array, size: int) -> Array:
    return ops.pad(c, [(0, size - c.shape[0])]) if c.shape[0] < size else c


def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter a signal along an axis, as `scipy.signal.lfilter`.

    Parameters
    ----------
    b, a : array_like or Var
        The coefficients of numerator and denominator.
    x : array_like or Var
        The signal, of any shape.
    axis : int
        The axis.
    zi : array_like or Var, optional
        The initial state: ``max(len(a), len(b)) - 1`` along the axis, and otherwise of the shape of ``x``, or
        one that broadcasts to it.

    Returns
    -------
    numpy.ndarray or Var, or a pair
        The signal after the filter; with ``zi`` also the final state.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If the first coefficient of ``a`` is 0.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.signal.lfilter([1.0], [1.0, -0.5], [1.0, 0.0, 0.0])
    array([1.  , 0.5 , 0.25])
    >>> last = lambda a: tape.scipy.signal.lfilter([1.0], a, np.eye(3)[0])[-1]
    >>> tape.grad(last)(np.array([1.0, -0.5])).round(12)
    array([-0.75, -1.  ])
    """
    b, a = coefficients(b, a, "lfilter")
    x = inexact(x)
    axis = axis_at(x, axis, "lfilter")
    order = max(b.shape[0], a.shape[0]) - 1
    dtype = np.result_type(b.dtype, a.dtype, x.dtype)
    state = None
    if zi is not None:
        state = inexact(zi)
        dtype = np.result_type(dtype, state.dtype)
        wanted = (*x.shape[:axis], order, *x.shape[axis + 1 :])
        if state.ndim != x.ndim or state.shape[axis] != order:
            raise errors.ShapeError(
                f"lfilter: zi has shape {list(state.shape)}. It must be {list(wanted)}, or broadcast to it"
            )
        state = ops.broadcast_to(state, wanted)
    b, a, x = (c if c.dtype == dtype else ops.astype(c, dtype) for c in (b, a, x))
    count = x.shape[axis]
    widths = [(0, 0)] * x.ndim
    widths[axis] = (b.shape[0] - 1, 0)
    sums = slid_along(ops.pad(x, widths), ops.flip(b), axis) if x.size else x
    if state is not None and order:
        widths[axis] = (0, max(count - order, 0))
        sums = sums + part_along(ops.pad(state, widths), axis, slice(0, count))
    y = _recursive(a[1:], sums, axis)
    if state is None:
        return y
    if not order:
        return y, state
    left = [_beyond(c, signal, order, axis) for c, signal in ((b, x), (a, y))]
    final = left[0] - left[1]
    if count < order:  # what of the initial state has not come out yet
        widths[axis] = (0, count)
        final = final + ops.pad(part_along(state, axis, slice(count, None)), widths)
    return y, final


def _beyond(c: Array, x: Array, order: int, axis: int) -> Array:
    """Return the sums of products that reach beyond the end of a signal."""
    widths = [(0, 0)] * x.ndim
    widths[axis] = (max(order - x.shape[axis], 0), order)
    tail = part_along(x, axis, slice(max(x.shape[axis] - order, 0), None))
    return slid_along(ops.pad(tail, widths), ops.flip(_padded(c, order + 1)), axis)


def lfilter_zi(b: Any, a: Any) -> Array:
    """Return the state of a filter after a long constant 1, as `scipy.signal.lfilter_zi`.

    Parameters
    ----------
    b, a : array_like or Var
        The coefficients of numerator and denominator.

    Returns
    -------
    numpy.ndarray or Var
        ``(max(len(a), len(b)) - 1,)``.

    Raises
    ------
    ShapeError
        If the coefficients are no vectors.
    OptionError
        If the first coefficient of ``a`` is 0.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.signal.lfilter_zi([1.0], [1.0, -0.5])
    array([1.])
    """
    b, a = coefficients(b, a, "lfilter_zi")
    size = max(b.shape[0], a.shape[0])
    b, a = _padded(b, size), _padded(a, size)
    moved = b[1:] - a[1:] * b[0]
    first = ops.sum(moved) / ops.sum(a)
    totals = ops.cumsum(a)[:-1] * first
    return totals - ops.concatenate([np.zeros(min(1, size - 1), moved.dtype), ops.cumsum(moved)[:-1]])


def sections(sos: Any, what: str) -> Array:
    sos = inexact(sos)
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise errors.ShapeError(f"{what}: sos has shape {list(sos.shape)}. It must be (sections, 6)")
    require(ops.all(sos[:, 3] == 1), f"{what}: sos[:, 3] must be 1 in all sections")
    return sos


def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter a signal by sections of second order, one after the other, as `scipy.signal.sosfilt`.

    Parameters
    ----------
    sos : array_like or Var
        ``(sections, 6)``: three coefficients of the numerator, and three of the denominator, the first one 1.
    x : array_like or Var
        The signal, of any shape.
    axis : int
        The axis.
    zi : array_like or Var, optional
        The initial state, ``(sections, ..., 2, ...)``.

    Returns
    -------
    numpy.ndarray or Var, or a pair
        The signal after the filter; with ``zi`` also the final state.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If a denominator does not start with 1.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.signal.sosfilt([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]], [1.0, 0.0, 0.0])
    array([1.  , 0.5 , 0.25])
    """
    sos, y = sections(sos, "sosfilt"), inexact(x)
    axis = axis_at(y, axis, "sosfilt")
    if zi is None:
        for section in range(sos.shape[0]):
            y = lfilter(sos[section, :3], sos[section, 3:], y, axis)
        return y
    state = inexact(zi)
    wanted = (sos.shape[0], *y.shape[:axis], 2, *y.shape[axis + 1 :])
    if state.shape != wanted:
        raise errors.ShapeError(f"sosfilt: zi has shape {list(state.shape)}. It must be {list(wanted)}")
    finals = []
    for section in range(sos.shape[0]):
        y, final = lfilter(sos[section, :3], sos[section, 3:], y, axis, state[section])
        finals.append(final)
    return y, ops.stack(finals)


def sosfilt_zi(sos: Any) -> Array:
    """Return the state of sections after a long constant 1, as `scipy.signal.sosfilt_zi`.

    Parameters
    ----------
    sos : array_like or Var
        ``(sections, 6)``.

    Returns
    -------
    numpy.ndarray or Var
        ``(sections, 2)``.

    Raises
    ------
    ShapeError, OptionError
        As `sosfilt`.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.signal.sosfilt_zi([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]])
    array([[1., 0.]])
    """
    sos = sections(sos, "sosfilt_zi")
    scale: Any = 1.0
    states = []
    for section in range(sos.shape[0]):
        b, a = sos[section, :3], sos[section, 3:]
        states.append(scale * lfilter_zi(b, a))
        scale = scale * (ops.sum(b) / ops.sum(a))
    return ops.stack(states)
