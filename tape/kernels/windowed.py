"""Largest elements and sums of windows, for compiled code, plane by plane and row by row of windows.

Kernels as `tape.kernels.kernel` describes them, on one geometry of three spatial axes; a task is one plane: all
spatial axes of one channel of one image. `tape.kernels.pooling` has the same for plain arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numba import types

from tape.kernels._jit import inner
from tape.kernels.folds import DTYPE_CODES
from tape.kernels.kernel import GEOMETRY, Kernel, Needs, geometry, windows_of
from tape.kernels.pointers import int64_at, pointer_to

__all__ = ["KERNELS", "pooling_parameters"]

_FLOAT64 = DTYPE_CODES[np.dtype(np.float64)]
_float64, _float32 = pointer_to(types.float64), pointer_to(types.float32)


def pooling_parameters(
    x: Sequence[int], window: Sequence[int], windows: Sequence[int], stride: Sequence[int],
    padding: Sequence[tuple[int, int]], dilation: Sequence[int],
) -> tuple[int, ...]:  # fmt: skip
    """The parameters of the kernels of pooling.

    Parameters
    ----------
    x : sequence of int
        Shape; the last one to three axes, as many as a window has, are spatial.
    window, stride, padding, dilation
        As for `tape.kernels.pooling.max_pool`.
    windows : sequence of int
        The spatial axes of the result.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> from tape.kernels.windowed import pooling_parameters
    >>> pooling_parameters((2, 3, 8), (2,), (4,), (2,), ((0, 0),), (1,))
    (6, 1, 1, 8, 1, 1, 2, 1, 1, 4, 1, 1, 2, 0, 0, 0, 1, 1, 1)
    """
    first = len(x) - len(window)
    return (prod(x[:first]), *geometry(x[first:], window, windows, stride, padding, dilation))


# ---- what is done to an element i of x and a window k -----------------------------------------------------
# `largest` is of each window of the row, `share` and `count` are in the workspace.


@inner
def _raise_largest(x, out, y, share, count, i, k):  # type: ignore[no-untyped-def]
    out[k] = out[k] if (x[i] <= out[k]) | (out[k] != out[k]) else x[i]


@inner
def _is_tied(x, y, i, k):  # type: ignore[no-untyped-def]
    return (x[i] == y[k]) | (x[i] != x[i])


@inner
def _count_tie(x, out, y, share, count, i, k):  # type: ignore[no-untyped-def]
    count[k] += 1 if _is_tied(x, y, i, k) else 0
