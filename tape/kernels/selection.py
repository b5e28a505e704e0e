"""What kernels that select take and need; their code is in `tape.kernels.compiled.selection`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tape.kernels.codes import FLOAT32, FLOAT64, INT32, INT64
from tape.kernels.kernel import Kernel, Needs

HEAD = 16

BLOCK = 512


def _needs(parameters: Sequence[int], more: int) -> Needs:
    rows, length, count, has_each = parameters
    if min(rows, length, count) < 1 or has_each not in (0, 1):
        raise ValueError("a length is not positive, or a flag is none")
    at = count * (rows if has_each else 1)
    return Needs((rows * length, at), rows * (count + more), HEAD + length, rows, 3 * rows * length)


def _needs_of_partition(parameters: Sequence[int]) -> Needs:
    rows, length, count = parameters
    if min(parameters) < 1:
        raise ValueError("a length is not positive")
    return Needs((rows * length, rows * count), rows * length, 2 * BLOCK, rows, 3 * rows * length * count)


_ROWS = dict.fromkeys(("rows", "length", "count"), 1)


_SELECTED = {**_ROWS, "has_each": 1}


_NUMERIC = FLOAT64, FLOAT32, INT64, INT32


KERNELS = {
    "ranked": Kernel(_SELECTED, partial(_needs, more=1), indices=(1,), sorting="sort", dtypes=_NUMERIC),
    "ranked_places": Kernel(
        _SELECTED, partial(_needs, more=0), indices=(1,), sorting="sort", dtypes=_NUMERIC, finds=True
    ),
    "partition_order": Kernel(_ROWS, _needs_of_partition, dtypes=_NUMERIC, finds=True),
}


"""The positions wanted are the same for all rows, or each row has its own."""
