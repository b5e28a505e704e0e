"""Sets."""

from functools import partial

from tests.op_table.case import Case, grid, ints, other_grid
from tests.op_table.positions import pairs
from tests.op_table.sorting import complex_grid

TIES = [2, 0, 1, 1, 2]
constant = partial(Case, has_derivative=False)

CASES = [
    Case("unique 2d", lambda ns, x: ns.unique(x) ** 2, grid(2, 2)),
    Case("unique ties", lambda ns, x: ns.unique(ns.take(x, TIES), return_counts=True)[0], grid(3)),
    Case("unique axis=1", lambda ns, x: ns.unique(ns.take(x, TIES, axis=1), axis=1), grid(2, 3)),
    Case("unique complex", lambda ns, x: ns.unique(x), complex_grid(3)),
    Case("unique empty", lambda ns, x: ns.unique(x, return_inverse=True)[0], grid(0)),
    constant("unique index", lambda ns, x: ns.unique(ns.take(x, TIES), return_index=True)[1], grid(3)),
    constant("unique inverse", lambda ns, i: ns.unique(i, return_inverse=True)[1], pairs(2, 3)),
    constant("unique inverse axis=0", lambda ns, i: ns.unique(i, False, True, axis=0)[1], pairs(5, 1)),
    constant("unique counts", lambda ns, i: ns.unique(i, True, True, True)[3], pairs(2, 3)),
    constant("unique_all inverse", lambda ns, i: ns.unique_all(i).inverse_indices, pairs(2, 3)),
    constant("unique_all counts", lambda ns, i: ns.unique_all(i).counts, pairs(2, 3)),
    constant("unique_counts counts", lambda ns, i: ns.unique_counts(i).counts, pairs(2, 3)),
    constant("unique_inverse inverse", lambda ns, i: ns.unique_inverse(i).inverse_indices, pairs(2, 3)),
    Case("unique_values sorted", lambda ns, x: ns.sort(ns.unique_values(x)), grid(4)),
    Case("unique unsorted", lambda ns, x: ns.sum(ns.unique(x, sorted=False)), grid(4)),
    Case("union1d 2d", lambda ns, x, y: ns.union1d(x, y), grid(2, 2), other_grid(3)),
    Case("intersect1d ties", lambda ns, x: ns.intersect1d(x, ns.take(x, [2, 3, 2])), grid(4)),
    constant(
        "intersect1d indices",
        lambda ns, i, j: ns.intersect1d(i, j, return_indices=True)[2],
        pairs(4),
        pairs(5),
    ),
    Case(
        "setdiff1d 2d",
        lambda ns, x, y: ns.setdiff1d(x, ns.concatenate((x[:, 0], y))),
        grid(2, 2),
        other_grid(3),
    ),
    Case("setdiff1d assumed", lambda ns, x: ns.setdiff1d(x, ns.take(x, [1]), assume_unique=True), grid(4)),
    Case("setxor1d 2d", lambda ns, x: ns.setxor1d(ns.take(x, TIES), x[1:]), grid(4)),
    constant("isin (2,3)", lambda ns, i, j: ns.isin(i, j), ints(2, 3), ints(2)),
    constant("isin not", lambda ns, x, y: ns.isin(x, y, invert=True, kind="sort"), grid(4), grid(2)),
]
