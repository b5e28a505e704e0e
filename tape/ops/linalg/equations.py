"""Systems of linear equations, and inverses."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from tape.core import batch_rules, pattern_rules, series
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.table import implements
from tape.errors import OptionError, ShapeError
from tape.inspect.costs import Shape, declare_cost, per_matrix
from tape.inspect.samples import declare_samples
from tape.ops.linalg.packing import square, stacked, transposed
from tape.ops.products.products import matrix_product
from tape.ops.structure.shape import expand_dims, reshape, swapaxes, transpose

declare_samples(
    "np.linalg.inv(s)",
    "np.linalg.solve, np.linalg.tensorsolve(s, u)",
    "np.linalg.tensorinv(s, ind=1)",
)


def _solve_forward(a: Any, b: Any) -> Any:
    if np.result_type(a, b) == np.float16:  # LAPACK has no float16
        return np.linalg.solve(a.astype(np.float32), b.astype(np.float32)).astype(np.float16)
    return np.linalg.solve(a, b)


def batch_solve(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    a, b = operands
    if is_batched == [False, True] and np.ndim(a) == 2 and b.ndim == 3:  # one factorization for all
        columns = swapaxes(b, 0, 1)
        solved = op(a, reshape(columns, (b.shape[1], size * b.shape[2])), **attrs)
        return swapaxes(reshape(solved, columns.shape), 0, 1)
    return batch_rules.elementwise(op, operands, is_batched, attrs, size)


def _solve_turned(a: Any, g: Any) -> Any:
    return _solve(swapaxes(a, -1, -2), g)


def _taylor_solve(op: Any, out: Any, operands: Any, attrs: dict[str, Any]) -> series.Series:
    """Taylor rule: ``a x = b``, coefficient by coefficient."""
    a, b = operands
    x = [out]
    for k in range(1, len(a)):
        known = series.convolved(a, x, k, 1, k, operator.matmul)
        rest = series.total((b[k], series.scaled(-1, known)))
        x.append(None if rest is None else _solve(a[0], rest))
    return x


def _solving_cost(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    return 2 * prod(shapes[0]) * shapes[0][-1] // 3 + 2 * prod(out) * shapes[0][-1]


@pattern_rules.multilinear
def pattern_of_solutions(
    sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any
) -> Any:
    """Pattern rule: a column of the solution depends on the whole matrix, and on its own right-hand side."""
    sides = zip(operands, is_moving, ((-2, -1), -2), strict=True)
    found = sets.union(*[sets.over(x, axes, True) for x, moves, axes in sides if moves])
    return np.broadcast_to(found, np.shape(out))


_solve: Op = Op(
    _solve_forward,
    name="solve",
    pattern=pattern_of_solutions,
    taylor=_taylor_solve,
    batch=batch_solve,
    lower=lambda b, x, y: b.solve(x, y),
    vjp=[
        lambda g, out, a, b: -matrix_product(_solve_turned(a, g), swapaxes(out, -1, -2)),
        lambda g, out, a, b: _solve_turned(a, g),
    ],
    jvp=[lambda t, out, a, b: -_solve(a, t @ out), lambda t, out, a, b: _solve(a, t)],
)
declare_cost(_solving_cost, _solve)


def with_columns(op: Any, a: Any, b: Any, **attrs: Any) -> Any:
    """Solve by NumPy's rule: a right hand side is a vector only if it has one axis."""
    if np.ndim(b) == 0:
        raise ShapeError(f"{op.name}: the right hand side is a scalar. It must be a vector or matrices")
    return op(a, b, **attrs) if b.ndim > 1 else op(a, expand_dims(b, 1), **attrs)[..., 0]


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    """Solve ``a @ x = b`` for x.

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
        If the shapes do not fit.
    SingularMatrixError
        If a matrix is singular.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    a, b = as_operand(a), as_operand(b)
    if np.ndim(a) < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"solve: matrices must be square, not of shape {list(np.shape(a))}")
    return with_columns(_solve, a, b)


# ---- inverses ------------------------------------------------------------------------------------


def inverse(name: str, forward: Any, lower: Any = None) -> Op:
    """Declare an operation that inverts matrices, whatever its forward function checks."""
    return Op(
        forward,
        name=name,
        batch=stacked,
        lower=lower,
        vjp=[lambda g, out, a: -(transposed(out) @ g @ transposed(out))],
        jvp=[lambda t, out, a: -(out @ t @ out)],
    )


_inv = inverse("inv", np.linalg.inv, lambda b, a: b.linalg("inv", a)[0])
declare_cost(per_matrix(lambda m, n: 8 * n**3 / 3), _inv)


def _inverse_or_zero(a: Any) -> Any:
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        out = np.zeros(a.shape, np.result_type(a, np.float32))
    for i in np.ndindex(a.shape[:-2]):
        with contextlib.suppress(np.linalg.LinAlgError):
            out[i] = np.linalg.inv(a[i])
    return out


# A program stops for singular matrices, and leaves them to this function.
inverse_or_zero = inverse("inverse_or_zero", _inverse_or_zero, lambda b, a: b.linalg("inv", a)[0])


@implements(np.linalg.inv)
def inv(a: Any) -> Any:
    """The inverses of matrices.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n, n)``.

    Raises
    ------
    ShapeError
        If the matrices are not square.
    SingularMatrixError
        If one is singular.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> a = tr.param(np.diag([1.0, 2.0]))
    >>> tr.backward_param_grads(np.sum(np.linalg.inv(a)))
    [array([[-1.  , -0.5 ],
           [-0.5 , -0.25]])]
    """
    return _inv(square("inv", a))


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Any:
    """Solve ``tensordot(a, x, x.ndim) = b`` for x.

    Parameters
    ----------
    a : array_like or Var
        Array of the shape of ``b`` followed by that of x.
    b : array_like or Var
        Any shape.
    axes : sequence of int, optional
        Axes of ``a`` that are moved to the end first.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If b and x do not have the same number of elements.
    SingularMatrixError
        If there is no unique solution.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.linalg.tensorsolve(np.eye(4).reshape(2, 2, 4), np.ones((2, 2)))
    array([1., 1., 1., 1.])
    """
    a, b = as_operand(a), as_operand(b)
    ndim = np.ndim(a)
    order = list(range(ndim))
    for axis in axes or ():
        try:
            order.remove(axis)
        except ValueError:
            raise ShapeError(f"tensorsolve: there is no axis {axis} in shape {list(a.shape)}") from None
        order.append(axis)
    lengths = [a.shape[axis] for axis in order]
    shape = tuple(lengths[np.ndim(b) :])
    size = prod(shape)
    if prod(lengths) != size**2 or np.size(b) != size:
        raise ShapeError(f"tensorsolve: shapes {lengths} and {list(np.shape(b))} do not make a square system")
    moved = transpose(a, order) if order != sorted(order) else a
    return reshape(solve(reshape(moved, (size, size)), reshape(b, (size,))), shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of ``tensordot(a, x, ind)`` as a map of x.

    Parameters
    ----------
    a : array_like or Var
        Its first ``ind`` axes have as many elements as the rest.
    ind : int
        Positive.

    Returns
    -------
    numpy.ndarray or Var
        Array of shape ``a.shape[ind:] + a.shape[:ind]``.

    Raises
    ------
    OptionError
        If ``ind`` is not positive.
    ShapeError
        If the axes do not make a square matrix.
    SingularMatrixError
        If it is singular.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.linalg.tensorinv(np.eye(6).reshape(6, 2, 3), ind=1).shape
    (2, 3, 6)
    """
    a = as_operand(a)
    if ind <= 0:
        raise OptionError(f"tensorinv: ind={ind}. It must be positive")
    shape = np.shape(a)
    size = prod(shape[ind:])
    if prod(shape[:ind]) != size:
        raise ShapeError(f"tensorinv: shape {list(shape)} with ind={ind} does not make a square matrix")
    return reshape(inv(reshape(a, (size, size))), (*shape[ind:], *shape[:ind]))
