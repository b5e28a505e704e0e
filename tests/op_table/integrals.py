"""Integrals of sampled values."""

from tests.op_table.case import Case, call, complexes, real
from tests.op_table.differences import positions

CASES = [
    Case("trapezoid", call("trapezoid"), real(4)),
    Case("trapezoid dx", lambda ns, y, dx: ns.trapezoid(y, dx=dx, axis=0), real(3, 2), real()),
    Case("trapezoid x", lambda ns, y, x: ns.trapezoid(y, x, axis=0), real(3, 2), positions(3)),
    Case("trapezoid x for each", lambda ns, y, x: ns.trapezoid(y, x), real(2, 3), real(2, 3)),
    Case("trapezoid complex", lambda ns, y, x: ns.trapezoid(y, x), complexes(2, 3), real(3)),
    Case("trapezoid one", call("trapezoid"), real(2, 1)),
]  # fmt: skip
