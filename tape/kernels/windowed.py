"""Largest elements and sums of windows, for compiled code, plane by plane and row by row of windows.

Kernels as `tape.kernels.kernel` describes them, on one geometry of three spatial axes; a task is one plane:
all spatial axes of one channel of one image. `tape.kernels.pooling` has the same for plain arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tape.kernels._jit import inner
from tape.kernels.folds import FLOAT64
from tape.kernels.kernel import GEOMETRY, Kernel, Needs, geometry, seeing, windows_of
from tape.kernels.pointers import float32s, float64s, int64_at


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


@inner
def _fill(x, start, count, number):  # type: ignore[no-untyped-def]
    for i in range(start, start + count):
        x[i] = number


@inner
def _max_row(p, a, b, i, k, x, y, z, work, out):  # type: ignore[no-untyped-def]
    _fill(out, k, int64_at(p + 64), -np.inf)
    _raise_row(p, a, b, x, x, out, out, i, k)


@inner
def _max_vjp_row(p, a, b, i, k, g, x, y, work, out):  # type: ignore[no-untyped-def]
    _fill(work, 0, int64_at(p + 64), 0)
    _count_row(p, a, b, x, x, y, work, i, k)
    for j in range(int64_at(p + 64)):
        work[j] = g[k + j] / max(work[j], 1)
    _hand_out_shares(p, a, b, x, out, y, work, i, k)


@inner
def _max_jvp_row(p, a, b, i, k, t, x, y, work, out):  # type: ignore[no-untyped-def]
    width = int64_at(p + 64)
    _fill(work, 0, 2 * width, 0)
    _count_row(p, a, b, x, x, y, work, i, k)
    for j in range(width):
        work[width + j], work[j] = max(work[j], 1), 0
    _add_tied_row(p, a, b, x, t, y, work, i, k)
    for j in range(width):
        out[k + j] = work[j] / work[width + j]


@inner
def _sum_row(p, a, b, i, k, x, y, z, work, out):  # type: ignore[no-untyped-def]
    _fill(out, k, int64_at(p + 64), 0)
    _add_row(p, a, b, x, x, out, out, i, k)


@inner
def _sum_vjp_row(p, a, b, i, k, g, y, z, work, out):  # type: ignore[no-untyped-def]
    _hand_out_row(p, a, b, out, out, g, g, i, k)


def _for_planes(name: str, do_row: Callable[..., None], is_of_elements: bool) -> Any:
    """The kernel that makes or hands out rows; whether its result has the elements of x, or windows."""

    @inner
    def planes(p, start, stop, x, y, z, work, out):  # type: ignore[no-untyped-def]
        size = int64_at(p) * int64_at(p + 8) * int64_at(p + 16)
        out0, out1, out2 = int64_at(p + 48), int64_at(p + 56), int64_at(p + 64)
        for plane in range(start, stop):
            if is_of_elements:
                _fill(out, plane * size, size, 0)
            for row in range(out0 * out1):
                k = (plane * out0 * out1 + row) * out2
                do_row(p, row // out1, row % out1, plane * size, k, x, y, z, work, out)

    def pool(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
        p = parameters + 8
        if dtype == FLOAT64:
            planes(p, start, stop, float64s(x), float64s(y), float64s(z), float64s(workspace), float64s(out))
        else:
            planes(p, start, stop, float32s(x), float32s(y), float32s(z), float32s(workspace), float32s(out))
        return 1

    pool.__qualname__ = name  # code of one name, though of two processes, would be taken for the same
    return inner(pool)


# ---- what they need -------------------------------------------------------------------------------------


def _needs(operands: str, out: str) -> Callable[[tuple[int, ...]], Needs]:
    """The rule for operands and a result that are of elements, x, or of windows, y."""

    def needs(parameters: tuple[int, ...]) -> Needs:
        planes, *rest = parameters
        if planes < 1:
            raise ValueError("there are no elements")
        spatial, kernel, windows = windows_of(rest)
        sizes = {"x": planes * prod(spatial), "y": planes * prod(windows)}
        # The windows' lengths are among it so that memory limits these, too, and how long a row takes.
        workspace = 2 * windows[-1] + sum(kernel)
        work = 4 * sizes["y"] * prod(kernel) * len(operands)  # load, compare, choose, store; no SIMD
        return Needs(tuple([sizes[letter] for letter in operands]), sizes[out], workspace, planes, work)

    return needs


_NAMES = {"planes": 1, **GEOMETRY}
KERNELS = {
    "max_pool": Kernel(_for_planes("max_pool", _max_row, False), _NAMES, _needs("x", "y")),
    "max_pool_vjp": Kernel(_for_planes("max_pool_vjp", _max_vjp_row, True), _NAMES, _needs("yxy", "x")),
    "max_pool_jvp": Kernel(_for_planes("max_pool_jvp", _max_jvp_row, False), _NAMES, _needs("xxy", "y")),
    "sum_pool": Kernel(_for_planes("sum_pool", _sum_row, False), _NAMES, _needs("x", "y")),
    "sum_pool_vjp": Kernel(_for_planes("sum_pool_vjp", _sum_vjp_row, True), _NAMES, _needs("y", "x")),
}
"""Operands x ``(..., *spatial)`` and y ``(..., *windows)``: x; g as y, x, y; t as x, x, y; x; g as y."""
