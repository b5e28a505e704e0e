"""Orthonormal bases of the range and of the null space of a matrix, at constant rank.

A basis may turn within its space. These do not: with P the pseudoinverse, a basis Q of the range changes by
``(1 - Q Q^H) dA P Q``, a basis Z of the null space by ``-P dA Z`` (Golub and Pereyra 1973), the least changes
that keep them bases. So functions of the space alone have their derivatives, whatever the basis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.op import Op
from tape.inspect.costs import declare_cost, per_matrix
from tape.ops.elementwise.complex import conjugated
from tape.ops.linalg.packing import dagger, transposed
from tape.ops.linalg.pseudoinverse import pinv
from tape.ops.structure.joining import concatenate

__all__ = ["leading", "null_basis", "range_basis"]


def _rank(s: Any, rtol: float) -> int:
    return int(np.sum(s > np.max(s, initial=0) * rtol))


def _range_forward(a: Any, *, rtol: float) -> Any:
    u, s, _ = np.linalg.svd(a, full_matrices=False)
    return u[:, : _rank(s, rtol)].copy()


def _null_forward(a: Any, *, rtol: float) -> Any:
    _, s, vh = np.linalg.svd(a)
    return np.conj(vh[_rank(s, rtol) :].T)


def _moved(t: Any, out: Any, a: Any, rtol: float) -> Any:
    change = t @ (pinv(a, rtol=rtol) @ out)
    return change - out @ (dagger(out) @ change)


def _pulled(g: Any, out: Any, a: Any, rtol: float) -> Any:
    free = g - conjugated(out) @ (transposed(out) @ g)
    return free @ transposed(pinv(a, rtol=rtol) @ out)


range_basis: Op = Op(
    _range_forward,
    name="range_basis",
    data_dependent=True,
    vjp=[_pulled],
    jvp=[_moved],
    doc="The left singular vectors of one matrix with values above ``rtol`` times the largest.",
)

null_basis: Op = Op(
    _null_forward,
    name="null_basis",
    data_dependent=True,
    vjp=[lambda g, out, a, rtol: -(transposed(pinv(a, rtol=rtol)) @ g @ transposed(out))],
    jvp=[lambda t, out, a, rtol: -(pinv(a, rtol=rtol) @ (t @ out))],
    doc="The right singular vectors of one matrix with values up to ``rtol`` times the largest.",
)

leading: Op = Op(
    lambda u, s, *, rtol: u[:, : _rank(s, rtol)].copy(),
    name="leading_vectors",
    data_dependent=True,
    vjp=[
        lambda g, out, u, s, rtol: concatenate(
            [g, np.zeros((u.shape[0], u.shape[1] - out.shape[1]), u.dtype)], axis=-1
        ),
        None,
    ],
    jvp=[lambda t, out, u, s, rtol: t[:, : out.shape[1]], None],
    doc="The columns of ``u`` that belong to values ``s`` above ``rtol`` times the largest.",
)
declare_cost(per_matrix(lambda m, n: 6 * m * n**2 + 20 * n**3), range_basis, null_basis)
