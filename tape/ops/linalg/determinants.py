"""Determinants, with derivatives of every order, also of singular matrices."""

from __future__ import annotations

import builtins
import operator
from math import prod
from typing import Any

import numpy as np

from tape.core import batch_rules, series
from tape.core.op import Op
from tape.core.rules import fit_tangent
from tape.core.table import implements
from tape.inspect.costs import declare_cost, per_matrix
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.complex import imag
from tape.ops.linalg.equations import inv, inverse_or_zero
from tape.ops.linalg.packing import Packed, square, stacked, transposed
from tape.ops.named_results import SlogdetResult
from tape.ops.reduction.reductions import sum

declare_samples("np.linalg.det, np.linalg.slogdet(s)")


# Matrices ``sum of e_S x_S`` over subsets S of m numbers with squares 0, as lists in the order of the bits of
# S: a function of ``a + e_1 t_1 + ... + e_m t_m`` has its mixed derivative along all t as the last entry.

Nilpotent = list[Any]


def _subsets(s: int) -> list[int]:
    return [r for r in range(s + 1) if r & s == r]


def _product(x: Nilpotent, y: Nilpotent, multiply: Any = operator.matmul) -> Nilpotent:
    return [builtins.sum(multiply(x[r], y[s - r]) for r in _subsets(s)) for s in range(len(x))]


def _inverse(x: Nilpotent, first: Any) -> Nilpotent:
    out = [first]
    for s in range(1, len(x)):
        out.append(-first @ builtins.sum(x[r] @ out[s - r] for r in _subsets(s)[1:]))
    return out


def _trace(x: Any) -> Any:
    return np.trace(x, axis1=-2, axis2=-1)[..., None, None]


def _determinant(x: Nilpotent, inverted: Nilpotent, first: Any, trace: Any = _trace) -> Nilpotent:
    """Return the determinant by ``d det(x) = det(x) trace(inv(x) dx)``, for one number after the other."""
    out = [first]
    for s in range(1, len(x)):
        bit = 1 << (s.bit_length() - 1)
        turned = [trace(p) for p in _product(inverted[:bit], x[bit : 2 * bit])]
        out.append(builtins.sum(out[r] * turned[s - bit - r] for r in _subsets(s - bit)))
    return out


def _adjugate_and_determinant(x: Nilpotent) -> tuple[Nilpotent, Nilpotent]:
    """Return both for small matrices, as polynomials in their elements: the Faddeev-LeVerrier algorithm."""
    k = x[0].shape[-1]
    one = np.eye(k, dtype=x[0].dtype)
    m = [one, *(np.zeros_like(one) for _ in x[1:])]
    for j in range(1, k):
        product = _product(x, m)
        m = [p - _trace(p) / j * one for p in product]
    sign = (-1) ** (k - 1)
    return [sign * p for p in m], [sign / k * _trace(p) for p in _product(x, m)]


def _near_null(a: Any, inverted: Any) -> tuple[Any, Any]:
    """Return the singular vectors u, ``(..., n, k)``, and v^H of small singular values.

    k is their largest number in any matrix; None if all matrices are well conditioned. Where a matrix has
    fewer than others, some are zero, and all where it is not finite; u is as long as the matrix is large.
    """

    def norm(x: Any) -> Any:
        return np.max(np.sum(np.abs(x), axis=-2), axis=-1, initial=0)

    condition = norm(a) * norm(inverted)
    is_finite = np.isfinite(a).all((-2, -1))
    if not a.size or np.all((condition > 0) & (condition < 1e6) | ~is_finite):
        return a[..., :0], a[..., :0, :]
    u, s, vh = np.linalg.svd(np.where(is_finite[..., None, None], a, 1))  # which may hang for infinities
    largest = s[..., :1]
    is_small = (s <= 1e-3 * largest) & is_finite[..., None]
    start = s.shape[-1] - int(np.max(np.sum(is_small, axis=-1)))
    scale = np.where(largest == 0, 1, largest) * is_small
    return (u * scale[..., None, :])[..., start:], vh[..., start:, :]


def _cofactors_forward(a: Any, *directions: Any) -> Any:
    """Return the derivative of the determinant by each element, and of that along directions.

    ``det(a) inv(a).T`` is used where a matrix is well conditioned. Otherwise ``b = a + u v^H`` is well
    conditioned, with the singular vectors u, v of small singular values, taken as constants. By the matrix
    determinant lemma ``det(a) = det(b) det(t)`` and by Woodbury's formula ``inv(a) = inv(b) + z inv(t) v^H
    inv(b)``, where ``t = 1 - v^H z`` and ``z = inv(b) u``. The product then has no inverse of anything small:
    ``det(b) (det(t) inv(b) + z adj(t) v^H inv(b))``, exact to every order.
    """
    a, *directions = np.broadcast_arrays(a, *directions)  # type: ignore[assignment]
    x = [a if s == 0 else np.zeros_like(a) for s in range(1 << len(directions))]
    for k, direction in enumerate(directions):
        x[1 << k] = direction
    first = inverse_or_zero.forward(a)
    u, vh = _near_null(a, first)
    if u.shape[-1]:
        x[0] = a + u @ vh
        first = np.linalg.inv(x[0])
    inverted = _inverse(x, first)
    determinant = _determinant(x, inverted, np.linalg.det(x[0])[..., None, None])
    rest = inverted
    if u.shape[-1]:
        z = [p @ u for p in inverted]
        t = [-(vh @ p) for p in z]
        t[0] = t[0] + np.eye(u.shape[-1], dtype=t[0].dtype)
        adjugate, small = _adjugate_and_determinant(t)
        rank_one = _product(_product(z, adjugate), [vh @ p for p in inverted])
        rest = [p + q for p, q in zip(_product(small, inverted, np.multiply), rank_one, strict=True)]
    return np.swapaxes(_product(determinant, rest, np.multiply)[-1], -1, -2)


def _lower_cofactors(b: Any, *operands: Any) -> Any:
    """Lower the first way, for matrices that are well conditioned; with others, the program stops."""
    dtype = np.result_type(*[x.dtype for x in operands])
    shape = np.broadcast_shapes(*[x.shape for x in operands])
    if not prod(shape):
        return b.broadcast(b.literal(0, dtype), shape)
    a, *directions = [b.broadcast(b.value(x, dtype), shape) for x in operands]
    (inverted,) = b.linalg("inv", a)

    def norm(x: Any) -> Any:
        return b.fold("max", b.fold("sum", b.elementwise("absolute", x), -2), -1)

    condition = norm(a) * norm(inverted)
    inverted = b.require(inverted, b.elementwise("logical_and", condition > 0, condition < 1e6))
    zero = b.broadcast(b.literal(0, dtype), shape)
    x = [a if s == 0 else zero for s in range(1 << len(directions))]
    for k, direction in enumerate(directions):
        x[1 << k] = direction
    is_diagonal = b.value(np.eye(shape[-1], dtype=bool))
    inverses = _inverse(x, inverted)
    determinants = _determinant(
        x,
        inverses,
        b.reshape(b.linalg("det", a)[0], (*shape[:-2], 1, 1)),
        lambda x: b.fold("sum", b.where(is_diagonal, x, 0), (-2, -1), keepdims=True),
    )
    axes = (*range(len(shape) - 2), -1, -2)
    return b.transpose(_product(determinants, inverses, operator.mul)[-1], axes)


# All directions are alike: the sum of ``g * cofactors(a, t)`` is one derivative more of the determinant.


def _cofactors_vjp(g: Any, out: Any, a: Any, *directions: Any) -> list[Any]:
    others = [directions[:k] + directions[k + 1 :] for k in range(len(directions))]
    return [_cofactors(a, *directions, g), *(_cofactors(a, *rest, g) for rest in others)]


def _cofactors_jvp(tangents: Any, out: Any, a: Any, *directions: Any) -> Any:
    changes = [directions] if tangents[0] is not None else []
    changes += [
        (*directions[:k], *directions[k + 1 :])
        for k, tangent in enumerate(tangents[1:])
        if tangent is not None
    ]
    parts = [t for t in tangents if t is not None]
    return fit_tangent(
        series.total(_cofactors(a, *rest, t) for rest, t in zip(changes, parts, strict=True)), out
    )


_cofactors: Op = Op(
    _cofactors_forward,
    name="cofactors",
    batch=batch_rules.elementwise,
    lower=_lower_cofactors,
    vjp=_cofactors_vjp,
    jvp=_cofactors_jvp,
)

_det: Op = Op(
    np.linalg.det,
    name="det",
    batch=stacked,
    lower=lambda b, a: b.linalg("det", a)[0],
    vjp=[lambda g, out, a: g[..., None, None] * _cofactors(a)],
    jvp=[lambda t, out, a: sum(_cofactors(a) * t, axis=(-2, -1))],
)


@implements(np.linalg.det)
def det(a: Any) -> Any:
    """The determinants of matrices, with derivatives that are right where they are zero, too.

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


_slogdet = Packed("slogdet", np.linalg.slogdet, lambda a: [(), ()], lower=lambda b, a: b.linalg("slogdet", a))
declare_cost(per_matrix(lambda m, n: 2 * n**3 / 3), _det, _slogdet.op)


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
