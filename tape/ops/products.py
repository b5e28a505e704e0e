"""Products of vectors, matrices and stacks of matrices."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tape import series
from tape.batch_rules import lift
from tape.errors import UnsupportedError
from tape.functions import function_of
from tape.op import Op, as_operand, fit, implements
from tape.ops.arithmetic import multiply
from tape.ops.shape import expand_dims, reshape, swapaxes

__all__ = ["dot", "matmul"]


def _forward(x: Any, y: Any) -> Any:
    if type(x) is type(y) is np.ndarray and x.ndim == 2 == y.ndim:
        return x.dot(y)  # the same product with half of matmul's call overhead
    return np.matmul(x, y)


def _as_matrices(g: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
    """All three as (stacks of) matrices: a vector on the left is a row, on the right a column."""
    if x.ndim == 1:
        x, g = expand_dims(x, 0), expand_dims(g, -1 if y.ndim == 1 else -2)
    if y.ndim == 1:
        y, g = expand_dims(y, 1), expand_dims(g, -1)
    return g, x, y


def _vjp_left(g: Any, out: Any, x: Any, y: Any) -> Any:
    if x.ndim == 2 == y.ndim:
        return g.dot(y.T) if type(g) is type(y) is np.ndarray else matmul(g, y.T)
    shape = x.shape
    g, x, y = _as_matrices(g, x, y)
    return reshape(fit(g @ swapaxes(y, -1, -2), x), shape)


def _vjp_right(g: Any, out: Any, x: Any, y: Any) -> Any:
    if x.ndim == 2 == y.ndim:
        return x.T.dot(g) if type(g) is type(x) is np.ndarray else matmul(x.T, g)
    shape = y.shape
    g, x, y = _as_matrices(g, x, y)
    if y.ndim == 2:  # one matrix for a whole stack: a single product instead of a sum of many
        rows = reshape(x, (prod(x.shape[:-1]), x.shape[-1]))
        return reshape(rows.T @ reshape(g, (rows.shape[0], g.shape[-1])), shape)
    return reshape(fit(swapaxes(x, -1, -2) @ g, y), shape)


def _batch_matmul(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    x, y = operands
    x_ndim, y_ndim = (np.ndim(a) - inside for a, inside in zip(operands, is_batched, strict=True))
    if is_batched == [False, True] and (x_ndim, y_ndim) == (2, 1):
        return op(y, x.T)
    if is_batched == [True, False] and x_ndim and y_ndim == 2:  # one product instead of many
        rows = x.reshape((prod(x.shape[:-1]), x.shape[-1]))
        return op(rows, y).reshape((*x.shape[:-1], y.shape[-1]))
    if x_ndim == 1:
        x = x.reshape((*x.shape[:-1], 1, x.shape[-1]))
    if y_ndim == 1:
        y = y.reshape((*y.shape, 1))
    ndim = max(x_ndim, y_ndim, 2)
    out = op(*(lift(a, inside, ndim) for a, inside in zip((x, y), is_batched, strict=True)))
    columns = () if y_ndim == 1 else out.shape[-1:]
    rows = () if x_ndim == 1 else out.shape[-2:-1]
    return out.reshape((*out.shape[:-2], *rows, *columns))


def _product(x: Any, y: Any) -> Any:
    """Either half of the product rule, without the cost of a call that may have to record."""
    return x.dot(y) if type(x) is type(y) is np.ndarray and x.ndim == 2 == y.ndim else matmul(x, y)


def _lower_matmul(b: Any, x: Any, y: Any) -> Any:
    if x.ndim == 1 == y.ndim:
        return b.fold("sum", x * y)
    rows, columns = x.shape[-2:-1], () if y.ndim == 1 else y.shape[-1:]
    x = b.reshape(x, (1, *x.shape)) if x.ndim == 1 else x
    y = b.reshape(y, (*y.shape, 1)) if y.ndim == 1 else y
    out = b.matmul(x, y)
    return b.reshape(out, (*out.shape[:-2], *rows, *columns))


_matmul = Op(
    _forward,
    name="matmul",
    vjp=[_vjp_left, _vjp_right],
    jvp=[lambda t, out, x, y: _product(t, y), lambda t, out, x, y: _product(x, t)],
    taylor=series.multilinear,
    batch=_batch_matmul,
    lower=_lower_matmul,
    doc="""``x @ y`` with NumPy's rules for vectors, matrices and broadcast stacks of matrices.

    Parameters
    ----------
    x : array_like or Var
        ``(..., n, k)`` or ``(k,)``.
    y : array_like or Var
        ``(..., k, m)`` or ``(k,)``.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n, m)``, without the axis of an operand that is a vector.

    Raises
    ------
    ShapeError
        If the inner lengths differ, the stacks do not broadcast, or an operand is a scalar.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> w = tr.param(np.array([1.0, 2.0]))
    >>> tr.backward_param_grads(np.eye(2) @ w)
    [array([1., 1.])]
    """,
)

matmul = function_of(_matmul, 2, np.matmul)


@implements(np.dot)
def dot(a: Any, b: Any) -> Any:
    """``np.dot`` for scalars, vectors and matrices.

    Parameters
    ----------
    a, b : array_like or Var
        A scalar multiplies; otherwise as `matmul`, ``b`` having at most two axes.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    UnsupportedError
        If ``b`` has more than two axes, where `numpy.dot` and `matmul` differ.
    ShapeError
        If the lengths differ.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.dot([1.0, 2.0], [3.0, 4.0]))
    11.0
    """
    a, b = as_operand(a), as_operand(b)
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return multiply(a, b)
    if np.ndim(b) > 2:
        raise UnsupportedError(f"dot with a second operand of {np.ndim(b)} axes has no rule. Use matmul")
    return matmul(a, b)
