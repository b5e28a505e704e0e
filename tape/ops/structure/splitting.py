"""Splitting arrays along an axis."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from tape import errors
from tape.core.operands import as_operand
from tape.core.table import implements
from tape.errors import DTypeError, ShapeError
from tape.inspect.samples import declare_samples
from tape.ops.structure.axes import axes_of
from tape.ops.structure.indexing import getitem

__all__ = ["array_split", "dsplit", "hsplit", "split", "unstack", "vsplit"]

declare_samples(
    "np.array_split(x, 3, axis=1)",
    "np.dsplit(x.reshape(1, 2, -1), 3)",
    "np.hsplit(x, 2)",
    "np.split(x, 2, axis=1)",
    "np.unstack(x)",
    "np.vsplit(x, 3)",
)


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Any]:
    """Split an array along an axis; parts may differ in length by one, longer ones first.

    Parameters
    ----------
    ary : array_like or Var
        At least one axis.
    indices_or_sections : int or sequence of int
        The number of parts, or the positions to cut at.
    axis : int
        The axis; negative ones count from the end.

    Returns
    -------
    list of numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there is no such axis, or there are to be fewer than one part.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.array_split(np.arange(4.0), 3)
    [array([0., 1.]), array([2.]), array([3.])]
    """
    return _split("array_split", ary, indices_or_sections, axis)


@implements(np.split)
def split(ary: Any, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Any]:
    """Split an array along an axis into equal parts, or at given positions.

    Parameters
    ----------
    ary : array_like or Var
        At least one axis.
    indices_or_sections : int or sequence of int
        The number of equal parts, or the positions to cut at.
    axis : int
        The axis; negative ones count from the end.

    Returns
    -------
    list of numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there is no such axis, or it does not divide into equal parts.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.split(np.arange(4.0), [1])
    [array([0.]), array([1., 2., 3.])]
    """
    return _split("split", ary, indices_or_sections, axis, equally=True)


@implements(np.vsplit)
def vsplit(ary: Any, indices_or_sections: int | Sequence[int]) -> list[Any]:
    """Split along the first of at least two axes.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.vsplit(np.array([[1.0, 2.0], [3.0, 4.0]]), 2)
    [array([[1., 2.]]), array([[3., 4.]])]
    """
    return _split("vsplit", ary, indices_or_sections, 0, ndim=2, equally=True)


@implements(np.hsplit)
def hsplit(ary: Any, indices_or_sections: int | Sequence[int]) -> list[Any]:
    """Split along the second axis, or the only one.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.hsplit(np.array([[1.0, 2.0], [3.0, 4.0]]), 2)
    [array([[1.],
           [3.]]), array([[2.],
           [4.]])]
    """
    axis = min(1, np.ndim(ary) - 1)
    return _split("hsplit", ary, indices_or_sections, axis, equally=True)


@implements(np.dsplit)
def dsplit(ary: Any, indices_or_sections: int | Sequence[int]) -> list[Any]:
    """Split along the third axis.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.dsplit(np.array([[[1.0, 2.0]]]), 2)
    [array([[[1.]]]), array([[[2.]]])]
    """
    return _split("dsplit", ary, indices_or_sections, 2, ndim=3, equally=True)


@implements(np.unstack)
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """Return the slices of an array along an axis: the inverse of `stack`.

    Parameters
    ----------
    x : array_like or Var
        At least one axis.
    axis : int
        The axis; negative ones count from the end.

    Returns
    -------
    tuple of numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.unstack(np.array([[1.0, 2.0], [3.0, 4.0]]))
    (array([1., 2.]), array([3., 4.]))
    """
    x = as_operand(x)
    (axis,) = axes_of("unstack", x, axis)
    lead = (slice(None),) * axis
    return tuple(getitem(x, (*lead, k)) for k in range(np.shape(x)[axis]))


def _split(
    name: str, ary: Any, indices_or_sections: Any, axis: int, *, ndim: int = 1, equally: bool = False
) -> list[Any]:
    ary = as_operand(ary)
    shape = getattr(ary, "shape", ())
    if len(shape) < ndim:
        raise ShapeError(f"{name}: {errors.describe(ary)} has fewer than {ndim} axes")
    if type(axis) is not int or not 0 <= axis < len(shape):
        (axis,) = axes_of(name, ary, axis)
    length = shape[axis]
    if type(indices_or_sections) is not int and np.ndim(indices_or_sections):
        cuts = [0, *(_int(name, cut) for cut in indices_or_sections), length]
    else:
        sections = _int(name, indices_or_sections)
        if sections < 1 or (equally and length % sections):
            kind = "equal parts. array_split makes unequal ones" if equally else "parts"
            raise ShapeError(f"{name}: {length} elements along axis {axis} do not make {sections} {kind}")
        each, longer = divmod(length, sections)
        cuts = list(accumulate([each + (k < longer) for k in range(sections)], initial=0))
    lead = (slice(None),) * axis
    return [getitem(ary, (*lead, slice(a, b))) for a, b in pairwise(cuts)]


def _int(name: str, number: Any) -> int:
    try:
        return operator.index(number)
    except TypeError as error:
        raise DTypeError(
            f"{name}: {errors.describe(number)} is not an int; positions must be ints"
        ) from error
