"""Sorting and searching."""

from tests.op_table.case import Argument, Case, call, classes, grid, ints, other_grid

TIES = [0, 1, 1, 2, 0]


def complex_grid(*shape: int) -> Argument:
    """Complex numbers whose real parts, by which they are compared first, are apart."""
    return Argument(shape, lambda rng, s: grid(*s).draw(rng, s) + 1j * rng.uniform(-1, 1, s))


CASES = [
    Case("sort 1d", call("sort"), grid(5)),
    Case("sort axis=0", call("sort", axis=0, kind="stable"), grid(3, 2, 2)),
    Case("sort flat", call("sort", axis=None), grid(2, 3)),
    Case("sort 0d flat", call("sort", axis=None), grid()),
    Case("sort ties", lambda ns, x: ns.sort(ns.take(x, TIES)) ** 2, grid(3)),
    Case("sort empty", call("sort"), grid(2, 0)),
    Case("sort complex", call("sort", stable=True), complex_grid(5)),
    Case("sort_complex 1d", call("sort_complex"), complex_grid(4)),
    Case("partition 1d", lambda ns, x: ns.sort(ns.partition(x, 2)[:2]), grid(5)),
    Case("partition axis=0", lambda ns, x: ns.partition(x, (0, 2), axis=0)[::2], grid(3, 2)),
    Case("partition flat", lambda ns, x: ns.partition(x, -1, axis=None)[-1], grid(2, 3)),
    Case("argsort axis", call("argsort", axis=0), grid(3, 2), has_derivative=False),
    Case("argsort flat", call("argsort", axis=None), grid(3, 2), has_derivative=False),
    Case("argsort stable", call("argsort", stable=True), ints(8), has_derivative=False),
    Case("argsort 0d", call("argsort"), grid(), has_derivative=False),
    Case("argpartition 1d", lambda ns, x: ns.argpartition(x, 2)[2], grid(5), has_derivative=False),
    Case("argpartition flat", lambda ns, x: ns.argpartition(x, 0, axis=None)[0], grid(4, 2),
         has_derivative=False),
    Case("lexsort keys", lambda ns, x, y: ns.lexsort((x, y)), grid(4), classes(4), has_derivative=False),
    Case("lexsort rows", lambda ns, x: ns.lexsort(x, axis=0), ints(2, 3, 2), has_derivative=False),
    Case("searchsorted (2,3)", lambda ns, x, y: ns.searchsorted(ns.sort(x), y), grid(5), other_grid(2, 3),
         has_derivative=False),
    Case("searchsorted sorter", lambda ns, x, y: ns.searchsorted(x, y, "right", ns.argsort(x)),
         grid(5), grid(3), has_derivative=False),
]  # fmt: skip
