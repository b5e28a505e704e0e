"""`Program`: a recorded tape that runs without Python.

Reports and files are imported when they are needed: the first call of a compiled function waits for all else.
"""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any

from tape import errors, tree
from tape.core.node import plain
from tape.kernels.registry import REGISTRY
from tape.program.calls.calling import Calling, Leaf
from tape.program.calls.generators import Generators
from tape.program.calls.statics import Form
from tape.program.ir.instructions import IR
from tape.program.ir.rewrite import rewrite
from tape.program.ir.table import INSTRUCTIONS
from tape.program.layouts import layout_of
from tape.program.native.opcodes import ARENA
from tape.program.plan.planner import plan
from tape.program.record.recording import COPIED, Constant, Recorded
from tape.program.runtime.run import Flip, Rerun, Runner
from tape.system.collector import collector_paused

if TYPE_CHECKING:
    from tape.program.report.explain import Explanation
    from tape.program.report.profile import Profile


class Program(Runner):
    """A function of arrays as instructions of the machine; `compile` and `load` return programs.

    It is called as the function is, and returns the same, for one kind of arguments and one path through its
    branches. ``len`` is the number of rows that the machine runs, ``print`` lists the instructions.

    Parameters
    ----------
    recorded : Recorded
        A run of the function.
    donated : frozenset of int
        Dynamic leaves of the arguments whose memory may be used for results.
    name : str
        Name of the function.
    arguments : Form, optional
        The form of ``(args, kwargs)``. If left out, the arguments are the dynamic leaves.
    as_numpy : bool
        Whether results are the same as NumPy's to the last bit. Otherwise they may differ in rounding.

    Examples
    --------
    >>> import numpy as np, tape
    >>> f = tape.compile(lambda x, y: (x + y, x * y))
    >>> out = f(np.ones(2), np.ones(2))
    >>> (program,) = f.programs.values()
    >>> program(np.array([2.0, 3.0]), np.array([4.0, 5.0]))
    (array([6., 8.]), array([ 8., 15.]))
    >>> print(program)
    <Program <lambda>: 1 row>
    in0  input               float64[2]
    in1  input               float64[2]
    %2   add(in0, in1)       float64[2]  out0
    %3   multiply(in0, in1)  float64[2]  out1
    returns %2, %3
    """

    notes: tuple[str, ...] = ()
    """Why something that repeats itself is no loop; nothing is known of programs that were loaded."""
    generators: Generators | None = None
    """The generators of random numbers that it draws from, if it draws."""
    reads_layout = False
    """Whether it is for arguments in C order alone, as what it does depends on how they lie in memory."""
    _profile: Profile | None = None

    @collector_paused()
    def __init__(
        self,
        recorded: Recorded,
        donated: frozenset[int] = frozenset(),
        name: str = "f",
        arguments: Form | None = None,
        *,
        as_numpy: bool = False,
        is_patient: bool = False,
    ) -> None:
        nodes = recorded.nodes
        self.notes = recorded.notes
        self.reads_layout = recorded.reads_layout
        leaves = [Leaf.like(plain(nodes[id].value)) for id in recorded.inputs]
        known = [out if isinstance(out, Constant) else None for out in recorded.outputs]
        result, weak = recorded.out_structure, tuple(recorded.weak)
        if arguments is None:
            self.calling = Calling.of_leaves(len(leaves), result, weak)
        else:
            self.calling = Calling(arguments, result, weak)
        ir = rewrite(recorded, as_numpy=as_numpy)
        if any(instruction.op == "again" for instruction in ir.instructions):
            # What a checkpoint computes once more takes time, which only less memory is worth.
            once = rewrite(recorded, as_numpy=as_numpy, repeats=False)
            ir = min((once, ir), key=lambda ir: plan(ir, donated).slots[ARENA])
        super().__init__(ir, leaves, known, donated, name, is_patient)

    @classmethod
    def of_ir(
        cls,
        ir: IR,
        leaves: list[Leaf],
        known: list[Constant | None],
        calling: Calling,
        donated: frozenset[int],
        name: str,
        generators: Generators | None = None,
        reads_layout: bool = False,
    ) -> Program:
        """Return a program of IR that was not recorded here.

        Parameters
        ----------
        ir : IR
            Sound: see `tape.program.ir.check`.
        leaves : list of Leaf
            The type of each dynamic leaf of the arguments.
        known : list of Constant or None
            The leaves of the result that are the same in every call; None for outputs of the IR.
        calling : Calling
            The structures of arguments and result.
        donated : frozenset of int
            Dynamic leaves whose memory may be used for results.
        name : str
            Name of the function.
        generators : Generators, optional
            What it draws from.
        reads_layout : bool
            Whether it is for arguments in C order alone.
        """
        program = object.__new__(cls)
        program.calling = calling
        program.generators = generators
        program.reads_layout = reads_layout
        Runner.__init__(program, ir, leaves, known, donated, name, is_patient=True)
        return program

    def __repr__(self) -> str:
        rows = f"{self.rows} row{'s' * (self.rows != 1)}" if self.is_encoded() else "run by NumPy"
        return f"<Program {self.name}: {rows}>"

    def __str__(self) -> str:
        from tape.program.report.describe import describe

        return describe(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result for arguments of the kind that was recorded.

        Raises
        ------
        ShapeError, DTypeError, OptionError
            If the arguments are of another kind.
        UnsupportedError
            If the function would take another branch than the program does.
        InPlaceError
            If a donated array is read-only.
        SingularMatrixError, OutOfBoundsError
            If the function has no result for these numbers.
        """
        if self.generators is None:
            return self._called(args, kwargs)
        return self.generators.call(self.name, args, kwargs, self._called)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result for arguments, states of generators among them."""
        leaves = self.calling.leaves_of(args, kwargs, self.leaves, self.name)
        if self.reads_layout and layout_of(tree.leaves((args, kwargs))) is not None:
            raise errors.UnsupportedError(
                f"{self.name}: what it does depends on how arrays lie in memory, and this program is for "
                "arguments in C order. Pass np.ascontiguousarray of them, or call the function itself"
            )
        try:
            is_ready = self._call is not None or self.is_encoded()
            out = Program.run(self, leaves) if is_ready else self.run_on_numpy(leaves)  # not of a subclass
        except Rerun as rerun:
            raise self._refusal(str(rerun)) from None
        if isinstance(out, Flip):
            raise errors.UnsupportedError(
                f"{self.name}: a branch read {out.outcome!r}, and this program holds one path only, on which "
                f"it reads {self.ir.guards[out.index].outcome!r}. Call the function that tape.compile "
                "returned, or save a program for each path"
            )
        for k, result in enumerate(self.known):
            if result is not None and type(result.value) in COPIED:
                out[k] = result.value.copy()
        return self.calling.restore(out)

    def _refusal(self, op: str) -> errors.TapeError:
        """Return the error for an instruction at which the machine stopped."""
        if op in REGISTRY and REGISTRY[op].failure:
            return errors.SingularMatrixError(f"{self.name}: {REGISTRY[op].failure}")
        definition = INSTRUCTIONS.get("kernel" if op in REGISTRY else op)
        if definition is not None and definition.failure is not None:
            error, message = definition.failure
            return error(f"{self.name}: {message}")
        return errors.TapeError(f"{self.name}: {op} does not take these numbers. Call the function itself")

    def explain(self) -> Explanation:
        """Return statistics of the program: lowering, memory, work, and what makes it slow.

        Returns
        -------
        Explanation
            The figures; printed, they are a report.
        """
        from tape.program.report.explain import explain

        return explain(self, self._profile)

    def profile(self, *args: Any, repeats: int = 20) -> Profile:
        """Measure the time of each instruction, of the parts of groups and loops, and of what lies between.

        Parameters
        ----------
        *args
            Arguments, or their dynamic leaves alone, those of keyword arguments last. Donated arrays are
            copied first.
        repeats : int
            Number of runs; the shortest time of each instruction counts.

        Returns
        -------
        Profile
            The figures, which add up to a call; printed, they are a table, with a ``~`` before the times of
            what was timed together with others. `explain` includes the share of callbacks from now on.

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
        >>> f = tape.compile(lambda x: np.tanh(x) @ x)
        >>> out = f(np.ones(100))
        >>> (program,) = f.programs.values()
        >>> print(program.profile(np.ones(100)))
        <lambda>: ... a run, ... in instructions
        ... tanh(in0)  float64[100]
        ...
        """
        from tape.program.report.profile import profile

        self._profile = profile(self, args, repeats)
        return self._profile

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program to a file, for `load`; it holds numbers and names, and no code.

        Pickle and `copy.deepcopy` use the same format. Arrays that the function closed over are saved as they
        are now: the file has copies. The structure of arguments and result is saved if it consists of dicts,
        lists, tuples and None, and if arguments that are the same in every call are ints, bools or strings.
        Otherwise the loaded program takes its dynamic leaves as positional arguments, generators after them,
        and returns a list of leaves.

        Generators of random numbers that are arguments are arguments of the loaded program. Of those that the
        function closes over the file has the state as it is now, and the loaded program goes on from there.

        Parameters
        ----------
        path : path-like
            Overwritten if it exists.

        Raises
        ------
        UnsupportedError
            If the program calls back into Python for anything but random draws, or a leaf of its result is
            not a number, an array or a string.

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
        from tape.program.files.archive import content_of

        content = content_of(self)
        with open(path, "wb") as file:
            file.write(content)

    def __copy__(self) -> Program:
        return self  # nothing in it changes

    def __reduce__(self) -> Any:
        from tape.program.files.archive import content_of

        return _restored, (content_of(self),)


def load(path: str | os.PathLike[str]) -> Program:
    """Read a program from a file that `Program.save` has written.

    Parameters
    ----------
    path : path-like
        The file. It need not be trusted: there is no code in it, and everything in it is checked.
        `Program.explain` says how much memory the program takes.

    Returns
    -------
    Program
        It is called as the function was; ``print`` shows its arguments. It holds one path: numbers that take
        another branch are an error.

    Raises
    ------
    ProgramFileError
        If the file is damaged, holds something else, or was saved by another version.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import numpy as np, pathlib, tape, tempfile
    >>> f = tape.compile(lambda p, x: {"y": p["a"] * x + p["b"]})
    >>> out = f({"a": 2.0, "b": 1.0}, np.arange(3.0))
    >>> (program,) = f.programs.values()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "line.tape")
    ...     program.save(path)
    ...     line = tape.load(path)
    >>> line({"a": 3.0, "b": 0.0}, np.ones(3))
    {'y': array([3., 3., 3.])}
    """
    from tape.program.files.archive import read

    with open(path, "rb") as file:
        return read(file, repr(os.fspath(path)), Program.of_ir)


def _restored(content: bytes) -> Program:
    """Return the program whose file has this content; errors are those of `load`."""
    from tape.program.files.archive import read

    return read(io.BytesIO(content), "what was pickled", Program.of_ir)
