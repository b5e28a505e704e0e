"""`Routine`: IR that is planned, encoded and verified, with a routine for the body of each loop in it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from tape.config import num_threads
from tape.kernels.availability import Unavailable
from tape.kernels.loading import NotReady, without_waiting
from tape.program.hot import Code, compile_segments, compile_steps, count_of, segments_of, watched
from tape.program.ir.instructions import IR
from tape.program.native.functions import prepare
from tape.program.native.opcodes import ARENA, FIELDS, WIDTH, WORTH_SHARING, opcode
from tape.program.plan.planner import plan
from tape.program.runtime.encode import encode
from tape.program.runtime.liveness import live_behind
from tape.program.runtime.slots import Body, slots_of
from tape.program.runtime.verify import verify
from tape.system.locks import lock_across_forks

_lock = lock_across_forks()
_BODY, _LEFT, _COMPILED = (1 + FIELDS["loop"].index(field) for field in ("body", "left", "compiled"))
_SHARED = [name for name, fields in FIELDS.items() if "worth" in fields]


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
    is_patient : bool
        Whether it is left for later if machine code is still being compiled: see `is_encoded`.

    Attributes
    ----------
    ir : IR
    plan : Plan
    code : numpy.ndarray
        int64: the rows, then the tables.
    running : numpy.ndarray
        What the machine reads: the same, or with rows whose code is compiled (`tape.program.hot`).
    rows : int
        How many rows; none where compiled code cannot run, or is not there yet.
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
    shareable : float
        Cycles of work that threads may share, in all rows and all steps of loops.

    Raises
    ------
    NotReady
        In `tape.kernels.loading.without_waiting`, while code is being compiled, if it is not patient.
    """

    def __init__(
        self,
        ir: IR,
        donated: frozenset[int] = frozenset(),
        states: Mapping[int, int] | None = None,
        is_patient: bool = False,
    ) -> None:
        self.ir = ir
        self.plan = plan(ir, donated, states or {})
        self._loops = {
            id: step.attrs[0] for id, step in enumerate(self.plan.instructions) if step.op == "loop"
        }
        self.bodies = [
            Routine(loop.planned, states=loop.overwritten, is_patient=is_patient)
            for loop in self._loops.values()
        ]
        self.code, self.rows = np.zeros(0, np.int64), 0
        self.running = self.code
        self.origins: list[int] = []
        self.joined: dict[int, list[int]] = {}
        self.shareable = 0.0
        self._watched: set[int] = set()
        self._kept: list[Code] = []
        self._call: Any = None
        self._is_due = True
        if not is_patient:
            self.encode()
        else:
            self.is_encoded()
        self.literals = np.frombuffer(self.plan.literals + bytes(16), np.uint8)
        self.threads = num_threads()

    def __len__(self) -> int:
        return self.rows

    def is_encoded(self) -> bool:
        """Return whether the machine can run it, as it can once its code is there; do not wait for it."""
        if self._is_due:
            with without_waiting(), suppress(NotReady):
                self.encode()
        return self._call is not None

    def encode(self) -> None:
        """Encode and verify, where compiled code can run; wait as `tape.kernels.loading.native` does."""
        for body in self.bodies:
            if body._is_due:
                body.encode()
        try:
            call = prepare().as_python("call")
            plans = {id: body.plan for id, body in zip(self._loops, self.bodies, strict=True)}
            encoded = encode(self.plan, plans)
        except Unavailable:
            self._is_due = False
            return
        bodies = [Body.of(body.plan) for body in self.bodies]
        verify(encoded.code, encoded.rows, slots_of(self.plan), self._callbacks(), bodies)
        with _lock:
            if self._is_due:  # else another thread has just done this, and may be running it
                self.code, self.rows, self.origins = encoded.code, encoded.rows, encoded.origins
                self.running, self.joined = self.code, encoded.joined
                self.shareable = WORTH_SHARING * self._worth()
                self._watched = watched(self.running, self.rows, self.bodies)
                self._call, self._is_due = call, False

    def _heed_pause(self, at: int) -> None:
        """Compile what the loop in a row does, if it has paused because that is worth it by now.

        Other threads may run the loop meanwhile: they find its code once all of it is there.
        """
        row = self.running[at * WIDTH : (at + 1) * WIDTH]
        if row[_LEFT]:
            return
        with _lock:
            if at not in self._watched:
                return
            self._watched.remove(at)  # one thread does it
        try:
            body = self.bodies[row[_BODY]]
            if count_of(body.code, body.rows):
                self._compile_steps(at, body)
            else:
                body._compile_lanes()
        except RuntimeError:  # LLVM cannot: the rows run as before
            pass
        except BaseException:  # such as Ctrl-C: another time
            self._watched.add(at)
            row[_LEFT] = 1
            raise

    def _compile_steps(self, at: int, body: Routine) -> None:
        code, address = compile_steps(self.code, at, body.code, body.rows)
        self._keep(code)
        self.running[at * WIDTH + _COMPILED] = address

    def _compile_lanes(self) -> None:
        segments = segments_of(self.code, self.rows)
        if not segments:
            return
        bodies = [Body.of(body.plan) for body in self.bodies]
        claims = verify(self.code, self.rows, slots_of(self.plan), self._callbacks(), bodies)
        stops = [segment.stop for segment in segments]
        live = live_behind(self.code, self.rows, claims, self.plan.slots[ARENA], stops)
        code, addresses = compile_segments(segments, live)
        self._keep(code)
        for segment, address in zip(segments, addresses, strict=True):
            self.running[segment.start * WIDTH] = address

    def _keep(self, code: Code) -> None:
        """Keep machine code, and the rows as they were encoded, before those that run refer to it."""
        with _lock:
            self._kept.append(code)
            if self.code is self.running:
                self.code = self.running.copy()

    def _callbacks(self) -> list[int]:
        return [id for id, step in enumerate(self.plan.instructions) if step.op == "callback"]

    def _is_compiled(self, number: int) -> bool:
        """Return whether there is code for what a loop does, or a part of it, by the number of its body."""
        body = self.bodies[number]
        rows = self.running[: self.rows * WIDTH].reshape(-1, WIDTH)
        loops = rows[rows[:, 0] == opcode("loop")]
        has_steps = bool(loops[loops[:, _BODY] == number, _COMPILED].any())
        return has_steps or bool(body._kept) or any(map(body._is_compiled, range(len(body.bodies))))

    def _worth(self) -> float:
        """Return the worth of all rows: see `tape.program.native.opcodes.FIELDS`."""
        rows, worth = self.code[: self.rows * WIDTH].reshape(-1, WIDTH), 0.0
        for name in ("blocks", "loop", *_SHARED):
            of_kind, fields = rows[rows[:, 0] == opcode(name)], FIELDS[name]
            if name == "blocks":
                operations, count = (of_kind[:, 1 + fields.index(field)] for field in ("operations", "count"))
                each = operations * count // WORTH_SHARING
            elif name == "loop":
                each = np.array([body._worth() for body in self.bodies])[of_kind[:, 1]] * of_kind[:, 2]
            else:
                each = of_kind[:, 1 + fields.index("worth")]
            worth += float(each[each > 1].sum())
        return worth
