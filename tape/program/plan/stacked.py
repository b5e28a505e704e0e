"""Results that a loop stacks where a program returns them, and not in its own block: that saves a copy.

An output that is a copy of such a result, or joins it to others, has its memory during the whole run. Nothing
else writes there, and what the copy would write is there already.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tape.program.ir.loops import Loop
from tape.program.ir.table import VIEWS
from tape.program.plan.layouts import Layout, Place, c_strides
from tape.program.plan.memory import is_contiguous

if TYPE_CHECKING:
    from tape.program.plan.planner import Plan

__all__ = ["place_stacked"]


def place_stacked(plan: Plan, layouts: list[Layout]) -> None:
    """Place results of loops where they are returned.

    Parameters
    ----------
    plan : Plan
        With the places of all values. Views of what moves get others, and `Plan.stacked` is filled in.
    layouts : list of Layout
        Of each instruction.
    """
    instructions, places = plan.instructions, plan.places
    stacked = plan.stacked
    for x, place in _copied(plan):
        loop, offset, _ = layouts[x]
        of = instructions[x]
        if instructions[loop].op == "loop" and is_contiguous(of, layouts[x]):
            sizes = _sizes(instructions[loop].attrs[0])
            if 0 < of.size * of.dtype.itemsize == sizes.get(offset):
                stacked.setdefault(loop, {}).setdefault(offset, place)
    for id, of in enumerate(instructions):
        root, offset, strides = layouts[id]
        if of.op in VIEWS and root in stacked:
            sizes = _sizes(instructions[root].attrs[0])
            for start, place in stacked[root].items():
                if start <= offset < start + sizes[start]:
                    places[id] = Place(place.slot, place.offset + offset - start, strides)


def _copied(plan: Plan) -> Iterator[tuple[int, Place]]:
    """Yield what outputs are copies of, or join along their first axis, and where each of these goes."""
    for k, id in enumerate(plan.outputs):
        of, place = plan.instructions[id], plan.places[id]
        assert place is not None
        is_joined = of.op == "concatenate" and of.attrs == (0,)
        is_in_order = place.strides == c_strides(of.shape, of.dtype.itemsize)
        if k in plan.donations or not is_in_order or not (is_joined or of.op == "copy"):
            continue
        offset = place.offset
        for x in of.operands:
            yield x, Place(place.slot, offset, ())
            offset += plan.instructions[x].size * of.dtype.itemsize


def _sizes(loop: Loop) -> dict[int, int]:
    """Return the bytes of each stacked result but collected states, by where it is in the block."""
    collected = {output for output, _ in loop.collected_states.values()}
    last = len(loop.outputs)
    return {part.offset: part.size for k, part in enumerate(loop.block.parts[:last])
            if k >= loop.states and k not in collected}  # fmt: skip
