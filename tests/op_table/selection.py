"""Choices, comparisons, rounding."""

from tests.op_table.case import (
    Case,
    Domain,
    binary,
    bools,
    call,
    grid,
    ints,
    other_grid,
    positive,
    real,
    told,
    unary,
)


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
    Case("maximum x,0", lambda ns, x: ns.maximum(x, 0), grid(2, 3)),
    Case("minimum 1,x", lambda ns, x: ns.minimum(1.0, x), grid(2, 3)),
    Case("where (2,3)", call("where"), bools(2, 3), real(2, 3), real(2, 3)),
    Case("where broadcast", call("where"), bools(3, 1), real(4), real()),
    Case("where broadcast condition", call("where"), bools(2, 3, 4), real(3, 1), real(4)),
    Case("where 0d", call("where"), bools(), real(), real()),
    Case("where empty", call("where"), bools(0, 3), real(3), real(1, 1)),
    Case("where x>0", lambda ns, x: ns.where(ns.greater(x, 0), x, 2 * x), grid(2, 3)),
    Case("where constant", lambda ns, x: ns.where(ns.less(x, 0), x, 0), grid(2, 3)),
    Case("clip both", lambda ns, x: ns.clip(x, -0.5, 0.7), grid(2, 3)),
    Case("clip low", lambda ns, x: ns.clip(x, -0.5, None), grid(2, 3)),
    Case("clip high", lambda ns, x: ns.clip(x, None, 0.7), grid(2, 3)),
    Case("clip arrays", call("clip"), grid(3, 1), other_grid(4), positive(1, 1)),
    *(case for op in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
      for case in binary(op, ints, ints, has_derivative=False)),
    *(case for op in ("logical_and", "logical_or", "logical_xor")
      for case in binary(op, bools, bools, has_derivative=False)),
    *(case for op in ("bitwise_and", "bitwise_or", "bitwise_xor")
      for case in binary(op, ints, ints, has_derivative=False)),
    *(case for op in ("isnan", "isinf", "isfinite", "sign", "floor", "ceil", "trunc", "rint", "logical_not")
      for case in unary(op, grid, has_derivative=False)),
    Case("less floats", call("less"), grid(2, 3), grid(3), has_derivative=False),
    Case("equal floats", call("equal"), grid(2, 3), grid(3), has_derivative=False),
    *unary("invert", bools, has_derivative=False),
    Case("isclose", lambda ns, x, y: ns.isclose(x, y, atol=0.5), grid(2, 3), grid(3), has_derivative=False),
    Case("all axis", lambda ns, x: ns.all(x, 1), bools(2, 3), has_derivative=False),
    Case("any keepdims", lambda ns, x: ns.any(x, keepdims=True), bools(2, 3), has_derivative=False),
    *position("argmax", grid),
    *position("argmin", grid),
]  # fmt: skip
