"""Variances and standard deviations."""

import numpy as np

from tests.op_table.case import Case, bools, call, complexes, grid, real, reduction, told

HALF = np.array([[True, False, True], [False, True, True]])

CASES = [
    *reduction("var", real),
    *reduction("std", grid),
    *(Case(f"{op} {told(axis=axis)} ddof=1", call(op, axis=axis, ddof=1), grid(2, 3, 2))
      for op in ("var", "std") for axis in (None, 1)),
    Case("var correction", call("var", axis=1, correction=1), real(2, 3)),
    Case("var 0d", call("var"), grid()),
    *(Case(f"{op} empty", call(op, axis=1), real(0, 3)) for op in ("var", "std")),
    Case("std square", lambda ns, x: ns.square(ns.std(x, axis=0)), grid(3, 2)),
    *(Case(f"{op} complex", call(op, axis=1, ddof=1), complexes(2, 3)) for op in ("var", "std")),
    *(Case(f"{op} where", lambda ns, x, op=op: getattr(ns, op)(x, axis=1, where=HALF), grid(2, 3))
      for op in ("var", "std")),
    Case("var where ddof=1", lambda ns, x: ns.var(x, axis=1, ddof=1, keepdims=True, where=HALF), real(2, 3)),
    Case("std where all", lambda ns, x, m: ns.std(x, where=m), grid(8, 3), bools(8, 3)),
    Case("var complex where", lambda ns, x: ns.var(x, axis=1, where=HALF), complexes(2, 3)),
    *(Case(f"{op} mean", lambda ns, x, m, op=op: getattr(ns, op)(x, axis=1, mean=m), grid(2, 3), real(2, 1))
      for op in ("var", "std")),
    Case("var complex mean", lambda ns, x, m: ns.var(x, axis=0, mean=m), complexes(2, 3), complexes(3)),
    Case("std mean where", lambda ns, x, m: ns.std(x, mean=m, where=HALF), grid(2, 3), real(1, 1)),
    Case("var dtype of ints", lambda ns, x: ns.var(x, axis=0, dtype=np.float64), real(2, 3)),
]  # fmt: skip
