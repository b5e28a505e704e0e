"""The layout of results: C order, so that views of them are the same in all modes and in programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import ops
from tape.core.node import Handle

__all__ = ["in_c_order"]


def in_c_order(value: Any) -> Any:
    """Return an array in C order: a copy of a recorded one, of a plain one only if it is not in C order."""
    if isinstance(value, Handle):
        return ops.copy(value, "C") if value.shape else value  # type: ignore[attr-defined]
    return np.asarray(value, order="C")
