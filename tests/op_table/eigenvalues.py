"""Eigenvalues and eigenvectors; of vectors, what does not depend on their sign or phase."""

import numpy as np

from tests.op_table.case import Case, _domain


def _apart(rng, s):
    """Nearly diagonal, with eigenvalues about one apart."""
    return 0.2 * rng.uniform(-1, 1, s) + np.diag(1.0 + np.arange(s[-1]))


apart = _domain(_apart)
apart_complex = _domain(lambda rng, s: _apart(rng, s) + 0.2j * rng.uniform(-1, 1, s))
turning = _domain(lambda rng, s: 0.2 * rng.uniform(-1, 1, s) + np.array([[1, -2, 0], [2, 1, 0], [0, 0, 3]]))


def projections(ns, v):
    """``v v^H`` for each vector, weighted so that the sum is not the identity."""
    weights = np.arange(1, v.shape[-1] + 1, dtype=v.dtype)
    return ns.matmul(ns.multiply(v, weights), ns.conj(ns.swapaxes(v, -1, -2)))


def all_values(ns, w):
    """A sum over eigenvalues, which `numpy.linalg.eig` returns in an order of its own."""
    return ns.sum(ns.exp(w / 2), axis=-1)


def all_vectors(ns, result):
    w, v = result
    return ns.matmul(ns.multiply(v, ns.exp(w / 2)[..., None, :]), ns.conj(ns.swapaxes(v, -1, -2)))


CASES = [
    Case("linalg.eigh values", lambda ns, a: ns.linalg.eigh(a)[0], apart(3, 3)),
    Case("linalg.eigh vectors", lambda ns, a: projections(ns, ns.linalg.eigh(a)[1]), apart(2, 3, 3)),
    Case("linalg.eigh U", lambda ns, a: projections(ns, ns.linalg.eigh(a, "U").eigenvectors), apart(3, 3)),
    Case("linalg.eigh complex values", lambda ns, a: ns.linalg.eigh(a, "U").eigenvalues, apart_complex(3, 3)),
    Case("linalg.eigh complex vectors", lambda ns, a: projections(ns, ns.linalg.eigh(a)[1]),
         apart_complex(2, 3, 3)),
    Case("linalg.eigh empty", lambda ns, a: ns.linalg.eigh(a)[1], apart(2, 0, 0)),
    Case("linalg.eigvalsh", lambda ns, a: ns.linalg.eigvalsh(a), apart(2, 3, 3)),
    Case("linalg.eigvalsh complex U", lambda ns, a: ns.linalg.eigvalsh(a, "U"), apart_complex(3, 3)),
    Case("linalg.eig values", lambda ns, a: all_values(ns, ns.linalg.eig(a)[0]), apart(3, 3)),
    Case("linalg.eig vectors", lambda ns, a: all_vectors(ns, ns.linalg.eig(a)), apart(2, 3, 3)),
    Case("linalg.eig turning values", lambda ns, a: all_values(ns, ns.linalg.eig(a).eigenvalues),
         turning(3, 3)),
    Case("linalg.eig turning vectors", lambda ns, a: all_vectors(ns, ns.linalg.eig(a)), turning(2, 3, 3)),
    Case("linalg.eig complex", lambda ns, a: all_vectors(ns, ns.linalg.eig(a)), apart_complex(3, 3)),
    Case("linalg.eigvals", lambda ns, a: all_values(ns, ns.linalg.eigvals(a)), apart(2, 3, 3)),
    Case("linalg.eigvals turning", lambda ns, a: all_values(ns, ns.linalg.eigvals(a)), turning(3, 3)),
    Case("linalg.eigvals complex", lambda ns, a: all_values(ns, ns.linalg.eigvals(a)), apart_complex(3, 3)),
    Case("linalg.eigvals empty", lambda ns, a: all_values(ns, ns.linalg.eigvals(a)), apart(0, 0)),
]  # fmt: skip
