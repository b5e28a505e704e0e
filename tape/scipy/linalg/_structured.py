"""Systems of linear equations with matrices of few diagonals, and of constant ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.errors import ShapeError
from tape.ops import linalg as ops
from tape.ops.linalg.banded import solve_bands, turned_bands
from tape.scipy.linalg._arrays import matrix, operand
from tape.scipy.linalg._building import toeplitz

__all__ = ["solve_banded", "solve_toeplitz", "solveh_banded"]


def solve_banded(
    l_and_u: tuple[int, int],
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve ``a @ x = b``, where a has few diagonals.

    Parameters
    ----------
    l_and_u : tuple of int
        How many diagonals are below and above the main one.
    ab : array_like or Var
        ``(..., l + u + 1, n)``: ``ab[u + i - j, j]`` is element i, j. What lies outside of the matrix is
        not read, and its gradient is 0.
    b : array_like or Var
        ``(n,)``, or ``(..., n, k)``.
    overwrite_ab, overwrite_b, check_finite : bool
        Without effect.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``b``.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    SingularMatrixError
        If the matrix is singular.

    Examples
    --------
    >>> import numpy as np, tape
    >>> ab = np.array([[0.0, 1.0], [2.0, 4.0]])  # of [[2, 1], [0, 4]]
    >>> tape.scipy.linalg.solve_banded((0, 1), ab, np.array([3.0, 4.0]))
    array([1., 1.])
    """
    below, above = l_and_u
    ab, b = matrix("solve_banded", ab), operand(b)
    if (
        ab.shape[-2] != below + above + 1
        or np.ndim(b) < 1
        or b.shape[-2 if np.ndim(b) > 1 else -1] != ab.shape[-1]
    ):
        raise ShapeError(
            f"solve_banded: ab of shape {list(np.shape(ab))} and b of shape {list(np.shape(b))} do not fit "
            f"{below} diagonals below and {above} above. Give {below + above + 1} rows, and as many columns "
            "as b has rows"
        )
    attrs = {"below": int(below), "above": int(above)}
    return solve_bands(ab, b, **attrs) if np.ndim(b) > 1 else solve_bands(ab, b[:, None], **attrs)[..., 0]


def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve ``a @ x = b``, where a is Hermitian, of few diagonals, half of which are given.

    Parameters
    ----------
    ab : array_like or Var
        ``(..., u + 1, n)``: the main diagonal and those above it, or those below it.
    b : array_like or Var
        ``(n,)``, or ``(..., n, k)``.
    overwrite_ab, overwrite_b, check_finite : bool
        Without effect.
    lower : bool
        Whether the lower diagonals are given; then the main one is the first row.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``b``. Unlike in SciPy the matrix need not be positive definite.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    SingularMatrixError
        If the matrix is singular.

    Examples
    --------
    >>> import numpy as np, tape
    >>> ab = np.array([[2.0, 2.0], [1.0, 0.0]])  # of [[2, 1], [1, 2]]
    >>> tape.scipy.linalg.solveh_banded(ab, np.array([3.0, 3.0]), lower=True)
    array([1., 1.])
    """
    ab = matrix("solveh_banded", ab)
    count = ab.shape[-2] - 1
    if lower:
        other = np.conj(turned_bands(ab, count, 0))[..., :-1, :]
        whole = np.concatenate([other, ab], axis=-2)
    else:
        other = np.conj(turned_bands(ab, 0, count))[..., 1:, :]
        whole = np.concatenate([ab, other], axis=-2)
    return solve_banded((count, count), whole, b)


def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """Solve with the matrix that `toeplitz` makes of ``c`` or of ``(c, r)``; as with any other matrix."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return ops.solve(toeplitz(c, r), operand(b))
