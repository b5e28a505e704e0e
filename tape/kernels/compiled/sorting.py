"""Sorting the rows of an array by NumPy's own routines, which are functions of C found by their addresses.

A routine for values is ``int sort(void *row, intp count, void *)``, one for positions
``int argsort(void *row, intp *positions, intp count, void *)``: it permutes the positions that it is given.
Neither needs its last argument for numbers. Both return 0, or something else if there is no memory.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from tape.kernels.codes import DTYPE_CODES, FLOAT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import call3, call4, float32s, float64s, int8s, int64_at, int64s

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
def _stable_order(blas, dtype, parameters, start, stop, x, order, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out[a] = argsort(x[a], stable=True)``, from an order that sorts ``x[a]``."""
    length = int64_at(parameters + 8)
    size = length * _ITEMSIZES[dtype]
    for a in range(start, stop):
        row, positions = x + a * size, out + 8 * a * length
        places, heads = int64s(positions), int64s(workspace)
        nexts = int64s(workspace + 8 * length)
        if not _copied(int64s(order + 8 * a * length), length, places):
            return 0
        if dtype == FLOAT64:
            has_ties = _find_ties(float64s(row), places, length, heads)
        else:
            has_ties = _find_ties(float32s(row), places, length, heads)
        if has_ties and not _by_position(heads, nexts, length, places):
            return 0
    return 1


@inner
def _find_ties(row, places, length, heads):  # type: ignore[no-untyped-def]
    """Return whether elements are equal; if so, note for each where in the order the first such one is."""
    if _increase(row, places, length):
        return False
    for k in range(length):
        heads[k] = 0  # an order that is none leaves some out
    head, before = 0, row[places[0]]
    for k in range(length):
        here = row[places[k]]
        is_same = here == before or (here != here and before != before)
        head, before = head if is_same else k, here
        heads[places[k]] = head
    return True


@inner
def _increase(row, places, length):  # type: ignore[no-untyped-def]
    """Whether elements at positions are in ascending order, and no two are equal; of NaN they are not."""
    for k in range(1, length):  # noqa: SIM110 - numba compiles no `all`
        if not row[places[k - 1]] < row[places[k]]:
            return False
    return True


@inner
def _by_position(heads, nexts, length, places):  # type: ignore[no-untyped-def]
    """Put equal elements in the order of their positions; return whether all have a place."""
    for k in range(length):
        nexts[k] = k
    for k in range(length):
        at = nexts[heads[k]]
        if at >= length:
            return False
        places[at] = k
        nexts[heads[k]] = at + 1
    return True


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


KERNELS = {
    "sort": _sort,
    "argsort": _argsort,
    "stable_argsort": _argsort,
    "stable_order": _stable_order,
    "refined_order": _refined_order,
}
"""The functions of `tape.kernels.sorting.KERNELS`."""
