"""Choosing elements by condition, and among several arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tape import errors
from tape.core import pattern_rules, series
from tape.core.batch_rules import elementwise
from tape.core.linear import cast
from tape.core.nesting import plain_batch
from tape.core.op import Op
from tape.core.operands import as_operand, composed
from tape.core.table import implements
from tape.errors import DTypeError, OptionError, ShapeError
from tape.inspect.costs import declare_cost, free
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.selection import equal, where
from tape.ops.structure.indexing import HOLE, getitem, scattered
from tape.ops.structure.layout import own
from tape.ops.structure.positions import checked_axis, checked_positions, flatnonzero
from tape.ops.structure.shape import astype, shared_shape
from tape.ops.structure.taking import take
from tape.ops.structure.writing import set_at

__all__ = ["choose", "compress", "extract", "select", "trim_zeros"]

declare_samples(
    "np.choose(n % 2, [u, w])",
    "np.compress([True, False, True], x, axis=0)",
    "np.extract(mask, x)",
    "np.select([x < 0.5, x < 0.7], [x, 2 * y], 0.0)",
    "np.trim_zeros(v)",
)

# ---- among several arrays ------------------------------------------------------------------------------

_MOST_CHOICES = 64  # the most that NumPy's choose takes


def _choose_jvp(tangents: list[Any], out: Any, index: Any, *choices: Any) -> Any:
    if all(tangent is None for tangent in tangents[1:]):
        return None
    parts = [
        np.zeros(np.shape(choice), out.dtype) if tangent is None else tangent
        for tangent, choice in zip(tangents[1:], choices, strict=True)
    ]
    return cast(_choose(index, *parts), dtype=out.dtype)


def _lower_choose(b: Any, index: Any, *choices: Any) -> Any:
    """Lower to one concatenation of all choices and one read by position, which checks the index."""
    dtype = np.result_type(*(choice.dtype if hasattr(choice, "dtype") else choice for choice in choices))
    values = [b.value(choice, dtype) for choice in choices]
    index = b.value(index, np.int64)
    shape = np.broadcast_shapes(index.shape, *(value.shape for value in values))
    size = prod(shape)
    rows = [b.reshape(b.broadcast(value, shape), (1, size)) for value in values]
    index = b.reshape(b.broadcast(index, shape), (size,))
    at = b.push("ravel_index", [index, b.constant(np.arange(size))], ((len(rows), size), False))
    return b.reshape(b.take(b.reshape(b.concatenate(rows, 0), (len(rows) * size,)), at, 0), shape)


_choose: Op = Op(
    lambda index, *choices: np.choose(index, choices),
    name="choose",
    pattern=pattern_rules.elementwise,
    vjp=lambda g, out, index, *choices: [
        None,
        *(where(equal(index, k), g, 0) for k in range(len(choices))),
    ],
    jvp=_choose_jvp,
    taylor=series.linear,
    batch=elementwise,
    lower=_lower_choose,
)
declare_cost(free, _choose)


@implements(np.choose)
def choose(a: Any, choices: Any, *, mode: str = "raise") -> Any:
    """Choose each element from one of several arrays, by index.

    Parameters
    ----------
    a : array_like or Var
        The number of the array for each element, from 0: data that may change on replay.
    choices : sequence of array_like or Var, or one with an axis more
        The arrays, 64 at most; they broadcast with ``a``.
    mode : {"raise", "wrap", "clip"}
        How to treat numbers out of range: see `take`.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var

    Raises
    ------
    OutOfBoundsError
        If an element of ``a`` is out of range, or no int.
    ShapeError
        If the shapes do not broadcast, or there are no choices or too many.
    OptionError
        If ``mode`` is another one.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.choose([1, 0, 1], [np.zeros(3), np.array([1.0, 2.0, 3.0])])
    array([1., 0., 3.])
    """
    a = as_operand(a)
    count = len(choices)
    if not 1 <= count <= _MOST_CHOICES:
        raise ShapeError(
            f"choose: there are {count} choices. It takes 1 to {_MOST_CHOICES}; stack them, and use "
            "take_along_axis"
        )
    arrays = [as_operand(choices[k]) for k in range(count)] if isinstance(choices, (list, tuple)) else None
    shapes = [np.shape(x) for x in arrays] if arrays is not None else [np.shape(choices)[1:]]
    try:
        np.broadcast_shapes(np.shape(a), *shapes)
    except ValueError as error:
        raise errors.explain("choose", (a, *(arrays or [choices])), error) from error
    index = checked_positions("choose", a, 0, count, mode)
    return _choose(index, *(arrays or [getitem(choices, k) for k in range(count)]))


@implements(np.select)
@composed
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """Choose each element from the first array whose condition holds.

    Parameters
    ----------
    condlist : sequence of array_like or Var
        Conditions: bools.
    choicelist : sequence of array_like or Var
        One for each condition; all shapes broadcast.
    default : array_like or Var
        The value where no condition holds.

    Returns
    -------
    numpy.ndarray or Var
        Elements that were not selected have derivative 0.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast, or there are not as many choices as conditions, or none.
    DTypeError
        If a condition is no bool, or the choices have no common dtype.

    Examples
    --------
    >>> import numpy as np, tape
    >>> x = np.array([-2.0, 0.5, 3.0])
    >>> tape.ops.select([x < 0, x < 1], [-x, x], 1.0)
    array([2. , 0.5, 1. ])
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ShapeError(
            f"select: there are {len(condlist)} conditions and {len(choicelist)} choices. Give as many of "
            "both"
        )
    conditions = [as_operand(condition) for condition in condlist]
    choices = [as_operand(choice) for choice in (*choicelist, default)]
    for k, condition in enumerate(conditions):
        if np.result_type(condition).kind != "b":
            raise DTypeError(f"select: condition {k} is {errors.describe(condition)}. It must hold bools")
    dtype = np.result_type(*choices)
    shared_shape("select", *conditions, *choices)
    *typed, out = [x if np.result_type(x) == dtype else astype(x, dtype) for x in choices]
    for condition, choice in zip(conditions[::-1], typed[::-1], strict=True):
        out = where(condition, choice, out)
    return own(out, tuple(range(np.ndim(out))))


# ---- by condition --------------------------------------------------------------------------------------


def _chosen(name: str, condition: Any, a: Any, axis: int | None) -> Any:
    """Return the elements along an axis, or of the flattened array, where a condition of one axis holds."""
    a = as_operand(a)
    shape = np.shape(a)
    length = np.size(a) if axis is None else shape[checked_axis(name, shape, axis)]
    count = np.size(condition)
    if count > length:  # a batch of conditions has its axis in front
        beyond = np.reshape(plain_batch(condition), (-1, count))[:, length:]
        checked_positions(name, np.argwhere(beyond)[:, 1] + length, 0, length)
    return take(a, flatnonzero(condition), axis)


@implements(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None) -> Any:
    """Return the elements along an axis where a condition holds.

    Parameters
    ----------
    condition : array_like or Var
        One axis, not longer than that of ``a``; data that may change on replay.
    a : array_like or Var
        Any shape.
    axis : int, optional
        By default the array is flattened.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    OutOfBoundsError
        If the condition holds beyond the end.
    ShapeError
        If there is no such axis, or the condition has not one.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.compress([True, False, True], np.arange(3.0))
    array([0., 2.])
    """
    condition = as_operand(condition)
    if np.ndim(condition) != 1:
        raise ShapeError(f"compress: the condition is {errors.describe(condition)}. It must have one axis")
    return _chosen("compress", condition, a, axis)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """Return the elements of a flattened array where a flattened condition holds. Otherwise like `compress`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.extract([[True, False], [False, True]], np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([1., 4.])
    """
    return _chosen("extract", as_operand(condition), arr, None)


def _span(x: Any, *, axis: int, trim: str) -> Any:
    is_zero = np.logical_not(np.any(x, axis=tuple(i for i in range(x.ndim) if i != axis)))
    kept = np.flatnonzero(~is_zero)
    if not kept.size:
        return kept
    return np.arange(kept[0] if "f" in trim else 0, kept[-1] + 1 if "b" in trim else x.shape[axis])


def _lower_span(b: Any, x: Any, axis: int, trim: str) -> Any:
    others = tuple(i for i in range(x.ndim) if i != axis)
    kept = b.value(x, bool)
    kept, length = b.fold("any", kept, others) if others else kept, x.shape[axis]
    if not length:
        b.refuse("nothing to trim")
    flags = b.cast(kept, np.float64)
    first = b.fold("argmax", flags) if "f" in trim else b.literal(0)
    last = b.fold("argmax", b.read(flags, (slice(None, None, -1),))) if "b" in trim else b.literal(0)
    count = b.where(b.fold("any", kept), length - last - first, 0)
    b.guard_length(count, 0)
    return first + b.positions(b.shape, 0)


_span_of = Op(_span, name="span", lower=_lower_span, data_dependent=True)


def _trimmed_forward(x: Any, span: Any, *, axis: int) -> Any:
    kept = slice(span[0], span[-1] + 1) if span.size else slice(0)
    return x[(*(slice(None),) * axis, kept)]


# Reading by positions would give the same elements, but not a view.
_trimmed: Op = Op(
    _trimmed_forward,
    name="trimmed",
    vjp=[
        lambda g, out, x, span, axis: scattered(g, span, index=(*(slice(None),) * axis, HOLE), shape=x.shape),
        None,
    ],
    linear=True,
    view=lambda x, part, span, axis: set_at(x, part, (*(slice(None),) * axis, span)),
    lower=lambda b, x, span, axis: b.read(x, (*(slice(None),) * axis, span)),
)


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Any:
    """Remove the zeros at both ends, or the slices of zeros at both ends of an axis.

    Parameters
    ----------
    filt : array_like or Var
        Any shape.
    trim : {"fb", "f", "b"}
        Whether to trim the front, the back, or both.
    axis : int or sequence of int, optional
        All axes by default.

    Returns
    -------
    numpy.ndarray or Var
        A view.

    Raises
    ------
    ShapeError
        If there is no such axis.
    OptionError
        If ``trim`` is another one.

    Examples
    --------
    >>> import tape
    >>> tape.ops.trim_zeros([0.0, 1.0, 0.0, 2.0, 0.0])
    array([1., 0., 2.])
    """
    x = as_operand(filt)
    if trim.lower() not in ("fb", "bf", "f", "b"):
        raise OptionError(f"trim_zeros: trim={trim!r}. It must be 'fb', 'f' or 'b'")
    shape = np.shape(x)
    given = range(len(shape)) if axis is None else axis if isinstance(axis, Sequence) else (axis,)
    axes = [checked_axis("trim_zeros", shape, i) for i in given]
    spans = [_span_of(x, axis=i, trim=trim.lower()) for i in axes]
    for i, span in zip(axes, spans, strict=True):
        x = _trimmed(x, span, axis=i)
    return x
