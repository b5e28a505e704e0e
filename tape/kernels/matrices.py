"""Products of small matrices: what their kernels take and need, and when they are worth it.

Their code is in `tape.kernels.compiled.matrices`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import partial
from math import prod

from tape.kernels.codes import FLOAT32, FLOAT64
from tape.kernels.kernel import Kernel, Needs
from tape.system.blas import has_small_kernels

ROWS_OF_A_TASK = 64
WIDEST_VECTOR = 64  # bytes, on any processor

_MACS_A_CYCLE = 16  # about, for what is worth a thread


_MOST_MACS = 1 << 18  # multiplications with additions, of matrices that are not narrow


_NARROW, _MOST_OF_NARROW = 32, 1 << 24


NOTHING, IN_PLACE, APART = range(3)


"""What is added to a product: nothing, what the result holds, or the third operand."""


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
    if min(n, k) <= _NARROW and m >= ROWS_OF_A_TASK and macs > _MOST_MACS:
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
    workspace = 0 if b[3] == 1 else k * min(n, 4 * WIDEST_VECTOR // size)
    tasks = outer * inner_length * -(-m // ROWS_OF_A_TASK)
    return Needs(tuple(operands), prod(lengths), workspace, tasks, prod(lengths) * k // _MACS_A_CYCLE)


DOUBLES = {"product_of_doubles": Kernel(_PARAMETERS, partial(_needs, size=8), dtypes=(FLOAT64,))}
SINGLES = {"product_of_singles": Kernel(_PARAMETERS, partial(_needs, size=4), dtypes=(FLOAT32,))}
