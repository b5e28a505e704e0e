"""Products of vectors, matrices and stacks of matrices.

Products that sum over axes other than the last ones are in `tape.ops.products.tensors`. Some products
conjugate their first operand, as NumPy's do; by the convention of `tape.ops.elementwise.complex`, rules
conjugate nothing else.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tape.core import pattern_rules, series
from tape.core.batch_rules import elementwise, lift
from tape.core.fitting import fit
from tape.core.interpreter import OPEN
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.record import recorder_of
from tape.core.table import implements
from tape.errors import ShapeError
from tape.inspect.costs import declare_cost, matrix_products
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.complex import conjugated
from tape.ops.structure.axes import axes_of, moveaxis, swapaxes
from tape.ops.structure.shape import expand_dims, ravel, reshape

__all__ = ["matmul", "matvec", "vdot", "vecdot", "vecmat"]

declare_samples(
    "np.linalg.matmul, np.linalg.vecdot, np.matmul, np.matvec, np.vecdot(x, v)",
    "np.vdot(u, w)",
    "np.vecmat(u, x)",
)


def _forward(x: Any, y: Any) -> Any:
    if type(x) is type(y) is np.ndarray and x.ndim == 2 == y.ndim and 1 not in x.shape and 1 not in y.shape:
        return x.dot(y)  # the same to the last bit, with half of matmul's call overhead
    return np.matmul(x, y)


def _as_matrices(g: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
    """Return all three as stacks of matrices: a vector on the left is a row, on the right a column."""
    if x.ndim == 1:
        x, g = expand_dims(x, 0), expand_dims(g, -2)
    elif y.ndim == 1:
        y, g = expand_dims(y, 1), expand_dims(g, -1)
    return g, x, y


def _product(x: Any, y: Any) -> Any:
    """Return ``x @ y``."""
    return _forward(x, y) if type(x) is type(y) is np.ndarray else matmul(x, y)


def _outer(x: Any, y: Any) -> Any:
    """Return a column times a row; one of them may be a scalar."""
    if not x.ndim or not y.ndim:
        return x * y
    if type(x) is type(y) is np.ndarray and not OPEN:  # reshaped by NumPy itself, in half the time
        return _forward(x.reshape(x.size, 1), y.reshape(1, y.size))
    return _product(reshape(x, (x.size, 1)), reshape(y, (1, y.size)))


def matrix_product(x: Any, y: Any) -> Any:
    """Return ``x @ y`` of (stacks of) matrices; of columns and rows elementwise, four times faster."""
    return x * y if x.shape[-1] == 1 and x.ndim > 2 else _product(x, y)


def _vjp_left(g: Any, out: Any, x: Any, y: Any) -> Any:
    if x.ndim == 2 == y.ndim:
        return _product(g, y.T)
    if x.ndim < 3 and y.ndim < 3:
        return _outer(g, y) if y.ndim == 1 else matmul(y, g)
    shape = x.shape
    g, x, y = _as_matrices(g, x, y)
    return reshape(fit(matrix_product(g, swapaxes(y, -1, -2)), x), shape)


def _vjp_right(g: Any, out: Any, x: Any, y: Any) -> Any:
    if x.ndim == 2 == y.ndim:
        return _product(x.T, g)
    if x.ndim < 3 and y.ndim < 3:
        return _outer(x, g) if x.ndim == 1 else matmul(g, x)
    shape = y.shape
    g, x, y = _as_matrices(g, x, y)
    if y.ndim == 2:  # one matrix for a whole stack: a single product instead of a sum of many
        rows = reshape(x, (prod(x.shape[:-1]), x.shape[-1]))
        return reshape(rows.T @ reshape(g, (rows.shape[0], g.shape[-1])), shape)
    return reshape(fit(matrix_product(swapaxes(x, -1, -2), g), y), shape)


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


_FAST = frozenset(map(np.dtype, ("f8", "f4")))  # those of our own kernels for sums of products


def _lower_matmul(b: Any, x: Any, y: Any) -> Any:
    if x.ndim == 1 == y.ndim and np.result_type(x.dtype, y.dtype) in _FAST:
        return b.fold("sum", x * y)
    rows, columns = x.shape[-2:-1], () if y.ndim == 1 else y.shape[-1:]
    x = b.reshape(x, (1, *x.shape)) if x.ndim == 1 else x
    y = b.reshape(y, (*y.shape, 1)) if y.ndim == 1 else y
    out = b.matmul(x, y)
    return b.reshape(out, (*out.shape[:-2], *rows, *columns))


@pattern_rules.multilinear
def _pattern_matmul(
    sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any
) -> Any:
    """Pattern rule: rows of the left operand and columns of the right one, as far as constants are not 0."""
    x, y = operands
    if not all(is_moving) and max(np.ndim(x), np.ndim(y)) < 3:
        support = sets.support(y if is_moving[0] else x)
        if support is not None:
            return _selected(sets, x, y, support, is_left=is_moving[0]).reshape(np.shape(out))
    found = []
    if is_moving[0]:
        rows = sets.over(x, -1, False)
        found.append(rows if np.ndim(y) == 1 else rows[..., None])
    if is_moving[1]:
        columns = sets.over(y, -min(np.ndim(y), 2), False)
        found.append(columns[..., None, :] if np.ndim(y) > 1 and np.ndim(x) > 1 else columns)
    return np.broadcast_to(sets.union(*found), np.shape(out))


def _selected(sets: Any, x: Any, y: Any, support: Any, *, is_left: bool) -> Any:
    """Return the sets of a product where it is known in which elements the other operand is not 0."""
    if not is_left:  # of the transposed product
        x, support = y.T if np.ndim(y) == 2 else y, support.T if support.ndim == 2 else support
    x, support = np.atleast_2d(x), support.reshape(len(support), -1)
    inner, columns = np.nonzero(support)
    shape = (x.shape[0], support.shape[1])
    targets = np.arange(shape[0])[:, None] * shape[1] + columns
    found = sets.grouped(targets, x[:, inner], shape[0] * shape[1]).reshape(shape)
    return found if is_left else found.T


@pattern_rules.multilinear
def _pattern_vecdot(
    sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any
) -> Any:
    found = [sets.over(x, -1, False) for x in pattern_rules.moving(operands, is_moving)]
    return np.broadcast_to(sets.union(*found), np.shape(out))


matmul_op = Op(
    _forward,
    name="matmul",
    pattern=_pattern_matmul,
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

matmul = recorder_of(matmul_op, 2, np.matmul)
implements(np.linalg.matmul)(matmul)


# ---- vectors, and stacks of them -------------------------------------------------------------------


def _scaled(g: Any, y: Any, like: Any) -> Any:
    """Return each vector times its number, in the shape of ``like``."""
    if like.ndim == 2 and y.ndim == 1:
        return _outer(g, y)
    if y.ndim > 1 == like.ndim:
        return matmul(ravel(g), reshape(y, (prod(g.shape), y.shape[-1])))
    return fit(expand_dims(g, -1) * y, like)


def _lower_vecdot(b: Any, x: Any, y: Any) -> Any:
    dtype = np.result_type(x.dtype, y.dtype)
    if (dtype.kind != "c" and dtype != np.float16) or not x.size or not y.size:
        return b.fold("sum", x * y, -1)
    shape = np.broadcast_shapes(x.shape, y.shape)
    return b.gufunc("vecdot", *[b.broadcast(b.value(a, dtype), shape) for a in (x, y)])[0]


_vecdot = Op(
    np.vecdot,
    name="vecdot",
    pattern=_pattern_vecdot,
    vjp=[
        lambda g, out, x, y: conjugated(_scaled(g, y, x)),
        lambda g, out, x, y: _scaled(g, conjugated(x), y),
    ],
    linear=True,
    batch=elementwise,
    lower=_lower_vecdot,
)
declare_cost(matrix_products, matmul_op, _vecdot)


def _check_stacks(name: str, x: Any, y: Any, x_core: str, y_core: str) -> None:
    """Raise if stacks of arrays with these axes, a letter each, do not multiply over the axis they share."""
    x_shape, y_shape = np.shape(x), np.shape(y)
    call = f"{name}: shapes {list(x_shape)} and {list(y_shape)}"
    for shape, core, which in ((x_shape, x_core, "first"), (y_shape, y_core, "second")):
        if len(shape) < len(core):
            kind = "vector" if len(core) == 1 else "matrix"
            raise ShapeError(f"{call}. The {which} must be a {kind}, or a stack of them")
    (shared,) = set(x_core) & set(y_core)
    lengths = (x_shape[x_core.index(shared) - len(x_core)], y_shape[y_core.index(shared) - len(y_core)])
    if lengths[0] != lengths[1]:
        raise ShapeError(f"{call}. The lengths {lengths[0]} and {lengths[1]} must be equal")
    try:
        np.broadcast_shapes(x_shape[: -len(x_core)], y_shape[: -len(y_core)])
    except ValueError:
        raise ShapeError(f"{call}. The stacks do not broadcast") from None


def with_axis_last(name: str, a: Any, axis: int) -> Any:
    """Return an array with one axis moved to the end; raise a ShapeError if there is no such axis."""
    (last,) = axes_of(name, a, axis)
    return a if last == np.ndim(a) - 1 else moveaxis(a, last, -1)


@implements(np.vecdot, np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, *, axis: int = -1) -> Any:
    """Inner products of vectors, or of stacks of vectors; the first is conjugated.

    Parameters
    ----------
    x1, x2 : array_like or Var
        Of equal length along ``axis``; the other axes broadcast.
    axis : int
        The axis of the vectors.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Without that axis.

    Raises
    ------
    ShapeError
        If there is no such axis, the lengths differ or the stacks do not broadcast.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.vecdot([1.0, 2.0], [3.0, 4.0]))
    11.0
    """
    x1, x2 = (with_axis_last("vecdot", as_operand(x), axis) for x in (x1, x2))
    return _vecdot(x1, x2)


@implements(np.vdot)
def vdot(a: Any, b: Any) -> Any:
    """The inner product of all elements; those of the first array are conjugated.

    Parameters
    ----------
    a, b : array_like or Var
        Arrays with the same number of elements, of any shapes.

    Returns
    -------
    numpy.generic or Var

    Raises
    ------
    ShapeError
        If the numbers of elements differ.

    Examples
    --------
    >>> import tape
    >>> complex(tape.ops.vdot([1j], [1j]))
    (1+0j)
    """
    a, b = as_operand(a), as_operand(b)
    if np.size(a) != np.size(b):
        raise ShapeError(f"vdot of {np.size(a)} and {np.size(b)} elements. Their numbers must be equal")
    return _vecdot(ravel(a), ravel(b))


@implements(*(getattr(np, name) for name in ("matvec",) if hasattr(np, name)))  # from NumPy 2.2 on
def matvec(x1: Any, x2: Any) -> Any:
    """Products of matrices with vectors, or of stacks of them.

    Parameters
    ----------
    x1 : array_like or Var
        ``(..., n, k)``.
    x2 : array_like or Var
        ``(..., k)``.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n)``.

    Raises
    ------
    ShapeError
        If the lengths differ or the stacks do not broadcast.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.matvec(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [3., 4.]])
    """
    x1, x2 = as_operand(x1), as_operand(x2)
    _check_stacks("matvec", x1, x2, "nk", "k")
    if np.ndim(x2) == 1:
        return matmul(x1, x2)
    out = matmul(x1, expand_dims(x2, -1))
    return reshape(out, out.shape[:-1])


@implements(*(getattr(np, name) for name in ("vecmat",) if hasattr(np, name)))
def vecmat(x1: Any, x2: Any) -> Any:
    """Products of conjugated vectors with matrices, or of stacks of them.

    Parameters
    ----------
    x1 : array_like or Var
        ``(..., k)``.
    x2 : array_like or Var
        ``(..., k, m)``.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., m)``.

    Raises
    ------
    ShapeError
        If the lengths differ or the stacks do not broadcast.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.vecmat(np.array([1.0, 2.0]), np.eye(2))
    array([1., 2.])
    """
    x1, x2 = as_operand(x1), as_operand(x2)
    _check_stacks("vecmat", x1, x2, "k", "km")
    x1 = conjugated(x1)
    if np.ndim(x1) == 1:
        return matmul(x1, x2)
    out = matmul(expand_dims(x1, -2), x2)
    return reshape(out, (*out.shape[:-2], out.shape[-1]))
