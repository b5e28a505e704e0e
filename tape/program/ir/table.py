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

A ufunc of one or two operands needs its name in `tape.program.native.ufuncs` and nothing else. A view has no
rows: in place of step 2 it has strides, in ``tape.program.plan.planner``. A computation on whole arrays of
floats needs none of this: declare it in `tape.kernels.registry`, and call it with `Builder.kernel`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from tape import errors
from tape.ops.special.scipy_ufuncs import PREFIX
from tape.program.ir import costs, rules
from tape.program.ir.costs import Cost
from tape.program.ir.instructions import Instruction
from tape.program.ir.types import Rule, Typed
from tape.program.native.ufuncs import UFUNCS


class Failure(NamedTuple):
    """The error of an instruction that has no result for some numbers: class and message."""

    error: type[errors.TapeError]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The definition of an instruction.

    Attributes
    ----------
    rule : Rule
        Returns the type of the result; see `tape.program.ir.types`.
    operands : tuple of str
        Their names; an optional one ends in ``?``, one or more are ``*names``.
    attributes : tuple of str
        Names of the attributes, for printing.
    role : str
        ``"source"``: a value that is given. ``"view"``: the memory of its operand with other strides.
        ``"elementwise"``: each element depends on one element of each operand. ``"array"``: everything else
        that computes. ``"copy"``: inserted by the planner, and in no file. ``"guard"`` and ``"callback"``.
    cost : Cost
        Arithmetic and time.
    reads : str or None
        The layout that it needs its operands in: ``"contiguous"``, or ``"matrix"`` as BLAS reads them; None
        for any.
    overwrites : int or None
        The operand that it copies, to overwrite the copy; it works in place if that is the last use.
    writes_any_order : bool
        Whether it can write its result with the axes in another order, but for the last.
    failure : Failure or None
        The error for numbers that have no result.
    """

    rule: Rule
    operands: tuple[str, ...]
    attributes: tuple[str, ...] = ()
    role: Literal["source", "view", "elementwise", "array", "copy", "guard", "callback"] = "array"
    cost: Cost
    reads: Literal["contiguous", "matrix"] | None = None
    overwrites: int | None = None
    writes_any_order: bool = False
    failure: Failure | None = None

    def takes(self, count: int) -> bool:
        """Return whether it takes this many operands."""
        least = sum(not name.endswith("?") for name in self.operands)
        has_any_number = any(name.startswith("*") for name in self.operands)
        return least <= count and (has_any_number or count <= len(self.operands))

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
        rule=rules.given, operands=(), attributes=("number",), role="source", cost=costs.FREE
    ),
    "constant": Definition(
        rule=rules.given, operands=(), attributes=("number",), role="source", cost=costs.FREE
    ),
    "literal": Definition(
        rule=rules.literal, operands=(), attributes=("dtype", "bytes"), role="source", cost=costs.FREE
    ),
    # ---- elementwise, beside the ufuncs --------------------------------------------------------------
    "where": Definition(
        rule=rules.where, operands=("condition", "x", "y"), role="elementwise", cost=costs.QUICK
    ),
    "cast": Definition(rule=rules.cast, operands=("x",), role="elementwise", cost=costs.QUICK),
    # ---- views ---------------------------------------------------------------------------------------
    "reshape": Definition(rule=rules.reshape, operands=("x",), role="view", cost=costs.FREE),
    "transpose": Definition(
        rule=rules.transpose, operands=("x",), attributes=("axes",), role="view", cost=costs.FREE
    ),
    "broadcast": Definition(rule=rules.broadcast, operands=("x",), role="view", cost=costs.FREE),
    "slice": Definition(
        rule=rules.slice_, operands=("x",), attributes=("start", "step"), role="view", cost=costs.FREE
    ),
    # ---- reductions and scans ------------------------------------------------------------------------
    "fold": Definition(
        rule=rules.fold,
        operands=("x",),
        attributes=("kind", "axes"),
        cost=costs.REDUCTION,
        reads="contiguous",
    ),
    "sum_product": Definition(
        rule=rules.sum_product,
        operands=("x", "y"),
        attributes=("kind", "axes"),
        cost=costs.REDUCTION,
        reads="contiguous",
    ),
    "scan": Definition(
        rule=rules.scan,
        operands=("x", "factors?"),
        attributes=("kind", "axis", "backwards"),
        cost=costs.SCAN,
        reads="contiguous",
    ),
    # ---- products and systems of equations; right-hand sides and solutions are rows --------------------
    "matmul": Definition(
        rule=rules.matmul,
        operands=("a", "b"),
        attributes=("factor",),
        cost=costs.MATMUL,
        reads="matrix",
        writes_any_order=True,
    ),
    "matmul_add": Definition(
        rule=rules.matmul_add,
        operands=("total", "a", "b"),
        attributes=("factor",),
        cost=costs.MATMUL,
        reads="matrix",
        overwrites=0,
    ),
    "solve": Definition(
        rule=rules.solve, operands=("a", "rows"), cost=costs.SOLVE, overwrites=1, failure=_SINGULAR
    ),
    "triangular_solve": Definition(
        rule=rules.triangular_solve,
        operands=("a", "rows"),
        attributes=("lower", "transposed", "unit_diagonal"),
        cost=costs.TRIANGULAR_SOLVE,
        reads="matrix",
        overwrites=1,
        failure=_SINGULAR,
    ),
    "cholesky": Definition(
        rule=rules.cholesky,
        operands=("a",),
        attributes=("upper",),
        cost=costs.CHOLESKY,
        overwrites=0,
        failure=_NOT_POSITIVE,
    ),
    # ---- reading and writing parts -------------------------------------------------------------------
    "take": Definition(
        rule=rules.take,
        operands=("x", "index"),
        attributes=("axis",),
        cost=costs.GATHER,
        reads="contiguous",
        failure=_OUT_OF_RANGE,
    ),
    "ravel_index": Definition(
        rule=rules.ravel_index,
        operands=("*indices",),
        attributes=("lengths", "wraps"),
        cost=costs.GATHER,
        reads="contiguous",
        failure=_OUT_OF_RANGE,
    ),
    "add_at": Definition(  # of a slice, or along an axis by an index, which is the third operand then
        rule=rules.add_at,
        operands=("total", "values", "index?"),
        attributes=("start", "step"),
        cost=costs.SCATTER,
        reads="contiguous",
        overwrites=0,
        failure=_OUT_OF_RANGE,
    ),
    "put": Definition(
        rule=rules.put,
        operands=("total", "values"),
        attributes=("start", "step"),
        cost=costs.FREE,
        reads="contiguous",
        overwrites=0,
    ),
    "concatenate": Definition(
        rule=rules.concatenate,
        operands=("*arrays",),
        attributes=("axis",),
        cost=costs.FREE,
        reads="contiguous",
        writes_any_order=True,
    ),
    "copy": Definition(rule=rules.same, operands=("x",), role="copy", cost=costs.FREE),
    # ---- kernels, branches and calls -----------------------------------------------------------------
    "kernel": Definition(
        rule=rules.kernel,
        operands=("x", "y?", "z?"),
        attributes=("name", "parameters"),
        cost=costs.KERNEL,
        reads="contiguous",
        failure=Failure(errors.TapeError, "a kernel does not take these numbers. Call the function itself"),
    ),
    "guard": Definition(
        rule=rules.guard,
        operands=("x",),
        attributes=("number",),
        role="guard",
        cost=costs.GATHER,
        reads="contiguous",
    ),
    "callback": Definition(
        rule=rules.given,
        operands=("*operands?",),
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
        yield name, Definition(rule=rules.ufunc(name), operands=("x", "y?"), role="elementwise", cost=cost)


INSTRUCTIONS.update(_ufuncs())


def _names(*roles: str) -> frozenset[str]:
    return frozenset([name for name, definition in INSTRUCTIONS.items() if definition.role in roles])


SOURCES = _names("source")
VIEWS = _names("view")
ELEMENTWISE = _names("elementwise")
BLOCKWISE = _names("elementwise", "copy")
"""Instructions that can be computed block by block."""


def typed(
    op: str, ids: tuple[int, ...], operands: Sequence[Typed], attrs: tuple[Any, ...] = ()
) -> Instruction:
    """Return an instruction of the type that its rule infers; ``ids`` are the positions of its operands."""
    return Instruction(op, ids, attrs, *INSTRUCTIONS[op].rule(operands, attrs, None, None))
