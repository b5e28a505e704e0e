"""Powers and the exponential of matrices."""

from tests.op_table.case import Case, complexes, real, regular
from tests.op_table.determinants import regular_complex

CASES = [
    *(Case(f"linalg.matrix_power {n}", lambda ns, a, n=n: ns.linalg.matrix_power(a, n), regular(2, 3, 3))
      for n in (-2, 2, 3)),
    Case("linalg.matrix_power 5 complex", lambda ns, a: ns.linalg.matrix_power(a, 5), complexes(2, 2)),
    Case("linalg.matrix_power -1 complex", lambda ns, a: ns.linalg.matrix_power(a, -1),
         regular_complex(2, 2)),
    Case("linalg.matrix_power 0", lambda ns, a: ns.linalg.matrix_power(a, 0),
         real(2, 3, 3), has_derivative=False),
    Case("linalg.expm", lambda ns, a: ns.linalg.expm(a), real(3, 3)),
    Case("linalg.expm stack", lambda ns, a: ns.linalg.expm(a), real(2, 2, 2)),
    Case("linalg.expm complex", lambda ns, a: ns.linalg.expm(a), complexes(2, 2)),
    Case("linalg.expm empty", lambda ns, a: ns.linalg.expm(a), real(0, 0)),
]  # fmt: skip
