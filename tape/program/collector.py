"""Lets Python's garbage collector wait while a program is built.

Building makes many objects that all stay. Each time they have grown by a quarter, the collector would look
through every one of them, and find nothing: a third of the time that long programs take.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collector_paused"]


@contextmanager
def collector_paused() -> Iterator[None]:
    """A context in which no garbage is collected; also a decorator.

    Examples
    --------
    >>> import gc
    >>> from tape.program.collector import collector_paused
    >>> with collector_paused():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    if not gc.isenabled():  # by the user, or by another thread that builds: it is theirs to let it go on
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
