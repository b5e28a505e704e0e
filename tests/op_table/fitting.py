"""Fitting polynomials to points."""

import numpy as np

from tests.op_table.case import Argument, Case, positive, real

points = Argument((6,), lambda rng, shape: np.arange(6.0) - 2.5 + rng.uniform(-0.2, 0.2, shape))

# "ints" marks what NumPy does not compute in half precision.

CASES = [
    Case("polyfit ints", lambda ns, x, y: ns.polyfit(x, y, 2), points, real(6)),
    Case("polyfit ints columns", lambda ns, x, y: ns.polyfit(x, y, 1), points, real(6, 2)),
    Case("polyfit ints weights", lambda ns, x, y, w: ns.polyfit(x, y, 1, w=w), points, real(6), positive(6)),
    Case("polyfit ints covariance", lambda ns, x, y: ns.polyfit(x, y, 1, cov=True)[1], points, real(6)),
    Case("polyfit ints unscaled", lambda ns, x, y: ns.polyfit(x, y, 1, cov="unscaled")[1],
         points, real(6, 2)),
    Case("polyfit ints residuals", lambda ns, x, y: ns.polyfit(x, y, 1, full=True)[1], points, real(6)),
]  # fmt: skip
