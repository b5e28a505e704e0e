"""Roots as the results of solvers: what SciPy found, certified, as Vars.

`Roots` is what all functions of `_scalar_roots`, `_systems` and `_root` have in common.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tape import errors, ops
from tape.ops.structure.layout import of_kind
from tape.scipy._operands import inside, operand
from tape.scipy.optimize._implicit import Certificate, Implicit, is_regular
from tape.transforms._record import name_of
from tape.transforms.jacobian import jacobian

__all__ = ["Found", "Roots", "certified_root"]


_MOST_STEPS = 8
_LINEAR, _MOST_LINEAR = (0.25, 0.9), 3  # ratios of steps where convergence is linear, and how many are
_STEADY = 0.4  # how much the derivative may change within the tolerance of the root
_WIDEST = 1e-7  # of tolerances that this is looked at in, relative
_SMALLEST = 1e-13  # a step that rounding may cause
VANISHING, NO_ROOT = 1, 2
"""Faults of roots: the derivative vanishes there; the function does not."""


class Found(NamedTuple):
    """What a solver of SciPy's returned, of plain numbers."""

    root: Any
    """A number or an array."""
    converged: Any
    """A bool, or one for each element."""
    flag: str
    """Why not, if it has not."""
    report: Any
    """What else SciPy returned."""


class Roots:
    """One call of a solver of equations.

    Parameters
    ----------
    what : str
        The solver.
    f : callable
        ``f(x, *args)``, of the shape of x, zero at the solution.
    start : tree
        Where the solver starts; numbers or Vars.
    args : tuple of trees
        Further arguments of f.
    run : callable
        ``run(start, args)`` returns `Found`, of plain numbers.
    width : callable
        ``width(abs(x))`` returns the tolerance of each element.
    reach : callable, optional
        ``reach(abs(x))`` returns how far from the solution the root may be; by default the largest tolerance.

    Attributes
    ----------
    found : Found
        Of the first run.
    is_plain, is_varying : bool
        As of `Implicit`.
    """

    def __init__(
        self,
        what: str,
        f: Callable[..., Any],
        start: Any,
        args: tuple[Any, ...],
        run: Callable[..., Found],
        width: Callable[[np.ndarray], Any],
        reach: Callable[[np.ndarray], Any] | None = None,
    ) -> None:
        self.name = f"{what}({name_of(f)})"
        self._f, self._run, self._width, self._reach = f, run, width, reach or width
        self._runs: list[Found] = []
        self._shape: tuple[int, ...] = ()
        self._implicit = Implicit(
            self.name, self._solve, self._certify, self._equations, (start, args), self._explain
        )
        self.found = self._runs[0]
        self.is_plain: bool = self._implicit.is_plain
        self.is_varying: bool = self._implicit.is_varying

    def root(self) -> Any:
        """Return the root, a Var if anything is.

        Raises
        ------
        ConvergenceError
            If it is a Var and the solver has not converged.
        DTypeError
            If it is a Var and complex.
        """
        if self.is_plain:
            return self.found.root
        self._check(self.found)
        root = ops.astype(self._implicit.solution()[0], np.asarray(self.found.root).dtype)
        return of_kind(ops.reshape(root, self._shape), self.found.root)

    def _solve(self, start: Any, args: Any) -> tuple[Any, Any]:
        found = self._run(start, args)
        if not self._runs:
            self._runs, self._shape = [found], np.shape(found.root)
        else:  # again, for there is a Var
            self._check(found)
        return np.ravel(np.real(found.root)), np.zeros(0)

    def _check(self, found: Found) -> None:
        """Check that there is something to differentiate."""
        if np.asarray(found.root).dtype.kind == "c":
            raise errors.DTypeError(
                f"{self.name}: complex roots are not differentiated here. Use tape.root, or start from a "
                "real number"
            )
        if not np.all(found.converged):
            raise errors.ConvergenceError(
                f"{self.name}: {found.flag.rstrip('.')}. What was found would be differentiated as a root: "
                "start closer, or allow more steps"
            )

    def _equations(self, z: Any, data: Any, start: Any, args: Any) -> Any:
        value = operand(self._f(ops.reshape(z, self._shape), *args))
        if np.size(value) != z.shape[0]:
            raise errors.ShapeError(
                f"{self.name}: the function returned shape {list(np.shape(value))} for x of shape "
                f"{list(self._shape)}. Both must be the same"
            )
        return ops.ravel(value)

    def _certify(self, x: Any, start: Any, args: Any) -> Certificate:
        size = np.abs(x)
        widths, reach = np.zeros(x.shape) + self._width(size), float(np.max(self._reach(size), initial=0.0))
        return certified_root(lambda z: self._equations(z, None, start, args), x, widths, reach)

    def _explain(self, fault: int) -> errors.TapeError:
        if fault == VANISHING:
            return errors.SingularMatrixError(
                f"{self.name}: the derivative of the function vanishes at the root, or is too small to be "
                "known there, so that the root has none. Check for a double root, or use a smaller tolerance"
            )
        return errors.ConvergenceError(
            f"{self.name}: what was found is no root in double precision: Newton's method leads away from "
            "it. The function jumps there, or the tolerance is too large: use a smaller one"
        )


def certified_root(f: Callable[[Any], Any], x: np.ndarray, widths: np.ndarray, reach: float) -> Certificate:
    """Take a root to full precision, and check that it is one at which the derivative is regular.

    It is not if Newton's method converges linearly, as it does where the derivative vanishes; nor if the
    derivative is another one within the tolerance of the root: then little is known of it.

    Parameters
    ----------
    f : callable
        A function of a vector, with as many results.
    x : numpy.ndarray
        What a solver found.
    widths : numpy.ndarray
        The tolerance of each element.
    reach : float
        How far from the root x may be.

    Returns
    -------
    Certificate
    """
    slopes = jacobian(f)
    none = np.zeros(0)
    if not x.size:
        return Certificate(x, none)
    best, z, sizes = x, x, [np.inf]
    with np.errstate(all="ignore"):
        for _ in range(_MOST_STEPS):
            matrix = np.asarray(slopes(z), np.float64)
            if not is_regular(matrix):
                return Certificate(x, none, VANISHING)
            step = np.linalg.solve(matrix, np.asarray(inside(f(z)), np.float64))
            size = float(np.max(np.abs(step)))
            if not size < sizes[-1]:
                break
            best, z = z, z - step
            sizes.append(size)
            if size == 0:
                break
        ratios = [later / earlier for earlier, later in pairwise(sizes[1:])]
        if len([ratio for ratio in ratios if _LINEAR[0] < ratio < _LINEAR[1]]) >= _MOST_LINEAR:
            return Certificate(x, none, VANISHING)
        near = max(1e-9 * float(np.max(np.abs(x))), 1e-3 * reach, _SMALLEST)
        if not (sizes[-1] <= near and np.max(np.abs(best - x)) <= reach + near):
            return Certificate(x, none, NO_ROOT)
        matrix = np.asarray(slopes(best), np.float64)
        widths = np.minimum(widths, _WIDEST * np.maximum(np.abs(best), 1e-3))
        for side in (-4.0, 4.0):
            other = np.asarray(slopes(best + side * widths), np.float64)
            change = np.linalg.solve(matrix, other - matrix) if np.all(np.isfinite(other)) else 0.0
            if np.max(np.abs(change)) > _STEADY:
                return Certificate(x, none, VANISHING)
    return Certificate(best, none)
