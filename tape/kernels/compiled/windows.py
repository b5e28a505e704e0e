"""Which elements windows see, for compiled code."""

from __future__ import annotations

from tape.kernels.compiled._jit import inner


@inner
def seeing(offset, length, step, count):  # type: ignore[no-untyped-def]
    """Which windows have an element ``offset`` behind where they begin: from the first to the last, and 1."""
    first, stop = 0, count
    if offset < 0:
        first = -offset if step == 1 else (step - 1 - offset) // step
    if (count - 1) * step + offset >= length:  # dividing would take longer than all of a short row
        stop = (length - 1 - offset) // step + 1 if offset < length else 0
    return min(first, stop), stop
