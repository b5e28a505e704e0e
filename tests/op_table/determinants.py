"""Determinants."""

import numpy as np

from tests.op_table.case import Case, _domain, complexes, real, regular

regular_complex = _domain(
    lambda rng, s: (rng.uniform(-1, 1, s) + 1j * rng.uniform(-1, 1, s)) / 2 + 3 * np.eye(s[-1])
)


def singular(ns, x):
    """A matrix of rank one for every value of a vector."""
    return ns.multiply(ns.reshape(x, (3, 1)), ns.reshape(x, (1, 3)))


CASES = [
    Case("linalg.det", lambda ns, a: ns.linalg.det(a), real(3, 3)),
    Case("linalg.det stack", lambda ns, a: ns.linalg.det(a), real(2, 3, 3)),
    Case("linalg.det complex", lambda ns, a: ns.linalg.det(a), complexes(3, 3)),
    Case("linalg.det empty", lambda ns, a: ns.linalg.det(a), real(2, 0, 0)),
    Case("linalg.det one", lambda ns, a: ns.linalg.det(a), real(1, 1)),
    Case("linalg.det rank 1", lambda ns, x, a: ns.linalg.det(singular(ns, x) + 0.1 * ns.multiply(x, a)),
         real(3), real(3, 3)),
    Case("linalg.slogdet", lambda ns, a: ns.linalg.slogdet(a)[1], regular(3, 3)),
    Case("linalg.slogdet stack", lambda ns, a: ns.linalg.slogdet(a)[1], regular(2, 3, 3)),
    Case("linalg.slogdet sign", lambda ns, a: ns.linalg.slogdet(a)[0], regular(3, 3), has_derivative=False),
    Case("linalg.slogdet complex", lambda ns, a: ns.linalg.slogdet(a).logabsdet, regular_complex(3, 3)),
    Case("linalg.slogdet complex sign", lambda ns, a: ns.linalg.slogdet(a).sign, regular_complex(2, 3, 3)),
    Case("linalg.slogdet empty", lambda ns, a: ns.linalg.slogdet(a)[1], regular(2, 0, 0)),
]  # fmt: skip
