"""Functions that are called on pieces and rows."""

import numpy as np

from tests.op_table.case import Case, complexes, grid, real

CASES = [
    Case("piecewise functions", lambda ns, x: ns.piecewise(
         x, [ns.less(x, 0), ns.greater(x, 0.6)], [ns.negative, ns.exp, lambda v: v * v]), grid(2, 3)),
    Case("piecewise constants", lambda ns, x, c: ns.piecewise(
         x, [ns.less(x, 0), ns.less(x, 0.6)], [c, 2, lambda v, k, p=1: k * v**p], 3.0, p=2), grid(5), real()),
    Case("piecewise one condition", lambda ns, x: ns.piecewise(x, [ns.less(x, 0)], [ns.sin]), grid(4)),
    Case("piecewise overlapping arrays", lambda ns, x, y: ns.piecewise(
         x, [ns.less(x, 0.6), ns.less(x, 0)], [lambda v: v * v, y]), grid(2, 2), real(2)),
    Case("piecewise 0d", lambda ns, x: ns.piecewise(x, [ns.less(x, 0), ns.greater(x, 0)], [ns.sin, ns.cos]),
         grid()),
    Case("apply_along_axis scalar", lambda ns, x: ns.apply_along_axis(
         lambda v: ns.sum(v * v) * v[0], 0, x), real(3, 2)),
    Case("apply_along_axis matrix", lambda ns, x: ns.apply_along_axis(
         lambda v, w: v[:, None] * w * v, 1, x, np.arange(3, dtype=np.int8)), real(2, 3, 2)),
    Case("apply_along_axis 1d complex", lambda ns, x: ns.apply_along_axis(ns.square, -1, x), complexes(2)),
    Case("apply_over_axes sum", lambda ns, x: ns.apply_over_axes(ns.sum, x * x, [0, -1]), real(2, 3, 2)),
    Case("apply_over_axes kept", lambda ns, x: ns.apply_over_axes(
         lambda v, axis: v * ns.sum(v, axis=axis, keepdims=True), x, 0), real(2, 3)),
]  # fmt: skip
