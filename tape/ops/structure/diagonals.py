"""Diagonals of matrices and stacks of them, and triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors
from tape.core.batch_rules import inner_axis
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.record import specialised
from tape.core.table import implements
from tape.errors import ShapeError
from tape.inplace.aliases import read_only
from tape.ops.elementwise.selection import where
from tape.ops.reduction.reductions import sum as _sum
from tape.ops.structure.shape import astype, ravel

__all__ = ["diag", "diagflat", "diagonal", "trace", "tril", "triu"]

Shape = tuple[int, ...]


def _batch(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    attrs = {**attrs, "axis1": inner_axis(attrs["axis1"]), "axis2": inner_axis(attrs["axis2"])}
    if "shape" in attrs:
        attrs["shape"] = (size, *attrs["shape"])
    return op(*operands, **attrs)


def _embed(g: Any, *, shape: Shape, offset: int, axis1: int, axis2: int) -> Any:
    total = np.zeros(shape, g.dtype)
    view = np.diagonal(total, offset, axis1, axis2)
    view.flags.writeable = True
    view[...] = g
    return total


def _flattened(shape: Shape, offset: int, axis1: int, axis2: int) -> tuple[list[int], Shape, slice]:
    """How a diagonal is a slice: the axes in another order, those of matrices flattened, every so many."""
    axis1, axis2 = axis1 % len(shape), axis2 % len(shape)
    order = [i for i in range(len(shape)) if i not in (axis1, axis2)] + [axis1, axis2]
    rows, columns = shape[axis1], shape[axis2]
    start = offset if offset >= 0 else -offset * columns
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    step = columns + 1
    lead = tuple(shape[i] for i in order[:-2])
    return order, (*lead, rows * columns), slice(start, start + count * step, step) if count else slice(0)


def _lower_diagonal(b: Any, x: Any, offset: int, axis1: int, axis2: int) -> Any:
    order, flat, part = _flattened(x.shape, offset, axis1, axis2)
    return b.read(b.reshape(b.transpose(x, order), flat), (..., part))


def _lower_embed(b: Any, g: Any, shape: Shape, offset: int, axis1: int, axis2: int) -> Any:
    order, flat, part = _flattened(shape, offset, axis1, axis2)
    zeros = b.broadcast(b.literal(0, g.dtype), flat)  # written over, not added to: -0.0 stays what it is
    moved = b.reshape(b.set_at(zeros, g, (..., part)), tuple(shape[i] for i in order))
    return b.transpose(moved, [order.index(i) for i in range(len(shape))])


_diagonal: Op = Op(
    lambda x, *, offset, axis1, axis2: np.diagonal(x, offset, axis1, axis2),
    name="diagonal",
    vjp=[lambda g, out, x, **attrs: _embedded(g, shape=x.shape, **attrs)],
    linear=True,
    view=read_only,
    batch=_batch,
    lower=_lower_diagonal,
)

_embedded: Op = Op(
    _embed,
    name="embedded_diagonal",
    vjp=[lambda g, out, x, shape, **attrs: _diagonal(g, **attrs)],
    linear=True,
    batch=_batch,
    lower=_lower_embed,
)


@implements(np.diagonal)
@specialised()
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """A diagonal of each matrix.

    Parameters
    ----------
    a : array_like or Var
        At least two axes.
    offset : int
        How far above the main diagonal; below if negative.
    axis1, axis2 : int
        The rows and columns of the matrices.

    Returns
    -------
    numpy.ndarray or Var
        With the diagonal along the last axis; a read-only view.

    Raises
    ------
    ShapeError
        If there are no such axes.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.diagonal(np.array([[1.0, 2.0], [3.0, 4.0]]), 1)
    array([2.])
    """
    return _diagonal(a, offset=offset, axis1=axis1, axis2=axis2)


@implements(np.linalg.diagonal)
def matrix_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """A diagonal of each matrix in a stack, as `numpy.linalg.diagonal`; as `diagonal` otherwise.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.linalg.diagonal(np.ones((3, 2, 2))).shape
    (3, 2)
    """
    return _diagonal(x, offset=offset, axis1=-2, axis2=-1)


@implements(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """The sum of a diagonal of each matrix.

    Parameters
    ----------
    a : array_like or Var
        At least two axes.
    offset, axis1, axis2 : int
        As for `diagonal`.
    dtype : dtype_like, optional
        What to add up in.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var

    Raises
    ------
    ShapeError
        If there are no such axes.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.trace(np.array([[1.0, 2.0], [3.0, 4.0]])))
    5.0
    """
    elements = diagonal(a, offset, axis1, axis2)
    return _sum(elements if dtype is None else astype(elements, dtype), axis=-1)


@implements(np.linalg.trace)
def matrix_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The trace of each matrix in a stack, as `numpy.linalg.trace`; as `trace` otherwise.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.linalg.trace(np.ones((3, 2, 2))).shape
    (3,)
    """
    return trace(x, offset, -2, -1, dtype)


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    """The diagonal of a matrix, or a matrix with a diagonal.

    Parameters
    ----------
    v : array_like or Var
        A matrix, or what becomes the diagonal of one.
    k : int
        How far above the main diagonal; below if negative.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If ``v`` has neither one axis nor two.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.diag(np.array([1.0, 2.0]))
    array([[1., 0.],
           [0., 2.]])
    """
    v = as_operand(v)
    if np.ndim(v) == 2:
        return diagonal(v, k)
    if np.ndim(v) != 1:
        raise ShapeError(f"diag: {errors.describe(v)} has neither one axis nor two. Use diagonal for stacks")
    length = len(v) + abs(k)
    return _embedded(v, shape=(length, length), offset=k, axis1=0, axis2=1)


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    """A matrix with the elements of a flattened array on its diagonal, as `diag`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.diagflat(np.array([[1.0], [2.0]]))
    array([[1., 0.],
           [0., 2.]])
    """
    v = as_operand(v)
    return diag(v if np.ndim(v) == 1 else ravel(v), k)


def _part(name: str, m: Any, k: int, is_lower: bool) -> Any:
    m = as_operand(m)
    if not np.ndim(m):
        raise ShapeError(f"{name}: {errors.describe(m)} has no axes. Give a matrix, or a stack of them")
    rows, columns = (np.shape(m) * 2)[-2:]
    is_below = np.tri(rows, columns, k if is_lower else k - 1, bool)
    zero = m.dtype.type(0)
    return where(is_below, m, zero) if is_lower else where(is_below, zero, m)


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    """The lower triangle of each matrix, with zeros above.

    Parameters
    ----------
    m : array_like or Var
        Matrices in the last two axes; a single axis is repeated as rows.
    k : int
        The last diagonal that is kept, as far above the main one; below if negative.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If ``m`` has no axes.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.tril(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 0.],
           [3., 4.]])
    """
    return _part("tril", m, k, is_lower=True)


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    """The upper triangle of each matrix, with zeros below; ``k`` is the first diagonal. As `tril` otherwise.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.triu(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [0., 4.]])
    """
    return _part("triu", m, k, is_lower=False)
