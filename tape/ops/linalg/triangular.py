"""Triangular systems of linear equations, and systems with a Cholesky factor."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tape.core.op import Op
from tape.core.operands import as_operand
from tape.errors import OptionError, describe
from tape.inspect.costs import declare_cost
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.complex import conjugated
from tape.ops.linalg.equations import batch_solve, pattern_of_solutions, with_columns
from tape.ops.linalg.packing import matrices, square, transposed, triangle
from tape.ops.products.products import matrix_product

declare_samples(
    "tape.ops.linalg.cho_solve((np.linalg.cholesky(h), True), u)",
    "tape.ops.linalg.solve_triangular(s, u, lower=True)",
)


def pair(name: str, what: str, value: Any) -> tuple[Any, Any]:
    """Return the two parts of an argument that is a tuple of two."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise OptionError(f"{name}: {what} is {describe(value)}. It must be a tuple of two")
    return value[0], value[1]


_TRANSPOSES: dict[Any, int] = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def _triangular_forward(a: Any, b: Any, *, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    from scipy.linalg import solve_triangular  # imported late: it takes as long as all the rest

    dtype = np.result_type(a, b, *(() if np.result_type(a, b).kind in "fc" else (np.float64,)))
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out = np.empty((*stack, *b.shape[-2:]), dtype)
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"shapes {a.shape} and {b.shape} do not match")
    if out.size:
        a = np.broadcast_to(a, (*stack, *a.shape[-2:]))
        b = np.broadcast_to(b, out.shape)
        for i in np.ndindex(stack):
            out[i] = solve_triangular(
                a[i], b[i], lower=lower, trans=trans, unit_diagonal=unit_diagonal, check_finite=False
            )
    return out


def _lower_triangular(b: Any, x: Any, y: Any, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    if trans == 2 and x.dtype.kind == "c":
        x = b.elementwise("conjugate", x)
    return b.triangular_solve(x, y, lower, trans > 0, unit_diagonal)


def _turned(b: Any, a: Any, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    """Return the solution with the transpose of the matrix that `_solve_triangular` solves with."""
    attrs = {"lower": lower, "unit_diagonal": unit_diagonal}
    if trans == 2:
        return conjugated(_solve_triangular(a, conjugated(b), trans=0, **attrs))
    return _solve_triangular(a, b, trans=1 - trans, **attrs)


def _of_trans(x: Any, trans: int) -> Any:
    x = transposed(x) if trans else x
    return conjugated(x) if trans == 2 else x


def _triangular_vjp(g: Any, out: Any, a: Any, b: Any, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    of_turned = matrix_product(_turned(g, a, lower, trans, unit_diagonal), transposed(out))
    return -triangle(_of_trans(of_turned, trans), lower, unit_diagonal)


def _triangular_jvp(t: Any, out: Any, a: Any, b: Any, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    change = _of_trans(triangle(t, lower, unit_diagonal), trans) @ out
    return -_solve_triangular(a, change, lower=lower, trans=trans, unit_diagonal=unit_diagonal)


_solve_triangular: Op = Op(
    _triangular_forward,
    name="solve_triangular",
    pattern=pattern_of_solutions,
    batch=batch_solve,
    lower=_lower_triangular,
    vjp=[
        _triangular_vjp,
        lambda g, out, a, b, lower, trans, unit_diagonal: _turned(g, a, lower, trans, unit_diagonal),
    ],
    jvp=[_triangular_jvp, lambda t, out, a, b, **attrs: _solve_triangular(a, t, **attrs)],
)
declare_cost(lambda out, shapes, attrs: prod(out) * shapes[0][-1], _solve_triangular)


def solve_triangular(
    a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False
) -> Any:
    """Solve ``a @ x = b`` for x, where only a triangle of ``a`` is read.

    SciPy's function of this name does not accept Vars: call it as ``tape.ops.linalg.solve_triangular``.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``; the gradient is zero outside of the triangle.
    b : array_like or Var
        ``(n,)``, a vector, or ``(..., n, k)``.
    trans : {0, 1, 2, "N", "T", "C"}
        Solve with the matrix itself, its transpose, or its conjugate transpose.
    lower : bool
        The triangle that is read.
    unit_diagonal : bool
        Take the diagonal as ones, whatever it holds.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n)`` for a vector, else ``(..., n, k)``.

    Raises
    ------
    OptionError
        If ``trans`` is something else.
    ShapeError
        If the shapes do not fit.
    SingularMatrixError
        If there is a zero on the diagonal.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.linalg.solve_triangular(np.array([[2.0, 0.0], [1.0, 1.0]]), np.ones(2), lower=True)
    array([0.5, 0.5])
    """
    if trans not in _TRANSPOSES:
        raise OptionError(f"solve_triangular: trans={trans!r}. It must be one of {list(_TRANSPOSES)}")
    a, b = square("solve_triangular", a), as_operand(b)
    if np.ndim(b) > 1:
        matrices("solve_triangular", b)
    attrs = {"lower": bool(lower), "trans": _TRANSPOSES[trans], "unit_diagonal": bool(unit_diagonal)}
    return with_columns(_solve_triangular, a, b, **attrs)


def cho_solve(c_and_lower: tuple[Any, bool], b: Any) -> Any:
    """Solve ``a @ x = b`` for x, given the Cholesky factor of ``a``.

    SciPy's function of this name does not accept Vars: call it as ``tape.ops.linalg.cho_solve``.

    Parameters
    ----------
    c_and_lower : tuple
        ``(c, lower)``, as `cho_factor` returns: the factor, ``(..., n, n)``, and whether it is the lower
        one, so that a is ``c @ c.conj().T``, or the upper, with a ``c.conj().T @ c``.
    b : array_like or Var
        ``(n,)``, a vector, or ``(..., n, k)``.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n)`` for a vector, else ``(..., n, k)``.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np, tape
    >>> c = np.linalg.cholesky(np.array([[4.0, 0.0], [0.0, 1.0]]))
    >>> tape.ops.linalg.cho_solve((c, True), np.ones(2))
    array([0.25, 1.  ])
    """
    c, lower = pair("cho_solve", "c_and_lower", c_and_lower)
    first, second = (0, 2) if lower else (2, 0)
    return solve_triangular(c, solve_triangular(c, b, first, lower), second, lower)
