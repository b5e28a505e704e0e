"""Polynomials."""

from tests.op_table.case import Case, call, complexes, ints, nonzero, real

# "ints" marks what NumPy computes in double precision whatever comes in.

CASES = [
    Case("polyval", call("polyval"), real(4), real(2, 3)),
    Case("polyval 0d", call("polyval"), real(3), real()),
    Case("polyval constant", call("polyval"), real(1), real(3)),
    Case("polyval empty", call("polyval"), real(3), real(0)),
    Case("polyval no coefficients", call("polyval"), real(0), real(2)),
    Case("polyval columns", call("polyval"), real(3, 2), real(2)),
    Case("polyval ints", call("polyval"), ints(3), real(2)),
    Case("polyval complex", call("polyval"), complexes(3), complexes(2)),
    Case("polyder by ints", call("polyder"), real(4)),
    Case("polyder twice by ints", lambda ns, p: ns.polyder(p, 2), real(4)),
    Case("polyder complex by ints", call("polyder"), complexes(4)),
    Case("polyint by ints", call("polyint"), real(3)),
    Case("polyint twice by ints", lambda ns, p, k: ns.polyint(p, 2, k), real(3), real(2)),
    Case("polyint one constant by ints", lambda ns, p, k: ns.polyint(p, 2, k), real(3), real()),
    Case("polyadd", call("polyadd"), real(3), real(2)),
    Case("polyadd shorter", call("polyadd"), real(), real(3)),
    Case("polysub", call("polysub"), real(2), complexes(3)),
    Case("polysub alike", call("polysub"), real(2), real(2)),
    Case("polymul", call("polymul"), nonzero(3), nonzero(2)),
    Case("polymul leading zeros", lambda ns, p, q: ns.polymul(ns.concatenate([p - p, p]), q),
         nonzero(3), nonzero(2)),
    Case("polydiv quotient", lambda ns, u, v: ns.polydiv(u, v)[0], nonzero(4), nonzero(2)),
    Case("polydiv remainder", lambda ns, u, v: ns.polydiv(u, v)[1], nonzero(4), nonzero(3)),
    Case("polydiv by longer", lambda ns, u, v: ns.polydiv(u, v)[1], nonzero(2), nonzero(3)),
]  # fmt: skip
