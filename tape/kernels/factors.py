"""What the kernel that pulls back through Cholesky factors takes and needs.

Its code is in `tape.kernels.compiled.factors`.
"""

from __future__ import annotations

from tape.kernels.kernel import BLAS_ARGUMENTS, Kernel, Needs

BLOCK = 32


def _needs(parameters: tuple[int, ...]) -> Needs:
    count, n = parameters
    if min(count, n) < 1:
        raise ValueError("a length is not positive")
    size = count * n * n
    return Needs((size, size), size, 2 * BLAS_ARGUMENTS + BLOCK * (BLOCK + n), count, size * n)


KERNELS = {"cholesky_pullback": Kernel({"matrices": 1, "rows": 1}, _needs, "gemm")}


"""Of lower factors ``(matrices, rows, rows)`` and their adjoints."""
