"""Largest elements and sums of windows, for compiled code, plane by plane and row by row of windows.

Kernels as `tape.kernels.kernel` describes them, on one geometry of three spatial axes; a task is one plane:
all spatial axes of one channel of one image. `tape.kernels.pooling` has the same for plain arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape.kernels.codes import FLOAT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import float32s, float64s, int64_at
from tape.kernels.compiled.windows import seeing

# ---- what is done to element i and window k, which is j-th of its row ------------------------------------
# The first two arrays are of elements, the others of windows or of a row of them. What may be added is read
# in any case: there is then no branch, which would be a guess for each element.


@inner
def _is_tied(x, i, y, k):  # type: ignore[no-untyped-def]
    """Whether an element is the largest of its window: a NaN is, wherever it is."""
    return (x[i] == y[k]) | (x[i] != x[i])


@inner
def _raise_to(x, _, largest, __, i, k, j):  # type: ignore[no-untyped-def]
    new, so_far = x[i], largest[k]
    largest[k] = so_far if (new <= so_far) | (so_far != so_far) else new


@inner
def _add_to(x, _, total, __, i, k, j):  # type: ignore[no-untyped-def]
    total[k] += x[i]


@inner
def _hand_out(total, _, given, __, i, k, j):  # type: ignore[no-untyped-def]
    total[i] += given[k]


@inner
def _count(x, _, largest, count, i, k, j):  # type: ignore[no-untyped-def]
    count[j] += _is_tied(x, i, largest, k)


@inner
def _hand_out_share(x, total, largest, share, i, k, j):  # type: ignore[no-untyped-def]
    part = share[j]
    total[i] += part if _is_tied(x, i, largest, k) else type(part)(0)


@inner
def _add_tied(x, given, largest, total, i, k, j):  # type: ignore[no-untyped-def]
    part = given[i]
    total[j] += part if _is_tied(x, i, largest, k) else type(part)(0)


# ---- rows and planes ------------------------------------------------------------------------------------


def _for_row(act: Callable[..., None]) -> Any:
    """The compiled function that acts on all elements that a row of windows has, element after element."""

    @inner
    def for_row(p, a, b, elements, others, windows, of_row, i, k):  # type: ignore[no-untyped-def]
        in0, in1, in2, out2 = int64_at(p), int64_at(p + 8), int64_at(p + 16), int64_at(p + 64)
        step2 = int64_at(p + 88)
        for k0 in range(int64_at(p + 24)):
            i0 = a * int64_at(p + 72) + k0 * int64_at(p + 120) - int64_at(p + 96)
            if i0 < 0 or i0 >= in0:
                continue
            for k1 in range(int64_at(p + 32)):
                i1 = b * int64_at(p + 80) + k1 * int64_at(p + 128) - int64_at(p + 104)
                if i1 < 0 or i1 >= in1:
                    continue
                for k2 in range(int64_at(p + 40)):
                    offset = k2 * int64_at(p + 136) - int64_at(p + 112)
                    first, stop = seeing(offset, in2, step2, out2)
                    at = i + (i0 * in1 + i1) * in2 + offset
                    for j in range(first, stop):
                        act(elements, others, windows, of_row, at + step2 * j, k + j, j)

    return for_row


_raise_row, _add_row, _hand_out_row = map(_for_row, (_raise_to, _add_to, _hand_out))


_count_row, _hand_out_shares, _add_tied_row = map(_for_row, (_count, _hand_out_share, _add_tied))


# ---- rows of windows of two by two elements, which do not overlap, as most are --------------------------


@inner
def _are_squares(p):  # type: ignore[no-untyped-def]
    """Whether windows are two by two elements, side by side without padding."""
    of_kernel = int64_at(p + 24) == 1 and int64_at(p + 32) == 2 and int64_at(p + 40) == 2
    of_steps = int64_at(p + 72) == 1 and int64_at(p + 80) == 2 and int64_at(p + 88) == 2
    of_padding = int64_at(p + 96) == 0 and int64_at(p + 104) == 0 and int64_at(p + 112) == 0
    is_whole = 2 * int64_at(p + 56) <= int64_at(p + 8) and 2 * int64_at(p + 64) <= int64_at(p + 16)
    of_dilation = int64_at(p + 128) == 1 and int64_at(p + 136) == 1
    is_deep = int64_at(p + 48) <= int64_at(p)
    return of_kernel and of_steps and of_padding and is_whole and of_dilation and is_deep


@inner
def _upper(p, a, b, i):  # type: ignore[no-untyped-def]
    """Where the upper row of elements begins that a row of squares has."""
    return i + (a * int64_at(p + 8) + 2 * b) * int64_at(p + 16)


@inner
def _larger(so_far, new):  # type: ignore[no-untyped-def]
    return so_far if (new <= so_far) | (so_far != so_far) else new


@inner
def _max_of_squares(p, a, b, i, k, x, out):  # type: ignore[no-untyped-def]
    upper, width = _upper(p, a, b, i), int64_at(p + 16)
    for j in range(int64_at(p + 64)):
        at = upper + 2 * j
        largest = _larger(_larger(x[at], x[at + 1]), x[at + width])
        out[k + j] = _larger(largest, x[at + width + 1])


@inner
def _share_of_squares(p, a, b, i, k, g, x, y, out):  # type: ignore[no-untyped-def]
    upper, width = _upper(p, a, b, i), int64_at(p + 16)
    for j in range(int64_at(p + 64)):
        at = upper + 2 * j
        first, second = _is_tied(x, at, y, k + j), _is_tied(x, at + 1, y, k + j)
        third, fourth = _is_tied(x, at + width, y, k + j), _is_tied(x, at + width + 1, y, k + j)
        part = g[k + j] / type(g[k])(max(first + second + third + fourth, 1))
        nothing = type(part)(0)
        out[at] += part if first else nothing
        out[at + 1] += part if second else nothing
        out[at + width] += part if third else nothing
        out[at + width + 1] += part if fourth else nothing


# ---- rows of all windows ----------------------------------------------------------------------------------


@inner
def _fill(x, start, count, number):  # type: ignore[no-untyped-def]
    for i in range(start, start + count):
        x[i] = number


@inner
def _max_row(p, are_squares, a, b, i, k, x, y, z, work, out):  # type: ignore[no-untyped-def]
    if are_squares:
        _max_of_squares(p, a, b, i, k, x, out)
        return
    _fill(out, k, int64_at(p + 64), -np.inf)
    _raise_row(p, a, b, x, x, out, out, i, k)


@inner
def _max_vjp_row(p, are_squares, a, b, i, k, g, x, y, work, out):  # type: ignore[no-untyped-def]
    if are_squares:
        _share_of_squares(p, a, b, i, k, g, x, y, out)
        return
    _fill(work, 0, int64_at(p + 64), 0)
    _count_row(p, a, b, x, x, y, work, i, k)
    for j in range(int64_at(p + 64)):
        work[j] = g[k + j] / max(work[j], 1)
    _hand_out_shares(p, a, b, x, out, y, work, i, k)


@inner
def _max_jvp_row(p, are_squares, a, b, i, k, t, x, y, work, out):  # type: ignore[no-untyped-def]
    width = int64_at(p + 64)
    _fill(work, 0, 2 * width, 0)
    _count_row(p, a, b, x, x, y, work, i, k)
    for j in range(width):
        work[width + j], work[j] = max(work[j], 1), 0
    _add_tied_row(p, a, b, x, t, y, work, i, k)
    for j in range(width):
        out[k + j] = work[j] / work[width + j]


@inner
def _sum_row(p, are_squares, a, b, i, k, x, y, z, work, out):  # type: ignore[no-untyped-def]
    _fill(out, k, int64_at(p + 64), 0)
    _add_row(p, a, b, x, x, out, out, i, k)


@inner
def _sum_vjp_row(p, are_squares, a, b, i, k, g, y, z, work, out):  # type: ignore[no-untyped-def]
    _hand_out_row(p, a, b, out, out, g, g, i, k)


def _for_planes(name: str, do_row: Callable[..., None], is_of_elements: bool) -> Any:
    """The kernel that makes or hands out rows; whether its result has the elements of x, or windows."""

    @inner
    def planes(p, start, stop, x, y, z, work, out):  # type: ignore[no-untyped-def]
        size = int64_at(p) * int64_at(p + 8) * int64_at(p + 16)
        out0, out1, out2 = int64_at(p + 48), int64_at(p + 56), int64_at(p + 64)
        are_squares = _are_squares(p)
        for plane in range(start, stop):
            if is_of_elements:
                _fill(out, plane * size, size, 0)
            for row in range(out0 * out1):
                k = (plane * out0 * out1 + row) * out2
                do_row(p, are_squares, row // out1, row % out1, plane * size, k, x, y, z, work, out)

    def pool(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
        p = parameters + 8
        if dtype == FLOAT64:
            planes(p, start, stop, float64s(x), float64s(y), float64s(z), float64s(workspace), float64s(out))
        else:
            planes(p, start, stop, float32s(x), float32s(y), float32s(z), float32s(workspace), float32s(out))
        return 1

    pool.__qualname__ = name  # code of one name, though of two processes, would be taken for the same
    return inner(pool)


KERNELS = {
    "max_pool": _for_planes("max_pool", _max_row, False),
    "max_pool_vjp": _for_planes("max_pool_vjp", _max_vjp_row, True),
    "max_pool_jvp": _for_planes("max_pool_jvp", _max_jvp_row, False),
    "sum_pool": _for_planes("sum_pool", _sum_row, False),
    "sum_pool_vjp": _for_planes("sum_pool_vjp", _sum_vjp_row, True),
}
"""The functions of `tape.kernels.windowed.KERNELS`."""
