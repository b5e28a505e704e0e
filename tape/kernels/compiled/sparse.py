"""Products with a sparse matrix that is stored by rows, for compiled code.

Starts of rows and columns are one array of int64, the starts first. Nobody has checked them before, and
another thread may change them meanwhile: each is read once, and checked where it is used. For one out of
range a kernel returns 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape.kernels.codes import FLOAT64
from tape.kernels.compiled._jit import inner, summing
from tape.kernels.compiled.pointers import float32s, float64s, int64_at, int64s


def _of_dtypes(make: Callable[[Any, int], Any]) -> Any:
    """Return the kernel for doubles and singles, each made for a view of addresses and an item size."""
    doubles, singles = make(float64s, 8), make(float32s, 4)

    @inner
    def kernel(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
        if start == stop:
            return 1
        if dtype == FLOAT64:
            return doubles(parameters, start, stop, x, y, z, out)
        return singles(parameters, start, stop, x, y, z, out)

    return kernel


def _product(view: Any, itemsize: int) -> Any:
    @inner
    def product(parameters, start, stop, data, index, x, out):  # type: ignore[no-untyped-def]
        """``out = a @ x``, the rows from ``start`` to ``stop``."""
        rows, columns = int64_at(parameters), int64_at(parameters + 8)
        count, width = int64_at(parameters + 16), int64_at(parameters + 24)
        starts, places, elements = int64s(index), int64s(index + 8 * (rows + 1)), view(data)
        if starts[0] != 0:
            return 0
        for row in range(start, stop):
            sums = view(out + row * width * itemsize)
            for k in range(width):
                sums[k] = 0.0
            first, last = starts[row], starts[row + 1]
            if first < 0 or last > count:
                return 0
            for e in range(first, last):
                place = places[e]
                if np.uint64(place) >= np.uint64(columns):
                    return 0
                factor, there = elements[e], view(x + place * width * itemsize)
                for k in range(width):
                    sums[k] += factor * there[k]
        return 1

    return product


def _turned_product(view: Any, itemsize: int) -> Any:
    @inner
    def product(parameters, start, stop, data, index, x, out):  # type: ignore[no-untyped-def]
        """``out = a.T @ x``, all at once."""
        rows, columns = int64_at(parameters), int64_at(parameters + 8)
        count, width = int64_at(parameters + 16), int64_at(parameters + 24)
        starts, places, elements = int64s(index), int64s(index + 8 * (rows + 1)), view(data)
        whole = view(out)
        for k in range(columns * width):
            whole[k] = 0.0
        if starts[0] != 0:
            return 0
        for row in range(rows):
            first, last = starts[row], starts[row + 1]
            if first < 0 or last > count:
                return 0
            there = view(x + row * width * itemsize)
            for e in range(first, last):
                place = places[e]
                if np.uint64(place) >= np.uint64(columns):
                    return 0
                factor, sums = elements[e], view(out + place * width * itemsize)
                for k in range(width):
                    sums[k] += factor * there[k]
        return 1

    return product


def _sampled(view: Any, itemsize: int) -> Any:
    @summing
    def sampled(parameters, start, stop, index, left, right, out):  # type: ignore[no-untyped-def]
        """The elements of ``left @ right.T`` at the places that are stored, all at once."""
        rows, columns = int64_at(parameters), int64_at(parameters + 8)
        count, width = int64_at(parameters + 16), int64_at(parameters + 24)
        starts, places, elements = int64s(index), int64s(index + 8 * (rows + 1)), view(out)
        first = starts[0]
        if first != 0:
            return 0
        for row in range(rows):
            last = starts[row + 1]
            if last < first or last > count:
                return 0
            mine = view(left + row * width * itemsize)
            for e in range(first, last):
                place = places[e]
                if np.uint64(place) >= np.uint64(columns):
                    return 0
                there = view(right + place * width * itemsize)
                total = mine[0] * there[0]
                for k in range(1, width):
                    total += mine[k] * there[k]
                elements[e] = total
            first = last
        return 1 if first == count else 0

    return sampled


KERNELS = {
    "sparse_product": _of_dtypes(_product),
    "sparse_turned_product": _of_dtypes(_turned_product),
    "sampled_product": _of_dtypes(_sampled),
}
"""The functions of `tape.kernels.sparse.KERNELS`."""
