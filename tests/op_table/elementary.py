"""Functions of one variable."""

from typing import Any

from tests.op_table.case import Case, grid, nonzero, positive, real, unary


def _slope(x: Any) -> Any:
    return 3 * x * x


CASES = [
    *unary("exp", real),
    *unary("expm1", real),
    *unary("log", positive),
    *unary("log1p", positive),
    *unary("sqrt", positive),
    *unary("square", real),
    *unary("reciprocal", nonzero),
    *unary("absolute", grid),
    *unary("sin", real),
    *unary("cos", real),
    *unary("tan", real),
    *unary("arctan", real),
    *unary("erf", real),
    *unary("tanh", real),
    *unary("sigmoid", real),
    *unary("relu", grid),
    *unary("softplus", real),
    Case("apply x**3", lambda ns, x: ns.apply(x, lambda a: a**3, _slope), real(2, 3)),
    Case("apply 0d", lambda ns, x: ns.apply(x, lambda a: a**3, _slope), real()),
]  # fmt: skip
