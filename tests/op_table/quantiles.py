"""Medians, quantiles and percentiles."""

from typing import Any

from tests.op_table.case import Argument, Case, call, complexes, grid, told
from tests.op_table.nanreductions import holes_in_grid

METHODS = (
    "averaged_inverted_cdf",
    "closest_observation",
    "hazen",
    "higher",
    "interpolated_inverted_cdf",
    "inverted_cdf",
    "linear",
    "lower",
    "median_unbiased",
    "midpoint",
    "nearest",
    "normal_unbiased",
    "weibull",
)


def shares(*shape: int) -> Argument:
    """Between those at which one of 2 or 4 elements takes over from the next, by the linear method."""
    return Argument(shape, lambda rng, shape: (rng.integers(0, 3, shape) + rng.uniform(0.3, 0.7, shape)) / 3)


def at(op: str, q: Any, **options: Any) -> Any:
    return lambda ns, x: getattr(ns, op)(x, q, **options)


CASES = [
    Case("median all", call("median"), grid(3, 2)),
    Case("nanmedian all", call("nanmedian"), holes_in_grid(3, 2)),
    *(Case(f"{op} {told(axis=axis, keepdims=keep)}", call(op, axis=axis, keepdims=keep), holes(2, 5, 3))
      for op, holes in (("median", grid), ("nanmedian", holes_in_grid))
      for axis, keep in ((1, False), (-1, True), ((0, 2), False), ((2, 0), True))),
    Case("median 0d", call("median"), grid()),
    Case("median empty", call("median", axis=1), grid(0, 3)),
    Case("median complex", call("median", axis=0), complexes(4, 2)),
    *(Case(f"quantile {method}", at("quantile", 0.37, axis=1, method=method), grid(2, 5))
      for method in METHODS),
    Case("quantile least", at("quantile", 0.0), grid(5)),
    Case("quantile largest", at("quantile", 1, axis=0), grid(3, 2)),
    Case("quantile 0d", at("quantile", 0.3), grid()),
    *(Case(f"{op} of many", lambda ns, x, q, op=op: getattr(ns, op)(x, q, axis=0), holes(4, 3), shares(2))
      for op, holes in (("quantile", grid), ("nanquantile", grid))),
    Case("quantile of a table", lambda ns, x, q: ns.quantile(x, q, axis=(0, 2), keepdims=True),
         grid(2, 3, 2), shares(2, 2)),
    Case("quantile of all", lambda ns, x, q: ns.quantile(x, q), grid(4), shares()),
    Case("percentile", at("percentile", 30), grid(5)),
    Case("percentile of many", lambda ns, x, q: ns.percentile(x, 100 * q, axis=1), grid(2, 4), shares(3)),
    Case("nanquantile", at("nanquantile", 0.37, axis=1), holes_in_grid(2, 6)),
    Case("nanquantile method", at("nanquantile", 0.37, axis=1, method="hazen", keepdims=True),
         holes_in_grid(2, 6)),
    Case("nanpercentile", at("nanpercentile", 37), holes_in_grid(2, 3)),
]  # fmt: skip
