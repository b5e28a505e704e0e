"""The Schur decomposition, and the equation that its derivative solves.

With ``A = Z T Z^H`` and ``X = Z^H dA Z``, what Z turns by, ``W = Z^H dZ``, is skew-Hermitian, and
``dT = X - (W T - T W)`` is a triangle. What is below the diagonal of W T - T W depends on the lower triangle
L of W alone: ``lower(L T - T L) = lower(X)``, solved block of columns by block of columns. A real T has
blocks of two rows on its diagonal, for pairs of complex eigenvalues; LAPACK (xLANV2) turns each such that its
diagonal elements are equal, which is the equation for that turn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core import batch_rules
from tape.core.op import Op
from tape.errors import SingularMatrixError
from tape.inspect.costs import declare_cost, per_matrix
from tape.ops.elementwise.selection import where
from tape.ops.linalg.packing import Packed, by_matrix, dagger, over, stacked, transposed
from tape.ops.reduction.reductions import sum
from tape.ops.structure.diagonals import matrix_diagonal
from tape.ops.structure.joining import concatenate
from tape.ops.structure.shape import expand_dims

__all__ = ["complex_form", "schur", "selected_count"]


# ---- the equation for what is below the diagonal ---------------------------------------------------


def _blocks(t: Any) -> list[tuple[int, int]]:
    """Return where each diagonal block starts and stops."""
    starts = [0, *(i + 1 for i in range(len(t) - 1) if t[i + 1, i] == 0)]
    return list(zip(starts, [*starts[1:], len(t)], strict=True)) if len(t) else []


def _check_apart(t: Any, blocks: list[tuple[int, int]]) -> None:
    values = np.concatenate([np.linalg.eigvals(t[a:b, a:b]) for a, b in blocks])
    index = np.repeat(np.arange(len(blocks)), [b - a for a, b in blocks])
    distances = np.abs(values[:, None] - values)
    limit = 8 * len(t) * np.finfo(t.dtype).eps * np.max(np.abs(values))
    if np.any((distances <= limit) & (index[:, None] != index)):
        raise SingularMatrixError(
            "a derivative of the Schur form divides by the difference of two equal eigenvalues: their "
            "vectors can turn freely. Use functions of the matrix (expm, sqrtm, eigvals), which do not; or "
            "move the eigenvalues apart"
        )


def _turn_of_one(t: Any, x: Any, turned: bool) -> tuple[Any]:
    from scipy.linalg import lapack  # imported late: it takes as long as all the rest

    dtype = np.result_type(t, x, np.float32)
    t, x = t.astype(dtype), x.astype(dtype)
    out = np.zeros(x.shape, dtype)
    blocks = _blocks(t)
    if not np.any([np.any(x[b:, a:b]) for a, b in blocks]):
        return (out,)
    _check_apart(t, blocks)
    (trsyl,) = lapack.get_lapack_funcs(("trsyl",), (t,))
    for a, b in reversed(blocks) if turned else blocks:
        if b == len(t):
            continue
        if turned:
            right = x[b:, a:b] - out[b:, b:] @ t[a:b, b:].T
            sides = t[b:, b:].conj(), t[a:b, a:b].conj()  # LAPACK has no transposes of complex ones
            found, scale, _ = trsyl(*sides, -right, trana="C", tranb="C", isgn=-1)
        else:
            right = x[b:, a:b] - out[b:, :a] @ t[:a, a:b]
            found, scale, _ = trsyl(t[b:, b:], t[a:b, a:b], -right, isgn=-1)
        out[b:, a:b] = found / scale
    return (out,)


def _turn_forward(t: Any, x: Any, *, turned: bool) -> Any:
    stack = np.broadcast_shapes(t.shape[:-2], x.shape[:-2])
    spread = [np.broadcast_to(part, (*stack, *part.shape[-2:])) for part in (t, x)]
    return by_matrix(lambda t, x: _turn_of_one(t, x, turned))(*spread)[0]


def _by_triangle(moved: Any, out: Any, t: Any, turned: bool) -> Any:
    """Return what the change of the triangle does to the right side."""
    if turned:
        moved = transposed(moved)
    return out @ moved - moved @ out


def _turn_vjp(g: Any, out: Any, t: Any, x: Any, turned: bool) -> Any:
    other = lower_turn(t, g, turned=not turned)
    if turned:
        return -(transposed(other) @ out - out @ transposed(other))
    return -(transposed(out) @ other - other @ transposed(out))


lower_turn: Op = Op(
    _turn_forward,
    name="schur_turn",
    batch=batch_rules.elementwise,
    vjp=[_turn_vjp, lambda g, out, t, x, turned: lower_turn(t, g, turned=not turned)],
    jvp=[
        lambda moved, out, t, x, turned: -lower_turn(t, _by_triangle(moved, out, t, turned), turned=turned),
        lambda moved, out, t, x, turned: lower_turn(t, moved, turned=turned),
    ],
    doc="The block triangle L with ``lower(L T - T L) = lower(X)``; turned, with the transpose of T.",
)


# ---- the decomposition -----------------------------------------------------------------------------


def _schur_of_one(a: Any, *, sort: str | None) -> Any:
    from scipy import linalg

    kind = "complex" if a.dtype.kind == "c" else "real"
    if sort is None:
        return (*linalg.schur(a, output=kind, check_finite=False), np.zeros(1, a.dtype))
    t, z, count = linalg.schur(a, output=kind, sort=sort, check_finite=False)
    return t, z, np.full(1, count, a.dtype)


def _shapes(a: Any, **attrs: Any) -> Any:
    return a.shape[-2:], a.shape[-2:], (1,)


def _turn(x: Any, t: Any) -> Any:
    """Return ``Z^H dZ`` from ``Z^H dA Z``."""
    lower = lower_turn(t, x, turned=False)
    turn = lower - dagger(lower)
    if t.dtype.kind == "c" or t.shape[-1] < 2:
        return turn
    n = t.shape[-1]
    below, above = (where(np.eye(n, k=k, dtype=bool), t, 0) for k in (-1, 1))
    below, above = sum(below, axis=-1)[..., 1:], sum(above, axis=-1)[..., :-1]
    is_pair = below != 0
    size = 8 * n * np.finfo(t.dtype).eps * np.max(np.abs(t), axis=(-2, -1), keepdims=True, initial=0)[..., 0]
    both = where(np.abs(below + above) <= size, 0, below + above)
    rest = matrix_diagonal(x - (turn @ t - t @ turn))
    unequal = where(is_pair, rest[..., 1:] - rest[..., :-1], 0)
    angle = over(expand_dims(unequal, -2), expand_dims(where(is_pair, 2 * both, 1), -2))[..., 0, :]
    angle = concatenate([angle, np.zeros((*angle.shape[:-1], 1), t.dtype)], axis=-1)
    pairs = np.eye(n, k=-1, dtype=t.dtype) * expand_dims(angle, -2)
    return turn + pairs - transposed(pairs)


def _form_jvp(x: Any, turn: Any, t: Any) -> Any:
    moved = x - (turn @ t - t @ turn)
    rows = np.arange(t.shape[-1])
    is_kept = (rows >= rows[:, None]) | ((rows == rows[:, None] - 1) & (t != 0))
    return where(is_kept, moved, 0)


_packed = Packed("schur", by_matrix(_schur_of_one), _shapes)


def _factors(a: Any, packed: Any, sort: str | None) -> tuple[Any, Any]:
    return _form(a, packed, sort=sort), _basis(a, packed, sort=sort)


def _jvp_of_form(moved: Any, out: Any, a: Any, packed: Any, sort: str | None) -> Any:
    t, z = _factors(a, packed, sort)
    x = dagger(z) @ moved @ z
    return _form_jvp(x, _turn(x, t), t)


def _jvp_of_basis(moved: Any, out: Any, a: Any, packed: Any, sort: str | None) -> Any:
    t, z = _factors(a, packed, sort)
    return z @ _turn(dagger(z) @ moved @ z, t)


_form: Op = _packed.part(0, "schur_form", jvp=[_jvp_of_form])
_basis: Op = _packed.part(1, "schur_vectors", jvp=[_jvp_of_basis])
selected_count = Op(
    lambda packed: np.real(packed[..., -1]).astype(np.int64)[()],
    name="selected_count",
    batch=stacked,
    doc="How many eigenvalues a sorted Schur form has in front.",
)
declare_cost(per_matrix(lambda m, n: 25 * n**3), _packed.op)


def schur(a: Any, sort: str | None = None) -> tuple[Any, Any, Any]:
    """Return T and Z with ``a = Z T Z^H``, complex if a is, and how many eigenvalues the sort takes."""
    packed = _packed.op(a, sort=sort)
    return (*_factors(a, packed, sort), selected_count(packed))


# ---- complex forms of real ones --------------------------------------------------------------------


def _complex_form_of_one(t: Any) -> Any:
    from scipy.linalg import rsf2csf

    return rsf2csf(t, np.eye(len(t), dtype=t.dtype), check_finite=False)


_complex = Packed("complex_schur", by_matrix(_complex_form_of_one), lambda t: (t.shape[-2:], t.shape[-2:]))


def _read(moved: Any, t: Any) -> Any:
    """Return what of a change is read: the upper triangle, and the pairs of rows."""
    rows = np.arange(t.shape[-1])
    return where((rows >= rows[:, None]) | ((rows == rows[:, None] - 1) & (t != 0)), moved, 0)


def _complex_parts(moved: Any, t: Any, packed: Any) -> tuple[Any, Any, Any]:
    form, turn = _complex_t(t, packed), _complex_turn(t, packed)
    return dagger(turn) @ _read(moved, t) @ turn, form, turn


def _jvp_of_complex_t(moved: Any, out: Any, t: Any, packed: Any) -> Any:
    x, form, _ = _complex_parts(moved, t, packed)
    return _form_jvp(x, _turn(x, form), form)


def _jvp_of_complex_turn(moved: Any, out: Any, t: Any, packed: Any) -> Any:
    x, form, turn = _complex_parts(moved, t, packed)
    return turn @ _turn(x, form)


_complex_t: Op = _complex.part(0, "complex_schur_form", jvp=[_jvp_of_complex_t])
_complex_turn: Op = _complex.part(1, "complex_schur_vectors", jvp=[_jvp_of_complex_turn])


def complex_form(t: Any) -> tuple[Any, Any]:
    """Return the complex triangle of a real Schur form, and the unitary matrix that makes it."""
    packed = _complex.op(t)
    return _complex_t(t, packed), _complex_turn(t, packed)
