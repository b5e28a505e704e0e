"""What the machine's threads need of the process: seats to wait at, and the processors to start on.

A thread starts on another processor than the one that starts it: left alone, Linux often starts it on the
same, and balances the load only at its next tick, four milliseconds later, when the work is done.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import time
from functools import cache

import numpy as np

from tape.program.native.opcodes import (
    BUSY,
    CLAIMED,
    EMPTY,
    LEAVING,
    LEFT,
    MOST_THREADS,
    PLACE_BYTES,
    POSTED,
    SEAT_BYTES,
    SEAT_THREAD,
    WAITING,
)

_MASK_BYTES = 128  # of cpu_set_t: 1024 processors


def _aligned_seats() -> np.ndarray:
    """Return a table of empty seats that begins at a cache line."""
    width = SEAT_BYTES // 8
    numbers = np.zeros((MOST_THREADS + 1) * width, np.int64)
    start = -numbers.ctypes.data % SEAT_BYTES // 8
    return numbers[start : start + MOST_THREADS * width].reshape(MOST_THREADS, width)


SEATS = _aligned_seats()
"""The seats of the threads of this process: see `tape.program.native.workers`."""


def _empty() -> None:
    """Forget the threads of the process that this one was forked from."""
    SEATS[:] = 0


def _end() -> None:
    """Start no more threads, and wait for those that wait for work: their code is unloaded at the end."""
    deadline = time.monotonic() + 0.1
    join = ctypes.CDLL(None).pthread_join
    for seat in SEATS:
        # States are changed here without comparing; who still runs programs now has lost nothing by that.
        while seat[0] in (WAITING, LEAVING, CLAIMED, POSTED, BUSY) and time.monotonic() < deadline:
            time.sleep(1e-4)
        if seat[0] == LEFT:
            join(ctypes.c_void_p(int(seat[SEAT_THREAD])), None)
            seat[0] = EMPTY


@cache
def seats() -> int:
    """Return the address of the seats, from when on threads are ended before the process is."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_empty)
    atexit.register(_end)
    return SEATS.ctypes.data


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
    >>> from tape.program.native.threads import places
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
