"""What the kernels of weighted sums take and need; their code is in `tape.kernels.compiled.weighted`."""

from __future__ import annotations

from math import prod

from tape.kernels.kernel import PARTIAL, Kernel, Needs

_A_CYCLE = 4  # products, about, as they are read from memory


def _needs(parameters: tuple[int, ...]) -> Needs:
    if min(parameters) < 1:
        raise ValueError("a length is not positive")
    batch, outer, length, _, columns = parameters
    size = prod(parameters)
    return Needs((size, batch * length * columns), size // length, 0, batch * outer, size // _A_CYCLE + 1)


def _needs_products(parameters: tuple[int, ...]) -> Needs:
    if min(parameters) < 1:
        raise ValueError("a length is not positive")
    length, rows, shared, columns = parameters
    if length > PARTIAL:
        raise ValueError("a long sum needs partial sums")
    operands = (length * rows * shared, shared * columns, length * columns)
    return Needs(operands, rows * columns, 0, rows, prod(parameters) // _A_CYCLE + 1)


KERNELS = {
    "weighted_sums": Kernel(dict.fromkeys(("batch", "outer", "length", "rows", "columns"), 1), _needs),
    "weighted_products": Kernel(dict.fromkeys(("length", "rows", "shared", "columns"), 1), _needs_products),
}  # fmt: skip
