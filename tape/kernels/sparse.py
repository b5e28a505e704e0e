"""What kernels of sparse matrices take and need; their code is in `tape.kernels.compiled.sparse`."""

from __future__ import annotations

from collections.abc import Sequence

from tape.kernels.kernel import Kernel, Needs


def _lengths(parameters: Sequence[int]) -> Sequence[int]:
    if min(parameters) < 1:
        raise ValueError("a length is not positive")
    return parameters


def _needs_product(parameters: Sequence[int]) -> Needs:
    rows, columns, count, width = _lengths(parameters)
    return Needs((count, rows + 1 + count, columns * width), rows * width, 0, rows, 2 * count * width)


def _needs_turned(parameters: Sequence[int]) -> Needs:
    rows, columns, count, width = _lengths(parameters)
    return Needs((count, rows + 1 + count, rows * width), columns * width, 0, 1, 2 * count * width)


def _needs_sampled(parameters: Sequence[int]) -> Needs:
    rows, columns, count, width = _lengths(parameters)
    return Needs((rows + 1 + count, rows * width, columns * width), count, 0, 1, 2 * count * width)


_LENGTHS = dict.fromkeys(("rows", "columns", "count", "width"), 1)

KERNELS = {
    "sparse_product": Kernel(_LENGTHS, _needs_product, indices=(1,)),
    "sparse_turned_product": Kernel(_LENGTHS, _needs_turned, indices=(1,)),
    "sampled_product": Kernel(_LENGTHS, _needs_sampled, indices=(0,)),
}
