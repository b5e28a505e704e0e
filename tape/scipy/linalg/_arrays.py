"""Operands of `tape.scipy.linalg`: arrays, lists with Vars, matrices of which one triangle is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors
from tape.core.node import Handle
from tape.core.operands import as_operand
from tape.numpy._conversion import array
from tape.ops.linalg.packing import dagger, half, transposed, triangle

__all__ = ["as_array", "matrix", "mirrored", "operand", "read_triangle", "square"]


def as_array(x: Any) -> Any:
    """Return what can be computed with: lists become arrays, those with Vars too."""
    return x if isinstance(x, Handle) else np.asarray(as_operand(array(x)))


def operand(x: Any) -> Any:
    """Return the same; ints become floats."""
    x = as_array(x)
    if np.result_type(x).kind in "biu":
        return x * 1.0
    return x


def matrix(name: str, x: Any) -> Any:
    """Return an operand as a matrix or a stack of matrices; as in SciPy a vector is one row."""
    x = operand(x)
    x = np.reshape(x, (1, -1)) if np.ndim(x) < 2 else x
    if np.result_type(x).char in "egG":
        raise errors.DTypeError(f"{name}: LAPACK has no {np.result_type(x)}. Convert with astype")
    return x


def square(name: str, x: Any) -> Any:
    """Return an operand that is a square matrix, or a stack of these."""
    x = matrix(name, x)
    if x.shape[-1] != x.shape[-2]:
        raise errors.ShapeError(f"{name}: matrices must be square, not of shape {list(x.shape)}")
    return x


def mirrored(x: Any, lower: bool) -> Any:
    """Return the Hermitian matrix of a triangle."""
    part = half(x, lower=bool(lower))
    return part + dagger(part)


def read_triangle(x: Any, lower: bool) -> Any:
    """Return the symmetric matrix of a triangle; complex ones are not conjugated."""
    part = triangle(x, bool(lower), False)
    return part + transposed(triangle(x, bool(lower), True))
