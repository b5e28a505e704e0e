"""Products of vectors and matrices."""

from tests.op_table.case import PRODUCTS, Case, call, ints, joined, real

CASES = [
    *(Case(f"matmul {joined(pair)}", call("matmul"), real(*pair[0]), real(*pair[1])) for pair in PRODUCTS),
    Case("matmul x@x", lambda ns, x: ns.matmul(x, x), real(3, 3)),
    Case("matmul x@x.T", lambda ns, x: ns.matmul(x, ns.transpose(x)), real(2, 3)),
    Case("matmul ints", call("matmul"), ints(2, 3), real(3, 2)),
    *(Case(f"dot {joined(pair)}", call("dot"), real(*pair[0]), real(*pair[1]))
      for pair in (((), (2, 3)), ((2, 3), ()), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)),
                   ((5, 2, 3), (3,)), ((5, 2, 3), (3, 4)))),
]  # fmt: skip
