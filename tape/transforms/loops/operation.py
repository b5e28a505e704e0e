"""The operation that a loop is on a tape: its body, run once for each step."""

from __future__ import annotations

from typing import Any

from tape.core.op import Op
from tape.core.results import Results
from tape.core.table import INTERNAL
from tape.transforms.loops.batches import batch
from tape.transforms.loops.forward import expand, push
from tape.transforms.loops.patterns import pattern
from tape.transforms.loops.reversal import pull
from tape.transforms.loops.steps import Steps


def _forward(*operands: Any, steps: Steps) -> Results:
    return INTERNAL["run_steps"](steps, operands)


STEPS = Op(
    _forward,
    name="scan",
    vjp=pull,
    jvp=push,
    taylor=expand,
    batch=batch,
    pattern=pattern,
    lower=lambda b, *operands, steps: INTERNAL["lower_steps"](b, operands, steps),
    explains_errors=False,
    doc="Run the body of a loop once for each step.",
)

INTERNAL["scan"] = STEPS
