"""Programs as text: the list of instructions, and the report of what they cost.

Reads IR and plans, changes nothing and runs nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tape.inspect.listing import byte_size, short
from tape.kernels.registry import REGISTRY
from tape.program.ir.instructions import Instruction
from tape.program.ir.table import INSTRUCTIONS, SOURCES, VIEWS
from tape.program.runtime.opcodes import ARENA, LITERALS, REGISTERS

if TYPE_CHECKING:
    from tape.program.profile import Profile
    from tape.program.program import Program

__all__ = ["Explanation", "Names", "describe", "explain"]


# ---- the list of instructions ------------------------------------------------------------------------


def describe(program: Program) -> str:
    """The instructions in the order in which they run, one a line.

    Parameters
    ----------
    program : Program
        Of any length.

    Returns
    -------
    str
        What each instruction makes of what, shape and dtype, and where the result is: an offset in the arena
        or among the registers, the memory of an argument (``in0``), constant (``c0``) or result (``out0``).
        Members of a group, which run together block by block, are indented.

    Examples
    --------
    >>> import numpy as np, tape
    >>> f = tape.compile(lambda x: np.sum(np.exp(x)))
    >>> out = f(np.ones(3))
    >>> print(*f.programs.values())
    <Program <lambda>: 2 rows>
    in0  input            float64[3]
    %1   exp(in0)         float64[3]  arena+0
    %2   sum(%1; axes=0)  float64[]   out0
    returns %2
    """
    names = Names(program)
    lines = [*_sources(program, names), *_steps(program, names)]
    widths = [max((len(line[k]) for line in lines), default=0) for k in range(3)]
    text = [
        f"{name:<{widths[0]}}  {made:<{widths[1]}}  {kind:<{widths[2]}}  {place}".rstrip()
        for name, made, kind, place in lines
    ]
    return "\n".join([repr(program), *text, f"returns {', '.join(_results(program, names)) or 'nothing'}"])


class Names:
    """What to call the values of a program, and where they are."""

    def __init__(self, program: Program) -> None:
        self.plan = plan = program.plan
        self._callbacks = program.ir.callbacks
        self._slots = {ARENA: "arena", REGISTERS: "registers", LITERALS: "literals"}
        for letters, slots in (
            ("in", plan.input_slots),
            ("c", plan.constant_slots),
            ("out", plan.output_slots),
        ):
            self._slots |= {slot: f"{letters}{k}" for k, slot in enumerate(slots)}

    def value(self, id: int) -> str:
        """``%3``, the name of an argument or a constant, or a number."""
        instruction = self.plan.instructions[id]
        if instruction.op == "input":
            return f"in{instruction.attrs[0]}"
        if instruction.op == "constant":
            return f"c{instruction.attrs[0]}"
        if instruction.op == "literal":
            return str(instruction.number)
        return f"%{id}"

    def made(self, id: int) -> str:
        """How a value is made: ``matmul(%1, %2)``."""
        instruction = self.plan.instructions[id]
        op, attrs = instruction.op, instruction.attrs
        operands = [self.value(x) for x in instruction.operands]
        if op == "callback":
            return self._callback(instruction, operands)
        if op in ("fold", "sum_product"):
            op, attrs = attrs[0] if op == "fold" else op, (f"axes={', '.join(map(str, attrs[1]))}",)
        elif op == "kernel":
            op, attrs = attrs[0], _parameters(*attrs)
        elif op == "guard":
            guard = self.plan.guards[attrs[0]]
            attrs = (f"{guard.kind} is {guard.outcome}",)
        elif op == "add_at" and len(attrs) == 1:  # by an index
            attrs = (f"axis={attrs[0]}",)
        else:
            named = zip(INSTRUCTIONS[op].attributes, attrs, strict=False)  # a product need not have a factor
            attrs = tuple([f"{name}={_plain(attr)}" for name, attr in named])
        return f"{op}({'; '.join(filter(None, (', '.join(operands), ', '.join(attrs))))})"

    def _callback(self, instruction: Instruction, operands: list[str]) -> str:
        op, places, attrs = self._callbacks[instruction.attrs[0]]
        values = iter(operands)
        given = [next(values) if place is None else short(place) for place in places]
        given += [f"{key}={short(value)}" for key, value in attrs.items()]
        return f"callback {op.name}({', '.join(given)})"

    def place(self, id: int) -> str:
        """Where a value is."""
        place = self.plan.places[id]
        if place is None:
            return ""
        slot = self._slots[place.slot]
        text = (
            slot if not place.offset and place.slot not in (ARENA, REGISTERS) else f"{slot}{place.offset:+}"
        )
        return f"view of {text}" if self.plan.instructions[id].op in VIEWS else text


def _parameters(name: str, numbers: tuple[int, ...]) -> tuple[str, ...]:
    """Those of a kernel, by their names."""
    text, at = [], 0
    for parameter, count in REGISTRY[name].parameters.items():
        text.append(f"{parameter}={_plain(numbers[at] if count == 1 else numbers[at : at + count])}")
        at += count
    return tuple(text)


def _plain(attr: Any) -> str:
    """An attribute without NumPy's names for numbers."""
    return f"({', '.join(map(_plain, attr))})" if isinstance(attr, tuple) else str(attr)


Line = tuple[str, str, str, str]


def _sources(program: Program, names: Names) -> Iterator[Line]:
    """Arguments and constants."""
    instructions = program.plan.instructions
    for number, (id, leaf) in enumerate(zip(program.plan.inputs, program.leaves, strict=True)):
        made = "input" if id is not None else "input, not used"
        yield f"in{number}", made, f"{leaf.dtype}{list(leaf.shape)}", ""
    for instruction in instructions:
        if instruction.op == "constant":
            yield f"c{instruction.attrs[0]}", "constant", instruction.type_text, ""


def _steps(program: Program, names: Names) -> Iterator[Line]:
    """What is computed, in order, views right before they are used first."""
    instructions = program.plan.instructions
    shown = bytearray(len(instructions))
    for step in program.plan.steps:
        for id in step.members:
            for view in _views(instructions, id, shown):
                yield f"%{view}", names.made(view), instructions[view].type_text, names.place(view)
        if step.block:
            yield "", f"in blocks of {step.block}:", "", ""
        indent = "  " if step.block else ""
        for id in step.members:
            instruction = instructions[id]
            if instruction.op == "guard":
                yield indent, names.made(id), "", ""
            else:
                yield f"{indent}%{id}", names.made(id), instruction.type_text, names.place(id)


def _views(instructions: list[Instruction], id: int, shown: bytearray) -> list[int]:
    """The views that an instruction looks through, and that have not been shown."""
    found = []
    waiting = list(instructions[id].operands)
    while waiting:
        x = waiting.pop()
        if instructions[x].op in VIEWS and not shown[x]:
            shown[x] = 1
            found.append(x)
            waiting += instructions[x].operands
    return sorted(found)


def _results(program: Program, names: Names) -> Iterator[str]:
    computed = iter(enumerate(program.plan.outputs))
    for known in program.known:
        if known is not None:
            yield short(known.value)
            continue
        k, id = next(computed)
        leaf = program.plan.donations.get(k)
        yield names.value(id) if leaf is None else f"{names.value(id)} in the memory of in{leaf}"


# ---- the report --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Explanation:
    """What a program consists of; printed, it is a report.

    Attributes
    ----------
    name : str
        Of the function.
    effects : dict of str to int
        What became of the recording, see `tape.program.ir.rewrite.rewrite`; empty for a loaded program.
    instructions : int
        What is left, arguments, constants, numbers and views among it.
    rows : int
        What the machine runs.
    groups, grouped : int
        Groups of elementwise instructions that run together, and their members.
    views, copies : int
        Instructions that cost nothing, and copies that the others made necessary.
    guards : int
        Branches.
    arena_bytes, value_bytes : int
        Memory for what is computed on the way, and what all values would take if none shared it, those of the
        result among them.
    register_bytes, constant_bytes : int
        Memory for blocks, and for arrays that the function closed over.
    constants : int
        How many such arrays.
    flops : int
        One for each element of an elementwise instruction, and each that a reduction takes in; 2 m n k for a
        product of matrices.
    bytes_moved : int
        What instructions read and write, but for registers.
    callbacks : dict of str to int
        How many calls back into Python, by operation.
    hints : dict of str to str
        How to do without them.
    callback_share : float or None
        Their part of the time, if the program was profiled.
    donated : int
        Results in the memory of an argument.
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

    @property
    def arena_share(self) -> float:
        """The arena as a part of the sum of all values."""
        return self.arena_bytes / self.value_bytes if self.value_bytes else 0.0

    def __str__(self) -> str:
        return "\n".join(f"{name:<13} {text}" for name, text in self._lines())

    def _lines(self) -> Iterator[tuple[str, str]]:
        yield "program", self.name
        if effects := self.effects:
            yield "recorded", f"{effects['recorded']} nodes, {effects['needed']} of them needed"
            gone = ", ".join(
                f"{effects[name]} {name}"
                for name in ("merged", "folded", "simplified", "dropped", "contracted")
                if effects[name]
            )
            yield "lowered", f"to {effects['lowered']} instructions{', less ' if gone else ''}{gone}"
        yield (
            "instructions",
            f"{self.instructions}, {self.views} of them views; {self.copies} copies inserted",
        )
        yield (
            "rows",
            f"{self.rows}; {self.grouped} instructions in {self.groups} groups; {self.guards} guards",
        )
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
    """Count what a program consists of.

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
    called = [program.ir.callbacks[i.attrs[0]][0] for i in plan.instructions if i.op == "callback"]
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
    )


def _moved(program: Program, id: int) -> int:
    """Bytes that an instruction reads and writes."""
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
        return "runs in Python. Write it with operations that have instructions, if the time matters"
    return "has no instructions for these dtypes or shapes; float64, float32 and whole axes mostly do"
