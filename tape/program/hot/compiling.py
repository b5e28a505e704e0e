"""Which loops are worth compiling, and when; and compiling one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tape.program.hot import lanes, loops
from tape.program.hot.lanes import Segment
from tape.program.native.opcodes import FIELDS, WIDTH, opcode
from tape.system.locks import lock_across_forks

if TYPE_CHECKING:
    from tape.program.runtime.routine import Routine

__all__ = ["compile_segments", "compile_steps", "steps_before", "watched"]

_LOOP = opcode("loop")
_BODY, _BINDINGS, _STATES, _LEFT, _COMPILED = (
    1 + FIELDS["loop"].index(field) for field in ("body", "bindings", "states", "left", "compiled")
)

_START, _EACH = 8e6, 2e5
"""Nanoseconds that compiling takes, in all and for each entry of a step, or row of lanes."""
_STEP, _RUN = 10.0, 2.2
"""Nanoseconds that a step takes until then, and an entry of it."""
_TIMES = 2
"""How many times as long as compiling takes a loop should have run by then."""
_WORTH_IT = 500.0
"""Nanoseconds that rows of lanes take which are worth compiling."""
_MOST_ENTRIES, _MANY = 2000, 300
"""What more of them are compiled with less effort, as that grows faster than they do."""
_KEPT = 64
"""Codes that are kept for programs that do the same."""

_lock = lock_across_forks()  # LLVM has one of its own, which a forked process would find taken


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
    time = _STEP + _RUN * count
    if not count:
        count, time = lanes.time_of(body.code, body.rows)
        if time < _WORTH_IT:
            return 0
    return max(1, int(_TIMES * (_START + _EACH * count) / time)) if 0 < count <= _MOST_ENTRIES else 0


def compile_steps(code: np.ndarray, at: int, body: np.ndarray, rows: int) -> tuple[Code, int]:
    """Compile the steps of a loop whose body is scalar code.

    Parameters
    ----------
    code : numpy.ndarray
        Of the routine that the loop is in.
    at : int
        Its row.
    body : numpy.ndarray
        The code of its body.
    rows : int
        How many rows that has.

    Returns
    -------
    code : Code
        To be kept for as long as it may run.
    address : int
        Of the function, see `tape.program.hot.loops`.
    """
    row = code[at * WIDTH : (at + 1) * WIDTH]
    count = 1 + int(row[_BINDINGS] + row[_STATES])
    of_loop = code[at * WIDTH : (at + count) * WIDTH].reshape(-1, WIDTH).tolist()
    entries = loops.entries_of(body, rows)
    made = compiled(loops.text_of(of_loop, entries), is_long=len(entries) > _MANY)
    return made, made.address("steps")


def compile_segments(segments: Sequence[Segment], live: Sequence[np.ndarray]) -> tuple[Code, list[int]]:
    """Compile segments.

    Parameters
    ----------
    segments, live
        As for `tape.program.hot.lanes.text_of`.

    Returns
    -------
    code : Code
        To be kept for as long as it may run.
    addresses : list of int
        Of the function of each.
    """
    is_long = sum(len(segment.runs) for segment in segments) > _MANY
    made = compiled(lanes.text_of(segments, live), is_long=is_long)
    return made, [made.address(f"segment{k}") for k in range(len(segments))]


class Code:
    """Machine code of a module, which is there for as long as this is.

    Parameters
    ----------
    text : str
        LLVM IR.
    is_long : bool
        Whether to take less effort.
    """

    def __init__(self, text: str, is_long: bool) -> None:
        self._lock = _lock
        self._engine: Any = None
        with _lock:
            self._engine = _engine(text, is_long)

    def __del__(self) -> None:
        with self._lock:
            self._engine = None

    def address(self, name: str) -> int:
        """Return the address of a function."""
        with self._lock:
            return self._engine.get_function_address(name)


@lru_cache(_KEPT)
def compiled(text: str, *, is_long: bool = False) -> Code:
    """Return the machine code of a module.

    Each takes 70 kB that LLVM's passes do not give back: codes are kept for what is compiled again.
    """
    return Code(text, is_long)


def _engine(text: str, is_long: bool) -> Any:
    llvm, target = _llvm()
    module = llvm.parse_assembly(text)
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=1 if is_long else 3,
        jit=True,
    )
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.slp_vectorization = not is_long
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
