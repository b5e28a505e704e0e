"""Programs: recorded tapes that run without Python.

One file a stage: record, rewrite (through the builder), plan, encode, verify, run. `Program` puts them
together, `compile` finds the program for a call.
"""

from tape.program.compiled import Compiled, compile
from tape.program.program import Program
from tape.program.replay import TraceProgram
from tape.program.save import load

__all__ = ["Compiled", "Program", "TraceProgram", "compile", "load"]
