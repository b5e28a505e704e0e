"""Changing the shape or dtype of arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tape import errors
from tape.core import pattern_rules
from tape.core.batch_rules import elementwise, inner_axes, inner_axis, resolved
from tape.core.failures import NUMPY_ERRORS
from tape.core.linear import broadcast_to as _broadcast_to
from tape.core.linear import cast
from tape.core.node import Handle, plain
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.specialise import specialised
from tape.core.table import implements
from tape.errors import DTypeError, OptionError, ShapeError
from tape.inplace.aliases import layout_matters, memory_of
from tape.inspect.costs import declare_cost, free
from tape.inspect.samples import declare_samples
from tape.ops.structure.axes import swapaxes as swapaxes
from tape.ops.structure.axes import transpose as transpose
from tape.ops.structure.layout import copy as copy
from tape.ops.structure.layout import copy as copy_of  # `copy` is an argument of some functions
from tape.ops.structure.layout import is_laid_out, slowest_first, slowest_read_first

__all__ = ["astype", "broadcast_to", "expand_dims", "ravel", "reshape", "squeeze"]

declare_samples(
    "np.astype(x, np.float64)",
    "np.broadcast_to(v, x.shape)",
    "np.expand_dims(x, 1)",
    "np.ravel(x)",
    "np.reshape(x, (2, -1))",
    "np.squeeze(x[:, None])",
)

Axes = int | tuple[int, ...] | None


def repeated(operand: Any, is_batched: bool, size: int) -> Any:
    """Return an operand of a batch rule with the axis of the batch, repeated along it if it has none."""
    return operand if is_batched else _broadcast_to(operand, shape=(size, *np.shape(operand)))


def _batch_reshape(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    (x,) = operands
    return op(x, shape=(size, *resolved(attrs["shape"], x.shape[1:])))


def _batch_fortran(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    """Batch rule with the batch as the last axis, which is the slowest in Fortran order."""
    (x,) = operands
    shape = (*resolved(attrs["shape"], x.shape[1:]), size)
    last = op(transpose(x, (*range(1, x.ndim), 0)), shape=shape)
    return transpose(last, (-1, *range(len(shape) - 1)))


def _batch_expand_dims(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    axis = attrs["axis"]
    return op(*operands, axis=tuple(map(inner_axis, axis)) if isinstance(axis, tuple) else inner_axis(axis))


def _batch_squeeze(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    (x,), axis = operands, attrs["axis"]
    if axis is None:
        axis = tuple(i for i, length in enumerate(x.shape[1:]) if length == 1)
    return op(x, axis=inner_axes(axis, x.ndim - 1))


def _lower_as(name: str) -> Any:
    """Lower a function that only inserts or removes axes: NumPy computes the resulting shape."""
    change = getattr(np, name)
    return lambda b, x, axis: b.reshape(x, change(np.broadcast_to(0, x.shape), axis).shape)


reshape_op: Op = Op(
    lambda x, *, shape: x.reshape(shape) if type(x) is np.ndarray else np.reshape(x, shape),
    name="reshape",
    pattern=pattern_rules.moves,
    vjp=[lambda g, out, x, shape: reshape_op(g, shape=x.shape)],
    linear=True,
    view=lambda x, part, shape: reshape_op(part, shape=x.shape),
    batch=_batch_reshape,
    lower=lambda b, x, shape: b.reshape(x, resolved(shape, x.shape)),
)

_reshape_fortran: Op = Op(
    lambda x, *, shape: np.reshape(x, shape, order="F"),
    name="reshape",
    pattern=pattern_rules.moves,
    vjp=[lambda g, out, x, shape: _reshape_fortran(g, shape=x.shape)],
    linear=True,
    view=lambda x, part, shape: _reshape_fortran(part, shape=x.shape),
    batch=_batch_fortran,
    lower=lambda b, x, shape: b.transpose(b.reshape(b.transpose(x), resolved(shape, x.shape)[::-1])),
)

_expand_dims = Op(
    lambda x, *, axis: np.expand_dims(x, axis),
    name="expand_dims",
    pattern=pattern_rules.moves,
    vjp=[lambda g, out, x, axis: reshape_op(g, shape=x.shape)],
    linear=True,
    view=lambda x, part, axis: reshape_op(part, shape=x.shape),
    batch=_batch_expand_dims,
    lower=_lower_as("expand_dims"),
)

_squeeze = Op(
    lambda x, *, axis: x.squeeze(axis) if type(x) is np.ndarray else np.squeeze(x, axis),
    name="squeeze",
    pattern=pattern_rules.moves,
    vjp=[lambda g, out, x, axis: reshape_op(g, shape=x.shape)],
    linear=True,
    view=lambda x, part, axis: reshape_op(part, shape=x.shape),
    batch=_batch_squeeze,
    lower=_lower_as("squeeze"),
)
declare_cost(free, _broadcast_to, reshape_op, _reshape_fortran, _expand_dims, _squeeze)


def as_shape(shape: Any) -> tuple[int, ...]:
    """Return an int, or a sequence of ints, as a tuple."""
    try:
        lengths = shape if isinstance(shape, (tuple, list)) else (shape,)
        return tuple(operator.index(length) for length in lengths)
    except TypeError as error:
        raise ShapeError(f"a shape must be an int or a sequence of ints, not {shape!r}") from error


def _is_fortran(a: Any, order: str) -> bool:
    """Return whether elements are taken in Fortran order; for "A" by the memory layout of the array."""
    if order not in ("C", "F", "A"):
        raise OptionError(f"order={order!r}: it must be 'C', 'F' or 'A'")
    if order == "A" and isinstance(a, Handle):
        layout_matters()
        return np.isfortran(memory_of(a))
    return order == "F" or (order == "A" and np.isfortran(a))


@implements(np.reshape)
def reshape(a: Any, /, shape: int | Sequence[int], order: str = "C", *, copy: bool | None = None) -> Any:
    """Return the same elements in another shape.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    shape : int or sequence of int
        One entry may be -1: whatever is left.
    order : {"C", "F", "A"}
        Whether the last index changes fastest, or the first; "A" decides for the first if that is how
        the array lies in memory (on a tape: as it did when it was recorded).
    copy : bool, optional
        True makes an array of its own, False raises if that is needed; None copies where it is.
        A Var is never written to, and so not copied without need.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If the number of elements differs, or ``copy`` is False and there is no view.
    OptionError
        If ``order`` is another one.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.reshape(np.arange(4.0), (2, -1))
    array([[0., 1.],
           [2., 3.]])
    """
    if order == "C" and copy is None:
        return _in_c_order(a, shape)
    a, shape = as_operand(a), as_shape(shape)
    if copy is False:
        layout_matters()
        try:
            np.reshape(plain(a), shape, order=order, copy=False)  # type: ignore[call-overload]
        except NUMPY_ERRORS as error:
            raise errors.explain("reshape", (a,), error) from error
    reshaped = (_reshape_fortran if _is_fortran(a, order) else reshape_op)(a, shape=shape)
    return copy_of(reshaped) if copy else reshaped


@specialised()
def _in_c_order(a: Any, shape: Any) -> Any:
    return reshape_op(as_operand(a), shape=as_shape(shape))


@implements(np.ravel)
def ravel(a: Any, order: str = "C") -> Any:
    """Return all elements along one axis.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    order : {"C", "F", "A", "K"}
        Same as for `reshape`; "K" takes the elements as they lie in memory.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    OptionError
        If ``order`` is another one.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.ravel(np.ones((2, 1)))
    array([1., 1.])
    """
    if (
        order == "C"
        and isinstance(a, Handle)
        and (where := memory_of(a)) is not None
        and where.flags.c_contiguous
    ):
        return _in_c_order(a, -1)
    a = as_operand(a)
    flat = _flattened(a, order)
    is_view = not isinstance(a, Handle) or is_laid_out(a, slowest_first(a, order))
    return flat if is_view else copy(flat, "C")


def _flattened(a: Any, order: str) -> Any:
    if order != "K":
        return (_reshape_fortran if _is_fortran(a, order) else reshape_op)(a, shape=(-1,))
    layout_matters()
    axes = slowest_read_first(a)
    return reshape_op(a if axes == tuple(range(len(axes))) else transpose(a, axes), shape=(-1,))


@implements(np.expand_dims)
@specialised()
def expand_dims(a: Any, axis: int | tuple[int, ...]) -> Any:
    """Insert axes of length one.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    axis : int or tuple of int
        Their positions in the result.

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
@specialised()
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


def broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Return whether one shape broadcasts to another."""
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


def shared_shape(name: str, *operands: Any) -> tuple[int, ...]:
    """Return the shape that operands broadcast to, for the function of this name."""
    try:
        return np.broadcast_shapes(*map(np.shape, operands))
    except NUMPY_ERRORS as error:
        raise errors.explain(name, operands, error) from error


@implements(np.broadcast_to)
@specialised()
def broadcast_to(array: Any, shape: int | Sequence[int], subok: bool = False) -> Any:
    """Repeat along new axes and axes of length one, without copying.

    Parameters
    ----------
    array : array_like or Var
        Any shape.
    shape : int or sequence of int
        One that ``array`` broadcasts to.
    subok : bool
        Without effect: there are no subclasses here.

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
    return _broadcast_to(array, shape=as_shape(shape))


_astype = Op(
    lambda x, *, dtype: x.astype(dtype),
    name="astype",
    batch=elementwise,
    lower=lambda b, x, dtype: b.cast(x, dtype),
)


def as_dtype(name: str, dtype: Any) -> np.dtype[Any]:
    """Return a dtype of numbers or bools, for the function of this name."""
    try:
        dtype = np.dtype(dtype)
    except TypeError as error:
        raise DTypeError(f"{name}: {error}. Use a NumPy dtype or its name") from error
    if dtype.kind not in "biufc":
        raise DTypeError(f"{name}: {dtype} holds neither numbers nor bools")
    return dtype


@implements(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: str | None = None) -> Any:
    """Convert to another dtype.

    Parameters
    ----------
    x : array_like or Var
        Any shape.
    dtype : dtype_like
        A result of an integer or bool dtype is constant to every derivative.
    copy : bool
        False returns what has this dtype already as it is.
    device : {None, "cpu"}
        The position of the axis in the result.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    DTypeError
        If ``dtype`` is of any other kind.
    OptionError
        If there is no such device.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.astype(np.ones(2), np.float32).dtype
    dtype('float32')
    """
    dtype = as_dtype("astype", dtype)
    if device not in (None, "cpu"):
        raise OptionError(f"astype: there is no device {device!r}. It must be 'cpu'")
    x = as_operand(x)
    old = np.result_type(x)
    if not copy and old == dtype:
        return x
    return (cast if dtype.kind in "fc" and old.kind in "fc" else _astype)(x, dtype=dtype)
