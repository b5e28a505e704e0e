"""Norms of vectors and matrices, and condition numbers.

At a kink, the derivative is 0 where the norm is 0, and shared evenly between equal largest columns, elements
or singular values.
"""

from __future__ import annotations

import operator
from math import prod
from typing import Any

import numpy as np

from tape.core.batch_rules import along_axes, elementwise
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.specialise import specialised
from tape.core.table import implements
from tape.errors import OptionError, ShapeError
from tape.inspect.costs import declare_cost, free, passes
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.complex import absolute, conjugated
from tape.ops.elementwise.selection import any, isnan, logical_and, logical_not, where
from tape.ops.linalg.equations import inverse_or_zero
from tape.ops.linalg.packing import matrices, square
from tape.ops.linalg.singular import svdvals
from tape.ops.reduction.axes import keep_axes
from tape.ops.reduction.reductions import max, min, sum
from tape.ops.structure.shape import astype, ravel, reshape, transpose

declare_samples(
    "np.linalg.cond(s)",
    "np.linalg.matrix_norm(x)",
    "np.linalg.norm, np.linalg.vector_norm(x, axis=1)",
)

Axes = int | tuple[int, ...] | None


# ---- the Euclidean norm --------------------------------------------------------------------------


def _euclidean_forward(x: Any, *, axis: tuple[int, ...] | None, keepdims: bool) -> Any:
    if axis is None:
        return np.linalg.norm(x, None, None, keepdims)
    return np.sqrt(np.sum((x.conj() * x).real, axis=axis, keepdims=keepdims))


def _over_norm(d: Any, out: Any) -> Any:
    """Return ``d / out``, 0 where the norm is 0: one division for each norm, not for each element."""
    return where(out == 0, 0, d / where(out == 0, 1, out))


def _inexact(b: Any, x: Any) -> Any:
    return x if x.dtype.kind in "fc" else b.cast(x, np.float64)


def _lower_euclidean(b: Any, x: Any, axis: tuple[int, ...] | None, keepdims: bool) -> Any:
    return b.elementwise("sqrt", b.fold("sum", b.squares(_inexact(b, x)), axis, keepdims))


_euclidean = Op(
    _euclidean_forward,
    name="norm",
    batch=along_axes,
    lower=_lower_euclidean,
    vjp=[lambda g, out, x, axis, keepdims: conjugated(x) * keep_axes(_over_norm(g, out), x, axis, False)],
    jvp=[
        lambda t, out, x, axis, keepdims: _over_norm(
            sum(t * conjugated(x), axis=axis, keepdims=keepdims), out
        )
    ],
)


# ---- p-norms -------------------------------------------------------------------------------------


def _power_forward(x: Any, *, p: float, axis: int, keepdims: bool) -> Any:
    return np.linalg.norm(x, p, axis, keepdims)


def _power_partials(out: Any, x: Any, p: float, axis: int) -> Any:
    """Return ``(|x| / norm)**(p - 1)`` times the conjugate of the sign; 0 for elements that are 0."""
    length, size = keep_axes(out, x, (axis,), False), absolute(x)
    is_zero = (size == 0) | (length == 0)
    unit = conjugated(x) / where(is_zero, 1, size)
    return where(is_zero, 0, where(is_zero, 1, size / where(is_zero, 1, length)) ** (p - 1) * unit)


def _lower_power(b: Any, x: Any, p: float, axis: int, keepdims: bool) -> Any:
    total = b.fold(
        "sum", b.elementwise("power", b.elementwise("absolute", _inexact(b, x)), p), axis, keepdims
    )
    return b.elementwise("power", total, b.literal(1 / p, total.dtype))


_power = Op(
    _power_forward,
    name="norm",
    batch=along_axes,
    lower=_lower_power,
    vjp=[
        lambda g, out, x, p, axis, keepdims: (
            keep_axes(g, x, (axis,), False) * _power_partials(out, x, p, axis)
        )
    ],
    jvp=[
        lambda t, out, x, p, axis, keepdims: sum(
            t * _power_partials(out, x, p, axis), axis=axis, keepdims=keepdims
        )
    ],
)

_count_nonzero = Op(
    lambda x, *, axis, keepdims: np.linalg.norm(x, 0, axis, keepdims), name="norm", batch=along_axes
)
declare_cost(passes(2, 1), _euclidean, _power, _count_nonzero)


# ---- choosing ------------------------------------------------------------------------------------


def _largest(sizes: Any, axis: int, keepdims: bool = False) -> Any:
    """Return `max`; 0 of no elements."""
    if sizes.shape[axis]:
        return max(sizes, axis, keepdims=keepdims)
    return sum(sizes, axis, keepdims=keepdims)


def _refuse_nothing(count: int) -> None:
    if not count:
        raise ShapeError("norm: there is no smallest of no elements. Use another order, or omit it")


def _vector(x: Any, ord: Any, axis: int, keepdims: bool) -> Any:
    if isinstance(ord, str):
        raise OptionError(f"norm: the order {ord!r} is for matrices. Vectors have numbers, inf and -inf")
    if ord is None or ord == 2:
        return _euclidean(x, axis=(axis,), keepdims=keepdims)
    if ord == 0:
        return _count_nonzero(x, axis=axis, keepdims=keepdims)
    if ord == 1:
        return sum(absolute(x), axis, keepdims=keepdims)
    if ord == np.inf:
        return _largest(absolute(x), axis, keepdims)
    if ord == -np.inf:
        _refuse_nothing(x.shape[axis])
        return min(absolute(x), axis, keepdims=keepdims)
    return _power(x, p=ord, axis=axis, keepdims=keepdims)


def _matrix(x: Any, ord: Any, rows: int, columns: int) -> Any:
    if ord in (None, "fro", "f"):
        return _euclidean(x, axis=(rows, columns), keepdims=False)
    if ord in ("nuc", 2, -2):
        if ord == -2:
            _refuse_nothing(x.shape[rows] * x.shape[columns])
        order = *(i for i in range(x.ndim) if i not in (rows, columns)), rows, columns
        s = svdvals(x if order == tuple(range(x.ndim)) else transpose(x, order))
        return sum(s, -1) if ord == "nuc" else _largest(s, -1) if ord == 2 else min(s, -1)
    if ord in (np.inf, -np.inf):
        rows, columns = columns, rows
    elif ord not in (1, -1):
        raise OptionError(
            f"norm: matrices have no order {ord!r}. Use 'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
        )
    if ord < 0:
        _refuse_nothing(x.shape[columns])
    sums = sum(absolute(x), rows)
    columns -= columns > rows
    return _largest(sums, columns) if ord > 0 else min(sums, columns)


def _floats(name: str, x: Any) -> Any:
    x = as_operand(x)
    return x if np.result_type(x).kind in "fc" else astype(x, float)


@implements(np.linalg.norm)
@specialised()
def norm(x: Any, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> Any:
    """The norm of vectors or matrices, of any order.

    Where all elements are 0 the derivative is 0, at every order; like that of the absolute value, it is 0 for
    elements that are 0 (and singular values, for the orders defined by these). Equal largest ones share it
    evenly.

    Parameters
    ----------
    x : array_like or Var
        Any shape with two axes at most, if both ``axis`` and ``ord`` are None any at all.
    ord : {None, "fro", "nuc"} or number
        Of vectors: any number, inf or -inf; of matrices 1, -1, 2, -2, inf, -inf, "fro" or "nuc". None for
        the Euclidean norm.
    axis : int or tuple of two ints, optional
        The axis of vectors, or the two axes of matrices; by default ``x`` is one of these.
    keepdims : bool
        Keep the reduced axes with length one.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var

    Raises
    ------
    OptionError
        If there is no such order.
    ShapeError
        If there are no such axes, or there is no smallest number of none.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> x = tr.param(np.array([3.0, 4.0]))
    >>> tr.backward_param_grads(np.linalg.norm(x))
    [array([0.6, 0.8])]
    """
    x = _floats("norm", x)
    ndim = np.ndim(x)
    if axis is None and (ord is None or (ord in ("f", "fro") and ndim == 2) or (ord == 2 and ndim == 1)):
        return _euclidean(x, axis=None, keepdims=bool(keepdims))
    axes = _checked(range(ndim) if axis is None else axis, ndim)
    if len(axes) == 1:
        return _vector(x, ord, axes[0], bool(keepdims))
    if len(axes) != 2:
        raise ShapeError(f"norm: {len(axes)} axes. Vectors have one and matrices two: use axis=")
    if ord in ("nuc", 2, -2):
        matrices("norm", x)
    result = _matrix(x, ord, *axes)
    return keep_axes(result, x, axes, False) if keepdims else result


def _checked(axis: Any, ndim: int) -> tuple[int, ...]:
    try:
        axes = tuple(range(ndim)[operator.index(i)] for i in (axis if np.iterable(axis) else (axis,)))
    except (IndexError, TypeError):
        raise ShapeError(f"norm: there is no axis {axis} of {ndim}") from None
    if len(set(axes)) < len(axes):
        raise ShapeError(f"norm: axis {axis} names an axis twice")
    return axes


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Axes = None, keepdims: bool = False, ord: float = 2) -> Any:
    """The norm of vectors, which may span several axes. Derivatives are those of `norm`.

    Parameters
    ----------
    x : array_like or Var
        Any shape.
    axis : int or tuple of int, optional
        The axes of a vector; by default all.
    keepdims : bool
        Keep the reduced axes with length one.
    ord : number
        Any, inf or -inf.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var

    Raises
    ------
    OptionError, ShapeError
        Same as for `norm`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.linalg.vector_norm(np.ones((2, 2)), ord=1))
    4.0
    """
    x = _floats("vector_norm", x)
    if axis is None:
        result, axes = _vector_norm(ravel(x), ord, 0), tuple(range(np.ndim(x)))
    else:
        axes = _checked(axis, np.ndim(x))
        if np.iterable(axis):
            rest = [i for i in range(x.ndim) if i not in axes]
            lengths = prod(x.shape[i] for i in axes), *(x.shape[i] for i in rest)
            result = _vector_norm(reshape(transpose(x, (*axes, *rest)), lengths), ord, 0)
        else:
            result = _vector_norm(x, ord, axes[0])
    return keep_axes(result, x, axes, False) if keepdims else result


def _vector_norm(x: Any, ord: Any, axis: int) -> Any:
    return _vector(x, ord, axis, keepdims=False)


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of matrices in the last two axes. Derivatives are those of `norm`.

    Parameters
    ----------
    x : array_like or Var
        ``(..., m, n)``.
    keepdims : bool
        Keep the reduced axes with length one.
    ord : {"fro", "nuc"} or number
        As for the matrices of `norm`.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var

    Raises
    ------
    OptionError, ShapeError
        Same as for `norm`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.linalg.matrix_norm(np.diag([3.0, 4.0]), ord="nuc"))
    7.0
    """
    return norm(x, ord, (-2, -1), keepdims)


# ---- condition numbers ---------------------------------------------------------------------------


_constant = Op(lambda x: x, name="cond", batch=elementwise, lower=lambda b, x: b.value(x))
declare_cost(free, _constant)


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """The condition number of matrices.

    Parameters
    ----------
    x : array_like or Var
        ``(..., m, n)``, square if ``p`` is anything but None, 2 or -2.
    p : {None, 1, -1, 2, -2, inf, -inf, "fro", "nuc"}
        The order of the norm; None stands for 2.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Infinite for a singular matrix. For one that is singular but for rounding (a number of more than
        ``1 / (max(m, n) * eps)``) as it comes; for both, the derivative is 0.

    Raises
    ------
    ShapeError
        If there is no element, or matrices are not square.
    OptionError
        If there is no such order.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.ops.linalg.cond(np.diag([4.0, 2.0])))
    2.0
    """
    x = matrices("cond", x)
    if not prod(x.shape[-2:]):
        raise ShapeError(f"cond: the matrices of shape {list(x.shape)} have no elements")
    if p in (None, 2, -2):
        s = svdvals(x)
        above, below = max(s, axis=-1), min(s, axis=-1)  # they share the derivative of equal ones
        if p == -2:
            above, below = below, above
        found = where(below == 0, np.inf, above / where(below == 0, 1, below))
    else:
        size = norm(square("cond", x), p, (-2, -1))
        inverse = inverse_or_zero(x)
        product = size * norm(inverse, p, (-2, -1))
        found = where(max(absolute(inverse), axis=(-2, -1)) == 0, np.inf, product)
    has_nan = any(isnan(x), axis=(-2, -1))
    found = where(logical_and(isnan(found), logical_not(has_nan)), np.inf, found)  # as of infinite elements
    limit = float(1 / (np.max(x.shape[-2:]) * np.finfo(found.dtype).eps))
    out = where(found > limit, _constant(found), found)
    return out if out.ndim else out[()]  # a scalar, as in NumPy, which cannot be written to
