"""`Routine`: IR that is planned, encoded and verified, with a routine for the body of each loop in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tape.config import num_threads
from tape.kernels.availability import Unavailable
from tape.program.ir.instructions import IR
from tape.program.native.functions import prepare
from tape.program.plan.planner import plan
from tape.program.runtime.encode import encode
from tape.program.runtime.slots import Body, slots_of
from tape.program.runtime.verify import verify


class Routine:
    """Rows that the machine can run.

    Parameters
    ----------
    ir : IR
        Sound: see `tape.program.ir.check`.
    donated : frozenset of int
        Dynamic leaves whose memory may be used for results.
    states : dict of int to int
        Of the body of a loop: the inputs that a step may overwrite with an output, by the output.

    Attributes
    ----------
    ir : IR
    plan : Plan
    code : numpy.ndarray
        int64: the rows, then the tables.
    rows : int
        How many rows; none where compiled code cannot run.
    origins : list of int
        The instruction of the plan that each row belongs to, the first one if there are several.
    joined : dict of int to list of int
        All instructions of rows that belong to several.
    bodies : list of Routine
        Those of the loops, in the order of their instructions.
    literals : numpy.ndarray
        The contents of the slot of literals.
    threads : int
        How many threads a row may use.
    """

    def __init__(
        self, ir: IR, donated: frozenset[int] = frozenset(), states: Mapping[int, int] | None = None
    ) -> None:
        self.ir = ir
        self.plan = plan(ir, donated, states or {})
        loops = {id: step.attrs[0] for id, step in enumerate(self.plan.instructions) if step.op == "loop"}
        self.bodies = [Routine(loop.planned, states=loop.overwritten) for loop in loops.values()]
        self._encode(list(loops))
        self.literals = np.frombuffer(self.plan.literals + bytes(16), np.uint8)
        self.threads = num_threads()

    def __len__(self) -> int:
        return self.rows

    def _encode(self, loops: list[int]) -> None:
        """Encode and verify."""
        self.code, self.rows, self.origins = np.zeros(0, np.int64), 0, []
        self.joined: dict[int, list[int]] = {}
        self._call: Any = None
        try:
            call = prepare().as_python("call")
            encoded = encode(self.plan, {id: body.plan for id, body in zip(loops, self.bodies, strict=True)})
        except Unavailable:
            return
        self.code, self.rows, self.origins = encoded.code, encoded.rows, encoded.origins
        self.joined = encoded.joined
        callbacks = [id for id, step in enumerate(self.plan.instructions) if step.op == "callback"]
        bodies = [Body.of(body.plan) for body in self.bodies]
        verify(self.code, self.rows, slots_of(self.plan), callbacks, bodies)
        self._call = call
