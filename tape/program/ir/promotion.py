"""NumPy's type promotion and broadcasting, cached."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from tape.program.ir.values import CannotLower
from tape.program.native.functions import loop_number
from tape.program.native.gufuncs import GUFUNCS
from tape.program.native.ufuncs import UFUNCS

Shape = tuple[int, ...]


@lru_cache(maxsize=4096)
def loop_dtypes(name: str, kinds: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """Return the dtypes that a ufunc computes in, result last; Python's number types do not widen others."""
    dtypes = _resolved(UFUNCS[name], kinds)
    if loop_number(name, dtypes) is None:
        raise CannotLower(f"this NumPy does not show its loop of {name}")
    return dtypes


@lru_cache(maxsize=1024)
def several_dtypes(name: str, kinds: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """Return the dtypes of the operands of a ufunc among `tape.program.native.gufuncs`."""
    of = GUFUNCS[name]
    if of.ufunc is None:
        raise CannotLower(f"there is no {name} here")
    dtypes = _resolved(of.ufunc, kinds)[: of.ufunc.nin]
    chars = "".join([dtype.char for dtype in dtypes])
    if not any(types.startswith(f"{chars}->") for types in of.types):
        raise CannotLower(f"programs do not call the loop {chars} of {name}")
    return dtypes


def _resolved(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    try:
        return ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout))
    except TypeError as error:
        raise CannotLower(str(error)) from None


@lru_cache(maxsize=16384)
def broadcast_shapes(*shapes: Shape) -> Shape:
    """Return the shape that operands broadcast to."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise CannotLower(str(error)) from None


def broadcasts_to(shape: Shape, target: Shape) -> bool:
    """Return whether a shape broadcasts to another one."""
    missing = len(target) - len(shape)
    if missing < 0:
        return False
    for length, wanted in zip(shape, target[missing:], strict=True):
        if length != wanted and length != 1:
            return False
    return True


def aligned(shape: Shape, ndim: int) -> Shape:
    """Return a shape of so many axes, those in front of length one: how broadcasting sees it."""
    return (1,) * (ndim - len(shape)) + shape
