"""What the machine's threads need of the process: seats to wait at, and the processors to start on.

A thread starts on another processor than the one that starts it: left alone, Linux often starts it on the
same, and balances the load only at its next tick, four milliseconds later, when the work is done.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache

import numpy as np

from tape.program.native.opcodes import (
    BLAS_THREADS,
    BLAS_USERS,
    MOST_THREADS,
    PLACE_BYTES,
    SEAT_BYTES,
)
from tape.system.blas import openblas_function

_MASK_BYTES = 128  # of cpu_set_t: 1024 processors


def immortal(array: np.ndarray) -> np.ndarray:
    """Return the array, which is not freed at the end of the process either: threads may still read it.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.native.threads import immortal
    >>> immortal(np.zeros(2))
    array([0., 0.])
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(array))
    return array


def _aligned_seats() -> np.ndarray:
    """Return a table of empty seats that begins at a cache line."""
    width = SEAT_BYTES // 8
    numbers = np.zeros((MOST_THREADS + 2) * width, np.int64)
    start = -numbers.ctypes.data % SEAT_BYTES // 8
    return numbers[start : start + (MOST_THREADS + 1) * width].reshape(MOST_THREADS + 1, width)


SEATS = immortal(_aligned_seats())
"""The seats of the threads of this process, and the use of BLAS: see `tape.program.native.workers`."""


def _forget() -> None:
    """Forget the threads of the process that this one was forked from, and what they did with BLAS."""
    users, threads = SEATS[-1, [BLAS_USERS, BLAS_THREADS]].tolist()
    SEATS[:] = 0
    if users and threads > 1:
        ctypes.CFUNCTYPE(None, ctypes.c_int)(openblas_function("set_num_threads"))(threads)


@cache
def seats() -> int:
    """Return the address of the seats; a process that is forked from then on begins with empty ones."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget)
    return SEATS.ctypes.data


def places() -> np.ndarray | None:
    """Return the attributes that threads start with: a pthread_attr_t for each processor of the caller.

    Returns
    -------
    numpy.ndarray or None
        int64, shape (1 + processors, `PLACE_BYTES` / 8): how many processors there are, the bytes and the
        address of the mask of all that may be used now; then the attributes, by number of the caller's
        processor. None where the C library cannot place threads.

    Examples
    --------
    >>> from tape.program.native.threads import places
    >>> table = places()
    >>> table is None or int(table[0, 0]) == len(table) - 1
    True
    """
    return _places(frozenset(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else None


@cache
def _places(usable: frozenset[int]) -> np.ndarray | None:
    library = ctypes.CDLL(None)
    if not all(hasattr(library, name) for name in ("pthread_attr_setaffinity_np", "sched_getcpu")):
        return None
    count = max(usable) + 1
    if count > 8 * _MASK_BYTES or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    table = immortal(np.zeros((1 + count, PLACE_BYTES // 8), np.int64))
    table[0, :3] = count, _MASK_BYTES, immortal(_mask(usable)).ctypes.data
    for cpu in range(count):
        bits = _mask(usable - {cpu})
        attributes = ctypes.c_void_p(table[1 + cpu].ctypes.data)
        library.pthread_attr_init(attributes)
        size, address = ctypes.c_size_t(_MASK_BYTES), ctypes.c_void_p(bits.ctypes.data)
        library.pthread_attr_setaffinity_np(attributes, size, address)  # which keeps a copy
    return table


def _mask(processors: frozenset[int]) -> np.ndarray:
    """Return a cpu_set_t."""
    mask = np.zeros(8 * _MASK_BYTES, np.uint8)
    mask[list(processors)] = 1
    return np.packbits(mask, bitorder="little")
