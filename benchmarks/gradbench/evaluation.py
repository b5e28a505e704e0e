"""What a module of this package gives: functions by name, each with its way from JSON and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Function", "Input", "floats"]

Input = dict[str, Any]
"""The ``input`` of a message, decoded."""


def floats(result: Any) -> Any:
    """Return a number, an array or nested sequences of them as JSON has them."""
    return np.asarray(result).tolist()


@dataclass(frozen=True)
class Function:
    """A function that GradBench may ask for.

    Attributes
    ----------
    prepare : callable
        From the input of a message to the arguments. It is not part of the time.
    compute : callable
        From the arguments to the result.
    report : callable
        From the result to what JSON can hold.
    """

    prepare: Callable[[Any], tuple[Any, ...]]
    compute: Callable[..., Any]
    report: Callable[[Any], Any] = floats
