"""What kernels that count take and need; their code is in `tape.kernels.compiled.counting`."""

from __future__ import annotations

from collections.abc import Sequence

from tape.kernels.codes import BOOL, DTYPE_CODES, FLOAT64, INT64
from tape.kernels.kernel import Kernel, Needs

MOST = 1 << 48  # beyond that NumPy has no memory


def _needs_count(parameters: Sequence[int]) -> Needs:
    count, length = parameters
    if min(parameters) < 1:
        raise ValueError("a length is not positive")
    return Needs((count,), length, 0, 1, 2 * count + length)


def _needs_places(parameters: Sequence[int]) -> Needs:
    *sizes, is_strict = parameters
    if is_strict not in (0, 1):
        raise ValueError("whether the length must be right is neither 0 nor 1")
    return _needs_count(sizes)


def _needs_weigh(parameters: Sequence[int]) -> Needs:
    needs = _needs_count(parameters)
    return needs._replace(operands=needs.operands * 2)


def _needs_runs(parameters: Sequence[int]) -> Needs:
    size, merges = parameters
    if size < 1 or merges not in (0, 1):
        raise ValueError("a length is not positive, or whether NaN are equal is neither 0 nor 1")
    return Needs((size, size), 3 * size + 1, 0, 1, 8 * size)


_ALL = tuple(DTYPE_CODES.values())


_COUNT = dict.fromkeys(("count", "length"), 1)


KERNELS = {
    "count": Kernel(_COUNT, _needs_count, dtypes=(INT64,), finds=True),
    "weigh": Kernel(_COUNT, _needs_weigh, indices=(1,), dtypes=(FLOAT64,)),
    "places": Kernel(
        dict.fromkeys(("size", "length", "strict"), 1), _needs_places, dtypes=(BOOL,), finds=True
    ),
    "runs": Kernel(dict.fromkeys(("size", "merges"), 1), _needs_runs, indices=(1,), dtypes=_ALL, finds=True),
}
