"""What `numpy.linalg` does otherwise than the function of that name in the main namespace: on stacks."""

from tests.op_table.case import Case, complexes, real

CASES = [
    Case("linalg.diagonal", lambda ns, x: ns.linalg.diagonal(x, offset=1), real(2, 3, 4)),
    Case("linalg.trace", lambda ns, x: ns.linalg.trace(x), real(2, 3, 3)),
    Case("linalg.trace complex", lambda ns, x: ns.linalg.trace(x, offset=-1), complexes(3, 3)),
]
