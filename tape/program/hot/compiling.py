"""Which loops are worth compiling, and when; and compiling one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tape.program.hot import lanes, loops
from tape.program.hot.lanes import Segment
from tape.program.native.opcodes import FIELDS, WIDTH, opcode

if TYPE_CHECKING:
    from tape.program.runtime.routine import Routine

__all__ = ["compile_segments", "compile_steps", "watched"]

_LOOP = opcode("loop")
_BODY, _BINDINGS, _STATES, _LEFT, _COMPILED = (
    1 + FIELDS["loop"].index(field) for field in ("body", "bindings", "states", "left", "compiled")
)

# Nanoseconds that compiling takes, in all and for each entry of a step or row of lanes; that an entry takes
# until then; and how many times as long a loop should have run by then.
_START, _EACH, _RUN, _TIMES = 8e6, 2e5, 2.2, 5
_MOST_ENTRIES = 5000
_WORTH_IT = 500.0  # nanoseconds of a step


def watched(running: np.ndarray, rows: int, bodies: Sequence[Routine]) -> set[int]:
    """Let loops pause once compiling what they do is worth it; return their rows.

    Parameters
    ----------
    running : numpy.ndarray
        What the machine reads of a routine.
    rows : int
        How many rows.
    bodies : sequence of Routine
        Those of its loops.
    """
    table, found = running[: rows * WIDTH].reshape(-1, WIDTH), set()
    for at in np.flatnonzero(table[:, 0] == _LOOP).tolist():
        steps = steps_before(bodies[table[at, _BODY]])
        if steps and os.environ.get("TAPE_HOT_LOOPS") != "0":
            table[at, _LEFT] = steps
            found.add(at)
    return found


def steps_before(body: Routine) -> int:
    """Return after how many steps compiling a body is worth it; 0 if it never is."""
    count = loops.count_of(body.code, body.rows)
    time = _RUN * count
    if not count:
        count, time = lanes.time_of(body.code, body.rows)
        if time < _WORTH_IT:
            return 0
    return max(1, int(_TIMES * (_START + _EACH * count) / time)) if 0 < count <= _MOST_ENTRIES else 0


def compile_steps(running: np.ndarray, at: int, body: np.ndarray, rows: int) -> Any:
    """Compile the steps of a loop, and let its row refer to the code.

    Parameters
    ----------
    running : numpy.ndarray
        What the machine reads of the routine that the loop is in.
    at : int
        Its row.
    body : numpy.ndarray
        Its body, which is scalar code.
    rows : int
        How many rows that has.

    Returns
    -------
    object
        To be kept for as long as the code may run.
    """
    row = running[at * WIDTH : (at + 1) * WIDTH]
    count = 1 + int(row[_BINDINGS] + row[_STATES])
    of_loop = running[at * WIDTH : (at + count) * WIDTH].reshape(-1, WIDTH).tolist()
    engine = _compiled(loops.text_of(of_loop, loops.entries_of(body, rows)))
    row[_COMPILED] = engine.get_function_address("steps")
    return engine


def compile_segments(running: np.ndarray, segments: Sequence[Segment], live: Sequence[np.ndarray]) -> Any:
    """Compile segments, and put the address of each in the place of its first opcode.

    Parameters
    ----------
    running : numpy.ndarray
        What the machine reads of their routine.
    segments, live
        As for `tape.program.hot.lanes.text_of`.

    Returns
    -------
    object
        To be kept for as long as the code may run.
    """
    engine = _compiled(lanes.text_of(segments, live))
    for k, segment in enumerate(segments):
        running[segment.start * WIDTH] = engine.get_function_address(f"segment{k}")
    return engine


def _compiled(text: str) -> Any:
    llvm, target = _llvm()
    module = llvm.parse_assembly(text)
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, jit=True
    )
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.slp_vectorization = True
    passes = llvm.create_pass_builder(machine, tuning)
    passes.getModulePassManager().run(module, passes)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


@cache
def _llvm() -> tuple[Any, Any]:
    from llvmlite import binding as llvm  # which the machine has imported

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm, llvm.Target.from_default_triple()
