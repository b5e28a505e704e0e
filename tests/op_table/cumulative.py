"""Sums, products and extremes up to each element."""

import numpy as np

from tests.op_table.case import Case, call, complexes, grid, nonzero, real, zeros_at

RUNNING = ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp")

CASES = [
    *(Case(f"{op} flat", call(op), grid(2, 3)) for op in RUNNING),
    *(Case(f"{op} axis={axis}", call(op, axis=axis), (nonzero if op == "cumprod" else grid)(2, 11, 2))
      for op in RUNNING for axis in (1, -2)),
    *(Case(f"{op} 0d", call(op), grid()) for op in RUNNING),
    *(Case(f"{op} empty axis={axis}", call(op, axis=axis), real(0, 3)) for op in RUNNING for axis in (0, 1)),
    *(Case(f"{op} complex", call(op, axis=0), complexes(3, 2)) for op in ("cumsum", "cumprod")),
    *(Case(f"{op} dtype of ints", call(op, dtype=np.float64), real(3)) for op in ("cumsum", "cumprod")),
    Case("cumsum to ints", call("cumsum", dtype=int), grid(3), has_derivative=False),
    Case("cumprod one zero", call("cumprod"), zeros_at(1)(5)),
    Case("cumprod zeros", call("cumprod", axis=0), zeros_at(0, 4, 5, 9)(10, 2)),
    *(Case(f"{op} {initial}", call(op, axis=1, include_initial=initial), nonzero(2, 3))
      for op in ("cumulative_sum", "cumulative_prod") for initial in (False, True)),
    *(Case(f"{op} one axis", call(op, include_initial=True), nonzero(3))
      for op in ("cumulative_sum", "cumulative_prod")),
]  # fmt: skip
