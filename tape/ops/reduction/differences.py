"""Differences between neighbours along an axis, and slopes by them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.core.batch_rules import along_axes
from tape.core.linear import broadcast_to as _broadcast_to
from tape.core.node import Handle
from tape.core.op import Op
from tape.core.operands import as_operand, composed
from tape.core.table import implements
from tape.errors import DTypeError, OptionError, ShapeError, describe
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.arithmetic import divide, multiply
from tape.ops.reduction.axes import operand_and_axis
from tape.ops.structure.indexing import index_along, part_along
from tape.ops.structure.joining import concatenate
from tape.ops.structure.layout import own, slowest_first
from tape.ops.structure.shape import astype, ravel, reshape

__all__ = ["diff", "ediff1d", "gradient"]

declare_samples(
    "np.diff(x, axis=1)",
    "np.ediff1d(v, to_end=c)",
    "np.gradient(x, 0.1, axis=1)",
)


# ---- differences -----------------------------------------------------------------------------------


def _lower_diff(b: Any, x: Any, n: int, axis: int) -> Any:
    name = "not_equal" if x.dtype.kind == "b" else "subtract"
    for _ in range(n):
        after, before = (
            b.read(x, index_along(axis % x.ndim, part)) for part in (slice(1, None), slice(None, -1))
        )
        x = b.elementwise(name, after, before)
    return x


def _diff_back_forward(g: Any, *, n: int, axis: int) -> np.ndarray:
    g = np.moveaxis(g, axis, 0)
    for _ in range(n):
        longer = np.zeros((len(g) + 1, *g.shape[1:]), g.dtype)
        longer[1:] = g
        longer[:-1] -= g
        g = longer
    return np.moveaxis(g, 0, axis)


def _lower_diff_back(b: Any, g: Any, n: int, axis: int) -> Any:
    axis %= g.ndim
    edge = b.broadcast(b.literal(0, g.dtype), tuple(1 if i == axis else m for i, m in enumerate(g.shape)))
    for _ in range(n):
        g = b.concatenate([edge, g], axis) - b.concatenate([g, edge], axis)
    return g


def _diff_vjp(g: Any, out: Any, x: Any, n: int, axis: int) -> Any:
    if not out.size:  # n may exceed the number of steps
        return np.zeros(x.shape, x.dtype)
    return _diff_back(g, n=n, axis=axis)


def _pattern_diff(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
    """Pattern rule of both directions: neighbours join, as often as differences are taken."""
    x = np.moveaxis(operands[0], attrs["axis"], -1)
    for _ in range(attrs["n"]):
        if op is not diff_along:
            x = np.pad(x, [*[(0, 0)] * (x.ndim - 1), (1, 1)])
        x = sets.union(x[..., 1:], x[..., :-1])
    return np.moveaxis(x, -1, attrs["axis"])


diff_along: Op = Op(
    lambda x, *, n, axis: np.diff(x, n=n, axis=axis),
    name="diff",
    pattern=_pattern_diff,
    vjp=[_diff_vjp],
    linear=True,
    batch=along_axes,
    lower=_lower_diff,
)
_diff_back: Op = Op(
    _diff_back_forward,
    name="diff_back",
    pattern=_pattern_diff,
    vjp=[lambda g, out, x, n, axis: diff_along(g, n=n, axis=axis)],
    linear=True,
    batch=along_axes,
    lower=_lower_diff_back,
)


def _edge(name: str, edge: Any, a: Any, axis: int) -> Any:
    """Return the array to prepend or append along an axis."""
    edge = as_operand(edge)
    shape, given = list(np.shape(a)), list(np.shape(edge))
    if not given:
        shape[axis] = 1
        return shape, edge
    if len(given) != len(shape) or any(
        m != n for i, (m, n) in enumerate(zip(given, shape, strict=True)) if i != axis % len(shape)
    ):
        raise ShapeError(f"diff: {name} of shape {given} does not continue {shape} along axis {axis}")
    return given, edge


@implements(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Return the differences between neighbours along an axis.

    Parameters
    ----------
    a : array_like or Var
        At least one axis.
    n : int
        The number of times differences are taken.
    axis : int
        The axis; negative ones count from the end.
    prepend, append : array_like or Var, optional
        Values to prepend or append to ``a`` first: a number, or an array that continues it. They are
        differentiated too.

    Returns
    -------
    numpy.ndarray or Var
        Shorter by ``n`` along the axis. Of bools, whether neighbours differ.

    Raises
    ------
    ShapeError
        If there is no such axis, or an edge does not fit.
    OptionError
        If ``n`` is negative.

    Examples
    --------
    >>> import tape
    >>> tape.ops.diff([1.0, 4.0, 9.0])
    array([3., 5.])
    >>> tr = tape.Trace()
    >>> tr.backward_param_grads(tape.ops.diff(tr.param([1.0, 4.0, 9.0]), prepend=0.0))
    [array([0., 0., 1.])]
    """
    n = operator.index(n)
    if n < 0:
        raise OptionError(f"diff: n={n}. It must not be negative")
    a, axis = operand_and_axis("diff", a, axis)
    if n == 0:
        return a
    edges = [
        None if edge is None else _edge(name, edge, a, axis)
        for name, edge in (("prepend", prepend), ("append", append))
    ]
    before, after = ([] if edge is None else [_broadcast_to(edge[1], shape=tuple(edge[0]))] for edge in edges)
    if before or after:
        a = concatenate([*before, a, *after], axis=axis)
    return diff_along(a, n=n, axis=axis)


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Return the differences between neighbours in the flattened array.

    Parameters
    ----------
    ary : array_like or Var
        Any shape; no bools.
    to_end, to_begin : array_like or Var, optional
        Numbers to put after or before the differences.

    Returns
    -------
    numpy.ndarray or Var
        One axis, of the dtype of ``ary``.

    Raises
    ------
    DTypeError
        If ``ary`` holds bools, or a number does not fit its dtype.

    Examples
    --------
    >>> import tape
    >>> tape.ops.ediff1d([1.0, 4.0, 9.0], to_begin=0.0)
    array([0., 3., 5.])
    """
    ary = as_operand(ary)
    dtype = np.result_type(ary)
    if dtype.kind == "b":
        raise DTypeError("ediff1d of bools is not defined. Use diff, which finds where they change")
    ends = []
    for name, end in (("to_begin", to_begin), ("to_end", to_end)):
        if end is not None and not np.can_cast(np.result_type(end := as_operand(end)), dtype, "same_kind"):
            raise DTypeError(f"ediff1d: {name} is {describe(end)}, which {dtype} cannot hold")
        ends.append([] if end is None else [end])
    flat = ravel(ary)
    steps = diff_along(flat, n=1, axis=0) if flat.shape[0] else flat
    if ends == [[], []]:
        return steps
    before, after = ([astype(ravel(part), dtype) for part in end] for end in ends)
    return concatenate([*before, steps, *after])


# ---- slopes ----------------------------------------------------------------------------------------


def _spacings(f: Any, given: Sequence[Any], axes: Sequence[int]) -> list[Any]:
    """Return, for each axis, the distance between neighbours, or an array of the distances."""
    shape = np.shape(f)
    if not given:
        return [1.0] * len(axes)
    if len(given) == 1 and np.ndim(given[0]) == 0:
        return [as_operand(given[0])] * len(axes)
    if len(given) != len(axes):
        raise OptionError(
            f"gradient got {len(given)} spacings for {len(axes)} axes. Give one, or one for each axis"
        )
    operands = [as_operand(spacing) for spacing in given]
    for positions, axis in zip(operands, axes, strict=True):
        if np.ndim(positions) and np.shape(positions) != (shape[axis],):
            raise ShapeError(
                f"gradient: positions of shape {list(np.shape(positions))} for {shape[axis]} elements along "
                f"axis {axis}. Give a distance, or one position for each element"
            )
    return [_distances(operand) if np.ndim(operand) else operand for operand in operands]


def _distances(positions: Any) -> Any:
    if np.result_type(positions).kind in "iu":
        positions = astype(positions, np.float64)  # differences of unsigned ones would wrap
    steps = diff_along(positions, n=1, axis=0)
    if isinstance(steps, Handle) and not steps.trace.is_program:
        return steps  # even if they are equal now, each one has its own derivative
    return steps[0] if (steps == steps[0]).all() else steps  # in a program that is a guard


def _weights(spacing: Any, edge_order: int, ndim: int, axis: int) -> tuple[Any, Any, Any]:
    """Return the weights of three elements: for the first one, for those within, and for the last one.

    Second order for uneven steps: Fornberg 1988.
    """
    if not np.ndim(spacing):
        if edge_order == 1:
            return None, None, None
        inverse = [(-1.5, 2.0, -0.5), (0.5, -2.0, 1.5)]
        first, last = ([number / spacing for number in numbers] for numbers in inverse)
        return first, None, last
    before, after = spacing[:-1], spacing[1:]
    both = before + after
    inner = [-after / (before * both), (after - before) / (before * after), before / (after * both)]
    shape = [1] * ndim
    shape[axis] = -1
    within = [reshape(weight, shape) for weight in inner]
    if edge_order == 1:
        return None, within, None
    h, k = spacing[0], spacing[1]
    first = [-(2.0 * h + k) / (h * (h + k)), (h + k) / (h * k), -h / (k * (h + k))]
    h, k = spacing[-2], spacing[-1]
    last = [k / (h * (h + k)), -(k + h) / (h * k), (2.0 * k + h) / (k * (h + k))]
    return first, within, last


def _slopes(f: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    """Return differences over two steps, and at the ends over one or, of second order, of three elements."""

    def part(start: int | None, stop: int | None) -> Any:
        return part_along(f, axis, slice(start, stop))

    def combined(weights: Any, parts: Sequence[Any]) -> Any:
        a, b, c = (multiply(weight, x) for weight, x in zip(weights, parts, strict=True))
        return a + b + c

    first, within, last = _weights(spacing, edge_order, f.ndim, axis)
    ends = (spacing, spacing) if not np.ndim(spacing) else (spacing[0], spacing[-1])
    left = (
        divide(part(1, 2) - part(0, 1), ends[0])
        if first is None
        else combined(first, [part(0, 1), part(1, 2), part(2, 3)])
    )
    inner = (
        divide(part(2, None) - part(None, -2), 2.0 * spacing)
        if within is None
        else combined(within, [part(None, -2), part(1, -1), part(2, None)])
    )
    right = (
        divide(part(-1, None) - part(-2, -1), ends[1])
        if last is None
        else combined(last, [part(-3, -2), part(-2, -1), part(-1, None)])
    )
    slopes = concatenate([astype(piece, f.dtype) for piece in (left, inner, right)], axis=axis)
    return own(slopes, slowest_first(f))


@implements(np.gradient)
@composed
def gradient(f: Any, *varargs: Any, axis: int | tuple[int, ...] | None = None, edge_order: int = 1) -> Any:
    """Return the slopes of sampled values, by differences of second order.

    Parameters
    ----------
    f : array_like or Var
        At least ``edge_order + 1`` samples along each axis.
    *varargs : scalar, array_like or Var
        The distance of samples: one for all axes, or one for each; or the positions of the samples
        along an axis. They are differentiated too.
    axis : int or tuple of int, optional
        The axes; by default all.
    edge_order : {1, 2}
        Order of the differences at the ends.

    Returns
    -------
    numpy.ndarray or Var, or a tuple of them
        Array of the shape of ``f``, for each axis.

    Raises
    ------
    DTypeError
        If ``f`` holds bools.
    ShapeError
        If there is no such axis, too few samples along it, or not as many positions.
    OptionError
        If the spacings are not as many as the axes, or ``edge_order`` is another one.

    Examples
    --------
    >>> import tape
    >>> tape.ops.gradient([1.0, 4.0, 9.0, 16.0])
    array([3., 4., 6., 7.])
    """
    f = as_operand(f)
    if np.result_type(f).kind == "b":
        raise DTypeError("gradient of bools is not defined. Convert them by astype(float)")
    ndim = np.ndim(f)
    chosen = range(ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [operand_and_axis("gradient", f, i)[1] % ndim for i in chosen]
    if edge_order not in (1, 2):
        raise OptionError(f"gradient: edge_order={edge_order}. It must be 1 or 2")
    for i in axes:
        if np.shape(f)[i] <= edge_order:
            raise ShapeError(
                f"gradient needs {edge_order + 1} elements along axis {i} of shape {list(np.shape(f))}"
            )
    spacings = _spacings(f, varargs, axes)
    if np.result_type(f).kind not in "fc":
        f = astype(f, np.float64)
    slopes = tuple(_slopes(f, spacing, i, edge_order) for i, spacing in zip(axes, spacings, strict=True))
    return slopes[0] if len(slopes) == 1 else slopes
