"""Linear and bilinear layers."""

from tests.op_table.case import Case, real

CASES = [
    Case("nn.linear", lambda ns, x, w: ns.nn.linear(x, w), real(3), real(2, 3)),
    Case("nn.linear bias", lambda ns, x, w, b: ns.nn.linear(x, w, b), real(2, 2, 3), real(4, 3), real(4)),
    Case("nn.linear empty", lambda ns, x, w, b: ns.nn.linear(x, w, b), real(0, 3), real(2, 3), real(2)),
    Case("nn.bilinear", lambda ns, x, y, w: ns.nn.bilinear(x, y, w), real(3), real(2), real(2, 3, 2)),
    Case("nn.bilinear bias", lambda ns, x, y, w, b: ns.nn.bilinear(x, y, w, b),
         real(2, 2, 3), real(2, 2, 4), real(2, 3, 4), real(2)),
]  # fmt: skip
