"""Programs by plain NumPy (`tape.program.runtime.plain`): what planner, encoder and machine must equal."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tape
from tape.program.ir.instructions import IR
from tape.program.runtime import plain
from tape.program.runtime.slots import Body, slots_of
from tape.program.runtime.verify import verify


def run(ir: IR, leaves: Sequence[Any]) -> list[np.ndarray]:
    """The outputs of an IR; a guard that comes out differently is an AssertionError."""
    outputs = plain.run(ir, leaves)
    assert isinstance(outputs, list), (outputs.index, outputs.outcome)
    return outputs


def program_of(f: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """The Program of a function for these arguments."""
    return compiled_for(f, *args, **options)[1]


def compiled_for(f: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, Any]:
    """A compiled function that has been recorded, and its Program, verified: what follows may run it."""
    compiled = tape.compile(f, **options)
    compiled(*args)
    (program,) = compiled.programs.values()
    verified(program)
    return compiled, program


def verified(routine: Any) -> None:
    """Verify a program, and the bodies of its loops."""
    calls = [id for id, instruction in enumerate(routine.plan.instructions) if instruction.op == "callback"]
    bodies = [Body.of(body.plan) for body in routine.bodies]
    verify(routine.code, routine.rows, slots_of(routine.plan), calls, bodies)
    for body in routine.bodies:
        verified(body)


def counts(ir: IR) -> dict[str, int]:
    """How many instructions there are of each kind, but for where values come from and views."""
    found: dict[str, int] = {}
    for instruction in ir.instructions:
        if instruction.op not in _FREE:
            found[instruction.op] = found.get(instruction.op, 0) + 1
    return found


_FREE = {"input", "constant", "literal", "reshape", "transpose", "broadcast", "slice", "again", "part"}
