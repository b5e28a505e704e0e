"""Vandermonde matrices."""

from tests.op_table.case import Case, complexes, real

CASES = [
    Case("vander of ints", lambda ns, x: ns.vander(x), real(3)),  # of narrow floats it makes float64 too
    Case("vander increasing ints", lambda ns, x: ns.vander(x, 4, increasing=True), complexes(2)),
    Case("vander no columns, ints", lambda ns, x: ns.vander(x, 0), real(2)),
    Case("vander one column, ints", lambda ns, x: ns.vander(x, 1), real(2)),
]  # fmt: skip
