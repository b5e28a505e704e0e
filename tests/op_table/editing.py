"""Elements put in between, or left out."""

import numpy as np

from tests.op_table.case import Case, complexes, real

MASK = np.array([True, False, True])

CASES = [
    Case("insert flat", lambda ns, x, v: ns.insert(x, 1, v), real(2, 2), real()),
    Case("insert row", lambda ns, x, v: ns.insert(x, -1, v, axis=0), real(2, 3), real(3)),
    Case("insert columns", lambda ns, x, v: ns.insert(x, 1, v, axis=1), real(2, 3), real(2, 2)),
    Case("insert column", lambda ns, x, v: ns.insert(x, [1], v, axis=1), complexes(2, 3), complexes(2, 1)),
    Case("insert several", lambda ns, x, v: ns.insert(x, [3, 0, 0], v), real(4), real(3)),
    Case("insert mask", lambda ns, x, v: ns.insert(x, MASK, v, axis=0), real(3), real(2)),
    Case("insert slice", lambda ns, x, v: ns.insert(x, slice(0, 4, 2), v, axis=0), real(4, 2), real()),
    Case("insert nothing", lambda ns, x: ns.insert(x, [], 0.0), real(3)),
    Case("delete one", lambda ns, x: ns.delete(x, -1), real(2, 2)),
    Case("delete some", lambda ns, x: ns.delete(x, [0, 2, 0], axis=1), complexes(2, 4)),
    Case("delete mask", lambda ns, x: ns.delete(x, [True, False, True], axis=0), real(3, 2)),
    Case("delete slice", lambda ns, x: ns.delete(x, slice(None, None, -2), axis=0), real(5)),
]  # fmt: skip
