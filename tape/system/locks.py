"""Locks that a forked process can take."""

from __future__ import annotations

import os
import threading
from typing import Any

__all__ = ["lock_across_forks"]


def lock_across_forks() -> Any:
    """Return a reentrant lock, held for as long as a process is forked: the child finds it free.

    A process forked while another thread holds a lock would wait for it for ever.

    Examples
    --------
    >>> from tape.system.locks import lock_across_forks
    >>> lock = lock_across_forks()
    >>> with lock, lock:
    ...     pass
    """
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock
