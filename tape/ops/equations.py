"""Systems of linear equations, and what is made of their solutions."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tape import batch_rules, series
from tape.op import Op, as_operand, implements
from tape.ops.shape import expand_dims, reshape, swapaxes

__all__ = ["solve"]


def _solve_forward(a: Any, b: Any) -> Any:
    if np.result_type(a, b) == np.float16:  # LAPACK starts at float32
        return np.linalg.solve(a.astype(np.float32), b.astype(np.float32)).astype(np.float16)
    return np.linalg.solve(a, b)


def _batch_solve(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    a, b = operands
    if is_batched == [False, True] and np.ndim(a) == 2 and b.ndim == 3:  # one factorization for all
        columns = swapaxes(b, 0, 1)
        solved = op(a, reshape(columns, (b.shape[1], size * b.shape[2])))
        return swapaxes(reshape(solved, columns.shape), 0, 1)
    return batch_rules.elementwise(op, operands, is_batched, attrs, size)


def _solve_turned(a: Any, g: Any) -> Any:
    return _solve(swapaxes(a, -1, -2), g)


def _taylor_solve(op: Any, out: Any, operands: Any, attrs: dict[str, Any]) -> series.Series:
    """``a x = b``, coefficient by coefficient."""
    a, b = operands
    x = [out]
    for k in range(1, len(a)):
        known = series.convolved(a, x, k, 1, k, operator.matmul)
        rest = series.total((b[k], series.scaled(-1, known)))
        x.append(None if rest is None else _solve(a[0], rest))
    return x


_solve: Op = Op(
    _solve_forward,
    name="solve",
    taylor=_taylor_solve,
    batch=_batch_solve,
    lower=lambda b, x, y: b.solve(x, y),
    vjp=[
        lambda g, out, a, b: -(_solve_turned(a, g) @ swapaxes(out, -1, -2)),
        lambda g, out, a, b: _solve_turned(a, g),
    ],
    jvp=[lambda t, out, a, b: -_solve(a, t @ out), lambda t, out, a, b: _solve(a, t)],
)


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    """The x for which ``a @ x`` is ``b``.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``: matrices of full rank, floats.
    b : array_like or Var
        ``(n,)``, a vector, or ``(..., n, k)``.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n)`` for a vector, else ``(..., n, k)``.

    Raises
    ------
    ShapeError
        If the shapes do not belong together.
    SingularMatrixError
        If a matrix is singular.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    a, b = as_operand(a), as_operand(b)
    if np.ndim(b) != 1:
        return _solve(a, b)
    return _solve(a, expand_dims(b, 1))[..., 0]
