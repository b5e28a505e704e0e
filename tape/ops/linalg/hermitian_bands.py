"""Eigenvalues and eigenvectors of Hermitian matrices of few diagonals, by LAPACK's functions for these.

Operands are whole matrices of which the lower triangle is read: the rules are those of `eigh`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.op import Op
from tape.inspect.costs import declare_cost, per_matrix
from tape.ops.linalg.banded import to_bands
from tape.ops.linalg.eigenvalues import (
    pull_hermitian_values,
    pull_hermitian_vectors,
    push_hermitian_values,
    push_hermitian_vectors,
)
from tape.ops.linalg.packing import Packed, by_matrix, stacked

__all__ = ["values_alone", "values_and_vectors"]


def _called(a: Any, kind: str, count: int, eigvals_only: bool) -> Any:
    from scipy import linalg  # imported late: it takes as long as all the rest

    if kind == "tridiagonal":
        d, e = np.diagonal(a).copy(), np.diagonal(a, -1).copy()
        return linalg.eigh_tridiagonal(d, e, eigvals_only=eigvals_only)
    is_lower = kind == "lower"
    bands = to_bands(a, count, 0) if is_lower else to_bands(a.conj().T, 0, count)
    return linalg.eig_banded(bands, lower=is_lower, eigvals_only=eigvals_only)


def _shapes(a: Any, **attrs: Any) -> Any:
    n = a.shape[-1]
    return (n,), (n, n)


_packed = Packed(
    "eig_of_bands", by_matrix(lambda a, *, kind, count: _called(a, kind, count, eigvals_only=False)), _shapes
)
_values: Op = _packed.part(
    0,
    "eigenvalues",
    convert=np.real,
    vjp=[lambda g, out, a, packed, **attrs: pull_hermitian_values(g, _vectors(a, packed, **attrs), "L")],
    jvp=[lambda t, out, a, packed, **attrs: push_hermitian_values(t, _vectors(a, packed, **attrs), "L")],
)
_vectors: Op = _packed.part(
    1,
    "eigenvectors",
    vjp=[lambda g, out, a, packed, **attrs: pull_hermitian_vectors(g, out, _values(a, packed, **attrs), "L")],
    jvp=[lambda t, out, a, packed, **attrs: push_hermitian_vectors(t, out, _values(a, packed, **attrs), "L")],
)


def values_and_vectors(a: Any, kind: str, count: int) -> tuple[Any, Any]:
    """Return eigenvalues and eigenvectors of a lower triangle with ``count`` diagonals below the main one.

    The ``kind`` is "tridiagonal", "lower" or "upper": how LAPACK takes the diagonals.
    """
    packed = _packed.op(a, kind=kind, count=count)
    return _values(a, packed, kind=kind, count=count), _vectors(a, packed, kind=kind, count=count)


def _with_vectors(a: Any, **attrs: Any) -> Any:
    return _vectors(a, _packed.op(a, **attrs), **attrs)


values_alone: Op = Op(
    lambda a, *, kind, count: by_matrix(lambda x: (_called(x, kind, count, eigvals_only=True),))(a)[0],
    name="eigvals_of_bands",
    batch=stacked,
    vjp=[lambda g, out, a, **attrs: pull_hermitian_values(g, _with_vectors(a, **attrs), "L")],
    jvp=[lambda t, out, a, **attrs: push_hermitian_values(t, _with_vectors(a, **attrs), "L")],
    doc="The eigenvalues, computed without vectors.",
)
declare_cost(per_matrix(lambda m, n: 9 * n**3), _packed.op)
declare_cost(per_matrix(lambda m, n: 4 * n**2), values_alone)
