"""The floating-point flags of the processor: whether anything overflowed, was divided by zero, or undefined.

NumPy gives its warnings by them. They belong to the calling thread, and stay set until they are cleared.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from typing import Any

_FLAGS = {
    "x86_64": 1 | 4 | 8, "amd64": 1 | 4 | 8, "aarch64": 1 | 2 | 4, "arm64": 1 | 2 | 4,
}  # fmt: skip
"""Invalid, divided by zero, overflow: as in <fenv.h> of each processor."""

_WANTED = _FLAGS.get(platform.machine().lower(), 0)


def _c_function(name: str) -> Callable[[int], int]:
    try:
        function: Any = getattr(ctypes.PyDLL(None), name)
    except (AttributeError, OSError, TypeError):  # of other systems: then nothing is known
        return lambda flags: 0
    function.argtypes, function.restype = (ctypes.c_int,), ctypes.c_int
    return function


_test, _clear = _c_function("fetestexcept"), _c_function("feclearexcept")


def clear() -> None:
    """Clear the flags.

    Examples
    --------
    >>> from tape.system import float_flags
    >>> float_flags.clear()
    >>> float_flags.are_raised()
    False
    """
    _clear(_WANTED)


def are_raised() -> bool:
    """Return whether any of the flags is set; False where that cannot be found out."""
    return _test(_WANTED) != 0
