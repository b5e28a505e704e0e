"""`Program`: a recorded tape that runs without Python."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from tape import errors
from tape.config import num_threads
from tape.node import plain
from tape.program.calling import Calling, unshared
from tape.program.describe import Explanation, describe, explain
from tape.program.encode import encode
from tape.program.functions import prepare
from tape.program.instructions import Instruction, Listing
from tape.program.objects import Leaf
from tape.program.opcodes import (
    AT,
    HEADER,
    LEAF,
    NO_ARRAYS,
    RESULT,
    RING,
    WIDTH,
    opcode,
)
from tape.program.plan import plan
from tape.program.profile import Profile, profile
from tape.program.record import Constant, Recorded
from tape.program.rewrite import rewrite
from tape.program.shortcuts import runner
from tape.program.verify import slots_of, verify
from tape.program.workspace import Workspace

__all__ = ["MISSED", "Flip", "Program", "Rerun"]

_CALLBACK, _GUARD = opcode("callback"), opcode("guard")
_WORTH_RELEASING = 10_000
"""Nanoseconds from which on other threads of Python may run meanwhile: for less, changing over costs more."""


class Flip:
    """A guard that came out differently: its number, and how it came out."""

    def __init__(self, index: int, outcome: Any) -> None:
        self.index = index
        self.outcome = outcome


MISSED = Flip(-1, None)
"""What a shortcut returns for leaves that do not fit."""


class Rerun(Exception):
    """The program cannot go on with these arguments: the instruction that does not."""


class Program:
    """A function of arrays, as instructions for the machine; `compile` makes them, and so does `load`.

    Called as the function is, it returns what that returns, for arguments of one kind and along one path.
    ``len`` is the number of rows that the machine runs, ``print`` lists the instructions.

    Parameters
    ----------
    recorded : Recorded
        The function, as it ran once.
    donated : frozenset of int
        Dynamic leaves of the arguments whose memory may be used for results.
    name : str
        Of the function.
    arguments : tuple, optional
        The structure of ``(args, kwargs)``, and those leaves that are the same in every call, by position. If
        left out, the arguments are the dynamic leaves.

    Examples
    --------
    >>> import numpy as np, tape
    >>> f = tape.compile(lambda x, y: (x + y, x * y))
    >>> out = f(np.ones(2), np.ones(2))
    >>> (program,) = f.programs.values()
    >>> program(np.array([2.0, 3.0]), np.array([4.0, 5.0]))
    (array([6., 8.]), array([ 8., 15.]))
    >>> print(program)
    <Program <lambda>: 2 rows>
    in0  input               float64[2]
    in1  input               float64[2]
    %2   add(in0, in1)       float64[2]  out0
    %3   multiply(in0, in1)  float64[2]  out1
    returns %2, %3
    """

    def __init__(
        self,
        recorded: Recorded,
        donated: frozenset[int] = frozenset(),
        name: str = "f",
        arguments: tuple[Any, dict[int, Any]] | None = None,
    ) -> None:
        nodes = recorded.nodes
        leaves = [Leaf.like(plain(nodes[id].value)) for id in recorded.inputs]
        known = [out if isinstance(out, Constant) else None for out in recorded.outputs]
        result, weak = recorded.out_structure, tuple(recorded.weak)
        if arguments is None:
            calling = Calling.of_leaves(len(leaves), result, weak)
        else:
            calling = Calling(*arguments, result, weak)
        self._make(rewrite(recorded), leaves, known, calling, donated, name)

    @classmethod
    def of_listing(
        cls,
        listing: Listing,
        leaves: list[Leaf],
        known: list[Constant | None],
        calling: Calling,
        donated: frozenset[int],
        name: str,
    ) -> Program:
        """A program that was not recorded here.

        Parameters
        ----------
        listing : Listing
            Sound: see `tape.program.check`.
        leaves : list of Leaf
            What each dynamic leaf of the arguments must be.
        known : list of Constant or None
            The leaves of the result that are the same in every call; None for outputs of the listing.
        calling : Calling
            How it is called.
        donated : frozenset of int
            Dynamic leaves whose memory may be used for results.
        name : str
            Of the function.
        """
        program = object.__new__(cls)
        program._make(listing, leaves, known, calling, donated, name)
        return program

    def _make(
        self,
        listing: Listing,
        leaves: list[Leaf],
        known: list[Constant | None],
        calling: Calling,
        donated: frozenset[int],
        name: str,
    ) -> None:
        self.name = name
        self.leaves = leaves
        self.known = known
        self.calling = calling
        self.donated = donated
        self.listing = listing
        self._profile: Profile | None = None
        self.plan = plan(self.listing, donated)
        encoded = encode(self.plan)
        self.code, self.rows, self._origins = encoded.code, encoded.rows, encoded.origins
        callbacks = [id for id, step in enumerate(self.plan.instructions) if step.op == "callback"]
        verify(self.code, self.rows, slots_of(self.plan), callbacks)
        self.literals = np.frombuffer(self.plan.literals + bytes(16), np.uint8)
        self._outputs()
        self.threads = num_threads()
        self.spec = self._spec()
        self._pool: list[Workspace] = []
        code = prepare()
        self._call, self._machine_resume = code.call, code.resume

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        return f"<Program {self.name}: {self.rows} rows>"

    def __str__(self) -> str:
        return describe(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result for arguments like those of the recording.

        Raises
        ------
        ShapeError, DTypeError, OptionError
            If the arguments are of another kind.
        UnsupportedError
            If the function would branch in another way than the program does.
        InPlaceError
            If a donated array is read-only.
        SingularMatrixError, OutOfBoundsError
            If there is no result.
        """
        leaves = self.calling.leaves_of(args, kwargs, self.leaves, self.name)
        try:
            out = Program.run(self, leaves)  # not what a subclass makes of it
        except Rerun as rerun:
            raise self._refusal(str(rerun)) from None
        if isinstance(out, Flip):
            raise errors.UnsupportedError(
                f"{self.name}: a branch read {out.outcome!r}, and this program holds one path only, on which "
                f"it reads {self.listing.guards[out.index].outcome!r}. Call the function that tape.compile "
                "made, or make a program for each path"
            )
        for k, result in enumerate(self.known):
            if result is not None and isinstance(result.value, np.ndarray):
                out[k] = result.value.copy()
        return self.calling.restore(out)

    def _refusal(self, op: str) -> errors.TapeError:
        """What to raise where the machine cannot go on."""
        if op == "solve":
            return errors.SingularMatrixError(f"{self.name}: a matrix is singular. Look at its null space")
        if op in ("take", "add_at", "ravel_index"):
            return errors.OutOfBoundsError(
                f"{self.name}: an index is out of range. Look at the integers given"
            )
        return errors.TapeError(f"{self.name}: {op} does not take these numbers. Call the function itself")

    def explain(self) -> Explanation:
        """What the program consists of, what became of the recording, and what makes it slow.

        Returns
        -------
        Explanation
            The figures; printed, it is a report.
        """
        return explain(self, self._profile)

    def profile(self, *args: Any, repeats: int = 20) -> Profile:
        """The time of each instruction.

        Parameters
        ----------
        *args
            Arguments, or the dynamic leaves alone; those of keyword arguments come last. Donated arrays are
            copied first.
        repeats : int
            How often every instruction runs; the shortest time counts.

        Returns
        -------
        Profile
            The figures; printed, it is a table. `explain` knows them from now on.

        Raises
        ------
        ShapeError, DTypeError
            If the arguments are of another kind.
        UnsupportedError
            If they take another path.
        OptionError
            If ``repeats`` is less than 1.

        Examples
        --------
        >>> import numpy as np, tape
        >>> f = tape.compile(lambda x: np.sin(x) @ x)
        >>> out = f(np.ones(100))
        >>> (program,) = f.programs.values()
        >>> print(program.profile(np.ones(100)))
        <lambda>: ... a run, ... in instructions
        ... sin(in0)  float64[100]
        ...
        """
        self._profile = profile(self, args, repeats)
        return self._profile

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program to a file, for `load`; it holds numbers and names, and no code.

        Arrays that the function closed over are saved as they are now: the file has copies. If arguments or
        result have branches that are no dicts, lists, tuples or None, or arguments that are the same in every
        call are no ints, bools or strings, then the structure is not saved, and the loaded program takes its
        dynamic leaves as positional arguments and returns a list of leaves.

        Parameters
        ----------
        path : path-like
            Overwritten if it exists.

        Raises
        ------
        UnsupportedError
            If the program calls back into Python, or its result has leaves that are neither numbers, arrays
            nor strings.

        Examples
        --------
        >>> import numpy as np, pathlib, tape, tempfile
        >>> f = tape.compile(lambda x: 2 * x)
        >>> out = f(np.ones(2))
        >>> (program,) = f.programs.values()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "f.tape")
        ...     program.save(path)
        ...     loaded = tape.load(path)
        >>> loaded(np.array([1.0, 2.0]))
        array([2., 4.])
        """
        from tape.program.save import save  # which knows programs

        save(self, path)

    def _outputs(self) -> None:
        """How each leaf of the result comes about."""
        plan = self.plan
        self.makers: list[tuple[Any, Any]] = []
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
                takers.append(("array", len(self.makers)))
                self.makers.append((out.shape, out.dtype))
                self._out_slots.append(plan.output_slots[k])
        computed = iter(takers)
        self._results = [next(computed) if out is None else ("constant", out.value) for out in self.known]

    def _spec(self) -> np.ndarray:
        plan = self.plan
        count = len(self.leaves)
        numbers = [count, len(self._out_slots), int(_nanoseconds(plan.instructions) > _WORTH_RELEASING)]
        tables: list[int] = []
        tables_at = HEADER + count * LEAF + len(self._out_slots) * RESULT
        self.scalar_inputs = []
        given = set(plan.donations.values())
        for k, (leaf, slot) in enumerate(zip(self.leaves, plan.input_slots, strict=True)):
            numbers += leaf.spec(slot, tables_at + len(tables), k in given)
            tables += leaf.shape
            if not leaf.is_array:
                self.scalar_inputs.append(slot)
        for slot, (shape, dtype) in zip(self._out_slots, self.makers, strict=True):
            numbers += [slot, id(dtype), len(shape), tables_at + len(tables)]
            tables += shape
        return np.array([*numbers, *tables], np.int64)

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
        if self.donated:
            leaves = self._unshared(leaves)
        workspace = self._workspace()
        if self._enter(workspace, leaves) is False:
            if workspace.frame[AT] < 0:
                leaves = self._rebound(workspace, leaves)
            flip = self._resume(workspace, leaves)
            if flip is not None:
                self._pool.append(workspace)
                return flip
        return self._collected(workspace, leaves)

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

        run = runner(self._call, otherwise, self._pool, len(self.makers), self._results, restore, tree)
        if not self.donated:
            return run
        return lambda leaves: run(self._unshared(leaves)) if len(leaves) == len(self.leaves) else MISSED

    def _unshared(self, leaves: tuple[Any, ...]) -> tuple[Any, ...]:
        return unshared(leaves, self.donated, self.name, self.plan.constants)

    def _workspace(self) -> Workspace:
        try:
            return self._pool.pop()
        except IndexError:
            return Workspace(self)

    def _enter(self, workspace: Workspace, leaves: tuple[Any, ...]) -> Any:
        """Run, with new arrays for results if those there are in use."""
        outs = self._call(workspace.frame, leaves, workspace.ring)
        if outs is False and workspace.frame[AT] == NO_ARRAYS:
            workspace.new_arrays()
            outs = self._call(workspace.frame, leaves, workspace.ring)
        return outs

    def _collected(self, workspace: Workspace, leaves: tuple[Any, ...]) -> list[Any]:
        """The leaves of the result, after a run; gives the workspace back."""
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
        """Arguments that hold the right numbers, but not as the machine reads them: put in order, and run."""
        leaves = tuple([wanted.made_of(leaf) for leaf, wanted in zip(leaves, self.leaves, strict=True)])
        if self._enter(workspace, leaves) is not False:
            workspace.frame[AT] = self.rows
        elif workspace.frame[AT] < 0:
            raise Rerun("input")
        return leaves

    def _resume(self, workspace: Workspace, leaves: Any) -> Flip | None:
        """Do what the machine cannot, and let it go on."""
        frame = workspace.frame
        while (at := int(frame[AT])) < self.rows:
            kind = self.code[at * WIDTH]
            id = self._origins[at]
            if kind == _CALLBACK:
                self._call_back(workspace, id, leaves)
            elif kind == _GUARD:
                instruction = self.plan.instructions[id]
                (operand,) = instruction.operands
                number = instruction.attrs[0]
                value = self._view(workspace, operand, leaves).reshape(())
                is_truth = self.plan.guards[number].kind == "bool"
                return Flip(number, bool(value) if is_truth else int(value))
            else:
                raise Rerun(self.plan.instructions[id].op)
            frame[AT] = at + 1
            self._machine_resume(frame)
        return None

    def _call_back(self, workspace: Workspace, id: int, leaves: Any) -> None:
        instruction = self.plan.instructions[id]
        op, places, attrs = self.listing.callbacks[instruction.attrs[0]]
        operands = iter(instruction.operands)
        values = [
            self._view(workspace, next(operands), leaves) if place is None else place for place in places
        ]
        values = [
            value[()] if isinstance(value, np.ndarray) and not value.ndim else value for value in values
        ]
        result = np.asarray(op.compute(values, attrs))
        if result.shape != instruction.shape or result.dtype != instruction.dtype:
            raise Rerun(op.name)
        self._view(workspace, id, leaves)[...] = result

    def _view(self, workspace: Workspace, id: int, leaves: Any) -> np.ndarray:
        """A value, as an array on the memory where it is."""
        place, instruction = self.plan.places[id], self.plan.instructions[id]
        assert place is not None
        owner = workspace.owners[place.slot]
        if owner is None:
            slots = self.plan.input_slots
            owner = (
                leaves[slots.index(place.slot)]
                if place.slot in slots
                else workspace.ring[workspace.frame[RING]][self._out_slots.index(place.slot)]
            )
        if instruction.op == "constant":
            return owner
        return np.ndarray(instruction.shape, instruction.dtype, owner, place.offset, place.strides)


def _nanoseconds(instructions: list[Instruction]) -> float:
    """About how long it takes."""
    total = 0.0
    for instruction in instructions:
        work = instruction.size
        if instruction.op in ("matmul", "matmul_add"):
            work *= instructions[instruction.operands[-1]].shape[-2] // 10 + 1
        total += 20 + 0.3 * work
    return total
