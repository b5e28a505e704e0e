"""Products of matrices and systems of equations as instructions.

Stacks along several axes are reshaped to two axes at most; right-hand sides become rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tape.kernels.small import MOST_ROWS
from tape.program.ir.loops import Block
from tape.program.ir.promotion import broadcast_shapes, several_dtypes
from tape.program.ir.values import CannotLower, Value
from tape.program.native.gufuncs import GUFUNCS, results_of

if TYPE_CHECKING:
    from tape.program.ir.builder import Builder


_FLOATS = frozenset(map(np.dtype, ("f4", "f8")))


def matmul(b: Builder, x: Value, y: Value) -> Value:
    """Return ``x @ y``, as `numpy.matmul` does for matrices and stacks of them.

    Parameters
    ----------
    b : Builder
        Appends the instructions.
    x, y : Value
        Two axes at least.

    Raises
    ------
    CannotLower
        For dtypes without a loop of NumPy's.
    """
    dtype = np.result_type(x.dtype, y.dtype)
    x, y = b.value(x, dtype), b.value(y, dtype)
    rows, inner, columns = x.shape[-2], x.shape[-1], y.shape[-1]
    batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    if not (rows and inner and columns and prod(batch)):
        return b.broadcast(b.literal(0, dtype), (*batch, rows, columns))
    if b.as_numpy or (dtype not in _FLOATS and max(x.ndim, y.ndim) <= 3):
        return b.push("numpy_matmul", (x, y))
    if dtype not in _FLOATS:
        x, y = (b.broadcast(a, (*batch, *a.shape[-2:])) for a in (x, y))
        x, y = (b.reshape(a, (prod(batch), *a.shape[-2:])) for a in (x, y))
        return b.reshape(b.push("numpy_matmul", (x, y)), (*batch, rows, columns))
    if x.ndim > 2 and y.ndim == 2:
        product = matmul(b, b.reshape(x, (prod(x.shape[:-1]), inner)), y)
        return b.reshape(product, (*x.shape[:-1], columns))
    if prod(batch) > 1:
        vectors = _with_vectors(b, x, y, batch)
        if vectors is not None:
            return vectors
    if len(batch) > 2:  # the machine loops over two
        x, y = (b.broadcast(a, (*batch, *a.shape[-2:])) for a in (x, y))
        x, y = (b.reshape(a, (prod(batch[:-1]), batch[-1], *a.shape[-2:])) for a in (x, y))
        return b.reshape(matmul(b, x, y), (*batch, rows, columns))
    return b.push("matmul", (x, y))


_MOST_PRODUCTS = 64
"""Of a matrix and a vector, up to which all of a stack are computed together rather than one by one."""
_MOST_OUTER_PRODUCTS = 32


def _with_vectors(b: Builder, x: Value, y: Value, batch: tuple[int, ...]) -> Value | None:
    """Return a stack of products with vectors; None where nothing is faster than one product after the other.

    One matrix for all vectors makes one product. Products of vectors, and of small matrices and vectors, are
    multiplied and summed all together.
    """
    rows, inner, columns = x.shape[-2], x.shape[-1], y.shape[-1]
    if inner == 1:
        if rows * columns > _MOST_OUTER_PRODUCTS:
            return None
        return b.elementwise("multiply", x, y) + b.literal(0, x.dtype)  # a sum of -0.0 is 0.0
    if columns > 1:
        return None
    if prod(x.shape[:-2]) == 1:
        matrix = b.transpose(b.reshape(x, (rows, inner)))
        return b.reshape(matmul(b, b.reshape(y, (prod(batch), inner)), matrix), (*batch, rows, 1))
    is_spread = rows > 1 or x.shape[:-2] != y.shape[:-2]
    if is_spread and rows * inner > _MOST_PRODUCTS:
        return None
    products = b.elementwise("multiply", x, b.reshape(y, (*y.shape[:-2], 1, inner)))
    return b.reshape(b.fold("sum", products, (products.ndim - 1,)), (*batch, rows, 1))


def solve(b: Builder, a: Value, right: Value) -> Value:
    """Solve ``a @ x = right``, as `numpy.linalg.solve` does for matrices and stacks of them.

    Parameters
    ----------
    b : Builder
        Appends the instructions.
    a, right : Value
        ``(..., n, n)`` and ``(..., n, k)``.

    Raises
    ------
    CannotLower
        For float16, and where there are matrices but no right-hand sides.
    """
    stack = broadcast_shapes(a.shape[:-2], right.shape[:-2])
    if not (a.shape[-1] and prod(stack)):
        (_, right), dtype = _doubles(b, a, right)
        return b.broadcast(b.literal(0, dtype), (*stack, *right.shape[-2:]))
    if a.dtype.kind == "c" or right.dtype.kind == "c":
        return _complex_solve(b, a, right)
    if _are_small(a, right) and right.shape[-1] <= MOST_ROWS:
        (a, right), dtype = _doubles(b, a, right)
        operands = [b.broadcast(x, (*stack, *x.shape[-2:])) for x in (a, right)]
        shape = operands[1].shape
        return b.cast(_small(b, "small_solve", operands, shape[-1:], shape), dtype)
    return _solved(b, a, right, lambda a, rows: b.push("solve", (a, rows)))


def triangular_solve(
    b: Builder, a: Value, right: Value, lower: bool, transposed: bool, unit_diagonal: bool
) -> Value:
    """Solve as `solve` does, reading one triangle of ``a`` only, or of its transpose.

    Complex systems are solved by LU factors of the triangle; the program stops where elements are not finite,
    which reach other results then.
    """
    if not (right.size and a.size):
        return solve(b, a, right)
    if a.dtype.kind == "c" or right.dtype.kind == "c":
        inside = np.tri(a.shape[-1], k=-1 if unit_diagonal else 0, dtype=bool)
        a = b.where(b.value(inside if lower else inside.T), a, 0)
        if unit_diagonal:
            a = b.where(b.value(np.eye(a.shape[-1], dtype=bool)), 1, a)
        if transposed:
            a = _transposed(b, a)
        a, right = (b.require(x, b.elementwise("isfinite", x)) for x in (a, right))
        return _complex_solve(b, a, right)
    attrs = (lower, transposed, unit_diagonal)
    return _solved(b, a, right, lambda a, rows: b.push("triangular_solve", (a, rows), attrs))


def _transposed(b: Builder, x: Value) -> Value:
    return b.transpose(x, (*range(x.ndim - 2), -1, -2))


def _complex_solve(b: Builder, a: Value, right: Value) -> Value:
    """Solve by NumPy's own loop."""
    dtype = np.result_type(a.dtype, right.dtype)
    stack = broadcast_shapes(a.shape[:-2], right.shape[:-2])
    operands = [b.broadcast(b.value(x, _COMPLEX), (*stack, *x.shape[-2:])) for x in (a, right)]
    return b.cast(b.gufunc("numpy_solve", *operands)[0], dtype)


def _solved(b: Builder, a: Value, right: Value, make: Callable[[Value, Value], Value]) -> Value:
    """Apply ``make``, which solves for a matrix and rows or stacks of both, to any stacks and columns."""
    a, right = _floats(b, a, right)
    n, columns = right.shape[-2:]
    stack = broadcast_shapes(a.shape[:-2], right.shape[:-2])
    rows = b.transpose(right, (*range(right.ndim - 2), -1, -2))
    if prod(a.shape[:-2]) == 1:  # one matrix for all right-hand sides
        solved = make(b.reshape(a, (n, n)), b.reshape(rows, (rows.size // n, n)))
    else:
        a, rows = b.broadcast(a, (*stack, n, n)), b.broadcast(rows, (*stack, columns, n))
        solved = make(*[b.reshape(x, (prod(stack), *x.shape[-2:])) for x in (a, rows)])
    solved = b.reshape(solved, (*stack, columns, n))
    return b.transpose(solved, (*range(len(stack)), -1, -2))


def cholesky(b: Builder, a: Value, upper: bool = False) -> Value:
    """Return the triangular factors of positive definite matrices, as `numpy.linalg.cholesky` does.

    Parameters
    ----------
    b : Builder
        Appends the instructions.
    a : Value
        ``(..., n, n)``.
    upper : bool
        Whether to return the upper factor.

    Raises
    ------
    CannotLower
        As `solve`.
    """
    if not a.size:
        (a,), dtype = _doubles(b, a)
        return b.broadcast(b.literal(0, dtype), a.shape)
    if a.dtype.kind == "c":
        (factor,) = b.gufunc("cholesky_up" if upper else "cholesky_lo", b.value(a, _COMPLEX))
        return b.cast(factor, a.dtype)
    if _are_small(a):
        (a,), dtype = _doubles(b, a)
        return b.cast(_small(b, "small_cholesky", (a,), (int(upper),), a.shape), dtype)
    (a,) = _floats(b, a)
    n = a.shape[-1]
    matrices = a if a.ndim <= 3 else b.reshape(a, (a.size // n**2, n, n))
    return b.reshape(b.push("cholesky", (matrices,), (upper,)), a.shape)


def gufunc(b: Builder, name: str, *operands: Value, lengths: tuple[int, ...] = ()) -> tuple[Value, ...]:
    """Return the results of a function of `tape.program.native.gufuncs`.

    Parameters
    ----------
    b : Builder
        Appends the instructions.
    name : str
        Its name there.
    *operands : Value
        Of the dtypes of one of its loops. Stacks have one shape.
    lengths : tuple of int
        Those of core dimensions that the operands leave open.

    Raises
    ------
    CannotLower
        If the function does not take these operands, or this NumPy does not have it.
    """
    chars = "".join([x.dtype.char for x in operands])
    results = results_of(name, [x.shape for x in operands], chars, lengths)
    if all(0 in shape for shape, _ in results):
        return tuple([b.broadcast(b.literal(0, dtype), shape) for shape, dtype in results])
    value = b.push(name, operands, lengths)
    if len(results) == 1:
        return (value,)
    b.blocks[value.id] = Block(results)
    return tuple([b.part(value, k) for k in range(len(results))])


def numbers(b: Builder, name: str, *operands: Any) -> tuple[Value, ...]:
    """Return the results of a ufunc among these functions, with NumPy's type promotion and broadcasting.

    Parameters
    ----------
    b : Builder
        Appends the instructions.
    name : str
        Its name in `tape.program.native.gufuncs`.
    *operands : Value, numpy.ndarray or number
        As of `Builder.elementwise`.

    Raises
    ------
    CannotLower
        As `gufunc`.
    """
    dtypes = several_dtypes(name, tuple([b.kind(x) for x in operands]))
    values = [b.value(x, dtype) for x, dtype in zip(operands, dtypes, strict=True)]
    shape = broadcast_shapes(*[value.shape for value in values])
    return b.gufunc(name, *[value if value.shape == shape else b.broadcast(value, shape) for value in values])


def transform(b: Builder, name: str, x: Value, factor: Any, count: int, dtype: Any) -> Value:
    """Return a Fourier transform along the last axis, in the precision in which NumPy computes it.

    Parameters
    ----------
    b : Builder
        Appends the instructions.
    name : str
        Its name in `tape.program.native.gufuncs`.
    x : Value
        One element at least.
    factor : int or numpy.floating
        What results are multiplied with. An int makes NumPy compute in double precision.
    count : int
        The length of the results.
    dtype : numpy.dtype
        That of the results.

    Raises
    ------
    CannotLower
        As `gufunc`.
    """
    ufunc = GUFUNCS[name].ufunc
    if ufunc is None:
        raise CannotLower(f"this NumPy has no {name}")
    kind = int if type(factor) is int else factor.dtype
    wanted = ufunc.resolve_dtypes((x.dtype, kind, dtype))
    return b.gufunc(name, b.value(x, wanted[0]), b.literal(factor, wanted[1]), lengths=(count,))[0]


def linalg(b: Builder, name: str, *operands: Value) -> tuple[Value, ...]:
    """Return the results of a function of `numpy.linalg`, which computes in double precision.

    Results are of single precision if all operands are.

    Raises
    ------
    CannotLower
        As `gufunc`.
    """
    is_single = all(x.dtype.char in "fF" for x in operands)
    is_complex = any(x.dtype.kind == "c" for x in operands)
    operands = tuple([b.value(x, _COMPLEX if is_complex else _DOUBLE) for x in operands])
    if name.startswith("svd"):  # LAPACK may never end on what is not finite
        operands = tuple([b.require(x, b.elementwise("isfinite", x)) for x in operands])
    if name in _NEUTRAL and not operands[0].shape[-1]:
        results: tuple[Value, ...] = _determinants_of_nothing(b, name, operands[0])
    elif name in _SMALL and not is_complex and _are_small(*operands):
        shape = operands[0].shape
        results = (_small(b, f"small_{name}", operands, (), shape[:-2] if name == "det" else shape),)
    else:
        results = b.gufunc(name, *operands)
    return tuple([b.cast(x, _SINGLE[x.dtype]) for x in results]) if is_single else results


def _determinants_of_nothing(b: Builder, name: str, a: Value) -> tuple[Value, ...]:
    stack = a.shape[:-2]
    one = b.broadcast(b.literal(1, a.dtype), stack)
    return (one,) if name == "det" else (one, b.broadcast(b.literal(0, _DOUBLE), stack))


_DOUBLE, _COMPLEX = np.dtype(np.float64), np.dtype(np.complex128)
_SINGLE = {_DOUBLE: np.dtype(np.float32), _COMPLEX: np.dtype(np.complex64)}
_NEUTRAL = ("det", "slogdet")
_SMALL = ("det", "inv")
_FEW = 32
"""Matrices from which on kernels for small ones are faster than LAPACK."""


def _are_small(a: Value, *others: Value) -> bool:
    """Return whether there is a kernel for stacks of such matrices, and they are enough."""
    count = prod(a.shape[:-2])
    return a.shape[-1] <= MOST_ROWS and count >= _FEW and all(x.size for x in (a, *others))


def _small(
    b: Builder, name: str, operands: Sequence[Value], parameters: tuple[int, ...], shape: tuple[int, ...]
) -> Value:
    stack, n = operands[0].shape[:-2], operands[0].shape[-1]
    return b.kernel(name, operands, (prod(stack), n, *parameters), shape, np.dtype(np.float64))


def _doubles(b: Builder, *values: Value) -> tuple[list[Value], np.dtype[Any]]:
    """Convert operands to double precision; return them, and the dtype of the result."""
    dtype = _dtype_of(*values)
    wide = _COMPLEX if dtype.kind == "c" else _DOUBLE
    return [b.value(value, wide) for value in values], dtype


def _dtype_of(*values: Value) -> np.dtype[Any]:
    """Return the dtype of a result of LAPACK."""
    dtype = np.result_type(*[value.dtype for value in values])
    if dtype == np.float16:
        raise CannotLower("LAPACK has no float16")
    return _DOUBLE if dtype.kind in "biu" else dtype


def _floats(b: Builder, *values: Value) -> list[Value]:
    """Convert operands to the dtype that LAPACK works in."""
    dtype = _dtype_of(*values)
    if not all(value.size for value in values):
        raise CannotLower("a system of no elements")
    return [b.value(value, dtype) for value in values]
