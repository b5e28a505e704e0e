"""What kernels that search take and need; their code is in `tape.kernels.compiled.searching`."""

from __future__ import annotations

from collections.abc import Sequence

from tape.kernels.codes import DTYPE_CODES, FLOAT32, FLOAT64, INT32, INT64
from tape.kernels.kernel import Kernel, Needs

KEYS_OF_A_TASK = 8192  # keys of a task


def _needs_search(parameters: Sequence[int]) -> Needs:
    length, count, is_right = parameters
    if min(length, count) < 1 or is_right not in (0, 1):
        raise ValueError("a length is not positive, or the side is neither 0 nor 1")
    return Needs(
        (length, count), count, 0, -(-count // KEYS_OF_A_TASK), count * (length.bit_length() + 1) + length
    )


def _needs_interp(parameters: Sequence[int]) -> Needs:
    count, length = parameters
    if min(parameters) < 1:
        raise ValueError("a length is not positive")
    work = count * (length.bit_length() + 4)
    return Needs((count, length, length), count, 0, -(-count // KEYS_OF_A_TASK), work)


_ALL = tuple(DTYPE_CODES.values())


_NUMBERS = (FLOAT64, FLOAT32, INT64, INT32)


_SEARCH = dict.fromkeys(("length", "count", "right"), 1)


KERNELS = {
    "search": Kernel(_SEARCH, _needs_search, dtypes=_ALL, finds=True),
    "digitize": Kernel(_SEARCH, _needs_search, dtypes=_NUMBERS, finds=True),
    "interp": Kernel(dict.fromkeys(("count", "length"), 1), _needs_interp, dtypes=(FLOAT64,)),
}
