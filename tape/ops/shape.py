"""Rearranging: the same elements in another shape, order or dtype."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.batch_rules import elementwise, inner_axes, inner_axis, resolved
from tape.errors import DTypeError, ShapeError
from tape.op import Op, as_operand, cast, implements
from tape.op import broadcast_to as _broadcast_to

__all__ = [
    "astype",
    "broadcast_to",
    "expand_dims",
    "ravel",
    "reshape",
    "squeeze",
    "swapaxes",
    "transpose",
]

Axes = int | tuple[int, ...] | None


def _batch_reshape(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    (x,) = operands
    return op(x, shape=(size, *resolved(attrs["shape"], x.shape[1:])))


def _batch_transpose(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    (x,), axes = operands, attrs["axes"]
    order = range(x.ndim - 1)[::-1] if axes is None else [i % (x.ndim - 1) for i in axes]
    return op(x, axes=(0, *(i + 1 for i in order)))


def _batch_swapaxes(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    return op(*operands, axis1=inner_axis(attrs["axis1"]), axis2=inner_axis(attrs["axis2"]))


def _batch_expand_dims(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    axis = attrs["axis"]
    return op(*operands, axis=tuple(map(inner_axis, axis)) if isinstance(axis, tuple) else inner_axis(axis))


def _batch_squeeze(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    (x,), axis = operands, attrs["axis"]
    if axis is None:
        axis = tuple(i for i, length in enumerate(x.shape[1:]) if length == 1)
    return op(x, axis=inner_axes(axis, x.ndim - 1))


def _lower_swapaxes(b: Any, x: Any, axis1: int, axis2: int) -> Any:
    order = list(range(x.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return b.transpose(x, order)


def _lower_as(name: str) -> Any:
    """What only inserts or removes axes: NumPy knows the shape it leads to."""
    change = getattr(np, name)
    return lambda b, x, axis: b.reshape(x, change(np.broadcast_to(0, x.shape), axis).shape)


_reshape: Op = Op(
    lambda x, *, shape: np.reshape(x, shape),
    name="reshape",
    vjp=[lambda g, out, x, shape: _reshape(g, shape=x.shape)],
    batch=_batch_reshape,
    lower=lambda b, x, shape: b.reshape(x, resolved(shape, x.shape)),
)

_transpose: Op = Op(
    lambda x, *, axes: np.transpose(x, axes),
    name="transpose",
    vjp=[lambda g, out, x, axes: _transpose(g, axes=axes and tuple(np.argsort(np.mod(axes, x.ndim))))],
    batch=_batch_transpose,
    lower=lambda b, x, axes: b.transpose(x, axes),
)

_swapaxes: Op = Op(
    lambda x, *, axis1, axis2: np.swapaxes(x, axis1, axis2),
    name="swapaxes",
    vjp=[lambda g, out, x, axis1, axis2: _swapaxes(g, axis1=axis1, axis2=axis2)],
    batch=_batch_swapaxes,
    lower=_lower_swapaxes,
)

_expand_dims = Op(
    lambda x, *, axis: np.expand_dims(x, axis),
    name="expand_dims",
    vjp=[lambda g, out, x, axis: _reshape(g, shape=x.shape)],
    batch=_batch_expand_dims,
    lower=_lower_as("expand_dims"),
)

_squeeze = Op(
    lambda x, *, axis: np.squeeze(x, axis),
    name="squeeze",
    vjp=[lambda g, out, x, axis: _reshape(g, shape=x.shape)],
    batch=_batch_squeeze,
    lower=_lower_as("squeeze"),
)


def _as_shape(shape: Any) -> tuple[int, ...]:
    try:
        lengths = shape if isinstance(shape, (tuple, list)) else (shape,)
        return tuple(operator.index(length) for length in lengths)
    except TypeError as error:
        raise ShapeError(f"a shape is an int or a sequence of ints, not {shape!r}") from error


@implements(np.reshape)
def reshape(a: Any, shape: int | Sequence[int]) -> Any:
    """The same elements, in C order, in another shape.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    shape : int or sequence of int
        One entry may be -1: whatever is left.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If the number of elements differs.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.reshape(np.arange(4.0), (2, -1))
    array([[0., 1.],
           [2., 3.]])
    """
    return _reshape(a, shape=_as_shape(shape))


@implements(np.ravel)
def ravel(a: Any) -> Any:
    """All elements in one axis, in C order.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.ravel(np.ones((2, 1)))
    array([1., 1.])
    """
    return _reshape(a, shape=(-1,))


@implements(np.transpose)
def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """Permute the axes.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    axes : sequence of int, optional
        A permutation of the axes; by default they are reversed.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If ``axes`` is no permutation of the axes.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.transpose(np.ones((2, 3))).shape
    (3, 2)
    """
    return _transpose(a, axes=None if axes is None else tuple(axes))


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Exchange two axes.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    axis1, axis2 : int
        Which; negative ones count from the end.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.swapaxes(np.ones((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    return _swapaxes(a, axis1=axis1, axis2=axis2)


@implements(np.expand_dims)
def expand_dims(a: Any, axis: int | tuple[int, ...]) -> Any:
    """Insert axes of length one.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    axis : int or tuple of int
        Where they are in the result.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If an axis is out of range or repeated.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.expand_dims(np.ones(3), 0).shape
    (1, 3)
    """
    return _expand_dims(a, axis=axis)


@implements(np.squeeze)
def squeeze(a: Any, axis: Axes = None) -> Any:
    """Remove axes of length one.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    axis : int or tuple of int, optional
        Which; by default all.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If an axis is longer than one.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.squeeze(np.ones((1, 3, 1))).shape
    (3,)
    """
    return _squeeze(a, axis=axis)


@implements(np.broadcast_to)
def broadcast_to(array: Any, shape: int | Sequence[int]) -> Any:
    """Repeat along new axes and axes of length one, without copying.

    Parameters
    ----------
    array : array_like or Var
        Any shape.
    shape : int or sequence of int
        One that ``array`` broadcasts to.

    Returns
    -------
    numpy.ndarray or Var
        Read-only, sharing the memory of ``array``.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.broadcast_to(np.arange(2.0), (2, 2))
    array([[0., 1.],
           [0., 1.]])
    """
    return _broadcast_to(array, shape=_as_shape(shape))


_astype = Op(
    lambda x, *, dtype: x.astype(dtype),
    name="astype",
    batch=elementwise,
    lower=lambda b, x, dtype: b.cast(x, dtype),
)


@implements(np.astype)
def astype(x: Any, dtype: Any) -> Any:
    """Convert to another dtype.

    Parameters
    ----------
    x : array_like or Var
        Any shape.
    dtype : dtype_like
        Of an integer or bool dtype the result is constant to every derivative.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    DTypeError
        If ``dtype`` is of any other kind.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.astype(np.ones(2), np.float32).dtype
    dtype('float32')
    """
    try:
        dtype = np.dtype(dtype)
    except TypeError as error:
        raise DTypeError(f"astype: {error}. Use a NumPy dtype or its name") from error
    if dtype.kind not in "biufc":
        raise DTypeError(f"astype: {dtype} holds neither numbers nor bools")
    x = as_operand(x)
    is_differentiable = dtype.kind in "fc" and np.result_type(x).kind in "fc"
    return (cast if is_differentiable else _astype)(x, dtype=dtype)
