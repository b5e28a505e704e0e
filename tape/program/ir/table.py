"""The instructions of a program, one entry each: operands, attributes, type rule, cost, memory, failure.

Builder, checker, planner, encoder, printer and cost reports read what they need of an instruction here.

How to add an instruction
-------------------------
1. Its type rule in `tape.program.ir.rules`, and its entry here; a cost of its own in `tape.program.ir.costs`.
2. A function of the same name in `tape.program.runtime.encode_arrays` or ``encode_matrices``, which writes
   the rows of the machine. It is found by that name.
3. A method of `tape.program.ir.builder.Builder`, if ``b.push("name", operands, attributes)`` in the ``lower``
   rule of an operation does not say it well enough.
4. What it computes, in plain NumPy: `tape.program.runtime.plain`, which the random programs compare with.

If the machine has no row for it yet, then also:

5. The fields of the row in `tape.program.native.opcodes.FIELDS`, and the kernel in ``KERNELS`` there.
6. A branch in `tape.program.native.machine.run`, and the kernel among the units of
   `tape.program.native.compiling`.
7. A function of the row's name in `tape.program.runtime.verify_arrays` or a module beside it, which claims
   the memory that the row touches.

A ufunc of one or two operands needs its name in `tape.program.native.ufuncs` and nothing else, a generalised
one its line in `tape.program.native.gufuncs`. A view has no rows: in place of step 2 it has strides, in
``tape.program.plan.planner``. A computation on whole arrays of floats needs none of this: declare it in
`tape.kernels.registry`, and call it with `Builder.kernel`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from tape import errors
from tape.ops.elementwise.scipy_ufuncs import PREFIX
from tape.program.ir import costs, rules
from tape.program.ir.costs import Cost
from tape.program.ir.instructions import Instruction
from tape.program.ir.types import Rule, Typed
from tape.program.native.gufuncs import GUFUNCS
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
        that computes. ``"planned"``: made by the planner, and in no file. ``"loop"``, ``"guard"`` and
        ``"callback"``.
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
    role: Literal["source", "view", "elementwise", "array", "planned", "loop", "guard", "callback"] = "array"
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
        return self.failure is not None or self.role in ("loop", "guard", "callback")


_SINGULAR = Failure(errors.SingularMatrixError, "a matrix is singular. Look at its null space")
_NOT_POSITIVE = Failure(
    errors.SingularMatrixError, "a matrix is not positive definite. Look at its least eigenvalue"
)
_UNDEFINED = Failure(
    errors.SingularMatrixError,
    "a matrix is singular or nearly so, or has equal eigenvalues or singular values, and a derivative is not "
    "defined or needs more care. Call the function itself",
)
_OUT_OF_RANGE = Failure(errors.OutOfBoundsError, "an index is out of range. Look at the integers given")


def _define(rule: Rule, form: str, cost: Cost, **others: Any) -> Definition:
    """Define an instruction of the form ``"operands; attributes"``."""
    operands, _, attributes = form.partition(";")
    names = [tuple(part.replace(",", " ").split()) for part in (operands, attributes)]
    return Definition(rule=rule, operands=names[0], attributes=names[1], cost=cost, **others)


_STEP = 20
"""Nanoseconds of a step of a loop, beside its body."""


def _in_all_steps(estimate: Callable[[Cost], Any], step: int) -> Any:
    """Return the cost of a loop, which is that of its body in each step."""

    def of_loop(out: Instruction, values: Sequence[Instruction]) -> Any:
        (loop,) = out.attrs
        body = loop.body.instructions
        return loop.length * sum([step, *[estimate(INSTRUCTIONS[i.op].cost)(i, body) for i in body]])

    return of_loop


_LOOP = Cost(
    _in_all_steps(lambda cost: cost.flops, 0),
    _in_all_steps(lambda cost: cost.typical, _STEP),
    _in_all_steps(lambda cost: cost.longest, _STEP),
)

INSTRUCTIONS: dict[str, Definition] = {
    # ---- values that are given -----------------------------------------------------------------------
    "input": _define(rules.given, "; number", costs.FREE, role="source"),
    "constant": _define(rules.given, "; number", costs.FREE, role="source"),
    "literal": _define(rules.literal, "; dtype, bytes", costs.FREE, role="source"),
    # ---- elementwise, beside the ufuncs --------------------------------------------------------------
    "where": _define(rules.where, "condition, x, y", costs.QUICK, role="elementwise"),
    "cast": _define(rules.cast, "x", costs.QUICK, role="elementwise"),
    # ---- views ---------------------------------------------------------------------------------------
    "reshape": _define(rules.reshape, "x", costs.FREE, role="view"),
    "transpose": _define(rules.transpose, "x; axes", costs.FREE, role="view"),
    "broadcast": _define(rules.broadcast, "x", costs.FREE, role="view"),
    "slice": _define(rules.slice_, "x; start, step", costs.FREE, role="view"),
    "again": _define(rules.same, "x", costs.FREE, role="view"),  # of which nothing is known
    "reals": _define(rules.reals, "x", costs.FREE, role="view"),
    "complexes": _define(rules.complexes, "pairs", costs.FREE, role="view"),
    "part": _define(rules.part, "results; offset", costs.FREE, role="view"),
    # ---- reductions and scans ------------------------------------------------------------------------
    "fold": _define(rules.fold, "x; kind, axes", costs.REDUCTION, reads="contiguous"),
    "sum_product": _define(rules.sum_product, "x, y; kind, axes", costs.REDUCTION, reads="contiguous"),
    # by NumPy's loop, to the last bit
    "numpy_fold": _define(rules.numpy_fold, "x; kind, axes", costs.REDUCTION, reads="contiguous"),
    "scan": _define(rules.scan, "x, factors?; kind, axis, backwards", costs.SCAN, reads="contiguous"),
    # ---- products and systems of equations; right-hand sides and solutions are rows --------------------
    "matmul": _define(rules.matmul, "a, b; factor", costs.MATMUL, reads="matrix", writes_any_order=True),
    "matmul_add": _define(
        rules.matmul_add, "total, a, b; factor", costs.MATMUL, reads="matrix", overwrites=0
    ),
    "numpy_matmul": _define(rules.numpy_matmul, "a, b", costs.MATMUL, reads="matrix"),  # to the last bit
    "solve": _define(rules.solve, "a, rows", costs.SOLVE, overwrites=1, failure=_SINGULAR),
    "triangular_solve": _define(
        rules.triangular_solve,
        "a, rows; lower, transposed, unit_diagonal",
        costs.TRIANGULAR_SOLVE,
        reads="matrix",
        overwrites=1,
        failure=_SINGULAR,
    ),
    "cholesky": _define(rules.cholesky, "a; upper", costs.CHOLESKY, overwrites=0, failure=_NOT_POSITIVE),
    # the operand itself, if something holds for it
    "require": _define(rules.require, "x, is_right", costs.FREE, overwrites=0, failure=_UNDEFINED),
    # ---- reading and writing parts -------------------------------------------------------------------
    "take": _define(rules.take, "x, index; axis", costs.GATHER, reads="contiguous", failure=_OUT_OF_RANGE),
    "ravel_index": _define(
        rules.ravel_index, "*indices; lengths, wraps", costs.GATHER, reads="contiguous", failure=_OUT_OF_RANGE
    ),
    # of a slice, or along an axis by an index, which is the third operand then
    "add_at": _define(
        rules.add_at,
        "total, values, index?; start, step",
        costs.SCATTER,
        reads="contiguous",
        overwrites=0,
        failure=_OUT_OF_RANGE,
    ),
    "put": _define(rules.put, "total, values; start, step", costs.FREE, reads="contiguous", overwrites=0),
    "concatenate": _define(
        rules.concatenate, "*arrays; axis", costs.FREE, reads="contiguous", writes_any_order=True
    ),
    # ---- made by the planner -------------------------------------------------------------------------
    "copy": _define(rules.same, "x", costs.FREE, role="planned"),
    "pair": _define(rules.pair, "x, y, z; first, second", costs.PAIR, role="planned"),
    "pair_at": _define(  # what an operation gives is added to a slice
        rules.pair_at, "total, x, y; first, start, step", costs.PAIR_AT, role="planned", overwrites=0
    ),
    # ---- loops, kernels, branches and calls ----------------------------------------------------------
    "loop": _define(rules.loop, "*operands?; steps", _LOOP, role="loop", reads="contiguous"),
    "kernel": _define(
        rules.kernel,
        "x, y?, z?; name, parameters",
        costs.KERNEL,
        reads="contiguous",
        failure=Failure(errors.TapeError, "a kernel does not take these numbers. Call the function itself"),
    ),
    "guard": _define(rules.guard, "x; number", costs.GATHER, role="guard", reads="contiguous"),
    "callback": _define(rules.given, "*operands?; number, guard", costs.GATHER, role="callback"),
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


def _gufuncs() -> Iterator[tuple[str, Definition]]:
    for name, of in GUFUNCS.items():
        yield (
            name,
            Definition(
                rule=rules.gufunc(name),
                operands=tuple("abcdefg"[: len(of.operands)]),
                attributes=of.free,
                cost=costs.gufunc(name),
                reads="contiguous",
                failure=Failure(errors.SingularMatrixError, of.failure) if of.failure else None,
            ),
        )


INSTRUCTIONS.update(_ufuncs())
INSTRUCTIONS.update(_gufuncs())


def _names(*roles: str) -> frozenset[str]:
    return frozenset([name for name, definition in INSTRUCTIONS.items() if definition.role in roles])


SOURCES = _names("source")
VIEWS = _names("view")
ELEMENTWISE = _names("elementwise")
BLOCKWISE = ELEMENTWISE | {name for name in _names("planned") if INSTRUCTIONS[name].overwrites is None}
"""Instructions that can be computed block by block."""


def typed(
    op: str, ids: tuple[int, ...], operands: Sequence[Typed], attrs: tuple[Any, ...] = ()
) -> Instruction:
    """Return an instruction of the type that its rule infers; ``ids`` are the positions of its operands."""
    return Instruction(op, ids, attrs, *INSTRUCTIONS[op].rule(operands, attrs, None, None))
