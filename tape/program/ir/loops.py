"""Loops: an instruction with IR of its own, the body, which runs once for each step.

A loop has several results: the last state, and an array for each value that the body returns in every step.
They lie one after another in one block of bytes, of which `part` is a view; so do the results of a callback
that has several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tape.core.op import Op
from tape.core.results import Results
from tape.program.ir.instructions import IR, Instruction
from tape.program.ir.values import Value
from tape.transforms.loops.steps import Ending

if TYPE_CHECKING:
    from tape.program.ir.builder import Builder

ALIGNMENT = 64
"""Bytes: every part of a block begins at a multiple of that."""
BYTES = np.dtype(np.uint8)
_WAY = 4096
"""Bytes: elements so far apart share a place in the L1 cache, as those of one step would whose parts are a
multiple of that long."""


class Part(NamedTuple):
    """A result in a block of several: where it begins, in bytes, and its type."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return prod(self.shape) * self.dtype.itemsize


class Block:
    """The layout of several results in one block of bytes.

    Attributes
    ----------
    parts : list of Part
    size : int
        Of the whole block, in bytes.
    """

    def __init__(self, types: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]) -> None:
        self.parts: list[Part] = []
        self.size = 0
        for shape, dtype in types:
            part = Part(self.size, shape, dtype)
            self.parts.append(part)
            self.size += part.size + -part.size % ALIGNMENT
            if part.size >= _WAY:
                self.size += ALIGNMENT

    @classmethod
    def of(cls, results: Results) -> Block:
        """Return the layout of these results."""
        return cls([(result.shape, result.dtype) for result in results])

    def packed(self, results: Any) -> np.ndarray:
        """Return results as one block; an empty one if they are of other types."""
        if type(results) is not Results or Block.of(results).parts != self.parts:
            return np.zeros(0, BYTES)
        block = np.zeros(self.size, BYTES)
        for part, result in zip(self.parts, results, strict=True):
            there = block[part.offset : part.offset + part.size]
            there.view(part.dtype).reshape(part.shape)[...] = result
        return block


class Packed(Op):
    """An operation of several results that returns them as one block.

    Attributes
    ----------
    inner : Op
        The operation.
    block : Block
        The layout of its results.
    """

    def __init__(self, inner: Op, block: Block) -> None:
        def forward(*operands: Any, **attrs: Any) -> np.ndarray:
            return block.packed(inner.compute(operands, attrs))

        super().__init__(forward, name=inner.name, explains_errors=False)
        self.inner = inner
        self.block = block


@dataclass(frozen=True, eq=False)
class Loop:
    """The attribute of a loop instruction.

    Its operands are those of the body: constants, which are the same in every step; the first state; and
    arrays that have an element for each step along their first axis.

    Attributes
    ----------
    body : IR
        Its inputs are the constants, the state, and an element of each array. Its outputs are the next state,
        of the same types, and values to stack.
    length : int
        How many steps.
    constants, states : int
        How many inputs are constants, and how many belong to the state.
    is_backwards : bool
        Whether the last elements come first, and the last results are those of the first step.
    ends_by : {"length", "flag", "count"}
        When it ends: after `length` steps; or before a step in which the first state, a bool, is False; or
        after as many steps as its last operand says, an int64 that the body does not see. There are never
        more than `length` steps. What is collected has elements for all of them, and arbitrary values where
        there was no step; backwards, the first step has element ``count - 1``.
    """

    body: IR
    length: int
    constants: int
    states: int
    is_backwards: bool
    ends_by: Ending = "length"

    def __repr__(self) -> str:
        direction = " backwards" if self.is_backwards else ""
        return f"{self.times}{direction}"

    @property
    def times(self) -> str:
        """How often it runs, in words."""
        return f"{self.length}" if self.ends_by == "length" else f"at most {self.length}"

    @property
    def inputs(self) -> list[Instruction | None]:
        """The inputs of the body; None for those that nothing depends on."""
        return [None if id is None else self.body.instructions[id] for id in self.body.inputs]

    @property
    def outputs(self) -> list[Instruction]:
        """The outputs of the body."""
        return [self.body.instructions[id] for id in self.body.outputs]

    @cached_property
    def collected_states(self) -> dict[int, tuple[int, bool]]:
        """The states that are collected as well: by which output, and whether as they are before the step."""
        found: dict[int, tuple[int, bool]] = {}
        body, taken = self.body, set()
        for state in range(self.states):
            before, after = body.inputs[self.constants + state], body.outputs[state]
            for k in range(self.states, len(body.outputs)):
                if k not in taken and body.outputs[k] in (before, after):
                    found[state] = k, body.outputs[k] == before
                    taken.add(k)
                    break
        return found

    @cached_property
    def planned(self) -> IR:
        """The body without the outputs that are collected states."""
        body, dropped = self.body, {k for k, _ in self.collected_states.values()}
        outputs = [id for k, id in enumerate(body.outputs) if k not in dropped]
        return IR(body.instructions, body.inputs, body.constants, outputs, body.guards, body.callbacks)

    @property
    def overwritten(self) -> dict[int, int]:
        """The inputs that a step may overwrite with a state, by the number of the state."""
        states = [k for k in range(self.states) if k not in self.collected_states]
        return {k: self.constants + k for k in states}

    @cached_property
    def block(self) -> Block:
        """The layout of the results; behind them a second copy of the state, for the steps between."""
        types = [(out.shape, out.dtype) for out in self.outputs]
        stacked = [((self.length, *shape), dtype) for shape, dtype in types[self.states :]]
        return Block([*types[: self.states], *stacked, *types[: self.states]])


def all_ir(ir: IR) -> Iterator[IR]:
    """Yield IR, and that of all loops in it."""
    yield ir
    for instruction in ir.instructions:
        if instruction.op == "loop":
            yield from all_ir(instruction.attrs[0].body)


# ---- methods of `Builder` ----------------------------------------------------------------------------


def part(self: Builder, value: Value, index: int) -> Value:
    """Return one of several results."""
    offset, shape, dtype = self.blocks[value.id].parts[index]
    return self.push("part", (value,), (offset,), shape=shape, dtype=dtype)


def callback_with_several(
    self: Builder, op: Op, operands: Sequence[Any], attrs: dict[str, Any], results: Results
) -> Value:
    """Let Python run an operation that has several results, of these types."""
    block = Block.of(results)
    value = self.callback(Packed(op, block), operands, attrs, (block.size,), BYTES)
    self.blocks[value.id] = block
    return value
