"""The order of axes: permuting and moving them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from tape import errors
from tape.core import pattern_rules
from tape.core.batch_rules import inner_axis
from tape.core.failures import NUMPY_ERRORS
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.specialise import specialised
from tape.core.table import implements
from tape.errors import ShapeError
from tape.inspect.costs import declare_cost, free
from tape.inspect.samples import declare_samples

__all__ = ["matrix_transpose", "moveaxis", "permute_dims", "rollaxis", "swapaxes", "transpose"]

declare_samples(
    "np.linalg.matrix_transpose, np.matrix_transpose, np.transpose(x)",
    "np.moveaxis, np.swapaxes(x, 0, 1)",
    "np.rollaxis(x, 1)",
)


def axes_of(name: str, a: Any, axis: Any, *, allow_duplicate: bool = False) -> tuple[int, ...]:
    """Return axes of an operand, counted from the front, for the function of this name."""
    try:
        ndim = a.ndim if hasattr(a, "ndim") else np.ndim(a)  # np.ndim of a Var takes a microsecond
        return normalize_axis_tuple(axis, ndim, allow_duplicate=allow_duplicate)
    except NUMPY_ERRORS as error:
        raise errors.explain(name, (a,), error) from error


def _batch_transpose(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    (x,), axes = operands, attrs["axes"]
    order = range(x.ndim - 1)[::-1] if axes is None else [i % (x.ndim - 1) for i in axes]
    return op(x, axes=(0, *(i + 1 for i in order)))


def _batch_swapaxes(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    return op(*operands, axis1=inner_axis(attrs["axis1"]), axis2=inner_axis(attrs["axis2"]))


def _lower_swapaxes(b: Any, x: Any, axis1: int, axis2: int) -> Any:
    order = list(range(x.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return b.transpose(x, order)


def _turned_back(x: Any, turned: Any, axes: tuple[int, ...] | None) -> Any:
    return transpose_op(turned, axes=axes and tuple(np.argsort(np.mod(axes, x.ndim))))


transpose_op: Op = Op(
    lambda x, *, axes: x.transpose(axes) if type(x) is np.ndarray else np.transpose(x, axes),
    name="transpose",
    pattern=pattern_rules.moves,
    vjp=[lambda g, out, x, axes: _turned_back(x, g, axes)],
    linear=True,
    view=lambda x, part, axes: _turned_back(x, part, axes),
    batch=_batch_transpose,
    lower=lambda b, x, axes: b.transpose(x, axes),
)

_swapaxes: Op = Op(
    lambda x, *, axis1, axis2: (x if type(x) is np.ndarray else np.asarray(x)).swapaxes(axis1, axis2),
    name="swapaxes",
    pattern=pattern_rules.moves,
    vjp=[lambda g, out, x, axis1, axis2: _swapaxes(g, axis1=axis1, axis2=axis2)],
    linear=True,
    view=lambda x, part, axis1, axis2: _swapaxes(part, axis1=axis1, axis2=axis2),
    batch=_batch_swapaxes,
    lower=_lower_swapaxes,
)


declare_cost(free, transpose_op, _swapaxes)


@implements(np.transpose)
@specialised()
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
    given: Any = axes  # NumPy takes a number, too
    if given is not None:
        given = tuple(given) if np.iterable(given) else (given,)
    return transpose_op(a, axes=given)


permute_dims = transpose


@implements(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> Any:
    """Exchange the last two axes.

    Parameters
    ----------
    x : array_like or Var
        At least two axes.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there are fewer axes.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.matrix_transpose(np.ones((4, 2, 3))).shape
    (4, 3, 2)
    """
    x = as_operand(x)
    if np.ndim(x) < 2:
        raise ShapeError(
            f"matrix_transpose: {errors.describe(x)} is neither a matrix nor a stack of matrices"
        )
    return _swapaxes(x, axis1=-1, axis2=-2)


@implements(np.swapaxes)
@specialised()
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


def _moved(move: Callable[..., np.ndarray], a: Any, *where: Any) -> Any:
    """Return the operand with its axes permuted as a function of NumPy's does it.

    The function is run on an array whose strides are the numbers of its axes: they show where each one went.
    """
    a = as_operand(a)
    ndim = np.ndim(a)
    numbered = np.lib.stride_tricks.as_strided(np.zeros(()), (1,) * ndim, range(ndim))
    try:
        order = move(numbered, *where).strides
    except NUMPY_ERRORS as error:
        raise errors.explain(move.__name__, (a,), error) from error
    return transpose_op(a, axes=order)


@implements(np.moveaxis)
@specialised()
def moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    """Move axes to other places; the others stay in order.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    source, destination : int or sequence of int
        The axes to move, and their positions in the result.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there is no such axis, one is named twice, or the two are not equally many.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.moveaxis(np.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    return _moved(np.moveaxis, a, source, destination)


@implements(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Move an axis in front of the one that is now at ``start``; `moveaxis` is easier to read.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    axis : int
        Which.
    start : int
        In front of which, up to the number of axes: behind all.

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
    >>> tape.ops.rollaxis(np.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    return _moved(np.rollaxis, a, axis, start)
