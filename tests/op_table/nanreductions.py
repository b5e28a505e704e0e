"""Reductions that leave NaN out."""

from typing import Any

import numpy as np

from tests.op_table.case import Case, Domain, Shape, bools, call, complexes, grid, nonzero, other_grid, real


def with_nan(domain: Domain) -> Domain:
    """The same, but for NaN at the second of every four elements."""

    def spoiled(*shape: int) -> Any:
        argument = domain(*shape)

        def draw(rng: np.random.Generator, shape: Shape) -> np.ndarray:
            x = argument.draw(rng, shape).copy()
            x.flat[1::4] = np.nan
            return x

        return type(argument)(argument.shape, draw)

    return spoiled


MEANS = ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin")
HALF = np.array([[True, False, True, True], [False, True, True, True]])
holes, holes_in_grid, complex_holes = with_nan(nonzero), with_nan(grid), with_nan(complexes)

CASES = [
    *(Case(f"{op} all", call(op), holes_in_grid(2, 3)) for op in MEANS),
    *(Case(f"{op} axis=1", call(op, axis=1, keepdims=True), holes_in_grid(2, 3, 2)) for op in MEANS),
    *(Case(f"{op} without any", call(op, axis=(0, 2)), grid(2, 3, 2)) for op in MEANS),
    *(Case(f"{op} complex", call(op, axis=1), complex_holes(2, 4))
      for op in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd")),
    *(Case(f"{op} where", lambda ns, x, op=op: getattr(ns, op)(x, axis=1, where=HALF), holes_in_grid(2, 4))
      for op in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd")),
    *(Case(f"{op} initial", lambda ns, x, y, op=op: getattr(ns, op)(x, axis=1, where=HALF, initial=y),
           holes_in_grid(2, 4), other_grid())
      for op in ("nansum", "nanprod", "nanmax", "nanmin")),
    *(Case(f"{op} mean", lambda ns, x, m, op=op: getattr(ns, op)(x, axis=1, ddof=1, mean=m),
           holes_in_grid(2, 4), real(2, 1))
      for op in ("nanvar", "nanstd")),
    *(Case(f"{op} to ints", lambda ns, x, m, op=op: x * getattr(ns, op)(m, axis=0), real(3), bools(2, 3))
      for op in ("nansum", "nanmax")),
    *(Case(f"{op} {axis}", call(op, axis=axis), holes_in_grid(3, 3), has_derivative=False)
      for op in ("nanargmax", "nanargmin") for axis in (None, 0)),
    Case("nanargmax keepdims", call("nanargmax", keepdims=True), holes_in_grid(3, 4), has_derivative=False),
    *(Case(f"{op} {axis}", call(op, axis=axis), holes(2, 4))
      for op in ("nancumsum", "nancumprod") for axis in (None, 1)),
]  # fmt: skip
