"""What classes of layers share: the declaration of settings, how they print, and how they check arguments.

A layer is a dataclass and a tree: its arrays are leaves, and all else, its settings, is structure. It
inherits nothing but its repr and advice for PyTorch's names, and nothing knows it: any dataclass is a layer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from textwrap import indent
from typing import Any, NoReturn

import numpy as np

from tape.errors import MissingAttributeError, OptionError, ShapeError, describe
from tape.tree import fields_of

_WIDTH = 100


STATIC = {"static": True}
"""The metadata of fields that are part of the structure, and no leaves."""


_ELSEWHERE = {
    "parameters": "tape.tree.leaves(model) are its arrays; optimizers and transforms take the model itself",
    "named_parameters": "tape.nn.state_dict(model) has its arrays by name",
    "state_dict": "Call tape.nn.state_dict(model)",
    "load_state_dict": "Call tape.nn.load_state_dict(model, arrays)",
    "zero_grad": "Gradients are returned, and not accumulated: there is nothing to set to zero",
    "train": "Pass train=True where a layer has it, as in model(x, state, train=True)",
    "eval": "Layers are in evaluation unless train=True, or an rng, is passed",
    "to": "All arrays are on the CPU; layers take dtype=",
    "forward": "Call the layer itself",
}
"""Methods of PyTorch's modules -> what there is here."""


class Described:
    """Prints a dataclass with its settings as they are, and its arrays by dtype and shape."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        if name in _ELSEWHERE:
            raise MissingAttributeError(f"{type(self).__name__} has no {name!r}. {_ELSEWHERE[name]}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

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
