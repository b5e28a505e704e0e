"""The exponential of matrices in instructions: scaling, an approximant, squaring (Al-Mohy and Higham 2009).

SciPy chooses among five approximants; a program takes that of order 13 for all matrices. How often matrices
are halved depends on their elements, so squaring is a loop that ends by a count.
"""

from __future__ import annotations

from math import comb, factorial
from typing import TYPE_CHECKING

import numpy as np

from tape.program.ir.loops import Loop
from tape.program.ir.values import Value

if TYPE_CHECKING:
    from tape.program.ir.builder import Builder

_ORDER, _THETA = 13, 4.25  # Al-Mohy and Higham, table 3.1
_NUMERATORS = [factorial(2 * _ORDER - k) // (factorial(_ORDER - k) * factorial(k)) for k in range(_ORDER + 1)]
_COEFFICIENTS = [
    number / _NUMERATORS[0] for number in _NUMERATORS
]  # of which the first is 1: exp(0) is exact
_ERROR = comb(2 * _ORDER, _ORDER) * factorial(2 * _ORDER + 1) * 2.0**-53  # over the leading term of the error
_MOST_SQUARINGS = 2100  # of numbers up to 2**1024, and some more
_TRIANGULAR_SQUARINGS = 6  # each doubles the rounding errors of the diagonal, which SciPy computes anew
_DOUBLE = np.dtype(np.float64)


def expm(b: Builder, a: Value) -> Value:
    """Return the exponentials of matrices, as `scipy.linalg.expm` does up to rounding.

    Parameters
    ----------
    b : Builder
        Appends the instructions.
    a : Value
        ``(..., n, n)``. The program stops, for the function itself, if an element is not finite, or if a
        triangular matrix is squared often: SciPy's exponentials of these are the more accurate ones.

    Raises
    ------
    CannotLower
        For float16.
    """
    wide = np.result_type(a.dtype, _DOUBLE)
    dtype = a.dtype if a.dtype.char in "fF" else wide
    if not a.size:
        return b.broadcast(b.literal(0, dtype), a.shape)
    x = b.value(a, wide)
    if a.shape[-1] == 1:
        return b.cast(b.elementwise("exp", x), dtype)
    powers = {1: x, 2: x @ x}
    for k in (4, 6, 8, 10):
        powers[k] = powers[2 * (k // 4)] @ powers[k - 2 * (k // 4)]
    root = {k: b.elementwise("power", _norm(b, powers[k]), 1 / k) for k in (6, 8, 10)}
    largest = b.elementwise("maximum", root[8], root[10])
    size = b.elementwise("minimum", b.elementwise("maximum", root[6], root[8]), largest)
    halvings = _at_least_zero(b, b.elementwise("log2", size / _THETA))
    halvings = halvings + _more_halvings(b, _halved(b, x, halvings, 1))
    x = b.require(x, b.elementwise("isfinite", halvings))
    is_small = b.elementwise("less_equal", halvings, _TRIANGULAR_SQUARINGS)
    x = b.require(x, b.elementwise("logical_or", is_small, _is_full(b, x)))
    powers = {k: _halved(b, x if k == 1 else powers[k], halvings, k) for k in (1, 2, 4, 6)}
    result = _approximant(b, powers)
    return b.cast(_squared(b, result, halvings), dtype)


def _norm(b: Builder, x: Value) -> Value:
    """Return the largest sum of a column."""
    sums = b.fold("sum", b.elementwise("absolute", x), -2)
    return b.reshape(b.fold("max", sums, -1), (*x.shape[:-2], 1, 1))


def _is_full(b: Builder, x: Value) -> Value:
    """Return which matrices have elements on both sides of their diagonals."""
    sizes, k = b.elementwise("absolute", x), np.arange(x.shape[-1])
    lower, upper = (_norm(b, b.where(b.value(side), sizes, 0.0)) for side in (k[:, None] > k, k[:, None] < k))
    return b.elementwise("greater", b.elementwise("minimum", lower, upper), 0.0)


def _at_least_zero(b: Builder, x: Value) -> Value:
    return b.elementwise("maximum", b.elementwise("ceil", x), 0.0)


def _halved(b: Builder, x: Value, halvings: Value, power: int) -> Value:
    """Return a power of the matrix that is halved so often."""
    exponents = b.cast(-power * halvings, np.int32)
    if x.dtype.kind != "c":
        return b.elementwise("ldexp", x, exponents)
    return b.complexes(b.elementwise("ldexp", b.reals(x), b.reshape(exponents, (*exponents.shape, 1))))


def _more_halvings(b: Builder, x: Value) -> Value:
    """Return how often a matrix must be halved so that the approximant is exact to rounding (eq. 3.1)."""
    sizes, row = b.elementwise("absolute", x), b.broadcast(b.literal(1.0), (*x.shape[:-2], 1, x.shape[-1]))
    for _ in range(2 * _ORDER + 1):
        row = row @ sizes
    largest, norm = b.reshape(b.fold("max", row, -1), (*x.shape[:-2], 1, 1)), _norm(b, x)
    ratio = b.where(b.elementwise("equal", norm, 0.0), 0.0, largest / (norm * _ERROR))
    return _at_least_zero(b, b.elementwise("log2", ratio) / (2.0 * _ORDER))


def _approximant(b: Builder, powers: dict[int, Value]) -> Value:
    """Return the Pade approximant, of the powers 1, 2, 4 and 6 of the matrix (Higham 2005, algorithm 2.3)."""
    of = _COEFFICIENTS
    shape = powers[1].shape
    eye = b.broadcast(b.value(np.eye(shape[-1])), shape)

    def half(first: int) -> Value:
        inner = powers[6] * of[12 + first] + powers[4] * of[10 + first] + powers[2] * of[8 + first]
        outer = powers[6] * of[6 + first] + powers[4] * of[4 + first] + powers[2] * of[2 + first]
        return powers[6] @ inner + outer + eye * of[first]

    odd, even = powers[1] @ half(1), half(0)
    return b.solve(even - odd, even + odd)


def _squared(b: Builder, x: Value, times: Value) -> Value:
    """Return matrices squared so many times each."""
    body = type(b)()
    inputs = ((times.shape, _DOUBLE), (x.shape, x.dtype), ((), _DOUBLE))
    last, state, step = [body.input(shape, dtype) for shape, dtype in inputs]
    squared = body.where(step < last, state @ state, state)
    body.ir.outputs = [squared.id, (step + 1.0).id]
    loop = Loop(body.ir, _MOST_SQUARINGS, 1, 2, False, "count")
    count = b.cast(b.fold("max", times), np.int64)
    return b.part(b.loop(loop, [times, x, b.literal(0.0), count]), 0)
