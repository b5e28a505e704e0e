"""What the kernel of weighted sums takes and needs; its code is in `tape.kernels.compiled.weighted`."""

from __future__ import annotations

from math import prod

from tape.kernels.kernel import Kernel, Needs

_A_CYCLE = 4  # products, about, as they are read from memory


def _needs(parameters: tuple[int, ...]) -> Needs:
    if min(parameters) < 1:
        raise ValueError("a length is not positive")
    batch, outer, length, _, columns = parameters
    size = prod(parameters)
    return Needs((size, batch * length * columns), size // length, 0, batch * outer, size // _A_CYCLE + 1)


KERNELS = {
    "weighted_sums": Kernel(dict.fromkeys(("batch", "outer", "length", "rows", "columns"), 1), _needs),
}  # fmt: skip
