"""Solutions of differential equations as functions of times, whose numbers are those of a given solver.

Derivatives are computed more precisely than the solver may have worked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape import errors, ops
from tape.core.node import plain
from tape.scipy._operands import Array, operand
from tape.transforms._segment import Packing
from tape.transforms.odeint import _Solution

_TIGHT = 1e-8

Solver = Callable[..., Any]


class _Problem(_Solution):
    """A solution whose numbers are those of a given solver; its derivatives are computed more precisely."""

    def __init__(self, solver: Solver, *given: Any) -> None:
        super().__init__(*given)
        self._solver = solver

    def _solve(self, start: Any, t: Any, *args: Any) -> Any:
        times = np.asarray(t, float)
        if len(times) == 1 or not start.size:
            self.slope(start, times[0], *args)  # so that its closures are found
            return np.repeat(start[None], len(times), axis=0)
        return np.asarray(self._solver(lambda t, y: self.slope(y, t, *args), start, times, args))

    def _precisely(self, operands: Sequence[Any]) -> Any:
        """Return the states that rules start from: the solver may have computed to three digits only."""
        start, t = self._split(operands)
        slope = self._slope_of(operands)
        return self._again(lambda y, time: slope(y, time, *operands), start, t)

    def _jvp(self, tangents: Sequence[Any], out: Any, *operands: Any) -> Any:
        return super()._jvp(tangents, self._precisely(operands), *operands)

    def _vjp(self, g: Any, out: Any, *operands: Any) -> list[Any]:
        return super()._vjp(g, self._precisely(operands), *operands)


class States:
    """The solution of an initial value problem as a function of times."""

    def __init__(
        self,
        f: Callable[..., Any],
        y0: Array,
        args: tuple[Any, ...],
        solver: Solver,
        method: str,
        tolerances: Sequence[Any],
        what: str,
    ) -> None:
        self._f, self._args, self._solver, self._what = f, args, solver, what
        self._start = y0 if y0.dtype == np.float64 else ops.astype(y0, np.float64)
        rtol, atol = (min(_TIGHT, float(np.min(tolerance))) for tolerance in tolerances)
        self._options = {
            "rtol": max(rtol, 1e-12), "atol": atol or 1e-14, "method": method, "gradient": "adjoint",
            "max_steps": None,
        }  # fmt: skip

    def at(self, times: Array) -> Array:
        """Return the states ``(m, n)`` at times ``(m,)``, of which the first one is that of the start."""
        steps = ops.diff(times)
        if not bool(ops.all(steps > 0)) and not bool(ops.all(steps < 0)):
            raise errors.OptionError(
                f"{self._what}: the times must be strictly increasing or strictly decreasing"
            )
        like = Packing(plain(self._start))

        def f(y: Any, t: Any, *args: Any) -> Any:
            return operand(self._f(y, t, *args))

        f.__name__ = f.__qualname__ = getattr(self._f, "__name__", self._what)
        given = f, like, self._start, times, self._args, self._options
        return _Problem(self._solver, *given).solved()
