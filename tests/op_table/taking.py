"""Taking elements along an axis, and putting others there."""

from typing import Any

import numpy as np

from tape import ops
from tests import plain
from tests.op_table.case import Case, call, classes, complexes, ints, real


def put_along_axis(ns: Any, *args: Any) -> Any:
    """NumPy's own writes in place, and so never meets a Var."""
    return (ops if ns is plain else ns).put_along_axis(*args)


CASES = [
    Case("take flat", lambda ns, x, i: ns.take(x, i), real(2, 3), classes(2, 2)),
    Case("take axis=1", lambda ns, x: ns.take(x, [[0, 2], [-1, 2]], axis=1), real(2, 3, 2)),
    Case("take axis=-1 int", lambda ns, x: ns.take(x, 1, axis=-1), real(2, 3)),
    Case("take of 0d", lambda ns, x: ns.take(x, [0, 0], axis=0), real()),
    Case("take wrap", lambda ns, x, i: ns.take(x, i, axis=0, mode="wrap"), real(2, 3), ints(4)),
    Case("take clip", lambda ns, x, i: ns.take(x, i, mode="clip"), real(2), ints(4)),
    Case("take no ints", lambda ns, x: ns.take(x, [], axis=0), real(2, 3)),
    Case("take complex", lambda ns, x: ns.take(x, [1, 1]), complexes(2)),
    Case("take_along_axis axis=0", lambda ns, x, i: ns.take_along_axis(x, i, 0), real(4, 3), classes(2, 3)),
    Case("take_along_axis axis=1 negative", lambda ns, x: ns.take_along_axis(x, np.array([[-1], [1]]), 1),
         real(2, 3)),
    Case("take_along_axis broadcast", lambda ns, x, i: ns.take_along_axis(x, i, -1),
         real(2, 1, 4), classes(1, 3, 2)),
    Case("take_along_axis flat", lambda ns, x, i: ns.take_along_axis(x, i, None), real(2, 2), classes(3)),
    Case("take_along_axis empty", lambda ns, x: ns.take_along_axis(x, np.zeros((0, 2), int), 1), real(0, 3)),
    Case("take_along_axis complex", call("take_along_axis"), complexes(2, 4), classes(2, 2)),
    Case("put_along_axis axis=0", lambda ns, x, i, v: put_along_axis(ns, x, i, v, 0),
         real(4, 3), classes(2, 3), real(2, 3)),
    Case("put_along_axis broadcast", lambda ns, x, i, v: put_along_axis(ns, x, i, v, 1),
         real(2, 4), classes(1, 3), real(2, 1)),
    Case("put_along_axis flat", lambda ns, x, i, v: put_along_axis(ns, x, i, v, None),
         real(2, 2), classes(3), real()),
    Case("put_along_axis constant", lambda ns, x, i: put_along_axis(ns, x, i, 2.0, -1),
         real(4), classes(2)),
    Case("put_along_axis complex", lambda ns, x, i, v: put_along_axis(ns, x, i, v, 0),
         complexes(4), classes(2), real(2)),
]  # fmt: skip
