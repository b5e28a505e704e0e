"""Elementary functions."""

from typing import Any

from tests.op_table.case import (
    Case,
    Domain,
    _domain,
    call,
    complexes,
    grid,
    ints,
    joined,
    nonzero,
    positive,
    real,
    unary,
)

inside = _domain(lambda rng, s: rng.uniform(-0.6, 0.6, s))
above_one = _domain(lambda rng, s: rng.uniform(1.5, 3, s))


def _slope(x: Any) -> Any:
    return 3 * x * x


ONE: dict[str, Domain] = {
    "arccos": inside, "arccosh": above_one, "arcsin": inside, "arcsinh": real, "arctanh": inside,
    "cbrt": nonzero, "cosh": real, "deg2rad": real, "degrees": real, "exp2": real, "fabs": grid,
    "log10": positive, "log2": positive, "rad2deg": real, "radians": real, "sinh": real,
}  # fmt: skip
ALIASES: dict[str, Domain] = {
    "acos": inside, "acosh": above_one, "asin": inside, "asinh": real, "atan": real, "atanh": inside
}  # fmt: skip
TWO: dict[str, Domain] = {"arctan2": nonzero, "hypot": nonzero, "logaddexp": real, "logaddexp2": real}

CASES = [
    *(Case(f"{op} {joined([s])}", call(op), domain(*s))
      for op, domain in ONE.items() for s in ((), (2, 3), (0, 3))),
    *(Case(op, call(op), domain(3)) for op, domain in ALIASES.items()),
    Case("atan2", call("atan2"), nonzero(3), nonzero(3)),
    *(Case(f"{op} {joined([s, t])}", call(op), domain(*s), domain(*t))
      for op, domain in TWO.items() for s, t in (((), ()), ((2, 3), (3,)), ((2, 1), (3,)), ((0, 3), (1,)))),
    Case("hypot x,2.0", lambda ns, x: ns.hypot(x, 2.0), real(3)),
    Case("logaddexp ints", call("logaddexp"), ints(3), real(2, 3)),
    *unary("exp", real),
    *unary("expm1", real),
    *unary("log", positive),
    *unary("log1p", positive),
    *unary("sqrt", positive),
    *unary("square", real),
    *unary("reciprocal", nonzero),
    *unary("sin", real),
    *unary("cos", real),
    *unary("tan", real),
    *unary("arctan", real),
    *unary("erf", real),
    *unary("tanh", real),
    *unary("sigmoid", real),
    *(Case(f"sigmoid complex {joined([s])}", call("sigmoid"), complexes(*s)) for s in ((), (2, 3), (0, 3))),
    *unary("relu", grid),
    *unary("softplus", real),
    Case("apply x**3", lambda ns, x: ns.apply(x, lambda a: a**3, _slope), real(2, 3)),
    Case("apply 0d", lambda ns, x: ns.apply(x, lambda a: a**3, _slope), real()),
]  # fmt: skip
