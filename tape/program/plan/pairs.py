"""Operations of arithmetic that are computed two at once, as in ``x * y + z`` and ``z[:n] += x * y``.

What lies between them is neither written nor read, which takes longer than to compute it, even twice. They
round as they do alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tape.kernels.codes import KERNEL_DTYPES, MOST_SHORT, PAIRS
from tape.program.ir.instructions import Instruction
from tape.program.ir.table import INSTRUCTIONS, typed
from tape.program.plan.layouts import Layout, c_strides, collapsed
from tape.program.plan.memory import is_contiguous

if TYPE_CHECKING:
    from tape.program.plan.planner import Plan, Step

__all__ = ["join_pairs"]

_FARTHEST = 16
"""Steps between two that become one: the operands of the first are in memory so much longer."""
_MOST_READERS = 2
"""How many instructions may each compute the same operation: again takes less time than to write it."""
_LONG_BYTES = 4 * MOST_SHORT  # of float32
_FIRST = frozenset([first for first, *_ in PAIRS])
_SECOND = frozenset([second for _, second, _ in PAIRS]) & _FIRST


def join_pairs(plan: Plan, layouts: Sequence[Layout], sizes: Sequence[int]) -> set[int]:
    """Let the second of two operations compute both, where at most one other operation needs the first.

    Both are in one group, or in none and longer than what short rows compute.

    Parameters
    ----------
    plan : Plan
        Its steps are changed, and the instructions that become a pair.
    layouts : sequence of Layout
        Of each instruction.
    sizes : sequence of int
        The bytes of each result.

    Returns
    -------
    set of int
        Instructions that nothing runs any more.
    """
    return _Pairs(plan, layouts).join() if max(sizes, default=0) > _LONG_BYTES else set()


class _Pairs:
    def __init__(self, plan: Plan, layouts: Sequence[Layout]) -> None:
        self.plan, self.layouts = plan, layouts
        self.instructions = plan.instructions
        self.outputs = set(plan.outputs)

    def join(self) -> set[int]:
        """Do so for all steps."""
        steps = self.plan.steps
        seconds = [id for step in steps for id in step.members if self._may_be_second(id, step)]
        if not seconds:
            return set()
        self.step_of = {id: at for at, step in enumerate(steps) for id in step.members}
        self.readers = self._readers()
        self.seconds = {id for id in seconds if self._is_second(self.instructions[id])}
        gone: set[int] = set()
        for id in seconds:
            first = next((x for x in self._firsts(id) if self._may_join(x)), None)
            if first is not None:
                gone.add(first)
                for reader in self.readers[first]:
                    self.instructions[reader] = self._pair(self.instructions[reader], first)
                    self.seconds.remove(reader)
        for step in steps if gone else ():
            step.members = [id for id in step.members if id not in gone]
        self.plan.steps = [step for step in steps if step.members]
        return gone

    def _readers(self) -> list[list[int]]:
        """Return which instructions read each, one as often as it does; a result has too many of them."""
        readers: list[list[int]] = [[] for _ in self.instructions]
        for id, of in enumerate(self.instructions):
            for x in of.operands:
                readers[x].append(id)
        for id in (*self.plan.outputs, *self.plan.results):
            readers[id] += [id] * (_MOST_READERS + 1)
        return readers

    def _may_be_second(self, id: int, step: Step) -> bool:
        of = self.instructions[id]
        is_long = of.op in _SECOND and (step.block > 0 or of.size > MOST_SHORT)
        is_sum = of.op == "add_at" and len(of.operands) == 2
        return (is_long or is_sum) and any(self.instructions[x].op in _FIRST for x in of.operands)

    def _is_second(self, of: Instruction) -> bool:
        """Return whether a kernel computes an instruction, and one of its operands before."""
        return self._is_run(of) if of.op == "add_at" else self._is_computed(of)

    def _is_run(self, of: Instruction) -> bool:
        """Return whether values are added to elements that lie side by side, and not to few."""
        values, (_, steps) = self.instructions[of.operands[1]], of.attrs
        strides = c_strides(of.shape, of.dtype.itemsize)
        part = tuple([step * stride for step, stride in zip(steps, strides, strict=True)])
        return values.size > MOST_SHORT and collapsed(values.shape, part)[1] == (of.dtype.itemsize,)

    def _firsts(self, id: int) -> tuple[int, ...]:
        """Return what may be computed by an instruction, too."""
        if id not in self.seconds:
            return ()
        of = self.instructions[id]
        return of.operands[1:] if of.op == "add_at" else of.operands

    def _is_computed(self, of: Instruction) -> bool:
        """Return whether a kernel reads all operands where they are."""
        return of.dtype in KERNEL_DTYPES and all(self._is_readable(x, of) for x in of.operands)

    def _is_readable(self, x: int, reader: Instruction) -> bool:
        source = self.instructions[x]
        if source.dtype != reader.dtype:
            return False
        return source.size == 1 or (source.shape == reader.shape and is_contiguous(source, self.layouts[x]))

    def _may_join(self, x: int) -> bool:
        """Return whether an operand may be computed by its readers, later than it is now."""
        of, readers = self.instructions[x], self.readers[x]
        if not len({*readers}) == len(readers) <= _MOST_READERS or not self.seconds.issuperset(readers):
            return False
        if of.op not in _FIRST or x not in self.step_of or not self._is_computed(of):
            return False
        return all(self._may_be_later(of, self.step_of[x], reader) for reader in readers)

    def _may_be_later(self, of: Instruction, before: int, reader: int) -> bool:
        """Return whether a reader finds the operands of an instruction as they are in its step."""
        by, at, steps = self.instructions[reader], self.step_of[reader], self.plan.steps
        read = {self.layouts[operand].root for operand in of.operands}
        if by.op == "add_at":
            if self.layouts[by.operands[0]].root in read:  # or it could not work in place
                return False
        elif by.shape != of.shape:
            return False
        if before == at:
            return True
        if steps[before].block or steps[at].block or at - before > _FARTHEST:
            return False
        return not any(self._overwrites(step, read) for step in steps[before + 1 : at])

    def _overwrites(self, step: Step, roots: set[int]) -> bool:
        """Return whether a step may work in the memory of some values, if it is the last to read them.

        Results may be written where an argument is, the next state of a loop where the state is.
        """
        for id in step.members:
            of = self.instructions[id]
            if id in self.outputs and any(self.instructions[root].op == "input" for root in roots):
                return True
            k = INSTRUCTIONS[of.op].overwrites
            if k is not None and self.layouts[of.operands[k]].root in roots:
                return True
        return False

    def _pair(self, of: Instruction, x: int) -> Instruction:
        """Return an instruction that computes one of its operands, too."""
        inner = self.instructions[x]
        k = of.operands.index(x)
        name, operands, attrs = "pair", (*inner.operands, of.operands[1 - k]), (inner.op, of.op)
        if of.op == "add_at":
            name, operands, attrs = "pair_at", (of.operands[0], *inner.operands), (inner.op, *of.attrs)
        elif of.op == "subtract" and k == 1:
            attrs = inner.op, "subtract_from"
        types: list[Any] = [self.instructions[x] for x in operands]
        return typed(name, operands, types, attrs)
