"""Programs as text: one instruction a line. Reads plans, changes nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tape.inspect.words import short
from tape.kernels.registry import REGISTRY
from tape.program.ir.instructions import Instruction
from tape.program.ir.table import INSTRUCTIONS, VIEWS
from tape.program.native.opcodes import ARENA, LITERALS, REGISTERS

if TYPE_CHECKING:
    from tape.program.program import Program
    from tape.program.runtime.routine import Routine


def describe(program: Program) -> str:
    """Return the instructions in order of execution, one a line.

    Parameters
    ----------
    program : Program
        Any.

    Returns
    -------
    str
        For each instruction its operands, attributes, dtype and shape, and the place of its result: an offset
        in the arena or the registers, or the memory of an argument (``in0``), constant (``c0``) or result
        (``out0``). Members of a group, which runs block by block, are indented, and so is the body of a loop,
        in which ``[k]`` is the element of a step.

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
    lines = [*_sources(program, names), *_steps(program, names, "")]
    widths = [max((len(line[k]) for line in lines), default=0) for k in range(3)]
    text = [
        f"{name:<{widths[0]}}  {made:<{widths[1]}}  {kind:<{widths[2]}}  {place}".rstrip()
        for name, made, kind, place in lines
    ]
    return "\n".join([repr(program), *text, f"returns {', '.join(_results(program, names)) or 'nothing'}"])


class Names:
    """Names and places of the values of a program, or of the body of a loop in it, for printing.

    Parameters
    ----------
    routine : Routine
        A program, or the body of a loop.
    prefix : str
        What the names of values begin with.
    inputs, outputs : sequence of str, optional
        The names of arguments and results; by default ``in0`` and ``out0`` and so on.
    """

    def __init__(
        self,
        routine: Routine,
        prefix: str = "%",
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
    ) -> None:
        self.plan = plan = routine.plan
        self.prefix = prefix
        self._callbacks = routine.ir.callbacks
        self._inputs = inputs or [f"in{k}" for k in range(len(plan.inputs))]
        self._slots = {ARENA: "arena", REGISTERS: "registers", LITERALS: "literals"}
        for slots, names in (
            (plan.input_slots, self._inputs),
            (plan.constant_slots, [f"c{k}" for k in range(len(plan.constants))]),
            (plan.output_slots, outputs or [f"out{k}" for k in range(len(plan.outputs))]),
        ):
            self._slots |= dict(zip(slots, names, strict=True))

    def of_body(self, id: int, body: Routine) -> Names:
        """Return the names in the body of a loop."""
        instruction = self.plan.instructions[id]
        (loop,) = instruction.attrs
        given = [self.value(x) for x in instruction.operands]
        states = [f"state{k}" for k in range(loop.states)]
        first, last = loop.constants, loop.constants + loop.states
        arrays = [f"{name}[k]" for name in given[last : len(loop.body.inputs)]]
        collected = {output for output, _ in loop.collected_states.values()}
        others = (k for k in range(loop.states, len(loop.outputs)) if k not in collected)
        stacked = [f"{self.value(id)}.{k}[k]" for k in others]
        following = [f"next {state}" for state in states]
        inputs, outputs = [*given[:first], *states, *arrays], [*following, *stacked]
        return Names(body, f"{self.value(id)}.", inputs, outputs)

    def value(self, id: int) -> str:
        """Return ``%3``, the name of an argument or a constant, or a number."""
        instruction = self.plan.instructions[id]
        if instruction.op == "input":
            return self._inputs[instruction.attrs[0]]
        if instruction.op == "constant":
            return f"c{instruction.attrs[0]}"
        if instruction.op == "literal":
            return str(instruction.number)
        return f"{self.prefix}{id}"

    def made(self, id: int) -> str:
        """Return the instruction of a value: ``matmul(%1, %2)``."""
        instruction = self.plan.instructions[id]
        op, attrs = instruction.op, instruction.attrs
        operands = [self.value(x) for x in instruction.operands]
        if op == "callback":
            return self._callback(instruction, operands)
        if op == "pair":
            return _nested(*attrs, *operands)
        if op == "pair_at":
            first, attrs = attrs[0], attrs[1:]
            op, operands = "add_at", [operands[0], f"{first}({', '.join(operands[1:])})"]
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
        op = op.removeprefix("vector_")  # by which loop is no one's concern
        return f"{op}({'; '.join(filter(None, (', '.join(operands), ', '.join(attrs))))})"

    def _callback(self, instruction: Instruction, operands: list[str]) -> str:
        op, places, attrs = self._callbacks[instruction.attrs[0]]
        values = iter(operands)
        given = [next(values) if place is None else short(place) for place in places]
        given += [f"{key}={short(value)}" for key, value in attrs.items()]
        return f"callback {op.name}({', '.join(given)})"

    def place(self, id: int) -> str:
        """Return the place of a value: ``arena+64``."""
        place = self.plan.places[id]
        if place is None:
            return ""
        slot = self._slots[place.slot]
        text = (
            slot if not place.offset and place.slot not in (ARENA, REGISTERS) else f"{slot}{place.offset:+}"
        )
        return f"view of {text}" if self.plan.instructions[id].op in VIEWS else text


def _nested(first: str, second: str, x: str, y: str, z: str) -> str:
    """Return two operations at once, one inside of the other."""
    inner = f"{first}({x}, {y})"
    if second == "subtract_from":
        return f"subtract({z}, {inner})"
    return f"{second}({inner}, {z})"


def _parameters(name: str, numbers: tuple[int, ...]) -> tuple[str, ...]:
    """Return the parameters of a kernel with their names."""
    text, at = [], 0
    for parameter, count in REGISTRY[name].parameters.items():
        text.append(f"{parameter}={_plain(numbers[at] if count == 1 else numbers[at : at + count])}")
        at += count
    return tuple(text)


def _plain(attr: Any) -> str:
    """Return an attribute as text, without the names of NumPy's scalar types."""
    return f"({', '.join(map(_plain, attr))})" if isinstance(attr, tuple) else str(attr)


Line = tuple[str, str, str, str]


def _sources(program: Program, names: Names) -> Iterator[Line]:
    """Yield the lines of arguments and constants."""
    instructions = program.plan.instructions
    for number, (id, leaf) in enumerate(zip(program.plan.inputs, program.leaves, strict=True)):
        made = "input" if id is not None else "input, not used"
        yield f"in{number}", made, f"{leaf.dtype}{list(leaf.shape)}", ""
    for instruction in instructions:
        if instruction.op == "constant":
            yield f"c{instruction.attrs[0]}", "constant", instruction.type_text, ""


def _steps(routine: Routine, names: Names, margin: str) -> Iterator[Line]:
    """Yield the lines of instructions in order of execution, views before their first use or at the end."""
    instructions = routine.plan.instructions
    shown = bytearray(len(instructions))
    bodies = iter(routine.bodies)

    def views(ids: Sequence[int]) -> Iterator[Line]:
        for view in _views(instructions, ids, shown):
            name = f"{margin}{names.value(view)}"
            yield name, names.made(view), instructions[view].type_text, names.place(view)

    for step in routine.plan.steps:
        for id in step.members:
            yield from views(instructions[id].operands)
        if step.block:
            yield "", f"in blocks of {step.block}:", "", ""
        indent = margin + "  " if step.block else margin
        for id in step.members:
            instruction = instructions[id]
            if instruction.op == "guard":
                yield indent, names.made(id), "", ""
            else:
                yield f"{indent}{names.value(id)}", names.made(id), instruction.type_text, names.place(id)
            if instruction.op == "loop":
                body = next(bodies)
                yield from _steps(body, names.of_body(id, body), margin + "  ")
    yield from views(routine.plan.results)


def _views(instructions: list[Instruction], ids: Sequence[int], shown: bytearray) -> list[int]:
    """Return those of some values, and what they are views of, that are views not shown yet."""
    found = []
    waiting = list(ids)
    while waiting:
        x = waiting.pop()
        if instructions[x].op in VIEWS and not shown[x]:
            shown[x] = 1
            found.append(x)
            waiting += instructions[x].operands
    return sorted(found)


def _results(program: Program, names: Names) -> Iterator[str]:
    computed = enumerate(program.plan.results)
    for known in program.known:
        if known is not None:
            yield short(known.value)
            continue
        k, id = next(computed)
        leaf = program.plan.donations.get(k)
        yield names.value(id) if leaf is None else f"{names.value(id)} in the memory of in{leaf}"
