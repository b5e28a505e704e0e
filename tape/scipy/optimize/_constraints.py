"""Constraints of `minimize`: SciPy's objects and dicts, taken apart so that they may hold Vars."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tape import errors, ops
from tape.scipy._operands import operand
from tape.scipy.optimize._calls import refuse_derivatives
from tape.scipy.optimize._functions import Residuals
from tape.scipy.optimize._implicit import checked_function
from tape.scipy.optimize._layout import Unknowns
from tape.scipy.optimize._optimality import Limits

__all__ = ["Constraint", "joined"]


class Parts(NamedTuple):
    """What of a constraint may hold Vars, as a tree."""

    matrix: Any
    args: Any
    low: Any
    high: Any


class Constraint:
    """One constraint of the caller's.

    Attributes
    ----------
    parts : Parts
        What of it may hold Vars.
    size : int
        The number of its values; known after the first call of `limits`.
    """

    size = 0

    def __init__(self, given: Any, unknowns: Unknowns) -> None:
        from scipy import optimize

        where = f"{unknowns.where}: a constraint"
        self._unknowns = unknowns
        self._f: Callable[..., Any] | None = None
        self._type: Any = None
        self._keep: Any = getattr(given, "keep_feasible", False)
        if isinstance(given, optimize.LinearConstraint):
            self.parts = Parts(given.A, (), given.lb, given.ub)
        elif isinstance(given, Mapping) and "fun" in given and "type" in given:
            refuse_derivatives(where, given, exact=("jac",))
            self._f, self._type = checked_function(given["fun"], where), given["type"]
            args = given.get("args", ())
            self.parts = Parts(None, args, 0.0, 0.0 if str(self._type).lower() == "eq" else np.inf)
        elif isinstance(given, optimize.NonlinearConstraint):
            exact = ("jac", "hess")
            refuse_derivatives(where, [name for name in exact if callable(getattr(given, name))], exact)
            self._f = checked_function(given.fun, where)
            self.parts = Parts(None, (), given.lb, given.ub)
        else:
            raise errors.OptionError(
                f"{unknowns.where}: {errors.describe(given)} is not a constraint. Give a dict with 'type' "
                "and 'fun', or a scipy.optimize.NonlinearConstraint or LinearConstraint"
            )

    def for_scipy(self, parts: Parts, kind: str | None, is_sparse: bool) -> Any:
        """Return the constraint of a vector, of plain numbers and with exact derivatives."""
        from scipy import optimize

        if self._f is None:
            return optimize.LinearConstraint(parts.matrix, parts.low, parts.high, self._keep)
        residuals = Residuals(self._f, self._unknowns, parts.args, is_plain=True)
        if self._type is not None:
            return {"type": self._type, "fun": residuals, "jac": residuals.jacobian}
        # All other methods warn that they do not use second derivatives.
        second: dict[str, Any] = {"hess": residuals.curvature} if kind == "trust-constr" else {}
        jacobian: Any = residuals.jacobian
        if is_sparse:
            jacobian, second = residuals.sparse_jacobian(None), {"hess": residuals.sparse_curvature()}
        return optimize.NonlinearConstraint(
            residuals, parts.low, parts.high, jacobian, keep_feasible=self._keep, **second
        )

    def limits(self, x: Any, parts: Parts) -> Limits:
        """Return the values at a vector of unknowns, and their limits."""
        if self._f is None:
            matrix = parts.matrix
            values = operand(matrix.toarray() if hasattr(matrix, "toarray") else matrix) @ x
        else:
            values = Residuals(self._f, self._unknowns, parts.args)(x)
        self.size = values.shape[0]
        low, high = (
            ops.broadcast_to(ops.astype(operand(side), np.float64), (self.size,))
            for side in (parts.low, parts.high)
        )
        return Limits(values, low, high)


def joined(limits: Sequence[Limits]) -> Limits:
    """Return the limits of all constraints."""
    if len(limits) == 1:
        return limits[0]
    return Limits(*(ops.concatenate(column) for column in zip(*limits, strict=True)))
