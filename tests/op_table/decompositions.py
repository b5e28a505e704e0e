"""Triangular factorizations; where a basis is completed, by what does not depend on the choice."""

import numpy as np

from tests.op_table.case import Case, _domain

dominant = _domain(lambda rng, s: 0.4 * rng.uniform(-1, 1, s) + 2 * np.eye(s[-2], s[-1]))
dominant_complex = _domain(
    lambda rng, s: 0.4 * (rng.uniform(-1, 1, s) + 1j * rng.uniform(-1, 1, s)) + 2 * np.eye(s[-2], s[-1])
)


def dagger(ns, x):
    return ns.conj(ns.swapaxes(x, -1, -2))


def completion(ns, a):
    """The projection on what the completed columns span, and the square of R."""
    q, r = ns.linalg.qr(a, "complete")
    k = a.shape[-1]
    rest = q[..., k:]
    return ns.matmul(ns.matmul(rest, dagger(ns, rest)), q[..., :k] + 1) + ns.sum(r, axis=-1, keepdims=True)


CASES = [
    Case("linalg.cholesky", lambda ns, a: ns.linalg.cholesky(a), dominant(3, 3)),
    Case("linalg.cholesky upper", lambda ns, a: ns.linalg.cholesky(a, upper=True), dominant(2, 3, 3)),
    Case("linalg.cholesky complex", lambda ns, a: ns.linalg.cholesky(a), dominant_complex(2, 3, 3)),
    Case("linalg.cholesky complex upper", lambda ns, a: ns.linalg.cholesky(a, upper=True),
         dominant_complex(3, 3)),
    Case("linalg.cholesky empty", lambda ns, a: ns.linalg.cholesky(a), dominant(0, 0)),
    Case("linalg.cho_factor", lambda ns, a: ns.linalg.cho_factor(a)[0], dominant(3, 3)),
    Case("linalg.cho_factor lower", lambda ns, a: ns.linalg.cho_factor(a, True)[0], dominant_complex(2, 2)),
    Case("linalg.qr q", lambda ns, a: ns.linalg.qr(a)[0], dominant(4, 3)),
    Case("linalg.qr r", lambda ns, a: ns.linalg.qr(a, "r"), dominant(3, 3)),
    Case("linalg.qr q wide", lambda ns, a: ns.linalg.qr(a)[0], dominant(2, 4)),
    Case("linalg.qr r wide", lambda ns, a: ns.linalg.qr(a).R, dominant(2, 2, 4)),
    Case("linalg.qr q complex", lambda ns, a: ns.linalg.qr(a).Q, dominant_complex(2, 4, 3)),
    Case("linalg.qr r complex", lambda ns, a: ns.linalg.qr(a)[1], dominant_complex(3, 3)),
    Case("linalg.qr complete", completion, dominant(4, 2)),
    Case("linalg.qr complete complex", completion, dominant_complex(3, 2)),
    Case("linalg.qr empty", lambda ns, a: ns.linalg.qr(a)[0], dominant(2, 0, 3)),
]  # fmt: skip
