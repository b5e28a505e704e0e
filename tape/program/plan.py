"""Gives every value a place, and every instruction its turn.

Shapes are known, so it is known when a value is used for the last time: its memory in the arena then goes
to the next one that fits. Views have no memory of their own. Large elementwise instructions of one shape
are joined in groups, which run block by block; what only the group uses lives in registers of one block.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tape.program.instructions import VIEWS, Guard, Instruction, Listing
from tape.program.layouts import Layout, c_strides, collapsed, reshaped_strides
from tape.program.opcodes import ARENA, FIRST_SLOT, LITERALS, REGISTERS

__all__ = ["ALIGNMENT", "Place", "Plan", "Step", "plan"]

ALIGNMENT = 64
_GROUPED_BYTES = 16384
"""Elementwise results above this size are computed in blocks."""
_NEAR_BYTES = 24576
"""What the registers of a group may take of the nearest cache."""

_FALLIBLE = frozenset({"solve", "take", "ravel_index", "add_at", "callback", "guard"})


@dataclass(frozen=True, slots=True)
class Place:
    """Slot and offset of the first element, and strides in bytes."""

    slot: int
    offset: int
    strides: tuple[int, ...]


@dataclass(slots=True)
class Step:
    """What happens at one time: an instruction, or a group of elementwise ones on blocks."""

    members: list[int]
    block: int = 0
    """Elements of a block; 0 for a single instruction."""


@dataclass
class Plan:
    """Where everything is.

    Attributes
    ----------
    instructions : list of Instruction
        With the copies that became necessary.
    steps : list of Step
        In the order in which they run.
    places : list of Place or None
        Of every value that has one.
    slots : list of int
        The size of each slot in bytes.
    literals : bytes
        The contents of the slot of literals.
    """

    instructions: list[Instruction]
    inputs: list[int | None]
    constants: list[np.ndarray]
    outputs: list[int]
    guards: list[Guard]
    steps: list[Step] = field(default_factory=list)
    places: list[Place | None] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)
    literals: bytes = b""
    input_slots: list[int] = field(default_factory=list)
    constant_slots: list[int] = field(default_factory=list)
    output_slots: list[int] = field(default_factory=list)
    donations: dict[int, int] = field(default_factory=dict)
    """Which dynamic leaf gives its memory to an output, by output."""
    scalars: dict[int, int] = field(default_factory=dict)
    value_bytes: int = 0
    """The sum of the sizes of all values that are computed, views aside."""


def plan(listing: Listing, donated: frozenset[int] = frozenset()) -> Plan:
    """Schedule a listing and place its values.

    Parameters
    ----------
    listing : Listing
    donated : frozenset of int
        Dynamic leaves whose memory may be used for outputs of their shape and dtype.

    Returns
    -------
    Plan
    """
    return _Planner(listing, donated).plan()


class _Planner:
    def __init__(self, listing: Listing, donated: frozenset[int]) -> None:
        self.listing = listing
        self.donated = donated
        self.instructions: list[Instruction] = []
        self.layouts: list[Layout] = []
        self._copies: dict[Any, int] = {}

    def plan(self) -> Plan:
        outputs = self._lay_out()
        result = Plan(self.instructions, [], self.listing.constants, outputs, self.listing.guards)
        self.result = result
        result.inputs = self.inputs
        self._name_slots()
        self._group()
        self._donate()
        self._allocate()
        return result

    # ---- layouts: views share memory, copies are made where an instruction needs another order -------

    def _lay_out(self) -> list[int]:
        place = []
        for old in self.listing.instructions:
            operands = tuple([place[operand] for operand in old.operands])
            place.append(self._add(old, operands))
        self.inputs = [None if id is None else place[id] for id in self.listing.inputs]
        outputs: list[int] = []
        for old_id in self.listing.outputs:
            id = place[old_id]
            instruction = self.instructions[id]
            is_own = self.layouts[id].root == id and instruction.op not in ("input", "constant", "literal")
            outputs.append(self._push_copy(id) if not is_own or id in outputs else id)
        return outputs

    def _add(self, old: Instruction, operands: tuple[int, ...]) -> int:
        if old.op in VIEWS:
            layout = self._view(old, self.instructions[operands[0]], self.layouts[operands[0]])
            if layout is None:  # a reshape of what is not in order
                id = self._copied(operands[0])
                layout = Layout(id, 0, c_strides(old.shape, old.dtype.itemsize))
                operands = (id,)
            return self._push(Instruction(old.op, operands, old.attrs, old.shape, old.dtype), layout)
        needs = _NEEDS.get(old.op)
        if needs is not None:
            operands = tuple([x if needs(self, k, x) else self._copied(x) for k, x in enumerate(operands)])
        strides = c_strides(old.shape, old.dtype.itemsize)
        if old.op == "constant":
            strides = self.listing.constants[old.attrs[0]].strides
        id = len(self.instructions)
        return self._push(
            Instruction(old.op, operands, old.attrs, old.shape, old.dtype), Layout(id, 0, strides)
        )

    def _push(self, instruction: Instruction, layout: Layout) -> int:
        self.instructions.append(instruction)
        self.layouts.append(layout)
        return len(self.instructions) - 1

    def _copied(self, id: int) -> int:
        """The same value in C order, in memory of its own."""
        made = self._copies.get(id)
        if made is None:
            made = self._copies[id] = self._push_copy(id)
        return made

    def _push_copy(self, id: int) -> int:
        source = self.instructions[id]
        copy = Instruction("copy", (id,), (), source.shape, source.dtype)
        strides = c_strides(source.shape, source.dtype.itemsize)
        return self._push(copy, Layout(len(self.instructions), 0, strides))

    @staticmethod
    def _view(view: Instruction, source: Instruction, base: Layout) -> Layout | None:
        if view.op == "transpose":
            return Layout(base.root, base.offset, tuple([base.strides[axis] for axis in view.attrs[0]]))
        if view.op == "broadcast":
            extra = len(view.shape) - len(source.shape)
            strides = [0] * extra + [
                stride if length == source.shape[k] and length != 1 else 0
                for k, (stride, length) in enumerate(zip(base.strides, view.shape[extra:], strict=True))
            ]
            return Layout(base.root, base.offset, tuple(strides))
        if view.op == "slice":
            starts, steps = view.attrs
            offset = sum(start * stride for start, stride in zip(starts, base.strides, strict=True))
            strides = [step * stride for step, stride in zip(steps, base.strides, strict=True)]
            return Layout(base.root, base.offset + offset, tuple(strides))
        new = reshaped_strides(source.shape, base.strides, view.shape, view.dtype.itemsize)
        return None if new is None else Layout(base.root, base.offset, new)

    def is_contiguous(self, id: int) -> bool:
        """Whether a value is in C order without gaps."""
        instruction = self.instructions[id]
        size = instruction.size
        lengths, strides = collapsed(instruction.shape, self.layouts[id].strides)
        return size <= 1 or (len(lengths) == 1 and strides[0] == instruction.dtype.itemsize)

    # ---- slots ---------------------------------------------------------------------------------------

    def _name_slots(self) -> None:
        result = self.result
        sizes = [0, 0, 0]
        for id in result.inputs:
            result.input_slots.append(len(sizes))
            sizes.append(0 if id is None else _bytes(self.instructions[id]))
        for array in result.constants:
            result.constant_slots.append(len(sizes))
            sizes.append(_extent(array))
        for id in result.outputs:
            result.output_slots.append(len(sizes))
            sizes.append(_bytes(self.instructions[id]))
        result.slots = sizes

    # ---- steps ---------------------------------------------------------------------------------------

    def _group(self) -> None:
        """Join large elementwise instructions of one shape, each as early as its operands allow."""
        steps = self.result.steps
        ready = [-1] * len(self.instructions)  # the step that computes it
        open_groups: dict[tuple[int, ...], int] = {}
        for id, instruction in enumerate(self.instructions):
            if instruction.op in VIEWS or instruction.op in ("input", "constant", "literal"):
                ready[id] = ready[self.layouts[id].root] if instruction.op in VIEWS else -1
                continue
            operands = [self.instructions[x] for x in instruction.operands]
            fits = all(x.dtype.itemsize <= 8 for x in (instruction, *operands))  # in a register
            is_large = _bytes(instruction) > _GROUPED_BYTES and fits
            if not (is_large and (instruction.is_elementwise or instruction.op == "copy")):
                ready[id] = len(steps)
                steps.append(Step([id]))
                continue
            at = open_groups.get(instruction.shape, -1)
            if at >= 0 and all(self._may_join(x, at, ready) for x in instruction.operands):
                steps[at].members.append(id)
            else:
                at = open_groups[instruction.shape] = len(steps)
                steps.append(Step([id], block=1))
            ready[id] = at

    def _may_join(self, operand: int, at: int, ready: list[int]) -> bool:
        """Whether a member of a group may read this: a result of an earlier step, or of a member as it is."""
        if ready[operand] < at:
            return True
        return ready[operand] == at and self.layouts[operand].root == operand

    # ---- donated memory --------------------------------------------------------------------------------

    def _donate(self) -> None:
        """Pair donated leaves with outputs, in order; the memory must not be needed any more by then."""
        result = self.result
        free = sorted(self.donated)
        for k, id in enumerate(result.outputs):
            out = self.instructions[id]
            for leaf in free:
                source = result.inputs[leaf]
                if source is None:
                    continue
                given = self.instructions[source]
                if given.shape == out.shape and given.dtype == out.dtype:
                    result.donations[k] = leaf
                    free.remove(leaf)
                    break
        if not result.donations:
            return
        written_late = any(
            self.instructions[id].op in _FALLIBLE for step in result.steps for id in step.members
        )
        step_of = {id: at for at, step in enumerate(result.steps) for id in step.members}
        last = self._last_uses()
        late: list[tuple[int, int]] = []
        for k, leaf in result.donations.items():
            source, id = result.inputs[leaf], result.outputs[k]
            assert source is not None
            at = step_of[id]
            if written_late or last.get(source, -1) > at or not self._may_overwrite(id, source, at):
                late.append((k, id))
        for k, id in late:
            copy = self._push_copy(id)
            result.outputs[k] = copy
            result.steps.append(Step([copy]))

    # ---- memory ----------------------------------------------------------------------------------------

    def _last_uses(self) -> dict[int, int]:
        """For each owner of memory the last step that reads it."""
        last: dict[int, int] = {}
        for at, step in enumerate(self.result.steps):
            for id in step.members:
                for operand in self.instructions[id].operands:
                    last[self.layouts[operand].root] = at
        return last

    def _may_overwrite(self, id: int, root: int, at: int) -> bool:
        """Whether a member of a step may write over what the step reads: element by element, and not too early."""
        step = self.result.steps[at]
        position = step.members.index(id)
        out = self.instructions[id]
        for k, member in enumerate(step.members):
            reader = self.instructions[member]
            for operand in reader.operands:
                if self.layouts[operand].root != root:
                    continue
                if operand in self._accumulators(reader):
                    continue
                if not (reader.is_elementwise or reader.op == "copy") or k > position:
                    return False
                shape = self.instructions[operand].shape
                if (
                    shape != out.shape
                    or self.instructions[operand].dtype.itemsize != out.dtype.itemsize
                    or not self.is_contiguous(operand)
                ):
                    return False
        return True

    def _accumulators(self, instruction: Instruction) -> tuple[int, ...]:
        """The operand that an instruction adds to, if it may do so in place."""
        if instruction.op not in ("matmul_add", "add_at"):
            return ()
        total, *others = instruction.operands
        root = self.layouts[total].root
        if instruction.size != self.instructions[total].size or not self.is_contiguous(total):
            return ()
        return () if any(self.layouts[x].root == root for x in others) else (total,)

    def _allocate(self) -> None:
        result, instructions = self.result, self.instructions
        places: list[Place | None] = [None] * len(instructions)
        result.places = places
        pool = bytearray()
        for id, instruction in enumerate(instructions):
            if instruction.op == "literal":
                char, data = instruction.attrs
                pool += bytes(-len(pool) % 16)
                places[id] = Place(LITERALS, len(pool), ())
                pool += data
        result.literals = bytes(pool)
        result.slots[LITERALS] = len(pool)
        for id, slot in zip(result.inputs, result.input_slots, strict=True):
            if id is not None:
                places[id] = Place(slot, 0, self.layouts[id].strides)
        for id, instruction in enumerate(instructions):
            if instruction.op == "constant":
                array = result.constants[instruction.attrs[0]]
                slot = result.constant_slots[instruction.attrs[0]]
                places[id] = Place(slot, _lowest(array), array.strides)
        donated = {result.outputs[k]: result.input_slots[leaf] for k, leaf in result.donations.items()}
        for id, slot in zip(result.outputs, result.output_slots, strict=True):
            places[id] = Place(donated.get(id, slot), 0, self.layouts[id].strides)
        last = self._last_uses()
        arena = _Arena()
        held: dict[int, tuple[int, int]] = {}  # memory of the arena, by owner
        dying: dict[int, list[int]] = {}
        for root, at in last.items():
            dying.setdefault(at, []).append(root)
        for at, step in enumerate(result.steps):
            inside = set(step.members) if step.block else set()
            near: list[int] = []
            for id in step.members:
                instruction = instructions[id]
                result.value_bytes += _bytes(instruction)
                if places[id] is not None or instruction.op == "guard":
                    continue
                if step.block and not self._leaves(id, at, last, inside):
                    near.append(id)
                    continue
                strides = self.layouts[id].strides
                heir = self._heir(id, at, dying.get(at, ()), held)
                if heir is not None:
                    held[id] = held.pop(heir)
                else:
                    size = _bytes(instruction)
                    held[id] = (arena.take(size), size)
                places[id] = Place(ARENA, held[id][0], strides)
            if step.block:
                self._place_registers(step, near)
            for root in dying.get(at, ()):
                if root in held:
                    arena.give(*held.pop(root))
            for id in step.members:
                if id not in last and id in held:
                    arena.give(*held.pop(id))
        for id, instruction in enumerate(instructions):
            if instruction.op in VIEWS:
                layout = self.layouts[id]
                base = places[layout.root]
                assert base is not None
                places[id] = Place(base.slot, base.offset + layout.offset, layout.strides)
        result.slots[ARENA] = arena.size

    def _leaves(self, id: int, at: int, last: dict[int, int], inside: set[int]) -> bool:
        """Whether a member's result is used by other steps."""
        return last.get(id, -1) != at and id in last

    def _heir(self, id: int, at: int, dying: Any, held: dict[int, tuple[int, int]]) -> int | None:
        """A value that is used here for the last time and whose memory the result may have."""
        instruction = self.instructions[id]
        for operand in instruction.operands:
            root = self.layouts[operand].root
            if (
                root in held
                and root in dying
                and held[root][1] == _bytes(instruction)
                and self._may_overwrite(id, root, at)
            ):
                return root
        return None

    def _place_registers(self, step: Step, near: list[int]) -> None:
        """Registers for what stays in the group, and for operands that must be put in order; then the block."""
        result, instructions = self.result, self.instructions
        last: dict[int, int] = {}
        for k, id in enumerate(step.members):
            for operand in instructions[id].operands:
                last[operand] = k
        loads = sum(
            1
            for id in step.members
            for x in set(instructions[id].operands)
            if self.needs_load(x, instructions[id])
        )
        names: dict[int, int] = {}
        free: list[int] = []
        count = 0
        for k, id in enumerate(step.members):
            if id in near:
                if free:
                    names[id] = free.pop()
                else:
                    names[id] = count
                    count += 1
            for operand in set(instructions[id].operands):
                if operand in names and last[operand] == k:
                    free.append(names[operand])
            if id in names and id not in last:
                free.append(names[id])
        memory = len({x for id in step.members for x in instructions[id].operands if x not in names})
        size = instructions[step.members[0]].size
        total = count + min(loads, 4) + min(memory, 4) + 1
        block = max(128, min(2048, _NEAR_BYTES * 2 // (8 * total)) // 64 * 64)
        step.block = min(block, max(size, 1))
        width = 8 * step.block + ALIGNMENT
        width -= width % ALIGNMENT
        for id, name in names.items():
            result.places[id] = Place(REGISTERS, name * width, self.layouts[id].strides)
        result.slots[REGISTERS] = max(result.slots[REGISTERS], (count + loads) * width)
        result.scalars[step.members[0]] = count * width  # where registers for operands begin

    def needs_load(self, operand: int, reader: Instruction) -> bool:
        """Whether an operand of an elementwise instruction must be put in order first."""
        source = self.instructions[operand]
        if source.size == 1:  # a single condition is repeated, see the encoder
            return reader.op == "where" and operand == reader.operands[0] and reader.size > 1
        if source.shape == reader.shape:
            strides = self.layouts[operand].strides
        else:
            strides = _broadcast_strides(source.shape, self.layouts[operand].strides, reader.shape)
        lengths, steps = collapsed(reader.shape, strides)
        if reader.op in ("where", "cast", "copy"):
            return len(lengths) > 1 or (len(lengths) == 1 and steps[0] != source.dtype.itemsize)
        return len(lengths) > 1


def _broadcast_strides(shape: Any, strides: Any, target: Any) -> tuple[int, ...]:
    extra = len(target) - len(shape)
    return (0,) * extra + tuple(
        [stride if length != 1 else 0 for stride, length in zip(strides, shape, strict=True)]
    )


def _bytes(instruction: Instruction) -> int:
    return instruction.size * instruction.dtype.itemsize


def _lowest(array: np.ndarray) -> int:
    """How far the first element is from the lowest one, in bytes."""
    return sum(-(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True) if s < 0 and n > 0)


def _extent(array: np.ndarray) -> int:
    if not array.size:
        return 0
    return sum((n - 1) * abs(s) for n, s in zip(array.shape, array.strides, strict=True)) + array.itemsize


class _Arena:
    """Hands out parts of one memory, and takes them back."""

    def __init__(self) -> None:
        self.size = 0
        self._free: list[tuple[int, int]] = []  # offset and size, in order

    def take(self, size: int) -> int:
        size = size + -size % ALIGNMENT or ALIGNMENT
        best = -1
        for k, (_, length) in enumerate(self._free):
            if length >= size and (best < 0 or length < self._free[best][1]):
                best = k
                if length == size:
                    break
        if best < 0:
            if self._free and sum(self._free[-1]) == self.size:  # grow what is free at the end
                offset, _ = self._free.pop()
            else:
                offset = self.size
            self.size = offset + size
            return offset
        offset, length = self._free[best]
        if length == size:
            del self._free[best]
        else:
            self._free[best] = (offset + size, length - size)
        return offset

    def give(self, offset: int, size: int) -> None:
        size = size + -size % ALIGNMENT or ALIGNMENT
        free = self._free
        insort(free, (offset, size))
        k = free.index((offset, size))
        if k + 1 < len(free) and offset + size == free[k + 1][0]:
            free[k : k + 2] = [(offset, size + free[k + 1][1])]
        if k and sum(free[k - 1]) == offset:
            free[k - 1 : k + 1] = [(free[k - 1][0], free[k - 1][1] + free[k][1])]


# ---- which operands an instruction takes as they are ----------------------------------------------------


def _in_order(planner: _Planner, k: int, id: int) -> bool:
    return planner.is_contiguous(id)


def _as_matrix(planner: _Planner, k: int, id: int) -> bool:
    """Whether BLAS can read it: rows or columns without gaps."""
    shape, strides = planner.instructions[id].shape, planner.layouts[id].strides
    itemsize = planner.instructions[id].dtype.itemsize
    rows, columns = shape[-2:]
    down, right = strides[-2:]
    if rows == 1 and columns == 1:
        return True
    if rows == 1:
        return right == itemsize or (right > 0 and right % itemsize == 0)
    if columns == 1:
        return down == itemsize or (down > 0 and down % itemsize == 0)
    return (right == itemsize and down >= columns * itemsize and down % itemsize == 0) or (
        down == itemsize and right >= rows * itemsize and right % itemsize == 0
    )


def _after_total(check: Any) -> Any:
    """The first operand is copied anyway."""
    return lambda planner, k, id: k == 0 or check(planner, k, id)


_NEEDS: dict[str, Any] = {
    "fold": _in_order,
    "matmul": _as_matrix,
    "matmul_add": _after_total(_as_matrix),
    "take": _in_order,
    "ravel_index": _in_order,
    "add_at": _after_total(_in_order),
    "concatenate": _in_order,
    "guard": _in_order,
}
