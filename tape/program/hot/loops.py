"""LLVM IR of the steps of a loop whose body is scalar code.

`steps(body, count, is_bound)` does what `tape.program.native.loops` does in steps that are neither of the
first two nor the last one: it binds what the body reads and writes in the next step, but for the first of
these if that is bound, and runs it. It returns how many steps it has done, fewer than `count` if the first
state says that there is no next one, whose addresses are then not bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tape.program.hot.numbers import FUNCTIONS, TYPES, Known, Text
from tape.program.native.opcodes import ARENA, BY_FLAG, FIELDS, SLOT_BITS, SLOTS, WIDTH, opcode

__all__ = ["count_of", "entries_of", "text_of"]

_SCALAR, _SCALARS = map(opcode, ("scalar", "scalars"))
_STATE, _KEPT, _COLLECTED = map(opcode, ("state", "kept_state", "collected_state"))
_STEP = FIELDS["collected_state"].index("step") - 2  # behind the two slots
_ENTRY = len(FIELDS["scalar"])


def count_of(code: np.ndarray, rows: int) -> int:
    """Return how many entries the rows have, if all of them are scalar code; else 0."""
    table = code[: rows * WIDTH].reshape(-1, WIDTH)
    are_many = table[:, 0] == _SCALARS
    is_scalar = (are_many | (table[:, 0] == _SCALAR)).all()
    return int(np.where(are_many, table[:, 1], 1).sum()) if is_scalar else 0


def entries_of(code: np.ndarray, rows: int) -> list[list[int]]:
    """Return the entries of rows that are scalar code."""
    entries: list[list[int]] = []
    for kind, *fields in code[: rows * WIDTH].reshape(-1, WIDTH).tolist():
        if kind == _SCALAR:
            entries.append(fields[:_ENTRY])
        else:
            count, start = fields[:2]
            entries += code[start : start + count * _ENTRY].reshape(-1, _ENTRY).tolist()
    return entries


def text_of(rows: Sequence[Sequence[int]], entries: Sequence[Sequence[int]]) -> str:
    """Return the module with the steps of a loop.

    Parameters
    ----------
    rows : sequence of sequence of int
        That of the loop, and those that belong to it.
    entries : sequence of sequence of int
        Those of its body.

    Returns
    -------
    str
    """
    return "\n".join(_Steps(rows, entries).lines())


class _Steps:
    """The text of the steps of a loop.

    Of a slot k, %ak is the place of its address in the frame and %sk the address at the beginning. Slots
    that change from step to step have others: %bk in the step before, %mk and %nk in this one. Parts of
    states stay in registers, %c0, %c1, ... in a step and %c0.next, ... after it.

    Memory that is no state that is overwritten is always what it would be without them: others are written
    to registers and to memory. A state that is overwritten is in memory again at the end. No two slots share
    memory that a step writes, as in the machine, where another order of reading would matter, too.
    """

    def __init__(self, rows: Sequence[Sequence[int]], entries: Sequence[Sequence[int]]) -> None:
        head: dict[str, Any] = dict(zip(FIELDS["loop"], rows[0][1:], strict=False))
        bindings, states = rows[1 : 1 + head["moving"]], rows[1 + head["bindings"] :]
        self.entries = entries
        self.flag = states[0][1] if head["ends"] == BY_FLAG else None
        self.moves: dict[int, int] = {row[1]: row[2] for row in bindings}
        self.swaps: dict[int, int] = {}
        self.next_of: dict[int, int] = {}  # the slot where the next step's state is written, by the state's
        for kind, slot, other, *fields in states:
            self.next_of[slot] = slot if kind == _KEPT else other
            if kind == _STATE:
                self.swaps |= {slot: other, other: slot}
            elif kind == _COLLECTED:
                self.moves |= {slot: fields[_STEP], other: fields[_STEP]}
        self.kept = {slot for slot, other in self.next_of.items() if slot == other}
        self.changing = [*self.moves, *self.swaps]

    def lines(self) -> Iterator[str]:
        text, carried, silent = self._text()
        after = {cell: text.known[self.next_of[cell[0]], cell[1]][1] for cell in carried}
        used = {operand >> SLOT_BITS for entry in self.entries for operand in entry[1:]}
        slots = sorted({*used, *self.changing, *self.next_of})
        for name in sorted(set(FUNCTIONS.values())):
            yield f"declare double @{name}(double{', double' if name == 'pow' else ''})"
        yield "declare double @llvm.sqrt.f64(double)"
        yield "declare double @llvm.fabs.f64(double)"
        yield 'define i64 @steps(ptr %body, i64 %count, i64 %is_bound) nounwind "no-builtins" {'
        yield "entry:"
        yield "  %begins = icmp ne i64 %is_bound, 0"
        for slot in slots:
            yield f"  %a{slot} = getelementptr i8, ptr %body, i64 {8 * (SLOTS + slot)}"
            yield f"  %s{slot} = load ptr, ptr %a{slot}"
        for (slot, offset), (letter, name) in carried.items():
            base, step = self.swaps.get(slot, slot), self.moves.get(slot, 0)
            yield f"  {name}.here = getelementptr i8, ptr %s{slot}, i64 {offset}"
            yield f"  {name}.there = getelementptr i8, ptr %s{base}, i64 {step + offset}"
            yield f"  {name}.at = select i1 %begins, ptr {name}.here, ptr {name}.there"
            yield f"  {name}.first = load {TYPES[letter]}, ptr {name}.at"
        yield "  br i1 %begins, label %step, label %next"
        yield "next:"
        yield "  %done = phi i64 [0, %entry], [%more, %step]"
        for slot in self.changing:
            yield f"  %b{slot} = phi ptr [%s{slot}, %entry], [%n{slot}, %step]"
        for cell, (letter, name) in carried.items():
            yield f"  {name}.next = phi {TYPES[letter]} [{name}.first, %entry], [{after[cell]}, %step]"
        yield "  %is_left = icmp slt i64 %done, %count"
        yield "  br i1 %is_left, label %bind, label %end"
        yield "bind:"
        for slot, step in self.moves.items():
            yield f"  %m{slot} = getelementptr i8, ptr %b{slot}, i64 {step}"
        for slot, other in self.swaps.items():
            yield f"  %m{slot} = getelementptr i8, ptr %b{other}, i64 0"
        if self.flag is None:
            yield "  br label %step"
        else:
            flag = f"{carried[self.flag, 0][1]}.next" if (self.flag, 0) in carried else "%flag"
            if flag == "%flag":
                yield f"  %flag = load i8, ptr %{'m' if self.flag in self.changing else 's'}{self.flag}"
            yield f"  %goes_on = icmp ne i8 {flag}, 0"
            yield "  br i1 %goes_on, label %step, label %end"
        yield "step:"
        yield "  %before = phi i64 [0, %entry], [%done, %bind]"
        for slot in self.changing:
            yield f"  %n{slot} = phi ptr [%s{slot}, %entry], [%m{slot}, %bind]"
        for letter, name in carried.values():
            yield f"  {name} = phi {TYPES[letter]} [{name}.first, %entry], [{name}.next, %bind]"
        yield from text.lines
        yield "  %more = add i64 %before, 1"
        yield "  br label %next"
        yield "end:"
        for slot in self.changing:
            yield f"  store ptr %b{slot}, ptr %a{slot}"
        for (slot, _), (letter, name) in carried.items():
            if slot in silent:
                yield f"  store {TYPES[letter]} {name}.next, ptr {name}.here"
        yield "  ret i64 %done"
        yield "}"

    def _base(self, slot: int) -> str:
        return f"%n{slot}" if slot in self.changing else f"%s{slot}"

    def _text(self) -> tuple[Text, Known, set[int]]:
        """Return the instructions of a step, the parts of states that stay in registers, and silent slots.

        A part stays in a register if the step leaves in the slot of the next state, at the same place, what
        it has written there as a number of the same type. Silent slots, which are not written, are the arena
        if all that is read of it is written before, in the same step; and states that are overwritten, if all
        that is written of them is in registers: it is stored at the end.
        """
        plain = self._written(Text(self._base, "%body"))
        carried: Known = {}
        for slot, after in self.next_of.items():
            given = plain.written if slot == after else plain.read
            for (where, offset), letter in given.items():
                is_written = where == slot and (after, offset) in plain.written
                if is_written and plain.known.get((after, offset), ("",))[0] == letter:
                    carried[slot, offset] = letter, f"%c{len(carried)}"
        silent = {
            slot for slot in self.kept if all(cell in carried for cell in plain.written if cell[0] == slot)
        }
        if all(slot != ARENA for slot, _ in plain.read):
            silent.add(ARENA)
        scratch = "%body" if plain.reads_scratch else ""
        return self._written(Text(self._base, scratch, carried, silent)), carried, silent

    def _written(self, text: Text) -> Text:
        for entry in self.entries:
            text.entry(*entry)
        return text
