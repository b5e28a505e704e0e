"""What the kernel that transposes a matrix takes and needs.

Its code is in `tape.kernels.compiled.transposition`.
"""

from __future__ import annotations

from tape.kernels.kernel import Kernel, Needs


def _needs(parameters: tuple[int, ...]) -> Needs:
    rows, columns = parameters
    if min(parameters) < 1:
        raise ValueError("a length is not positive")
    return Needs((rows * columns,), rows * columns, 0, 1, rows * columns)


KERNELS = {"transposed": Kernel({"rows": 1, "columns": 1}, _needs)}
