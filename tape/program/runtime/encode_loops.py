"""Encoder of loops: a row for the loop, and one for each input, state and result of its body."""

from __future__ import annotations

from tape.program.ir.instructions import Instruction
from tape.program.native.opcodes import packed
from tape.program.runtime.pauses import nanoseconds, portion
from tape.program.runtime.writer import Writer

__all__ = ["loop"]


def loop(w: Writer, id: int, instruction: Instruction) -> None:
    """Run the body of a loop once for each step."""
    (loop,), plan = instruction.attrs, w.bodies[id]
    parts, place = loop.block.parts, w.place(id)
    outs = [packed(place.slot, place.offset + part.offset) for part in parts]
    inputs, outputs, sizes = plan.input_slots, plan.output_slots, plan.slots
    first, last = loop.constants, loop.constants + loop.states
    steps = max(loop.length - 1, 0)
    head = len(w.rows)
    w.emit(
        "loop", body=list(w.bodies).index(id), length=loop.length, bindings=0, states=loop.states,
        portion=max(1, portion(loop.length, nanoseconds(w.plan.instructions, id))),
    )  # fmt: skip

    def each(name: str, slot: int, field: str, operand: int, size: int) -> None:
        """Write a row for what has an element for each step."""
        if loop.is_backwards:
            operand += steps * size
        step = -size if loop.is_backwards else size
        w.emit(name, **{"slot": slot, "step": step, "bytes": sizes[slot], field: operand})

    for k, x in enumerate(instruction.operands):
        if k < first:
            w.emit("binding", slot=inputs[k], step=0, bytes=sizes[inputs[k]], x=w.at(x))
        elif k >= last:
            source = w.plan.instructions[x]
            size = source.size // max(loop.length, 1) * source.dtype.itemsize
            each("binding", inputs[k], "x", w.at(x), size)
    for k in range(loop.states, len(outputs)):
        each("stacking", outputs[k], "out", outs[k], sizes[outputs[k]])
    w.rows[head][3] = len(w.rows) - head - 1
    for k in range(loop.states):
        w.emit(
            "state", slot_in=inputs[first + k], slot_out=outputs[k], bytes=sizes[outputs[k]],
            first=w.at(instruction.operands[first + k]), out=outs[k], spare=outs[len(outputs) + k],
        )  # fmt: skip
