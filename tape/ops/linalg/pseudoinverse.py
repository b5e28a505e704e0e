"""Pseudoinverses, least squares and rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.op import Op
from tape.core.operands import as_operand, composed
from tape.core.rules import fit_tangent
from tape.core.table import implements
from tape.errors import ConversionError, OptionError, ShapeError
from tape.inspect.costs import declare_cost, free, per_matrix
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.complex import conjugated
from tape.ops.linalg.packing import Packed, dagger, matrices, mirrored, square, stacked, transposed
from tape.ops.linalg.singular import values_jvp, values_vjp
from tape.ops.reduction.reductions import sum
from tape.ops.structure.shape import expand_dims

declare_samples(
    "np.linalg.lstsq(x.T, v)[0]",
    "np.linalg.matrix_rank, np.linalg.pinv(x)",
)

_UNSET: Any = np._NoValue

# The derivative of P = pinv(A), where the rank stays what it is (Golub and Pereyra 1973, eq. 4.12):
# dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P. Products are formed such that no matrix has
# the length of a tall A twice; for a wide one all is done with the conjugate transposes.


def _pinv_jvp(t: Any, out: Any, a: Any, **attrs: Any) -> Any:
    if a.shape[-2] < a.shape[-1]:
        return dagger(_pinv_jvp(dagger(t), dagger(out), dagger(a)))
    turned = dagger(t)
    second = (out @ dagger(out)) @ turned
    third = (turned @ dagger(out)) @ out
    return (second - (second @ a) @ out) + (third - (out @ a) @ third) - (out @ t) @ out


def _pinv_vjp(g: Any, out: Any, a: Any, **attrs: Any) -> Any:
    if a.shape[-2] < a.shape[-1]:
        return dagger(_pinv_vjp(dagger(g), dagger(out), dagger(a)))
    p, b = transposed(out), transposed(a)
    second = (conjugated(out) @ p) @ (g - (g @ p) @ b)
    third = ((g - (b @ p) @ g) @ p) @ conjugated(out)
    return dagger(second + third) - p @ (g @ p)


def _lower_pinv(b: Any, a: Any, rcond: Any, hermitian: bool) -> Any:
    u, s, vh = b.linalg("svd_s", b.elementwise("conjugate", a) if a.dtype.kind == "c" else a)
    is_large = s > _scaled(b, rcond, b.fold("max", s, -1, keepdims=True))
    inverted = b.where(is_large, b.elementwise("reciprocal", s), 0)
    v, uh = (b.transpose(x, (*range(x.ndim - 2), -1, -2)) for x in (vh, u))
    return v @ (b.reshape(inverted, (*s.shape, 1)) * uh)


def _scaled(b: Any, tolerance: Any, largest: Any) -> Any:
    """Return a tolerance for singular values, given by the largest of each matrix."""
    if np.ndim(tolerance):
        b.refuse("there is a tolerance for each matrix")
    return (
        b.value(np.asarray(tolerance)[()]) * largest
    )  # an array of NumPy's, which may widen single precision


_pinv: Op = Op(
    lambda a, *, rcond, hermitian: np.linalg.pinv(a, rcond, hermitian),
    name="pinv",
    batch=stacked,
    lower=_lower_pinv,
    vjp=[_pinv_vjp],
    jvp=[_pinv_jvp],
)


@implements(np.linalg.pinv)
@composed
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _UNSET) -> Any:
    """The pseudoinverses of matrices; their derivatives are those at constant rank.

    Parameters
    ----------
    a : array_like or Var
        ``(..., m, n)``.
    rcond : array_like, optional
        Singular values up to this times the largest count as zero; by default 1e-15. One for all, or one
        for each matrix.
    hermitian : bool
        Take the matrices as Hermitian, and look at their lower triangles alone.
    rtol : array_like, optional
        Same as for ``rcond``; None stands for ``max(m, n) * eps``.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n, m)``.

    Raises
    ------
    ShapeError
        If ``a`` has fewer than two axes.
    OptionError
        If both ``rcond`` and ``rtol`` are given.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.linalg.pinv(np.array([[2.0], [0.0]]))
    array([[0.5, 0. ]])
    """
    a = square("pinv", a) if hermitian else matrices("pinv", a)
    if rcond is not None and rtol is not _UNSET:
        raise OptionError("pinv: both rcond and rtol are given. They mean the same: give only one")
    if rcond is None:
        rcond = 1e-15 if rtol is _UNSET else rtol
    if rcond is None:
        rcond = _default_cutoff(a)
    return _pinv(mirrored(a) if hermitian else a, rcond=rcond, hermitian=bool(hermitian))


def _default_cutoff(a: Any) -> float:
    return float(max(a.shape[-2:]) * np.finfo(np.result_type(a, np.float32)).eps)


def _lower_matrix_rank(b: Any, a: Any, tol: Any, hermitian: bool, rtol: Any) -> Any:
    if a.ndim < 2:
        return b.cast(b.fold("any", b.elementwise("not_equal", a, 0)), np.int64)
    if hermitian:
        b.refuse("one triangle of the matrix is read")
    (s,) = b.linalg("svd", a)
    if tol is None:
        rtol = max(a.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else rtol
        tol = _scaled(b, rtol, b.fold("max", s, -1, keepdims=True))
    elif np.ndim(tol):
        b.refuse("there is a tolerance for each matrix")
    return b.fold("sum", b.cast(s > tol, np.int64), -1)


_matrix_rank = Op(
    lambda a, *, tol, hermitian, rtol: np.linalg.matrix_rank(a, tol, hermitian, rtol=rtol),
    name="matrix_rank",
    lower=_lower_matrix_rank,
    data_dependent=False,
)
declare_cost(per_matrix(lambda m, n: 2 * m * n**2 + 2 * n**3), _matrix_rank)


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """The ranks of matrices, which are constant to every derivative.

    Parameters
    ----------
    A : array_like or Var
        ``(..., m, n)``, or a vector, which has rank 1 unless it is zero.
    tol, hermitian, rtol
        Same as for `numpy.linalg.matrix_rank`.

    Returns
    -------
    int, numpy.ndarray or Var

    Examples
    --------
    >>> import numpy as np, tape
    >>> int(tape.ops.linalg.matrix_rank(np.ones((3, 3))))
    1
    """
    return _matrix_rank(A, tol=tol, hermitian=bool(hermitian), rtol=rtol)


# ---- least squares -------------------------------------------------------------------------------


def _lstsq_compute(a: Any, b: Any, *, rcond: Any) -> Any:
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond)
    return x, residuals if residuals.size else np.zeros(b.shape[1], s.dtype), s.dtype.type(rank), s


def _lstsq_shapes(a: Any, b: Any, *, rcond: Any) -> Any:
    (m, n), k = a.shape, b.shape[1]
    return (n, k), (k,), (), (min(m, n),)


def _lower_lstsq(b: Any, a: Any, right: Any, rcond: Any) -> Any:
    (m, n), double = a.shape, np.dtype(np.float64)
    cutoff = np.finfo(double).eps * max(m, n) if rcond is None else rcond
    wide = np.result_type(a.dtype, right.dtype, double)
    given = [b.value(a, wide), b.value(right, wide), b.value(cutoff, double)]
    x, residuals, rank, s = b.gufunc("lstsq", *given)
    is_given = b.elementwise("equal", rank, n if m > n else -1)
    results = (x, b.where(is_given, residuals, 0), b.cast(rank, double), s)
    if not {a.dtype.char, right.dtype.char} <= {"f", "F"}:
        return results
    return [b.cast(part, np.complex64 if part.dtype.kind == "c" else np.float32) for part in results]


_lstsq = Packed("lstsq", _lstsq_compute, _lstsq_shapes, is_stacking=False, lower=_lower_lstsq)
declare_cost(per_matrix(lambda m, n: 6 * m * n**2 + 20 * n**3), _lstsq.op, _pinv)


def _pinv_of(a: Any, rcond: Any) -> Any:
    """Return the pseudoinverse that gives the solution, with the tolerance of `numpy.linalg.lstsq`."""
    eps = max(a.shape) * np.finfo(np.float64).eps
    return _pinv(a, rcond=eps if rcond is None or rcond < 0 else rcond, hermitian=False)


def _solution_vjp(g: Any, out: Any, a: Any, b: Any, packed: Any, rcond: Any) -> Any:
    p = _pinv_of(a, rcond)
    y = transposed(p) @ g
    residual = conjugated(b - a @ out) @ dagger(conjugated(p) @ y)
    rest = transposed(p) @ conjugated(out) @ dagger(g - transposed(a) @ y)
    return residual + rest - y @ transposed(out)


def _solution_jvp(t: Any, out: Any, a: Any, b: Any, packed: Any, rcond: Any) -> Any:
    p = _pinv_of(a, rcond)
    turned = dagger(t)
    rest = turned @ (dagger(p) @ out)
    return p @ (dagger(p) @ (turned @ (b - a @ out))) - p @ (t @ out) + (rest - p @ (a @ rest))


_solution: Op = _lstsq.part(
    0,
    "lstsq",
    vjp=[_solution_vjp, lambda g, out, a, b, packed, rcond: transposed(_pinv_of(a, rcond)) @ g],
    jvp=[_solution_jvp, lambda t, out, a, b, packed, rcond: _pinv_of(a, rcond) @ t],
)


def _twice_residual(out: Any, a: Any, b: Any, packed: Any, rcond: Any) -> Any:
    """Return the derivative of the sums of squares by ``b``; no columns where the result has none."""
    return 2 * conjugated(b - a @ _solution(a, b, packed, rcond=rcond))[:, : out.shape[0]]


def _residuals_vjp(g: Any, out: Any, a: Any, b: Any, packed: Any, rcond: Any, **_: Any) -> list[Any]:
    if out.shape[0] < b.shape[1]:
        return [None, None, None]
    by_b = _twice_residual(out, a, b, packed, rcond) * g
    return [-(by_b @ transposed(_solution(a, b, packed, rcond=rcond))), by_b, None]


def _residuals_jvp(tangents: Any, out: Any, a: Any, b: Any, packed: Any, rcond: Any, **_: Any) -> Any:
    by_a, by_b, _ = tangents
    change: Any = 0 if by_b is None else by_b
    if by_a is not None:
        change = change - by_a @ _solution(a, b, packed, rcond=rcond)
    doubled = _twice_residual(out, a, b, packed, rcond)
    return fit_tangent(sum(doubled * change[:, : out.shape[0]], axis=0), out)


_sums_of_squares = _lstsq.part(1, "residuals", convert=np.real)


def _residuals_forward(a: Any, b: Any, packed: Any, *, rcond: Any, is_given: bool | None) -> Any:
    """Return residuals as NumPy does: none if the rank is below the number of columns, or none are left."""
    m, n = a.shape
    has_any = bool(m > n == _rank.forward(a, b, packed, rcond=rcond))
    if is_given not in (None, has_any):
        raise ShapeError("there are residuals for one rank and not for another, which a replay cannot change")
    return _sums_of_squares.forward(a, b, packed, rcond=rcond)[: None if has_any else 0]


def _lower_residuals(b: Any, a: Any, right: Any, packed: Any, rcond: Any, is_given: bool | None) -> Any:
    """Lower them as they were recorded: a guard has read whether there are any."""
    if is_given is None:
        b.refuse("the shape depends on data")
    assert _sums_of_squares.lower is not None
    given = _sums_of_squares.lower(b, a, right, packed, rcond=rcond)
    return b.read(given, (slice(None if is_given else 0),))


_residuals = Op(
    _residuals_forward,
    name="residuals",
    lower=_lower_residuals,
    data_dependent=lambda *_, is_given, **attrs: is_given is None,
    vjp=_residuals_vjp,
    jvp=_residuals_jvp,
)
declare_cost(free, _residuals)

_rank = _lstsq.part(2, "rank", convert=lambda x: x.real.astype(np.int32))
_values = _lstsq.part(
    3,
    "singular_values",
    convert=np.real,
    vjp=[lambda g, out, a, *_, **attrs: values_vjp(g, out, a), None],
    jvp=[lambda t, out, a, *_, **attrs: values_jvp(t, out, a), None],
)


def _is_equal(rank: Any, number: int) -> bool | None:
    """Return whether a rank is this number; None where Python cannot read it, as in a batch."""
    try:
        return int(rank) == number
    except ConversionError:
        return None


@implements(np.linalg.lstsq)
@composed
def lstsq(a: Any, b: Any, rcond: float | None = None) -> tuple[Any, Any, Any, Any]:
    """Least squares: the shortest x that minimizes the sum of squares of ``b - a @ x``.

    Derivatives are those at constant rank: for full rank of columns or rows there is no other.

    Parameters
    ----------
    a : array_like or Var
        ``(m, n)``.
    b : array_like or Var
        ``(m,)`` or ``(m, k)``.
    rcond : float, optional
        Singular values up to this times the largest count as zero; by default ``max(m, n) * eps``.

    Returns
    -------
    x : numpy.ndarray or Var
        ``(n,)`` or ``(n, k)``.
    residuals : numpy.ndarray or Var
        The sums of squares, ``(k,)`` (``(1,)`` for a vector); ``(0,)`` if the rank is less than n or m is
        not greater than n.
    rank : int or Var
        Constant to every derivative.
    s : numpy.ndarray or Var
        The singular values of ``a``.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.linalg.lstsq(np.ones((2, 1)), np.array([1.0, 3.0]))[:2]
    (array([2.]), array([2.]))
    """
    a, b = matrices("lstsq", a), as_operand(b)
    if np.ndim(a) != 2 or np.ndim(b) not in (1, 2) or a.shape[0] != b.shape[0]:
        raise ShapeError(
            f"lstsq: shapes {list(a.shape)} and {list(np.shape(b))}. They must be (m, n) and (m, k)"
        )
    columns = b if b.ndim == 2 else expand_dims(b, 1)
    packed = _lstsq.op(a, columns, rcond=rcond)
    x, rank, s = (part(a, columns, packed, rcond=rcond) for part in (_solution, _rank, _values))
    is_given = a.shape[0] > a.shape[1] and _is_equal(rank, a.shape[1])
    residuals = _residuals(a, columns, packed, rcond=rcond, is_given=is_given)
    return x if b.ndim == 2 else x[:, 0], residuals, rank, s
