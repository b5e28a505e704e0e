"""Writing elements, and adding to them, at an index."""

from typing import Any

import numpy as np

from tape import ops
from tests import plain
from tests.op_table.case import Case, Shape, classes, complexes, ints, real


def using(ns: Any) -> Any:
    """A namespace that has these functions: NumPy's own write in place, and so never meet a Var."""
    return ops if ns is plain else ns


def both(told: str, index: Any, shape: Shape, values: Shape) -> list[Case]:
    """Either operation at a static index."""
    return [
        Case(f"{op} {told}", lambda ns, x, v, op=op: getattr(using(ns), op)(x, v, index),
             real(*shape), real(*values))
        for op in ("set_at", "add_at")
    ]  # fmt: skip


CASES = [
    *both("int", 1, (3, 2), (2,)),
    *both("of 0d", (), (), ()),
    *both("negative step", slice(None, None, -2), (5, 2), (3, 1)),
    *both("Ellipsis, None", (..., None, 0), (2, 3), (2, 1)),
    *both("list with repeats", [2, 0, 2, -1], (3, 2), (4, 2)),
    *both("split int arrays", (np.array([0, 1, 0]), slice(None), np.array([2, 0, 2])), (2, 2, 3), (2,)),
    *both("mask", np.array([True, False, True]), (3, 2), (2, 2)),
    *both("mask, int", (np.array([True, False, True]), 1), (3, 2), ()),
    *both("no elements", slice(2, 2), (4, 2), (2,)),
    Case("set_at leading axes", lambda ns, x, v: using(ns).set_at(x, v, slice(1, 3)), real(4), real(1, 1, 2)),
    Case("set_at complex", lambda ns, x, v: using(ns).set_at(x, v, [1, 1]), complexes(3), real(2)),
    Case("add_at complex", lambda ns, x, v: using(ns).add_at(x, v, [1, 1]), complexes(3), complexes(2)),
    Case("set_at by data", lambda ns, x, v, i: using(ns).set_at(x, v, (i, slice(1, 3))),
         real(4, 5), real(2, 2), classes(2)),
    Case("add_at by data", lambda ns, x, v, i: using(ns).add_at(x, v, (slice(None), i)),
         real(2, 4), real(2, 3), classes(3)),
    Case("set_at ints", lambda ns, x, v: using(ns).set_at(x, v, 0), ints(2), ints(), has_derivative=False),
]  # fmt: skip
