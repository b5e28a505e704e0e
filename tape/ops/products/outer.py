"""Products that sum over no axes: outer, Kronecker and cross products."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core import pattern_rules
from tape.core.batch_rules import elementwise
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.table import implements
from tape.errors import ShapeError
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.arithmetic import multiply, widening
from tape.ops.products.products import with_axis_last
from tape.ops.structure.axes import moveaxis
from tape.ops.structure.indexing import getitem
from tape.ops.structure.joining import concatenate
from tape.ops.structure.layout import copy
from tape.ops.structure.shape import ravel, reshape

__all__ = ["cross", "kron", "outer"]

declare_samples(
    "np.cross, np.linalg.cross(x[:, :3], y[:, :3])",
    "np.kron, np.linalg.outer, np.outer(u, v)",
)


@implements(np.outer)
def outer(a: Any, b: Any) -> Any:
    """All products of an element of one operand with one of the other.

    Parameters
    ----------
    a, b : array_like or Var
        ``n`` and ``m`` elements, in any shapes.

    Returns
    -------
    numpy.ndarray or Var
        ``(n, m)``.

    Examples
    --------
    >>> import tape
    >>> tape.ops.outer([1.0, 2.0], [3.0, 4.0])
    array([[3., 4.],
           [6., 8.]])
    """
    a, b = as_operand(a), as_operand(b)
    return multiply(reshape(a, (np.size(a), 1)), b if np.ndim(b) == 1 else ravel(b))


@implements(np.linalg.outer)
def vectors_outer(x1: Any, x2: Any, /) -> Any:
    """Return all products of elements of two vectors, as `numpy.linalg.outer`. Otherwise like `outer`.

    Raises
    ------
    ShapeError
        If an operand is no vector.

    Examples
    --------
    >>> import tape
    >>> tape.ops.linalg.outer([1.0, 2.0], [3.0]).shape
    (2, 1)
    """
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ShapeError(
            f"outer: shapes {list(np.shape(x1))} and {list(np.shape(x2))} are not those of vectors. np.outer "
            "ravels its operands"
        )
    return outer(x1, x2)


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    """The Kronecker product: copies of one operand, each times an element of the other.

    Parameters
    ----------
    a, b : array_like or Var
        Any shapes; the one with fewer axes gets axes of length one in front.

    Returns
    -------
    numpy.ndarray or Var
        Each axis is as long as those of the operands together.

    Examples
    --------
    >>> import tape
    >>> tape.ops.kron([1.0, 10.0], [1.0, 2.0])
    array([ 1.,  2., 10., 20.])
    """
    a, b = widening(a), widening(b)
    ndim = max(np.ndim(a), np.ndim(b))
    if not np.ndim(a) or not np.ndim(b):
        return multiply(a, b)
    a_shape, b_shape = ((1,) * (ndim - np.ndim(x)) + np.shape(x) for x in (a, b))
    blocks = reshape(a, [length for n in a_shape for length in (n, 1)])
    cells = reshape(b, [length for n in b_shape for length in (1, n)])
    return reshape(multiply(blocks, cells), [n * m for n, m in zip(a_shape, b_shape, strict=True)])


def _lower_cross(b: Any, x: Any, y: Any) -> Any:
    x0, x1, x2 = (b.read(x, (Ellipsis, slice(i, i + 1))) for i in range(3))
    y0, y1, y2 = (b.read(y, (Ellipsis, slice(i, i + 1))) for i in range(3))
    parts = (x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0)
    return b.concatenate(parts, parts[0].ndim - 1)


@pattern_rules.multilinear
def _pattern_cross(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
    """Pattern rule: an element depends on the two other ones of each operand."""
    moved = pattern_rules.moving(operands, is_moving)
    found = sets.union(*[sets.union(np.roll(x, 1, -1), np.roll(x, 2, -1)) for x in moved])
    return np.broadcast_to(found, np.shape(out))


_cross: Any = Op(
    lambda a, b: np.cross(a, b),
    name="cross",
    pattern=_pattern_cross,
    vjp=[lambda g, out, a, b: _cross(b, g), lambda g, out, a, b: _cross(g, a)],  # a triple product is cyclic
    linear=True,
    batch=elementwise,
    lower=_lower_cross,
)


@implements(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """The cross product of vectors, or of stacks of vectors.

    Parameters
    ----------
    a, b : array_like or Var
        Vectors of three components; those of two are taken to lie in a plane, the third being 0.
    axisa, axisb : int
        The axes of the vectors.
    axisc : int
        The axis of the vectors in the result.
    axis : int, optional
        All three.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        For vectors of two components, only the third component of the product.

    Raises
    ------
    ShapeError
        If there are no such axes, they have other lengths, or the stacks do not broadcast.

    Examples
    --------
    >>> import tape
    >>> tape.ops.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    array([0., 0., 1.])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = as_operand(a), as_operand(b)
    for x, along in ((a, axisa), (b, axisb)):
        if not -np.ndim(x) <= along < np.ndim(x) or np.shape(x)[along] not in (2, 3):
            raise ShapeError(f"cross: axis {along} of {list(np.shape(x))} must be there, of length 2 or 3")
    is_flat = np.shape(a)[axisa] == 2 == np.shape(b)[axisb]
    stacks = [
        [n for i, n in enumerate(np.shape(x)) if i != k % np.ndim(x)] for x, k in ((a, axisa), (b, axisb))
    ]
    try:
        ndim = len(np.broadcast_shapes(*map(tuple, stacks))) + 1
    except ValueError:
        raise ShapeError(f"cross: stacks of shapes {stacks[0]} and {stacks[1]} do not broadcast") from None
    if not is_flat and not -ndim <= axisc < ndim:
        raise ShapeError(f"cross: there is no axis {axisc} in a result of {ndim} axes")
    out = _cross(_in_space(a, axisa), _in_space(b, axisb))
    if is_flat:
        return copy(getitem(out, (..., 2)), "C")
    return out if axisc % ndim == ndim - 1 else moveaxis(out, -1, axisc)


@implements(np.linalg.cross)
def space_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return the cross product of vectors in space, as `numpy.linalg.cross`. Otherwise like `cross`.

    Raises
    ------
    ShapeError
        If a vector has not three components.

    Examples
    --------
    >>> import tape
    >>> tape.ops.linalg.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    array([0., 0., 1.])
    """
    x1, x2 = as_operand(x1), as_operand(x2)
    for x in (x1, x2):
        if -np.ndim(x) <= axis < np.ndim(x) and np.shape(x)[axis] != 3:
            raise ShapeError(
                f"cross: axis {axis} of {list(np.shape(x))} must be of length three. np.cross takes two, too"
            )
    return cross(x1, x2, axis=axis)


def _in_space(a: Any, axis: int) -> Any:
    """Return vectors along the last axis, with three components."""
    a = with_axis_last("cross", a, axis)
    if a.shape[-1] == 3:
        return a
    return concatenate([a, np.zeros((*a.shape[:-1], 1), a.dtype)], axis=-1)
