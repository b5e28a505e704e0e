"""Bodies of loops over tiles with the axis of the rows last.

Where rows are short, all that is done to them is done to a few numbers at a time: numbers that are broadcast
along a row, parts of rows, sums within rows. With the axis of the rows last, these are operations on as many
numbers as a tile has rows, and parts of rows lie in memory one after the other.

Elementwise instructions, reductions within short rows, parts of rows that are joined, written or taken, and
views of all of them can be turned like that. Everything else stays as it is: products of matrices, kernels,
totals over rows. Between the two, and for what the loop returns, values are transposed. A body is left alone
where that takes longer than what is gained.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

from tape.kernels.codes import DTYPE_CODES
from tape.kernels.registry import REGISTRY
from tape.program.ir.instructions import IR, Appending, Instruction
from tape.program.ir.table import ELEMENTWISE, VIEWS

__all__ = ["is_worth_turning", "turned"]

_FEWEST_ROWS = 128
_LONGEST_ROW = 32
"""Numbers: longer rows are computed as fast as they are, and are summed more exactly."""
_TRANSPOSED = 2
"""How many numbers of short rows are worth one that is transposed: the time it takes, and a margin."""

Shape = tuple[int, ...]
Forms = tuple[str, ...]

AS_IS, TURNED, WHOLE = "as is", "turned", "whole"
"""Forms of a value: as the body has it; with its first axis last; of what is the same for all rows, as it is
broadcast to turned values: with a last axis of length one."""


def is_worth_turning(body: IR, rows: int) -> bool:
    """Return whether more is saved than what transposing takes.

    Parameters
    ----------
    body : IR
        Of a loop over tiles.
    rows : int
        How many a tile has.
    """
    return rows >= _FEWEST_ROWS and _Turning(body, rows).saved > 0


def turned(body: IR, rows: int) -> IR:
    """Return the body of a loop over tiles with the axis of the rows last.

    Parameters
    ----------
    body : IR
        It is not changed.
    rows : int
        How many a tile has: values whose first axis has that length are turned, where they can be.

    Returns
    -------
    IR
        With the same inputs and outputs.
    """
    return _Turned(_Turning(body, rows)).ir


class _Turning:
    """Which forms of its values a body needs, and what turning it saves.

    Attributes
    ----------
    forms : list of tuple or None
        Of the operands from which an instruction is computed turned; None if it cannot be.
    computed, transposed : list of set
        Forms of each value that are computed, and those that are made by transposing another.
    saved : int
        In numbers of short rows.
    """

    def __init__(self, body: IR, rows: int) -> None:
        self.body, self.old, self.rows = body, body.instructions, rows
        self.forms = [self._forms(of) for of in self.old]
        self.computed: list[set[str]] = [set() for _ in self.old]
        self.transposed: list[set[str]] = [set() for _ in self.old]
        self.saved = 0
        wanted: list[set[str]] = [set() for _ in self.old]
        for id in body.outputs:
            wanted[id].add(AS_IS)
        for id in range(len(self.old) - 1, -1, -1):
            if wanted[id]:
                self._choose(id, wanted[id])
                for form in self.computed[id]:
                    for x, needed in self.operands(id, form):
                        wanted[x].add(AS_IS if needed == WHOLE else needed)

    def operands(self, id: int, form: str) -> list[tuple[int, str]]:
        """Return the operands of an instruction that is computed in a form, and the form of each."""
        operands, forms = self.old[id].operands, self.forms[id]
        if form == AS_IS or forms is None:
            forms = (AS_IS,) * len(operands)
        return list(zip(operands, forms, strict=True))

    def _forms(self, of: Instruction) -> Forms | None:
        operands = [self.old[x] for x in of.operands]
        rule = _rule_of(of)
        return None if rule is None or not self._has_rows(of) else rule.forms(of, operands, self._has_rows)

    def _has_rows(self, of: Instruction) -> bool:
        return of.shape[:1] == (self.rows,)

    def _choose(self, id: int, wanted: set[str]) -> None:
        """Choose the forms that are computed, of those that are wanted: of a view all that there can be."""
        of, is_turned = self.old[id], self.forms[id] is not None
        home = {TURNED} if is_turned else {AS_IS}
        self.computed[id] = wanted if is_turned and of.op in VIEWS else home
        self.transposed[id] = wanted - self.computed[id]
        if self.transposed[id] and of.size != self.rows:
            self.saved -= _TRANSPOSED * of.size
        if is_turned and of.size <= self.rows * _LONGEST_ROW:
            self.saved += self._in_short_rows(of)

    def _in_short_rows(self, of: Instruction) -> int:
        """Return how many numbers an instruction on short rows reads or writes a few at a time."""
        operands = [self.old[x] for x in of.operands]
        if of.op in VIEWS:
            return 0
        if of.op in ELEMENTWISE:
            return (of.size > self.rows) * of.size * sum([self._is_in_other_order(of, x) for x in operands])
        return max(of.size, operands[0].size) if of.op != "put" else operands[1].size

    def _is_in_other_order(self, of: Instruction, x: Instruction) -> bool:
        """Return whether an elementwise instruction reads an operand in another order than in memory."""
        if x.shape != of.shape:
            return bool(x.shape)
        while x.op == "reshape":
            x = self.old[x.operands[0]]
        return x.op in VIEWS


class _Turned(Appending):
    """A body whose instructions are turned where they can be.

    Attributes
    ----------
    ir : IR
    """

    def __init__(self, turning: _Turning) -> None:
        super().__init__()
        self.turning, self.old = turning, turning.old
        self.place: dict[tuple[str, int], int] = {}
        for id in range(len(self.old)):
            for form in sorted(turning.computed[id]):
                self.place[form, id] = self._computed(id, form)
            for form in turning.transposed[id]:
                self.place[form, id] = self._transposed(id, form)
        body = turning.body
        inputs = [None if id is None else self.place.get((AS_IS, id)) for id in body.inputs]
        outputs = [self.place[AS_IS, id] for id in body.outputs]
        self.ir = IR(self.new, inputs, body.constants, outputs, body.guards, body.callbacks)

    def _computed(self, id: int, form: str) -> int:
        of, rule = self.old[id], _rule_of(self.old[id])
        attrs, shape = of.attrs, of.shape
        if form == TURNED:
            assert rule is not None
            attrs, shape = rule.attrs(attrs), _rolled(shape)
        operands = [
            self._whole(x, len(shape)) if needed == WHOLE else self.place[needed, x]
            for x, needed in self.turning.operands(id, form)
        ]
        return self.push(of.op, operands, attrs, shape, of.dtype)

    def _whole(self, x: int, ndim: int) -> int:
        """Return what is the same for all rows, as it is broadcast to a turned value of so many axes."""
        of = self.old[x]
        others = of.shape[1:] if len(of.shape) == ndim else of.shape
        return self.push("reshape", (self.place[AS_IS, x],), (), (*others, 1), of.dtype)

    def _transposed(self, id: int, form: str) -> int:
        """Append a value in a form, from its other one."""
        of, rows, is_turned = self.old[id], self.turning.rows, form == TURNED
        at = self.place[AS_IS if is_turned else TURNED, id]
        shape = _rolled(of.shape) if is_turned else of.shape
        if of.size in (0, rows):
            return self.push("reshape", (at,), (), shape, of.dtype)
        if DTYPE_CODES.get(of.dtype) in REGISTRY["transposed"].dtypes:
            lengths = (rows, of.size // rows) if is_turned else (of.size // rows, rows)
            return self.push("kernel", (at,), ("transposed", lengths), shape, of.dtype)
        axes = tuple(range(len(shape)))
        return self.push(
            "transpose", (at,), (_rolled(axes) if is_turned else (axes[-1], *axes[:-1]),), shape, of.dtype
        )


def _rolled(of_each_axis: Shape) -> Shape:
    return (*of_each_axis[1:], *of_each_axis[:1])


# ---- how each instruction is turned ------------------------------------------------------------------

HasRows = Callable[[Instruction], bool]


class _Rule(NamedTuple):
    """How an instruction whose result has rows is turned.

    Attributes
    ----------
    forms : callable
        Of the operands, given the instruction, its operands, and what says whether they have rows; None if it
        cannot be turned.
    attrs : callable
        From its attributes to those of the turned one.
    """

    forms: Callable[[Instruction, list[Instruction], HasRows], Forms | None]
    attrs: Callable[[Any], tuple[Any, ...]]


def _rule_of(of: Instruction) -> _Rule | None:
    return _BROADCASTING if of.op in ELEMENTWISE else _RULES.get(of.op)


def _of_broadcast(of: Instruction, operands: list[Instruction], has_rows: HasRows) -> Forms:
    """Operands with as many axes and as many rows have rows; others are the same for all."""
    ndim = len(of.shape)
    return tuple(
        [TURNED if len(x.shape) == ndim and has_rows(x) else WHOLE if x.shape else AS_IS for x in operands]
    )


def _of_rows(of: Instruction, operands: list[Instruction], has_rows: HasRows) -> Forms | None:
    return (TURNED,) * len(operands) if all(map(has_rows, operands)) else None


def _of_reduction(of: Instruction, operands: list[Instruction], has_rows: HasRows) -> Forms | None:
    axes = of.attrs[1]
    is_short = prod([operands[0].shape[axis] for axis in axes]) <= _LONGEST_ROW
    return _of_rows(of, operands, has_rows) if axes[0] > 0 and is_short else None


def _of_joined(of: Instruction, operands: list[Instruction], has_rows: HasRows) -> Forms | None:
    return _of_rows(of, operands, has_rows) if of.attrs[0] > 0 else None


def _of_taken(of: Instruction, operands: list[Instruction], has_rows: HasRows) -> Forms | None:
    return (TURNED, AS_IS) if of.attrs[0] > 0 else None


def _of_part(of: Instruction, operands: list[Instruction], has_rows: HasRows) -> Forms | None:
    starts, steps = of.attrs
    return _of_rows(of, operands, has_rows) if (starts[0], steps[0]) == (0, 1) else None


def _of_transpose(of: Instruction, operands: list[Instruction], has_rows: HasRows) -> Forms | None:
    return _of_rows(of, operands, has_rows) if of.attrs[0][0] == 0 else None


def _one_less(attrs: tuple[int]) -> tuple[Any, ...]:
    return (attrs[0] - 1,)


def _turned_parts(attrs: tuple[Shape, Shape]) -> tuple[Any, ...]:
    return tuple(map(_rolled, attrs))


def _turned_axes(attrs: tuple[Shape]) -> tuple[Any, ...]:
    (axes,) = attrs
    return ((*[axis - 1 for axis in axes[1:]], len(axes) - 1),)


def _reduced_axes(attrs: tuple[str, Shape]) -> tuple[Any, ...]:
    kind, axes = attrs
    return kind, tuple([axis - 1 for axis in axes])


def _same(attrs: tuple[Any, ...]) -> tuple[Any, ...]:
    return attrs


_BROADCASTING = _Rule(_of_broadcast, _same)
_RULES: dict[str, _Rule] = {
    "broadcast": _BROADCASTING,
    "reshape": _Rule(_of_rows, _same),
    "slice": _Rule(_of_part, _turned_parts),
    "transpose": _Rule(_of_transpose, _turned_axes),
    "fold": _Rule(_of_reduction, _reduced_axes),
    "sum_product": _Rule(_of_reduction, _reduced_axes),
    "concatenate": _Rule(_of_joined, _one_less),
    "put": _Rule(_of_part, _turned_parts),
    "take": _Rule(_of_taken, _one_less),
}
"""Of all instructions that can be turned but elementwise ones."""
