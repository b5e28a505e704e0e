"""`explain`: instructions, memory, work and callbacks of a program, counted. Runs nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tape.inspect.words import byte_size
from tape.program.ir.loops import Loop, all_ir
from tape.program.ir.table import INSTRUCTIONS, SOURCES, VIEWS
from tape.program.native.opcodes import ARENA, LITERALS, REGISTERS

if TYPE_CHECKING:
    from tape.program.program import Program
    from tape.program.report.profile import Profile


@dataclass(frozen=True, repr=False)
class Explanation:
    """Statistics of a program; printed, they are a report.

    Attributes
    ----------
    name : str
        Name of the function.
    effects : dict of str to int
        Statistics of the lowering, see `tape.program.ir.rewrite.rewrite`; empty for a loaded program.
    instructions : int
        Number of instructions, including arguments, constants, numbers and views.
    rows : int
        Number of rows that the machine runs.
    groups, grouped : int
        Groups of elementwise instructions that run together, and their members.
    views, copies : int
        Instructions that cost nothing, and copies for instructions that cannot read a view.
    guards : int
        Number of guards: of branches that were recorded.
    arena_bytes, value_bytes : int
        Memory for intermediate values; and what all values would take, results included, if none shared
        memory.
    register_bytes, constant_bytes : int
        Memory for blocks of groups, and for arrays that the function closed over.
    constants : int
        Number of arrays that the function closed over.
    flops : int
        One for each element of an elementwise instruction, and for each that a reduction reads; 2 m n k for a
        product of matrices.
    bytes_moved : int
        Bytes that instructions read and write, registers excluded.
    callbacks : dict of str to int
        Number of calls back into Python, by operation.
    hints : dict of str to str
        How to avoid these calls, by operation.
    callback_share : float or None
        Their share of the time, if the program was profiled.
    donated : int
        Number of results in the memory of an argument.
    """

    name: str
    effects: dict[str, int]
    instructions: int
    rows: int
    groups: int
    grouped: int
    views: int
    copies: int
    guards: int
    arena_bytes: int
    value_bytes: int
    register_bytes: int
    constant_bytes: int
    constants: int
    flops: int
    bytes_moved: int
    callbacks: dict[str, int]
    hints: dict[str, str]
    callback_share: float | None
    donated: int
    loops: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def arena_share(self) -> float:
        """The size of the arena relative to that of all values."""
        return self.arena_bytes / self.value_bytes if self.value_bytes else 0.0

    def __repr__(self) -> str:
        return str(self)  # where it is the result of a cell

    def __str__(self) -> str:
        return "\n".join(f"{name:<13} {text}" for name, text in self._lines())

    def _lines(self) -> Iterator[tuple[str, str]]:
        yield "program", self.name
        if effects := self.effects:
            yield "recorded", f"{effects['recorded']} nodes, {effects['needed']} of them needed"
            gone = ", ".join(
                f"{effects[name]} {name}"
                for name in ("merged", "folded", "simplified", "dropped", "contracted", "tiled")
                if effects[name]
            )
            yield "lowered", f"to {effects['lowered']} instructions{', less ' if gone else ''}{gone}"
            if compressed := effects["compressed"]:
                yield "compressed", f"{compressed} instructions, of batches whose rows are nearly equal"
        yield (
            "instructions",
            f"{self.instructions}, {self.views} of them views; {self.copies} copies inserted",
        )
        yield (
            "rows",
            f"{self.rows}; {self.grouped} instructions in {self.groups} groups; {self.guards} guards",
        )
        if self.loops:
            yield "loops", "; ".join(self.loops)
        if self.notes:
            yield "no loops", "; ".join(self.notes)
        share = (
            f", {self.arena_share:.0%} of all values' {byte_size(self.value_bytes)}"
            if self.value_bytes
            else ""
        )
        yield "arena", f"{byte_size(self.arena_bytes)}{share}"
        yield "registers", byte_size(self.register_bytes)
        yield "constants", f"{self.constants}, {byte_size(self.constant_bytes)}"
        yield "results", f"{self.donated} in memory of arguments"
        yield "work", f"{self.flops:,} FLOPs, {byte_size(self.bytes_moved)} moved"
        share = f", {self.callback_share:.0%} of the time" if self.callback_share is not None else ""
        yield "callbacks", f"{sum(self.callbacks.values())}{share if self.callbacks else ''}"
        for name, count in self.callbacks.items():
            yield "", f"{name} {count}x: {self.hints[name]}"


def explain(program: Program, profile: Profile | None = None) -> Explanation:
    """Return the statistics of a program.

    Parameters
    ----------
    program : Program
        Any.
    profile : Profile, optional
        Of this program, for the share of callbacks.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np, tape
    >>> f = tape.compile(lambda x: np.exp(x) @ np.exp(x))
    >>> out = f(np.ones((50, 50)))
    >>> (program,) = f.programs.values()
    >>> report = program.explain()
    >>> report.effects["merged"], report.flops
    (1, 252500)
    """
    plan = program.plan
    ops = Counter(instruction.op for instruction in plan.instructions)
    loops = [i.attrs[0] for i in plan.instructions if i.op == "loop"]
    called = [
        ir.callbacks[i.attrs[0]][0]
        for ir in all_ir(program.ir)
        for i in ir.instructions
        if i.op == "callback"
    ]
    return Explanation(
        name=program.name,
        effects=dict(program.ir.effects),
        instructions=len(program.ir.instructions),
        rows=program.rows,
        groups=sum(step.block > 0 for step in plan.steps),
        grouped=sum(len(step.members) for step in plan.steps if step.block),
        views=sum(ops[op] for op in VIEWS),
        copies=ops["copy"],
        guards=len(plan.guards),
        arena_bytes=plan.slots[ARENA],
        value_bytes=plan.value_bytes,
        register_bytes=plan.slots[REGISTERS],
        constant_bytes=sum(array.nbytes for array in plan.constants),
        constants=len(plan.constants),
        flops=sum(INSTRUCTIONS[i.op].cost.flops(i, plan.instructions) for i in plan.instructions),
        bytes_moved=sum(_moved(program, id) for id in range(len(plan.instructions))),
        callbacks=dict(Counter(op.name for op in called)),
        hints={op.name: _hint(op) for op in called},
        callback_share=None if profile is None else profile.callback_share,
        donated=len(plan.donations),
        loops=tuple([_described(loop, program._is_compiled(k)) for k, loop in enumerate(loops)]),
        notes=program.notes,
    )


def _described(loop: Loop, is_compiled: bool) -> str:
    """Return how many instructions of a loop compute, how often they run, and how."""
    inner = [step.op not in SOURCES and step.op not in VIEWS for step in loop.body.instructions]
    return f"{sum(inner)} instructions, {loop.times} times" + (", compiled" if is_compiled else "")


def _moved(program: Program, id: int) -> int:
    """Return how many bytes an instruction reads and writes."""
    plan = program.plan
    instruction = plan.instructions[id]
    if instruction.op in VIEWS or instruction.op in SOURCES:
        return 0
    total = 0
    for x in (id, *instruction.operands):
        place, value = plan.places[x], plan.instructions[x]
        if place is not None and place.slot not in (REGISTERS, LITERALS):
            read = value.operands[0] if value.op == "broadcast" else x  # each element once
            total += plan.instructions[read].size * value.dtype.itemsize
    return total


def _hint(op: Any) -> str:
    if op.lower is None:
        return "runs in Python. If its time matters, write it with operations that have instructions"
    return "has no instructions for these dtypes or shapes; float64, float32 and whole axes mostly do"
