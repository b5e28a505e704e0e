"""Reductions over axes."""

from tests.op_table.case import Case, bools, call, grid, nonzero, real, reduction, zeros_at

CASES = [
    *reduction("sum", real),
    *reduction("mean", real),
    *reduction("max", grid),
    *reduction("min", grid),
    *reduction("prod", nonzero),
    *reduction("var", real, ddof=0),
    *reduction("var", real, ddof=1),
    *reduction("std", grid, ddof=0),
    *reduction("std", grid, ddof=1),
    *reduction("logsumexp", real),
    *(Case(f"{op} axis=()", call(op, axis=()), grid(2, 3))
      for op in ("sum", "mean", "max", "min", "prod", "logsumexp")),
    *(Case(f"{op} 0d", call(op), grid())
      for op in ("sum", "mean", "max", "min", "prod", "var", "logsumexp")),
    *(Case(f"{op} empty axis={axis}", call(op, axis=axis), real(0, 3))
      for op in ("sum", "prod") for axis in (None, 0, 1)),
    *(Case(f"{op} empty", call(op, axis=1), real(0, 3))
      for op in ("mean", "max", "min", "var", "std", "logsumexp")),
    Case("prod one zero", call("prod"), zeros_at(1)(5)),
    Case("prod two zeros", call("prod"), zeros_at(1, 3)(5)),
    Case("prod three zeros", call("prod"), zeros_at(0, 1, 3)(4)),
    Case("prod zeros axis=0", call("prod", axis=0), zeros_at(0, 1, 4)(3, 3)),
    Case("prod one element", call("prod", axis=1), real(3, 1)),
    Case("sum bools to ints", lambda ns, m, x: ns.sum(m, axis=0) * x, bools(4, 3), real(3)),
    Case("std square", lambda ns, x: ns.square(ns.std(x, axis=0)), grid(3, 2)),
]  # fmt: skip
