"""What the kernel for derivatives of the largest and smallest elements takes and needs.

Its code is in `tape.kernels.compiled.extremes`.
"""

from __future__ import annotations

from tape.kernels.kernel import Kernel, Needs

ROWS, COLUMNS = 64, 512
"""Rows of a task if they are reduced themselves, and columns of a task if they are reduced."""
MOST_TIES = 1 << 12
"""Elements that are compared with one extreme, at most: a row stays in the cache."""


def _needs(parameters: tuple[int, ...]) -> Needs:
    before, reduced, after, is_one = parameters
    if min(before, reduced, after) < 1:
        raise ValueError("a length is not positive")
    if reduced > MOST_TIES or is_one not in (0, 1):
        raise ValueError("a length is too large, or what is shared is neither one number nor many")
    size, count = before * reduced * after, before * after
    tasks = -(-before // ROWS) if after == 1 else before * -(-after // COLUMNS)
    workspace = 0 if after == 1 else min(after, COLUMNS)
    return Needs((1 if is_one else count, size, count), size, workspace, tasks, size)


KERNELS = {
    "share_extremes": Kernel(dict.fromkeys(("before", "reduced", "after", "is_one"), 1), _needs),
}
