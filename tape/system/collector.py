"""`collector_paused`: no garbage collection while modules are imported, functions recorded, programs built.

All of these allocate many objects that stay alive. Each time their number has grown by a quarter, the
collector would traverse all of them and find nothing: a third of the time that long programs take.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause Python's garbage collector in a context; also a decorator.

    Examples
    --------
    >>> import gc
    >>> from tape.system.collector import collector_paused
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
