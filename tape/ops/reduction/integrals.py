"""Integrals of sampled values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.core.operands import as_operand
from tape.core.table import implements
from tape.errors import ShapeError
from tape.inspect.samples import declare_samples
from tape.ops.reduction.axes import operand_and_axis
from tape.ops.reduction.differences import diff_along
from tape.ops.reduction.primitives import sum_along
from tape.ops.structure.indexing import part_along
from tape.ops.structure.shape import reshape

__all__ = ["trapezoid"]

declare_samples("np.trapezoid(x, v, axis=1)")


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate sampled values along an axis, by the trapezoidal rule.

    Parameters
    ----------
    y : array_like or Var
        At least one axis.
    x : array_like or Var, optional
        The positions of the samples: one for each along the axis, or an array that broadcasts with
        ``y``. It is differentiated too.
    dx : scalar or Var
        The distance of samples, without ``x``.
    axis : int
        The axis; negative ones count from the end.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Without that axis.

    Raises
    ------
    ShapeError
        If there is no such axis, or the positions do not fit.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.trapezoid([0.0, 1.0, 4.0], x=[0.0, 1.0, 2.0]))
    3.0
    """
    y, axis = operand_and_axis("trapezoid", y, axis)
    shape = list(y.shape)
    shape[axis] = max(shape[axis] - 1, 0)
    if x is None:
        width = as_operand(dx)
        _check_widths(np.shape(width), shape)
    else:
        x = as_operand(x)
        if np.ndim(x) == 1:
            widths = [1] * len(shape)
            widths[axis] = max(np.size(x) - 1, 0)
            _check_widths(widths, shape)
            width = reshape(diff_along(x, n=1, axis=0), widths)
        else:
            x, along = operand_and_axis("trapezoid", x, axis)
            widths = list(x.shape)
            widths[along] = max(widths[along] - 1, 0)
            _check_widths(widths, shape)
            width = diff_along(x, n=1, axis=along)
    after, before = (part_along(y, axis, part) for part in (slice(1, None), slice(None, -1)))
    return sum_along(width * (after + before) / 2.0, axis=(axis,), keepdims=False)


def _check_widths(widths: Sequence[int], heights: Sequence[int]) -> None:
    try:
        np.broadcast_shapes(tuple(widths), tuple(heights))
    except ValueError:
        raise ShapeError(
            f"trapezoid: {list(widths)} distances do not broadcast with {list(heights)} pairs of neighbours"
        ) from None
