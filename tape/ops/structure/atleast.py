"""Adding axes until there are at least one, two or three."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.core.operands import as_operand
from tape.core.table import implements
from tape.inspect.samples import declare_samples
from tape.ops.structure.axes import swapaxes as swapaxes
from tape.ops.structure.axes import transpose as transpose
from tape.ops.structure.layout import copy as copy
from tape.ops.structure.shape import reshape_op

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d"]

declare_samples(
    "np.atleast_1d(c)",
    "np.atleast_2d(v)",
    "np.atleast_3d(x)",
)


@implements(np.atleast_1d)
def atleast_1d(*arys: Any) -> Any:
    """Return arrays with at least one axis.

    Parameters
    ----------
    *arys : array_like or Var
        Any shapes.

    Returns
    -------
    numpy.ndarray or Var, or tuple of these
        One for each argument.

    Examples
    --------
    >>> import tape
    >>> tape.ops.atleast_1d(2.0)
    array([2.])
    """
    return _at_least(np.atleast_1d, arys)


@implements(np.atleast_2d)
def atleast_2d(*arys: Any) -> Any:
    """Return arrays with at least two axes, new ones in front. Otherwise like `atleast_1d`.

    Examples
    --------
    >>> import tape
    >>> tape.ops.atleast_2d([1.0, 2.0])
    array([[1., 2.]])
    """
    return _at_least(np.atleast_2d, arys)


@implements(np.atleast_3d)
def atleast_3d(*arys: Any) -> Any:
    """Return arrays with at least three axes, the third at the end. Otherwise like `atleast_1d`.

    Examples
    --------
    >>> import tape
    >>> tape.ops.atleast_3d([1.0, 2.0]).shape
    (1, 2, 1)
    """
    return _at_least(np.atleast_3d, arys)


def _at_least(function: Any, arys: Sequence[Any]) -> Any:
    """Return arrays in the shapes that a function of NumPy's gives them."""
    results = []
    for a in map(as_operand, arys):
        shape = function(np.broadcast_to(0, np.shape(a))).shape
        results.append(a if shape == np.shape(a) else reshape_op(a, shape=shape))
    return results[0] if len(results) == 1 else tuple(results)
