"""`ElementwiseWriter`: rows of elementwise instructions, one by one, and of groups, which run block by block.

Operands whose elements lie in another order than those of the result are read where they are if there is a
row that does, or else loaded into a register first.
"""

from __future__ import annotations

from math import prod
from typing import Any

from tape.kernels.codes import BY_ROWS, CAST_CODES
from tape.program.ir.instructions import Instruction
from tape.program.native.functions import loop_number
from tape.program.native.opcodes import FIELDS, REGISTERS, packed
from tape.program.native.ufuncs import UFUNCS
from tape.program.plan.layouts import Place, broadcast_strides, collapsed_together, offsets, period
from tape.program.plan.numbers import code_of
from tape.program.plan.operands import by_rows
from tape.program.plan.planner import Plan, Step
from tape.program.runtime.encode_numbers import Recipe, recipe_of, short_code, write
from tape.program.runtime.pauses import nanoseconds, portion
from tape.program.runtime.writer import Writer, rounded

_ROWS, _ONCE, _OPERATIONS = (1 + FIELDS["blocks"].index(field) for field in ("rows", "once", "operations"))
_LONG_RUN, _MOST_RUNS = 1024, 16
"""Bytes of a run of elements that a row of its own is worth, and how many runs."""


class ElementwiseWriter(Writer):
    """Appends rows of elementwise instructions.

    Parameters
    ----------
    plan, bodies
        As for `Writer`.
    """

    def __init__(self, plan: Plan, bodies: dict[int, Plan]) -> None:
        super().__init__(plan, bodies)
        self._kinds: list[int] = [-1] * len(plan.places)
        self._known_kinds: dict[Any, int] = {}
        self._heads: dict[Any, list[int]] = {}
        self._recipes: dict[Any, Recipe | None] = {}
        self._spare = 0  # the next free byte of the registers
        self._width = 0  # of a register in the group that is being encoded
        self._block = 0  # elements of a block of it
        self._head = 0  # its first row

    def alone(self, id: int, instruction: Instruction) -> None:
        """Write the rows of an instruction that is in no group."""
        self._spare = self._width = self._block = 0
        self._elementwise(id, instruction, {})

    def group(self, step: Step) -> None:
        """Write the rows of a group."""
        instructions = self.plan.instructions
        if all(map(self._is_there, step.members)):
            return
        first = step.members[0]
        self.origin = first
        self._spare = self.plan.scalars[first]
        self._width, self._block = step.width, step.block
        self._head = len(self.rows)
        size = instructions[first].size
        time = sum([nanoseconds(instructions, id) for id in step.members])
        blocks = portion(-(-size // step.block), time, is_shared=True)
        self.emit(
            "blocks", rows=0, count=size, block=step.block, portion=min(size, blocks * step.block), once=0,
            operations=0,
        )  # fmt: skip
        loaded: dict[int, Place] = {}
        for id in step.members:
            self.origin = id
            if instructions[id].op == "copy":
                self._copy_in_blocks(id, instructions[id], loaded)
            else:
                self._elementwise(id, instructions[id], loaded)
        head, rows = self.rows[self._head], len(self.rows) - self._head - 1
        head[_ROWS] = rows
        head[_OPERATIONS] = rows + sum([instructions[id].op == "pair" for id in step.members])

    def _elementwise(self, id: int, instruction: Instruction, loaded: dict[int, Place]) -> None:
        """Write the row of an elementwise instruction: mostly that of an earlier one with other addresses."""
        kinds, addresses = self._kinds, self.addresses
        operands = instruction.operands
        key = (
            instruction.op,
            instruction.attrs,
            *[kinds[x] if kinds[x] >= 0 else self._kind(x) for x in (id, *operands)],
        )
        if not self._width:  # of a block, elements are computed together
            recipe = self._recipes.get(key)
            if recipe is None and key not in self._recipes:
                code = code_of(instruction, self.plan.instructions)
                recipe = None if code is None else recipe_of(self, code, id, operands)
                self._recipes[key] = recipe
            if recipe and write(self, recipe, [addresses[x] for x in operands], addresses[id]):
                return
        head = self._heads.get(key)
        if head is not None:
            self.rows.append(head + [addresses[x] for x in operands] + [addresses[id]])
            self.origins.append(self.origin)
            return
        if not instruction.size or self._by_rows(id, instruction, loaded):
            return
        count = len(self.rows)
        self._full_row(id, instruction, loaded)
        if len(self.rows) == count + 1:
            row, tail = self.rows[count], [addresses[x] for x in (*operands, id)]
            if row[-len(tail) :] == tail:  # nothing was loaded
                self._heads[key] = row[: -len(tail)]

    def _kind(self, id: int) -> int:
        """Return a number that values of one shape, dtype and layout have in common."""
        value, place = self.plan.instructions[id], self.plan.places[id]
        assert place is not None
        slot, _, strides = place
        key = (value.shape, value.dtype, strides, slot == REGISTERS)
        kind = self._kinds[id] = self._known_kinds.setdefault(key, len(self._known_kinds))
        return kind

    def _full_row(self, id: int, instruction: Instruction, loaded: dict[int, Place]) -> None:
        """Write the row of an elementwise instruction, operands in their order, and loads before it."""
        out, count = self.at(id), instruction.size
        if not self._width and instruction.op in UFUNCS and self._in_runs(id, instruction):
            return
        operands = [self._operand(x, instruction, loaded) for x in instruction.operands]
        width = instruction.dtype.itemsize
        if instruction.op == "cast":
            source = self.plan.instructions[instruction.operands[0]].dtype
            self.emit(
                "cast", **{"from": CAST_CODES[source]}, count=count, to=CAST_CODES[instruction.dtype],
                x=operands[0][0], out=out,
            )  # fmt: skip
        elif instruction.op == "where":
            condition, x, y = operands
            if condition[1] == 0 and count > 1:
                condition = self._spread(instruction.operands[0], instruction, loaded)
            self.emit(
                "select", itemsize=width, count=count, stride_x=x[1], stride_y=y[1],
                condition=condition[0], x=x[0], y=y[0], out=out,
            )  # fmt: skip
        elif instruction.op == "pair":
            self.pair(instruction.attrs, width, count, operands, out)
        else:
            self._ufunc(instruction, count, operands, out)

    def _in_runs(self, id: int, instruction: Instruction) -> bool:
        """Write a row for each run of elements that operands have side by side, or the same, if it is long.

        That takes less time than to bring operands into the order of the result.
        """
        width, operands = instruction.dtype.itemsize, instruction.operands
        strides = tuple([self._strides(x, instruction) for x in operands])
        lengths, steps = collapsed_together(instruction.shape, strides)
        if len(lengths) < 2 or lengths[-1] * width < _LONG_RUN or prod(lengths[:-1]) > _MOST_RUNS:
            return False
        widths = [self.plan.instructions[x].dtype.itemsize for x in operands]
        if any(of_each[-1] not in (0, width) for of_each, width in zip(steps, widths, strict=True)):
            return False
        starts = [offsets(lengths[:-1], of_each[:-1]) for of_each in steps]
        for k, at in enumerate(zip(*starts, strict=True)):
            run = [
                (self.at(x) + start, of_each[-1])
                for x, start, of_each in zip(operands, at, steps, strict=True)
            ]
            self._ufunc(instruction, lengths[-1], run, self.at(id) + k * lengths[-1] * width)
        return True

    def _strides(self, id: int, reader: Instruction) -> tuple[int, ...]:
        """Return the strides of an operand as it is broadcast to a result."""
        return broadcast_strides(self.plan.instructions[id].shape, self.place(id).strides, reader.shape)

    def _ufunc(self, instruction: Instruction, count: int, operands: list[tuple[int, int]], out: int) -> None:
        """Write the row of a ufunc: of its operands the first elements and the strides are given."""
        dtypes = (*[self.plan.instructions[x].dtype for x in instruction.operands], instruction.dtype)
        width = instruction.dtype.itemsize
        if not self._width:
            code = short_code(instruction.op, dtypes, count, [stride for _, stride in operands])
            if code is not None:
                *first, last = [operand for operand, _ in operands]
                self.emit("short", kind=code, count=count, x=first[0] if first else 0, y=last, out=out)
                return
        number = loop_number(instruction.op, dtypes)
        assert number is not None
        if len(operands) == 1:
            (x,) = operands
            self.emit("unary", function=number, count=count, stride_x=x[1], stride_out=width, x=x[0], out=out)
        else:
            x, y = operands
            self.emit(
                "binary", function=number, count=count, stride_x=x[1], stride_y=y[1], stride_out=width,
                x=x[0], y=y[0], out=out,
            )  # fmt: skip

    def _by_rows(self, id: int, instruction: Instruction, loaded: dict[int, Place]) -> bool:
        """Write a row that combines an array with a number for each of its rows, if it is one that can be.

        The numbers come last in it, whichever operand they are: it is not the head of others.
        """
        sources = instruction.operands
        strides = [self.place(x).strides for x in sources]
        found = by_rows(instruction, [self.plan.instructions[x] for x in sources], strides)
        if found is None or sources[found.position] in loaded:
            return False
        self.emit(
            "by_rows", kind=BY_ROWS[instruction.op, found.position], count=instruction.size,
            columns=found.lengths[1], itemsize=instruction.dtype.itemsize, stride=found.strides[0],
            x=self.at(sources[1 - found.position]), y=self.at(sources[found.position]), out=self.at(id),
        )  # fmt: skip
        return True

    def _operand(self, id: int, reader: Instruction, loaded: dict[int, Place]) -> tuple[int, int]:
        """Return an operand of an elementwise row, and its stride in bytes."""
        source, place = self.plan.instructions[id], self.place(id)
        if place.slot == REGISTERS:
            return self.at(id), source.dtype.itemsize
        if source.size == 1:
            return self.at(id), 0
        lengths, steps = self.run_of(id, reader)
        if len(steps) == 1 and (reader.op in UFUNCS or steps[0] == source.dtype.itemsize):
            return self.at(id), steps[0]
        return self._loaded(id, reader, loaded, lengths, steps)

    def _spread(self, id: int, reader: Instruction, loaded: dict[int, Place]) -> tuple[int, int]:
        """Return an operand with a single element repeated."""
        return self._loaded(id, reader, loaded, (reader.size,), (0,))

    def _loaded(
        self, id: int, reader: Instruction, loaded: dict[int, Place], lengths: Any, steps: Any
    ) -> tuple[int, int]:
        """Load an operand into a register, in the order of the result."""
        source = self.plan.instructions[id]
        width = source.dtype.itemsize
        register = loaded.get(id)
        if register is None:
            register = loaded[id] = Place(REGISTERS, self._spare, ())
            self._spare += self._width or rounded(reader.size * width)
            if not self._width:
                self.reserve(self._spare)
            self.load(id, reader.size, lengths, steps, packed(REGISTERS, register.offset))
            if self._block and not self._block % period(lengths, steps):
                self._run_once()
        return packed(REGISTERS, register.offset), width

    def _is_there(self, id: int) -> bool:
        """Return whether an instruction is a copy of what a loop has stacked in its place."""
        instruction = self.plan.instructions[id]
        return instruction.op == "copy" and self.at(instruction.operands[0]) == self.at(id)

    def _run_once(self) -> None:
        """Move the last row, which loads the same for all blocks, to those that run for the first one."""
        head = self.rows[self._head]
        self.rows.insert(self._head + 1, self.rows.pop())
        self.origins.pop()
        self.origins.insert(self._head + 1, self.origins[self._head])
        head[_ONCE] += 1

    def _copy_in_blocks(self, id: int, instruction: Instruction, loaded: dict[int, Place]) -> None:
        (source,) = instruction.operands
        lengths, steps = self.run_of(source, instruction)
        self.load(source, instruction.size, lengths, steps, self.at(id))
