"""Repeating elements."""

from tests.op_table.case import Case, complexes, real

CASES = [
    Case("repeat flat", lambda ns, x: ns.repeat(x, 3), real(2, 2)),
    Case("repeat axis=1", lambda ns, x: ns.repeat(x, 2, axis=1), complexes(2, 3)),
    Case("repeat 0d", lambda ns, x: ns.repeat(x, 2), real()),
    Case("repeat not at all", lambda ns, x: ns.repeat(x, 0, axis=0), real(2, 3)),
    Case("repeat each", lambda ns, x: ns.repeat(x, [2, 0, 3], axis=0), real(3, 2)),
    Case("repeat each axis=-1", lambda ns, x: ns.repeat(x, [1, 0, 2], axis=-1), real(2, 3)),
    Case("tile int", lambda ns, x: ns.tile(x, 2), real(2, 3)),
    Case("tile more axes", lambda ns, x: ns.tile(x, (2, 1, 2)), real(3)),
    Case("tile fewer axes", lambda ns, x: ns.tile(x, (3, 1)), complexes(2, 1, 2)),
    Case("tile 0d", lambda ns, x: ns.tile(x, (2,)), real()),
    Case("tile once", lambda ns, x: ns.tile(x, (1, 1)), real(2, 3)),
    Case("tile empty", lambda ns, x: ns.tile(x, (2, 2)), real(0, 3)),
    Case("resize longer", lambda ns, x: ns.resize(x, (2, 4)), real(3)),
    Case("resize shorter", lambda ns, x: ns.resize(x, 4), real(2, 3)),
    Case("broadcast_arrays", lambda ns, x, y: ns.multiply(*ns.broadcast_arrays(x, y)), real(2, 1), real(3)),
    Case("broadcast_arrays alike", lambda ns, x, y: ns.add(*ns.broadcast_arrays(x, y)), real(3), real(3)),
]  # fmt: skip
