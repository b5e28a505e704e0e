"""Fitting polynomials to points."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from tape import errors
from tape.core import series
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.table import implements
from tape.errors import OptionError, ShapeError
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.arithmetic import add
from tape.ops.elementwise.elementary import sqrt
from tape.ops.linalg.equations import inv
from tape.ops.linalg.pseudoinverse import lstsq
from tape.ops.polynomials.vandermonde import vander
from tape.ops.products.outer import outer
from tape.ops.products.tensors import dot
from tape.ops.reduction.reductions import sum
from tape.ops.structure.axes import transpose
from tape.ops.structure.shape import expand_dims

__all__ = ["polyfit"]

declare_samples("np.polyfit(u, w, 1)")


def _of_full_rank_forward(p: Any, rank: Any, *, order: int) -> Any:
    if rank != order:
        warnings.warn(
            "polyfit: the points do not determine a polynomial of this degree well. Lower it, or scale x",
            np.exceptions.RankWarning,
            stacklevel=errors.user_depth(),
        )
    return p


_of_full_rank = Op(
    _of_full_rank_forward,
    name="of_full_rank",
    lower=lambda b, p, rank, order: b.require(p, b.elementwise("equal", rank, order)),
    vjp=[lambda g, out, p, rank, order: g, None],
    jvp=[lambda t, out, p, rank, order: t, None],
    taylor=series.linear,
    doc="The coefficients, with NumPy's warning where they are not unique.",
)


@implements(np.polyfit)
def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool | str = False,
) -> Any:
    """Fit a polynomial to points, by least squares.

    Parameters
    ----------
    x : array_like or Var
        ``(n,)``.
    y : array_like or Var
        ``(n,)`` or ``(n, k)``, for k polynomials.
    deg : int
        The degree.
    rcond : float, optional
        Singular values up to this times the largest count as zero; by default ``n * eps``.
    full : bool
        Whether to return how the fit went as well.
    w : array_like or Var, optional
        ``(n,)``: what the distances are multiplied by.
    cov : bool or "unscaled"
        Whether to return the covariance of the coefficients as well; "unscaled" if ``1 / w`` are standard
        deviations.

    Returns
    -------
    p : numpy.ndarray or Var
        ``(deg + 1,)`` or ``(deg + 1, k)``, that of the highest power first.
    residuals, rank, singular_values, rcond
        If ``full``: what `linalg.lstsq` returns for the scaled powers, and what it was given.
    V : numpy.ndarray or Var
        If ``cov`` and not ``full``: ``(deg + 1, deg + 1)`` or ``(deg + 1, deg + 1, k)``.

    Raises
    ------
    ShapeError
        If there are no points, the shapes do not fit, or there are too few points to scale the
        covariance.
    OptionError
        If the degree is negative.

    Examples
    --------
    >>> import numpy as np, tape
    >>> np.round(tape.ops.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1), 12)
    array([2., 1.])
    """
    try:
        order = operator.index(deg) + 1
    except TypeError as error:
        raise OptionError(f"polyfit: deg is {deg!r}. It must be an int") from error
    x, y = as_operand(x), as_operand(y)
    _check(x, y, order, w, scales=bool(cov) and not full and cov != "unscaled")
    x, y = add(x, 0.0), add(y, 0.0)  # floats, also for ints
    if rcond is None:
        rcond = len(x) * float(np.finfo(x.dtype).eps)
    powers, values = vander(x, order), y
    if w is not None:
        column = expand_dims(add(as_operand(w), 0.0), 1)
        powers = powers * column
        values = y * (column if y.ndim == 2 else column[:, 0])
    scale = sqrt(sum(powers * powers, axis=0))
    powers = powers / scale
    p, residuals, rank, singular_values = lstsq(powers, values, rcond)
    p = transpose(transpose(p) / scale)
    if full:
        return p, residuals, rank, singular_values, rcond
    p = _of_full_rank(p, rank, order=order)
    if not cov:
        return p
    covariance = inv(dot(transpose(powers), powers)) / outer(scale, scale)
    factor = 1 if cov == "unscaled" else residuals / (len(x) - order)
    return p, (covariance if y.ndim == 1 else expand_dims(covariance, 2)) * factor


def _check(x: Any, y: Any, order: int, w: Any, *, scales: bool) -> None:
    """Raise if there is no fit to such points."""
    if order < 1:
        raise OptionError(f"polyfit: the degree is {order - 1}, and must not be negative")
    if np.ndim(x) != 1 or not np.size(x) or np.ndim(y) not in (1, 2) or len(x) != len(y):
        shapes = f"{list(np.shape(x))} and {list(np.shape(y))}"
        raise ShapeError(f"polyfit of points of shapes {shapes}. They must be (n,) and (n,) or (n, k)")
    if w is not None and np.shape(w) != (len(x),):
        raise ShapeError(f"polyfit: weights of shape {list(np.shape(w))}. Give {len(x)}")
    if scales and len(x) <= order:
        raise ShapeError(
            f"polyfit: {len(x)} points are too few to scale the covariance of {order} coefficients"
        )
