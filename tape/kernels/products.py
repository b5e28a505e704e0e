"""Products that go straight into a sum, with nothing written in between, for compiled code."""

from __future__ import annotations

import numpy as np
from numba import types

from tape.kernels._jit import inner
from tape.kernels.folds import DTYPE_CODES
from tape.kernels.pointers import pointer_to
from tape.kernels.sums import summation
from tape.kernels.vectors import load, multiply

_FLOAT64 = DTYPE_CODES[np.dtype(np.float64)]
_float64, _float32 = pointer_to(types.float64), pointer_to(types.float32)


@inner
def _product(x, y, i):  # type: ignore[no-untyped-def]
    return x[i] * y[i]


@inner
def _products(x, y, i):  # type: ignore[no-untyped-def]
    return multiply(load(x, i), load(y, i))


_sum_products = summation(_product, _products)


@inner
def sum_product(dtype, before, reduced, after, x, y, out):  # type: ignore[no-untyped-def]
    """``out[a, b] = sum(x[a, :, b] * y[a, :, b])``.

    Parameters
    ----------
    dtype : int64
        That of float64 or float32 in `DTYPE_CODES`.
    before, reduced, after : int64
        Lengths.
    x, y, out : int64
        Addresses of ``before * reduced * after`` elements, twice, and of ``before * after``.
    """
    if dtype == _FLOAT64:
        _sum_products(_float64(x), _float64(y), before, reduced, after, _float64(out), 0.0, 0.0)
    else:
        _sum_products(_float32(x), _float32(y), before, reduced, after, _float32(out), np.float32(0), 0.0)
