"""Sums of products of two vectors that slide along each other."""

from __future__ import annotations

from tape.kernels.codes import FLOAT32, FLOAT64, INT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import float32s, float64s, int32s, int64_at, int64s
from tape.kernels.sliding import SUMS_OF_A_TASK


@inner
def _correlate(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out[k] = sum(x[k + lag + i] * y[i])`` over the ``i`` for which both exist; the lag is 0 if all do."""
    longer, shorter, full = int64_at(parameters), int64_at(parameters + 8), int64_at(parameters + 16)
    lag = 1 - shorter if full else 0
    first, last = (
        start * SUMS_OF_A_TASK,
        min(stop * SUMS_OF_A_TASK, longer - lag - (0 if full else shorter - 1)),
    )
    if dtype == FLOAT64:
        _slide(float64s(x), longer, float64s(y), shorter, lag, first, last, float64s(out))
    elif dtype == FLOAT32:
        _slide(float32s(x), longer, float32s(y), shorter, lag, first, last, float32s(out))
    elif dtype == INT64:
        _slide(int64s(x), longer, int64s(y), shorter, lag, first, last, int64s(out))
    else:
        _slide(int32s(x), longer, int32s(y), shorter, lag, first, last, int32s(out))
    return 1


@inner
def _slide(x, longer, y, shorter, lag, first, last, out):  # type: ignore[no-untyped-def]
    while first < last:
        end = min(first + SUMS_OF_A_TASK, last)
        for k in range(first, end):
            out[k] = 0
        i = 0
        while i < shorter:
            low, high = max(first, -lag - i), min(end, longer - lag - i)
            if i + 4 <= shorter and first + lag + i >= 0 and end + lag + i + 3 <= longer:
                y0, y1, y2, y3 = y[i], y[i + 1], y[i + 2], y[i + 3]
                for k in range(first, end):
                    at = k + lag + i
                    out[k] = out[k] + y0 * x[at] + y1 * x[at + 1] + y2 * x[at + 2] + y3 * x[at + 3]
                i += 4
                continue
            one = y[i]
            for k in range(low, high):
                out[k] += one * x[k + lag + i]
            i += 1
        first = end


KERNELS = {"correlate": _correlate}
"""The functions of `tape.kernels.sliding.KERNELS`."""
