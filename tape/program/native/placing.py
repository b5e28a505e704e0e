"""Thread placement: a thread starts on another processor than the one that starts it.

Left alone, Linux often starts it on the same processor, and balances the load only at its next tick: four
milliseconds later, when the work is done, one part after the other.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache

import numpy as np

from tape.program.native.opcodes import PLACE_BYTES

_MASK_BYTES = 128  # of cpu_set_t: 1024 processors


@cache
def places() -> np.ndarray | None:
    """Return the attributes that threads start with: a pthread_attr_t for each processor of the caller.

    Returns
    -------
    numpy.ndarray or None
        int64, shape (1 + processors, `PLACE_BYTES` / 8): how many processors there are, then the attributes,
        by number of the caller's processor. None where the C library cannot place threads.

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
