"""Encoder of loops: a row for the loop, and one for each input, state and result of its body."""

from __future__ import annotations

from tape.program.ir.instructions import Instruction
from tape.program.ir.loops import Loop
from tape.program.native.opcodes import BY_COUNT, BY_COUNT_BACK, BY_FLAG, FIELDS, packed
from tape.program.runtime.pauses import nanoseconds, portion
from tape.program.runtime.writer import Writer

__all__ = ["loop"]

_BINDINGS, _MOVING = (1 + FIELDS["loop"].index(field) for field in ("bindings", "moving"))
_STEP = 1 + FIELDS["binding"].index("step")  # of a stacking, too


def loop(w: Writer, id: int, instruction: Instruction) -> None:
    """Run the body of a loop once for each step."""
    (loop,), plan = instruction.attrs, w.bodies[id]
    operands = instruction.operands[: len(plan.inputs)]
    ends = {"length": 0, "flag": BY_FLAG, "count": BY_COUNT_BACK if loop.is_backwards else BY_COUNT}
    parts, place = loop.block.parts, w.place(id)
    results = [packed(place.slot, place.offset + part.offset) for part in parts]
    for offset, there in w.plan.stacked.get(id, {}).items():
        k = next(k for k, part in enumerate(parts) if part.offset == offset and part.size)
        results[k] = packed(there.slot, there.offset)
    first, last = loop.constants, loop.constants + loop.states
    sizes = [part.size for part in parts]
    head = len(w.rows)
    w.emit(
        "loop", body=list(w.bodies).index(id), length=loop.length, bindings=0, states=loop.states,
        portion=portion(loop.length, nanoseconds(w.plan.instructions, id)), ends=ends[loop.ends_by],
        x=w.at(instruction.operands[-1]) if loop.ends_by == "count" else 0, moving=0,
        left=0, compiled=0,
    )  # fmt: skip
    for k, x in enumerate(operands):
        slot = plan.input_slots[k]
        if k < first:
            w.emit("binding", slot=slot, step=0, bytes=plan.slots[slot], x=w.at(x))
        elif k >= last:
            source = w.plan.instructions[x]
            size = source.size // max(loop.length, 1) * source.dtype.itemsize
            start, step = _turned(loop, w.at(x), size)
            w.emit("binding", slot=slot, step=step, bytes=plan.slots[slot], x=start)
    collected = {output for output, _ in loop.collected_states.values()}
    slots = iter(plan.output_slots)
    out_slots = {k: next(slots) for k in range(len(loop.outputs)) if k not in collected}
    for k in range(loop.states, len(loop.outputs)):
        if k not in collected:
            slot = out_slots[k]
            start, step = _turned(loop, results[k], plan.slots[slot])
            w.emit("stacking", slot=slot, step=step, bytes=plan.slots[slot], out=start)
    _sort_bindings(w, head)
    for k in range(loop.states):
        slot_in, before = plan.input_slots[first + k], w.at(operands[first + k])
        if k in plan.donations:
            w.emit("kept_state", slot_in=slot_in, bytes=sizes[k], first=before, out=results[k])
        elif k in loop.collected_states:
            output, is_before = loop.collected_states[k]
            array, step = _turned(loop, results[output], sizes[k])
            w.emit(
                "collected_state", slot_in=slot_in, slot_out=out_slots[k], bytes=sizes[k], first=before,
                out=results[k], array=array, step=step, before=int(is_before),
            )  # fmt: skip
        else:
            w.emit(
                "state", slot_in=slot_in, slot_out=out_slots[k], bytes=sizes[k], first=before,
                out=results[k], spare=results[len(loop.outputs) + k],
            )  # fmt: skip


def _sort_bindings(w: Writer, head: int) -> None:
    """Put the bindings that move first, and count them in the row of the loop."""
    bindings = w.rows[head + 1 :]
    w.rows[head + 1 :] = sorted(bindings, key=_stays)
    w.rows[head][_BINDINGS] = len(bindings)
    w.rows[head][_MOVING] = sum(not _stays(row) for row in bindings)


def _stays(row: list[int]) -> bool:
    return row[_STEP] == 0


def _turned(loop: Loop, operand: int, size: int) -> tuple[int, int]:
    """Return where the element of the first step is in an array, and the distance of the next one."""
    if loop.is_backwards:
        return operand + max(loop.length - 1, 0) * size, -size
    return operand, size
