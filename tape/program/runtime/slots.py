"""The slots of a program: the regions of memory that its rows may touch."""

from __future__ import annotations

from typing import NamedTuple

from tape.program.native.opcodes import ARENA, LITERALS, REGISTERS
from tape.program.plan.layouts import ALIGNMENT
from tape.program.plan.planner import Plan

_LITERAL_ALIGNMENT = 16


class Slot(NamedTuple):
    """A region of memory that operands lie in.

    Attributes
    ----------
    size : int
        In bytes.
    alignment : int
        In bytes: its address is a multiple of that.
    is_writable : bool
        Whether rows may write to it.
    """

    size: int
    alignment: int
    is_writable: bool


def slots_of(plan: Plan) -> list[Slot]:
    """Return the slots of a plan, as a run of its program provides them.

    Parameters
    ----------
    plan : Plan
        After encoding, which may make registers larger.

    Returns
    -------
    list of Slot
    """
    slots = [Slot(0, ALIGNMENT, False)] * len(plan.slots)
    slots[ARENA] = Slot(plan.slots[ARENA], ALIGNMENT, True)
    slots[REGISTERS] = Slot(plan.slots[REGISTERS], ALIGNMENT, True)
    slots[LITERALS] = Slot(plan.slots[LITERALS], _LITERAL_ALIGNMENT, False)
    donated = set(plan.donations.values())
    for leaf, (id, slot) in enumerate(zip(plan.inputs, plan.input_slots, strict=True)):
        if id is not None:
            dtype = plan.instructions[id].dtype
            slots[slot] = Slot(plan.slots[slot], dtype.alignment, leaf in donated)
    for array, slot in zip(plan.constants, plan.constant_slots, strict=True):
        address = array.ctypes.data
        slots[slot] = Slot(plan.slots[slot], address & -address or ALIGNMENT, False)
    for k, (id, slot) in enumerate(zip(plan.outputs, plan.output_slots, strict=True)):
        if k not in plan.donations:  # those have no memory of their own
            slots[slot] = Slot(plan.slots[slot], plan.instructions[id].dtype.alignment, True)
    return slots


class Body(NamedTuple):
    """The slots of the body of a loop, which the loop binds in every step.

    Attributes
    ----------
    inputs, outputs : dict of int to Slot
        By number.
    """

    inputs: dict[int, Slot]
    outputs: dict[int, Slot]

    @classmethod
    def of(cls, plan: Plan) -> Body:
        """Return those of a plan."""
        slots = slots_of(plan)
        outputs = [number for k, number in enumerate(plan.output_slots) if k not in plan.donations]
        return cls(
            {number: slots[number] for number in plan.input_slots},
            {number: slots[number] for number in outputs},
        )
