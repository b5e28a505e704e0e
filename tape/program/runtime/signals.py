"""Where the machine stops so that Python can look for signals, such as Ctrl-C.

Python does that whenever it runs, so the machine has to come back to it now and then. Where, is decided when
a program is encoded, from how long its instructions take at most: short programs have no such place.
"""

from __future__ import annotations

from collections.abc import Sequence

from tape.kernels.registry import needs_of
from tape.ops.special.scipy_ufuncs import PREFIX
from tape.program.ir.instructions import Instruction

__all__ = ["BETWEEN", "is_due", "nanoseconds", "portion"]

BETWEEN = 50e6
"""Nanoseconds from one look to the next, as far as instructions can be divided."""

_SPECIAL, _SLOW, _FAST = 100.0, 20.0, 2.0  # an element, out of every cache
_PRODUCT = 0.2  # a multiplication in a product of matrices
_NAMES = """
    absolute add bitwise_and bitwise_or bitwise_xor copysign equal fabs greater greater_equal invert
    isfinite isinf isnan less less_equal logical_and logical_not logical_or logical_xor maximum minimum
    multiply negative not_equal square subtract where cast copy reshape transpose broadcast slice fold
    sum_product concatenate put
"""
_QUICK = frozenset(_NAMES.split())


def nanoseconds(instructions: Sequence[Instruction], id: int) -> float:
    """Return about how long an instruction takes at most."""
    instruction = instructions[id]
    operands = [instructions[x] for x in instruction.operands]
    if instruction.op == "kernel":
        return needs_of(*instruction.attrs).work * _FAST
    if instruction.op in ("matmul", "matmul_add"):
        return _PRODUCT * instruction.size * operands[-1].shape[-2] + _FAST * instruction.size
    if instruction.op in ("solve", "triangular_solve", "cholesky"):
        return (_PRODUCT * operands[0].shape[-1] + _SLOW) * (operands[0].size + instruction.size)
    size = max([instruction.size, *[operand.size for operand in operands]])
    if instruction.op.startswith(PREFIX):
        return _SPECIAL * size
    return (_FAST if instruction.op in _QUICK else _SLOW) * size


def is_due(time: float) -> bool:
    """Return whether it is time to look, after so many nanoseconds."""
    return time > BETWEEN


def portion(count: int, time: float) -> int:
    """Return how many parts of an instruction are done between two looks.

    Parameters
    ----------
    count : int
        How many parts there are.
    time : float
        Nanoseconds that all of them take.
    """
    return max(1, min(count, int(count * BETWEEN / (1 + time))))
