"""The same elements in another shape or dtype."""

import numpy as np

from tests.op_table.case import SHAPES, Case, call, complexes, grid, joined, real

CASES = [
    Case("reshape (3,2)", lambda ns, x: ns.reshape(x, (3, 2)), real(2, 3)),
    Case("reshape -1", lambda ns, x: ns.reshape(x, (3, -1)), real(2, 3, 2)),
    Case("reshape int", lambda ns, x: ns.reshape(x, 6), real(2, 3)),
    Case("reshape 0d", lambda ns, x: ns.reshape(x, (1, 1)), real()),
    Case("reshape to 0d", lambda ns, x: ns.reshape(x, ()), real(1, 1)),
    Case("reshape empty", lambda ns, x: ns.reshape(x, (3, 0)), real(0, 2)),
    *(Case(f"ravel {joined([s])}", call("ravel"), real(*s)) for s in SHAPES),
    Case("expand_dims 0", lambda ns, x: ns.expand_dims(x, 0), real(2, 3)),
    Case("expand_dims -1", lambda ns, x: ns.expand_dims(x, -1), real(2, 3)),
    Case("expand_dims (0,2)", lambda ns, x: ns.expand_dims(x, (0, 2)), real(2, 3)),
    Case("expand_dims 0d", lambda ns, x: ns.expand_dims(x, 0), real()),
    Case("squeeze all", call("squeeze"), real(1, 3, 1)),
    Case("squeeze 0", lambda ns, x: ns.squeeze(x, 0), real(1, 3, 1)),
    Case("squeeze (0,-1)", lambda ns, x: ns.squeeze(x, (0, -1)), real(1, 3, 1)),
    Case("squeeze to 0d", call("squeeze"), real(1, 1)),
    Case("broadcast_to (2,3)", lambda ns, x: ns.broadcast_to(x, (2, 3)), real(3)),
    Case("broadcast_to (4,2,3)", lambda ns, x: ns.broadcast_to(x, (4, 2, 3)), real(2, 1)),
    Case("broadcast_to same", lambda ns, x: ns.broadcast_to(x, (3,)), real(3)),
    Case("broadcast_to int", lambda ns, x: ns.broadcast_to(x, 3), real()),
    Case("broadcast_to empty", lambda ns, x: ns.broadcast_to(x, (0, 3)), real(3)),
    Case("reshape order=F", lambda ns, x: ns.reshape(x, (3, -1), order="F"), real(2, 3, 2)),
    Case("ravel order=F", lambda ns, x: ns.ravel(x, order="F"), complexes(2, 3, 2)),
    Case("copy", call("copy"), real(2, 3)),
    Case("astype wider", lambda ns, x: ns.astype(x, np.longdouble), real(2, 3)),
    Case("astype ints", lambda ns, x: ns.astype(x, np.int64), grid(2, 3), has_derivative=False),
    Case("astype bools", lambda ns, x: ns.astype(x, bool), grid(2, 3), has_derivative=False),
]  # fmt: skip
