"""Operands of `tape.scipy.linalg`: arrays, lists with Vars, matrices of which one triangle is read.

And `or_scipy`, for functions that are SciPy's own without Vars.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from scipy import linalg

from tape import errors
from tape.core.dispatch import lift
from tape.core.node import Handle
from tape.core.operands import as_operand, lifted
from tape.numpy._conversion import array
from tape.ops.linalg.packing import dagger, half, transposed, triangle
from tape.scipy._operands import is_recorded

__all__ = [
    "as_array",
    "matrix",
    "mirrored",
    "number",
    "operand",
    "or_scipy",
    "read_triangle",
    "square",
]


def as_array(x: Any) -> Any:
    """Return what can be computed with: lists become arrays, those with Vars too.

    An array becomes a Var of the program that is being recorded, if one is, and follows its changes.
    """
    if isinstance(x, Handle):
        return x
    return lift(as_operand(x) if type(x) is np.ndarray else np.asarray(as_operand(array(lifted(x)))))


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


def number(name: str, key: str, x: Any) -> float | None:
    """Return a tolerance as a plain number, or None; a Var would be a constant to derivatives."""
    if isinstance(x, Handle):
        raise errors.UnsupportedError(
            f"{name}: {key} is a Var, by which nothing is differentiated. Give a number"
        )
    return None if x is None else float(x)


def mirrored(x: Any, lower: bool) -> Any:
    """Return the Hermitian matrix of a triangle."""
    part = half(x, lower=bool(lower))
    return part + dagger(part)


def read_triangle(x: Any, lower: bool) -> Any:
    """Return the symmetric matrix of a triangle; complex ones are not conjugated."""
    part = triangle(x, bool(lower), False)
    return part + transposed(triangle(x, bool(lower), True))


def or_scipy(recorded: Callable[..., Any]) -> Callable[..., Any]:
    """Run the decorated function if there is a Var among the arguments, and SciPy's of that name otherwise.

    For functions whose Vars need another way than SciPy's, of more memory or with less options. What SciPy
    raises of its own is raised as an error of ours.
    """
    name = recorded.__name__
    original = getattr(linalg, name)

    @wraps(recorded)
    def call(*args: Any, **kwargs: Any) -> Any:
        if is_recorded(*args, *kwargs.values()):
            return recorded(*args, **kwargs)
        try:
            return original(*args, **kwargs)
        except np.linalg.LinAlgError as error:
            raise errors.SingularMatrixError(f"{name}: {error}. Check the matrix") from error

    return call
