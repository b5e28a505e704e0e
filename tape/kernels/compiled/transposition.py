"""A matrix transposed into memory of its own, four rows by four columns at a time.

What is left over at the end of a row or column is done with what comes before it, once more: of a tile only
its last rows and columns are short. Matrices of two or three columns, and their transposes, have loops that
LLVM makes SIMD of.
"""

from __future__ import annotations

from tape.kernels.codes import FLOAT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.copies import copy_plane
from tape.kernels.compiled.pointers import float64s, int64_at
from tape.kernels.compiled.vectors import even, first_halves, last_halves, load, odd, store

_FEW = 4
"""Rows and columns of a tile."""


@inner
def _tile(x, i, j, rows, columns, out):  # type: ignore[no-untyped-def]
    """Transpose four rows from ``i`` on, of four columns from ``j`` on."""
    at = i * columns + j
    a, b = load(x, at), load(x, at + columns)
    c, d = load(x, at + 2 * columns), load(x, at + 3 * columns)
    evens, odds = even(a, b), odd(a, b)
    more_evens, more_odds = even(c, d), odd(c, d)
    at = j * rows + i
    store(out, at, first_halves(evens, more_evens))
    store(out, at + rows, first_halves(odds, more_odds))
    store(out, at + 2 * rows, last_halves(evens, more_evens))
    store(out, at + 3 * rows, last_halves(odds, more_odds))


@inner
def _tiles(x, rows, columns, out):  # type: ignore[no-untyped-def]
    """Go along the longer side: what is near the other end of the shorter one stays in the cache."""
    if rows >= columns:
        for first in range(0, rows, _FEW):
            for second in range(0, columns, _FEW):
                _tile(x, min(first, rows - _FEW), min(second, columns - _FEW), rows, columns, out)
    else:
        for second in range(0, columns, _FEW):
            for first in range(0, rows, _FEW):
                _tile(x, min(first, rows - _FEW), min(second, columns - _FEW), rows, columns, out)


@inner
def _split(x, count, parts, out):  # type: ignore[no-untyped-def]
    """Transpose ``count`` rows of two or three."""
    if parts == 2:
        for i in range(count):
            out[i], out[count + i] = x[2 * i], x[2 * i + 1]
    else:
        for i in range(count):
            out[i], out[count + i], out[2 * count + i] = x[3 * i], x[3 * i + 1], x[3 * i + 2]


@inner
def _joined(x, count, parts, out):  # type: ignore[no-untyped-def]
    """Transpose two or three rows of ``count``."""
    if parts == 2:
        for i in range(count):
            out[2 * i], out[2 * i + 1] = x[i], x[count + i]
    else:
        for i in range(count):
            out[3 * i], out[3 * i + 1], out[3 * i + 2] = x[i], x[count + i], x[2 * count + i]


@inner
def _transposed(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out[j, i] = x[i, j]``."""
    rows, columns = int64_at(parameters), int64_at(parameters + 8)
    if start >= stop:
        return 1
    if dtype == FLOAT64 and min(rows, columns) >= _FEW:
        _tiles(float64s(x), rows, columns, float64s(out))
    elif dtype == FLOAT64 and 2 <= columns < _FEW:
        _split(float64s(x), rows, columns, float64s(out))
    elif dtype == FLOAT64 and 2 <= rows < _FEW:
        _joined(float64s(x), columns, rows, float64s(out))
    else:
        size = 8 if dtype == FLOAT64 else 4
        copy_plane(size, x, size, columns * size, out, rows * size, size, columns, rows)
    return 1


KERNELS = {"transposed": _transposed}
"""The function of `tape.kernels.transposition.KERNELS`."""
