"""`plan`: order of execution and memory of a program.

Views become strides, and copies are inserted where an instruction cannot read them. Large elementwise
instructions of one shape are joined in groups, which run block by block. `tape.program.plan.memory` then
places the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from tape.program.ir.costs import GROUPED_BYTES
from tape.program.ir.instructions import IR, Guard, Instruction
from tape.program.ir.parts import held_slices
from tape.program.ir.table import BLOCKWISE, INSTRUCTIONS, SOURCES, VIEWS, Definition, typed
from tape.program.plan.layouts import (
    Layout,
    Place,
    broadcast_strides,
    c_strides,
    reshaped_strides,
)
from tape.program.plan.memory import WIDEST, Lifetimes, allocate, extent, is_contiguous
from tape.program.plan.numbers import code_of
from tape.program.plan.operands import by_rows
from tape.program.plan.pairs import join_pairs
from tape.program.plan.stacked import place_stacked
from tape.system.collector import collector_paused

Shape = tuple[int, ...]

_WINDOW = 2048
_LONG_ROW = 16
"""Elements that numbers are combined with each, so that a copy of the numbers takes little beside it."""


@dataclass(slots=True)
class Step:
    """An instruction, or a group of elementwise ones that runs block by block."""

    members: list[int]
    block: int = 0
    """Elements of a block; 0 for a single instruction."""
    width: int = 0
    """Bytes of a register of the group."""


@dataclass
class Plan:
    """A schedule, and the place of every value.

    Attributes
    ----------
    instructions : list of Instruction
        Those of the IR, and copies that became necessary.
    steps : list of Step
        In the order in which they run.
    places : list of Place or None
        Of every value that has one.
    slots : list of int
        The size of each slot in bytes.
    literals : bytes
        The contents of the slot of literals.
    outputs : list of int
        The instruction that writes each result.
    results : list of int
        The same, or a view that has the shape of the result.
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
    results: list[int] = field(default_factory=list)
    donations: dict[int, int] = field(default_factory=dict)
    """The dynamic leaf that gives its memory to an output, by number of the output."""
    scalars: dict[int, int] = field(default_factory=dict)
    stacked: dict[int, dict[int, Place]] = field(default_factory=dict)
    """Where results of a loop are that are not in its block, by the loop and by the offset in the block."""
    value_bytes: int = 0
    """Sum of the sizes of all computed values, without views, in bytes."""


@collector_paused()
def plan(ir: IR, donated: frozenset[int] = frozenset(), states: Mapping[int, int] | None = None) -> Plan:
    """Schedule IR and place its values.

    Parameters
    ----------
    ir : IR
        It is not changed.
    donated : frozenset of int
        Dynamic leaves whose memory may be used for outputs of their shape and dtype.
    states : dict of int to int
        Of the body of a loop: the inputs whose memory may be used for an output, by the output.

    Returns
    -------
    Plan
    """
    return _Planner(ir, donated, states or {}).plan()


class _Planner:
    def __init__(self, ir: IR, donated: frozenset[int], states: Mapping[int, int]) -> None:
        self.ir = ir
        self.donated = donated
        self.states = states
        self.instructions: list[Instruction] = []
        self.layouts: list[Layout] = []
        self.sizes: list[int] = []  # in bytes
        self.results: list[int] = []
        self._copies: dict[Any, int] = {}

    def plan(self) -> Plan:
        outputs = self._lay_out()
        result = Plan(self.instructions, [], self.ir.constants, outputs, self.ir.guards)
        self.result = result
        result.inputs = self.inputs
        result.results = self.results
        self._name_slots()
        self._group()
        self._drop(join_pairs(result, self.layouts, self.sizes))
        self._sort_numbers()
        lifetimes = Lifetimes(result, self.layouts)
        if self.donated and self._donate(lifetimes):
            lifetimes = Lifetimes(result, self.layouts)
        self._overwrite_states(lifetimes)
        allocate(result, self.layouts, self.sizes, lifetimes, is_body=bool(self.states))
        place_stacked(result, self.layouts)
        return result

    # ---- layouts: views share memory, copies are made where an instruction needs another order -------

    def _lay_out(self) -> list[int]:
        place: list[int] = []
        held = held_slices(self.ir)
        orders = _orders(self.ir)
        for k, old in enumerate(self.ir.instructions):
            id = self._add(old, tuple([place[operand] for operand in old.operands]), orders.get(k))
            place.append(self._copied(id) if k in held else id)
        self.inputs = [None if id is None else place[id] for id in self.ir.inputs]
        outputs: list[int] = []
        for id in [place[old_id] for old_id in self.ir.outputs]:
            owner = self._owner(id)
            if owner is None or owner in outputs:
                owner = id = self._push_copy(id)
            outputs.append(owner)
            self.results.append(id)
        return outputs

    def _owner(self, id: int) -> int | None:
        """Return the instruction that may write a result where it is returned; None if that takes a copy."""
        owner, instruction = self.layouts[id].root, self.instructions[id]
        computed = self.instructions[owner]
        if computed.op in SOURCES:
            return None
        is_whole = owner == id or (
            computed.dtype == instruction.dtype
            and self.sizes[owner] == _dense(instruction.shape, instruction.dtype)[1]
            and is_contiguous(instruction, self.layouts[id])
        )
        return owner if is_whole else None

    def _add(self, old: Instruction, operands: tuple[int, ...], order: Shape | None) -> int:
        """Lay out an instruction; ``order`` is that of its axes in memory, if not C order."""
        shape, dtype = old.shape, old.dtype
        strides, size = _dense(shape, dtype)
        if old.op in VIEWS:
            layout = self._view(old, self.instructions[operands[0]], self.layouts[operands[0]])
            if layout is None:  # a reshape of elements that are not in order
                operands = (self._copied(operands[0]),)
                layout = Layout(operands[0], 0, strides)
        else:
            definition = INSTRUCTIONS[old.op]
            if definition.reads is not None:
                operands = self._readable(definition, operands)
            elif definition.role == "elementwise":
                operands = self._with_numbers(old, operands)
            if old.op == "constant":
                strides = self.ir.constants[old.attrs[0]].strides
            if order is not None:
                strides = _strides_in(order, shape, dtype.itemsize)
            layout = Layout(len(self.instructions), 0, strides)
        if operands != old.operands:
            old = Instruction(old.op, operands, old.attrs, shape, dtype)
        return self._push(old, layout, size)

    def _readable(self, definition: Definition, operands: tuple[int, ...]) -> tuple[int, ...]:
        """Return the operands of an instruction, with copies of those whose layout it cannot read."""
        reads = self._is_matrix if definition.reads == "matrix" else self.is_contiguous
        copied = definition.overwrites  # which is copied anyway
        return tuple([x if k == copied or reads(x) else self._copied(x) for k, x in enumerate(operands)])

    def _with_numbers(self, old: Instruction, operands: tuple[int, ...]) -> tuple[int, ...]:
        """Return the operands of an elementwise instruction, with numbers for its rows side by side.

        Those that lie elsewhere are copied: the machine would write each out for all of its row otherwise.
        """
        for k, x in enumerate(operands):
            source = self.instructions[x]
            if 1 < source.size <= old.size // _LONG_ROW and not self.is_contiguous(x):
                sources = [self.instructions[y] for y in operands]
                strides = [self.layouts[y].strides for y in operands]
                copied = [*strides[:k], c_strides(source.shape, source.dtype.itemsize), *strides[k + 1 :]]
                if by_rows(old, sources, strides) is None and by_rows(old, sources, copied) is not None:
                    return (*operands[:k], self._copied(x), *operands[k + 1 :])
        return operands

    def _push(self, instruction: Instruction, layout: Layout, size: int) -> int:
        self.instructions.append(instruction)
        self.layouts.append(layout)
        self.sizes.append(size)
        return len(self.instructions) - 1

    def _copied(self, id: int) -> int:
        """Return a copy of a value in C order; of one value there is one copy."""
        made = self._copies.get(id)
        if made is None:
            made = self._copies[id] = self._push_copy(id)
        return made

    def _push_copy(self, id: int) -> int:
        source = self.instructions[id]
        copy = typed("copy", (id,), [source])
        strides, size = _dense(source.shape, source.dtype)
        return self._push(copy, Layout(len(self.instructions), 0, strides), size)

    @staticmethod
    def _view(view: Instruction, source: Instruction, base: Layout) -> Layout | None:
        if not view.size:  # the distance to a first element there is not may lead outside
            return Layout(base.root, 0, c_strides(view.shape, view.dtype.itemsize))
        if view.op == "transpose":
            return Layout(base.root, base.offset, tuple([base.strides[axis] for axis in view.attrs[0]]))
        if view.op == "broadcast":
            return Layout(base.root, base.offset, broadcast_strides(source.shape, base.strides, view.shape))
        if view.op == "slice":
            starts, steps = view.attrs
            offset = sum(start * stride for start, stride in zip(starts, base.strides, strict=True))
            strides = [step * stride for step, stride in zip(steps, base.strides, strict=True)]
            return Layout(base.root, base.offset + offset, tuple(strides))
        if view.op == "again":
            return base
        if view.op == "reals":
            return Layout(base.root, base.offset, (*base.strides, view.dtype.itemsize))
        if view.op == "complexes":
            is_pair = base.strides[-1] == source.dtype.itemsize
            return Layout(base.root, base.offset, base.strides[:-1]) if is_pair else None
        if view.op == "part":
            return Layout(base.root, base.offset + view.attrs[0], c_strides(view.shape, view.dtype.itemsize))
        new = reshaped_strides(source.shape, base.strides, view.shape, view.dtype.itemsize)
        return None if new is None else Layout(base.root, base.offset, new)

    def is_contiguous(self, id: int) -> bool:
        """Return whether a value is in C order without gaps."""
        instruction, layout = self.instructions[id], self.layouts[id]
        is_result = layout.root == id and instruction.op != "constant"
        return is_result or is_contiguous(instruction, layout)

    def _is_matrix(self, id: int) -> bool:
        """Return whether BLAS can read a value: rows or columns without gaps."""
        shape, strides = self.instructions[id].shape, self.layouts[id].strides
        itemsize = self.instructions[id].dtype.itemsize
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

    # ---- slots ---------------------------------------------------------------------------------------

    def _name_slots(self) -> None:
        result = self.result
        sizes = [0, 0, 0]
        for id in result.inputs:
            result.input_slots.append(len(sizes))
            sizes.append(0 if id is None else self.sizes[id])
        for array in result.constants:
            result.constant_slots.append(len(sizes))
            sizes.append(extent(array))
        for id in result.outputs:
            result.output_slots.append(len(sizes))
            sizes.append(self.sizes[id])
        result.slots = sizes

    # ---- steps ---------------------------------------------------------------------------------------

    def _group(self) -> None:
        """Join large elementwise instructions of one shape, each as early as its operands allow."""
        steps = self.result.steps
        ready = [-1] * len(self.instructions)  # the step that computes it
        open_groups: dict[tuple[int, ...], int] = {}
        for id, instruction in enumerate(self.instructions):
            op = instruction.op
            if op in VIEWS:
                ready[id] = ready[self.layouts[id].root]
                continue
            if op in SOURCES:
                continue
            if self.sizes[id] <= GROUPED_BYTES or not self._may_be_grouped(instruction):
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

    def _drop(self, gone: set[int]) -> None:
        """Drop instructions that nothing runs, and number the rest anew."""
        if not gone:
            return
        first, count = min(gone), len(self.instructions)  # those before it keep their numbers
        kept = [id for id in range(first, count) if id not in gone]
        place = list(range(count))
        for number, id in enumerate(kept, first):
            place[id] = number
        result = self.result
        olds, layouts = [self.instructions[id] for id in kept], [self.layouts[id] for id in kept]
        self.instructions[first:] = [
            Instruction(of.op, tuple([place[x] for x in of.operands]), of.attrs, of.shape, of.dtype)
            for of in olds
        ]
        self.layouts[first:] = [Layout(place[at.root], at.offset, at.strides) for at in layouts]
        self.sizes[first:] = [self.sizes[id] for id in kept]
        result.inputs = [None if id is None else place[id] for id in result.inputs]
        result.outputs = [place[id] for id in result.outputs]
        self.results = result.results = [place[id] for id in result.results]
        self._copies = {}
        for step in result.steps:
            step.members = [place[id] for id in step.members]

    def _may_be_grouped(self, instruction: Instruction) -> bool:
        """Return whether an instruction can be computed in blocks: its elements must fit into registers."""
        if instruction.op not in BLOCKWISE:
            return False
        touched = (instruction, *[self.instructions[x] for x in instruction.operands])
        return all(value.dtype.itemsize <= WIDEST for value in touched)

    def _may_join(self, operand: int, at: int, ready: list[int]) -> bool:
        """Return whether a member of a group may read this: an earlier result, or a member's own."""
        if ready[operand] < at:
            return True
        return ready[operand] == at and self.layouts[operand].root == operand

    def _sort_numbers(self) -> None:
        """Put steps of the same operation on few numbers side by side, as far as their operands allow.

        Finding out what to do next takes longer than to do it, unless it is what was done before. No more
        than `_WINDOW` steps change places, so that few more values are alive at a time.
        """
        steps, at = self.result.steps, 0
        while at < len(steps):
            stop = at
            while stop < min(at + _WINDOW, len(steps)) and self._is_of_numbers(steps[stop]):
                stop += 1
            if stop > at + 2:
                steps[at:stop] = self._by_level(steps[at:stop])
            at = max(stop, at + 1)

    def _is_of_numbers(self, step: Step) -> bool:
        if step.block:
            return False
        return code_of(self.instructions[step.members[0]], self.instructions) is not None

    def _by_level(self, steps: list[Step]) -> list[Step]:
        """Return steps by the length of the longest chain that leads to each, and by operation."""
        levels: dict[int, int] = {}
        keys: list[tuple[int, str]] = []
        for step in steps:
            (id,) = step.members
            instruction = self.instructions[id]
            level = 1 + max([levels.get(self.layouts[x].root, -1) for x in instruction.operands])
            levels[id] = level
            keys.append((level, instruction.op))
        return [steps[k] for k in sorted(range(len(steps)), key=keys.__getitem__)]

    # ---- states of loops -------------------------------------------------------------------------------

    def _overwrite_states(self, lifetimes: Lifetimes) -> None:
        """Let the next state take the memory of the state, where nothing reads that any more."""
        result = self.result
        if not self.states:
            return
        step_of = {id: at for at, step in enumerate(result.steps) for id in step.members}
        for k, leaf in self.states.items():
            source, id = result.inputs[leaf], result.outputs[k]
            if source is None or id not in step_of:
                continue
            at = step_of[id]
            if lifetimes.last[source] <= at and lifetimes.may_overwrite(id, source, at):
                result.donations[k] = leaf

    # ---- donated memory --------------------------------------------------------------------------------

    def _donate(self, lifetimes: Lifetimes) -> bool:
        """Pair donated leaves with outputs, in order; return whether that took copies."""
        result = self.result
        free = sorted(self.donated)
        for k, id in enumerate(result.results):
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
            return False
        safe_from = 1 + max(
            (
                at
                for at, step in enumerate(result.steps)
                if INSTRUCTIONS[self.instructions[step.members[0]].op].may_stop
            ),
            default=-1,
        )  # no later step can fail
        step_of = {id: at for at, step in enumerate(result.steps) for id in step.members}
        late: list[tuple[int, int]] = []
        for k, leaf in result.donations.items():
            source, id = result.inputs[leaf], result.outputs[k]
            assert source is not None
            at = step_of[id]
            is_needed = lifetimes.last[source] > at or not lifetimes.may_overwrite(id, source, at)
            if at < safe_from or is_needed:
                late.append((k, result.results[k]))
        for k, id in late:
            copy = self._push_copy(id)
            result.outputs[k] = result.results[k] = copy
            result.steps.append(Step([copy]))
        return bool(late)


@lru_cache(maxsize=4096)
def _dense(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[tuple[int, ...], int]:
    """Return the strides of an array in C order, and its size in bytes."""
    return c_strides(shape, dtype.itemsize), prod(shape) * dtype.itemsize


def _strides_in(order: Shape, shape: Shape, itemsize: int) -> Shape:
    """Return the strides of an array whose axes are in this order in memory."""
    strides = [0] * len(order)
    for axis, stride in zip(order, c_strides(tuple([shape[axis] for axis in order]), itemsize), strict=True):
        strides[axis] = stride
    return tuple(strides)


def _orders(ir: IR) -> dict[int, Shape]:
    """Return the order of axes in memory for results that are only read transposed, and can be written so."""
    instructions = ir.instructions
    orders: dict[int, Shape] = {}
    for instruction in instructions:
        if instruction.op == "transpose":
            (order,) = instruction.attrs
            source = instructions[instruction.operands[0]]
            if order[-1] == len(order) - 1 and INSTRUCTIONS[source.op].writes_any_order:
                orders[instruction.operands[0]] = order
    if orders:
        uses = ir.uses()
        orders = {id: order for id, order in orders.items() if uses[id] == 1}
    return orders
