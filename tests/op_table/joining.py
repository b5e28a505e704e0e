"""Joining."""

import numpy as np

from tests.op_table.case import Case, complexes, ints, real

CASES = [
    Case("concatenate 1d", lambda ns, x, y: ns.concatenate([x, y]), real(2), real(3)),
    Case("concatenate axis=1", lambda ns, x, y, z: ns.concatenate([x, y, z], axis=1),
         real(2, 1), real(2, 3), real(2, 0)),
    Case("concatenate axis=-1", lambda ns, x, y: ns.concatenate((x, y), axis=-1), real(2, 1), real(2, 3)),
    Case("concatenate axis=None", lambda ns, x, y: ns.concatenate([x, y], axis=None), real(2, 3), real()),
    Case("concatenate ints", lambda ns, n, x: ns.concatenate([n, x]), ints(2), real(3)),
    Case("concatenate complex", lambda ns, x, y: ns.concatenate([x, y]), complexes(2), real(3)),
    Case("concatenate dtype", lambda ns, x, y: ns.concatenate([x, y], dtype=x.dtype, casting="no"),
         real(2), real(3)),
    Case("concatenate to longdouble ints", lambda ns, x, n: ns.concatenate([x, n], dtype=np.longdouble),
         real(2), ints(3)),
    Case("concatenate twice", lambda ns, x: ns.concatenate([x, 2 * x, x]), real(2, 3)),
    Case("concatenate one", lambda ns, x: ns.concatenate([x]), real(2, 3)),
    Case("concat", lambda ns, x, y: ns.concat([x, y], axis=1), real(2, 2), real(2, 1)),
    Case("stack axis=0", lambda ns, x, y: ns.stack([x, y]), real(3), real(3)),
    Case("stack axis=1", lambda ns, x, y: ns.stack((x, y), axis=1), real(3, 2), real(3, 2)),
    Case("stack ints axis=-1", lambda ns, x, n: ns.stack([x, n, x], axis=-1), real(3, 2), ints(3, 2)),
    Case("stack 0d", lambda ns, x, y: ns.stack([x, y, x]), real(), real()),
    Case("stack numbers ints", lambda ns, x: ns.stack([1, x, 2.5]), real()),
    Case("hstack vectors", lambda ns, x, y: ns.hstack([x, y]), real(2), real()),
    Case("hstack matrices", lambda ns, x, y: ns.hstack([x, y], dtype=x.dtype), real(2, 1), real(2, 3)),
    Case("vstack rows", lambda ns, x, y: ns.vstack([x, y]), real(3), real(2, 3)),
    Case("dstack vectors", lambda ns, x, y: ns.dstack([x, y]), real(3), real(3)),
    Case("dstack matrices", lambda ns, x, y: ns.dstack([x, y]), real(2, 3), real(2, 3, 2)),
    Case("column_stack", lambda ns, x, y: ns.column_stack([x, y]), real(2), real(2, 2)),
    Case("append flat", lambda ns, x, y: ns.append(x, y), real(2, 2), real()),
    Case("append axis=0", lambda ns, x, y: ns.append(x, y, axis=0), real(2, 2), real(1, 2)),
]  # fmt: skip
