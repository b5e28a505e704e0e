"""`Writer`: the rows of an instruction array under construction, for the encoders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tape.kernels.codes import PAIRS
from tape.program.ir.instructions import Instruction
from tape.program.native.opcodes import FIELDS, REGISTERS, opcode, packed
from tape.program.plan.layouts import ALIGNMENT, Place, collapsed
from tape.program.plan.operands import run
from tape.program.plan.planner import Plan
from tape.program.runtime import encode_numbers

_SCALAR = opcode("scalar")


class Writer:
    """Appends rows, and the tables that they refer to.

    Parameters
    ----------
    plan : Plan
        Complete; its slot of registers grows as encoders need it.
    bodies : dict of int to Plan
        Those of its loops, by instruction.

    Attributes
    ----------
    rows : list of list of int
        So far.
    origins : list of int
        The instruction of the plan that each row belongs to.
    tables : list of int
        Numbers that follow the last row.
    addresses : list of int
        Each value of the plan as an operand of a row.
    origin : int
        The instruction that is being encoded.
    """

    def __init__(self, plan: Plan, bodies: dict[int, Plan]) -> None:
        self.plan = plan
        self.bodies = bodies
        self.rows: list[list[int]] = []
        self.origins: list[int] = []
        self.tables: list[int] = []
        self.addresses = [0 if place is None else packed(place.slot, place.offset) for place in plan.places]
        self.origin = 0
        self._known_tables: dict[tuple[int, ...], int] = {}

    def emit(self, name: str, **fields: int) -> None:
        """Append a row: a number for each of its `FIELDS`."""
        self.rows.append([opcode(name), *[fields[key] for key in FIELDS[name]]])
        self.origins.append(self.origin)

    def table(self, numbers: Sequence[int]) -> int:
        """Return the position of numbers among the tables; equal ones are shared."""
        key = tuple(numbers)
        at = self._known_tables.get(key)
        if at is None:
            at = self._known_tables[key] = len(self.tables)
            self.tables += key
        return at

    def place(self, id: int) -> Place:
        """Return the place of a value."""
        place = self.plan.places[id]
        assert place is not None
        return place

    def at(self, id: int) -> int:
        """Return a value as an operand of a row."""
        return self.addresses[id]

    def number(self, code: int, x: int, y: int, out: int) -> None:
        """Append a row that computes with the numbers at one or two addresses."""
        self.rows.append([_SCALAR, code, x, y, out])
        self.origins.append(self.origin)

    def pair(
        self, names: Sequence[str], width: int, count: int, operands: Sequence[tuple[int, int]], out: int
    ) -> None:
        """Write the row of two operations at once; of commutative ones, a number comes second.

        Of the operands the first elements and the strides are given, which are 0 for a number.
        """
        (first, second), (x, y, z) = names, operands
        if not x[1] and first != "subtract":
            x, y = y, x
        form = "".join(["a" if step else "n" for _, step in (x, y, z)])
        self.emit(
            "pair", kind=PAIRS[first, second, form], count=count, itemsize=width, stride_x=x[1],
            stride_y=y[1], stride_z=z[1], x=x[0], y=y[0], z=z[0], out=out,
        )  # fmt: skip

    def load(self, id: int, count: int, lengths: Any, steps: Any, out: int) -> None:
        """Write a row that copies elements of a value, in order, to contiguous memory."""
        self.emit(
            "load", itemsize=self.plan.instructions[id].dtype.itemsize, count=count, ndim=len(lengths),
            lengths=self.table(lengths), strides=self.table(steps), x=self.at(id), out=out,
        )  # fmt: skip

    def run_of(self, source: int, instruction: Instruction) -> tuple[Any, Any]:
        """Return the lengths and strides of an operand that is broadcast to a result."""
        lengths, steps = run(self.plan.instructions[source], self.place(source).strides, instruction)
        return lengths or (1,), steps or (instruction.dtype.itemsize,)

    def copy_to(self, source: int, instruction: Instruction, out: int) -> None:
        """Write rows that fill a result with an operand, broadcast if it is smaller."""
        if not instruction.size or self.at(source) == out:
            return
        if encode_numbers.copy(self, source, instruction, out):
            return
        lengths, steps = self.run_of(source, instruction)
        width = instruction.dtype.itemsize
        if len(lengths) == 1 and (steps[0] == width or lengths[0] == 1):
            self.emit("copy", bytes=instruction.size * width, x=self.at(source), out=out)
        else:
            self.load(source, instruction.size, lengths, steps, out)

    def write_view(self, name: str, kind: int, x: int, id: int, offset: int, strides: Any) -> None:
        """Write a row that stores an operand to a part of the result."""
        source = self.plan.instructions[x]
        if not source.size:
            return
        place = self.place(id)
        out = packed(place.slot, place.offset + offset)
        by_numbers = encode_numbers.add if name == "add_store" else encode_numbers.put
        if by_numbers(self, x, strides, out):
            return
        lengths, steps = collapsed(source.shape, strides)
        fields: dict[str, int] = {"itemsize" if name == "store" else "dtype": kind}
        self.emit(
            name, **fields, count=source.size, ndim=len(lengths), lengths=self.table(lengths),
            strides=self.table(steps), x=self.at(x), out=out,
        )  # fmt: skip

    def reserve(self, size: int) -> None:
        """Make the slot of registers at least this large, in bytes."""
        slots = self.plan.slots
        slots[REGISTERS] = max(slots[REGISTERS], size)


def rounded(size: int) -> int:
    """Round a size up to the alignment."""
    return size + -size % ALIGNMENT
