"""Flipping, rotating and rolling."""

from tests.op_table.case import Case, call, complexes, real

CASES = [
    Case("flip", call("flip"), real(2, 3)),
    Case("flip 0d", call("flip"), real()),
    Case("flip (0,-1)", lambda ns, x: ns.flip(x, (0, -1)), real(2, 3, 2)),
    Case("fliplr", call("fliplr"), real(2, 3)),
    Case("flipud", call("flipud"), real(3)),
    *(Case(f"rot90 {k}", lambda ns, x, k=k: ns.rot90(x, k), real(2, 3)) for k in range(4)),
    Case("rot90 axes", lambda ns, x: ns.rot90(x, -1, axes=(2, 0)), real(2, 3, 4)),
    Case("roll flat", lambda ns, x: ns.roll(x, 2), real(2, 3)),
    Case("roll axis=1", lambda ns, x: ns.roll(x, -1, axis=1), real(2, 3)),
    Case("roll axes", lambda ns, x: ns.roll(x, (1, 7), axis=(0, -1)), complexes(3, 4)),
    Case("roll one axis twice", lambda ns, x: ns.roll(x, (1, 2), axis=0), real(5)),
    Case("roll empty", lambda ns, x: ns.roll(x, 1, axis=0), real(0, 3)),
]  # fmt: skip
