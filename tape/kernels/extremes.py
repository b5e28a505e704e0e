"""What the kernel for gradients of the largest and smallest elements of rows takes and needs.

Its code is in `tape.kernels.compiled.extremes`.
"""

from __future__ import annotations

from tape.kernels.kernel import Kernel, Needs

ELEMENTS = 4096
"""About how many elements the rows of a task have."""
LONGEST = 1 << 12
"""Elements of a row, at most: it is read twice, and stays in the cache."""


def _needs(parameters: tuple[int, ...]) -> Needs:
    rows, length, is_one = parameters
    if min(rows, length) < 1:
        raise ValueError("a length is not positive")
    if length > LONGEST or is_one not in (0, 1):
        raise ValueError("rows are too long, or what is shared is neither one number nor one for each row")
    tasks = -(-rows // max(1, ELEMENTS // length))
    return Needs((1 if is_one else rows, rows * length, rows), rows * length, 0, tasks, rows * length)


KERNELS = {"share_extremes": Kernel(dict.fromkeys(("rows", "length", "is_one"), 1), _needs)}
