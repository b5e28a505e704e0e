"""Reads the elements of a traced array of integers or bools, packed into few numbers with a guard each.

A plain array that is indexed by a traced one is indexed by NumPy, which asks for the index as a plain array.
Each content of the index is a path of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors, ops

LIMIT = 1024
"""Largest number of elements that are read: each content is a program of its own."""


def content(array: Any) -> np.ndarray:
    """Return the elements of a traced array of integers or bools, which become guards.

    As many as fit into 63 bits are read as digits of one number; its base is the range of the elements.

    Parameters
    ----------
    array : Traced
        Any shape.

    Raises
    ------
    ConversionError
        If there are too many elements.
    """
    if array.size > LIMIT:
        raise errors.ConversionError(
            f"{array!r} was about to become a plain array in a compiled function, which would make a program "
            f"for each content; that is done for {LIMIT} elements at most. To index, write "
            "np.asarray(X, like=i)[i] or tape.ops.getitem(X, i), which record"
        )
    found = np.array(array.number)
    if not array.size:
        return found
    flat = ops.reshape(array, -1)
    if array.size == 1:
        int(flat[0])
        return found
    if array.dtype == bool:
        least, base = 0, 2
    else:
        least = int(ops.min(flat))
        base = int(ops.max(flat)) - least + 1
    digits = _digits(base)
    if digits < 2:
        for k in range(array.size):
            int(flat[k])
    elif base > 1:
        numbers = ops.astype(flat, np.int64) - least
        weights = base ** np.arange(digits)
        for start in range(0, array.size, digits):
            part = numbers[start : start + digits]
            int(ops.sum(part * weights[: part.size]))
    return found


def _digits(base: int) -> int:
    """Return how many digits of a base fit into 63 bits."""
    digits = 1
    while digits < 62 and base ** (digits + 1) <= 2**62:
        digits += 1
    return digits
