"""Whether compiled code can run here: asked once, for all that uses any of it.

If anything fails, be it that memory may not be executed, that numba compiles nothing, or that objects are not
laid out as they are known to be, everything runs on plain NumPy, and one warning says why.
"""

from __future__ import annotations

import mmap
import threading

from tape import errors
from tape.kernels import headers


class Unavailable(Exception):
    """Compiled code cannot run here."""


_lock = threading.RLock()
_reasons: list[str] = []
_is_system_known = False


def is_available() -> bool:
    """Return whether compiled code can run here, as far as can be told without any."""
    global _is_system_known
    if not _is_system_known:
        with _lock:
            if not _is_system_known:
                reason = headers.why_unknown() or _why_no_code()
                try:
                    if reason is not None:
                        give_up(reason)
                finally:  # the warning may be an error to the user
                    _is_system_known = True
    return not _reasons


def require() -> None:
    """Raise `Unavailable` if compiled code cannot run here."""
    if not is_available():
        raise Unavailable(_reasons[0])


def give_up(reason: str) -> None:
    """Let everything run on plain NumPy from now on; the first time, warn.

    Parameters
    ----------
    reason : str
        What has failed.
    """
    with _lock:
        is_first = not _reasons
        _reasons.append(reason)
    if is_first:
        errors.warn(
            f"tape runs on plain NumPy, many times slower: {reason}. Use a 64-bit CPython with its lock on a "
            "system where numba can compile",
            errors.NotCompiledWarning,
        )


def _why_no_code() -> str | None:
    """Why memory may not be executed, where LLVM would end the process; None if it may."""
    try:
        if hasattr(mmap, "PROT_EXEC"):
            mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()
    except OSError as error:
        return f"the system lets no memory be executed ({error})"
    return None
