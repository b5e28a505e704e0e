"""Choosing by condition, and among several arrays."""

import numpy as np

from tests.op_table.case import Case, bools, classes, complexes, grid, ints, other_grid, real
from tests.op_table.positions import pairs, some

ENDS = np.array([0, 0, 1, 0, 1, 0], np.int8)

CASES = [
    Case("choose (2,3)", lambda ns, i, *x: ns.choose(i, x),
         classes(2, 3), real(2, 3), real(2, 3), real(2, 3), real(2, 3)),
    Case("choose broadcast wrap", lambda ns, i, x, y: ns.choose(i, [x, y, 1.5], mode="wrap"),
         ints(2, 1), real(3), real()),
    Case("choose clip", lambda ns, i, *x: ns.choose(i, x, mode="clip"), classes(3), real(3), real(2, 3)),
    Case("choose 0d", lambda ns, i, *x: ns.choose(i, x), classes(), real(), real(), real(), real()),
    Case("choose complex", lambda ns, i, x, y: ns.choose(i, [x, y, y, x]), classes(2), complexes(2), real(2)),
    Case("compress flat", lambda ns, m, x: ns.compress(m, x), some(3), real(2, 2)),
    Case("compress axis=1", lambda ns, x: ns.compress([False, True, True], x, axis=1), real(2, 4)),
    Case("compress empty", lambda ns, x: ns.compress([False, False], x, axis=0), complexes(2, 2)),
    Case("extract (2,3)", lambda ns, x: ns.extract(ns.greater(x, 0), x), grid(2, 3)),
    Case("extract by ints", lambda ns, i, x: ns.extract(i, x), pairs(3), real(3)),
    Case("select (2,3)", lambda ns, x, y: ns.select([ns.less(x, 0), ns.less(x, y)], [x * x, x * y], y),
         grid(2, 3), other_grid(2, 3)),
    Case("select broadcast", lambda ns, m, n, x, y: ns.select([m, n], [x, y]),
         bools(2, 1), bools(3), real(3), real()),
    Case("select complex", lambda ns, m, x, y: ns.select([m], [x], y), bools(3), complexes(3), real(3)),
    Case("trim_zeros both", lambda ns, x: ns.trim_zeros(ns.multiply(x, ENDS)), grid(6)),
    Case("trim_zeros front", lambda ns, x: ns.trim_zeros(ns.multiply(x, ENDS), "f"), grid(2, 6)),
    Case("trim_zeros axis=0", lambda ns, x: ns.trim_zeros(ns.multiply(x, ENDS[:, None]), axis=0), grid(6, 2)),
]  # fmt: skip
