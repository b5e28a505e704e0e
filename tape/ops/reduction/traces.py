"""Sums of diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.table import implements
from tape.inspect.samples import declare_samples
from tape.ops.reduction.primitives import sum_along
from tape.ops.structure.diagonals import diagonal
from tape.ops.structure.shape import astype

__all__ = ["trace"]

declare_samples("np.linalg.trace, np.trace(s)")


@implements(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """Sum a diagonal of each matrix.

    Parameters
    ----------
    a : array_like or Var
        At least two axes.
    offset, axis1, axis2 : int
        Same as for `diagonal`.
    dtype : dtype_like, optional
        The dtype to accumulate in.

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
    return sum_along(elements if dtype is None else astype(elements, dtype), axis=(-1,), keepdims=False)


@implements(np.linalg.trace)
def matrix_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """Return the trace of each matrix in a stack, as `numpy.linalg.trace`. Otherwise like `trace`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.linalg.trace(np.ones((3, 2, 2))).shape
    (3,)
    """
    return trace(x, offset, -2, -1, dtype)
