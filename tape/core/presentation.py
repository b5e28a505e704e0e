"""What a function that runs an operation says of itself: its name, its module and its documentation."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from tape.core.op import Op


def present_as(op: Op, function: Callable[..., Any]) -> None:
    """Give a function that runs an operation the name and the documentation of that."""
    function.__name__ = function.__qualname__ = op.name
    function.__module__ = _defining_module()
    function.__doc__ = _doc(op)
    function.op = op  # type: ignore[attr-defined]


def _doc(op: Op) -> str | None:
    """Return the documentation of an operation: NumPy's without its examples, which need NumPy's module."""
    home = type(op.forward) if isinstance(op.forward, np.ufunc) else op.forward
    is_ours = getattr(home, "__module__", "").partition(".")[0] not in ("numpy", "scipy")
    return op.__doc__ if is_ours or op.__doc__ is None else re.split(r"\n *Examples\n *-+\n", op.__doc__)[0]


def _defining_module() -> str:
    """Return the name of the module whose code is being run at its top level, as a rule by an import."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return __name__ if frame is None else frame.f_globals.get("__name__", __name__)
