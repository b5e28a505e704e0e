"""The names of other libraries for programs written for these: `autograd`, that of the HIPS group.

A package here holds names, signatures and conventions. Whatever it computes, the rest of tape does.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name == "autograd":
        return import_module("tape.compat.autograd")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
