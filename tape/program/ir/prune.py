"""Results of loops that nothing uses are not computed: neither is what only they need, operands included.

A derivative by everything that a loop depends on is one loop; this leaves of it what is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable

from tape.program.ir.instructions import IR, Instruction
from tape.program.ir.loops import Loop
from tape.program.ir.sinking import sink_slices


def prune(ir: IR) -> None:
    """Drop the results of loops that nothing uses, last loop first, in loops within loops as well."""
    for id in range(len(ir.instructions) - 1, -1, -1):
        if ir.instructions[id].op == "loop":
            _prune_loop(ir.instructions, id, ir.outputs)


def _prune_loop(instructions: list[Instruction], id: int, outputs: Iterable[int]) -> None:
    instruction = instructions[id]
    (loop,) = instruction.attrs
    used = bytearray(len(instructions))  # what an output, a guard or a loop that is kept depends on
    for out in outputs:
        used[out] = 1
    for k in range(len(instructions) - 1, id, -1):
        if used[k] or instructions[k].guard is not None:
            for operand in instructions[k].operands:
                used[operand] = 1
    views = [k for k in range(id + 1, len(instructions)) if instructions[k].operands == (id,)]
    numbers = {part.offset: k for k, part in enumerate(loop.block.parts[: len(loop.outputs)])}
    wanted = {numbers[instructions[k].attrs[0]] for k in views if used[k]}
    kept, needed = _kept(loop, wanted)
    if len(kept) == len(loop.outputs) and len(needed) == len(loop.body.inputs):
        return
    smaller = _without(loop, kept, needed)
    count = instruction.operands[len(loop.body.inputs) :]
    instruction.operands = (*[instruction.operands[k] for k in needed], *count)
    instruction.attrs = (smaller,)
    instruction.shape = (smaller.block.size,)
    places = dict(zip(kept, smaller.block.parts, strict=False))
    for k in views:
        number = numbers[instructions[k].attrs[0]]
        if number in places:
            instructions[k].attrs = (places[number].offset,)
        else:
            instructions[k].operands = ()  # dead, and dropped


def _kept(loop: Loop, wanted: set[int]) -> tuple[list[int], list[int]]:
    """Return the outputs of the body that are needed for some of them, and the inputs that these need."""
    kept = wanted | {0} if loop.ends_by == "flag" else set(wanted)
    first = loop.constants
    while True:
        needed = _inputs_of(loop, kept)
        states = {k - first for k in needed if 0 <= k - first < loop.states}
        if states <= kept:
            break
        kept |= states
    needed |= {first + k for k in kept if k < loop.states}  # its first value, if nothing else reads it
    return sorted(kept), sorted(needed)


def _inputs_of(loop: Loop, outputs: Iterable[int]) -> set[int]:
    """Return the inputs of the body that some of its outputs depend on."""
    instructions = loop.body.instructions
    alive = bytearray(len(instructions))
    for k in outputs:
        alive[loop.body.outputs[k]] = 1
    for id in range(len(instructions) - 1, -1, -1):
        if alive[id]:
            for operand in instructions[id].operands:
                alive[operand] = 1
    return {k for k, id in enumerate(loop.body.inputs) if id is not None and alive[id]}


def _without(loop: Loop, kept: list[int], needed: list[int]) -> Loop:
    """Return a loop with some outputs and inputs of its body."""
    old = loop.body
    numbers = {k: number for number, k in enumerate(needed)}
    instructions = [
        Instruction(
            i.op,
            i.operands,
            (numbers.get(i.attrs[0], -1),) if i.op == "input" else i.attrs,  # those with -1 are dead
            i.shape,
            i.dtype,
        )
        for i in old.instructions
    ]
    body = IR(
        instructions,
        [old.inputs[k] for k in needed],
        old.constants,
        [old.outputs[k] for k in kept],
        old.guards,
        old.callbacks,
    )
    body.drop_dead()
    prune(body)
    body.drop_dead()
    sink_slices(body)  # of what nothing else reads any more
    first, last = loop.constants, loop.constants + loop.states
    constants = sum(k < first for k in needed)
    states = sum(first <= k < last for k in needed)
    return Loop(body, loop.length, constants, states, loop.is_backwards, loop.ends_by)
