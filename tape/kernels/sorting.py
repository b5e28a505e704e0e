"""What kernels that sort take and need; their code is in `tape.kernels.compiled.sorting`."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from tape.kernels.codes import DTYPE_CODES, FLOAT32, FLOAT64
from tape.kernels.kernel import Kernel, Needs


def _needs(parameters: Sequence[int]) -> Needs:
    rows, length = parameters
    if min(parameters) < 1:
        raise ValueError("a length is not positive")
    size = rows * length
    return Needs((size,), size, 0, rows, int(size * log2(length + 1)))


def _needs_order(parameters: Sequence[int]) -> Needs:
    needs = _needs(parameters)
    return needs._replace(operands=(needs.out, needs.out))


def _needs_ties(parameters: Sequence[int]) -> Needs:
    needs = _needs_order(parameters)
    return needs._replace(workspace=4 * parameters[1])


_ROWS = dict.fromkeys(("rows", "length"), 1)


_ALL = tuple(DTYPE_CODES.values())


KERNELS = {
    "sort": Kernel(_ROWS, _needs, sorting="sort", dtypes=_ALL),
    "argsort": Kernel(_ROWS, _needs, sorting="argsort", dtypes=_ALL, finds=True),
    "stable_argsort": Kernel(_ROWS, _needs, sorting="stable argsort", dtypes=_ALL, finds=True),
    "stable_order": Kernel(_ROWS, _needs_ties, indices=(1,), dtypes=(FLOAT64, FLOAT32), finds=True),
    "refined_order": Kernel(
        _ROWS, _needs_order, indices=(1,), sorting="stable argsort", dtypes=_ALL, finds=True
    ),
}
