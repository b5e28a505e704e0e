"""`vectorise`: lets functions that NumPy computes number by number be computed side by side."""

from __future__ import annotations

import numpy as np

from tape.program.ir.instructions import IR
from tape.program.native.functions import loop_number

VECTORISED = {name: f"vector_{name}" for name in ("sin", "cos", "exp", "log", "log1p", "tanh")}
"""Ufuncs of `tape.kernels.circular`, `exponentials` and `logarithms`, by NumPy's: right to less than 2.5
units in the last place, all but tanh to less than one."""
LEAST = 16  # elements
_DOUBLE = np.dtype(np.float64)


def vectorise(ir: IR) -> None:
    """Replace ufuncs of arrays of float64, in the bodies of loops as well.

    Parameters
    ----------
    ir : IR
        Changed in place. It rounds as NumPy does no more.
    """
    for instruction in ir.instructions:
        if instruction.op == "loop":
            vectorise(instruction.attrs[0].body)
        name = VECTORISED.get(instruction.op)
        if name is None or instruction.dtype != _DOUBLE or instruction.size < LEAST:
            continue
        if loop_number(name, (_DOUBLE, _DOUBLE)) is not None:
            instruction.op = name
