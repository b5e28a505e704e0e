"""Reading, adding and writing at positions given by integer arrays, for compiled code.

Positions are the only numbers here that nobody has checked before: an index out of range makes a
kernel return False, with nothing added or written anywhere. Negative ones count from the end.

Another thread may change positions meanwhile. So each is checked again where it is used, in a variable that
was read once; what such a thread changes decides what is computed, never which memory is touched.
"""

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
