"""Rounding, and what it leaves."""

from tests.op_table.case import Case, _domain, call, grid, ints, joined, positive, real, unary

FEW = ((), (2, 3), (0, 3))
dividend = _domain(lambda rng, s: rng.uniform(4.6, 5.4, s) * rng.choice([-1.0, 1.0], s))
divisor = _domain(lambda rng, s: rng.uniform(2.05, 2.2, s) * rng.choice([-1.0, 1.0], s))
mantissas = _domain(lambda rng, s: rng.uniform(1.1, 1.9, s) * 2.0 ** rng.integers(-1, 2, s))

CASES = [
    *(case for op in ("floor", "ceil", "trunc", "rint") for case in unary(op, grid, has_derivative=False)),
    *(Case(f"{op} {joined([s])}", call(op), grid(*s), has_derivative=False)
      for op in ("round", "spacing") for s in FEW),
    *(Case(f"round decimals={n}", call("round", decimals=n), dividend(2, 3), has_derivative=False)
      for n in (2, -1)),
    *(Case(f"round ints decimals={n}", call("round", decimals=n), ints(2, 3), has_derivative=False)
      for n in (0, 1, -1)),
    Case("around", call("around", decimals=1), real(3), has_derivative=False),
    Case("fix", call("fix"), grid(3), has_derivative=False),
    *(Case(f"{op} {joined([s, t])}", call(op), dividend(*s), divisor(*t))
      for op in ("remainder", "fmod") for s, t in (((), ()), ((2, 3), (3,)), ((2, 1), (3,)), ((0, 3), (1,)))),
    Case("mod", call("mod"), dividend(3), divisor(3)),
    *(Case(f"floor_divide {joined([s, t])}", call("floor_divide"), dividend(*s), divisor(*t),
           has_derivative=False) for s, t in (((), ()), ((2, 3), (3,)), ((0, 3), (1,)))),
    Case("floor_divide ints", lambda ns, n: ns.floor_divide(n, 2), ints(2, 3), has_derivative=False),
    Case("divmod quotient", lambda ns, x, y: ns.divmod(x, y)[0], dividend(3), divisor(3),
         has_derivative=False),
    Case("divmod remainder", lambda ns, x, y: ns.divmod(x, y)[1], dividend(2, 1), divisor(3)),
    *(Case(f"modf fraction {joined([s])}", lambda ns, x: ns.modf(x)[0], grid(*s)) for s in FEW),
    *(Case(f"modf whole {kind}", lambda ns, x: ns.modf(x)[1], domain(2, 3), has_derivative=False)
      for kind, domain in (("floats", grid), ("ints", ints))),
    *(Case(f"frexp mantissa {joined([s])}", lambda ns, x: ns.frexp(x)[0], mantissas(*s)) for s in FEW),
    Case("frexp exponent", lambda ns, x: ns.frexp(x)[1], mantissas(2, 3), has_derivative=False),
    *(Case(f"ldexp {joined([s, t])}", call("ldexp"), real(*s), ints(*t))
      for s, t in (((), ()), ((2, 3), (3,)), ((2, 1), (3,)), ((0, 3), (1,)))),
    *(Case(f"nextafter {joined([s, t])}", call("nextafter"), positive(*s), real(*t))
      for s, t in (((), ()), ((2, 3), (3,)), ((0, 3), (1,)))),
]  # fmt: skip
