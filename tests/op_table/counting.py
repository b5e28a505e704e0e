"""Counts."""

import numpy as np

from tests.op_table.case import Case, call, classes, grid, ints, real

EDGES = np.array([-1.0, -0.3, 0.5, 2.0])
STILL = {"has_derivative": False}

CASES = [
    Case("count_nonzero", call("count_nonzero"), ints(2, 3), **STILL),
    Case("count_nonzero axis", call("count_nonzero", axis=1, keepdims=True), ints(2, 3), **STILL),
    Case("digitize", lambda ns, x: ns.digitize(x, EDGES), grid(2, 3), **STILL),
    Case("digitize right", lambda ns, x: ns.digitize(x, EDGES[::-1], right=True), grid(4), **STILL),
    Case("bincount", lambda ns, n: ns.bincount(n, minlength=5), classes(6), **STILL),
    Case("bincount weights of ints", lambda ns, n, w: ns.bincount(n, w, minlength=5), classes(6), real(6)),
]  # fmt: skip
