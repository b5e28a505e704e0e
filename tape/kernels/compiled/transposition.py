"""A matrix transposed into memory of its own."""

from __future__ import annotations

from tape.kernels.codes import FLOAT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.copies import copy_plane
from tape.kernels.compiled.pointers import int64_at


@inner
def _transposed(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """``out[j, i] = x[i, j]``."""
    rows, columns = int64_at(parameters), int64_at(parameters + 8)
    if start < stop:
        size = 8 if dtype == FLOAT64 else 4
        copy_plane(size, x, size, columns * size, out, rows * size, size, columns, rows)
    return 1


KERNELS = {"transposed": _transposed}
"""The function of `tape.kernels.transposition.KERNELS`."""
