"""Products of a sparse matrix, of which only the stored elements are operands, with dense ones.

A matrix is stored by rows, as `scipy.sparse.csr_array` does: its elements ``data``, their columns
``indices``, and where each row starts, ``indptr``. Two operations are each other's derivatives: the product,
and the elements of a product of dense matrices at the places that are stored.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.table import INTERNAL
from tape.errors import ShapeError, describe
from tape.inspect.costs import declare_cost
from tape.ops.structure.joining import stack
from tape.ops.structure.shape import reshape, swapaxes, transpose

__all__: list[str] = []  # what `tape.scipy.sparse` is made of


def _forward(data: Any, indices: Any, indptr: Any, x: Any, *, shape: tuple[int, int], turned: bool) -> Any:
    from scipy.sparse import csr_array  # here, since its import takes long

    dtype = np.result_type(data, x)
    if dtype == np.float16:  # SciPy has no float16
        data, x = data.astype(np.float32), x.astype(np.float32)
    matrix = csr_array((data, indices, indptr), shape=shape)
    return ((matrix.T if turned else matrix) @ x).astype(dtype, copy=False)


def _by_data(g: Any, out: Any, data: Any, indices: Any, indptr: Any, x: Any, shape: Any, turned: bool) -> Any:
    left, right = (x, g) if turned else (g, x)
    return sampled_product(indices, indptr, left, right)


def _batch(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    data, indices, indptr, x = operands
    if is_batched[3] and not any(is_batched[:3]):  # the columns of all side by side
        columns = reshape(swapaxes(x, 0, 1), (x.shape[1], size * x.shape[2]))
        out = op(data, indices, indptr, columns, **attrs)
        return swapaxes(reshape(out, (out.shape[0], size, x.shape[2])), 0, 1)
    shape = (attrs["shape"][attrs["turned"]], x.shape[-1])
    return one_by_one(op, operands, is_batched, attrs, size, shape)


def one_by_one(
    op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int, shape: tuple[int, ...]
) -> Any:
    """Call an operation for each element of a batch, and stack the results, of this shape."""
    if not size:
        return np.zeros((0, *shape), np.result_type(*[x.dtype for x in operands if x.dtype.kind in "fc"]))
    rows = [
        [x[k] if inside else x for x, inside in zip(operands, is_batched, strict=True)] for k in range(size)
    ]
    return stack([op(*row, **attrs) for row in rows])


def _index(b: Any, indices: Any, indptr: Any) -> Any:
    return b.concatenate([b.value(indptr, np.int64), b.value(indices, np.int64)], 0)


def _lower_product(
    b: Any, data: Any, indices: Any, indptr: Any, x: Any, shape: tuple[int, int], turned: bool
) -> Any:
    data, x = b.value(data), b.value(x)
    dtype = np.result_type(data.dtype, x.dtype)
    out = (shape[turned], x.shape[1])
    lengths = (*shape, data.size, x.shape[1])
    if 0 in lengths:
        return b.broadcast(b.literal(0, dtype), out)
    name = "sparse_turned_product" if turned else "sparse_product"
    return b.kernel(name, [data, _index(b, indices, indptr), x], lengths, out, dtype)


sparse_product: Op = Op(
    _forward,
    name="sparse_product",
    vjp=[
        _by_data,
        None,
        None,
        lambda g, out, data, indices, indptr, x, shape, turned: sparse_product(
            data, indices, indptr, g, shape=shape, turned=not turned
        ),
    ],
    linear=True,
    batch=_batch,
    lower=_lower_product,
    data_dependent=False,
    doc="The product of a matrix ``shape`` stored by rows, or of its transpose, with a dense one.",
)


def _sampled(indices: Any, indptr: Any, left: Any, right: Any) -> Any:
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return np.einsum("ek,ek->e", left[rows], right[indices]).astype(np.result_type(left, right), copy=False)


def _lower_sampled(b: Any, indices: Any, indptr: Any, left: Any, right: Any) -> Any:
    left, right, indices = b.value(left), b.value(right), b.value(indices)
    dtype = np.result_type(left.dtype, right.dtype)
    lengths = (left.shape[0], right.shape[0], indices.size, left.shape[1])
    if 0 in lengths:
        return b.broadcast(b.literal(0, dtype), indices.shape)
    return b.kernel(
        "sampled_product", [_index(b, indices, indptr), left, right], lengths, indices.shape, dtype
    )


sampled_product: Op = Op(
    _sampled,
    name="sampled_product",
    vjp=[
        None,
        None,
        lambda g, out, indices, indptr, left, right: sparse_product(
            g, indices, indptr, right, shape=(left.shape[0], right.shape[0]), turned=False
        ),
        lambda g, out, indices, indptr, left, right: sparse_product(
            g, indices, indptr, left, shape=(left.shape[0], right.shape[0]), turned=True
        ),
    ],
    linear=True,
    batch=lambda op, operands, is_batched, attrs, size: one_by_one(
        op, operands, is_batched, attrs, size, operands[0].shape[-1:]
    ),
    lower=_lower_sampled,
    data_dependent=False,
    doc="The elements of ``left @ right.T`` at the places that a matrix stored by rows has.",
)
declare_cost(lambda out, shapes, attrs: 2 * shapes[0][0] * prod(out[1:]), sparse_product)
declare_cost(lambda out, shapes, attrs: 2 * prod(out) * shapes[2][-1], sampled_product)


def times(matrix: tuple[Any, Any, Any, tuple[int, int], bool], x: Any, is_left: bool) -> Any:
    """Return ``matrix @ x``, or ``x @ matrix`` if that is the right operand.

    Parameters
    ----------
    matrix : tuple
        Its elements, columns, and starts of rows; its shape; and whether its transpose is meant.
    x : array_like or Var
        A vector or a matrix, on the left also a stack of these.
    is_left : bool
        Whether the sparse matrix is the left operand.
    """
    data, indices, indptr, shape, turned = matrix
    x = as_operand(x)
    seen = shape[::-1] if turned else shape
    if not np.ndim(x) or (is_left and x.ndim > 2) or x.shape[0 if is_left else -1] != seen[is_left]:
        order = (
            f"a sparse {list(seen)} @ {describe(x)}" if is_left else f"{describe(x)} @ a sparse {list(seen)}"
        )
        raise ShapeError(f"matmul: {order}. The dense operand must be a vector or matrix that fits")
    if is_left:
        columns = x if x.ndim == 2 else reshape(x, (x.shape[0], 1))
        out = sparse_product(data, indices, indptr, columns, shape=shape, turned=turned)
        return out if x.ndim == 2 else reshape(out, (out.shape[0],))
    rows = reshape(x, (prod(x.shape[:-1]), x.shape[-1]))
    out = transpose(sparse_product(data, indices, indptr, transpose(rows), shape=shape, turned=not turned))
    return reshape(out, (*x.shape[:-1], out.shape[-1]))


def stored(matrix: Any) -> tuple[Any, Any, Any, tuple[int, int], bool]:
    """Return the parts of a sparse array or matrix, without converting one stored by rows or columns."""
    if hasattr(matrix, "parts"):  # of `tape.scipy.sparse.with_data`
        return matrix.parts
    if matrix.ndim != 2:
        raise ShapeError(f"a sparse array has shape {list(matrix.shape)}. It must have two axes")
    turned = matrix.format == "csc"
    if turned:
        matrix = matrix.T
    elif matrix.format != "csr":
        matrix = matrix.tocsr()
    return matrix.data, matrix.indices, matrix.indptr, (int(matrix.shape[0]), int(matrix.shape[1])), turned


INTERNAL["product with a sparse array"] = lambda matrix, x, is_left: times(stored(matrix), x, is_left)
