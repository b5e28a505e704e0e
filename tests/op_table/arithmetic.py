"""The four operations, sign change and powers."""

from tests.op_table.case import Case, binary, bools, call, ints, nonzero, positive, real, unary

CASES = [
    *binary("add", real, real),
    *binary("subtract", real, real),
    *binary("multiply", real, real),
    *binary("divide", real, nonzero),
    *binary("power", positive, real),
    *unary("negative", real),
    *unary("positive", real),
    Case("power x**2", lambda ns, x: ns.power(x, 2), real(2, 3)),
    Case("power x**3", lambda ns, x: ns.power(x, 3), real(2, 3)),
    Case("power x**2.0", lambda ns, x: ns.power(x, 2.0), real(2, 3)),
    Case("power x**0.5", lambda ns, x: ns.power(x, 0.5), positive(2, 3)),
    Case("power x**-1", lambda ns, x: ns.power(x, -1), nonzero(2, 3)),
    Case("power x**1", lambda ns, x: ns.power(x, 1), real(2, 3)),
    Case("power x**0", lambda ns, x: ns.power(x, 0), real(2, 3)),
    Case("power 0d**2", lambda ns, x: ns.power(x, 2), real()),
    Case("power 2**x", lambda ns, x: ns.power(2.0, x), real(2, 3)),
    Case("power x**n ints", lambda ns, x, n: ns.power(x, n), nonzero(2, 3), ints(3)),
    Case("multiply x*x", lambda ns, x: ns.multiply(x, x), real(2, 3)),
    Case("divide x/x*x", lambda ns, x: ns.divide(x, ns.multiply(x, x)), nonzero(2, 3)),
    Case("add ints", call("add"), real(2, 3), ints(2, 3)),
    Case("multiply ints", call("multiply"), ints(3), real(2, 3)),
    Case("divide ints", call("divide"), ints(3), nonzero(2, 3)),
    Case("multiply bools", call("multiply"), real(2, 3), bools(2, 3)),
]  # fmt: skip
