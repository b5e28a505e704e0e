"""Settings of the allocator that keep freed memory in the process for the next arrays.

A sweep frees and allocates arrays of the same sizes again and again. By default glibc returns larger ones to
the system at once, and the system clears every page before reuse: a fifth to a third of the time of a
gradient with arrays of 100 kB to a few MB. `keep_freed` raises two thresholds of the allocator, for the whole
process; it runs when tape is imported. With TAPE_KEEP_FREED=0 in the environment, or with any setting of the
allocator itself, and on systems other than Linux with glibc, it changes nothing.
"""

from __future__ import annotations

import ctypes
import os
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_KEPT = 256 * 2**20
"""The most memory to keep, in bytes, at the top of the heap."""
_LARGEST = 32 * 2**20
"""The largest value that glibc allows: larger arrays always go back to the system."""
_SETTINGS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_MAX_")


def keep_freed() -> bool:
    """Keep up to 256 MiB of freed memory in the process, in arrays of up to 32 MiB.

    Returns
    -------
    bool
        Whether the settings were changed.

    Examples
    --------
    >>> from tape.system.memory import keep_freed
    >>> keep_freed() in (True, False)
    True
    """
    is_set = any(name in os.environ for name in _SETTINGS) or "malloc" in os.environ.get("GLIBC_TUNABLES", "")
    if is_set or os.environ.get("TAPE_KEEP_FREED") == "0" or not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "gnu_get_libc_version"):  # another C library
        return False
    return bool(libc.mallopt(_M_MMAP_THRESHOLD, _LARGEST) and libc.mallopt(_M_TRIM_THRESHOLD, _KEPT))
