"""Products that go straight into a sum, with nothing written in between, for compiled code."""

from __future__ import annotations

import numpy as np

from tape.kernels.codes import FLOAT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import float32s, float64s
from tape.kernels.compiled.sums import summation
from tape.kernels.compiled.vectors import load, multiply


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
    if dtype == FLOAT64:
        _sum_products(float64s(x), float64s(y), before, reduced, after, float64s(out), 0.0, 0.0)
    else:
        _sum_products(float32s(x), float32s(y), before, reduced, after, float32s(out), np.float32(0), 0.0)
