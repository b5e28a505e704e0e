"""Singular values and vectors; of vectors, what does not depend on their signs or phases."""

import numpy as np

from tests.op_table.case import Case, _domain
from tests.op_table.decompositions import dagger
from tests.op_table.eigenvalues import apart, apart_complex, projections


def _spread(rng, s):
    """Nearly diagonal, with singular values about one apart."""
    return 0.2 * rng.uniform(-1, 1, s) + np.eye(s[-2], s[-1]) * (1.0 + np.arange(s[-1]))


spread = _domain(_spread)
spread_complex = _domain(lambda rng, s: _spread(rng, s) + 0.2j * rng.uniform(-1, 1, s))


def left(ns, a, **options):
    return projections(ns, ns.linalg.svd(a, **options)[0])


def right(ns, a, **options):
    return projections(ns, dagger(ns, ns.linalg.svd(a, **options)[2]))


def both(ns, a, **options):
    """The matrix with all singular values 1: the factors' phases matter only together."""
    u, s, vh = ns.linalg.svd(a, full_matrices=False, **options)
    return ns.matmul(ns.multiply(u, 1 / s[..., None, :]), vh)


CASES = [
    Case("linalg.svd values", lambda ns, a: ns.linalg.svd(a)[1], spread(3, 4)),
    Case("linalg.svd left", lambda ns, a: left(ns, a, full_matrices=False), spread(4, 3)),
    Case("linalg.svd left wide", lambda ns, a: left(ns, a, full_matrices=False), spread(2, 2, 3)),
    Case("linalg.svd right", lambda ns, a: right(ns, a, full_matrices=False), spread(2, 3)),
    Case("linalg.svd right full", lambda ns, a: right(ns, a[..., :2, :]), spread(2, 3, 3)),
    Case("linalg.svd left full", lambda ns, a: left(ns, a), spread(3, 2)),
    Case("linalg.svd product", both, spread(3, 3)),
    Case("linalg.svd complex values", lambda ns, a: ns.linalg.svd(a).S, spread_complex(2, 3)),
    Case("linalg.svd complex left", lambda ns, a: left(ns, a), spread_complex(3, 2)),
    Case("linalg.svd complex right", lambda ns, a: right(ns, a), spread_complex(2, 2, 3)),
    Case("linalg.svd complex product", both, spread_complex(3, 2)),
    Case("linalg.svd hermitian", lambda ns, a: left(ns, a, hermitian=True), apart(3, 3)),
    Case("linalg.svd hermitian product", lambda ns, a: both(ns, a, hermitian=True), apart_complex(3, 3)),
    Case("linalg.svd hermitian values", lambda ns, a: ns.linalg.svd(a, compute_uv=False, hermitian=True),
         apart(2, 3, 3)),
    Case("linalg.svd empty", lambda ns, a: ns.linalg.svd(a, full_matrices=False)[0], spread(2, 3, 0)),
    Case("linalg.svdvals", lambda ns, a: ns.linalg.svdvals(a), spread(2, 3, 4)),
    Case("linalg.svdvals complex", lambda ns, a: ns.linalg.svdvals(a), spread_complex(3, 2)),
]  # fmt: skip
