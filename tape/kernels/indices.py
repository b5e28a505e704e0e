"""What the kernel that writes rows takes and needs; its code is in `tape.kernels.compiled.indices`."""

from __future__ import annotations

from collections.abc import Sequence

from tape.kernels.codes import DTYPE_CODES
from tape.kernels.kernel import Kernel, Needs


def _needs(parameters: Sequence[int]) -> Needs:
    before, length, row, count = parameters
    if min(parameters) < 1:
        raise ValueError("a length is not positive")
    size, written = before * length * row, before * count * row
    return Needs((size, written, count), size, 0, before, size + written)


KERNELS = {
    "put_rows": Kernel(
        dict.fromkeys(("before", "length", "row", "count"), 1),
        _needs,
        indices=(2,),
        dtypes=tuple(DTYPE_CODES.values()),
    ),
}
