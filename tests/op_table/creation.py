"""Arrays made from others."""

import numpy as np

from tests.op_table.case import Case, real

CASES = [
    Case("full_like", lambda ns, v, x: ns.full_like(x, v), real(), real(2, 3)),
    Case("full_like shape", lambda ns, v, x: ns.full_like(x, v, shape=(2, 3)), real(3), real(1)),
    Case("full_like ints", lambda ns, v, x: ns.full_like(x, v, dtype=complex), real(), real(2)),
    Case("zeros_like", lambda ns, x: ns.zeros_like(x), real(2, 3), has_derivative=False),
    Case("ones_like", lambda ns, x: ns.ones_like(x, np.float32, shape=(2,)), real(3), has_derivative=False),
    Case("empty_like", lambda ns, x: ns.multiply(ns.empty_like(x), 0), real(2), has_derivative=False),
    Case("meshgrid xy", lambda ns, x, y: ns.multiply(*ns.meshgrid(x, y)), real(2), real(3)),
    Case("meshgrid ij", lambda ns, x, y, z: ns.meshgrid(x, y, z, indexing="ij")[1], real(2), real(3), real()),
    Case("meshgrid sparse", lambda ns, x, y: ns.add(*ns.meshgrid(x, y, sparse=True, copy=False)),
         real(2), real()),
]  # fmt: skip
