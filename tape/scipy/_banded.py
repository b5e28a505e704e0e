"""Systems of linear equations with a banded matrix, as one operation: splines are their solutions.

A matrix with ``upper`` diagonals above and ``lower`` below the main one is stored as SciPy does:
``ab[upper + i - j, j]`` is its element ``[i, j]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import ops
from tape.core.op import Op
from tape.inspect.costs import declare_cost

__all__ = ["solve_banded"]

Array = Any


def _forward(ab: Any, b: Any, *, lower: int, upper: int) -> Any:
    from scipy import linalg

    return linalg.solve_banded((lower, upper), ab, b, check_finite=False)


def _places(size: int, lower: int, upper: int) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each place of ``ab``, its row in the matrix, and whether that is a row of the matrix."""
    rows = np.arange(-upper, lower + 1)[:, None] + np.arange(size)
    return np.clip(rows, 0, size - 1), (rows >= 0) & (rows < size)


def _transposed(ab: Array, lower: int, upper: int) -> Array:
    """Return the transpose, which has ``lower`` diagonals above the main one."""
    places, is_inside = _places(ab.shape[1], upper, lower)
    turned = ops.getitem(ab, (np.arange(lower + upper, -1, -1)[:, None], places))
    return ops.where(is_inside, turned, 0.0)


def _times(ab: Array, x: Array, lower: int, upper: int) -> Array:
    """Return the product of the matrix with ``x`` ``(n, m)``."""
    turned = _transposed(ab, lower, upper)
    places, _ = _places(ab.shape[1], upper, lower)
    return ops.sum(ops.expand_dims(turned, 2) * ops.getitem(x, places), axis=0)


def _by_matrix(g: Array, x: Array, ab: Array, lower: int, upper: int) -> Array:
    adjoint = solve_banded(_transposed(ab, lower, upper), g, lower=upper, upper=lower)
    places, is_inside = _places(ab.shape[1], lower, upper)
    found = ops.sum(ops.getitem(adjoint, places) * x, axis=-1)
    return ops.where(is_inside, -found, 0.0)


def _batch(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    ab, b = operands
    if not is_batched[0]:  # one factorization for all
        columns = ops.swapaxes(b, 0, 1)
        solved = op(ab, ops.reshape(columns, (b.shape[1], size * b.shape[2])), **attrs)
        return ops.swapaxes(ops.reshape(solved, columns.shape), 0, 1)
    if not size:
        return np.zeros((0, *b.shape[-2:]), b.dtype)
    return ops.stack([op(ab[k], b[k] if is_batched[1] else b, **attrs) for k in range(size)])


solve_banded: Op = Op(
    _forward,
    name="solve_banded",
    batch=_batch,
    data_dependent=False,
    vjp=[
        lambda g, out, ab, b, lower, upper: _by_matrix(g, out, ab, lower, upper),
        lambda g, out, ab, b, lower, upper: solve_banded(
            _transposed(ab, lower, upper), g, lower=upper, upper=lower
        ),
    ],
    jvp=[
        lambda t, out, ab, b, lower, upper: (
            -solve_banded(ab, _times(t, out, lower, upper), lower=lower, upper=upper)
        ),
        lambda t, out, ab, b, lower, upper: solve_banded(ab, t, lower=lower, upper=upper),
    ],
    doc="The solution of ``a @ x = b`` for a real banded matrix ``ab`` and ``b`` of shape ``(n, m)``.",
)
declare_cost(lambda out, shapes, attrs: 4 * shapes[0][0] * out[0] * out[1], solve_banded)
