"""The instructions of a program, one entry each: operands, attributes, type rule, cost, memory, failure.

Builder, checker, planner, encoder, printer and cost reports read what they need of an instruction here.

How to add an instruction
-------------------------
1. Its type rule in `tape.program.ir.rules`, and its entry here; a cost of its own in `tape.program.ir.costs`.
2. A function of the same name in `tape.program.runtime.encode_arrays` or ``encode_matrices``, which writes
   the rows of the machine. It is found by that name.
3. A method of `tape.program.ir.builder.Builder`, if ``b.push("name", operands, attributes)`` in the ``lower``
   rule of an operation does not say it well enough.
4. What it computes, in plain NumPy: ``tests/naive_program.py``, which the random programs compare with.

If the machine has no row for it yet, then also:

5. The fields of the row in `tape.program.native.opcodes.FIELDS`, and the kernel in ``KERNELS`` there.
6. A branch in `tape.program.native.machine.run`, and the kernel among the units of
   `tape.program.native.code`.
7. A method of the row's name in `tape.program.runtime.verify`, which claims the memory that the row touches.

A computation on whole arrays of floats needs none of this: declare it in `tape.kernels.registry`, and call it
with `Builder.kernel`.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from tape import errors
from tape.ops.special.scipy_ufuncs import PREFIX
from tape.program.ir import costs, rules
from tape.program.ir.costs import Cost
from tape.program.ir.instructions import Instruction
from tape.program.ir.types import MOST_AXES, Rule, Typed
from tape.program.native.ufuncs import UFUNCS

__all__ = ["BLOCKWISE", "ELEMENTWISE", "INSTRUCTIONS", "SOURCES", "VIEWS", "Definition", "Failure", "typed"]


class Failure(NamedTuple):
    """The error of an instruction that has no result for some numbers: class and message."""

    error: type[errors.TapeError]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What is known of an instruction.

    Attributes
    ----------
    rule : Rule
        Returns the type of the result; see `tape.program.ir.types`.
    operands : container of int
        How many it may have.
    attributes : tuple of str
        What the attributes are called when it is printed.
    role : str
        ``"source"``: a value that is given. ``"view"``: its operand, looked at in another way.
        ``"elementwise"``: each element depends on one element of each operand. ``"array"``: everything else
        that computes. ``"copy"``: inserted by the planner, and in no file. ``"guard"`` and ``"callback"``.
    cost : Cost
        Arithmetic and time.
    reads : str or None
        The layout that it needs its operands in: ``"contiguous"``, or ``"matrix"`` as BLAS reads them; None
        for any.
    overwrites : int or None
        The operand that it copies, to work on the copy; or in place, where nothing needs it any more.
    writes_any_order : bool
        Whether it can write its result with the axes in another order, but for the last.
    failure : Failure or None
        The error for numbers that have no result.
    """

    rule: Rule
    operands: Container[int]
    attributes: tuple[str, ...] = ()
    role: Literal["source", "view", "elementwise", "array", "copy", "guard", "callback"] = "array"
    cost: Cost
    reads: Literal["contiguous", "matrix"] | None = None
    overwrites: int | None = None
    writes_any_order: bool = False
    failure: Failure | None = None

    @property
    def may_stop(self) -> bool:
        """Whether the machine may end a run at it."""
        return self.failure is not None or self.role in ("guard", "callback")


_SINGULAR = Failure(errors.SingularMatrixError, "a matrix is singular. Look at its null space")
_NOT_POSITIVE = Failure(
    errors.SingularMatrixError, "a matrix is not positive definite. Look at its least eigenvalue"
)
_OUT_OF_RANGE = Failure(errors.OutOfBoundsError, "an index is out of range. Look at the integers given")

INSTRUCTIONS: dict[str, Definition] = {
    # ---- values that are given -----------------------------------------------------------------------
    "input": Definition(
        rule=rules.given, operands=(0,), attributes=("number",), role="source", cost=costs.FREE
    ),
    "constant": Definition(
        rule=rules.given, operands=(0,), attributes=("number",), role="source", cost=costs.FREE
    ),
    "literal": Definition(
        rule=rules.literal, operands=(0,), attributes=("dtype", "bytes"), role="source", cost=costs.FREE
    ),
    # ---- elementwise, beside the ufuncs --------------------------------------------------------------
    "where": Definition(rule=rules.where, operands=(3,), role="elementwise", cost=costs.QUICK),
    "cast": Definition(rule=rules.cast, operands=(1,), role="elementwise", cost=costs.QUICK),
    # ---- views ---------------------------------------------------------------------------------------
    "reshape": Definition(rule=rules.reshape, operands=(1,), role="view", cost=costs.FREE),
    "transpose": Definition(
        rule=rules.transpose, operands=(1,), attributes=("axes",), role="view", cost=costs.FREE
    ),
    "broadcast": Definition(rule=rules.broadcast, operands=(1,), role="view", cost=costs.FREE),
    "slice": Definition(
        rule=rules.slice_, operands=(1,), attributes=("start", "step"), role="view", cost=costs.FREE
    ),
    # ---- reductions and scans ------------------------------------------------------------------------
    "fold": Definition(
        rule=rules.fold, operands=(1,), attributes=("kind", "axes"), cost=costs.REDUCTION, reads="contiguous"
    ),
    "sum_product": Definition(
        rule=rules.sum_product,
        operands=(2,),
        attributes=("kind", "axes"),
        cost=costs.REDUCTION,
        reads="contiguous",
    ),
    "scan": Definition(
        rule=rules.scan,
        operands=(1, 2),
        attributes=("kind", "axis", "backwards"),
        cost=costs.SCAN,
        reads="contiguous",
    ),
    # ---- products and systems of equations; right-hand sides and solutions are rows --------------------
    "matmul": Definition(
        rule=rules.matmul,
        operands=(2,),
        attributes=("factor",),
        cost=costs.MATMUL,
        reads="matrix",
        writes_any_order=True,
    ),
    "matmul_add": Definition(
        rule=rules.matmul_add,
        operands=(3,),
        attributes=("factor",),
        cost=costs.MATMUL,
        reads="matrix",
        overwrites=0,
    ),
    "solve": Definition(rule=rules.solve, operands=(2,), cost=costs.SOLVE, overwrites=1, failure=_SINGULAR),
    "triangular_solve": Definition(
        rule=rules.triangular_solve,
        operands=(2,),
        attributes=("lower", "transposed", "unit_diagonal"),
        cost=costs.TRIANGULAR_SOLVE,
        reads="matrix",
        overwrites=1,
        failure=_SINGULAR,
    ),
    "cholesky": Definition(
        rule=rules.cholesky,
        operands=(1,),
        attributes=("upper",),
        cost=costs.CHOLESKY,
        overwrites=0,
        failure=_NOT_POSITIVE,
    ),
    # ---- reading and writing parts -------------------------------------------------------------------
    "take": Definition(
        rule=rules.take,
        operands=(2,),
        attributes=("axis",),
        cost=costs.GATHER,
        reads="contiguous",
        failure=_OUT_OF_RANGE,
    ),
    "ravel_index": Definition(
        rule=rules.ravel_index,
        operands=range(1, MOST_AXES + 1),
        attributes=("lengths", "wraps"),
        cost=costs.GATHER,
        reads="contiguous",
        failure=_OUT_OF_RANGE,
    ),
    "add_at": Definition(  # of a slice, or along an axis by an index, which is the third operand then
        rule=rules.add_at,
        operands=(2, 3),
        attributes=("start", "step"),
        cost=costs.SCATTER,
        reads="contiguous",
        overwrites=0,
        failure=_OUT_OF_RANGE,
    ),
    "put": Definition(
        rule=rules.put,
        operands=(2,),
        attributes=("start", "step"),
        cost=costs.FREE,
        reads="contiguous",
        overwrites=0,
    ),
    "concatenate": Definition(
        rule=rules.concatenate,
        operands=range(1, 1 << 31),
        attributes=("axis",),
        cost=costs.FREE,
        reads="contiguous",
        writes_any_order=True,
    ),
    "copy": Definition(rule=rules.same, operands=(1,), role="copy", cost=costs.FREE),
    # ---- kernels, branches and calls -----------------------------------------------------------------
    "kernel": Definition(
        rule=rules.kernel,
        operands=(1, 2, 3),
        attributes=("name", "parameters"),
        cost=costs.KERNEL,
        reads="contiguous",
        failure=Failure(errors.TapeError, "a kernel does not take these numbers. Call the function itself"),
    ),
    "guard": Definition(
        rule=rules.guard,
        operands=(1,),
        attributes=("number",),
        role="guard",
        cost=costs.GATHER,
        reads="contiguous",
    ),
    "callback": Definition(
        rule=rules.given,
        operands=range(1 << 31),
        attributes=("number", "guard"),
        role="callback",
        cost=costs.GATHER,
    ),
}
"""All of them, by name."""

_QUICK_NAMES = """
    absolute add bitwise_and bitwise_or bitwise_xor copysign equal fabs greater greater_equal invert
    isfinite isinf isnan less less_equal logical_and logical_not logical_or logical_xor maximum minimum
    multiply negative not_equal square subtract
"""
_QUICK_UFUNCS = frozenset(_QUICK_NAMES.split())


def _ufuncs() -> Iterator[tuple[str, Definition]]:
    for name in UFUNCS:
        cost = costs.QUICK if name in _QUICK_UFUNCS else costs.SLOW
        if name.startswith(PREFIX):
            cost = costs.SPECIAL
        yield name, Definition(rule=rules.ufunc(name), operands=(1, 2), role="elementwise", cost=cost)


INSTRUCTIONS.update(_ufuncs())


def _names(*roles: str) -> frozenset[str]:
    return frozenset([name for name, definition in INSTRUCTIONS.items() if definition.role in roles])


SOURCES = _names("source")
VIEWS = _names("view")
ELEMENTWISE = _names("elementwise")
BLOCKWISE = _names("elementwise", "copy")
"""What can be computed block by block."""


def typed(
    op: str, ids: tuple[int, ...], operands: Sequence[Typed], attrs: tuple[Any, ...] = ()
) -> Instruction:
    """Return an instruction of the type that its rule infers; ``ids`` are the positions of its operands."""
    return Instruction(op, ids, attrs, *INSTRUCTIONS[op].rule(operands, attrs, None, None))
