"""Integrals of sampled values, and of functions at fixed points: sums with given weights."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from tape import errors, ops
from tape.core.operands import as_operand, lifted
from tape.ops.structure.indexing import part_along
from tape.scipy._operands import Array, axis_at, inexact, operand, require

__all__ = ["cumulative_simpson", "cumulative_trapezoid", "fixed_quad", "romb", "simpson"]


def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Array:
    """Return the integrals up to each sample, by the trapezoidal rule, as SciPy's function of this name.

    Parameters
    ----------
    y : array_like or Var
        At least one axis, with a sample at least along ``axis``.
    x : array_like or Var, optional
        The positions of the samples: one for each along the axis, or for each element of ``y``.
    dx : scalar or Var
        The distance of samples, without ``x``.
    axis : int
        The axis.
    initial : 0, optional
        Put a zero in front.

    Returns
    -------
    numpy.ndarray or Var
        One element less along the axis than ``y``, or with ``initial`` as many.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If ``initial`` is anything but 0 and None.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.integrate.cumulative_trapezoid([0.0, 2.0, 4.0], initial=0)
    array([0., 1., 4.])
    """
    y = operand(y)
    axis = axis_at(y, axis, "cumulative_trapezoid")
    if not y.shape[axis]:
        raise errors.ShapeError("cumulative_trapezoid: there are no samples. Give one at least")
    widths = as_operand(lifted(dx)) if x is None else _widths(x, y, axis, "cumulative_trapezoid")
    after, before = part_along(y, axis, slice(1, None)), part_along(y, axis, slice(None, -1))
    found = ops.cumsum(widths * (after + before) / 2.0, axis=axis)
    if initial is None:
        return found
    if not np.isscalar(initial) or initial != 0:
        raise errors.OptionError(f"cumulative_trapezoid: initial is {initial!r}. It must be 0 or None")
    return _with_zero(found, axis)


def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Array:
    """Integrate samples by Simpson's rule, with Cartwright's correction for an even number, as SciPy.

    Parameters
    ----------
    y : array_like or Var
        At least one axis.
    x : array_like or Var, optional
        The positions of the samples: one for each along the axis, or for each element of ``y``.
    dx : scalar or Var
        The distance of samples, without ``x``.
    axis : int
        The axis.

    Returns
    -------
    numpy.ndarray or Var
        Without that axis.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np, tape
    >>> x = np.linspace(0.0, 2.0, 5)
    >>> float(tape.scipy.integrate.simpson(x**3, x=x))
    4.0
    """
    y = operand(y)
    axis = axis_at(y, axis, "simpson")
    count = y.shape[axis]
    if not count:
        raise errors.ShapeError("simpson: there are no samples. Give one at least")
    widths = None if x is None else _widths(x, y, axis, "simpson")
    if widths is not None:
        widths = ops.astype(widths, np.result_type(widths.dtype, np.float64))
    dx = as_operand(lifted(dx))
    last = [_at(y, axis, -k) for k in (1, 2, 3) if k <= count]
    if count % 2:
        return _parabolas(y, widths, dx, axis, count - 2)
    if count == 2:
        width = dx if widths is None else _at(widths, axis, -1)
        return 0.5 * width * (last[0] + last[1])
    before, after = [np.float64(1.0) * dx] * 2 if widths is None else [_at(widths, axis, -k) for k in (2, 1)]
    both = after + before
    of_last = _ratio(2 * after**2 + 3 * before * after, 6 * both)
    of_middle = _ratio(after**2 + 3.0 * before * after, 6 * before)
    of_first = _ratio(after**3, 6 * before * both)
    rest = of_last * last[0] + of_middle * last[1] - of_first * last[2]
    return _parabolas(y, widths, dx, axis, count - 3) + rest


def _parabolas(y: Array, widths: Array | None, dx: Any, axis: int, stop: int) -> Array:
    """Return the sum of Simpson's rule over pairs of intervals, the last of which starts before ``stop``."""
    first, middle, last = (part_along(y, axis, slice(k, max(stop, 0) + k, 2)) for k in range(3))
    if widths is None:
        return ops.sum(first + 4.0 * middle + last, axis=axis) * (dx / 3.0)
    before, after = (part_along(widths, axis, slice(k, max(stop, 0) + k, 2)) for k in range(2))
    both, product = before + after, before * after
    ratio = _ratio(before, after)
    weighted = first * (2.0 - _ratio(1.0, ratio)) + middle * (both * _ratio(both, product))
    return ops.sum(both / 6.0 * (weighted + last * (2.0 - ratio)), axis=axis)


def cumulative_simpson(y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Array:
    """Return the integrals up to each sample, by Simpson's rule, as SciPy's function of this name.

    Parameters
    ----------
    y : array_like or Var
        At least one axis.
    x : array_like or Var, optional
        The increasing positions of the samples: one for each along the axis, or for each element of ``y``.
    dx : scalar or Var
        The distance of samples, without ``x``.
    axis : int
        The axis.
    initial : scalar or Var, optional
        A number to put in front, and to add to the others.

    Returns
    -------
    numpy.ndarray or Var
        One element less along the axis than ``y``, or with ``initial`` as many.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If the positions are not increasing.

    Examples
    --------
    >>> import numpy as np, tape
    >>> x = np.linspace(0.0, 2.0, 5)
    >>> tape.scipy.integrate.cumulative_simpson(x**2, x=x) * 24
    array([ 1.,  8., 27., 64.])
    """
    y = inexact(y)
    axis = axis_at(y, axis, "cumulative_simpson")
    count = y.shape[axis]
    if count < 3:
        found = cumulative_trapezoid(y, x, dx, axis)
    else:
        if x is None:
            d = inexact(dx)
            alone = (*y.shape[:axis], 1, *y.shape[axis + 1 :])
            if d.ndim and d.shape != alone:
                raise errors.ShapeError(
                    f"cumulative_simpson: dx has shape {list(d.shape)}. It must be a number, or {list(alone)}"
                )
            widths = ops.broadcast_to(d, (*y.shape[:axis], count - 1, *y.shape[axis + 1 :]))
            rule = _equal_halves
        else:
            widths = _widths(inexact(x), y, axis, "cumulative_simpson")
            require(ops.all(widths > 0), "cumulative_simpson: x must be strictly increasing")
            widths = ops.broadcast_to(widths, (*y.shape[:axis], count - 1, *y.shape[axis + 1 :]))
            rule = _halves
        y, widths = ops.moveaxis(y, axis, 0), ops.moveaxis(widths, axis, 0)
        firsts = rule(y, widths)
        seconds = ops.flip(rule(ops.flip(y, axis=0), ops.flip(widths, axis=0)), axis=0)
        # Each interval is the first one of a parabola or the second one, by turns; the last is a second one.
        position = np.arange(count - 1)
        is_first = (position % 2 == 0) & (position < count - 2)
        joined = ops.concatenate([firsts, seconds])
        chosen = np.where(is_first, position, position - 1 + (count - 2))
        found = ops.moveaxis(ops.cumsum(ops.getitem(joined, chosen), axis=0), 0, axis)
    if initial is None:
        return found
    start = inexact(initial)
    alone = (*found.shape[:axis], 1, *found.shape[axis + 1 :])
    if start.ndim and start.shape != alone:
        raise errors.ShapeError(
            f"cumulative_simpson: initial has shape {list(start.shape)}. It must be a number, or "
            f"{list(alone)}"
        )
    start = ops.broadcast_to(start, alone)
    return ops.concatenate([start, found + start], axis=axis)


def _halves(y: Array, widths: Array) -> Array:
    """Return the integrals over the first interval of each parabola (Cartwright, equation 8)."""
    before, after = widths[:-1], widths[1:]
    share, ratio = before / (before + after), before / after
    product = share * ratio
    total = (3 - share) * y[:-2] + (3 + product + share) * y[1:-1] - product * y[2:]
    return before / 6 * total


def _equal_halves(y: Array, widths: Array) -> Array:
    return widths[:-1] / 3 * (5 * y[:-2] / 4 + 2 * y[1:-1] - y[2:] / 4)


def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: bool = False) -> Array:
    """Integrate ``2**k + 1`` samples by Romberg's method, as `scipy.integrate.romb`.

    Parameters
    ----------
    y : array_like or Var
        At least one axis.
    dx : scalar or Var
        The distance of samples.
    axis : int
        The axis.
    show : bool
        Must be False: SciPy prints its table of plain numbers.

    Returns
    -------
    numpy.ndarray or Var
        Without that axis.

    Raises
    ------
    ShapeError
        If there is another number of samples.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.scipy.integrate.romb(np.linspace(0.0, 1.0, 5) ** 5, dx=0.25).round(12))
    0.166666666667
    """
    if show:
        raise errors.OptionError("romb: show=True is not available. Call scipy.integrate.romb")
    y = operand(y)
    axis = axis_at(y, axis, "romb")
    count = y.shape[axis] - 1
    if count < 1 or count & (count - 1):
        raise errors.ShapeError(f"romb: {count + 1} samples. There must be 2**k + 1")
    h = count * ops.astype(operand(dx), np.float64)
    row = [(_at(y, axis, 0) + _at(y, axis, -1)) / 2.0 * h]
    step = count
    while step > 1:
        middles = ops.sum(part_along(y, axis, slice(step // 2, count, step)), axis=axis)
        after = [0.5 * (row[0] + h * middles)]
        for j, before in enumerate(row, start=1):
            after.append(after[-1] + (after[-1] - before) / (4**j - 1))
        row, step, h = after, step // 2, h / 2.0
    return row[-1]


def fixed_quad(func: Callable[..., Any], a: Any, b: Any, args: Any = (), n: int = 5) -> tuple[Array, None]:
    """Integrate a function by Gaussian quadrature at n points, as `scipy.integrate.fixed_quad`.

    Parameters
    ----------
    func : callable
        ``func(x, *args)`` of a vector of points: values along the last axis.
    a, b : scalar or Var
        The limits, finite.
    args : tuple
        Further arguments of ``func``; those and all that it closes over may be Vars.
    n : int
        The number of points.

    Returns
    -------
    tuple
        The integral, and None.

    Raises
    ------
    OptionError
        If a limit is infinite.

    Examples
    --------
    >>> import numpy as np, tape
    >>> of_cosine = lambda b: tape.scipy.integrate.fixed_quad(np.cos, 0.0, b)[0]
    >>> float(tape.grad(of_cosine)(1.0).round(6))
    0.540302
    """
    from scipy.special import roots_legendre

    a, b = operand(a), operand(b)
    require(
        (ops.abs(a) < inf) & (ops.abs(b) < inf),
        "fixed_quad: the limits must be finite. quad takes infinite ones",
    )
    x, w = roots_legendre(n)
    half = (b - a) / 2.0
    return half * ops.sum(w * operand(func((b - a) * (x + 1) / 2.0 + a, *args)), axis=-1), None


def _widths(x: Any, y: Array, axis: int, what: str) -> Array:
    """Return the distances of samples, to broadcast with their pairs."""
    x = operand(x)
    if x.dtype.kind == "c":
        raise errors.DTypeError(f"{what}: positions are {errors.describe(x)}. They must be real")
    if x.ndim == 1 and x.size == y.shape[axis]:
        widths = [1] * y.ndim
        widths[axis] = x.size - 1
        return ops.reshape(ops.diff(x), tuple(widths))
    if x.ndim != y.ndim or x.shape[axis] != y.shape[axis]:
        raise errors.ShapeError(
            f"{what}: positions of shape {list(x.shape)} for samples of shape {list(y.shape)}. Give one for "
            f"each sample along axis {axis}, or for each element"
        )
    return ops.diff(x, axis=axis)


def _with_zero(found: Array, axis: int) -> Array:
    shape = list(found.shape)
    shape[axis] = 1
    return ops.concatenate([np.zeros(shape, found.dtype), found], axis=axis)


def _at(x: Array, axis: int, place: int) -> Array:
    return ops.getitem(x, (*(slice(None),) * axis, place))


def _ratio(a: Any, b: Any) -> Array:
    """Return the quotient, 0 where the divisor is."""
    is_zero = b == 0
    return ops.where(is_zero, 0.0, a / ops.where(is_zero, 1.0, b))
