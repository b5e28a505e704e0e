"""What goes to the largest or smallest elements along an axis: equal ones share it, the others get nothing.

A row is written as if there were one such element, while those that there are are counted; it is written
again if there are several.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.kernels.codes import FLOAT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import float32s, float64s, int64_at
from tape.kernels.compiled.vectors import add, behind, lanes, load, spread, store, total, where_equal
from tape.kernels.extremes import COLUMNS, ROWS


def _of_rows(zero: Any, one: Any) -> Any:
    @inner
    def share(g, extreme, x, out, length):  # type: ignore[no-untyped-def]
        """Share ``g`` among the elements of a row."""
        width = lanes(x)
        if length < width:
            count = zero
            for i in range(length):
                is_extreme = x[i] == extreme
                count += one if is_extreme else zero
                out[i] = g if is_extreme else zero
        else:
            wanted, given, nothing, each = spread(extreme), spread(g), spread(zero), spread(one)
            counts, i = nothing, 0
            while i + width <= length:
                row = load(x, i)
                counts = add(counts, where_equal(row, wanted, each, nothing))
                store(out, i, where_equal(row, wanted, given, nothing))
                i += width
            if i < length:  # what is left over ends a vector, most of which has been counted
                row = load(x, length - width)
                counts = add(counts, behind(where_equal(row, wanted, each, nothing), length - i))
                store(out, length - width, where_equal(row, wanted, given, nothing))
            count = total(counts)
        if count > one:
            share = g / count
            for i in range(length):
                out[i] = share if x[i] == extreme else zero

    return share


def _of_columns(zero: Any, one: Any) -> Any:
    @inner
    def share(g, step, extremes, x, out, length, stride, columns, counts):  # type: ignore[no-untyped-def]
        """Share elements of ``g`` among those of some columns, whose rows are a stride apart."""
        for b in range(columns):
            counts[b] = zero
        for r in range(length):
            for b in range(columns):
                at = r * stride + b
                is_extreme = x[at] == extremes[b]
                counts[b] += one if is_extreme else zero
                out[at] = g[b * step] if is_extreme else zero
        most = zero
        for b in range(columns):
            most = max(most, counts[b])
        if most > one:
            for b in range(columns):
                counts[b] = g[b * step] / max(counts[b], one)
            for r in range(length):
                for b in range(columns):
                    at = r * stride + b
                    out[at] = counts[b] if x[at] == extremes[b] else zero

    return share


def _of_dtype(view: Any, size: int, zero: Any, one: Any) -> Any:
    share_row, share_columns = _of_rows(zero, one), _of_columns(zero, one)

    @inner
    def share(parameters, start, stop, g, x, extremes, workspace, out):  # type: ignore[no-untyped-def]
        before, reduced = int64_at(parameters), int64_at(parameters + 8)
        after, step = int64_at(parameters + 16), 1 - int64_at(parameters + 24)
        if after == 1:
            for a in range(start * ROWS, min(before, stop * ROWS)):
                place = size * a * reduced
                share_row(view(g)[a * step], view(extremes)[a], view(x + place), view(out + place), reduced)
            return
        blocks = (after + COLUMNS - 1) // COLUMNS
        for task in range(start, stop):
            a, b = task // blocks, task % blocks * COLUMNS
            place, at = size * (a * reduced * after + b), a * after + b
            share_columns(
                view(g + size * at * step), step, view(extremes + size * at), view(x + place),
                view(out + place), reduced, after, min(COLUMNS, after - b), view(workspace),
            )  # fmt: skip

    return share


_doubles = _of_dtype(float64s, 8, 0.0, 1.0)
_singles = _of_dtype(float32s, 4, np.float32(0), np.float32(1))


@inner
def _share_extremes(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out = where(y == z, x / (y == z).sum(axis=1, keepdims=True), 0)``; ``x`` may be one number."""
    if dtype == FLOAT64:
        _doubles(parameters, start, stop, x, y, z, workspace, out)
    else:
        _singles(parameters, start, stop, x, y, z, workspace, out)
    return 1


KERNELS = {"share_extremes": _share_extremes}
"""The function of `tape.kernels.extremes.KERNELS`."""
