"""Systems of linear equations with a matrix of few diagonals, in SciPy's form of them.

``ab[u + i - j, j]`` is the element i, j of a matrix with l diagonals below and u above the main one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core import batch_rules
from tape.core.op import Op
from tape.ops.elementwise.selection import where
from tape.ops.reduction.reductions import sum as _sum
from tape.ops.structure.joining import concatenate, stack

__all__ = ["solve_bands", "turned_bands"]


def _forward(ab: Any, b: Any, *, below: int, above: int) -> Any:
    from scipy.linalg import solve_banded  # imported late: it takes as long as all the rest

    shape = np.broadcast_shapes(ab.shape[:-2], b.shape[:-2])
    ab = np.broadcast_to(ab, (*shape, *ab.shape[-2:]))
    b = np.broadcast_to(b, (*shape, *b.shape[-2:]))
    out = np.empty(b.shape, np.result_type(ab, b, np.float32))
    for i in np.ndindex(shape):
        if out[i].size:
            out[i] = solve_banded((below, above), ab[i], b[i], check_finite=False)
    return out


def turned_bands(ab: Any, below: int, above: int) -> Any:
    """Return the diagonals of the transpose, which has ``above`` of them below the main one.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.ops.linalg.banded import turned_bands
    >>> turned_bands(np.array([[0.0, 2.0], [1.0, 3.0]]), 0, 1)
    array([[1., 3.],
           [2., 0.]])
    """
    n = ab.shape[-1]
    ab = where(_is_inside(n, below, above), ab, 0)
    padded = _padded(ab, below, above, -1)
    rows = [padded[..., below + above - r, r : r + n] for r in range(below + above + 1)]
    return stack(rows, axis=-2)


def _is_inside(n: int, below: int, above: int) -> np.ndarray:
    rows = np.arange(n) + np.arange(-above, below + 1)[:, None]
    return (rows >= 0) & (rows < n)


def _padded(x: Any, before: int, after: int, axis: int) -> Any:
    def zeros(count: int) -> np.ndarray:
        shape = list(x.shape)
        shape[axis] = count
        return np.zeros(shape, x.dtype)

    return concatenate([zeros(before), x, zeros(after)], axis=axis)


def _by_bands(g: Any, out: Any, ab: Any, b: Any, below: int, above: int) -> Any:
    n = ab.shape[-1]
    adjoint = solve_bands(turned_bands(ab, below, above), g, below=above, above=below)
    padded = _padded(adjoint, above, below, -2)
    rows = [_sum(padded[..., r : r + n, :] * out, axis=-1) for r in range(below + above + 1)]
    return -stack(rows, axis=-2)


def _by_sides(g: Any, out: Any, ab: Any, b: Any, below: int, above: int) -> Any:
    return solve_bands(turned_bands(ab, below, above), g, below=above, above=below)


def _along_bands(t: Any, out: Any, ab: Any, b: Any, below: int, above: int) -> Any:
    n = ab.shape[-1]
    turned = turned_bands(t, below, above)  # the rows of the change, as columns
    padded = _padded(out, below, above, -2)
    change: Any = 0.0
    for r in range(below + above + 1):
        change = change + turned[..., r, :, None] * padded[..., r : r + n, :]
    return -solve_bands(ab, change, below=below, above=above)


solve_bands: Op = Op(
    _forward,
    name="solve_bands",
    batch=batch_rules.elementwise,
    vjp=[_by_bands, _by_sides],
    jvp=[_along_bands, lambda t, out, ab, b, **attrs: solve_bands(ab, t, **attrs)],
)
"""The x with ``a @ x = b``, b of shape ``(..., n, k)``."""
