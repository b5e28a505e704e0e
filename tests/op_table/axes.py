"""The order of axes, and of the elements along them."""

from tests.op_table.case import SHAPES, Case, call, joined, real

CASES = [
    *(Case(f"transpose {joined([s])}", call("transpose"), real(*s)) for s in SHAPES),
    Case("transpose (2,0,1)", lambda ns, x: ns.transpose(x, (2, 0, 1)), real(2, 3, 4)),
    Case("transpose negative", lambda ns, x: ns.transpose(x, (-1, 0, -2)), real(2, 3, 4)),
    Case("permute_dims", lambda ns, x: ns.permute_dims(x, (1, 2, 0)), real(2, 3, 4)),
    Case("matrix_transpose", call("matrix_transpose"), real(2, 3, 4)),
    Case("swapaxes 0,-1", lambda ns, x: ns.swapaxes(x, 0, -1), real(2, 3, 4)),
    Case("swapaxes same", lambda ns, x: ns.swapaxes(x, 1, 1), real(2, 3)),
    Case("moveaxis", lambda ns, x: ns.moveaxis(x, 0, -1), real(2, 3, 4)),
    Case("moveaxis two", lambda ns, x: ns.moveaxis(x, (0, -1), (1, 0)), real(2, 3, 4)),
    Case("rollaxis", lambda ns, x: ns.rollaxis(x, 2), real(2, 3, 4)),
    Case("rollaxis to the end", lambda ns, x: ns.rollaxis(x, 0, 3), real(2, 3, 4)),
]  # fmt: skip
