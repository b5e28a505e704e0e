"""What the kernel of sliding vectors takes and needs; its code is in `tape.kernels.compiled.sliding`."""

from __future__ import annotations

from collections.abc import Sequence

from tape.kernels.codes import FLOAT32, FLOAT64, INT32, INT64
from tape.kernels.kernel import Kernel, Needs

SUMS_OF_A_TASK = 1024  # sums of a task, which stay in the L1 cache


def _needs(parameters: Sequence[int]) -> Needs:
    longer, shorter, full = parameters
    if shorter < 1 or longer < shorter or full not in (0, 1):
        raise ValueError("a length is not positive, or the first operand is the shorter one")
    count = longer + shorter - 1 if full else longer - shorter + 1
    return Needs((longer, shorter), count, 0, -(-count // SUMS_OF_A_TASK), count * shorter)


KERNELS = {
    "correlate": Kernel(
        dict.fromkeys(("longer", "shorter", "full"), 1), _needs,
        dtypes=(FLOAT64, FLOAT32, INT64, INT32),
    ),
}  # fmt: skip
