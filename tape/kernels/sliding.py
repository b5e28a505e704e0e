"""Sums of products of two vectors that slide along each other."""

from __future__ import annotations

from collections.abc import Sequence

from tape.kernels._jit import inner
from tape.kernels.folds import FLOAT32, FLOAT64, INT32, INT64
from tape.kernels.kernel import Kernel, Needs
from tape.kernels.pointers import float32s, float64s, int32s, int64_at, int64s

_TASK = 1024  # sums of a task, which stay in the L1 cache


@inner
def _correlate(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out[k] = sum(x[k + lag + i] * y[i])`` over the ``i`` for which both exist; the lag is 0 if all do."""
    longer, shorter, full = int64_at(parameters), int64_at(parameters + 8), int64_at(parameters + 16)
    lag = 1 - shorter if full else 0
    first, last = start * _TASK, min(stop * _TASK, longer - lag - (0 if full else shorter - 1))
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
        end = min(first + _TASK, last)
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


def _needs(parameters: Sequence[int]) -> Needs:
    longer, shorter, full = parameters
    if shorter < 1 or longer < shorter or full not in (0, 1):
        raise ValueError("a length is not positive, or the first operand is the shorter one")
    count = longer + shorter - 1 if full else longer - shorter + 1
    return Needs((longer, shorter), count, 0, -(-count // _TASK), count * shorter)


KERNELS = {
    "correlate": Kernel(
        _correlate, dict.fromkeys(("longer", "shorter", "full"), 1), _needs,
        dtypes=(FLOAT64, FLOAT32, INT64, INT32),
    ),
}  # fmt: skip
