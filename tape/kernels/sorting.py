"""Sorting the rows of an array by NumPy's own routines, which are functions of C found by their addresses.

A routine for values is ``int sort(void *row, intp count, void *)``, one for positions
``int argsort(void *row, intp *positions, intp count, void *)``: it permutes the positions that it is given.
Neither needs its last argument for numbers. Both return 0, or something else if there is no memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import Any, cast

import numpy as np

from tape.kernels._jit import inner
from tape.kernels.folds import DTYPE_CODES, FLOAT32, FLOAT64, INT32, INT64
from tape.kernels.kernel import Kernel, Needs
from tape.kernels.pointers import call3, call4, float32s, float64s, int8s, int32s, int64_at, int64s

_ITEMSIZES = np.array([np.dtype(cast(Any, dtype)).itemsize for dtype in DTYPE_CODES])
_C_INT = 0xFFFFFFFF  # it comes back in the lower half


@inner
def _sort(numpy_sort, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out[a] = sort(x[a])``."""
    length = int64_at(parameters + 8)
    size = length * _ITEMSIZES[dtype]
    source, target = int8s(x), int8s(out)
    for k in range(start * size, stop * size):
        target[k] = source[k]
    for a in range(start, stop):
        if call3(numpy_sort, (out + a * size, length, 0)) & _C_INT:
            return 0
    return 1


@inner
def _argsort(numpy_argsort, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out[a] = argsort(x[a])``."""
    length = int64_at(parameters + 8)
    size = length * _ITEMSIZES[dtype]
    for a in range(start, stop):
        if not _sorted_anew(numpy_argsort, x + a * size, length, out + 8 * a * length):
            return 0
    return 1


@inner
def _sorted_anew(numpy_argsort, row, length, positions):  # type: ignore[no-untyped-def]
    places = int64s(positions)
    for k in range(length):
        places[k] = k
    return call4(numpy_argsort, (row, positions, length, 0)) & _C_INT == 0


@inner
def _stable_order(numpy_argsort, dtype, parameters, start, stop, x, order, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out[a] = argsort(x[a], stable=True)``: the order given for it, which sorts, if there are no ties."""
    length = int64_at(parameters + 8)
    size = length * _ITEMSIZES[dtype]
    for a in range(start, stop):
        row, positions = x + a * size, out + 8 * a * length
        if not _copied(int64s(order + 8 * a * length), length, int64s(positions)):
            return 0
        places = int64s(positions)
        if dtype == FLOAT64:
            is_strict = _increase(float64s(row), places, length)
        elif dtype == FLOAT32:
            is_strict = _increase(float32s(row), places, length)
        elif dtype == INT64:
            is_strict = _increase(int64s(row), places, length)
        elif dtype == INT32:
            is_strict = _increase(int32s(row), places, length)
        else:
            is_strict = False
        if not is_strict and not _sorted_anew(numpy_argsort, row, length, positions):
            return 0
    return 1


@inner
def _refined_order(numpy_argsort, dtype, parameters, start, stop, x, order, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out[a] = order[a][argsort(x[a][order[a]], stable=True)]``: equal elements keep the order given."""
    length = int64_at(parameters + 8)
    size = length * _ITEMSIZES[dtype]
    for a in range(start, stop):
        positions = out + 8 * a * length
        if not _copied(int64s(order + 8 * a * length), length, int64s(positions)):
            return 0
        if call4(numpy_argsort, (x + a * size, positions, length, 0)) & _C_INT:
            return 0
    return 1


@inner
def _copied(order, length, places):  # type: ignore[no-untyped-def]
    """Copy positions, each read once; return whether all are in range."""
    outside = 0
    for k in range(length):
        place = order[k]
        outside |= np.uint64(place) >= np.uint64(length)
        places[k] = place
    return outside == 0


@inner
def _increase(row, places, length):  # type: ignore[no-untyped-def]
    """Whether elements at positions are in ascending order, and no two are equal; of NaN they are not."""
    for k in range(1, length):  # noqa: SIM110 - numba compiles no `all`
        if not row[places[k - 1]] < row[places[k]]:
            return False
    return True


def _needs(parameters: Sequence[int]) -> Needs:
    rows, length = parameters
    if min(parameters) < 1:
        raise ValueError("a length is not positive")
    size = rows * length
    return Needs((size,), size, 0, rows, int(size * log2(length + 1)))


def _needs_order(parameters: Sequence[int]) -> Needs:
    needs = _needs(parameters)
    return needs._replace(operands=(needs.out, needs.out))


_ROWS = dict.fromkeys(("rows", "length"), 1)
_ALL = tuple(DTYPE_CODES.values())

KERNELS = {
    "sort": Kernel(_sort, _ROWS, _needs, sorting="sort", dtypes=_ALL),
    "argsort": Kernel(_argsort, _ROWS, _needs, sorting="argsort", dtypes=_ALL, finds=True),
    "stable_argsort": Kernel(_argsort, _ROWS, _needs, sorting="stable argsort", dtypes=_ALL, finds=True),
    "stable_order": Kernel(
        _stable_order, _ROWS, _needs_order, indices=(1,), sorting="stable argsort", dtypes=_ALL, finds=True
    ),
    "refined_order": Kernel(
        _refined_order, _ROWS, _needs_order, indices=(1,), sorting="stable argsort", dtypes=_ALL, finds=True
    ),
}
