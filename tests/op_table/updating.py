"""Updating elements at an index by ufuncs."""

from typing import Any

import numpy as np

from tape import ops
from tests import plain
from tests.op_table.case import Case, grid, positive, real


def ufunc_at(ns: Any, *args: Any) -> Any:
    """NumPy's own writes in place, and so never meets a Var."""
    return (ops if ns is plain else ns).ufunc_at(*args)


CASES = [
    Case("ufunc_at multiply slice", lambda ns, x, v: ufunc_at(ns, x, np.multiply, slice(1, None), v),
         real(3, 2), real(2)),
    Case("ufunc_at multiply repeats", lambda ns, x, v: ufunc_at(ns, x, np.multiply, [0, 2, 0, 0], v),
         real(3), real(4)),
    Case("ufunc_at divide grid", lambda ns, x, v: ufunc_at(ns, x, np.divide, [[0, 1], [3, 0]], v),
         positive(4), positive(2)),
    Case("ufunc_at subtract", lambda ns, x, v: ufunc_at(ns, x, np.subtract, [1, 1], v), real(2), real(2)),
    Case("ufunc_at sin repeats", lambda ns, x: ufunc_at(ns, x, np.sin, (0, [1, 1])), grid(2, 2)),
]  # fmt: skip
