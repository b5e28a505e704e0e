"""Operations of arithmetic that are computed two at once, as in ``x * y + z``.

What lies between them is neither written nor read, which takes longer than to compute it. They round as
they do alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tape.kernels.codes import KERNEL_DTYPES, MOST_SHORT, PAIRS
from tape.program.ir.instructions import Instruction
from tape.program.ir.table import INSTRUCTIONS, typed
from tape.program.plan.layouts import Layout
from tape.program.plan.memory import is_contiguous

if TYPE_CHECKING:
    from tape.program.plan.planner import Plan, Step

__all__ = ["join_pairs"]

_FARTHEST = 16
"""Steps between two that become one: the operands of the first are in memory so much longer."""
_LONG_BYTES = 4 * MOST_SHORT  # of float32
_FIRST = frozenset([first for first, *_ in PAIRS])
_SECOND = frozenset([second for _, second, _ in PAIRS]) & _FIRST


def join_pairs(plan: Plan, layouts: Sequence[Layout], sizes: Sequence[int]) -> set[int]:
    """Let the second of two operations compute both, where nothing else reads what is between them.

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
        candidates = [
            (at, id) for at, step in enumerate(steps) for id in step.members if self._may_be_second(id, step)
        ]
        if not candidates:
            return set()
        self.uses = self._uses()
        step_of = {id: at for at, step in enumerate(steps) for id in step.members}
        gone: set[int] = set()
        for at, id in candidates:
            of = self.instructions[id]
            if self._is_computed(of):
                for k, x in enumerate(of.operands):
                    before = step_of.get(x, -1)
                    if before >= 0 and self._may_join(x, of, before, at):
                        self.instructions[id] = self._pair(of, k)
                        gone.add(x)
                        break
        for step in steps if gone else ():
            step.members = [id for id in step.members if id not in gone]
        self.plan.steps = [step for step in steps if step.members]
        return gone

    def _uses(self) -> list[int]:
        uses = [0] * len(self.instructions)
        for of in self.instructions:
            for x in of.operands:
                uses[x] += 1
        for id in (*self.plan.outputs, *self.plan.results):
            uses[id] += 1
        return uses

    def _may_be_second(self, id: int, step: Step) -> bool:
        of = self.instructions[id]
        if of.op not in _SECOND or not (step.block or of.size > MOST_SHORT):
            return False
        return any(self.instructions[x].op in _FIRST for x in of.operands)

    def _is_computed(self, of: Instruction) -> bool:
        """Return whether a kernel reads all operands where they are."""
        return of.dtype in KERNEL_DTYPES and all(self._is_readable(x, of) for x in of.operands)

    def _is_readable(self, x: int, reader: Instruction) -> bool:
        source = self.instructions[x]
        if source.dtype != reader.dtype:
            return False
        return source.size == 1 or (source.shape == reader.shape and is_contiguous(source, self.layouts[x]))

    def _may_join(self, x: int, reader: Instruction, before: int, at: int) -> bool:
        """Return whether an operand may be computed by its reader, later than it is now."""
        of = self.instructions[x]
        if self.uses[x] != 1 or of.op not in _FIRST or of.shape != reader.shape or not self._is_computed(of):
            return False
        steps = self.plan.steps
        if before == at:
            return True
        if steps[before].block or steps[at].block or at - before > _FARTHEST:
            return False
        read = {self.layouts[operand].root for operand in of.operands}
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

    def _pair(self, of: Instruction, k: int) -> Instruction:
        inner = self.instructions[of.operands[k]]
        operands = (*inner.operands, of.operands[1 - k])
        second = "subtract_from" if of.op == "subtract" and k == 1 else of.op
        types: list[Any] = [self.instructions[x] for x in operands]
        return typed("pair", operands, types, (inner.op, second))
