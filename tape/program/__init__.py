"""Programs: recorded tapes that run without Python.

One file a stage: record, rewrite (through the builder), plan, encode, verify, run. `Program` puts them
together, `compile` finds the program for a call.
"""

from tape.program import sweeps as _sweeps  # noqa: F401  # enters itself in the table
from tape.program.compiled import Compiled, compile
from tape.program.files.save import load
from tape.program.program import Program
from tape.program.replay import TraceProgram

__all__ = ["Compiled", "Program", "TraceProgram", "compile", "load"]
