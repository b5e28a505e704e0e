"""Products of matrices: what their kernels take and need, and when they are worth it.

Their code is in `tape.kernels.compiled.matrices`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import partial
from math import prod

from tape.kernels.codes import FLOAT32, FLOAT64
from tape.kernels.kernel import BLAS_ARGUMENTS, Kernel, Needs
from tape.system.blas import (
    AVX512_FLAGS,
    cpu_flags,
    has_older_kernels,
    has_small_kernels,
    openblas_function,
    openblas_threads,
)

ROWS_OF_A_TASK, COLUMNS_OF_A_TASK = 64, 256
WIDEST_VECTOR = 64  # bytes, on any processor

ROWS_WORTH_PACKING, FAR_APART = 8, 512
"""From so many rows of the first factor on, rows of the second that are so many bytes apart are packed."""

ONE_THREAD_FROM, ONE_THREAD_TO = 1 << 18, 1 << 23
"""Products of so many multiplications are too small for OpenBLAS's threads, which it uses all the same:
waiting for them takes longer than the work, on a busy machine a hundred times as long."""

NOTHING, IN_PLACE, APART = range(3)
"""What is added to a product: nothing, what the result holds, or the third operand."""

_PAGE = 4096
_ROWS_OF_BLAS = 16  # that it computes together, or less
_MOST_WRITTEN = 1 << 14
"""Elements of a result that is hardly more than written."""
_SMALL = 10**6
"""Multiplications with additions, up to which OpenBLAS has kernels for small matrices."""
_WORTH_SHARING = 1 << 20
"""Multiplications of a stack from which on two threads are faster than BLAS, also where one is slower."""
_MIDDLING, _LARGE = 1 << 25, 1 << 30
_UNMEASURED = 1 << 18
"""Up to which tiles are used beside other libraries, and on other processors than x86."""


def are_worth(m: int, n: int, k: int, size: int, is_turned: bool, shared: int = 1) -> bool:
    """Return whether tiles compute an ``(m, n)`` product faster than the BLAS that is loaded.

    Measured on products of 2^12 to 2^33 multiplications, in all orders of the factors, beside OpenBLAS, with
    one thread and two. With AVX-512, tiles take half the time of kernels for AVX2, and 0.4 to 1 of that of
    kernels for AVX-512, but for those that small matrices have, unless the second factor is transposed. With
    AVX2 alone they are faster where packing both factors is not worth it.

    Parameters
    ----------
    m, n, k : int
        Lengths; ``k`` is summed over.
    size : int
        Bytes of an element.
    is_turned : bool
        Whether the second factor is transposed in memory.
    shared : int
        How many of them threads may share, each for himself; BLAS does one after the other.
    """
    macs = m * n * k
    do_rows_collide = k < 16 and n * size % _PAGE == 0  # in the cache, while little is done but writing them
    if n == 1 or do_rows_collide or (k < 4 and m * n > _MOST_WRITTEN):
        return False
    if shared > 1 and shared * macs > _WORTH_SHARING and macs <= _SMALL:
        return True
    if has_small_kernels():
        if macs > _SMALL:
            return macs <= (_LARGE if size == 4 else _MIDDLING) and m >= ROWS_WORTH_PACKING
        is_turning_worth_it = is_turned and m >= 16 and n >= 16 and 4 <= k <= 8 * m
        return is_turning_worth_it or (k == 1 and n <= 16)  # of which a stack may have many
    if not has_older_kernels():
        return macs <= _UNMEASURED
    if cpu_flags() >= AVX512_FLAGS:
        return macs <= _LARGE and (n >= 8 or not is_turned)
    return macs <= _MIDDLING and (macs <= 2 * _SMALL or m < ROWS_WORTH_PACKING)


def rows_to_share(m: int, n: int, k: int, threads: int) -> int:
    """Return how many rows of an ``(m, n)`` product BLAS computes at a time for each of so many threads.

    It is 0 where that is not worth it, as for large products where BLAS has more threads. These wait for one
    another and for work in loops, in which they contend with the threads of the machine.

    Parameters
    ----------
    m, n, k : int
        Lengths; ``k`` is summed over.
    threads : int
        How many there are.
    """
    rows = -(-m // (threads * _ROWS_OF_BLAS)) * _ROWS_OF_BLAS
    is_worth_it = threads > 1 and m >= 2 * ROWS_OF_A_TASK and m * n * k > 2 * _SMALL
    has_fewer = 0 < openblas_threads() <= threads or m * n * k < ONE_THREAD_TO
    return rows if is_worth_it and has_fewer and openblas_function("set_num_threads") else 0


def columns_of_a_panel(size: int) -> int:
    """Return how many columns a tile has, of elements of so many bytes: two vectors."""
    return 2 * (WIDEST_VECTOR if cpu_flags() >= AVX512_FLAGS else WIDEST_VECTOR // 2) // size


def are_worth_packing(m: int, n: int, k: int, size: int) -> bool:
    """Return whether tiles compute ``(m, n)`` products faster once the second factor is in panels.

    Parameters
    ----------
    m, n, k : int
        Lengths; ``k`` is summed over.
    size : int
        Bytes of an element.
    """
    rows = 2 * ROWS_OF_A_TASK if cpu_flags() >= AVX512_FLAGS else 2 * ROWS_WORTH_PACKING
    is_flat = ROWS_WORTH_PACKING <= m <= rows and n * size >= FAR_APART and m * n * k > _SMALL
    return is_flat and not n % columns_of_a_panel(size) and are_worth(m, n, k, size, False)


_LENGTHS = ("outer", "inner", "m", "n", "k")


PARAMETERS = {
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


def needs_of_product(parameters: tuple[int, ...], size: int) -> Needs:
    """Return what a stack of products needs, for elements of so many bytes: see `product_parameters`."""
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
    is_packed = b[3] != 1 or (m >= ROWS_WORTH_PACKING and b[2] * size >= FAR_APART)
    workspace = k * min(n, 4 * WIDEST_VECTOR // size) if is_packed else 0
    tasks = outer * inner_length * -(-m // ROWS_OF_A_TASK) * -(-n // COLUMNS_OF_A_TASK)
    work = prod(lengths) * k * size // (2 * WIDEST_VECTOR)  # cycles, of two multiplications of vectors each
    return Needs(tuple(operands), prod(lengths), workspace, tasks, work)


def _needs_by_rows(parameters: tuple[int, ...]) -> Needs:
    *common, rows = parameters
    needs = needs_of_product(tuple(common), 8)
    outer, inner_length, m, n, k, adds = common[:6]
    a, b, out, _ = [common[i : i + 4] for i in range(9, 25, 4)]
    if rows < 1 or adds == APART:
        raise ValueError("there are no rows, or a total is apart")
    for lengths, (down, right) in (((m, k), a[2:]), ((k, n), b[2:])):
        if not ((right == 1 and down >= lengths[1]) or (down == 1 and right >= lengths[0])):
            raise ValueError("a factor has gaps both ways")
    if out[3] != 1 or out[2] < n:
        raise ValueError("the result is transposed")
    tasks = outer * inner_length * -(-m // rows)
    return Needs(needs.operands, needs.out, 2 * BLAS_ARGUMENTS, tasks, needs.work)


DOUBLES = {"product_of_doubles": Kernel(PARAMETERS, partial(needs_of_product, size=8), dtypes=(FLOAT64,))}
SINGLES = {"product_of_singles": Kernel(PARAMETERS, partial(needs_of_product, size=4), dtypes=(FLOAT32,))}
BY_ROWS = {"product_by_rows": Kernel({**PARAMETERS, "rows": 1}, _needs_by_rows, "gemm")}
"""By BLAS, so many rows of the first factor at a time; threads share these."""
