"""The IR of programs: a flat list of instructions on arrays whose shapes are known.

An instruction names its operands by their position in the list, which always comes before its own. There are
few instructions, and each is something the machine can do: elementwise arithmetic, reductions over and scans
along axes, views, products, systems of equations, reading and adding by index, joining, and calls back into
Python. `tape.program.ir.table` has an entry for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(slots=True)
class Instruction:
    """One step of a program.

    Attributes
    ----------
    op : str
        Its name in `tape.program.ir.table.INSTRUCTIONS`.
    operands : tuple of int
        Positions in the list.
    attrs : tuple
        Its attributes, see the table.
    shape : tuple of int
        Shape of the result.
    dtype : numpy.dtype
        Dtype of the result.
    """

    op: str
    operands: tuple[int, ...]
    attrs: tuple[Any, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """Number of elements of the result."""
        count = 1
        for length in self.shape:
            count *= length
        return count

    @property
    def number(self) -> Any:
        """The number that a literal is."""
        char, data = self.attrs
        return np.frombuffer(data, char)[0]

    @property
    def guard(self) -> int | None:
        """The number of the guard that this checks, if it checks one."""
        if self.op == "guard":
            return self.attrs[0]
        return self.attrs[1] if self.op == "callback" and len(self.attrs) > 1 else None

    @property
    def type_text(self) -> str:
        """Dtype and shape of the result: ``float64[2, 3]``."""
        return f"{self.dtype}{list(self.shape)}"


@dataclass(slots=True)
class Guard:
    """The outcome of a branch during recording, or the dtype and shape that a value had."""

    kind: str
    """``"bool"``, ``"int"`` or ``"type"``."""
    outcome: Any


@dataclass
class IR:
    """A flat list of instructions, with inputs, constants and outputs.

    Attributes
    ----------
    instructions : list of Instruction
        Operands come before their uses.
    inputs : list
        The position of each dynamic leaf; None for those that nothing depends on.
    constants : list of numpy.ndarray
        Arrays that the function closed over, by reference.
    outputs : list
        The position of each leaf of the result.
    guards : list of Guard
        In the order of the instructions that check them.
    callbacks : list of tuple
        Operation, operands (None for those that are instructions) and attributes of each callback.
    effects : dict of str to int
        Statistics of the lowering, see `tape.program.ir.rewrite.rewrite`; empty if the program was loaded.
    """

    instructions: list[Instruction] = field(default_factory=list)
    inputs: list[int | None] = field(default_factory=list)
    constants: list[np.ndarray] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    callbacks: list[Any] = field(default_factory=list)
    effects: dict[str, int] = field(default_factory=dict)

    def uses(self) -> list[int]:
        """Return how often each value is read or is an output."""
        uses = [0] * len(self.instructions)
        for instruction in self.instructions:
            for operand in instruction.operands:
                uses[operand] += 1
        for id in self.outputs:
            uses[id] += 1
        return uses

    def replace(self, instructions: list[Instruction], place: Sequence[int] | dict[int, int]) -> None:
        """Take other instructions, given where the result of each one so far is among them."""
        self.instructions = instructions
        self.inputs = [None if id is None else place[id] for id in self.inputs]
        self.outputs = [place[id] for id in self.outputs]

    def drop_dead(self) -> None:
        """Drop what no output and no guard depends on, and renumber the rest."""
        old = self.instructions
        alive = bytearray(len(old))
        for id in self.outputs:
            alive[id] = 1
        for id in range(len(old) - 1, -1, -1):
            if alive[id] or old[id].guard is not None:
                alive[id] = 1
                for operand in old[id].operands:
                    alive[operand] = 1
        first = alive.find(0)  # those before it keep their numbers
        if first < 0:
            return
        place = [*range(first), *[-1] * (len(old) - first)]
        new = self.instructions = old[:first]
        for id in range(first + 1, len(old)):
            if alive[id]:
                instruction = old[id]
                place[id] = len(new)
                instruction.operands = tuple([place[operand] for operand in instruction.operands])
                new.append(instruction)
        self.inputs = [None if id is None or place[id] < 0 else place[id] for id in self.inputs]
        self.outputs = [place[id] for id in self.outputs]


class Appending:
    """Instructions that are appended to a list, equal ones once, but for what is to be computed again.

    Attributes
    ----------
    new : list of Instruction
    """

    def __init__(self) -> None:
        self.new: list[Instruction] = []
        self._made: dict[Any, int] = {}

    def push(
        self, op: str, operands: Iterable[int], attrs: tuple[Any, ...], shape: tuple[int, ...], dtype: Any
    ) -> int:
        """Append an instruction, unless an equal one was appended here; return its position."""
        operands = tuple(operands)
        key = (op, operands, attrs, shape, dtype)
        at = len(self.new) if op == "again" else self._made.setdefault(key, len(self.new))
        if at == len(self.new):
            self.new.append(Instruction(op, operands, attrs, shape, dtype))
        return at

    def push_again(self, of: Instruction, place: Sequence[int] | dict[int, int]) -> int:
        """Append an instruction of another list, given where what that list has is in this one."""
        return self.push(of.op, [place[x] for x in of.operands], of.attrs, of.shape, of.dtype)


def source_of(instructions: Sequence[Instruction], x: int) -> int:
    """Return the value that is repeated along some axes, or the value itself."""
    return instructions[x].operands[0] if instructions[x].op == "broadcast" else x
