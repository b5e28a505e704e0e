"""Taking apart."""

from tests.op_table.case import Case, real

CASES = [
    Case("split parts", lambda ns, x: ns.split(x, 3)[1], real(6, 2)),
    Case("split cuts", lambda ns, x: ns.concatenate(ns.split(x, [1, 3], axis=1)[::-1], axis=1), real(2, 4)),
    Case("split repeated cuts", lambda ns, x: ns.concatenate(ns.split(x, [3, 3, 9], axis=-1)), real(4)),
    Case("split negative cuts", lambda ns, x: ns.split(x, [-2])[1], real(5, 2)),
    Case("split empty", lambda ns, x: ns.split(x, 2)[0], real(0, 2)),
    Case("array_split", lambda ns, x: ns.array_split(x, 3, axis=1)[0], real(2, 5)),
    Case("array_split too many", lambda ns, x: ns.concatenate(ns.array_split(x, 4)[::-1]), real(2)),
    Case("hsplit", lambda ns, x: ns.hsplit(x, 2)[1], real(2, 4)),
    Case("hsplit 1d", lambda ns, x: ns.hsplit(x, [1])[1], real(3)),
    Case("vsplit", lambda ns, x: ns.vsplit(x, 2)[0], real(2, 3)),
    Case("dsplit", lambda ns, x: ns.dsplit(x, 2)[1], real(1, 2, 4)),
    Case("unstack", lambda ns, x: ns.multiply(*ns.unstack(x)), real(2, 3)),
    Case("unstack axis=-1", lambda ns, x: ns.unstack(x, axis=-1)[1], real(2, 3)),
]  # fmt: skip
