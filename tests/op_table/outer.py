"""Products that sum over no axes."""

from tests.op_table.case import Case, call, complexes, joined, real

CASES = [
    *(Case(f"outer {joined(pair)}", call("outer"), real(*pair[0]), real(*pair[1]))
      for pair in (((3,), (2,)), ((2, 2), (3, 1)), ((), (3,)), ((0,), (2,)))),
    Case("linalg.outer", lambda ns, x, y: ns.linalg.outer(x, y), real(3), real(2)),
    Case("linalg.cross", lambda ns, x, y: ns.linalg.cross(x, y, axis=0), real(3, 2), real(3, 1)),
    Case("outer complex", call("outer"), complexes(2), complexes(3)),
    *(Case(f"kron {joined(pair)}", call("kron"), real(*pair[0]), real(*pair[1]))
      for pair in (((2,), (3,)), ((2, 3), (2,)), ((2, 1, 2), (3, 2)), ((), (2, 2)), ((0, 2), (2, 1)))),
    Case("kron complex", call("kron"), complexes(2), complexes(2, 2)),
    *(Case(f"cross {joined(pair)}", call("cross"), real(*pair[0]), real(*pair[1]))
      for pair in (((3,), (3,)), ((2, 1, 3), (4, 3)), ((0, 3), (3,)))),
    Case("cross axes", call("cross", axisa=0, axisb=1, axisc=0), real(3, 2), real(2, 3)),
    Case("cross axis", call("cross", axis=0), real(3, 2), real(3, 2)),
    Case("cross complex", call("cross"), complexes(3), complexes(2, 3)),
]  # fmt: skip
