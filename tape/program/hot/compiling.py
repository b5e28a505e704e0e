"""Which loops are worth compiling, and when; and compiling one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tape.program.hot.loops import count_of, entries_of, text_of
from tape.program.native.opcodes import FIELDS, WIDTH, opcode

if TYPE_CHECKING:
    from tape.program.runtime.routine import Routine

__all__ = ["compile_steps", "watched"]

_LOOP = opcode("loop")
_BODY, _BINDINGS, _STATES, _LEFT, _COMPILED = (
    1 + FIELDS["loop"].index(field) for field in ("body", "bindings", "states", "left", "compiled")
)

# Nanoseconds that compiling takes, in all and for each entry of a step; that an entry takes until then; and
# how many times as long it should have run by then.
_START, _EACH, _RUN, _TIMES = 8e6, 2e5, 2.2, 5
_MOST_ENTRIES = 5000


def watched(code: np.ndarray, rows: int, bodies: Sequence[Routine]) -> set[int]:
    """Let loops of scalar code pause once their steps are worth compiling; return their rows."""
    table, found = code[: rows * WIDTH].reshape(-1, WIDTH), set()
    for at in np.flatnonzero(table[:, 0] == _LOOP).tolist():
        body = bodies[table[at, _BODY]]
        count = count_of(body.code, body.rows)
        if 0 < count <= _MOST_ENTRIES and os.environ.get("TAPE_HOT_LOOPS") != "0":
            table[at, _LEFT] = steps_before(count)
            found.add(at)
    return found


def steps_before(entries: int) -> int:
    """Return after how many steps of so many entries these are worth compiling."""
    return max(1, int(_TIMES * (_START + _EACH * entries) / (_RUN * entries)))


def compile_steps(code: np.ndarray, at: int, body: Routine) -> Any:
    """Compile the steps of a loop, and let its row refer to the code.

    Parameters
    ----------
    code : numpy.ndarray
        Of the routine that the loop is in.
    at : int
        Its row.
    body : Routine
        Its body, which `watched` has found to be scalar code.

    Returns
    -------
    object
        To be kept for as long as the code may run.
    """
    row = code[at * WIDTH : (at + 1) * WIDTH]
    count = 1 + int(row[_BINDINGS] + row[_STATES])
    rows = code[at * WIDTH : (at + count) * WIDTH].reshape(-1, WIDTH).tolist()
    engine = _compiled(text_of(rows, entries_of(body.code, body.rows)))
    row[_COMPILED] = engine.get_function_address("steps")
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
