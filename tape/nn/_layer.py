"""What classes of layers share: the declaration of settings, how they print, and how they check arguments.

A layer is a dataclass and a tree: its arrays are leaves, and all else, its settings, is structure. There is
nothing that it inherits from but its repr, and nothing that knows it: any dataclass is a layer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from textwrap import indent
from typing import Any

import numpy as np

from tape.errors import OptionError, ShapeError, describe
from tape.tree import fields_of

_WIDTH = 100


STATIC = {"static": True}
"""The metadata of fields that are part of the structure, and no leaves."""


class Described:
    """Prints a dataclass with its settings as they are, and its arrays by dtype and shape."""

    __slots__ = ()

    def __repr__(self) -> str:
        branches, settings = fields_of(type(self))
        parts = [f"{name}={_text(getattr(self, name, None))}" for name in (*settings, *branches)]
        return call_text(type(self).__name__, parts)


def call_text(name: str, parts: list[str]) -> str:
    """Return the text of a call, in several lines if it is long."""
    line = f"{name}({', '.join(parts)})"
    if len(line) <= _WIDTH and "\n" not in line:
        return line
    lines = indent("".join([f"{part},\n" for part in parts]), "  ")
    return f"{name}(\n{lines})"


def _text(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        texts = ", ".join([_text(part) for part in value])
        return f"[{texts}]" if isinstance(value, list) else f"({texts}{',' if len(value) == 1 else ''})"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return describe(value)
    return function_name(value) if callable(value) and not dataclasses.is_dataclass(value) else repr(value)


def function_name(function: Callable[..., Any]) -> str:
    """Return the name of an activation function."""
    return getattr(function, "__name__", None) or getattr(function, "name", None) or repr(function)


def title(layer: Any) -> str:
    """Return the name of a layer for messages: its class and its first two settings."""
    settings = fields_of(type(layer))[1][:2]
    return f"{type(layer).__name__}({', '.join([f'{name}={getattr(layer, name)}' for name in settings])})"


# ---- checks ------------------------------------------------------------------------------------------


def check_length(layer: Any, x: Any, axis: int, length: int) -> None:
    """Raise unless an axis of an argument has this length."""
    shape = np.shape(x)
    if len(shape) < max(-axis, axis + 1) or shape[axis] != length:
        which = "last axis" if axis == -1 else f"axis {axis}"
        raise ShapeError(f"{title(layer)}: x has shape {list(shape)}. Its {which} must have length {length}")


def float_dtype(name: str, dtype: Any) -> np.dtype[Any]:
    """Return the dtype of weights."""
    found = np.dtype(dtype)
    if found.kind not in "fc":
        raise OptionError(f"{name}: dtype={dtype!r}. Weights are floats, such as np.float32")
    return found
