"""Minima as the results of solvers: what SciPy found, certified, as Vars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tape import errors, ops
from tape.scipy.optimize._implicit import Implicit
from tape.scipy.optimize._optimality import DEGENERATE, DEPENDENT, SINGULAR, Conditions

__all__ = ["Minimum", "Reached"]


class Reached(NamedTuple):
    """What a solver of SciPy's returned, of plain numbers."""

    x: np.ndarray
    """A vector."""
    success: bool
    report: Any
    """All that SciPy returned."""


class Minimum:
    """One call of a solver of a problem.

    Parameters
    ----------
    name : str
        Of the call, in messages.
    conditions : Conditions
        Those of the problem.
    run : callable
        ``run(*given)`` returns `Reached`, of plain numbers.
    given : tuple of trees
        The arguments, with or without Vars.
    name_of : callable
        ``name_of(k)`` returns a name for bound or constraint number k, bounds before constraints.

    Attributes
    ----------
    runs : list of Reached
        The first run.
    report : Any
        What SciPy returned in it.
    is_plain, is_varying : bool
        As of `Implicit`.
    """

    def __init__(
        self,
        name: str,
        conditions: Conditions,
        run: Callable[..., Reached],
        given: tuple[Any, ...],
        name_of: Callable[[int], str],
    ) -> None:
        self.name = name
        self._run, self._name_of = run, name_of
        self.runs: list[Reached] = []
        self._implicit = Implicit(
            name, self._solve, conditions.certify, conditions.equations, given, self._explain
        )
        self.report: Any = self.runs[0].report
        self.is_plain: bool = self._implicit.is_plain
        self.is_varying: bool = self._implicit.is_varying

    def solution(self) -> tuple[Any, Any]:
        """Return the minimum as a Var, and whether the solver says that it is one."""
        x, rest = self._implicit.solution()
        x = ops.astype(x, self.runs[0].x.dtype)
        return x, rest[0] > 0 if self.is_varying else self.runs[0].success

    def result(self, x: Any, success: Any, **values: Any) -> Any:
        """Return an OptimizeResult with Vars; what of SciPy's would be constant is left out."""
        from scipy.optimize import OptimizeResult

        found = OptimizeResult(x=x, **values, success=success)
        if not self.is_varying:
            kept = ("status", "message", "nit", "nfev", "njev", "nhev")
            found.update({key: self.report[key] for key in kept if key in self.report})
        return found

    def _solve(self, *given: Any) -> tuple[Any, Any]:
        reached = self._run(*given)
        if not self.runs:
            self.runs = [reached]
        return reached.x, np.array([float(reached.success)])

    def _explain(self, fault: int) -> errors.TapeError:
        kind, which = fault % 10, fault // 10
        if kind == DEGENERATE:
            return errors.UnsupportedError(
                f"{self.name}: {self._name_of(which)} is active at the solution and has no force there (no "
                "strict complementarity): with other data it may or may not be active, so the solution has "
                "a kink, and no derivative. Move it, or leave it out"
            )
        if kind == DEPENDENT:
            return errors.UnsupportedError(
                f"{self.name}: the gradient of {self._name_of(which)} depends linearly on those of the other "
                "active limits at the solution, which then has no derivative. Leave out what is redundant"
            )
        if kind == SINGULAR:
            return errors.SingularMatrixError(
                f"{self.name}: the conditions of optimality are singular at the solution, which then has no "
                "derivative: it is not the only one, or the second derivatives vanish there. Add a term "
                "like a small multiple of x @ x"
            )
        return errors.ConvergenceError(
            f"{self.name}: no minimum is where the solver stopped, or the function has no second derivatives "
            "there. Use a smaller tolerance, more steps, or another method"
        )
