"""What kernels of the differences of pairs take and need.

Their code is in `tape.kernels.compiled.differences`.
"""

from __future__ import annotations

from math import prod

from tape.kernels.kernel import Kernel, Needs

ROWS_OF_A_TASK = 32
_A_CYCLE = 8  # terms, about, which are a subtraction, a multiplication and an addition each


def _needs_squares(parameters: tuple[int, ...]) -> Needs:
    batch, rows, columns, length = _lengths(parameters)
    operands = batch * rows * length, batch * columns * length
    return _needs(operands, batch, rows, columns, length)


def _needs_differences(parameters: tuple[int, ...]) -> Needs:
    *lengths, is_turned = parameters
    batch, rows, columns, length = _lengths(tuple(lengths))
    if is_turned not in (0, 1):
        raise ValueError("whether the weights are transposed is neither 0 nor 1")
    operands = batch * length * rows, batch * length * columns, batch * rows * columns
    return _needs(operands, batch, rows, columns, length)


def _lengths(parameters: tuple[int, ...]) -> tuple[int, ...]:
    if min(parameters) < 1:
        raise ValueError("a length is not positive")
    return parameters


def _needs(operands: tuple[int, ...], batch: int, *lengths: int) -> Needs:
    rows, columns, _ = lengths
    tasks = batch * -(-rows // ROWS_OF_A_TASK)
    return Needs(operands, batch * rows * columns, 0, tasks, batch * prod(lengths) // _A_CYCLE + 1)


_LENGTHS = dict.fromkeys(("batch", "rows", "columns", "length"), 1)


KERNELS = {
    "squared_distances": Kernel(_LENGTHS, _needs_squares),
    "weighted_differences": Kernel({**_LENGTHS, "turned": 1}, _needs_differences),
}
