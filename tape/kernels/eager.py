"""Kernels that Python calls with arrays, and whether they may be used now.

Each is a function of machine code for each dtype, made of a plain Python function by
`tape.kernels.compiled.eager`. While the code is not there, be it that it is being compiled or that none can
run here, and in threads that ask for it, everything is computed by NumPy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tape.kernels.availability import Unavailable, is_available
from tape.kernels.loading import NotReady, find, must_wait, native

EAGER, FORMULAS, COLOURING = "eager", "formulas", "colouring"
"""Groups of these kernels: what operations use, steps of optimizers, colourings of sparse derivatives."""

_ABSENT = object()
_absent = {EAGER, FORMULAS, COLOURING}

AVOIDED: list[object] = [_ABSENT]
"""Empty while every thread may use kernels; else ask `is_avoided`. A list, because kernels are asked for at
every operation, and its truth is the cheapest thing to look at."""

_lock = threading.Lock()
_tables: dict[str, dict[str, Callable[..., float]]] = {}


def machine_code(name: str) -> dict[str, Callable[..., float]]:
    """Return the functions of a kernel by NumPy's letter for the dtype; empty until the code is there.

    Parameters
    ----------
    name : str
        One of `tape.kernels.compiled.eager.KERNELS`. Arguments are arrays, C-contiguous and of the right
        dtype and number of axes, and floats; nothing is checked. The result is a float, 0.0 for none.
    """
    return _tables.setdefault(name, {})


def is_avoided() -> bool:
    """Return whether kernels give way to NumPy in this thread; need not be asked while `AVOIDED` is empty."""
    if threading.get_ident() in AVOIDED or not is_available():
        return True
    return _ABSENT in AVOIDED and not is_loaded(EAGER)


def is_loaded(group: str) -> bool:
    """Return whether the kernels of a group may be used: load them if they are there."""
    if group in _absent:
        try:
            code = native(group) if must_wait() else find(group)
        except (NotReady, Unavailable):
            return False
        if code is None:
            return False
        with _lock:
            if group in _absent:
                for unit in code.addresses:
                    name, char = unit.rsplit(" ", 1)
                    machine_code(name)[char] = code.as_python(unit)
                _absent.remove(group)
                if group == EAGER:
                    AVOIDED.remove(_ABSENT)
    return True


@contextmanager
def avoided() -> Iterator[None]:
    """A context in which this thread computes without kernels."""
    thread = threading.get_ident()
    AVOIDED.append(thread)
    try:
        yield
    finally:
        AVOIDED.remove(thread)
