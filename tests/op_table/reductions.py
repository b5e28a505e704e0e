"""Reductions over axes."""

from typing import Any

import numpy as np

from tests.op_table.case import (
    Case,
    Domain,
    bools,
    call,
    complexes,
    grid,
    nonzero,
    other_grid,
    real,
    reduction,
    told,
    zeros_at,
)

HALF = np.array([[True, False, True], [False, False, True]])


def of_some(op: str, domain: Domain, **options: Any) -> Case:
    """A reduction of the elements that an array selects; another one for each batch and replay."""
    return Case(
        f"{op} where {told(**options)}",
        lambda ns, x, condition: getattr(ns, op)(x, where=condition, **options),
        domain(2, 3),
        bools(2, 3),
    )


CASES = [
    *reduction("sum", real),
    *reduction("mean", real),
    *reduction("max", grid),
    *reduction("min", grid),
    *reduction("prod", nonzero),
    *reduction("logsumexp", real),
    *(Case(f"{op} axis=()", call(op, axis=()), grid(2, 3))
      for op in ("sum", "mean", "max", "min", "prod", "logsumexp")),
    *(Case(f"{op} 0d", call(op), grid()) for op in ("sum", "mean", "max", "min", "prod", "logsumexp")),
    *(Case(f"{op} empty axis={axis}", call(op, axis=axis), real(0, 3))
      for op in ("sum", "prod") for axis in (None, 0, 1)),
    *(Case(f"{op} empty", call(op, axis=1), real(0, 3)) for op in ("mean", "max", "min", "logsumexp")),
    Case("prod one zero", call("prod"), zeros_at(1)(5)),
    Case("prod two zeros", call("prod"), zeros_at(1, 3)(5)),
    Case("prod three zeros", call("prod"), zeros_at(0, 1, 3)(4)),
    Case("prod zeros axis=0", call("prod", axis=0), zeros_at(0, 1, 4)(3, 3)),
    Case("prod one element", call("prod", axis=1), real(3, 1)),
    Case("sum bools to ints", lambda ns, m, x: ns.sum(m, axis=0) * x, bools(4, 3), real(3)),
    *(Case(f"{op} complex", call(op, axis=1), complexes(2, 3)) for op in ("sum", "mean", "prod")),
    Case("max complex", lambda ns, x, y: ns.max(x + 1j * y, axis=0), grid(3, 2), real(3, 2)),
    of_some("sum", real),
    of_some("sum", real, axis=1, keepdims=True),
    of_some("prod", nonzero, axis=0),
    of_some("max", grid, axis=1, initial=0.0),
    of_some("min", grid, initial=0.0),
    Case("mean where", lambda ns, x: ns.mean(x, axis=1, where=HALF), real(2, 3)),
    Case("mean where column", lambda ns, x: ns.mean(x, where=HALF[:, :1]), real(2, 3)),
    Case("sum initial", lambda ns, x, y: ns.sum(x, axis=0, initial=y), real(2, 3), real()),
    Case("prod initial", lambda ns, x, y: ns.prod(x, axis=1, initial=y), nonzero(2, 3), nonzero()),
    Case("prod initial where zeros", lambda ns, x, y: ns.prod(x, axis=1, initial=y, where=HALF),
         zeros_at(0, 1)(2, 3), nonzero()),
    Case("max initial", lambda ns, x, y: ns.max(x, axis=1, initial=y, keepdims=True),
         grid(2, 3), other_grid()),
    Case("min initial where", lambda ns, x, y: ns.min(x, initial=y, where=HALF), grid(2, 3), other_grid()),
    Case("sum complex where initial", lambda ns, x, y: ns.sum(x, axis=0, initial=y, where=HALF),
         complexes(2, 3), complexes()),
    *(Case(f"{op} dtype of ints", call(op, axis=0, dtype=np.float64), real(2, 3))
      for op in ("sum", "prod", "mean")),
    Case("sum to ints", lambda ns, x: ns.sum(x, dtype=int), grid(2, 3), has_derivative=False),
    Case("ptp", call("ptp", axis=1), grid(2, 3)),
    Case("ptp keepdims", call("ptp", keepdims=True), grid(2, 3)),
]  # fmt: skip
