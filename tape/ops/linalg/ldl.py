"""The factorization of symmetric and Hermitian matrices that need not be definite.

``A = L D L^H``, where D has blocks of one or two rows, and L is a triangle with ones on its diagonal, zeros
beside the blocks, and its rows in another order. With ``X = inv(L) dA inv(L)^H``, D changes by the blocks of
X on the diagonal, and L by ``L (lower(X) inv(D))``, lower being what is below those blocks. Order and blocks
depend on data, and are constant to every derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.op import Op
from tape.inspect.costs import declare_cost, per_matrix
from tape.ops.elementwise.selection import where
from tape.ops.linalg.equations import solve
from tape.ops.linalg.packing import Packed, by_matrix, dagger, stacked, transposed

__all__ = ["ldl"]


def _of_one(a: Any, *, lower: bool, hermitian: bool) -> Any:
    from scipy import linalg  # imported late: it takes as long as all the rest

    left, middle, order = linalg.ldl(a, lower=lower, hermitian=hermitian, check_finite=False)
    return left, middle, order.astype(a.dtype)  # exact: so long are no matrices


def _shapes(a: Any, **attrs: Any) -> Any:
    return a.shape[-2:], a.shape[-2:], a.shape[-1:]


def _beyond(d: Any, lower: bool) -> Any:
    """Return where the triangle without the blocks of D is."""
    rows = np.arange(d.shape[-1])
    is_beyond = rows < rows[:, None] if lower else rows > rows[:, None]
    return is_beyond & (d == 0)


def _changed(moved: Any, left: Any, hermitian: bool) -> Any:
    turned = dagger if hermitian else transposed
    return turned(solve(left, turned(solve(left, moved))))


def _jvp_of_left(moved: Any, out: Any, a: Any, packed: Any, lower: bool, hermitian: bool) -> Any:
    d = _middle(a, packed, lower=lower, hermitian=hermitian)
    beyond = where(_beyond(d, lower), _changed(moved, out, hermitian), 0)
    return out @ transposed(solve(transposed(d), transposed(beyond)))


def _jvp_of_middle(moved: Any, out: Any, a: Any, packed: Any, lower: bool, hermitian: bool) -> Any:
    left = _left(a, packed, lower=lower, hermitian=hermitian)
    is_block = (out != 0) | np.eye(out.shape[-1], dtype=bool)
    return where(is_block, _changed(moved, left, hermitian), 0)


_packed = Packed("ldl", by_matrix(_of_one), _shapes)
_left: Op = _packed.part(0, "l of ldl", jvp=[_jvp_of_left])
_middle: Op = _packed.part(1, "d of ldl", jvp=[_jvp_of_middle])
_order = Op(
    lambda packed, *, n: np.real(packed[..., packed.shape[-1] - n :]).astype(np.int64),
    name="ldl_order",
    batch=stacked,
)
declare_cost(per_matrix(lambda m, n: n**3 / 3), _packed.op)


def ldl(a: Any, lower: bool, hermitian: bool) -> tuple[Any, Any, Any]:
    """Return L, D and the order that makes L a triangle, of matrices equal to their (conjugate) transpose."""
    attrs = {"lower": lower, "hermitian": hermitian}
    packed = _packed.op(a, **attrs)
    return _left(a, packed, **attrs), _middle(a, packed, **attrs), _order(packed, n=a.shape[-1])
