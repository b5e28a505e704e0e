"""Programs: recorded tapes that run without Python.

The stages, in the order in which they happen, are folders: `record` (the function runs once, and is a tape),
`ir` (the tape becomes a list of instructions), `plan` (order and memory), `runtime` (an array of integers,
verified and run) on the machine of `native`; `hot` compiles loops that have run long. `program` puts them
together: a `Program` is one path of one function for one kind of arguments. `compiled` finds the program for
a call, with `specialise` (paths of one kind of arguments), `growth` (when to make another program), `python`
(calls without one) and `calls` (arguments and results). `replay` is `Trace.compile`; `files` and `report`
save and show programs.

`tape.program.ir.table` says how to add an instruction.
"""

from tape.program import steps as _steps  # noqa: F401  # these enter themselves in the table
from tape.program import sweeps as _sweeps  # noqa: F401
from tape.program.calls import uses as _uses  # noqa: F401
from tape.program.compiled import Compiled, compile
from tape.program.program import Program, load
from tape.program.replay import TraceProgram

__all__ = ["Compiled", "Program", "TraceProgram", "compile", "load"]
