"""Complex numbers: their parts, and operations of other families on them."""

import numpy as np

from tests.op_table.case import Case, _domain, call, complexes, grid, joined, real, unary, upper

near = _domain(lambda rng, s: (rng.uniform(-1, 1, s) + 1j * rng.uniform(-1, 1, s)) / 2)
half_nan = _domain(lambda rng, s: rng.uniform(-1, 1, s) + 1j * np.where(np.arange(s[0]) % 2, np.nan, 1.0))

CASES = [
    *unary("absolute", grid),
    Case("absolute complex", call("absolute"), upper(2, 3)),
    Case("absolute complex 0d", call("absolute"), upper()),
    Case("abs", call("abs"), grid(3)),
    *(Case(f"angle {joined([s])}", call("angle"), upper(*s)) for s in ((), (2, 3), (0, 3))),
    Case("angle deg=True", call("angle", deg=True), upper(3)),
    Case("angle of reals", call("angle"), grid(3)),
    Case("iscomplex", call("iscomplex"), complexes(2, 3), has_derivative=False),
    Case("iscomplex of reals", call("iscomplex"), real(2, 3), has_derivative=False),
    Case("isreal", call("isreal"), complexes(2, 3), has_derivative=False),
    Case("isreal of reals", call("isreal"), real(), has_derivative=False),
    Case("real_if_close of reals", lambda ns, x: 2 * ns.real_if_close(x), real(3)),
    Case("sign complex", call("sign"), upper(2, 3)),
    Case("maximum complex", lambda ns, z: ns.maximum(z, 2 * z + 3), upper(2, 3)),
    *(Case(f"{op} {joined([s])}", call(op), complexes(*s))
      for op in ("real", "imag", "conj", "conjugate") for s in ((), (2, 3), (0, 3))),
    *(Case(f"{op} of reals", call(op), real(2, 3)) for op in ("real", "imag", "conjugate")),
    Case("multiply complex", call("multiply"), complexes(2, 3), complexes(3)),
    Case("multiply complex by real", call("multiply"), complexes(2, 3), real(3)),
    Case("divide complex", call("divide"), complexes(2, 3), upper(3)),
    *(Case(f"{op} complex", call(op), upper(2, 3)) for op in (
        "arccosh", "cosh", "exp2", "expm1", "log", "log10", "log1p", "log2", "reciprocal", "sinc", "sinh",
        "sqrt", "square")),
    *(Case(f"{op} complex", call(op), near(2, 3)) for op in (
        "arccos", "arcsin", "arcsinh", "arctan", "arctanh", "cos", "exp", "negative", "sin", "tan",
        "tanh")),
    Case("clip complex", lambda ns, z: ns.clip(z, -2, 2 + 1j), complexes(3)),
    Case("where complex", lambda ns, z: ns.where(ns.greater(ns.real(z), 0), z, 2j * z), upper(3)),
    Case("nan_to_num complex", call("nan_to_num"), half_nan(4)),
    Case("matmul complex", call("matmul"), complexes(2, 3), complexes(3, 4)),
]  # fmt: skip
