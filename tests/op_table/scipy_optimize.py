"""Assignments as in `scipy.optimize`, whose costs are differentiable; what solves in tests of its own."""

from typing import Any

from scipy import optimize

import tape
from tests import naive
from tests.op_table.case import Case, real


def module(ns: Any) -> Any:
    return optimize if ns is naive else tape.scipy.optimize


CASES = [
    Case("scipy.optimize.linear_sum_assignment",
         lambda ns, cost: cost[module(ns).linear_sum_assignment(cost)], real(4, 3)),
    Case("scipy.optimize.linear_sum_assignment maximize",
         lambda ns, cost: cost[module(ns).linear_sum_assignment(cost, maximize=True)], real(2, 3)),
]  # fmt: skip
