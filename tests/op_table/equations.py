"""Systems of linear equations and inverses."""

from tests.op_table.case import Case, call, complexes, real, regular
from tests.op_table.determinants import regular_complex

CASES = [
    Case("solve vector", call("solve"), regular(3, 3), real(3)),
    Case("solve matrix", call("solve"), regular(3, 3), real(3, 2)),
    Case("solve stack", call("solve"), regular(2, 3, 3), real(2, 3, 2)),
    Case("solve broadcast", call("solve"), regular(2, 1, 3, 3), real(4, 3, 2)),
    Case("solve one matrix", call("solve"), regular(3, 3), real(2, 3, 1)),
    Case("solve stack vector", call("solve"), regular(2, 3, 3), real(3)),
    Case("solve complex", call("solve"), regular_complex(3, 3), complexes(3, 2)),
    Case("solve complex by real", call("solve"), regular(3, 3), complexes(3)),
    Case("linalg.inv", lambda ns, a: ns.linalg.inv(a), regular(3, 3)),
    Case("linalg.inv stack", lambda ns, a: ns.linalg.inv(a), regular(2, 3, 3)),
    Case("linalg.inv complex", lambda ns, a: ns.linalg.inv(a), regular_complex(2, 2)),
    Case("linalg.inv empty", lambda ns, a: ns.linalg.inv(a), regular(2, 0, 0)),
    Case("linalg.tensorsolve", lambda ns, a, b: ns.linalg.tensorsolve(ns.reshape(a, (2, 2, 4)), b),
         regular(4, 4), real(2, 2)),
    Case("linalg.tensorsolve axes", lambda ns, a, b: ns.linalg.tensorsolve(ns.reshape(a, (2, 4, 2)), b, (0,)),
         regular(4, 4), real(4)),
    Case("linalg.tensorinv", lambda ns, a: ns.linalg.tensorinv(ns.reshape(a, (2, 2, 4))), regular(4, 4)),
    Case("linalg.tensorinv ind=1", lambda ns, a: ns.linalg.tensorinv(ns.reshape(a, (4, 2, 2)), 1),
         regular(4, 4)),
]  # fmt: skip
