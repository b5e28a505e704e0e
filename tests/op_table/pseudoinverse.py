"""Pseudoinverses, least squares and rank."""

from tests.op_table.case import Case, complexes, real
from tests.op_table.decompositions import dominant, dominant_complex
from tests.op_table.eigenvalues import apart, apart_complex
from tests.op_table.singular import spread

CASES = [
    Case("linalg.pinv", lambda ns, a: ns.linalg.pinv(a), dominant(3, 2)),
    Case("linalg.pinv wide", lambda ns, a: ns.linalg.pinv(a), dominant(2, 2, 3)),
    Case("linalg.pinv complex", lambda ns, a: ns.linalg.pinv(a), dominant_complex(2, 3, 2)),
    Case("linalg.pinv complex wide", lambda ns, a: ns.linalg.pinv(a, rtol=None), dominant_complex(2, 3)),
    Case("linalg.pinv hermitian", lambda ns, a: ns.linalg.pinv(a, hermitian=True), apart(3, 3)),
    Case("linalg.pinv hermitian complex", lambda ns, a: ns.linalg.pinv(a, hermitian=True),
         apart_complex(2, 2)),
    Case("linalg.pinv rank 2", lambda ns, a: ns.linalg.pinv(ns.matmul(a, a[:2] + a[1:]), 1e-5),
         dominant(3, 2)),
    Case("linalg.pinv empty", lambda ns, a: ns.linalg.pinv(a), dominant(2, 0, 3)),
    Case("linalg.matrix_rank", lambda ns, a: ns.linalg.matrix_rank(a),
         dominant(2, 2, 3), has_derivative=False),
    Case("linalg.matrix_rank vector", lambda ns, a: ns.linalg.matrix_rank(a), real(3), has_derivative=False),
    Case("linalg.lstsq vector", lambda ns, a, b: ns.linalg.lstsq(a, b)[0], dominant(3, 2), real(3)),
    Case("linalg.lstsq matrix", lambda ns, a, b: ns.linalg.lstsq(a, b)[0], dominant(4, 2), real(4, 2)),
    Case("linalg.lstsq wide", lambda ns, a, b: ns.linalg.lstsq(a, b)[0], dominant(2, 3), real(2, 2)),
    Case("linalg.lstsq complex", lambda ns, a, b: ns.linalg.lstsq(a, b)[0],
         dominant_complex(3, 2), complexes(3)),
    Case("linalg.lstsq complex wide", lambda ns, a, b: ns.linalg.lstsq(a, b)[0],
         dominant_complex(2, 3), real(2, 2)),
    Case("linalg.lstsq rank 2", lambda ns, a, b: ns.linalg.lstsq(ns.matmul(a, a[:2] + a[1:]), b, 1e-5)[0],
         dominant(3, 2), real(3)),
    Case("linalg.lstsq residuals", lambda ns, a, b: ns.linalg.lstsq(a, b)[1], dominant(3, 2), real(3, 2)),
    Case("linalg.lstsq complex residuals", lambda ns, a, b: ns.linalg.lstsq(a, b)[1],
         dominant_complex(3, 2), complexes(3, 2)),
    Case("linalg.lstsq singular values", lambda ns, a, b: ns.multiply(ns.linalg.lstsq(a, b)[3], b[:2]),
         spread(3, 2), real(3)),
    Case("linalg.lstsq rank", lambda ns, a, b: ns.linalg.lstsq(a, b)[2], dominant(3, 2), real(3),
         has_derivative=False),
]  # fmt: skip
