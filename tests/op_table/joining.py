"""Joining and taking apart."""

from tests.op_table.case import Case, ints, real

CASES = [
    Case("concatenate 1d", lambda ns, x, y: ns.concatenate([x, y]), real(2), real(3)),
    Case("concatenate axis=1", lambda ns, x, y, z: ns.concatenate([x, y, z], axis=1),
         real(2, 1), real(2, 3), real(2, 0)),
    Case("concatenate axis=-1", lambda ns, x, y: ns.concatenate((x, y), axis=-1), real(2, 1), real(2, 3)),
    Case("concatenate axis=None", lambda ns, x, y: ns.concatenate([x, y], axis=None), real(2, 3), real()),
    Case("concatenate ints", lambda ns, n, x: ns.concatenate([n, x]), ints(2), real(3)),
    Case("concatenate twice", lambda ns, x: ns.concatenate([x, 2 * x, x]), real(2, 3)),
    Case("concatenate one", lambda ns, x: ns.concatenate([x]), real(2, 3)),
    Case("stack axis=0", lambda ns, x, y: ns.stack([x, y]), real(3), real(3)),
    Case("stack axis=1", lambda ns, x, y: ns.stack((x, y), axis=1), real(3, 2), real(3, 2)),
    Case("stack ints axis=-1", lambda ns, x, n: ns.stack([x, n, x], axis=-1), real(3, 2), ints(3, 2)),
    Case("stack 0d", lambda ns, x, y: ns.stack([x, y, x]), real(), real()),
    Case("split parts", lambda ns, x: ns.split(x, 3)[1], real(6, 2)),
    Case("split cuts", lambda ns, x: ns.concatenate(ns.split(x, [1, 3], axis=1)[::-1], axis=1), real(2, 4)),
    Case("split repeated cuts", lambda ns, x: ns.concatenate(ns.split(x, [3, 3, 9], axis=-1)), real(4)),
    Case("split negative cuts", lambda ns, x: ns.split(x, [-2])[1], real(5, 2)),
    Case("split empty", lambda ns, x: ns.split(x, 2)[0], real(0, 2)),
]  # fmt: skip
