"""`intermediates`: every value that a program computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tape import errors
from tape.program.ir.instructions import IR, Instruction
from tape.program.ir.table import SOURCES
from tape.program.runtime.run import Flip, Rerun, Runner

if TYPE_CHECKING:
    from tape.program.program import Program


def intermediates(program: Program, leaves: Sequence[Any]) -> dict[int, Any]:
    """Return the values of all instructions, computed by a program like this one that returns them all.

    Parameters
    ----------
    program : Program
        Any.
    leaves : sequence
        The dynamic leaves of the arguments, of the right types.

    Returns
    -------
    dict of int to array
        By number, as ``print(program)`` shows them; arguments and constants are included, guards are not. Of
        several results of one instruction there are the parts. What loops collect that data end is left out:
        it has room for further steps, and arbitrary values there.

    Raises
    ------
    UnsupportedError
        If the arguments take another path, or the machine stops.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.program.report.intermediates import intermediates
    >>> f = tape.compile(lambda x: np.exp(x) * 2)
    >>> out = f(np.zeros(2))
    >>> (program,) = f.programs.values()
    >>> [value.tolist() for value in intermediates(program, (np.zeros(2),)).values()]
    [[0.0, 0.0], [1.0, 1.0], 2.0, [2.0, 2.0]]
    """
    plan = program.plan
    blocks = {step.operands[0] for step in plan.instructions if step.op == "part"}
    partial = _partial(plan.instructions)
    made = [
        id
        for id, step in enumerate(plan.instructions)
        if step.op not in (*SOURCES, "guard", "loop") and id not in blocks and not partial[id]
    ]
    ir = IR(
        list(plan.instructions),
        list(plan.inputs),
        list(plan.constants),
        made,
        list(plan.guards),
        list(program.ir.callbacks),
    )
    showing = Runner(ir, program.leaves, [None] * len(made), frozenset(), program.name)
    try:
        out = showing.run(tuple(leaves))
    except Rerun as rerun:
        raise errors.UnsupportedError(
            f"{program.name}: the machine stops at {rerun}: an index is out of range, or a matrix singular. "
            "Look at the arguments"
        ) from None
    if isinstance(out, Flip):
        raise errors.UnsupportedError(
            f"{program.name}: these arguments take another branch than this program, which has one path. "
            "Use the program of the other path"
        )
    values = dict(zip(made, out, strict=True))
    for id, step in enumerate(plan.instructions):
        if step.op == "input":
            values[id] = leaves[step.attrs[0]]
        elif step.op == "constant":
            values[id] = plan.constants[step.attrs[0]]
        elif step.op == "literal":
            values[id] = step.number
    return dict(sorted(values.items()))


def _partial(instructions: Sequence[Instruction]) -> bytearray:
    """Return which values have arbitrary elements: what loops collect that data end, and functions of it."""
    partial = bytearray(len(instructions))
    for id, step in enumerate(instructions):
        if step.op == "part" and instructions[step.operands[0]].op == "loop":
            (loop,) = instructions[step.operands[0]].attrs
            collected = [part.offset for part in loop.block.parts[loop.states : len(loop.outputs)]]
            partial[id] = loop.ends_by != "length" and step.attrs[0] in collected
        elif step.op != "loop":
            partial[id] = any(partial[x] for x in step.operands)
    return partial
