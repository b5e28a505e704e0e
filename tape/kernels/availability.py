"""Whether compiled code can run here: asked once, for all that uses any of it.

If anything fails, be it that memory may not be executed, that numba compiles nothing, or that objects are not
laid out as they are known to be, everything runs on plain NumPy, and one warning says why.
"""

from __future__ import annotations

import mmap
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tape import errors
from tape.kernels import headers
from tape.kernels._jit import kernel


class Unavailable(Exception):
    """Compiled code cannot run here."""


_EVERYWHERE, _UNTRIED = object(), object()

AVOIDED: list[object] = [_UNTRIED]
"""Empty while every thread may use kernels; else ask `is_avoided`. A list, because kernels are asked for at
every operation, and its truth is the cheapest thing to look at."""

_lock = threading.RLock()
_reasons: list[str] = []
_is_system_known = False


def is_avoided() -> bool:
    """Return whether kernels give way to NumPy in this thread; need not be asked while `AVOIDED` is empty."""
    if threading.get_ident() in AVOIDED or not is_available():
        return True
    if _UNTRIED in AVOIDED:
        with _lock:
            if _UNTRIED in AVOIDED:
                try:
                    _try_kernel()
                finally:
                    AVOIDED.remove(_UNTRIED)
    return _EVERYWHERE in AVOIDED


@contextmanager
def avoided() -> Iterator[None]:
    """A context in which this thread computes without kernels.

    What is done but once, like the recording of a program, is not worth waking numba up, which takes a third
    of a second in every process.
    """
    thread = threading.get_ident()
    AVOIDED.append(thread)
    try:
        yield
    finally:
        AVOIDED.remove(thread)


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
    return _EVERYWHERE not in AVOIDED


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
        is_first = _EVERYWHERE not in AVOIDED
        if is_first:
            _reasons.append(reason)
            AVOIDED.append(_EVERYWHERE)
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


def _try_kernel() -> None:
    try:
        found = _next(1)
    except Exception as error:  # whatever it is that numba cannot do here
        give_up(f"numba cannot compile ({type(error).__name__}: {error})")
    else:
        if found != 2:
            give_up("what numba compiles computes something else")


@kernel
def _next(number):  # type: ignore[no-untyped-def]
    return number + 1
