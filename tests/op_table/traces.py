"""Sums of diagonals."""

from tests.op_table.case import Case, call, complexes, ints, real

CASES = [
    Case("trace (2,3)", call("trace"), real(2, 3)),
    Case("trace axes", call("trace", offset=1, axis1=-1, axis2=0), real(3, 2, 3)),
    Case("trace complex", call("trace"), complexes(2, 2)),
    Case("trace integers", call("trace"), ints(3, 3), has_derivative=False),
]  # fmt: skip
