"""What goes to the largest or smallest elements of rows: equal ones share it, the others get nothing.

The elements of a row that are equal to its extreme are counted, and then the row is written: there are no
branches that depend on how many there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.kernels.codes import FLOAT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import float32s, float64s, int64_at
from tape.kernels.compiled.vectors import add, behind, lanes, load, spread, store, total, where_equal
from tape.kernels.extremes import ELEMENTS


def _of_rows(zero: Any, one: Any) -> Any:
    @inner
    def share_row(g, extreme, x, out, length):  # type: ignore[no-untyped-def]
        """Share ``g`` among the elements of a row."""
        width = lanes(x)
        last = length - width
        if last < 0:
            count = zero
            for i in range(length):
                count += one if x[i] == extreme else zero
            share = g / max(count, one)
            for i in range(length):
                out[i] = share if x[i] == extreme else zero
            return
        wanted, nothing, each = spread(extreme), spread(zero), spread(one)
        counts, i = nothing, 0
        while i <= last:
            counts = add(counts, where_equal(load(x, i), wanted, each, nothing))
            i += width
        if i < length:  # what is left over ends a vector, most of which has been counted
            counts = add(counts, behind(where_equal(load(x, last), wanted, each, nothing), length - i))
        shares, i = spread(g / max(total(counts), one)), 0
        while i < last:
            store(out, i, where_equal(load(x, i), wanted, shares, nothing))
            i += width
        store(out, last, where_equal(load(x, last), wanted, shares, nothing))

    return share_row


def _of_dtype(view: Any, size: int, zero: Any, one: Any) -> Any:
    share_row = _of_rows(zero, one)

    @inner
    def share(parameters, start, stop, g, x, extremes, out):  # type: ignore[no-untyped-def]
        rows, length = int64_at(parameters), int64_at(parameters + 8)
        step, some = 1 - int64_at(parameters + 16), max(1, ELEMENTS // length)
        for row in range(start * some, min(rows, stop * some)):
            place = size * row * length
            share_row(view(g)[row * step], view(extremes)[row], view(x + place), view(out + place), length)

    return share


_doubles = _of_dtype(float64s, 8, 0.0, 1.0)
_singles = _of_dtype(float32s, 4, np.float32(0), np.float32(1))


@inner
def _share_extremes(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out = where(y == z, x / (y == z).sum(axis=1, keepdims=True), 0)``; ``x`` may be one number."""
    if dtype == FLOAT64:
        _doubles(parameters, start, stop, x, y, z, out)
    else:
        _singles(parameters, start, stop, x, y, z, out)
    return 1


KERNELS = {"share_extremes": _share_extremes}
"""The function of `tape.kernels.extremes.KERNELS`."""
