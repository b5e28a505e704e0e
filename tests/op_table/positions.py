"""Positions of elements: none of it has a derivative."""

from functools import partial

import numpy as np

from tests.op_table.case import Argument, classes, grid
from tests.op_table.case import Case as _Case


def pairs(*shape: int) -> Argument:
    """0, 0, 1, 1, 2, ... in random order: so many zeros, and so many distinct elements, every time."""
    return Argument(shape, lambda rng, s: rng.permutation(int(np.prod(s))).reshape(s) // 2)


def some(*shape: int) -> Argument:
    """Bools, as many of them True every time."""
    return Argument(shape, lambda rng, s: rng.permutation(int(np.prod(s))).reshape(s) % 3 > 0)


Case = partial(_Case, has_derivative=False)

CASES = [
    Case("argwhere (2,3)", lambda ns, x: ns.argwhere(x), some(2, 3)),
    Case("flatnonzero (2,3)", lambda ns, x: ns.flatnonzero(ns.greater(x, 0)), grid(2, 3)),
    Case("nonzero rows", lambda ns, x: ns.nonzero(x)[0], some(2, 3)),
    Case("nonzero columns", lambda ns, x: ns.nonzero(ns.greater(x, 0))[1], grid(2, 3)),
    Case("ravel_multi_index (2,3)", lambda ns, i, j: ns.ravel_multi_index((i, j), (4, 5)),
         classes(2, 3), classes(2, 3)),
    Case("ravel_multi_index wrap,clip,F",
         lambda ns, i, j: ns.ravel_multi_index((i, j), (3, 2), mode=("wrap", "clip"), order="F"),
         classes(4), classes(2, 1)),
    Case("unravel_index (2,3)", lambda ns, i: ns.unravel_index(i, (2, 3))[1], classes(2, 3)),
    Case("unravel_index F", lambda ns, i: ns.unravel_index(i, (2, 3), order="F")[0], classes(2)),
    Case("ix_ ints", lambda ns, i: ns.ix_(i, [0, 1])[0], classes(3)),
    Case("ix_ bools", lambda ns, m: ns.ix_([0, 1], m)[1], some(3)),
    _Case("ix_ grid", lambda ns, x: x[ns.ix_(ns.argsort(x[:, 0]), np.array([True, False]))], grid(4, 2)),
]  # fmt: skip
