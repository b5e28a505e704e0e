"""Joining the arrays of nested lists."""

from tests.op_table.case import Case, real

CASES = [
    Case("block matrix", lambda ns, x, y, z: ns.block([[x, y], [z, z]]), real(2, 1), real(2, 3), real(2)),
    Case("block deep", lambda ns, x, y: ns.block([[[x], [y]]]), real(), real(1, 1)),
    Case("block row", lambda ns, x, y: ns.block([x, y]), real(2, 1), real(2, 2)),
    Case("block as it is", lambda ns, x: ns.block(x), real(2, 1)),
]  # fmt: skip
