"""Linear algebra as in `scipy.sparse.linalg`: `spsolve` is differentiable by both sides.

All other names are SciPy's own, for plain numbers.

Examples
--------
>>> import numpy as np, scipy.sparse, tape
>>> from tape.scipy.sparse.linalg import spsolve
>>> A = scipy.sparse.csc_array([[2.0, 0.0], [1.0, 4.0]])
>>> tape.jacobian(lambda b: spsolve(A, b))(np.array([2.0, 5.0]))
array([[ 0.5  ,  0.   ],
       [-0.125,  0.25 ]])
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from threading import Lock
from typing import Any

import numpy as np
from scipy.sparse import linalg as _linalg

from tape import errors, ops
from tape.conversion.foreign import is_sparse
from tape.core.op import Op
from tape.inspect.costs import declare_cost
from tape.ops.products.sparse import one_by_one, sampled_product, sparse_product
from tape.scipy._operands import Array, has_vars, inexact, refusing
from tape.scipy.sparse._data import SparseData, parts_of

__all__ = ["spsolve"]

# ---- factors ---------------------------------------------------------------------------------------

_KEPT = 4
_factors: OrderedDict[Any, Any] = OrderedDict()
_lock = Lock()


def _factor(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, ordering: str | None) -> Any:
    """Return the LU factors of a square matrix stored by columns; those of the last few are kept.

    They are found by content, as an array may change in place between two calls.
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in (data, indices, indptr):
        digest.update(np.ascontiguousarray(part).view(np.uint8).data)
    key = digest.digest(), data.dtype.str, indices.dtype.str, len(indptr), ordering
    with _lock:
        if key in _factors:
            _factors.move_to_end(key)
            return _factors[key]
    from scipy.sparse import csc_array

    size = len(indptr) - 1
    matrix = csc_array((data, indices, indptr), shape=(size, size), copy=True)  # which SciPy sorts in place
    try:
        made = _linalg.splu(matrix, permc_spec=ordering)
    except RuntimeError as error:
        raise errors.SingularMatrixError(
            f"spsolve: the sparse matrix {size} x {size} is singular: {error}. Check its null space, or add "
            "a multiple of the identity"
        ) from error
    with _lock:
        _factors[key] = made
        while len(_factors) > _KEPT:
            _factors.popitem(last=False)
    return made


def _forward(data: Any, indices: Any, indptr: Any, b: Any, *, turned: bool, ordering: str | None) -> Any:
    dtype = np.result_type(data, b)
    if not b.size:
        return np.zeros(b.shape, dtype)
    # What is stored by rows is the transpose stored by columns.
    wide = np.result_type(dtype, np.float32)
    factor = _factor(data.astype(wide, copy=False), indices, indptr, ordering)
    return factor.solve(np.asarray(b, wide), "N" if turned else "T").astype(dtype, copy=False)


def _by_data(
    g: Any, x: Any, data: Any, indices: Any, indptr: Any, b: Any, turned: bool, ordering: str | None
) -> Any:
    adjoint = _solve(data, indices, indptr, g, turned=not turned, ordering=ordering)
    left, right = (x, adjoint) if turned else (adjoint, x)
    return -sampled_product(indices, indptr, left, right)


def _along_data(
    t: Any, x: Any, data: Any, indices: Any, indptr: Any, b: Any, turned: bool, ordering: str | None
) -> Any:
    shape = (x.shape[0], x.shape[0])
    moved = sparse_product(t, indices, indptr, x, shape=shape, turned=turned)
    return -_solve(data, indices, indptr, moved, turned=turned, ordering=ordering)


def _batch(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    data, indices, indptr, b = operands
    if is_batched[3] and not any(is_batched[:3]):  # one factorization for all
        columns = ops.reshape(ops.swapaxes(b, 0, 1), (b.shape[1], size * b.shape[2]))
        out = op(data, indices, indptr, columns, **attrs)
        return ops.swapaxes(ops.reshape(out, (b.shape[1], size, b.shape[2])), 0, 1)
    return one_by_one(op, operands, is_batched, attrs, size, b.shape[-2:])


_solve: Op = Op(
    _forward,
    name="spsolve",
    vjp=[
        _by_data,
        None,
        None,
        lambda g, x, data, indices, indptr, b, turned, ordering: _solve(
            data, indices, indptr, g, turned=not turned, ordering=ordering
        ),
    ],
    jvp=[
        _along_data,
        None,
        None,
        lambda t, x, data, indices, indptr, b, turned, ordering: _solve(
            data, indices, indptr, t, turned=turned, ordering=ordering
        ),
    ],
    batch=_batch,
    data_dependent=False,
    doc="The solution of a system with a sparse matrix stored by rows, or with its transpose.",
)
declare_cost(lambda out, shapes, attrs: 10 * shapes[0][0] * out[1], _solve)


# ---- systems ---------------------------------------------------------------------------------------


def spsolve(A: Any, b: Any, permc_spec: str | None = None, use_umfpack: bool = True) -> Array:
    """Solve a system of linear equations with a sparse matrix, as `scipy.sparse.linalg.spsolve`.

    Parameters
    ----------
    A : scipy.sparse array or matrix, or SparseData
        ``(n, n)``. With Vars as elements it is made by `tape.scipy.sparse.with_data`.
    b : array_like or Var
        ``(n,)`` or ``(n, k)``. A sparse one is for plain numbers.
    permc_spec : str, optional
        The order of columns, as in SciPy.
    use_umfpack : bool
        Has no effect with Vars: the factors are SuperLU's.

    Returns
    -------
    numpy.ndarray or Var
        In the shape of ``b``, but that SciPy returns a vector for ``(n, 1)``.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    SingularMatrixError
        If the matrix is singular.
    DTypeError
        If ``A`` is not sparse.

    Notes
    -----
    The factors are computed once for a matrix: derivatives and later calls with the same elements use them.

    Examples
    --------
    >>> import numpy as np, scipy.sparse, tape
    >>> A = scipy.sparse.csr_array([[2.0, 0.0], [1.0, 4.0]])
    >>> tape.scipy.sparse.linalg.spsolve(A, [2.0, 5.0])
    array([1., 1.])
    >>> def total(data):
    ...     A_of_data = tape.scipy.sparse.with_data(A, data)
    ...     return np.sum(tape.scipy.sparse.linalg.spsolve(A_of_data, [2.0, 5.0]))
    >>> tape.grad(total)(A.data)
    array([-0.375, -0.25 , -0.25 ])
    """
    if is_sparse(b) and not isinstance(b, SparseData):
        if isinstance(A, SparseData) or has_vars(A):
            raise errors.UnsupportedError(
                "spsolve: a sparse right-hand side is for plain numbers. Pass b.toarray()"
            )
        return _linalg.spsolve(A, b, permc_spec, use_umfpack)
    data, indices, indptr, shape, turned = parts_of(A, "spsolve")
    b = inexact(b)
    if shape[0] != shape[1] or b.ndim not in (1, 2) or b.shape[0] != shape[0]:
        seen = shape[::-1] if turned else shape
        raise errors.ShapeError(
            f"spsolve: a matrix of shape {list(seen)} and a right-hand side of shape {list(b.shape)}. They "
            "must be (n, n), and (n,) or (n, k)"
        )
    columns = b if b.ndim == 2 else ops.reshape(b, (b.shape[0], 1))
    out = _solve(inexact(data), indices, indptr, columns, turned=turned, ordering=permc_spec)
    return ops.reshape(out, (out.shape[0],)) if b.ndim == 1 or b.shape[1] == 1 else out


__getattr__, __dir__ = refusing(
    _linalg, globals(), "scipy.sparse.linalg", "spsolve, and products with a sparse array"
)
