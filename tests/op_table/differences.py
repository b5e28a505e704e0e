"""Differences between neighbours, slopes and integrals."""

import numpy as np

from tests.op_table.case import Argument, Case, bools, call, complexes, ints, real


def positions(count: int) -> Argument:
    """Ascending numbers, unevenly spaced."""
    return Argument((count,), lambda rng, shape: np.cumsum(rng.uniform(0.5, 1.5, shape)))


CASES = [
    Case("diff", call("diff"), real(4)),
    Case("diff twice", call("diff", n=2, axis=0), real(5, 2)),
    Case("diff thrice", call("diff", n=3, axis=1), real(2, 5)),
    Case("diff not at all", call("diff", n=0), real(3)),
    Case("diff too often", call("diff", n=5), real(3)),
    Case("diff empty", call("diff", axis=0), real(0, 3)),
    Case("diff complex", call("diff"), complexes(2, 3)),
    Case("diff bools", call("diff"), bools(2, 4), has_derivative=False),
    Case("diff prepend", lambda ns, x, y: ns.diff(x, axis=0, prepend=y), real(3, 2), real()),
    Case("diff both", lambda ns, x, y, z: ns.diff(x, n=2, prepend=y, append=z),
         real(2, 3), real(2, 2), real(2, 1)),
    Case("ediff1d", call("ediff1d"), real(2, 3)),
    Case("ediff1d ends", lambda ns, x, y, z: ns.ediff1d(x, y, z), real(4), real(2), real()),
    Case("ediff1d one element", lambda ns, x, y: ns.ediff1d(x, to_begin=y), real(1), real(2)),
    Case("ediff1d empty", call("ediff1d"), real(0)),
    Case("ediff1d complex", call("ediff1d"), complexes(3)),
    Case("gradient", call("gradient"), real(5)),
    Case("gradient two", call("gradient"), real(2)),
    Case("gradient axes", lambda ns, x: ns.stack(ns.gradient(x)), real(3, 4)),
    Case("gradient axis", call("gradient", axis=-1, edge_order=2), real(2, 4)),
    Case("gradient distance", lambda ns, x, h: ns.gradient(x, h + 2, axis=0), real(3, 2), real()),
    Case("gradient distance second", lambda ns, x, h: ns.gradient(x, h + 2, edge_order=2), real(4), real()),
    *(Case(f"gradient positions {k}", lambda ns, f, x, k=k: ns.gradient(f, x, axis=1, edge_order=k),
           real(2, 4), positions(4)) for k in (1, 2)),
    Case("gradient mixed", lambda ns, f, x: ns.stack(ns.gradient(f, 0.5, x)), real(3, 4), positions(4)),
    Case("gradient even positions of ints", lambda ns, f: ns.gradient(f, np.arange(4) * 0.5), real(4)),
    Case("gradient complex", call("gradient"), complexes(4)),
    Case("gradient of ints", lambda ns, n, x: ns.gradient(n) * x, ints(4), real(4)),
]  # fmt: skip
