"""`encode`: turns a plan into the instruction array that the machine runs."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tape.program.ir.instructions import Instruction
from tape.program.ir.table import ELEMENTWISE
from tape.program.native.gufuncs import GUFUNCS
from tape.program.native.opcodes import FIELDS, WIDTH, opcode
from tape.program.plan.planner import Plan, Step
from tape.program.runtime import encode_arrays, encode_loops, encode_matrices
from tape.program.runtime.encode_elementwise import ElementwiseWriter
from tape.program.runtime.encode_numbers import without_repeated_conditions
from tape.program.runtime.pauses import is_due, nanoseconds
from tape.program.runtime.writer import Writer
from tape.system.collector import collector_paused

_TABLES = {
    opcode(name): [
        1 + fields.index(field)
        for field in ("lengths", "strides", "parameters", "stack", "entries")
        if field in fields
    ]
    for name, fields in FIELDS.items()
}
"""Positions in a row of the fields that refer to tables."""
_SCALAR = opcode("scalar")
_JOINED = {_SCALAR: opcode("scalars"), opcode("short"): opcode("shorts")}
"""Rows of which neighbours become one row with a table."""
_FEW_JOINED = 2  # are not worth a row with a table; what is chosen shares one with its condition
_ROWS = [struct.Struct(f"{length}q") for length in range(WIDTH + 1)]  # by how many numbers are in a row

_ENCODERS: dict[str, Callable[[Writer, int, Instruction], None]] = {
    name: getattr(module, name)
    for module in (encode_arrays, encode_loops, encode_matrices)
    for name in module.__all__
}
_ENCODERS.update(dict.fromkeys(GUFUNCS, encode_matrices.gufunc))
"""Encoders of the instructions that are not elementwise, by name."""


@dataclass
class Encoded:
    """An instruction array.

    Attributes
    ----------
    code : numpy.ndarray
        int64: the rows, then the tables.
    rows : int
        How many rows.
    origins : list of int
        The instruction of the plan that each row belongs to, the first one if there are several.
    joined : dict of int to list of int
        All instructions of rows that belong to several.
    """

    code: np.ndarray
    rows: int
    origins: list[int]
    joined: dict[int, list[int]]


@collector_paused()
def encode(plan: Plan, bodies: dict[int, Plan]) -> Encoded:
    """Encode a plan.

    Parameters
    ----------
    plan : Plan
        Complete; its slot of registers grows by what operands need that are made contiguous.
    bodies : dict of int to Plan
        Those of its loops, by instruction.

    Returns
    -------
    Encoded
    """
    return _Encoder(plan, bodies).encode()


class _Encoder(ElementwiseWriter):
    def __init__(self, plan: Plan, bodies: dict[int, Plan]) -> None:
        super().__init__(plan, bodies)
        self.joined: dict[int, list[int]] = {}

    def encode(self) -> Encoded:
        instructions, since_pause = self.plan.instructions, 0.0
        for step in self.plan.steps:
            self._step(step)
            since_pause += sum([nanoseconds(instructions, id) for id in step.members])
            if is_due(since_pause):
                self.emit("pause")
                since_pause = 0.0
        self._join_rows()
        count = len(self.rows)
        code = np.zeros(count * WIDTH + len(self.tables), np.int64)
        for k, row in enumerate(self.rows):
            for field in _TABLES[row[0]]:
                row[field] += count * WIDTH
            _ROWS[len(row)].pack_into(code.data, 8 * k * WIDTH, *row)
        code[count * WIDTH :] = self.tables
        return Encoded(code, count, self.origins, self.joined)

    def _join_rows(self) -> None:
        """Make one row of neighbours that compute with few numbers: entries of its table are shorter."""
        rows, origins = self.rows, self.origins
        self.rows, self.origins = [], []
        at = 0
        while at < len(rows):
            kind, stop = rows[at][0], at
            while kind in _JOINED and stop < len(rows) and rows[stop][0] == kind:
                stop += 1
            if stop - at < _FEW_JOINED:
                stop = max(stop, at + 1)
                self.rows += rows[at:stop]
                self.origins += origins[at:stop]
            else:
                self.joined[len(self.rows)] = list(dict.fromkeys(origins[at:stop]))
                entries = [row[1:] for row in rows[at:stop]]
                if kind == _SCALAR:
                    entries = without_repeated_conditions(entries)
                self.rows.append([_JOINED[kind], len(entries), len(self.tables)])
                self.origins.append(origins[at])
                self.tables += [number for entry in entries for number in entry]
            at = stop

    def _step(self, step: Step) -> None:
        if step.block:
            self.group(step)
            return
        (id,) = step.members
        instruction = self.plan.instructions[id]
        self.origin = id
        if instruction.op in ELEMENTWISE or instruction.op == "pair":
            self.alone(id, instruction)
        else:
            _ENCODERS[instruction.op](self, id, instruction)
