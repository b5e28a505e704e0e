"""Vandermonde matrices: the powers of each element in a row."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tape import errors
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.table import implements
from tape.errors import DTypeError, ShapeError
from tape.inspect.samples import declare_samples
from tape.ops.reduction.primitives import sum_along
from tape.ops.structure.joining import concatenate

__all__ = ["vander"]

declare_samples("np.vander(v, 3)")


def _slopes(out: Any, increasing: bool) -> Any:
    """Return the derivatives of powers in columns: ``n x**(n - 1)`` from those of ``x``."""
    rows, count = out.shape
    zeros, exponents = np.zeros((rows, min(1, count)), out.dtype), np.arange(1, count, dtype=out.dtype)
    if increasing:
        return concatenate([zeros, out[:, : count - 1] * exponents] if count else [zeros], 1)
    return concatenate([out[:, 1:] * exponents[::-1], zeros] if count else [zeros], 1)


def _batch_vander(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    (x,) = operands
    return op(x.reshape(-1), **attrs).reshape((*x.shape, attrs["count"]))


def _lower_vander(b: Any, x: Any, *, count: int, increasing: bool) -> Any:
    """Lower by doubling the number of columns, as long as there are too few."""
    factor = b.reshape(b.value(x, np.promote_types(x.dtype, int)), (*x.shape, 1))
    powers = b.broadcast(b.literal(1, factor.dtype), factor.shape)
    while powers.shape[1] < count:
        powers, factor = b.concatenate([powers, powers * factor], 1), factor * factor
    rising = b.read(powers, (slice(None), slice(0, count)))
    return rising if increasing else b.read(rising, (slice(None), slice(None, None, -1)))


_vander = Op(
    lambda x, *, count, increasing: np.vander(x, count, increasing),
    name="vander",
    vjp=[
        lambda g, out, x, count, increasing: sum_along(
            g * _slopes(out, increasing), axis=(1,), keepdims=False
        )
    ],
    jvp=[lambda t, out, x, count, increasing: t[:, None] * _slopes(out, increasing)],
    batch=_batch_vander,
    lower=_lower_vander,
)


@implements(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Return the powers of each element in a row.

    Parameters
    ----------
    x : array_like or Var
        One axis.
    N : int, optional
        The number of powers, from 0 to ``N - 1``; by default the number of elements.
    increasing : bool
        Whether the lowest is the first.

    Returns
    -------
    numpy.ndarray or Var
        Array of shape (len(x), N), and at least float64.

    Raises
    ------
    ShapeError
        If ``x`` has another number of axes, or ``N`` is negative.
    DTypeError
        If ``N`` is not an int.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.vander(np.array([2.0, 3.0]), 3)
    array([[4., 2., 1.],
           [9., 3., 1.]])
    """
    x = as_operand(x)
    if np.ndim(x) != 1:
        raise ShapeError(f"vander: {errors.describe(x)} must have one axis. Use np.ravel")
    try:
        count = np.shape(x)[0] if N is None else operator.index(N)
    except TypeError as error:
        raise DTypeError(f"vander: N={errors.describe(N)} is not an int") from error
    return _vander(x, count=count, increasing=bool(increasing))
