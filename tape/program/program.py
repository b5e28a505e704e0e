"""`Program`: a recorded tape that runs without Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape.node import plain
from tape.program.encode import encode
from tape.program.functions import DATA_TABLE, FUNCTION_TABLE, prepare
from tape.program.objects import Leaf
from tape.program.opcodes import (
    ARENA,
    AT,
    CODE,
    DATA,
    FUNCTIONS,
    HEADER,
    LEAF,
    LITERALS,
    REGISTERS,
    ROWS,
    SLOTS,
    SPEC,
    WIDTH,
    opcode,
)
from tape.program.plan import ALIGNMENT, plan
from tape.program.record import Recorded
from tape.program.rewrite import rewrite
from tape.program.shortcuts import runner

__all__ = ["MISSED", "Flip", "Program", "Rerun"]

_CALLBACK, _GUARD = opcode("callback"), opcode("guard")


class Flip:
    """A guard that came out differently: its number, and how it came out."""

    def __init__(self, index: int, outcome: Any) -> None:
        self.index = index
        self.outcome = outcome


MISSED = Flip(-1, None)
"""What a shortcut returns for leaves that do not fit."""


class Rerun(Exception):
    """The program cannot go on with these arguments."""


class _Workspace:
    """The memory of one run: the frame, and what its slots refer to."""

    __slots__ = ("frame", "owners", "scalars")

    def __init__(self, program: Program) -> None:
        sizes = program.plan.slots
        self.frame = np.zeros(SLOTS + len(sizes), np.int64)
        self.owners: list[Any] = [None] * len(sizes)
        frame = self.frame
        frame[FUNCTIONS], frame[DATA] = FUNCTION_TABLE.ctypes.data, DATA_TABLE.ctypes.data
        frame[CODE], frame[ROWS] = program.code.ctypes.data, program.rows
        frame[SPEC] = program.spec.ctypes.data
        self.own(ARENA, _memory(sizes[ARENA]))
        self.own(REGISTERS, _memory(sizes[REGISTERS]))
        self.own(LITERALS, program.literals)
        for array, slot in zip(program.plan.constants, program.plan.constant_slots, strict=True):
            self.own(slot, array)
            lowest = sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True) if s < 0)
            frame[SLOTS + slot] += lowest
        for slot in program.scalar_inputs:
            self.own(slot, _memory(8))
        self.scalars = []
        for slot, dtype in program.scalar_outputs:
            memory = _memory(8)
            self.own(slot, memory)
            self.scalars.append(memory[: dtype.itemsize].view(dtype).reshape(()))

    def own(self, slot: int, array: np.ndarray) -> None:
        """Make a slot refer to an array."""
        self.owners[slot] = array
        self.frame[SLOTS + slot] = array.ctypes.data


def _memory(size: int) -> np.ndarray:
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size]


class Program:
    """A function of arrays, as instructions for the machine."""

    def __init__(self, recorded: Recorded, donated: frozenset[int] = frozenset(), name: str = "f") -> None:
        self.name = name
        nodes = recorded.nodes
        self.leaves = [Leaf.like(plain(nodes[id].value)) for id in recorded.inputs]
        self._constants = [None if type(out) is int else out for out in recorded.outputs]
        self.listing = rewrite(recorded)
        self.plan = plan(self.listing, donated)
        encoded = encode(self.plan)
        self.code, self.rows, self._origins = encoded.code, encoded.rows, encoded.origins
        self.literals = np.frombuffer(self.plan.literals + bytes(16), np.uint8)
        self._outputs()
        self.spec = self._spec()
        self._pool: list[_Workspace] = []
        code = prepare()
        self._call, self._machine_resume = code.call, code.resume

    def __len__(self) -> int:
        return self.rows

    def _outputs(self) -> None:
        """How each leaf of the result comes about."""
        plan = self.plan
        self._makers: list[tuple[Any, Any]] = []
        self._out_slots: list[int] = []
        self.scalar_outputs: list[tuple[int, np.dtype[Any]]] = []
        takers: list[tuple[str, Any]] = []
        for k, id in enumerate(plan.outputs):
            out = plan.instructions[id]
            if k in plan.donations:
                takers.append(("leaf", plan.donations[k]))
            elif not out.shape:
                takers.append(("scalar", len(self.scalar_outputs)))
                self.scalar_outputs.append((plan.output_slots[k], out.dtype))
            else:
                takers.append(("array", len(self._makers)))
                self._makers.append((out.shape, out.dtype))
                self._out_slots.append(plan.output_slots[k])
        computed = iter(takers)
        self._results = [
            next(computed) if out is None else ("constant", out.value) for out in self._constants
        ]

    def _spec(self) -> np.ndarray:
        plan = self.plan
        count = len(self.leaves)
        numbers = [count, len(self._out_slots), 0]
        tables: list[int] = []
        tables_at = HEADER + count * LEAF + len(self._out_slots)
        self.scalar_inputs = []
        given = set(plan.donations.values())
        for k, (leaf, slot) in enumerate(zip(self.leaves, plan.input_slots, strict=True)):
            numbers += leaf.spec(slot, tables_at + len(tables), k in given)
            tables += leaf.shape
            if not leaf.is_array:
                self.scalar_inputs.append(slot)
        return np.array([*numbers, *self._out_slots, *tables], np.int64)

    def run(self, leaves: tuple[Any, ...]) -> list[Any] | Flip:
        """Run on dynamic leaves.

        Parameters
        ----------
        leaves : tuple
            Arrays, NumPy scalars and floats, of the shapes and dtypes of the recording.

        Returns
        -------
        list or Flip
            The leaves of the result; or how a guard came out, if that was otherwise than recorded.

        Raises
        ------
        Rerun
            If these numbers need Python to say what is wrong with them.
        """
        outs = self._new_arrays()
        workspace = self._workspace()
        if not self._call(workspace.frame, leaves, outs):
            if workspace.frame[AT] < 0:
                leaves = self._rebound(workspace, leaves, outs)
            flip = self._resume(workspace, leaves, outs)
            if flip is not None:
                self._pool.append(workspace)
                return flip
        return self._collected(workspace, leaves, outs)

    def shortcut(self, restore: Callable[[list[Any]], Any], tree: Any) -> Callable[[tuple[Any, ...]], Any]:
        """`run` without detours: a function that returns the result itself.

        Parameters
        ----------
        restore : callable
            Makes the result of the list of its leaves.
        tree : Any
            The result with a `Dynamic` for each leaf.

        Returns
        -------
        callable
            Like `run`, but for leaves that do not fit it returns `MISSED`.
        """

        def otherwise(workspace: _Workspace | None, leaves: tuple[Any, ...], outs: Any) -> Any:
            if workspace is None:
                workspace = self._workspace()
                if self._call(workspace.frame, leaves, outs):
                    return restore(self._collected(workspace, leaves, outs))
            if workspace.frame[AT] < 0:
                self._pool.append(workspace)
                return MISSED
            flip = self._resume(workspace, leaves, outs)
            if flip is not None:
                self._pool.append(workspace)
                return flip
            return restore(self._collected(workspace, leaves, outs))

        return runner(self._call, otherwise, self._pool, self._makers, self._results, restore, tree)

    def _workspace(self) -> _Workspace:
        try:
            return self._pool.pop()
        except IndexError:
            return _Workspace(self)

    def _new_arrays(self) -> tuple[np.ndarray, ...]:
        """Memory for results."""
        return tuple([np.empty(shape, dtype) for shape, dtype in self._makers])

    def _collected(self, workspace: _Workspace, leaves: tuple[Any, ...], outs: Any) -> list[Any]:
        """The leaves of the result, after a run; gives the workspace back."""
        sources = {"array": outs, "leaf": leaves}
        results = []
        for kind, k in self._results:
            if kind == "scalar":
                results.append(workspace.scalars[k][()])
            else:
                results.append(k if kind == "constant" else sources[kind][k])
        self._pool.append(workspace)
        return results

    def _rebound(self, workspace: _Workspace, leaves: tuple[Any, ...], outs: Any) -> tuple[Any, ...]:
        """Arguments that hold the right numbers, but not as the machine reads them: put in order, and run."""
        leaves = tuple([wanted.made_of(leaf) for leaf, wanted in zip(leaves, self.leaves, strict=True)])
        self._call(workspace.frame, leaves, outs)
        if workspace.frame[AT] < 0:
            raise Rerun
        return leaves

    def _resume(self, workspace: _Workspace, leaves: Any, outs: Any) -> Flip | None:
        """Do what the machine cannot, and let it go on."""
        frame = workspace.frame
        while (at := int(frame[AT])) < self.rows:
            kind = self.code[at * WIDTH]
            id = self._origins[at]
            if kind == _CALLBACK:
                self._call_back(workspace, id, leaves, outs)
            elif kind == _GUARD:
                instruction = self.plan.instructions[id]
                (operand,) = instruction.operands
                number = instruction.attrs[0]
                value = self._view(workspace, operand, leaves, outs).reshape(())
                is_truth = self.plan.guards[number].kind == "bool"
                return Flip(number, bool(value) if is_truth else int(value))
            else:
                raise Rerun
            frame[AT] = at + 1
            self._machine_resume(frame)
        return None

    def _call_back(self, workspace: _Workspace, id: int, leaves: Any, outs: Any) -> None:
        instruction = self.plan.instructions[id]
        op, places, attrs = self.listing.callbacks[instruction.attrs[0]]
        operands = iter(instruction.operands)
        values = [
            self._view(workspace, next(operands), leaves, outs) if place is None else place
            for place in places
        ]
        values = [
            value[()] if isinstance(value, np.ndarray) and not value.ndim else value for value in values
        ]
        result = np.asarray(op.compute(values, attrs))
        if result.shape != instruction.shape or result.dtype != instruction.dtype:
            raise Rerun
        self._view(workspace, id, leaves, outs)[...] = result

    def _view(self, workspace: _Workspace, id: int, leaves: Any, outs: Any) -> np.ndarray:
        """A value, as an array on the memory where it is."""
        place, instruction = self.plan.places[id], self.plan.instructions[id]
        assert place is not None
        owner = workspace.owners[place.slot]
        if owner is None:
            slots = self.plan.input_slots
            owner = (
                leaves[slots.index(place.slot)]
                if place.slot in slots
                else outs[self._out_slots.index(place.slot)]
            )
        if instruction.op == "constant":
            return owner
        return np.ndarray(instruction.shape, instruction.dtype, owner, place.offset, place.strides)
