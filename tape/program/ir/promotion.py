"""NumPy's rules for operands of several dtypes and shapes, looked up once for each kind."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from tape.program.ir.instructions import UFUNCS
from tape.program.ir.values import CannotLower
from tape.program.runtime.functions import loop_number

__all__ = ["broadcast_shapes", "loop_dtypes"]

Shape = tuple[int, ...]


@lru_cache(maxsize=4096)
def loop_dtypes(name: str, kinds: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """The dtypes a ufunc computes in; Python's number types do not widen others."""
    ufunc = UFUNCS[name]
    try:
        dtypes = ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout))
    except TypeError as error:
        raise CannotLower(str(error)) from None
    if loop_number(name, dtypes) is None:
        raise CannotLower(f"this NumPy does not show its loop of {name}")
    return dtypes


@lru_cache(maxsize=16384)
def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape that operands have together."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise CannotLower(str(error)) from None
