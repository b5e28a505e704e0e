"""`vectorise`: lets functions that NumPy computes number by number be computed side by side."""

from __future__ import annotations

import numpy as np

from tape.program.ir.instructions import IR
from tape.program.native.functions import loop_number

VECTORISED = {"sin": "vector_sin", "cos": "vector_cos"}
"""Ufuncs of `tape.kernels.circular`, by NumPy's; both are right to less than a unit in the last place."""
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
