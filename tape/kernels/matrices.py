"""Products of small matrices, in tiles of a few rows and vectors whose sums stay in registers.

BLAS takes its time to choose among its kernels and to pack matrices, which small ones are not worth. A tile
reads rows of the second factor as they lie, masked where they end, and numbers of the first one wherever they
are: only a second factor that is transposed is packed, a panel of columns at a time. What is added to a
product, in place or broadcast from elsewhere, is added in registers.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numba import types

from tape.kernels._jit import inner
from tape.kernels.folds import FLOAT32, FLOAT64
from tape.kernels.kernel import Kernel, Needs
from tape.kernels.pointers import bits_as_float64, float32s, float64s, int64_at
from tape.kernels.tiles import VECTOR_BYTES, tile, turning
from tape.system.blas import has_small_kernels

_ROWS = 64  # of a task
_MACS_A_CYCLE = 16  # about, for what is worth a thread
_MOST_MACS = 1 << 18  # multiplications with additions, of matrices that are not narrow
_NARROW, _MOST_OF_NARROW = 32, 1 << 24
NOTHING, IN_PLACE, APART = range(3)
"""What is added to a product: nothing, what the result holds, or the third operand."""


def _product(name: str, number: Any, numbers: Any, as_number: Any) -> Any:
    """The kernel for one dtype; see `product_parameters`."""
    size = number.bitwidth // 8
    lanes, half = VECTOR_BYTES // size, VECTOR_BYTES // size // 2
    wide, uneven = (tile(number, 4, (VECTOR_BYTES, last)) for last in (VECTOR_BYTES, VECTOR_BYTES // 2))
    narrow, slim = (tile(number, 8, (last,)) for last in (VECTOR_BYTES, VECTOR_BYTES // 2))
    long = tile(number, 1, (VECTOR_BYTES,) * 4)
    turn = turning(number)

    @inner
    def pack(b, b_row, b_column, k, count, out):  # type: ignore[no-untyped-def]
        """Write columns as rows side by side; those of the factor lie as its strides say."""
        wholes = count - count % 4 if b_row == size else 0
        ends = k - k % 4 if wholes else 0
        for i in range(0, ends, 4):
            for j in range(0, wholes, 4):
                turn(b + i * b_row + j * b_column, b_column, out + (i * count + j) * size, count * size)
        for i in range(k):
            for j in range(wholes if i < ends else 0, count):
                numbers(out + (i * count + j) * size)[0] = numbers(b + i * b_row + j * b_column)[0]

    @inner
    def panel(  # type: ignore[no-untyped-def]
        columns, m, k, a, a_row, a_column, b, b_row, out, out_row, total, total_row, total_column, factor
    ):  # fmt: skip
        """Compute columns that are as many as a tile has."""
        step = 1 if columns > 2 * lanes else 4 if columns > lanes else 8
        for i in range(0, m, step):
            left, there = a + i * a_row, out + i * out_row
            added = total + i * total_row if total else 0
            if step == 1:
                long(m - i, k, left, a_row, a_column, b, b_row, there, out_row, added, total_row,
                     total_column, columns - 3 * lanes, factor)  # fmt: skip
            elif columns > lanes + half:
                wide(m - i, k, left, a_row, a_column, b, b_row, there, out_row, added, total_row,
                     total_column, columns - lanes, factor)  # fmt: skip
            elif columns > lanes:
                uneven(m - i, k, left, a_row, a_column, b, b_row, there, out_row, added, total_row,
                       total_column, columns - lanes, factor)  # fmt: skip
            elif columns > half:
                narrow(m - i, k, left, a_row, a_column, b, b_row, there, out_row, added, total_row,
                       total_column, columns, factor)  # fmt: skip
            else:
                slim(m - i, k, left, a_row, a_column, b, b_row, there, out_row, added, total_row,
                     total_column, columns, factor)  # fmt: skip

    @inner
    def panels(  # type: ignore[no-untyped-def]
        m, n, k, a, a_row, a_column, b, b_row, b_column, out, out_row, total, total_row, total_column, factor,
        workspace,
    ):  # fmt: skip
        while n > 0:
            columns = min(n, 4 * lanes if m == 1 and n > 3 * lanes else 2 * lanes)
            right, right_row = b, b_row
            if b_column != size:
                pack(b, b_row, b_column, k, columns, workspace)
                right, right_row = workspace, columns * size
            panel(columns, m, k, a, a_row, a_column, right, right_row, out, out_row, total, total_row,
                  total_column, factor)  # fmt: skip
            n -= columns
            b += columns * b_column
            out += columns * size
            total += columns * total_column if total else 0

    def product(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
        at = parameters
        inner_length, m, n = int64_at(at + 8), int64_at(at + 16), int64_at(at + 24)
        k, adds = int64_at(at + 32), int64_at(at + 40)
        bits = int64_at(at + 48) | int64_at(at + 56) << 22 | int64_at(at + 64) << 44
        factor = as_number(bits_as_float64(bits))
        at += 72  # strides, in elements
        blocks = (m + _ROWS - 1) // _ROWS
        for task in range(start, stop):
            matrix, first = task // blocks, task % blocks * _ROWS
            i, j = matrix // inner_length, matrix % inner_length
            a = x + size * (i * int64_at(at) + j * int64_at(at + 8) + first * int64_at(at + 16))
            b = y + size * (i * int64_at(at + 32) + j * int64_at(at + 40))
            c = out + size * (i * int64_at(at + 64) + j * int64_at(at + 72) + first * int64_at(at + 80))
            d, d_row, d_column = 0, 0, 0
            if adds == IN_PLACE:
                d, d_row, d_column = c, size * int64_at(at + 80), size
            elif adds == APART:
                d = z + size * (i * int64_at(at + 96) + j * int64_at(at + 104) + first * int64_at(at + 112))
                d_row, d_column = size * int64_at(at + 112), size * int64_at(at + 120)
            panels(
                min(_ROWS, m - first), n, k, a, size * int64_at(at + 16), size * int64_at(at + 24), b,
                size * int64_at(at + 48), size * int64_at(at + 56), c, size * int64_at(at + 80), d, d_row,
                d_column, factor, workspace,
            )  # fmt: skip
        return 1

    product.__qualname__ = name  # code of one name, though of two processes, would be taken for the same
    return inner(product)


def are_worth(m: int, n: int, k: int, is_turned: bool, is_added: bool) -> bool:
    """Return whether tiles compute an ``(m, n)`` product faster than the BLAS that is loaded.

    Without kernels for small matrices OpenBLAS takes 1.2 to 3 times as long up to 64 x 64 x 64. With such,
    both are as fast as the processor multiplies, but for factors that are transposed, where it takes 1.3 to
    1.7 times as long, and long products that are narrow or flat, 1.2 to 1.6 times.

    Parameters
    ----------
    m, n, k : int
        Lengths; ``k`` is summed over.
    is_turned : bool
        Whether the second factor is transposed in memory.
    is_added : bool
        Whether the product is added to something that BLAS would need a copy of.
    """
    macs = m * n * k
    if n == 1 or macs > _MOST_OF_NARROW:
        return False
    if min(n, k) <= _NARROW and m >= _ROWS and macs > _MOST_MACS:
        return True
    return macs <= _MOST_MACS and (
        not has_small_kernels() or is_added or (is_turned and m >= 4) or (k == 1 and n <= 16)
    )


_LENGTHS = ("outer", "inner", "m", "n", "k")
_PARAMETERS = {
    **dict.fromkeys(_LENGTHS, 1), "adds": 1, "factor": 3, "a": 4, "b": 4, "out": 4, "total": 4
}  # fmt: skip


def product_parameters(
    lengths: Sequence[int],
    factor: float,
    adds: int,
    a: Sequence[int],
    b: Sequence[int],
    out: Sequence[int],
    total: Sequence[int] = (0, 0, 0, 0),
) -> tuple[int, ...]:
    """Parameters of a stack of products, ``out = factor * a @ b + total``.

    Parameters
    ----------
    lengths : sequence of int
        Two of the stack, then rows, columns, and the length that is summed over.
    factor : float
        Of the product.
    adds : int
        `NOTHING`, `IN_PLACE` or `APART`.
    a, b, out, total : sequence of int
        Strides in elements, from the outer one of the stack to that of columns. The result has no gaps,
        and its columns lie side by side, as those of the total do, or are all the same.

    Examples
    --------
    >>> from tape.kernels.matrices import NOTHING, product_parameters
    >>> product_parameters((1, 1, 2, 2, 3), 1.0, NOTHING, (0, 0, 3, 1), (0, 0, 2, 1), (0, 0, 2, 1))
    (1, 1, 2, 2, 3, 0, 0, 0, 261888, 0, 0, 3, 1, 0, 0, 2, 1, 0, 0, 2, 1, 0, 0, 0, 0)
    """
    (bits,) = struct.unpack("<Q", struct.pack("<d", factor))
    parts = [bits >> shift & 0x3FFFFF for shift in (0, 22, 44)]
    return (*lengths, adds, *parts, *a, *b, *out, *total)


def _extent(lengths: Sequence[int], strides: Sequence[int]) -> int:
    """Return how many elements there are from the first to the last."""
    return 1 + sum((length - 1) * stride for length, stride in zip(lengths, strides, strict=True))


def _needs(parameters: tuple[int, ...], size: int) -> Needs:
    outer, inner_length, m, n, k, adds, *rest = parameters
    parts, strides = rest[:3], [rest[i : i + 4] for i in range(3, 19, 4)]
    lengths = (outer, inner_length, m, n)
    if min(*lengths, k) < 1 or min(map(min, strides)) < 0 or adds not in (NOTHING, IN_PLACE, APART):
        raise ValueError("a length is not positive, or a stride negative")
    if not all(0 <= part < 1 << 22 for part in parts):
        raise ValueError("a part of the factor is out of range")
    a, b, out, total = strides
    axes = sorted((stride, length) for length, stride in zip(lengths, out, strict=True) if length > 1)
    if any(stride != prod([length for _, length in axes[:i]]) for i, (stride, _) in enumerate(axes)):
        raise ValueError("the result has gaps, or its parts overlap")
    if n > 1 and (out[3] != 1 or (adds == APART and total[3] > 1)):
        raise ValueError("columns are apart")
    operands = [_extent((outer, inner_length, m, k), a), _extent((outer, inner_length, k, n), b)]
    if adds == APART:
        operands.append(_extent(lengths, total))
    workspace = 0 if b[3] == 1 else k * min(n, 4 * VECTOR_BYTES // size)
    tasks = outer * inner_length * -(-m // _ROWS)
    return Needs(tuple(operands), prod(lengths), workspace, tasks, prod(lengths) * k // _MACS_A_CYCLE)


def _kernel(name: str, number: Any, numbers: Any, as_number: Any, dtype: int) -> dict[str, Kernel]:
    function = _product(name, number, numbers, as_number)
    return {name: Kernel(function, _PARAMETERS, partial(_needs, size=number.bitwidth // 8), dtypes=(dtype,))}


DOUBLES = _kernel("product_of_doubles", types.float64, float64s, np.float64, FLOAT64)
SINGLES = _kernel("product_of_singles", types.float32, float32s, np.float32, FLOAT32)
