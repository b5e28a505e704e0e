"""A call of a solver as one operation, differentiated by the implicit function theorem.

The solver is SciPy's and runs on plain numbers. Its solution satisfies equations ``F(z, p) = 0`` in the
unknowns z and all Vars p that the caller's functions depend on, so that ``dz = -(dF/dz)^-1 dF/dp dp``. The
theorem holds at a solution, and where dF/dz is regular: before anything is differentiated, a certificate
takes z to full precision by Newton's method, or finds what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tape import errors, ops
from tape.core.closures import Bound
from tape.core.dispatch import recorder, resolve
from tape.core.interpreter import OPEN
from tape.core.nesting import batch_below
from tape.core.node import Handle, plain
from tape.core.op import Op
from tape.core.streams import without_draws
from tape.scipy._operands import inside, is_recorded
from tape.transforms._record import check_callable, copied
from tape.transforms._segment import Segment, pull_through, push_through
from tape.transforms.jacobian import jacobian
from tape.transforms.loops.capacity import is_met

__all__ = ["Certificate", "Implicit", "checked_function", "is_regular", "settled"]


class Certificate(NamedTuple):
    """What derivatives are computed with: a solution in full precision, or why there are none."""

    z: np.ndarray
    """The unknowns, of which the first are those that the solver returns."""
    data: np.ndarray
    """What else the equations depend on, as floats: constants to every derivative."""
    fault: int = 0
    """Zero, or a number that the solver explains."""


class Implicit:
    """One call of a solver.

    Parameters
    ----------
    name : str
        Of the call, in messages.
    solve : callable
        ``solve(*given)`` returns the solution and what else there is to say, as vectors of plain floats.
    certify : callable
        ``certify(x, *given)`` returns the `Certificate` of a solution.
    equations : callable
        ``equations(z, data, *given)`` returns a vector of the length of z, zero at the solution.
    given : tuple of trees
        The arguments, with or without Vars.
    explain : callable
        ``explain(fault)`` returns the error that a fault is.

    Attributes
    ----------
    is_plain : bool
        Whether nothing depends on a Var.
    is_varying : bool
        Whether a program or a batch runs the solver for other numbers, too.
    """

    def __init__(
        self,
        name: str,
        solve: Callable[..., tuple[Any, Any]],
        certify: Callable[..., Certificate],
        equations: Callable[..., Any],
        given: tuple[Any, ...],
        explain: Callable[[int], errors.TapeError],
    ) -> None:
        self.name = name
        self._solve, self._certify, self._equations, self._explain = solve, certify, equations, explain
        self._size = self._data_size = 0
        # Arguments without Vars are passed as they are: a segment would copy lists, and protect arrays.
        self._fixed = () if is_recorded(given) else given
        self.is_plain = self._is_independent()
        if self.is_plain:
            self.is_varying = False
            return
        self._fixed = copied(self._fixed)  # sweeps read them later
        self.segment = Segment(self._run, () if self._fixed else given, {}, name, is_inlined=False)
        operands = self.segment.operands
        self.is_plain = not operands
        self.is_varying = bool(operands) and (
            recorder() is not None or any(batch_below(var) is not None for var in operands)
        )

    def solution(self) -> tuple[Any, Any]:
        """Return the solution and what else there is to say, as Vars."""
        found = self.segment.as_node(self._vjp, self._jvp)
        return found[: self._size], found[self._size :]

    def _is_independent(self) -> bool:
        """Run the solver without looking for Vars, which is faster; return whether there was none."""
        if OPEN or not self._fixed:
            return False
        try:
            self._run()
        except _Depends:
            return False
        return True

    def _run(self, *given: Any) -> Any:
        x, rest = self._solve(*(self._fixed or given))
        self._size = len(x)
        return np.concatenate([x, rest]).astype(np.float64)

    # ---- the certificate ---------------------------------------------------------------------------

    def _certified(self, out: Any, operands: Sequence[Any]) -> tuple[Any, Any]:
        """Return the unknowns in full precision, which are differentiable, and the data."""
        op = Op(
            self._certificate,
            vjp=lambda g, out, x, *operands: [None, *self._pulled(g[: self._count], out, operands)],
            jvp=lambda tangents, out, x, *operands: self._pushed(tangents[1:], out, operands),
            name="certificate",
            explains_errors=False,
            data_dependent=False,
        )
        found = op(out[: self._size], *operands)
        fault = found[-1]
        if not is_met(fault == 0):
            raise self._explain(int(np.max(_plainest(fault))))
        return found

    def _certificate(self, x: Any, *operands: Any) -> Any:
        found = self.segment.call(lambda *given: self._certify(x, *(self._fixed or given)), operands)
        self._count, self._data_size = len(found.z), len(found.data)
        return np.concatenate([found.z, found.data, [float(found.fault)]])

    # ---- rules -------------------------------------------------------------------------------------

    def _residual(self, z: Any, data: Any) -> Callable[..., Any]:
        return lambda *operands: inside(
            self.segment.call(lambda *given: self._equations(z, data, *(self._fixed or given)), operands)
        )

    def _slopes(self, z: Any, data: Any, operands: Sequence[Any]) -> Any:
        """Return the Jacobian by the unknowns, a square matrix."""
        return jacobian(lambda z: self._residual(z, data)(*operands))(z)

    def _parts(self, found: Any) -> tuple[Any, Any]:
        return found[: self._count], found[self._count : self._count + self._data_size]

    def _pulled(self, g: Any, found: Any, operands: Sequence[Any]) -> list[Any]:
        z, data = self._parts(found)
        pulled = ops.solve(self._slopes(z, data, operands).T, g)
        return pull_through(self._residual(z, data), -pulled, operands, self.name)

    def _moved(self, tangents: Sequence[Any], found: Any, operands: Sequence[Any]) -> Any:
        z, data = self._parts(found)
        moved = push_through(self._residual(z, data), tangents, operands, self.name)
        return None if moved is None else -ops.solve(self._slopes(z, data, operands), moved)

    def _pushed(self, tangents: Sequence[Any], found: Any, operands: Sequence[Any]) -> Any:
        moved = self._moved(tangents, found, operands)
        return None if moved is None else ops.concatenate([moved, np.zeros(self._data_size + 1)])

    def _vjp(self, g: Any, out: Any, *operands: Any) -> list[Any]:
        found = self._certified(out, operands)
        g = ops.concatenate([g[: self._size], np.zeros(self._count - self._size)])
        return self._pulled(g, found, operands)

    def _jvp(self, tangents: Sequence[Any], out: Any, *operands: Any) -> Any:
        moved = self._moved(tangents, self._certified(out, operands), operands)
        if moved is None:
            return None
        return ops.concatenate([moved[: self._size], np.zeros(out.shape[0] - self._size)])


def _plainest(value: Any) -> Any:
    while (batch := batch_below(value)) is not None:
        value = batch.node.value
    return plain(value)


class _Depends(Exception):
    """Raised where a function of plain numbers returns a Var that it closes over."""


def settled(value: Any) -> Any:
    """Return what a function of plain numbers returned, Vars that it closes over as their values."""
    value = resolve(value)
    if isinstance(value, Handle):
        raise _Depends
    return value


def checked_function(f: Any, what: str) -> Callable[..., Any]:
    """Return the caller's function, which may not draw random numbers."""
    check_callable(f, what)
    return without_draws(Bound(f), what)


def is_regular(matrix: np.ndarray) -> bool:
    """Return whether a system can be solved, rows and columns being scaled; one of no equations can."""
    if not np.all(np.isfinite(matrix)):
        return False
    if not matrix.size:
        return True
    for _ in range(2):
        rows = np.max(np.abs(matrix), axis=1, keepdims=True)
        columns = np.max(np.abs(matrix), axis=0, keepdims=True)
        if not (np.all(rows > 0) and np.all(columns > 0)):
            return False
        matrix = matrix / np.sqrt(rows * columns)
    values = np.linalg.svd(matrix, compute_uv=False)
    return bool(values[-1] > 1e-13 * values[0])
