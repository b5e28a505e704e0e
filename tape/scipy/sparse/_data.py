"""Sparse arrays whose stored elements are Vars."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors, ops
from tape.conversion.foreign import is_sparse
from tape.ops.products.sparse import stored, times
from tape.scipy._operands import Array, inexact, operand

__all__ = ["SparseData", "parts_of", "with_data"]


class SparseData:
    """A sparse array with Vars as stored elements, made by `with_data`.

    Attributes
    ----------
    data : numpy.ndarray or Var
        The stored elements.
    shape : tuple of int
        That of the array.
    """

    __array_ufunc__ = None

    def __init__(self, data: Array, indices: Any, indptr: Any, stored: tuple[int, int], turned: bool) -> None:
        self.data, self.indices, self.indptr = data, indices, indptr
        self._stored, self._turned = stored, turned
        self.shape = stored[::-1] if turned else stored

    def __repr__(self) -> str:
        return f"<SparseData {self.shape[0]} x {self.shape[1]} with {self.data.shape[0]} stored elements>"

    @property
    def parts(self) -> tuple[Any, Any, Any, tuple[int, int], bool]:
        """The elements, columns, and starts of rows as they are stored; that shape; whether it is turned."""
        return self.data, self.indices, self.indptr, self._stored, self._turned

    @property
    def T(self) -> SparseData:
        """The transpose."""
        return SparseData(self.data, self.indices, self.indptr, self._stored, not self._turned)

    def __matmul__(self, x: Any) -> Array:
        return times(self.parts, operand(x), True)

    def __rmatmul__(self, x: Any) -> Array:
        return times(self.parts, operand(x), False)

    def toarray(self) -> Array:
        """Return the dense array, differentiable by the elements."""
        rows = np.repeat(np.arange(self._stored[0]), np.diff(self.indptr))
        dense = ops.add_at(np.zeros(self._stored, self.data.dtype), self.data, (rows, self.indices))
        return ops.transpose(dense) if self._turned else dense


def with_data(pattern: Any, data: Any) -> SparseData:
    """Return a sparse array with the pattern of another one, and Vars as its stored elements.

    Parameters
    ----------
    pattern : scipy.sparse array or matrix
        Stored by rows or columns: csr or csc.
    data : array_like or Var
        ``(pattern.nnz,)``: the elements, in the order of ``pattern.data``.

    Returns
    -------
    SparseData
        It has ``@``, ``T`` and ``toarray()``, and `tape.scipy.sparse.linalg.spsolve` takes it.

    Raises
    ------
    DTypeError
        If the pattern is anything but a csr or csc array.
    ShapeError
        If there are not as many elements.

    Examples
    --------
    >>> import numpy as np, scipy.sparse, tape
    >>> pattern = scipy.sparse.csr_array([[1.0, 0.0], [2.0, 3.0]])
    >>> f = lambda data: np.sum(tape.scipy.sparse.with_data(pattern, data) @ np.array([1.0, 10.0]))
    >>> tape.grad(f)(pattern.data)
    array([ 1.,  1., 10.])
    """
    if not is_sparse(pattern) or getattr(pattern, "format", "") not in ("csr", "csc"):
        raise errors.DTypeError(
            f"with_data: the pattern is a {type(pattern).__name__}. It must be a csr or csc array; call its "
            "tocsr()"
        )
    _, indices, indptr, shape, turned = stored(pattern)
    data = inexact(data)
    if data.shape != indices.shape:
        raise errors.ShapeError(
            f"with_data: {list(data.shape)} elements for a pattern of {indices.shape[0]}. Give one for each"
        )
    return SparseData(data, indices, indptr, shape, turned)


def parts_of(matrix: Any, what: str) -> tuple[Any, Any, Any, tuple[int, int], bool]:
    """Return the parts of a sparse array, SciPy's or with Vars as elements.

    Raises
    ------
    DTypeError
        If it is neither.
    """
    if not is_sparse(matrix):
        raise errors.DTypeError(
            f"{what}: the matrix is {errors.describe(matrix)}. It must be a sparse array; np.linalg.solve "
            "takes dense ones"
        )
    return stored(matrix)
