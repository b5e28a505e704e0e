"""Memory of each value, by liveness, once the order of execution is known.

After the last use of a value, its memory in the arena is reused, at best by a result that is computed in
place. Views have no memory of their own. Values that only their group of elementwise instructions uses live
in registers, which are as long as one block.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from math import lcm, prod
from typing import TYPE_CHECKING

import numpy as np

from tape.program.ir.instructions import Instruction
from tape.program.ir.table import BLOCKWISE, INSTRUCTIONS, VIEWS
from tape.program.native.opcodes import ARENA, LITERALS, REGISTERS
from tape.program.plan.layouts import ALIGNMENT, Layout, Place, Shape, c_strides, collapsed, period
from tape.program.plan.operands import by_rows, loaded

if TYPE_CHECKING:
    from tape.program.plan.planner import Plan, Step

_NEAR_BYTES = 24576
"""How much of the L1 cache the registers of a group may take."""
_CELL, _CELLS = 8, ALIGNMENT
"""Bytes of a single number, and of what is divided among several."""


def is_contiguous(instruction: Instruction, layout: Layout) -> bool:
    """Return whether a value is in C order without gaps."""
    lengths, strides = collapsed(instruction.shape, layout.strides)
    return (
        not lengths
        or (len(lengths) == 1 and strides[0] == instruction.dtype.itemsize)
        or not instruction.size
    )


class Lifetimes:
    """Liveness: the last use of each value, and which results may be written over it.

    Attributes
    ----------
    roots : list of int
        For each instruction the one that owns the memory of its result.
    last : list of int
        For each owner of memory the last step that reads it; -1 if there is none.
    """

    def __init__(self, plan: Plan, layouts: list[Layout]) -> None:
        self._plan = plan
        self._layouts = layouts
        instructions = plan.instructions
        self.roots = roots = [layout.root for layout in layouts]
        self.last = last = [-1] * len(instructions)
        for at, step in enumerate(plan.steps):
            for id in step.members:
                for operand in instructions[id].operands:
                    last[roots[operand]] = at
        self._known = -1  # the group that the tables are about

    def may_overwrite(self, id: int, root: int, at: int) -> bool:
        """Return whether a member of a step may write its result over memory that the step reads."""
        out, roots = self._plan.instructions[id], self.roots
        if len(self._plan.steps[at].members) == 1:
            for operand in out.operands:
                if roots[operand] == root and not self._is_in_step(out, operand, out):
                    return False
            return True
        self._index_readers(at)
        last_position = self._positions[id]
        for position, reader, operand in self._readers.get(root, ()):
            is_early = position <= last_position or self._is_copied(reader, operand)
            if not is_early or not self._is_in_step(reader, operand, out):
                return False
        return True

    def share(self, wholes: dict[int, int]) -> None:
        """Let owners of memory be parts of others, by the part; no whole is a part itself."""
        self.roots = [wholes.get(root, root) for root in self.roots]
        for part, whole in wholes.items():
            self.last[whole] = max(self.last[whole], self.last[part])
        self._known = -1

    def _is_in_step(self, reader: Instruction, operand: int, out: Instruction) -> bool:
        """Return whether each element of an operand is read before the result overwrites it in place."""
        if reader.op not in BLOCKWISE:
            return self._is_copied(reader, operand)
        source = self._plan.instructions[operand]
        if source.shape != out.shape or source.dtype.itemsize != out.dtype.itemsize:
            return False
        if out.dtype.kind == "c" and reader.op != "copy":  # NumPy's loops round otherwise in place
            return False
        return self.roots[operand] == operand or is_contiguous(source, self._layouts[operand])

    def _index_readers(self, at: int) -> None:
        """Index the readers of a group, once: groups may be long."""
        if self._known == at:
            return
        self._known = at
        members = self._plan.steps[at].members
        self._positions = {id: k for k, id in enumerate(members)}
        self._readers: dict[int, list[tuple[int, Instruction, int]]] = {}  # of each memory
        for k, id in enumerate(members):
            reader = self._plan.instructions[id]
            for x in reader.operands:
                self._readers.setdefault(self.roots[x], []).append((k, reader, x))

    def _is_copied(self, instruction: Instruction, operand: int) -> bool:
        """Return whether an instruction copies this operand, and may work on it in place instead."""
        k = INSTRUCTIONS[instruction.op].overwrites
        if k is None or operand != instruction.operands[k]:
            return False
        root = self.roots[operand]
        total = self._plan.instructions[operand]
        if instruction.size != total.size or not is_contiguous(total, self._layouts[operand]):
            return False
        return sum(self.roots[x] == root for x in instruction.operands) == 1


WIDEST = 16
"""Bytes of the largest elements that fit into registers."""


def allocate(
    plan: Plan, layouts: list[Layout], sizes: list[int], lifetimes: Lifetimes, *, is_body: bool = False
) -> None:
    """Fill in the places of all values, the sizes of the slots and the literals.

    Parameters
    ----------
    plan : Plan
        Its instructions, steps and named slots are final.
    layouts : list of Layout
        Of each instruction.
    sizes : list of int
        The bytes of each result.
    lifetimes : Lifetimes
        As the steps are now.
    is_body : bool
        Whether this is the body of a loop: nobody needs its states if a step fails.
    """
    instructions = plan.instructions
    plan.places = [None] * len(instructions)
    _place_given(plan, layouts)
    _place_in_outputs(plan, layouts, sizes, lifetimes, is_body)
    joined, shifts = _join_in_place(plan, layouts, sizes, lifetimes)
    places, last, roots = plan.places, lifetimes.last, lifetimes.roots
    arena = _Arena()
    held: dict[int, tuple[int, int]] = {}  # offset in the arena and size, by owner
    for at, step in enumerate(plan.steps):
        dying: list[int] = []  # owners of memory without further readers
        near: list[int] = []
        for id in step.members:
            instruction, size = instructions[id], sizes[id]
            plan.value_bytes += size
            given = [root for x in instruction.operands if last[root := roots[x]] == at and root in held]
            dying += given
            if id in joined:
                whole, start = joined[id]
                there = places[whole]
                if there is None:
                    shift = shifts[whole]
                    held[whole] = offset, _ = arena.take(sizes[whole] + shift), sizes[whole] + shift
                    there = places[whole] = Place(ARENA, offset + shift, layouts[whole].strides)
                places[id] = Place(there.slot, there.offset + start, layouts[id].strides)
                continue
            if places[id] is not None or instruction.op == "guard":
                continue
            if last[id] < 0:
                dying.append(id)
            if step.block and last[id] in (at, -1):
                near.append(id)
                continue
            for root in given:
                if held.get(root, (0, -1))[1] == size and lifetimes.may_overwrite(id, root, at):
                    offset, _ = held.pop(root)
                    break
            else:
                offset = arena.take(size)
            held[id] = offset, size
            places[id] = Place(ARENA, offset, layouts[id].strides)
        if step.block:
            _place_registers(plan, layouts, step, near)
        for root in dying:
            if root in held:
                arena.give(*held.pop(root))
    for id, instruction in enumerate(instructions):
        if instruction.op in VIEWS:
            root, offset, strides = layouts[id]
            base = places[root]
            assert base is not None
            places[id] = Place(base.slot, base.offset + offset, strides)
    plan.slots[ARENA] = arena.size


def _place_given(plan: Plan, layouts: list[Layout]) -> None:
    """Place literals, inputs, constants and outputs, which lie outside of the arena."""
    places = plan.places
    pool = bytearray()
    for id, instruction in enumerate(plan.instructions):
        if instruction.op == "literal":
            pool += bytes(-len(pool) % 16)
            places[id] = Place(LITERALS, len(pool), ())
            pool += instruction.attrs[1]
        elif instruction.op == "constant":
            array = plan.constants[instruction.attrs[0]]
            places[id] = Place(plan.constant_slots[instruction.attrs[0]], _lowest(array), array.strides)
    plan.literals = bytes(pool)
    plan.slots[LITERALS] = len(pool)
    for input, slot in zip(plan.inputs, plan.input_slots, strict=True):
        if input is not None:
            places[input] = Place(slot, 0, layouts[input].strides)
    donated = {plan.outputs[k]: plan.input_slots[leaf] for k, leaf in plan.donations.items()}
    for id, slot in zip(plan.outputs, plan.output_slots, strict=True):
        places[id] = Place(donated.get(id, slot), 0, layouts[id].strides)


def _place_in_outputs(
    plan: Plan, layouts: list[Layout], sizes: list[int], lifetimes: Lifetimes, is_body: bool
) -> None:
    """Place the operand that an output overwrites in the output's memory, and so on: that saves copies."""
    places = plan.places
    for k, output in enumerate(plan.outputs):
        heirs = [output]
        while (before := _overwritten(plan, sizes, lifetimes, heirs[-1])) is not None:
            heirs.append(before)
        given = plan.donations.get(k)
        if given is not None and not (is_body and _takes_over(plan, lifetimes, given, heirs[-1])):
            continue  # it may still be read, or be needed if a step fails
        place = places[output]
        assert place is not None
        for id in heirs[1:]:
            places[id] = Place(place.slot, place.offset, layouts[id].strides)


def _takes_over(plan: Plan, lifetimes: Lifetimes, leaf: int, id: int) -> bool:
    """Return whether an instruction is the last to read a leaf and may overwrite it."""
    source = plan.inputs[leaf]
    if source is None or source not in [lifetimes.roots[x] for x in plan.instructions[id].operands]:
        return False
    at = lifetimes.last[source]
    return id in plan.steps[at].members and lifetimes.may_overwrite(id, source, at)


def _overwritten(plan: Plan, sizes: list[int], lifetimes: Lifetimes, id: int) -> int | None:
    """Return an operand that an instruction is the last to read and may overwrite, or None."""
    for operand in plan.instructions[id].operands:
        root = lifetimes.roots[operand]
        at = lifetimes.last[root]
        if plan.places[root] is not None or sizes[root] != sizes[id]:
            continue
        members = plan.steps[at].members
        if id in members and root not in members and lifetimes.may_overwrite(id, root, at):
            return root
    return None


def _join_in_place(
    plan: Plan, layouts: list[Layout], sizes: list[int], lifetimes: Lifetimes
) -> tuple[dict[int, tuple[int, int]], dict[int, int]]:
    """Let results be written to their part of the array that they are joined to: that saves copies.

    Their memory is that of the array from here on. It is not kept for longer than that, unless they are most
    of it.

    Returns
    -------
    joined : dict of int to tuple of int
        The array and the offset in it, in bytes, by the instruction. Of arrays that are joined themselves,
        the last one.
    shifts : dict of int to int
        How far each array should be from an aligned address, so that its longest part is at one: writing in
        other places takes twice as long.
    """
    instructions, places = plan.instructions, plan.places
    wholes = [id for id, of in enumerate(instructions) if of.op == "concatenate"]
    if not wholes:
        return {}, {}
    last, outputs = list(lifetimes.last), set(plan.outputs)
    kept = {plan.outputs[k] for k in plan.donations}  # in memory that others may read before
    joined: dict[int, tuple[int, int]] = {}
    shifts: dict[int, int] = {}
    for whole in wholes:
        of = instructions[whole]
        if whole in kept or prod(of.shape[: of.attrs[0]]) != 1:
            continue
        if layouts[whole].strides != c_strides(of.shape, of.dtype.itemsize):
            continue
        is_output = whole in outputs
        is_overwritten = places[whole] is not None and not is_output  # by what is the last to read it
        end = len(plan.steps) if is_output else last[whole] - 1 if is_overwritten else last[whole]
        offset = longest = 0
        for x in of.operands:
            size = instructions[x].size * of.dtype.itemsize
            root = layouts[x].root
            source = instructions[root]
            is_most = 2 * size >= sizes[whole] and not is_overwritten
            if (
                root not in joined
                and places[root] is None
                and (last[root] <= end or is_most)
                and sizes[root] == size > 0
                and _is_written_anew(source)
                and is_contiguous(instructions[x], layouts[x])
                and layouts[root].strides == c_strides(source.shape, source.dtype.itemsize)
            ):
                joined[root] = whole, offset
                last[whole] = max(last[whole], last[root])
                if size > longest:
                    longest, shifts[whole] = size, -offset % ALIGNMENT
            offset += size
    for part in sorted(joined, reverse=True):
        whole, offset = joined[part]
        if whole in joined:
            outer, start = joined[whole]
            joined[part] = outer, start + offset
    lifetimes.share({part: whole for part, (whole, _) in joined.items()})
    return joined, shifts


def _is_written_anew(instruction: Instruction) -> bool:
    """Return whether an instruction writes its result wherever it is told to, and all of it."""
    definition = INSTRUCTIONS[instruction.op]
    return definition.role in ("elementwise", "planned", "array") and definition.overwrites is None


def _lowest(array: np.ndarray) -> int:
    """Return the distance of the first element from the lowest address, in bytes."""
    return sum(-(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True) if s < 0 and n > 0)


def extent(array: np.ndarray) -> int:
    """Return how many bytes an array spans, gaps included."""
    if not array.size:
        return 0
    return sum((n - 1) * abs(s) for n, s in zip(array.shape, array.strides, strict=True)) + array.itemsize


# ---- registers of a group ----------------------------------------------------------------------------


_ROWS_TOGETHER, _MOST_COPIED = 16, 1 << 16
"""Rows of a copy in a block, as columns are transposed several at a time; and elements, at most."""


def _place_registers(plan: Plan, layouts: list[Layout], step: Step, near: list[int]) -> None:
    """Assign registers to what stays in a group and to operands that are loaded, and size its blocks."""
    instructions = plan.instructions
    last: dict[int, int] = {}
    runs: list[tuple[Shape, Shape]] = []
    loads = 0
    for k, id in enumerate(step.members):
        reader = instructions[id]
        last.update(dict.fromkeys(reader.operands, k))
        sources = [instructions[x] for x in reader.operands]
        in_place = by_rows(reader, sources, [layouts[x].strides for x in reader.operands])
        if in_place is not None:
            runs.append(in_place[1:])
            continue
        for operand in set(reader.operands):
            run = loaded(instructions[operand], layouts[operand].strides, operand, reader)
            if run is not None:
                runs.append(run)
                loads += reader.op != "copy"  # which writes to its place
    stays = set(near)
    names: dict[int, int] = {}
    free: list[int] = []
    count = 0
    for k, id in enumerate(step.members):
        if id in stays:
            if free:
                names[id] = free.pop()
            else:
                names[id] = count
                count += 1
        free += [names[x] for x in set(instructions[id].operands) if x in names and last[x] == k]
        if id in names and id not in last:
            free.append(names[id])
    memory = sum(operand not in names for operand in last)
    total = count + min(loads, 4) + min(memory, 4) + 1
    widest = max(4, *[instructions[id].dtype.itemsize for member in step.members
                      for id in (member, *instructions[member].operands)])  # fmt: skip
    most = max(128, min(2048, _NEAR_BYTES * 2 // (widest * total)))
    if runs and [instructions[id].op for id in step.members] == ["copy"]:  # through no register
        most = max(most, min(_ROWS_TOGETHER * runs[0][0][-1], _MOST_COPIED))
    block = _block(most, runs)
    step.block = min(block, max(instructions[step.members[0]].size, 1))
    step.width = width = widest * step.block + ALIGNMENT - (widest * step.block) % ALIGNMENT
    for id, name in names.items():
        plan.places[id] = Place(REGISTERS, name * width, layouts[id].strides)
    plan.slots[REGISTERS] = max(plan.slots[REGISTERS], (count + loads) * width)
    plan.scalars[step.members[0]] = count * width  # where registers for operands begin


def _block(most: int, runs: Sequence[tuple[Shape, Shape]]) -> int:
    """Return the length of a block: up to ``most``, and a multiple of the rows of what is loaded.

    Of what repeats it is a multiple of all that does: that is loaded once. All of these are products of the
    last lengths of one shape, so that one is a multiple of the shorter ones.
    """
    units = [n for lengths, steps in runs for n in (lengths[-1], period(lengths, steps))]
    unit = max([n for n in units if n <= most], default=1)
    aligned = lcm(unit, 64)
    return most // aligned * aligned or most // unit * unit


class _Arena:
    """An allocator: best fit, neighbours that are free are merged. Single numbers share what is aligned."""

    def __init__(self) -> None:
        self.size = 0
        self._free: list[tuple[int, int]] = []  # size and offset, the smallest first
        self._sizes: dict[int, int] = {}  # of free parts, by where they begin
        self._starts: dict[int, int] = {}  # of free parts, by where they end
        self._cells: list[int] = []  # that are free, for single numbers

    def take(self, size: int) -> int:
        """Allocate, and return the offset: of the smallest free part that is large enough."""
        if size <= _CELL:
            if not self._cells:
                start = self.take(_CELLS)
                self._cells = list(range(start + _CELLS - _CELL, start - 1, -_CELL))
            return self._cells.pop()
        size = size + -size % ALIGNMENT or ALIGNMENT
        k = bisect_left(self._free, (size, 0))
        if k < len(self._free):
            length, offset = self._free[k]
            self._remove(length, offset)
            if length > size:
                self._add(length - size, offset + size)
            return offset
        offset = self.size
        if offset in self._starts:  # grow what is free at the end
            offset = self._starts[offset]
            self._remove(self._sizes[offset], offset)
        self.size = offset + size
        return offset

    def give(self, offset: int, size: int) -> None:
        """Free a part, and merge it with free neighbours."""
        if size <= _CELL:
            self._cells.append(offset)
            return
        size = size + -size % ALIGNMENT or ALIGNMENT
        behind = self._sizes.get(offset + size)
        if behind is not None:
            self._remove(behind, offset + size)
            size += behind
        before = self._starts.get(offset)
        if before is not None:
            self._remove(offset - before, before)
            offset, size = before, size + offset - before
        self._add(size, offset)

    def _add(self, size: int, offset: int) -> None:
        insort(self._free, (size, offset))
        self._sizes[offset], self._starts[offset + size] = size, offset

    def _remove(self, size: int, offset: int) -> None:
        del self._free[bisect_left(self._free, (size, offset))]
        del self._sizes[offset], self._starts[offset + size]
