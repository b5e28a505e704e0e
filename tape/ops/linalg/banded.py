"""Matrices of few diagonals, in SciPy's form of them: systems of linear equations, Cholesky factors.

``ab[u + i - j, j]`` is the element i, j of a matrix with l diagonals below and u above the main one.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tape.core import batch_rules
from tape.core.op import Op
from tape.inspect.costs import declare_cost
from tape.ops.elementwise.selection import where
from tape.ops.linalg.decompositions import cholesky_jvp, cholesky_pullback
from tape.ops.linalg.packing import stacked
from tape.ops.reduction.reductions import sum as _sum
from tape.ops.structure.joining import concatenate, stack

__all__ = ["cholesky_of_bands", "from_bands", "solve_bands", "to_bands", "turned_bands"]


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
declare_cost(lambda out, shapes, attrs: 4 * shapes[0][-2] * prod(out), solve_bands)


def to_bands(a: Any, below: int, above: int) -> Any:
    """Return the diagonals of square matrices, with zeros outside of these.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.ops.linalg.banded import to_bands
    >>> to_bands(np.array([[1.0, 2.0], [0.0, 3.0]]), 0, 1)
    array([[0., 2.],
           [1., 3.]])
    """
    n = a.shape[-1]
    rows = np.arange(n) + np.arange(-above, below + 1)[:, None]
    is_inside = _is_inside(n, below, above)
    return where(is_inside, a[..., np.where(is_inside, rows, 0), np.arange(n)], 0)


def from_bands(ab: Any, below: int, above: int) -> Any:
    """Return the square matrices with these diagonals.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.ops.linalg.banded import from_bands
    >>> from_bands(np.array([[9.0, 2.0], [1.0, 3.0]]), 0, 1)
    array([[1., 2.],
           [0., 3.]])
    """
    n = ab.shape[-1]
    row = above + np.arange(n)[:, None] - np.arange(n)
    is_inside = (row >= 0) & (row <= below + above)
    return where(is_inside, ab[..., np.where(is_inside, row, 0), np.arange(n)], 0)


def _cholesky_forward(ab: Any) -> Any:
    from scipy.linalg import cholesky_banded

    out = np.empty(ab.shape, np.result_type(ab, np.float32))
    for i in np.ndindex(ab.shape[:-2]):
        out[i] = cholesky_banded(ab[i], lower=True, check_finite=False)
    return np.where(_is_inside(ab.shape[-1], ab.shape[-2] - 1, 0), out, 0)


def _whole(ab: Any) -> Any:
    return from_bands(ab, ab.shape[-2] - 1, 0)


cholesky_of_bands = Op(
    _cholesky_forward,
    name="cholesky_of_bands",
    batch=stacked,
    vjp=[lambda g, out, ab: to_bands(cholesky_pullback(_whole(g), _whole(out)), ab.shape[-2] - 1, 0)],
    jvp=[lambda t, out, ab: to_bands(cholesky_jvp(_whole(t), _whole(out), None), ab.shape[-2] - 1, 0)],
    doc="The lower factor of a positive definite matrix with these diagonals, the main one first.",
)
declare_cost(lambda out, shapes, attrs: shapes[0][-2] * prod(out), cholesky_of_bands)
