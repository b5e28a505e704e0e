"""Products of vectors and matrices."""

from tests.op_table.case import PRODUCTS, Case, call, complexes, ints, joined, real

CASES = [
    *(Case(f"matmul {joined(pair)}", call("matmul"), real(*pair[0]), real(*pair[1])) for pair in PRODUCTS),
    Case("matmul x@x", lambda ns, x: ns.matmul(x, x), real(3, 3)),
    Case("matmul x@x.T", lambda ns, x: ns.matmul(x, ns.transpose(x)), real(2, 3)),
    Case("matmul ints", call("matmul"), ints(2, 3), real(3, 2)),
    Case("matmul complex stacks", call("matmul"), complexes(5, 2, 3), complexes(3, 4)),
    *(Case(f"vecdot {joined(pair)}", call("vecdot"), real(*pair[0]), real(*pair[1]))
      for pair in (((3,), (3,)), ((2, 1, 3), (4, 3)), ((0, 3), (3,)), ((2, 0), (2, 0)))),
    Case("vecdot complex", call("vecdot"), complexes(2, 3), complexes(3)),
    Case("vecdot complex by real", call("vecdot"), complexes(2, 3), real(2, 3)),
    Case("vdot matrices", call("vdot"), real(2, 3), real(3, 2)),
    Case("vdot 0d", call("vdot"), real(), real()),
    Case("vdot complex", call("vdot"), complexes(3), complexes(3)),
    *(Case(f"matvec {joined(pair)}", call("matvec"), real(*pair[0]), real(*pair[1]))
      for pair in (((2, 3), (3,)), ((2, 3), (4, 3)), ((5, 1, 2, 3), (4, 3)), ((0, 2, 3), (3,)))),
    Case("matvec complex", call("matvec"), complexes(2, 3), complexes(4, 3)),
    *(Case(f"vecmat {joined(pair)}", call("vecmat"), real(*pair[0]), real(*pair[1]))
      for pair in (((3,), (3, 2)), ((4, 3), (3, 2)), ((4, 3), (5, 1, 3, 2)), ((3,), (0, 3, 2)))),
    Case("vecmat complex", call("vecmat"), complexes(4, 3), complexes(3, 2)),
]  # fmt: skip
