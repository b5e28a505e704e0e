"""Triangular factorizations: Cholesky and QR."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tape.core import batch_rules
from tape.core.op import Op
from tape.core.table import implements
from tape.errors import OptionError, SingularMatrixError, UnsupportedError
from tape.inspect.costs import declare_cost, per_matrix
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.complex import conjugated
from tape.ops.linalg.packing import (
    Packed,
    dagger,
    half,
    matrices,
    mirrored,
    skewed,
    square,
    stacked,
    transposed,
)
from tape.ops.linalg.triangular import solve_triangular
from tape.ops.named_results import QRResult
from tape.ops.structure.joining import concatenate

declare_samples(
    "np.linalg.cholesky(h)",
    "np.linalg.qr(s)",
)

# ---- Cholesky ------------------------------------------------------------------------------------

# dL = L half(inv(L) dA inv(L)^H) (Murray 2016, eq. 8), where half takes the lower triangle and half of the
# diagonal. Reverse is its transpose, from right to left.


def cholesky_jvp(t: Any, out: Any, a: Any) -> Any:
    left = solve_triangular(out, mirrored(t), lower=True)
    return out @ half(dagger(solve_triangular(out, dagger(left), lower=True)), lower=True)


def _over_conjugate(x: Any, factor: Any) -> Any:
    """Return ``x @ inv(conj(factor))``."""
    return transposed(solve_triangular(factor, transposed(x), "C", lower=True))


def _pulled(g: Any, factor: Any) -> tuple[Any, Any]:
    """Return the adjoint of the matrix before it is mirrored, and that without the last division."""
    left = solve_triangular(factor, half(transposed(factor) @ g, lower=True), "T", lower=True)
    return _over_conjugate(left, factor), left


def _mirrored_adjoint(pulled: Any) -> Any:
    return half(pulled + dagger(pulled), lower=True)


def _pullback_by_factor(t: Any, out: Any, g: Any, factor: Any) -> Any:
    pulled, left = _pulled(g, factor)
    change = half(transposed(t) @ g, lower=True) - transposed(t) @ left
    change = solve_triangular(factor, change, "T", lower=True) - pulled @ conjugated(t)
    return _mirrored_adjoint(_over_conjugate(change, factor))


def _lower_pullback(b: Any, g: Any, factor: Any) -> Any:
    if g.dtype.kind == "c" or factor.dtype.kind == "c":
        return _lower_complex_pullback(b, g, factor)
    shape = np.broadcast_shapes(g.shape, factor.shape)
    dtype = np.result_type(g.dtype, factor.dtype)
    if not prod(shape):
        return b.broadcast(b.literal(0, dtype), shape)
    operands = [b.broadcast(b.value(x, dtype), shape) for x in (factor, g)]
    return b.kernel("cholesky_pullback", operands, (prod(shape[:-2]), shape[-1]), shape, dtype)


def _lower_complex_pullback(b: Any, g: Any, factor: Any) -> Any:
    def turned(x: Any) -> Any:
        return b.transpose(x, (*range(x.ndim - 2), -1, -2))

    def halved(x: Any) -> Any:
        assert half.lower is not None
        return half.lower(b, x, lower=True)

    def divided(x: Any) -> Any:
        return b.triangular_solve(factor, x, True, True, False)

    left = divided(halved(turned(factor) @ g))
    # Behind is the inverse of the conjugate.
    pulled = b.elementwise("conjugate", turned(divided(b.elementwise("conjugate", turned(left)))))
    return halved(pulled + b.elementwise("conjugate", turned(pulled)))


# Programs take another way, of real numbers, which has a sixth of the multiplications.
cholesky_pullback = Op(
    lambda g, factor: _mirrored_adjoint(_pulled(g, factor)[0]),
    name="cholesky_pullback",
    batch=batch_rules.elementwise,
    lower=_lower_pullback,
    jvp=[lambda t, out, g, factor: _mirrored_adjoint(_pulled(t, factor)[0]), _pullback_by_factor],
)


declare_cost(lambda out, shapes, attrs: 2 * prod(out) * out[-1] // 3, cholesky_pullback)


def _cholesky_vjp(g: Any, out: Any, a: Any) -> Any:
    return cholesky_pullback(g, out)


_cholesky = Op(
    np.linalg.cholesky,
    name="cholesky",
    batch=stacked,
    lower=lambda b, a: b.cholesky(a),
    vjp=[_cholesky_vjp],
    jvp=[cholesky_jvp],
)

# The upper factor is the conjugate transpose of the lower one of the conjugate transpose.
_upper_cholesky = Op(
    lambda a: np.linalg.cholesky(a, upper=True),
    name="cholesky",
    batch=stacked,
    lower=lambda b, a: b.cholesky(a, upper=True),
    vjp=[lambda g, out, a: dagger(_cholesky_vjp(dagger(g), dagger(out), a))],
    jvp=[lambda t, out, a: dagger(cholesky_jvp(dagger(t), dagger(out), a))],
)
declare_cost(per_matrix(lambda m, n: n**3 / 3), _cholesky, _upper_cholesky)


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """The triangular factors of positive definite matrices.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``, Hermitian. Only the triangle of the factor is looked at, and the gradient is zero
        in the other: symmetrize the argument, ``(a + a.T) / 2``, for a symmetric gradient.
    upper : bool
        Return the upper factor U, with a ``U.conj().T @ U``, instead of the lower L, with a
        ``L @ L.conj().T``.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n, n)``.

    Raises
    ------
    ShapeError
        If the matrices are not square.
    SingularMatrixError
        If one is not positive definite.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> a = tr.param(np.diag([4.0, 9.0]))
    >>> tr.backward_param_grads(np.trace(np.linalg.cholesky(a)))
    [array([[0.25      , 0.        ],
           [0.        , 0.16666667]])]
    """
    return (_upper_cholesky if upper else _cholesky)(square("cholesky", a))


def cho_factor(a: Any, lower: bool = False) -> tuple[Any, bool]:
    """The Cholesky factor of a matrix, in the form that `cho_solve` takes.

    SciPy's function of this name does not accept Vars: call it as ``tape.ops.linalg.cho_factor``.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``, Hermitian and positive definite. Only one triangle is looked at.
    lower : bool
        Whether it is the lower factor.

    Returns
    -------
    c : numpy.ndarray or Var
        The factor, with zeros in the other triangle, where SciPy leaves what was in ``a``.
    lower : bool

    Raises
    ------
    ShapeError, SingularMatrixError
        Same as for `cholesky`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> factor = tape.ops.linalg.cho_factor(np.diag([4.0, 1.0]))
    >>> tape.ops.linalg.cho_solve(factor, np.ones(2))
    array([0.25, 1.  ])
    """
    return cholesky(a, upper=not lower), bool(lower)


# ---- QR ------------------------------------------------------------------------------------------

# With A = Q R, the first k columns dA R^-1 = T (k the lesser side) and X = Q^H T: what Q turns by, Q^H dQ,
# is the skew-Hermitian matrix with the lower triangle of X, as dR R^-1 is an upper one with real diagonal.
# (Walter, Lehmann and Lamour 2012; Roberts and Roberts 2020 for wide ones.)


def _qr_shapes(a: Any, *, mode: str) -> Any:
    m, n = a.shape[-2:]
    k = m if mode == "complete" else min(m, n)
    return (m, k), (k, n)


def _lower_qr(b: Any, a: Any, mode: str) -> Any:
    m, n = a.shape[-2:]
    is_completed = mode == "complete" and m > n
    wide = np.result_type(a.dtype, np.float64)
    overwritten, tau = b.gufunc("qr_r_raw", b.value(a, wide))
    (q,) = b.gufunc("qr_complete" if is_completed else "qr_reduced", overwritten, tau)
    r = b.read(overwritten, (Ellipsis, slice(q.shape[-1]), slice(None)))
    r = b.where(b.value(np.tri(r.shape[-2], n, -1, dtype=bool)), 0, r)
    dtype = a.dtype if a.dtype.char in "fF" else wide
    return b.value(q, dtype), b.value(r, dtype)


_qr = Packed("qr", lambda a, *, mode: np.linalg.qr(a, mode), _qr_shapes, lower=_lower_qr)
declare_cost(per_matrix(lambda m, n: 4 * m * n**2 - 4 * n**3 / 3), _qr.op)


def _padded(x: Any) -> Any:
    """Return the matrix with columns of zeros added, if there are more rows."""
    missing = x.shape[-2] - x.shape[-1]
    if missing <= 0:
        return x
    return concatenate([x, np.zeros((*x.shape[:-1], missing), x.dtype)], axis=-1)


def _independent_forward(r: Any) -> Any:
    left = np.abs(np.diagonal(r, axis1=-2, axis2=-1))  # of each column, less the part along those before it
    if np.any(left <= 8 * r.shape[-1] * np.finfo(r.dtype).eps * np.linalg.norm(r, axis=-2)):
        raise SingularMatrixError(
            "qr: a column depends on those before it, so that q can turn freely and the factors have no "
            "derivative. Omit such columns, or use svd"
        )
    return r.copy()


def _lower_independent(b: Any, r: Any) -> Any:
    n = r.shape[-1]
    left = b.elementwise("absolute", b.fold("sum", b.where(b.value(np.eye(n, dtype=bool)), r, 0), -2))
    norms = b.elementwise("sqrt", b.fold("sum", b.squares(r), -2))
    is_dependent = left <= norms * b.literal(8 * n * np.finfo(r.dtype).eps, norms.dtype)
    return b.require(r, b.elementwise("logical_not", is_dependent))


_independent = Op(
    _independent_forward,
    name="independent",
    batch=stacked,
    lower=_lower_independent,
    vjp=[lambda g, out, r: g],
    jvp=[lambda t, out, r: t],  # not itself: columns of a tangent may depend on each other
    explains_errors=False,
)


def _leading(r: Any) -> Any:
    """Return the square triangular part of R, which is invertible."""
    k = min(r.shape[-2:])
    return _independent(r[..., :k, :k])


def _divided(x: Any, r: Any) -> Any:
    """Return ``x @ inv(r)``."""
    return transposed(solve_triangular(_leading(r), transposed(x), "T"))


def _turn(t: Any, q: Any, r: Any) -> tuple[Any, Any]:
    """Return ``Q^H dQ``, and T."""
    changed = _divided(t[..., : min(r.shape[-2:])], r)
    return skewed(_padded(dagger(q) @ changed)), changed


def _pull_turn(y: Any, q: Any, r: Any, rest: Any = None) -> Any:
    """Return the transpose of `_turn`: the adjoint of the matrix, from those of ``Q^H dQ`` and of T."""
    k, n = min(r.shape[-2:]), r.shape[-1]
    pulled = conjugated(q) @ half(y - dagger(y), lower=True)[..., :k]
    pulled = pulled if rest is None else pulled + rest
    pulled = transposed(solve_triangular(_leading(r), transposed(pulled)))
    if n == k:
        return pulled
    return concatenate([pulled, np.zeros((*pulled.shape[:-1], n - k), pulled.dtype)], axis=-1)


def _q_vjp(g: Any, out: Any, a: Any, packed: Any, mode: str) -> Any:
    y = transposed(out) @ g
    is_basis = out.shape[-2] == out.shape[-1]
    return _pull_turn(y, out, _r(a, packed, mode=mode), None if is_basis else g - conjugated(out) @ y)


def _q_jvp(t: Any, out: Any, a: Any, packed: Any, mode: str) -> Any:
    turn, changed = _turn(t, out, _r(a, packed, mode=mode))
    tangent = out @ turn
    if out.shape[-2] == out.shape[-1]:
        return tangent
    return tangent + (changed - out @ (dagger(out) @ changed))


def _r_vjp(g: Any, out: Any, a: Any, packed: Any, mode: str) -> Any:
    q = _q(a, packed, mode=mode)
    return conjugated(q) @ g - _pull_turn(g @ transposed(out), q, out)


def _r_jvp(t: Any, out: Any, a: Any, packed: Any, mode: str) -> Any:
    q = _q(a, packed, mode=mode)
    return dagger(q) @ t - _turn(t, q, out)[0] @ out


def _triangle_like(a: Any, r: Any) -> Any:
    """Return the triangle in the memory layout of NumPy, which cuts it out of the overwritten matrix."""
    like = np.empty_like(a[..., : r.shape[-2], :], dtype=r.dtype)
    like[...] = r
    return np.triu(like)


_q: Op = _qr.part(0, "q of qr", vjp=[_q_vjp], jvp=[_q_jvp])
_r: Op = _qr.part(1, "r of qr", layout=_triangle_like, vjp=[_r_vjp], jvp=[_r_jvp])


def qr_as_found(a: Any, found: Any, mode: str) -> tuple[Any, Any]:
    """Return Q and R of ``a`` as another computation has found them, flattened into one vector."""
    return _q(a, found, mode=mode), _r(a, found, mode=mode)


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """The factors of ``a = q @ r``: q has orthonormal columns, r is upper triangular.

    Parameters
    ----------
    a : array_like or Var
        ``(..., m, n)``; its first k columns, k the lesser of m and n, independent where derivatives are
        needed.
    mode : {"reduced", "complete", "r"}
        "complete" completes q to a basis; what completes has a derivative as far as the space it spans
        goes. "r" returns r alone.

    Returns
    -------
    QRResult or array
        A named tuple: ``Q``, ``(..., m, k)`` or ``(..., m, m)``, and ``R``, ``(..., k, n)`` or
        ``(..., m, n)``.

    Raises
    ------
    UnsupportedError
        If ``mode`` is "raw": Householder vectors have no rule.
    OptionError
        If ``mode`` is something else.
    ShapeError
        If ``a`` has fewer than two axes.
    SingularMatrixError
        In a sweep, if the first columns are dependent.

    Examples
    --------
    >>> import numpy as np, tape
    >>> q, r = tape.ops.linalg.qr(np.array([[3.0], [4.0]]))
    >>> abs(r)
    array([[5.]])
    """
    if mode == "raw":
        raise UnsupportedError("qr: mode='raw' has no derivative rule. Use 'reduced', 'complete' or 'r'")
    if mode not in ("reduced", "complete", "r"):
        raise OptionError(f"qr: mode={mode!r}. It must be 'reduced', 'complete' or 'r'")
    a = matrices("qr", a)
    shape = "complete" if mode == "complete" else "reduced"
    packed = _qr.op(a, mode=shape)
    r = _r(a, packed, mode=shape)
    return r if mode == "r" else QRResult(_q(a, packed, mode=shape), r)
