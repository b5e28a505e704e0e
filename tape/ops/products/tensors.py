"""Products that sum over chosen axes of their operands.

By the convention of `tape.ops.elementwise.complex`, rules here conjugate nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from tape.core import pattern_rules
from tape.core.op import Op
from tape.core.operands import as_operand, composed
from tape.core.specialise import specialised
from tape.core.table import implements
from tape.errors import ShapeError
from tape.inspect.costs import declare_cost, matrix_products
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.arithmetic import multiply, widening
from tape.ops.products.products import matmul
from tape.ops.structure.axes import swapaxes, transpose
from tape.ops.structure.layout import own
from tape.ops.structure.shape import reshape

__all__ = ["dot", "inner", "tensordot"]

declare_samples(
    "np.dot, np.inner(x, v)",
    "np.linalg.multi_dot([u, s, x, v])",
    "np.linalg.tensordot(x, y, axes=2)",
    "np.tensordot(x, y, ([0], [0]))",
)


# ---- dot, inner ------------------------------------------------------------------------------------


def _dot_left(g: Any, out: Any, a: Any, b: Any) -> Any:
    rest = [i for i in range(b.ndim) if i != max(b.ndim - 2, 0)]
    return tensordot(g, b, (range(a.ndim - 1, out.ndim), rest))


def _dot_right(g: Any, out: Any, a: Any, b: Any) -> Any:
    lead = range(a.ndim - 1)
    columns = tensordot(a, g, (lead, lead))  # the axis summed over first
    return transpose(columns, (*range(1, b.ndim - 1), 0, b.ndim - 1)) if b.ndim > 1 else columns


def _batch_dot(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    a, b = operands
    if all(is_batched) or (is_batched[1] and b.ndim < 3):
        return NotImplemented
    out = op(a, b)
    lead = np.ndim(a) - 1
    return transpose(out, (lead, *range(lead), *range(lead + 1, out.ndim))) if is_batched[1] else out


def _lower_dot(b: Any, x: Any, y: Any) -> Any:
    order = (-1,) if y.ndim == 1 else (y.ndim - 2, *range(y.ndim - 2), y.ndim - 1)
    rows, columns = x.shape[:-1], tuple(y.shape[i] for i in order[1:])
    flat = b.reshape(b.transpose(y, order), (x.shape[-1], prod(columns)))
    out = b.matmul(b.reshape(x, (prod(rows), x.shape[-1])), flat)
    return b.reshape(out, (*rows, *columns))


@pattern_rules.multilinear
def _pattern_dot(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
    """Pattern rule: the last axis of the left operand meets the last but one of the right."""
    (x, y), found = operands, []
    if is_moving[0]:
        rows = sets.over(x, -1, False)
        found.append(rows.reshape(rows.shape + (1,) * (np.ndim(y) - 1)))
    if is_moving[1]:
        found.append(sets.over(y, -min(np.ndim(y), 2), False))
    return np.broadcast_to(sets.union(*found), np.shape(out))


_dot = Op(
    np.dot,
    name="dot",
    pattern=_pattern_dot,
    vjp=[_dot_left, _dot_right],
    linear=True,
    batch=_batch_dot,
    lower=_lower_dot,
)
declare_cost(matrix_products, _dot)


@implements(np.dot)
@specialised(layout=True)
def dot(a: Any, b: Any) -> Any:
    """The sum over the last axis of one operand and the second last of the other.

    Parameters
    ----------
    a, b : array_like or Var
        A scalar multiplies. Of a vector ``b``, the sum is over its only axis.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        The axes of ``a`` without the last, then those of ``b`` without the one summed over.

    Raises
    ------
    ShapeError
        If the lengths differ.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.dot([1.0, 2.0], [3.0, 4.0]))
    11.0
    """
    a, b = widening(a), widening(b)
    ndim = max(np.ndim(a), np.ndim(b))
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return _scaled(a, b)
    return _dot(a, b) if ndim > 2 else matmul(a, b)


def _scaled(a: Any, b: Any) -> Any:
    """Return a product with a scalar, in C order where BLAS returns that, otherwise in memory order."""
    product = multiply(a, b)
    is_blas = np.ndim(product) <= 2 and np.result_type(product).char in "fdFD"
    return own(product, tuple(range(np.ndim(product)))) if is_blas else product


@implements(np.inner)
@composed
def inner(a: Any, b: Any) -> Any:
    """The sum over the last axes of both operands, neither conjugated.

    Parameters
    ----------
    a, b : array_like or Var
        Of equal length along the last axis. A scalar multiplies.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        The axes of ``a`` without the last, then those of ``b`` without the last.

    Raises
    ------
    ShapeError
        If the lengths differ.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.inner(np.ones((2, 3)), np.ones((4, 3))).shape
    (2, 4)
    """
    a, b = widening(a), widening(b)
    if np.ndim(a) and np.ndim(b):
        if np.shape(a)[-1] != np.shape(b)[-1]:
            raise ShapeError(f"inner: the last axes of {list(np.shape(a))} and {list(np.shape(b))} differ")
        if np.ndim(b) > 1:
            b = swapaxes(b, -1, -2)
    return dot(a, b)


# ---- tensordot, multi_dot --------------------------------------------------------------------------


def _summed_axes(
    axes: Any, a_shape: tuple[int, ...], b_shape: tuple[int, ...]
) -> tuple[list[int], list[int]]:
    """Return the axes of each operand that a tensordot sums over, counted from the front."""
    if not np.iterable(axes):
        of_a, of_b = list(range(-axes, 0)), list(range(axes))
    else:
        of_a, of_b = ([*part] if np.iterable(part) else [part] for part in axes)
    call = f"tensordot: axes {axes} of shapes {list(a_shape)} and {list(b_shape)}"
    try:
        lengths = [a_shape[i] for i in of_a], [b_shape[i] for i in of_b]
    except IndexError:
        raise ShapeError(f"{call}. There are no such axes") from None
    if lengths[0] != lengths[1]:
        raise ShapeError(f"{call}. Their lengths are {lengths[0]} and {lengths[1]}, and must be equal")
    of_a, of_b = [i % len(a_shape) for i in of_a], [i % len(b_shape) for i in of_b]
    if len({*of_a}) < len(of_a) or len({*of_b}) < len(of_b):
        raise ShapeError(f"{call}. An axis is named twice")
    return of_a, of_b


def _as_matrix(a: Any, rows: Sequence[int], columns: Sequence[int]) -> Any:
    """Return an array with some of its axes as rows, the others as columns."""
    order, shape = (*rows, *columns), np.shape(a)
    moved = a if order == tuple(range(len(shape))) else transpose(a, order)
    sides = (prod(shape[i] for i in rows), prod(shape[i] for i in columns))
    return moved if np.shape(moved) == sides else reshape(moved, sides)


@implements(np.tensordot, np.linalg.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """The sum over given axes of two arrays.

    Parameters
    ----------
    a, b : array_like or Var
        Any shapes.
    axes : int or pair of int or sequence of int
        Axes of ``a`` and of ``b``, in corresponding order; a number stands for so many last axes of ``a`` and
        first axes of ``b``.

    Returns
    -------
    numpy.ndarray or Var
        The remaining axes of ``a``, then those of ``b``.

    Raises
    ------
    ShapeError
        If there are no such axes, one is named twice, or their lengths differ.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.tensordot(np.ones((2, 3, 4)), np.ones((4, 3)), ([1, 2], [1, 0]))
    array([12., 12.])
    """
    a, b = as_operand(a), as_operand(b)
    of_a, of_b = _summed_axes(axes, np.shape(a), np.shape(b))
    rest_a = [i for i in range(np.ndim(a)) if i not in of_a]
    rest_b = [i for i in range(np.ndim(b)) if i not in of_b]
    shape = (*(np.shape(a)[i] for i in rest_a), *(np.shape(b)[i] for i in rest_b))
    out = matmul(_as_matrix(a, rest_a, of_a), _as_matrix(b, of_b, rest_b))
    return out if out.shape == shape else reshape(out, shape)


def _cheapest_cuts(sides: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return the cut of each run of a matrix chain: Cormen et al., "Introduction to Algorithms", 15.2."""
    count = len(sides) - 1
    cost = {(i, i): 0 for i in range(count)}
    cuts = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j], cuts[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sides[i] * sides[k + 1] * sides[j + 1], k) for k in range(i, j)
            )
    return cuts


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any]) -> Any:
    """The product of a chain of matrices, in the order that takes the fewest multiplications.

    Parameters
    ----------
    arrays : sequence of array_like or Var
        Two matrices at least. The first may be a vector, a row; the last may be one, a column.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var

    Raises
    ------
    ShapeError
        If there are fewer than two, or the shapes do not fit together.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.linalg.multi_dot([np.ones((2, 3)), np.ones((3, 4)), np.ones(4)])
    array([12., 12.])
    """
    chain = [as_operand(array) for array in arrays]
    if len(chain) < 2:
        raise ShapeError(f"multi_dot of {len(chain)} arrays. Give at least two")
    shapes = [np.shape(array) for array in chain]
    first, last = (1,) if len(shapes[0]) == 1 else (), (1,) if len(shapes[-1]) == 1 else ()
    sides = [(*first, *shapes[0]), *shapes[1:-1], (*shapes[-1], *last)]
    if any(len(shape) != 2 for shape in sides) or any(a[1] != b[0] for a, b in pairwise(sides)):
        raise ShapeError(f"multi_dot: arrays of shapes {[list(shape) for shape in shapes]} do not multiply")
    if len(chain) == 2:
        return dot(*chain)
    chain = [
        array if shape == side else reshape(array, side)
        for array, shape, side in zip(chain, shapes, sides, strict=True)
    ]
    cuts = _cheapest_cuts([sides[0][0], *(columns for _, columns in sides)])

    def product(i: int, j: int) -> Any:
        return chain[i] if i == j else matmul(product(i, cuts[i, j]), product(cuts[i, j] + 1, j))

    out = product(0, len(chain) - 1)
    if not first and not last:
        return out
    if first and last:
        return out[0, 0]  # a scalar, as in NumPy
    return reshape(out, out.shape[1:] if first else out.shape[:1])
