"""The singular value decomposition.

With ``A = U S V^H`` and ``M = U^H dA V``, whose Hermitian and skew-Hermitian parts are H and K,

    dS = real(diag(M))
    U^H dU = H / (s_j - s_i) + K / (s_i + s_j)
    V^H dV = H / (s_j - s_i) - K / (s_i + s_j)

off the diagonal. On it the difference of the two is K / s: as in JAX, U takes it and V does not change. The
part not spanned by U adds ``(1 - U U^H) dA V / S``. (Giles 2008, section 3.7; Wan and Zhang 2019 for
complex.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.op import Op
from tape.core.table import implements
from tape.inspect.costs import declare_cost, per_matrix
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.complex import conjugated
from tape.ops.elementwise.selection import where
from tape.ops.linalg.packing import (
    Packed,
    dagger,
    gaps,
    matrices,
    mirrored,
    over,
    square,
    stacked,
    times_columns,
    transposed,
    vanishing,
)
from tape.ops.named_results import SVDResult
from tape.ops.reduction.reductions import sum
from tape.ops.structure.joining import concatenate
from tape.ops.structure.shape import expand_dims
from tape.ops.structure.taking import lower_take_along

declare_samples(
    "np.linalg.svd(x, full_matrices=False)[1]",
    "np.linalg.svdvals(x)",
)


def _shapes(a: Any, *, full_matrices: bool, hermitian: bool) -> Any:
    m, n = a.shape[-2:]
    k = min(m, n)
    return ((m, m), (k,), (n, n)) if full_matrices else ((m, k), (k,), (k, n))


def _lower_svd(b: Any, a: Any, full_matrices: bool, hermitian: bool) -> Any:
    if hermitian:
        return _lower_hermitian(b, a)
    return b.linalg("svd_f" if full_matrices else "svd_s", a)


def _lower_hermitian(b: Any, a: Any) -> Any:
    """Sort eigenvalues by their absolute values, and move their signs to the right vectors, as NumPy does."""
    values, vectors = b.linalg("eigh_lo", a)
    shape = vectors.shape
    order = _reversed(b, b.argsort(b.elementwise("absolute", values), -1, None))
    rows = (*values.shape[:-1], 1, shape[-1])
    values = lower_take_along(b, values, order, values.ndim - 1)
    u = lower_take_along(b, vectors, b.broadcast(b.reshape(order, rows), shape), vectors.ndim - 1)
    signs = b.elementwise("copysign", 1.0, values)
    v = b.transpose(u * b.reshape(signs, rows), (*range(len(shape) - 2), -1, -2))
    return u, b.elementwise("absolute", values), b.elementwise("conjugate", v)


def _lower_svdvals(b: Any, a: Any, hermitian: bool) -> Any:
    if hermitian:
        (values,) = b.linalg("eigvalsh_lo", a)
        return _reversed(b, b.sort(b.elementwise("absolute", values), -1))
    return b.linalg("svd", a)[0]


def _reversed(b: Any, x: Any) -> Any:
    return b.read(x, (Ellipsis, slice(None, None, -1)))


_svd = Packed(
    "svd",
    lambda a, *, full_matrices, hermitian: np.linalg.svd(a, full_matrices, hermitian=hermitian),
    _shapes,
    lower=_lower_svd,
)
declare_cost(per_matrix(lambda m, n: 6 * m * n**2 + 20 * n**3), _svd.op)


# ---- values --------------------------------------------------------------------------------------


def _pull_values(g: Any, s: Any, u: Any, vh: Any) -> Any:
    k = s.shape[-1]
    kept = where(vanishing(s), 0, g)
    return times_columns(conjugated(u[..., :k]), kept) @ conjugated(vh[..., :k, :])


def _push_values(t: Any, s: Any, u: Any, vh: Any) -> Any:
    k = s.shape[-1]
    moved = sum(conjugated(u[..., :k]) * (t @ dagger(vh[..., :k, :])), axis=-2)
    return where(vanishing(s), 0, moved)


def _vectors_of(a: Any) -> tuple[Any, Any]:
    attrs = {"full_matrices": False, "hermitian": False}
    packed = _svd.op(a, **attrs)
    return _u(a, packed, **attrs), _vh(a, packed, **attrs)


def values_vjp(g: Any, s: Any, a: Any) -> Any:
    """Reverse rule of singular values ``s`` computed without vectors; 0 where a value is 0."""
    return _pull_values(g, s, *_vectors_of(a))


def values_jvp(t: Any, s: Any, a: Any) -> Any:
    """Forward rule of singular values ``s`` computed without vectors; 0 where a value is 0."""
    return _push_values(t, s, *_vectors_of(a))


_svdvals = Op(
    lambda a, *, hermitian: np.linalg.svd(a, compute_uv=False, hermitian=hermitian),
    name="svdvals",
    batch=stacked,
    lower=_lower_svdvals,
    vjp=[lambda g, out, a, hermitian: values_vjp(g, out, a)],
    jvp=[lambda t, out, a, hermitian: values_jvp(t, out, a)],
)
declare_cost(per_matrix(lambda m, n: 2 * m * n**2 + 2 * n**3), _svdvals)


_s: Op = _svd.part(
    1,
    "singular_values",
    convert=np.real,
    vjp=[lambda g, out, a, packed, **attrs: _pull_values(g, out, *_both(a, packed, attrs))],
    jvp=[lambda t, out, a, packed, **attrs: _push_values(t, out, *_both(a, packed, attrs))],
)


def _both(a: Any, packed: Any, attrs: Any) -> tuple[Any, Any]:
    return _u(a, packed, **attrs), _vh(a, packed, **attrs)


# ---- vectors -------------------------------------------------------------------------------------


def _sums(s: Any, turns: bool) -> Any:
    """Return the divisors of K: ``s_i + s_j``, on the diagonal ``s_i`` for left vectors."""
    zeroed = where(vanishing(s), 0, s)
    rows, columns = expand_dims(zeroed, -1), expand_dims(zeroed, -2)
    return where(np.eye(s.shape[-1], dtype=bool), rows if turns else np.inf, rows + columns)


def _divisor(s: Any) -> Any:
    return expand_dims(where(vanishing(s), 0, s), -2)


def _push_vectors(t: Any, u: Any, s: Any, v: Any, turns: bool) -> Any:
    """Return the tangent of left singular vectors, also of more than there are values, if ``u`` is square."""
    k = s.shape[-1]
    first, v = u[..., :k], v[..., :k]
    moved = t @ v
    m = dagger(first) @ moved
    turn = over((m + dagger(m)) / 2, gaps(s, t, by_column=False)) + over((m - dagger(m)) / 2, _sums(s, turns))
    tangent = first @ turn
    if u.shape[-2] > k:
        tangent = tangent + over(moved - first @ m, _divisor(s))
    if u.shape[-1] == k:
        return tangent
    rest = over(dagger(u[..., k:]) @ moved, _divisor(s))
    return concatenate([tangent, -(first @ dagger(rest))], axis=-1)


def _pull_vectors(g: Any, u: Any, s: Any, v: Any, turns: bool) -> Any:
    """Return the transpose of `_push_vectors`: the adjoint of the matrix from that of ``u``."""
    k = s.shape[-1]
    first, v = u[..., :k], v[..., :k]
    y = transposed(first) @ g[..., :k]
    by_gaps = over(y, gaps(s, g[..., :k], by_column=True))
    by_sums = over(y, _sums(s, turns))
    pulled = conjugated(first) @ ((by_gaps + dagger(by_gaps)) / 2 + (by_sums - dagger(by_sums)) / 2)
    if u.shape[-2] > k:
        pulled = pulled + over(g[..., :k] - conjugated(first) @ y, _divisor(s))
    if u.shape[-1] > k:
        rest = -dagger(transposed(first) @ g[..., k:])
        pulled = pulled + conjugated(u[..., k:]) @ over(rest, _divisor(s))
    return pulled @ transposed(v)


def _factors(a: Any, packed: Any, attrs: Any) -> tuple[Any, Any, Any]:
    u, vh = _both(a, packed, attrs)
    return u, _s(a, packed, **attrs), dagger(vh)


def _u_vjp(g: Any, out: Any, a: Any, packed: Any, **attrs: Any) -> Any:
    return _pull_vectors(g, *_factors(a, packed, attrs), turns=a.dtype.kind == "c")


def _u_jvp(t: Any, out: Any, a: Any, packed: Any, **attrs: Any) -> Any:
    return _push_vectors(t, *_factors(a, packed, attrs), turns=a.dtype.kind == "c")


# The right singular vectors are the left ones of the conjugate transpose.


def _vh_vjp(g: Any, out: Any, a: Any, packed: Any, **attrs: Any) -> Any:
    u, s, v = _factors(a, packed, attrs)
    return dagger(_pull_vectors(dagger(g), v, s, u, turns=False))


def _vh_jvp(t: Any, out: Any, a: Any, packed: Any, **attrs: Any) -> Any:
    u, s, v = _factors(a, packed, attrs)
    return dagger(_push_vectors(dagger(t), v, s, u, turns=False))


_u: Op = _svd.part(0, "left_singular_vectors", vjp=[_u_vjp], jvp=[_u_jvp])
_vh: Op = _svd.part(2, "right_singular_vectors", vjp=[_vh_vjp], jvp=[_vh_jvp])


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """The singular value decomposition ``u * s @ vh`` of matrices.

    Equal singular values have a derivative, assigned in their order, and that of a value that is 0 is 0, like
    that of the absolute value. Singular vectors of equal values (or, beyond their signs, of values that are
    0) have none: a sweep that needs it raises. Complex vectors are determined up to a factor of absolute
    value 1: results that depend on it are arbitrary, and so are their derivatives.

    Parameters
    ----------
    a : array_like or Var
        ``(..., m, n)``; let k be the lesser of m and n.
    full_matrices : bool
        Complete the vectors to bases. What completes has a derivative as far as the space it spans goes.
    compute_uv : bool
        Whether vectors are wanted; if not, the result is ``s`` alone.
    hermitian : bool
        Take the matrices as Hermitian, and look at their lower triangles alone.

    Returns
    -------
    SVDResult or array
        A named tuple: ``U``, ``(..., m, m)`` or ``(..., m, k)``; ``S``, ``(..., k)``, in descending order;
        ``Vh``, ``(..., n, n)`` or ``(..., k, n)``.

    Raises
    ------
    ShapeError
        If ``a`` has fewer than two axes; for Hermitian ones, if they are not square.
    SingularMatrixError
        In a sweep, if a derivative is needed that there is not.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> a = tr.param(np.diag([3.0, 2.0]))
    >>> u, s, vh = np.linalg.svd(a)
    >>> tr.backward_param_grads(s[0])
    [array([[1., 0.],
           [0., 0.]])]
    """
    hermitian = bool(hermitian)
    a = mirrored(square("svd", a)) if hermitian else matrices("svd", a)
    if not compute_uv:
        return _svdvals(a, hermitian=hermitian)
    attrs = {"full_matrices": bool(full_matrices), "hermitian": hermitian}
    packed = _svd.op(a, **attrs)
    u, vh = _both(a, packed, attrs)
    return SVDResult(u, _s(a, packed, **attrs), vh)


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    """The singular values of matrices, in descending order. Derivatives are those of `svd`.

    Parameters
    ----------
    x : array_like or Var
        ``(..., m, n)``.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., min(m, n))``.

    Raises
    ------
    ShapeError
        If ``x`` has fewer than two axes.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.linalg.svdvals(np.diag([2.0, 3.0]))
    array([3., 2.])
    """
    return _svdvals(matrices("svdvals", x), hermitian=False)
