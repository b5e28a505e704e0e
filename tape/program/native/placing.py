"""On which processor a thread starts: another one than the thread that starts it.

Where Linux would put it is for the scheduler to say, which often chooses the same processor, and looks for a
better one only at its next tick: four milliseconds later, when the work is done one after the other.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache

import numpy as np

from tape.program.native.opcodes import PLACE_BYTES

__all__ = ["places"]

_MASK_BYTES = 128  # of cpu_set_t: 1024 processors


@cache
def places() -> np.ndarray | None:
    """What threads are started with: a pthread_attr_t for each processor that the caller may run on.

    Returns
    -------
    numpy.ndarray or None
        int64, shape (1 + processors, `PLACE_BYTES` / 8): how many processors there are, then the attributes,
        by the number of the caller's. None where the C library does not know how.

    Examples
    --------
    >>> from tape.program.native.placing import places
    >>> table = places()
    >>> table is None or int(table[0, 0]) == len(table) - 1
    True
    """
    library = ctypes.CDLL(None)
    if not all(hasattr(library, name) for name in ("pthread_attr_setaffinity_np", "sched_getcpu")):
        return None
    usable = os.sched_getaffinity(0)
    count = max(usable) + 1
    if count > 8 * _MASK_BYTES or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    table = np.zeros((1 + count, PLACE_BYTES // 8), np.int64)
    table[0, 0] = count
    for cpu in range(count):
        mask = np.zeros(8 * _MASK_BYTES, np.uint8)
        mask[list(usable - {cpu})] = 1
        bits = np.packbits(mask, bitorder="little")
        attributes = ctypes.c_void_p(table[1 + cpu].ctypes.data)
        library.pthread_attr_init(attributes)
        size, address = ctypes.c_size_t(_MASK_BYTES), ctypes.c_void_p(bits.ctypes.data)
        library.pthread_attr_setaffinity_np(attributes, size, address)  # which keeps a copy
    return table
