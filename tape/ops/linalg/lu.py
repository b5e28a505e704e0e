"""The LU factorization: the order of the rows is data, and the factors without exchanges have rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.op import Op
from tape.errors import SingularMatrixError
from tape.inspect.costs import declare_cost, per_matrix
from tape.ops.linalg.packing import stacked, transposed, triangle
from tape.ops.linalg.triangular import solve_triangular

__all__ = ["packed_lu", "pivots"]


def _each(function: Any, a: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    out = np.empty((*a.shape[:-2], *shape), dtype)
    for i in np.ndindex(a.shape[:-2]):
        out[i] = function(a[i])
    return out


def _pivots(a: Any) -> Any:
    from scipy.linalg import lapack  # imported late: it takes as long as all the rest

    def of_one(x: Any) -> Any:
        (getrf,) = lapack.get_lapack_funcs(("getrf",), (x,))
        return getrf(x)[1] if x.size else np.arange(0)

    return _each(of_one, np.asarray(a), (min(a.shape[-2:]),), np.int64)


pivots = Op(_pivots, name="lu_pivots", batch=stacked)
"""Which row each row is exchanged with, in turn, as LAPACK has it: ``(..., min(m, n))``."""


def _order(pivots: Any, *, rows: int) -> Any:
    stack = pivots.shape[:-1]
    order = np.broadcast_to(np.arange(rows), (*stack, rows)).copy()
    for i in np.ndindex(stack):
        for k, p in enumerate(pivots[i]):
            order[(*i, [k, p])] = order[(*i, [p, k])]
    return order


order_of = Op(_order, name="lu_order", batch=stacked)
"""The order of rows that exchanges lead to."""


def _packed_forward(a: Any) -> Any:
    out = np.array(a, np.result_type(a, np.float32))
    for k in range(a.shape[-1] - 1):
        pivot = out[..., k, k, None]
        with np.errstate(all="ignore"):
            out[..., k + 1 :, k] = np.where(pivot == 0, 0, out[..., k + 1 :, k] / pivot)
        out[..., k + 1 :, k + 1 :] -= out[..., k + 1 :, k, None] * out[..., k, None, k + 1 :]
    return out


def _refuse_singular(out: Any) -> None:
    from tape.core.node import plain

    if np.any(np.diagonal(plain(out), axis1=-2, axis2=-1) == 0):
        raise SingularMatrixError(
            "lu: a leading part of the matrix is singular, where the factors have no derivative. "
            "Move the matrix away from there"
        )


def _lower(out: Any) -> Any:
    return triangle(out, True, True) + np.eye(out.shape[-1], dtype=out.dtype)


def _packed_jvp(t: Any, out: Any, a: Any) -> Any:
    _refuse_singular(out)
    left = solve_triangular(out, t, lower=True, unit_diagonal=True)
    change = transposed(solve_triangular(out, transposed(left), "T"))
    below, above = triangle(change, True, True), triangle(change, False, False)
    return _lower(out) @ below + above @ triangle(out, False, False)


def _packed_vjp(g: Any, out: Any, a: Any) -> Any:
    _refuse_singular(out)
    below = triangle(transposed(_lower(out)) @ triangle(g, True, True), True, True)
    above = triangle(triangle(g, False, False) @ transposed(triangle(out, False, False)), False, False)
    left = solve_triangular(out, below + above, "T", lower=True, unit_diagonal=True)
    return transposed(solve_triangular(out, transposed(left)))


packed_lu = Op(_packed_forward, name="packed_lu", batch=stacked, vjp=[_packed_vjp], jvp=[_packed_jvp])
"""The strict lower triangle of L, and U, of a square matrix without exchanges of rows."""

declare_cost(per_matrix(lambda m, n: 2 * n**3 / 3), packed_lu)
