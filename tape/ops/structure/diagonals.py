"""Diagonals and triangles of matrices and of stacks of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors
from tape.core import pattern_rules
from tape.core.batch_rules import inner_axis
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.specialise import specialised
from tape.core.table import implements
from tape.errors import ShapeError
from tape.inplace.aliases import read_only
from tape.inspect.costs import declare_cost, free
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.selection import where
from tape.ops.structure.shape import ravel

__all__ = ["diag", "diagflat", "diagonal", "tril", "triu"]

declare_samples(
    "np.diag(v)",
    "np.diagflat(u)",
    "np.diagonal(x, 1)",
    "np.linalg.diagonal, np.tril, np.triu(s)",
)

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
    """Return a diagonal as a strided slice: the permuted axes, the shape and the slice of flat matrices."""
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
    zeros = b.broadcast(b.literal(0, g.dtype), flat)  # overwritten, not added to: -0.0 is preserved
    moved = b.reshape(b.set_at(zeros, g, (..., part)), tuple(shape[i] for i in order))
    return b.transpose(moved, [order.index(i) for i in range(len(shape))])


_diagonal: Op = Op(
    lambda x, *, offset, axis1, axis2: np.diagonal(x, offset, axis1, axis2),
    name="diagonal",
    pattern=pattern_rules.moves,
    vjp=[lambda g, out, x, **attrs: _embedded(g, shape=x.shape, **attrs)],
    linear=True,
    view=read_only,
    batch=_batch,
    lower=_lower_diagonal,
)

_embedded: Op = Op(
    _embed,
    name="embedded_diagonal",
    pattern=pattern_rules.moves,
    vjp=[lambda g, out, x, shape, **attrs: _diagonal(g, **attrs)],
    linear=True,
    batch=_batch,
    lower=_lower_embed,
)
declare_cost(free, _diagonal, _embedded)


@implements(np.diagonal)
@specialised()
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return a diagonal of each matrix.

    Parameters
    ----------
    a : array_like or Var
        At least two axes.
    offset : int
        Offset from the main diagonal: above it, or below if negative.
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
    """Return a diagonal of each matrix in a stack, as `numpy.linalg.diagonal`. Otherwise like `diagonal`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.linalg.diagonal(np.ones((3, 2, 2))).shape
    (3, 2)
    """
    return _diagonal(x, offset=offset, axis1=-2, axis2=-1)


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    """Return the diagonal of a matrix, or the matrix with a given diagonal.

    Parameters
    ----------
    v : array_like or Var
        A matrix, or what becomes the diagonal of one.
    k : int
        Offset from the main diagonal: above it, or below if negative.

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
    """Return the matrix with a flattened array on its diagonal. Otherwise like `diag`.

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
    """Return the lower triangle of each matrix, with zeros above.

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
    """Return the upper triangle of each matrix, with zeros below the diagonal ``k``. Otherwise like `tril`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.triu(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [0., 4.]])
    """
    return _part("triu", m, k, is_lower=False)
