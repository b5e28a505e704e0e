"""Triangular systems of linear equations."""

from tests.op_table.case import Case, complexes, real, regular
from tests.op_table.determinants import regular_complex

CASES = [
    Case("linalg.solve_triangular", lambda ns, a, b: ns.linalg.solve_triangular(a, b),
         regular(3, 3), real(3)),
    Case("linalg.solve_triangular lower", lambda ns, a, b: ns.linalg.solve_triangular(a, b, lower=True),
         regular(2, 3, 3), real(3, 2)),
    Case("linalg.solve_triangular T", lambda ns, a, b: ns.linalg.solve_triangular(a, b, "T"),
         regular(3, 3), real(2, 3, 2)),
    Case("linalg.solve_triangular unit", lambda ns, a, b: ns.linalg.solve_triangular(a, b, 0, True, True),
         regular(3, 3), real(3, 2)),
    Case("linalg.solve_triangular complex", lambda ns, a, b: ns.linalg.solve_triangular(a, b),
         regular_complex(3, 3), complexes(3, 2)),
    Case("linalg.solve_triangular complex C", lambda ns, a, b: ns.linalg.solve_triangular(a, b, "C", True),
         regular_complex(3, 3), complexes(3, 2)),
    Case("linalg.solve_triangular empty", lambda ns, a, b: ns.linalg.solve_triangular(a, b),
         regular(0, 0), real(0, 2)),
    Case("linalg.cho_solve", lambda ns, c, b: ns.linalg.cho_solve((c, False), b), regular(3, 3), real(3)),
    Case("linalg.cho_solve complex", lambda ns, c, b: ns.linalg.cho_solve((c, True), b),
         regular_complex(2, 2), complexes(2, 2)),
]  # fmt: skip
