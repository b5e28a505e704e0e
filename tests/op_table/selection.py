"""Choices, comparisons, rounding."""

import numpy as np

from tests.op_table.case import (
    Case,
    Domain,
    _domain,
    binary,
    bools,
    call,
    grid,
    ints,
    joined,
    other_grid,
    real,
    told,
    unary,
)

infinite = _domain(lambda rng, s: rng.choice([-np.inf, -1.0, 1.0, np.inf, np.nan], s))
holes = _domain(lambda rng, s: np.where(np.arange(s[-1]) % 2, np.nan, grid(*s).draw(rng, s)))
steps = _domain(lambda rng, s: rng.integers(-1, 2, s))


def position(op: str, domain: Domain) -> list[Case]:
    """A reduction to an index, which takes one axis at most."""
    return [
        Case(f"{op} {told(axis=axis, keepdims=keep)}", call(op, axis=axis, keepdims=keep),
             domain(2, 3, 2), has_derivative=False)
        for axis in (None, 0, -1)
        for keep in (False, True)
    ]  # fmt: skip


CASES = [
    *binary("maximum", grid, other_grid),
    *binary("minimum", grid, other_grid),
    *(Case(f"{op} {joined([s, t])}", call(op), grid(*s), other_grid(*t))
      for op in ("fmax", "fmin", "copysign")
      for s, t in (((), ()), ((2, 3), (3,)), ((2, 1), (3,)), ((0, 3), (1,)))),
    Case("fmax nan", call("fmax"), holes(2, 3), other_grid(3)),
    *(Case(f"heaviside ints {joined([s, t])}", call("heaviside"), steps(*s), real(*t))
      for s, t in (((), ()), ((2, 3), (3,)), ((0, 3), (1,)))),
    Case("maximum x,0", lambda ns, x: ns.maximum(x, 0), grid(2, 3)),
    Case("minimum 1,x", lambda ns, x: ns.minimum(1.0, x), grid(2, 3)),
    Case("where (2,3)", call("where"), bools(2, 3), real(2, 3), real(2, 3)),
    Case("where broadcast", call("where"), bools(3, 1), real(4), real()),
    Case("where broadcast condition", call("where"), bools(2, 3, 4), real(3, 1), real(4)),
    Case("where 0d", call("where"), bools(), real(), real()),
    Case("where empty", call("where"), bools(0, 3), real(3), real(1, 1)),
    Case("where x>0", lambda ns, x: ns.where(ns.greater(x, 0), x, 2 * x), grid(2, 3)),
    Case("where constant", lambda ns, x: ns.where(ns.less(x, 0), x, 0), grid(2, 3)),
    *(case for op in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
      for case in binary(op, ints, ints, has_derivative=False)),
    *(case for op in ("logical_and", "logical_or", "logical_xor")
      for case in binary(op, bools, bools, has_derivative=False)),
    *(case for op in ("isnan", "isinf", "isfinite", "sign", "logical_not")
      for case in unary(op, grid, has_derivative=False)),
    *(Case(f"{op} {joined([s])}", call(op), infinite(*s), has_derivative=False)
      for op in ("isposinf", "isneginf", "signbit") for s in ((), (2, 3), (0, 3))),
    Case("isposinf ints", call("isposinf"), ints(3), has_derivative=False),
    Case("less floats", call("less"), grid(2, 3), grid(3), has_derivative=False),
    Case("equal floats", call("equal"), grid(2, 3), grid(3), has_derivative=False),
    Case("isclose", lambda ns, x, y: ns.isclose(x, y, atol=0.5), grid(2, 3), grid(3), has_derivative=False),
    Case(
        "isclose tolerances",
        lambda ns, x, y, rtol, atol: ns.isclose(x, y, rtol, atol, equal_nan=True),
        *(grid(2, 3), grid(3), grid(3), grid(2, 1)),
        has_derivative=False,
    ),
    Case("all axis", lambda ns, x: ns.all(x, 1), bools(2, 3), has_derivative=False),
    Case("any keepdims", lambda ns, x: ns.any(x, keepdims=True), bools(2, 3), has_derivative=False),
    *position("argmax", grid),
    *position("argmin", grid),
]  # fmt: skip
