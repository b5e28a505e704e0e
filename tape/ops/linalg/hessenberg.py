"""The Hessenberg form ``A = Q H Q^H``.

With ``X = Q^H dA Q``, what Q turns by, ``W = Q^H dQ``, is skew-Hermitian with a first column of zeros, and
``dH = X - (W H - H W)`` has zeros below its second diagonal. Column j of that is an equation for column j + 1
of W, given those before it. Elements beside the diagonal of H are real, in LAPACK.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.op import Op
from tape.inspect.costs import declare_cost, per_matrix
from tape.ops.elementwise.complex import conjugated, imag
from tape.ops.elementwise.selection import where
from tape.ops.linalg.packing import Packed, by_matrix, dagger, over, stacked
from tape.ops.structure.joining import concatenate, stack
from tape.ops.structure.shape import expand_dims

__all__ = ["hessenberg"]


def _of_one(a: Any) -> Any:
    from scipy import linalg  # imported late: it takes as long as all the rest

    h, q = linalg.hessenberg(a, calc_q=True, check_finite=False)
    return h, q.astype(h.dtype)


_packed = Packed("hessenberg", by_matrix(_of_one), lambda a: (a.shape[-2:], a.shape[-2:]))


def _negligible_forward(h: Any) -> Any:
    limit = 8 * h.shape[-1] * np.finfo(h.dtype).eps * np.max(np.abs(h), axis=(-2, -1), initial=0)
    return np.abs(np.diagonal(h, -1, -2, -1)) <= limit[..., None]


_negligible = Op(_negligible_forward, name="negligible_beside", batch=stacked)


def _over(x: Any, beside: Any) -> Any:
    return over(expand_dims(x, -1), expand_dims(beside, -1))[..., 0]


def _turn(x: Any, h: Any) -> Any:
    """Return ``Q^H dQ`` from ``Q^H dA Q``, column by column."""
    n = h.shape[-1]
    columns = [x[..., 0] * 0]
    if n <= 2:
        return stack([columns[0]] * n, axis=-1)
    is_free = _negligible(h)
    for j in range(n - 1):
        known = stack(columns, axis=-1)
        right = x[..., j] - (known @ h[..., : j + 1, j, None])[..., 0] + (h @ columns[j][..., None])[..., 0]
        beside = where(is_free[..., j, None], 0, h[..., j + 1, j, None])
        above = -conjugated(known[..., j + 1, :])
        own = _over(1j * imag(right[..., j + 1 : j + 2]), beside) if h.dtype.kind == "c" else above[..., :0]
        parts = [above, own if h.dtype.kind == "c" else x[..., :1, 0] * 0, _over(right[..., j + 2 :], beside)]
        columns.append(concatenate(parts, axis=-1))
    return stack(columns, axis=-1)


def _parts(moved: Any, a: Any, packed: Any) -> tuple[Any, Any, Any, Any]:
    h, q = _form(a, packed), _basis(a, packed)
    x = dagger(q) @ moved @ q
    return h, q, x, _turn(x, h)


def _jvp_of_form(moved: Any, out: Any, a: Any, packed: Any) -> Any:
    h, _, x, turn = _parts(moved, a, packed)
    return where(np.tri(h.shape[-1], k=-2, dtype=bool), 0, x - (turn @ h - h @ turn))


def _jvp_of_basis(moved: Any, out: Any, a: Any, packed: Any) -> Any:
    _, q, _, turn = _parts(moved, a, packed)
    return q @ turn


_form: Op = _packed.part(0, "hessenberg_form", jvp=[_jvp_of_form])
_basis: Op = _packed.part(1, "hessenberg_basis", jvp=[_jvp_of_basis])
declare_cost(per_matrix(lambda m, n: 14 * n**3 / 3), _packed.op)


def hessenberg(a: Any) -> tuple[Any, Any]:
    """Return H and Q."""
    packed = _packed.op(a)
    return _form(a, packed), _basis(a, packed)
