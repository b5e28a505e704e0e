"""Checks of loops: what they bind in each step."""

from __future__ import annotations

import numpy as np

from tape.program.native.opcodes import BY_COUNT, BY_COUNT_BACK, BY_FLAG, FIELDS
from tape.program.runtime.checks import MOST, NAMES, Checks, need_spread
from tape.program.runtime.extents import Column, Rows

__all__ = ["binding", "collected_state", "kept_state", "loop", "stacking", "state"]

_STEP = 1 + FIELDS["binding"].index("step")  # of a stacking, too
_STATES = ("state", "kept_state", "collected_state")


def loop(v: Checks, group: Rows) -> None:
    numbers = group.between("body", 0, len(v.bodies) - 1)
    lengths = group.between("length", 0, MOST)
    group.between("portion", 1, MOST)
    left = v.rows - 1 - group.numbers
    bindings = group.between("bindings", 0, left)
    states = group.between("states", 0, left - bindings)
    moving = group.between("moving", 0, bindings)
    ends = group.between("ends", 0, BY_COUNT_BACK)
    group.between("left", 0, MOST)
    group.between("compiled", 0, 0)  # no address that somebody else has written
    v.claims.add(group, "x", 8, (ends == BY_COUNT) | (ends == BY_COUNT_BACK))
    for k, at in enumerate(group.numbers):
        body = v.bodies[numbers[k]]
        middle, stop = at + 1 + bindings[k], at + 1 + bindings[k] + states[k]
        bound = []
        for row in range(at + 1, stop):
            v.loops[row] = (int(lengths[k]), body)
            name = NAMES[v.words[row, 0]]
            if name not in (("binding", "stacking") if row < middle else _STATES):
                group.refuse(k, "bindings", f"is followed by a row of {name}")
            if row < middle and (row <= at + moving[k]) != (v.words[row, _STEP] != 0):
                group.refuse(k, "moving", "is not the number of bindings that move, which come first")
            slots = sum(field.startswith("slot") for field in FIELDS[name])
            bound += [int(number) for number in v.words[row, 1 : 1 + slots]]
        if sorted(bound) != sorted([*body.inputs, *body.outputs]):
            group.refuse(k, "bindings", "does not bind each slot of the body once")
        if ends[k] == BY_FLAG and not (states[k] and _size_of_state(v.words[middle]) == 1):
            group.refuse(k, "ends", "is by the first state, which is not a bool")


def _size_of_state(word: Column) -> int:
    return int(word[1 + FIELDS[NAMES[word[0]]].index("bytes")])


def _bound(
    v: Checks, group: Rows, field: str, *, is_written: bool, is_kept: bool = False
) -> tuple[Column, Column]:
    """Return the alignments of the slots of a body that are bound, and the lengths of the loops.

    A step writes to slots of outputs, and of inputs if these are the place of a state that is kept.
    """
    group.between("bytes", 0, MOST)  # slots of 0 bytes leave that open
    alignments, lengths = np.ones(len(group), np.int64), np.zeros(len(group))
    for k, row in enumerate(group.numbers):
        if row not in v.loops:
            group.refuse(k, field, "belongs to no loop")
        lengths[k], body = v.loops[row]
        slot = (body.outputs if is_written else body.inputs).get(int(group[field][k]))
        if slot is None or (slot.size and slot.size != group["bytes"][k]):  # of 0 bytes, it is not read
            group.refuse(k, field, "is no slot of so many bytes, of this kind, of the body")
        assert slot is not None
        if slot.size and slot.is_writable != (is_written or is_kept):
            group.refuse(k, field, "is a slot that steps write to, or not, and should not, or should")
        alignments[k] = slot.alignment if slot.size else 1
    return alignments, lengths


def binding(v: Checks, group: Rows) -> None:
    units, lengths = _bound(v, group, "slot", is_written=False)
    step, size = group.between("step", -MOST, MOST), group["bytes"]
    v.claims.add(group, "x", units, lengths, step=step, part=size)


def stacking(v: Checks, group: Rows) -> None:
    units, lengths = _bound(v, group, "slot", is_written=True)
    step, size = group.between("step", -MOST, MOST), group["bytes"]
    need_spread(group, "step", step, size)
    v.claims.add(group, "out", units, lengths, step=step, part=size, is_written=True)


def state(v: Checks, group: Rows) -> None:
    units, _ = _bound(v, group, "slot_out", is_written=True)
    readable, _ = _bound(v, group, "slot_in", is_written=False)
    units, size = np.maximum(units, readable), group["bytes"]
    first = v.claims.add(group, "first", units, part=size)
    out = v.claims.add(group, "out", units, part=size, is_written=True)
    spare = v.claims.add(group, "spare", units, part=size, is_written=True)
    for other in (first, spare):
        v.claims.keep_apart(out, other)
    v.claims.keep_apart(spare, first)


def kept_state(v: Checks, group: Rows) -> None:
    units, _ = _bound(v, group, "slot_in", is_written=False, is_kept=True)
    size = group.between("bytes", 0, MOST)
    first = v.claims.add(group, "first", units, part=size)
    out = v.claims.add(group, "out", units, part=size, is_written=True)
    v.claims.keep_apart(out, first)


def collected_state(v: Checks, group: Rows) -> None:
    units, lengths = _bound(v, group, "slot_out", is_written=True)
    readable, _ = _bound(v, group, "slot_in", is_written=False)
    units, size = np.maximum(units, readable), group.between("bytes", 0, MOST)
    group.between("before", 0, 1)
    step = group.between("step", -MOST, MOST)
    need_spread(group, "step", step, size)
    first = v.claims.add(group, "first", units, part=size)
    out = v.claims.add(group, "out", units, part=size, is_written=True)
    array = v.claims.add(group, "array", units, lengths, step=step, part=size, is_written=True)
    v.claims.keep_apart(out, first)
    v.claims.keep_apart(array, first)
    v.claims.keep_apart(array, out)
