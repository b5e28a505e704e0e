"""Adding axes until there are at least so many."""

from tests.op_table.case import Case, call, real

CASES = [
    Case("atleast_1d", call("atleast_1d"), real()),
    Case("atleast_2d", call("atleast_2d"), real(3)),
    Case("atleast_2d as it is", call("atleast_2d"), real(1, 1, 2)),
    Case("atleast_3d", call("atleast_3d"), real(2, 3)),
    Case("atleast_3d several", lambda ns, x, y: ns.add(*ns.atleast_3d(x, y)), real(2), real()),
]  # fmt: skip
