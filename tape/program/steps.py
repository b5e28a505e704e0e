"""Loops that a function runs (`tape.transforms.loops`): lowered to an instruction, and run while recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from tape.core.results import Results
from tape.core.table import INTERNAL
from tape.program.calls.calling import Leaf
from tape.program.ir.builder import Builder
from tape.program.ir.loops import Loop
from tape.program.ir.rewrite import rewrite
from tape.program.ir.values import Value
from tape.program.record.recording import Recorded
from tape.program.runtime.run import Rerun, Runner

if TYPE_CHECKING:
    from tape.transforms.loops.steps import Steps

_WORTH_A_PROGRAM = 2_000
"""Operations from which on a loop that is being recorded runs as a program, which takes a while to make."""

_loops: WeakKeyDictionary[Steps, Loop] = WeakKeyDictionary()
_runners: WeakKeyDictionary[Steps, Runner] = WeakKeyDictionary()


def loop_of(steps: Steps) -> Loop:
    """Return a loop as an instruction has it."""
    loop = _loops.get(steps)
    if loop is None:
        body = steps.body
        inputs = set(body.inputs)
        fixed = [id for id, node in enumerate(body.nodes) if node.op is None and id not in inputs]
        recorded = Recorded(body.nodes, body.inputs, list(body.outputs), None, [], fixed=frozenset(fixed))
        ir = rewrite(recorded)
        loop = Loop(ir, steps.length, steps.constants, steps.states, steps.is_backwards, steps.ends_by)
        _loops[steps] = loop
    return loop


def lower_steps(b: Builder, operands: Sequence[Any], steps: Steps) -> Value:
    """Lower a loop.

    Where its derivative extends it, that is the extension, whose first results are those of the loop.
    """
    return b.loop(loop_of(steps.extended()), operands)


def run_steps(steps: Steps, operands: Sequence[Any]) -> Results:
    """Return the results of a loop for plain operands."""
    work = max(steps.work, 1)
    if steps.ends_by == "flag" and steps.length * work > _WORTH_A_PROGRAM:
        few = steps.run(operands, _WORTH_A_PROGRAM // work)
        if not few[0]:
            return few
    elif (int(operands[-1]) if steps.ends_by == "count" else steps.length) * work < _WORTH_A_PROGRAM:
        return steps.run(operands)
    leaves = tuple([x if isinstance(x, np.ndarray) and x.ndim else _number(x) for x in operands])
    runner = _runners.get(steps)
    if runner is None:
        runner = _runners[steps] = _runner(steps, leaves)
    try:
        results = runner.run(leaves)
    except Rerun:
        return steps.run(operands)
    return Results(results) if isinstance(results, list) else steps.run(operands)


def _number(value: Any) -> Any:
    """Return a value without axes as programs take it: a scalar, a wide one as an array."""
    value = np.asarray(value)
    return value if value.itemsize > 8 else value[()]


def _runner(steps: Steps, leaves: Sequence[Any]) -> Runner:
    """Return a program of one loop."""
    b = Builder()
    loop = loop_of(steps)
    value = b.loop(loop, [b.input(leaf.shape, leaf.dtype) for leaf in leaves])
    count = len(loop.outputs)
    b.ir.outputs = [b.part(value, k).id for k in range(count)]
    types = [Leaf.like(leaf) for leaf in leaves]
    return Runner(b.ir, types, [None] * count, frozenset(), "a loop")


INTERNAL.update(lower_steps=lower_steps, run_steps=run_steps)
