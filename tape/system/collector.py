"""`collector_paused`: no garbage collection while modules are imported, functions recorded, programs built.

All of these allocate many objects that stay alive. Each time their number has grown by a quarter, the
collector would traverse all of them and find nothing: a third of the time that long programs take, a tenth of
the time to a first gradient.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_MANY_MODULES = 50


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
    modules = len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) - modules > _MANY_MODULES and not gc.get_freeze_count():
            gc.freeze()  # and back: all objects are of the oldest generation now, and none was looked at
            gc.unfreeze()
        gc.enable()
