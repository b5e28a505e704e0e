"""`collector_paused`: no garbage collection while a function is recorded and its program is built.

Both allocate many objects that all stay alive. Each time their number has grown by a quarter, the
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
