"""`linear_sum_assignment`: the cheapest assignment, whose indices are data to every derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors
from tape.core.op import Op
from tape.scipy._operands import operand

__all__ = ["linear_sum_assignment"]


def linear_sum_assignment(cost_matrix: Any, maximize: bool = False) -> tuple[Any, Any]:
    """Assign rows to columns at the least total cost, as `scipy.optimize.linear_sum_assignment`.

    The indices are constant to every derivative; the total cost is differentiable by indexing with them,
    where the cheapest assignment is the only one. In a compiled function each call computes them anew.

    Parameters
    ----------
    cost_matrix : array or Var, shape (n, m)
        The costs.
    maximize : bool
        Whether to look for the largest total instead.

    Returns
    -------
    row_ind, col_ind : array or Var of integers, shape (min(n, m),)
        The rows in order, and the columns that they are assigned to.

    Raises
    ------
    ShapeError
        If ``cost_matrix`` is no matrix.
    OptionError
        If no assignment has a finite cost, or there is a NaN.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.scipy.optimize import linear_sum_assignment
    >>> def least(cost):
    ...     return np.sum(cost[linear_sum_assignment(cost)])
    >>> tape.grad(least)(np.array([[1.0, 2.0], [1.0, 3.0]]))
    array([[0., 1.],
           [1., 0.]])
    """
    cost = operand(cost_matrix)
    if cost.ndim != 2:
        raise errors.ShapeError(
            f"linear_sum_assignment: the costs are {errors.describe(cost)}. They must be a matrix"
        )
    found = _assign(cost, maximize=bool(maximize))
    return found[0], found[1]


def _forward(cost: Any, *, maximize: bool) -> np.ndarray:
    from scipy import optimize

    try:
        return np.stack(optimize.linear_sum_assignment(cost, maximize))
    except ValueError as error:
        raise errors.OptionError(
            f"linear_sum_assignment: {str(error).rstrip('.')}. Replace NaN by large costs, and so "
            "infinite ones where they leave no assignment"
        ) from error


_assign = Op(_forward, name="linear_sum_assignment", data_dependent=False)
