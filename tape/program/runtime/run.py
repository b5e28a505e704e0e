"""`Runner`: arguments in, the machine, results out.

The machine does everything but callbacks, which Python runs, and arguments that must be made contiguous.
Nothing here knows how a program was made, or the structure of the arguments that it is called with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from tape import errors
from tape.program.calls.calling import Leaf, unshared
from tape.program.calls.names import Bindings
from tape.program.calls.shortcuts import runner
from tape.program.calls.statics import Form
from tape.program.ir.instructions import IR, Instruction
from tape.program.ir.loops import all_ir
from tape.program.ir.table import INSTRUCTIONS
from tape.program.native.opcodes import (
    AT,
    BETWEEN_STEPS,
    DONE,
    HEADER,
    LEAF,
    NO_ARRAYS,
    RESULT,
    RING,
    WIDTH,
    WORTH_A_THREAD,
    WORTH_SHARING,
    opcode,
)
from tape.program.record.recording import Constant
from tape.program.runtime.routine import Routine
from tape.program.runtime.workspace import Frame, Workspace

_CALLBACK, _GUARD, _PAUSE, _LOOP = map(opcode, ("callback", "guard", "pause", "loop"))
_WORTH_RELEASING = 10_000
"""Nanoseconds from which on a program releases Python's lock: for shorter ones that costs too much."""
_EACH = 20
"""Nanoseconds of overhead of an instruction."""

_MOSTLY, _MUCH, _CYCLES = 0.1, 4 * WORTH_A_THREAD, 3
"""See `Runner.starting`: a share of the time of a run, a worth, and cycles in a nanosecond."""


class Flip:
    """A guard with another outcome than recorded: its number, and the outcome."""

    def __init__(self, index: int, outcome: Any) -> None:
        self.index = index
        self.outcome = outcome


MISSED = Flip(-1, None)
"""Result of a shortcut for leaves that do not fit."""


class Rerun(Exception):
    """Raised where a program cannot go on with these arguments, with the name of the instruction."""


class Runner(Routine):
    """A routine with arguments and results: ready to run.

    Parameters
    ----------
    ir : IR
        Sound: see `tape.program.ir.check`.
    leaves : list of Leaf
        The type of each dynamic leaf of the arguments.
    known : list of Constant or None
        The leaves of the result that are the same in every call; None for outputs of the IR.
    donated : frozenset of int
        Dynamic leaves whose memory may be used for results.
    name : str
        Name of the function.
    is_patient : bool
        As for `Routine`.
    """

    def __init__(
        self,
        ir: IR,
        leaves: list[Leaf],
        known: list[Constant | None],
        donated: frozenset[int],
        name: str,
        is_patient: bool = False,
    ) -> None:
        super().__init__(ir, donated, is_patient=is_patient)
        self.name = name
        self.leaves = leaves
        self.known = known
        self.donated = donated
        self._outputs()
        self.spec = self._spec()
        self._pool: list[Workspace] = []

    def need_machine(self) -> None:
        """Wait for machine code; raise UnsupportedError where it cannot run."""
        if self._is_due:
            self.encode()
        if self._call is None:
            raise errors.UnsupportedError(
                f"{self.name}: compiled code cannot run here, as a warning has said, and a program "
                "consists of it. Call the function itself"
            )

    def _outputs(self) -> None:
        """Decide where each leaf of the result comes from."""
        plan = self.plan
        self.makers: list[tuple[Any, Any]] = []
        self._out_slots: list[int] = []
        self.scalar_outputs: list[tuple[int, np.dtype[Any]]] = []
        takers: list[tuple[str, Any]] = []
        for k, id in enumerate(plan.results):
            out = plan.instructions[id]
            if k in plan.donations:
                takers.append(("leaf", plan.donations[k]))
            elif not out.shape:
                takers.append(("scalar", len(self.scalar_outputs)))
                self.scalar_outputs.append((plan.output_slots[k], out.dtype))
            else:
                takers.append(("array", len(self.makers)))
                self.makers.append((out.shape, out.dtype))
                self._out_slots.append(plan.output_slots[k])
        computed = iter(takers)
        self._results = [next(computed) if out is None else ("constant", out.value) for out in self.known]

    @property
    def starting(self) -> int:
        """The worth from which on a row starts threads.

        It is less where rows that can be shared are much of the program: threads that have been started wait
        for the next one.
        """
        is_mostly_shared = self.shareable > _CYCLES * _MOSTLY * _nanoseconds(self.plan.instructions)
        return 2 if is_mostly_shared and self.shareable > _MUCH * WORTH_SHARING else 2 * WORTH_A_THREAD

    def _spec(self) -> np.ndarray:
        plan = self.plan
        count = len(self.leaves)
        tables: list[int] = []
        tables_at = HEADER + count * LEAF + len(self._out_slots) * RESULT
        self.scalar_inputs = []
        numbers: list[int] = []
        for k, (leaf, slot) in enumerate(zip(self.leaves, plan.input_slots, strict=True)):
            numbers += leaf.spec(slot, tables_at + len(tables), k in self.donated)
            tables += leaf.shape
            if not leaf.is_array:
                self.scalar_inputs.append(slot)
        for slot, (shape, dtype) in zip(self._out_slots, self.makers, strict=True):
            numbers += [slot, id(dtype), len(shape), tables_at + len(tables)]
            tables += shape
        overwritten = sorted(set(plan.donations.values()))
        bounds = [address for array in self._held for address in byte_bounds(array)] if overwritten else []
        sizes = [leaf.nbytes for leaf in self.leaves]
        first = plan.input_slots[0] if count else 0
        assert plan.input_slots == [*range(first, first + count)], (
            "arguments are compared in the order of slots"
        )
        header = [
            count,
            len(self._out_slots),
            int(_nanoseconds(plan.instructions) > _WORTH_RELEASING),
            len(overwritten),
            len(bounds) // 2,
            tables_at + len(tables),
        ]
        return np.array([*header, *numbers, *tables, *overwritten, *sizes, *bounds], np.int64)

    @property
    def _held(self) -> list[np.ndarray]:
        """The arrays that a run reads, other than arguments."""
        results = [out.value for out in self.known if out is not None]
        called = [value for ir in all_ir(self.ir) for _, places, _ in ir.callbacks for value in places]
        others = [value for value in (*results, *called) if isinstance(value, np.ndarray)]
        constants = [array for ir in all_ir(self.ir) for array in ir.constants]
        return [array for array in (*constants, *others) if array.size]

    def run(self, leaves: tuple[Any, ...]) -> list[Any] | Flip:
        """Run on dynamic leaves.

        Parameters
        ----------
        leaves : tuple
            Arrays, NumPy scalars and floats, of the shapes and dtypes of the recording.

        Returns
        -------
        list or Flip
            The leaves of the result; or the guard that had another outcome than recorded.

        Raises
        ------
        Rerun
            If the machine stops; the eager function raises the error.
        """
        workspace = self._workspace()
        if self._enter(workspace, leaves) is False:
            if workspace.frame[AT] < 0:
                if self.donated:
                    leaves = unshared(leaves, self.donated, self.name, self._held)
                leaves = self._rebound(workspace, leaves)
            flip = self._resume(workspace, leaves)
            if flip is not None:
                self._pool.append(workspace)
                return flip
        return self._collected(workspace, leaves)

    def run_on_numpy(self, leaves: tuple[Any, ...]) -> list[Any] | Flip:
        """Do what `run` does, slowly and without machine code; results may round otherwise."""
        from tape.program.runtime import plain

        if self.donated:
            leaves = unshared(leaves, self.donated, self.name, self._held)  # for its errors
        outputs = plain.run(self.ir, leaves)
        if isinstance(outputs, Flip):
            return outputs
        computed = iter([out if out.ndim else out[()] for out in outputs])
        return [next(computed) if out is None else out.value for out in self.known]

    def shortcut(
        self, form: Form, names: Bindings, restore: Callable[[list[Any]], Any], tree: Any
    ) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
        """Return a function from arguments to the result, which does without the steps of `run`.

        Parameters
        ----------
        form : Form
            The arguments ``(args, kwargs)`` but for their numbers.
        names : Bindings
            The values that the names read by the function must be bound to.
        restore : callable
            Builds the result from the list of its leaves.
        tree : Any
            The result with a `Dynamic` for each leaf.

        Returns
        -------
        callable
            ``shortcut(args, kwargs)``, which returns `MISSED` for arguments or bindings that do not fit.
        """

        def otherwise(workspace: Workspace | None, leaves: tuple[Any, ...]) -> Any:
            if workspace is None or workspace.frame[AT] == NO_ARRAYS:
                workspace = workspace or self._workspace()
                if self._enter(workspace, leaves) is not False:
                    return restore(self._collected(workspace, leaves))
            if workspace.frame[AT] < 0:
                self._pool.append(workspace)
                return MISSED
            flip = self._resume(workspace, leaves)
            if flip is not None:
                self._pool.append(workspace)
                return flip
            return restore(self._collected(workspace, leaves))

        found = (len(self.makers), self._results, restore, tree)
        return runner(form, names, MISSED, self._call, otherwise, self._pool, *found)

    def _workspace(self) -> Workspace:
        try:
            return self._pool.pop()
        except IndexError:
            if self._call is None:
                raise Rerun("program") from None
            return Workspace(self)

    def _enter(self, workspace: Workspace, leaves: tuple[Any, ...]) -> Any:
        """Run, with new arrays for results if all kept ones are in use."""
        outs = self._call(workspace.frame, leaves, workspace.ring)
        if outs is False and workspace.frame[AT] == NO_ARRAYS:
            workspace.new_arrays()
            outs = self._call(workspace.frame, leaves, workspace.ring)
        return outs

    def _collected(self, workspace: Workspace, leaves: tuple[Any, ...]) -> list[Any]:
        """Return the leaves of the result after a run, and give the workspace back."""
        arrays = workspace.ring[workspace.frame[RING]]
        sources = {"array": arrays, "leaf": leaves}
        results = []
        for kind, k in self._results:
            if kind == "scalar":
                results.append(workspace.scalars[k][()])
            else:
                results.append(k if kind == "constant" else sources[kind][k])
        self._pool.append(workspace)
        return results

    def _rebound(self, workspace: Workspace, leaves: tuple[Any, ...]) -> tuple[Any, ...]:
        """Make arguments contiguous and aligned, and run; return them."""
        leaves = tuple([wanted.convert(leaf) for leaf, wanted in zip(leaves, self.leaves, strict=True)])
        if self._enter(workspace, leaves) is not False:
            workspace.frame[AT] = self.rows
        elif workspace.frame[AT] < 0:
            raise Rerun("input")
        return leaves

    def _resume(self, workspace: Workspace, leaves: Any) -> Flip | None:
        """Do what the machine stopped for, and resume it, until the end."""
        frame = workspace.frame
        while frame[AT] < self.rows:
            flip = self.handle(self, workspace, leaves)
            if flip is not None:
                return flip
            self._call(frame)
        return None

    def handle(self, routine: Routine, memory: Frame, leaves: Any) -> Flip | None:
        """Do what the machine stopped for in a routine; or return the guard that has another outcome.

        If a signal raises an exception in a pause, it is not resumed, and the workspace is dropped.
        """
        frame = memory.frame
        at = int(frame[AT])
        if at == BETWEEN_STEPS:
            frame[AT] = 0
            return None
        kind, id = routine.code[at * WIDTH], routine.origins[at]
        if kind == _LOOP:
            body = int(routine.code[at * WIDTH + 1])
            flip = self.handle(routine.bodies[body], memory.bodies[body], None)
            if flip is not None:
                frame[DONE] = 0
            else:
                routine._heed_pause(at)
            return flip
        if kind == _CALLBACK:
            flip = self._call_back(routine, memory, id, leaves)
            if flip is not None:
                return flip
        elif kind == _GUARD and routine.plan.instructions[id].op == "guard":
            instruction = routine.plan.instructions[id]
            (operand,) = instruction.operands
            number, *axis = instruction.attrs
            value = self._view(routine, memory, operand, leaves).reshape(())
            if axis:
                outcome = list(routine.plan.guards[number].outcome)
                outcome[1 + axis[0]] = int(value)
                return Flip(number, tuple(outcome))
            if routine.plan.guards[number].kind == "bool":
                return Flip(number, bool(value))
            return Flip(number, int(value) if np.isfinite(value) else None)
        elif kind != _PAUSE:
            if frame[DONE]:  # it has paused in the middle of a row
                return None
            stopped = routine.plan.instructions[id]
            raise Rerun(stopped.attrs[0] if stopped.op == "kernel" else stopped.op)
        frame[AT] = at + 1
        return None

    def _call_back(self, routine: Routine, memory: Frame, id: int, leaves: Any) -> Flip | None:
        """Run an operation in Python; return a `Flip` if its result has another type than recorded."""
        instruction = routine.plan.instructions[id]
        op, places, attrs = routine.ir.callbacks[instruction.attrs[0]]
        operands = iter(instruction.operands)
        values = [
            self._view(routine, memory, next(operands), leaves) if place is None else place
            for place in places
        ]
        values = [
            value[()] if isinstance(value, np.ndarray) and not value.ndim else value for value in values
        ]
        result = np.asarray(op.compute(values, attrs))
        if result.shape != instruction.shape or result.dtype != instruction.dtype:
            if instruction.guard is None:
                raise Rerun(op.name)
            return Flip(instruction.guard, (result.dtype.str, *result.shape))
        self._view(routine, memory, id, leaves)[...] = result
        return None

    def _view(self, routine: Routine, memory: Frame, id: int, leaves: Any) -> np.ndarray:
        """Return a value as an array on its memory."""
        place, instruction = routine.plan.places[id], routine.plan.instructions[id]
        assert place is not None
        owner = memory.owners[place.slot]
        if owner is None and isinstance(memory, Workspace):
            slots = self.plan.input_slots
            owner = (
                leaves[slots.index(place.slot)]
                if place.slot in slots
                else memory.ring[memory.frame[RING]][self._out_slots.index(place.slot)]
            )
        elif owner is None:
            owner = memory.bound(place.slot, routine.plan.slots[place.slot])
        if instruction.op == "constant":
            return owner
        return np.ndarray(instruction.shape, instruction.dtype, owner, place.offset, place.strides)


def _nanoseconds(instructions: list[Instruction]) -> float:
    """Return an estimate of the time of a run."""
    return sum(
        [
            _EACH + INSTRUCTIONS[instruction.op].cost.typical(instruction, instructions)
            for instruction in instructions
        ]
    )
