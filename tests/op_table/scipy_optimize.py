"""Linear problems with limits as in `scipy.optimize`, where no limit changes sides within a difference."""

from typing import Any

from scipy import optimize

import tape
from tests import naive
from tests.op_table.case import Case, positive, real, regular
from tests.tiers import is_full


def module(ns: Any) -> Any:
    return optimize if ns is naive else tape.scipy.optimize


def factory(ns: Any, costs: Any, limits: Any) -> Any:
    """The most valuable mix of three products, of which one is made in a given number."""
    return module(ns).linprog(
        -costs, [[1.0, 2.0, 1.0], [3.0, 1.0, 2.0]], 4 + limits[:2], [[0.0, 0.0, 1.0]], limits[2:]
    ).x  # fmt: skip


def boxed(ns: Any, matrix: Any, b: Any, low: Any) -> Any:
    return module(ns).lsq_linear(matrix, b, (low - 2, 0.3)).x


# "ints" marks what is computed in double precision whatever comes in.

PLAIN = [
    Case("scipy.optimize.lsq_linear ints", boxed, regular(3, 3), real(3), real()),
    Case("scipy.optimize.nnls ints", lambda ns, a, b: module(ns).nnls(a, b)[0], regular(3, 3), real(3)),
    Case("scipy.optimize.linprog ints", factory, positive(3), positive(3)),
]  # fmt: skip
ALL = [
    *PLAIN,
    Case("scipy.optimize.nnls norm ints", lambda ns, a, b: module(ns).nnls(a, b - 2)[1], real(4, 3), real(4)),
    Case("scipy.optimize.linear_sum_assignment ints",
         lambda ns, cost: cost[module(ns).linear_sum_assignment(cost)], real(4, 3)),
    Case("scipy.optimize.linear_sum_assignment maximize ints",
         lambda ns, cost: cost[module(ns).linear_sum_assignment(cost, maximize=True)], real(2, 3)),
]  # fmt: skip
CASES = ALL if is_full() else PLAIN
