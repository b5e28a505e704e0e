"""Norms and condition numbers."""

import numpy as np

from tests.op_table.case import Case, _domain, grid, nonzero, real, upper
from tests.op_table.singular import spread, spread_complex


def _spaced(rng, s):
    """No element near 0, and no two columns or rows of one sum."""
    return rng.uniform(0.55, 0.65, s) * np.add.outer(1.0 + np.arange(s[-2]), 2.0 * np.arange(s[-1]))


spaced = _domain(_spaced)
spaced_complex = _domain(lambda rng, s: _spaced(rng, s) * np.exp(1j * rng.uniform(0.4, 0.6, s)))

# Its inverses are spaced, too.
sturdy = _domain(lambda rng, s: np.array([[3.0, 1], [-1, 2]]) + rng.uniform(-0.1, 0.1, s))


def norm(*args, **kwargs):
    return lambda ns, x: ns.linalg.norm(x, *args, **kwargs)


def told(*args):
    return " ".join(map(str, args)).replace(", ", ",")


VECTOR_ORDERS = (1, 2, 3, 1.5, 0.5, -1, np.inf, -np.inf)
MATRIX_ORDERS = ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)

CASES = [
    Case("linalg.norm all", norm(), grid(2, 3, 2)),
    Case("linalg.norm all keepdims", norm(keepdims=True), grid(2, 3)),
    Case("linalg.norm 0d", norm(), grid()),
    Case("linalg.norm complex", norm(), upper(3)),
    Case("linalg.norm axis complex", norm(axis=0), upper(2, 3)),
    Case("linalg.norm fro axes", norm(axis=(2, 0), keepdims=True), grid(2, 3, 2)),
    Case("linalg.norm empty", norm(axis=0), real(0, 3)),
    Case("linalg.norm inf empty", norm(np.inf, axis=0), real(0, 3)),
    *(Case(told("linalg.norm vector", p), norm(p), nonzero(4)) for p in VECTOR_ORDERS),
    *(Case(told("linalg.norm complex vector", p), norm(p, axis=-1), upper(2, 3)) for p in (1, 3)),
    *(Case(told("linalg.norm keepdims", p), norm(p, axis=-2, keepdims=True), nonzero(2, 3, 2))
      for p in (1, 3, np.inf)),
    Case("linalg.norm zero-th", norm(0, axis=1), grid(2, 3), has_derivative=False),
    *(Case(told("linalg.norm matrix", p), norm(p), spaced(3, 2)) for p in MATRIX_ORDERS),
    *(Case(told("linalg.norm axes", p), norm(p, axis=(-1, 0), keepdims=True), spaced(3, 1, 2))
      for p in (1, np.inf)),
    Case("linalg.norm axes nuc", norm("nuc", axis=(0, 2)), real(3, 1, 2)),
    *(Case(told("linalg.norm complex matrix", p), norm(p), spaced_complex(2, 3))
      for p in ("fro", "nuc", 1, 2)),
    Case("linalg.vector_norm", lambda ns, x: ns.linalg.vector_norm(x), grid(2, 3)),
    Case("linalg.vector_norm axes", lambda ns, x: ns.linalg.vector_norm(x, axis=(2, 0), keepdims=True, ord=3),
         nonzero(2, 3, 2)),
    Case("linalg.vector_norm axis", lambda ns, x: ns.linalg.vector_norm(x, axis=-1, keepdims=True, ord=1),
         grid(2, 3)),
    Case("linalg.matrix_norm", lambda ns, x: ns.linalg.matrix_norm(x), grid(2, 3, 2)),
    Case("linalg.matrix_norm nuc", lambda ns, x: ns.linalg.matrix_norm(x, ord="nuc", keepdims=True),
         spread(2, 3, 2)),
    *(Case(told("linalg.cond", p), lambda ns, x, p=p: ns.linalg.cond(x, p), sturdy(2, 2))
      for p in (None, -2, 1, "fro", -np.inf)),
    Case("linalg.cond wide", lambda ns, x: ns.linalg.cond(x, 2), spread(2, 2, 3)),
    Case("linalg.cond complex", lambda ns, x: ns.linalg.cond(x), spread_complex(2, 2)),
    Case("linalg.cond complex stack nuc", lambda ns, x: ns.linalg.cond(x, "nuc"), spread_complex(2, 2, 2)),
]  # fmt: skip
