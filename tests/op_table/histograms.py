"""Histograms."""

import numpy as np

from tests.op_table.case import Case, grid, ints, real

EDGES = np.array([-1.0, -0.3, 0.5, 2.0])
STILL = {"has_derivative": False}

CASES = [
    Case("histogram", lambda ns, x: ns.histogram(x, EDGES)[0], grid(2, 3), **STILL),
    Case("histogram count", lambda ns, x: ns.histogram(x, 4)[0], grid(6), **STILL),
    Case("histogram edges", lambda ns, x: ns.histogram(x, 4)[1], grid(6)),
    Case("histogram density", lambda ns, x: ns.histogram(x, EDGES, density=True)[0], grid(6), **STILL),
    Case("histogram weights of ints", lambda ns, x, w: ns.histogram(x, EDGES, weights=w)[0],
         ints(8), real(8)),
    Case("histogram weights range of ints", lambda ns, x, w: ns.histogram(x, 3, (-2, 2), weights=w)[0],
         ints(2, 4), real(2, 4)),
    Case("histogram weights density of ints",
         lambda ns, x, w: ns.histogram(x, EDGES, density=True, weights=w + 2)[0], ints(8), real(8)),
    Case("histogram2d", lambda ns, x, y: ns.histogram2d(x, y, (2, EDGES))[0], grid(6), grid(6), **STILL),
    Case("histogram2d weights of ints", lambda ns, x, y, w: ns.histogram2d(x, y, EDGES, weights=w)[0],
         ints(9), ints(9), real(9)),
    Case("histogramdd", lambda ns, x: ns.histogramdd(x, (2, 1, 2))[0], grid(6, 3), **STILL),
    Case("histogramdd weights of ints",
         lambda ns, x, w: ns.histogramdd(x, [2, EDGES], weights=w + 2, density=True)[0], ints(7, 2), real(7)),
]  # fmt: skip
