"""Determinants, with derivatives of every order for singular matrices too."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tape.op import Op, implements
from tape.ops.complex import imag
from tape.ops.equations import inv, inverse
from tape.ops.packing import Packed, dagger, square, stacked, transposed
from tape.ops.reductions import sum

__all__ = ["SlogdetResult", "det", "inverse_or_nan", "slogdet"]


def _inverse_or_nan(a: Any) -> Any:
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return np.full(a.shape, np.nan, a.dtype)


inverse_or_nan = inverse("inverse_or_nan", _inverse_or_nan)


def _near_null_forward(a: Any, inverted: Any) -> Any:
    """Left and right singular vectors of small singular values: ``(..., 2, n, k)``, k the most there are.

    None (k = 0) if all matrices are well conditioned. Where a matrix has fewer than others, columns are
    zero; the left vectors are as long as the matrix is large.
    """

    def norm(x: Any) -> Any:
        return np.max(np.sum(np.abs(x), axis=-2), axis=-1, initial=0)

    if np.all(norm(a) * norm(inverted) < 1e6):  # False where the inverse is NaN
        return np.empty((*a.shape[:-2], 2, a.shape[-1], 0), inverted.dtype)
    u, s, vh = np.linalg.svd(a)
    largest = s[..., :1]
    is_small = s <= 1e-3 * largest
    count = int(np.max(np.sum(is_small, axis=-1), initial=0))
    v = np.swapaxes(vh, -1, -2).conj()
    scale = np.where(largest == 0, 1, largest)[..., None, :]
    pair = np.stack([u * scale, v], axis=-3) * is_small[..., None, None, :]
    return pair[..., pair.shape[-1] - count :].astype(inverted.dtype)


_near_null = Op(_near_null_forward, name="near_null", batch=stacked)


def _traced(x: Any) -> Any:
    return sum(x * np.eye(x.shape[-1], dtype=x.dtype), axis=(-2, -1), keepdims=True)


def _adjugate_and_determinant(x: Any) -> tuple[Any, Any]:
    """Of small matrices, as polynomials in their elements: the Faddeev-LeVerrier algorithm."""
    k = x.shape[-1]
    one = np.eye(k, dtype=x.dtype)
    m: Any = one
    for j in range(1, k):
        product = x @ m
        m = product - _traced(product) / j * one
    last = _traced(x @ m) / k
    sign = (-1) ** (k - 1)
    return sign * m, sign * last


def _cofactors(a: Any, out: Any) -> Any:
    """The derivative of the determinant ``out`` by each element.

    ``det(a) inv(a).T`` is that of a well conditioned matrix. Of another, ``b = a + u v^H`` is one, with
    the singular vectors u, v of what is small, taken as constants. By the matrix determinant lemma
    ``det(a) = det(b) det(t)`` and by Woodbury's formula ``inv(a) = inv(b) + z inv(t) v^H inv(b)``, where
    ``t = 1 - v^H z`` and ``z = inv(b) u``. What is left of the product has no inverse of anything small:
    ``det(b) (det(t) inv(b) + z adj(t) v^H inv(b))``, exact to every order.
    """
    inverted = inverse_or_nan(a)
    near_null = _near_null(a, inverted)
    k = near_null.shape[-1]
    if not k:
        return out[..., None, None] * transposed(inverted)
    u, vh = near_null[..., 0, :, :], dagger(near_null[..., 1, :, :])
    moved = a + u @ vh
    inverted = inv(moved)
    z = inverted @ u
    adjugate, determinant = _adjugate_and_determinant(np.eye(k, dtype=moved.dtype) - vh @ z)
    return transposed(det(moved)[..., None, None] * (determinant * inverted + z @ adjugate @ (vh @ inverted)))


_det: Op = Op(
    np.linalg.det,
    name="det",
    batch=stacked,
    vjp=[lambda g, out, a: g[..., None, None] * _cofactors(a, out)],
    jvp=[lambda t, out, a: sum(_cofactors(a, out) * t, axis=(-2, -1))],
)


@implements(np.linalg.det)
def det(a: Any) -> Any:
    """The determinants of matrices; their derivatives are right where they are zero, too.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        One for each matrix.

    Raises
    ------
    ShapeError
        If the matrices are not square.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> a = tr.param(np.array([[1.0, 2.0], [2.0, 4.0]]))
    >>> tr.backward_param_grads(np.linalg.det(a))[0].round(12)
    array([[ 4., -2.],
           [-2.,  1.]])
    """
    return _det(square("det", a))


# ---- the logarithm -------------------------------------------------------------------------------


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Any
    logabsdet: Any


_slogdet = Packed("slogdet", np.linalg.slogdet, lambda a: [(), ()])


def _sign_jvp(t: Any, out: Any, a: Any, packed: Any) -> Any:
    turn = imag(sum(transposed(inv(a)) * t, axis=(-2, -1)))
    return out * (turn * 1j)


_sign = _slogdet.part(0, "sign of slogdet")  # of real matrices: constant almost everywhere
_phase = _slogdet.part(
    0,
    "sign of slogdet",
    vjp=[lambda g, out, a, packed: (imag(g * out) * 1j)[..., None, None] * transposed(inv(a))],
    jvp=[_sign_jvp],
)
_logabsdet = _slogdet.part(
    1,
    "logabsdet",
    convert=np.real,
    vjp=[lambda g, out, a, packed: g[..., None, None] * transposed(inv(a))],
    jvp=[lambda t, out, a, packed: sum(transposed(inv(a)) * t, axis=(-2, -1))],
)


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> SlogdetResult:
    """The sign and the logarithm of the absolute value of the determinants of matrices.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``.

    Returns
    -------
    SlogdetResult
        A named tuple: ``sign``, a complex number of absolute value 1 for complex matrices, and
        ``logabsdet``. For a singular matrix they are 0 and -inf, and the derivative is an error.

    Raises
    ------
    ShapeError
        If the matrices are not square.
    SingularMatrixError
        In a sweep, if one is singular.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> a = tr.param(np.diag([1.0, 2.0]))
    >>> tr.backward_param_grads(np.linalg.slogdet(a).logabsdet)
    [array([[1. , 0. ],
           [0. , 0.5]])]
    """
    a = square("slogdet", a)
    packed = _slogdet.op(a)
    is_complex = packed.dtype.kind == "c"
    return SlogdetResult((_phase if is_complex else _sign)(a, packed), _logabsdet(a, packed))
