"""How kernels compute a few rows at a time, which loops over tiles need to know."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tape.program.ir.instructions import Instruction

__all__ = ["Rows", "rows_of_kernel"]


class Rows(NamedTuple):
    """How a kernel reads rows.

    Attributes
    ----------
    operands : tuple of bool
        Which operands have them; others are read as a whole.
    are_summed : bool
        Whether they are summed up; otherwise the result has them, too.
    parameter : int
        Which of its parameters says how many there are, or is a multiple of that.
    """

    operands: tuple[bool, ...]
    are_summed: bool
    parameter: int


def rows_of_kernel(of: Instruction) -> Rows | None:
    """Return how a kernel reads rows, the elements along the first axis; None if it may need all of them."""
    name, parameters = of.attrs
    return _KNOWN[name](*parameters) if name in _KNOWN else None


def _of_squares(batch: int, *others: int) -> Rows:
    return Rows((True, True), False, 0) if batch > 1 else Rows((True, False), False, 1)


def _of_differences(batch: int, rows: int, columns: int, length: int, is_turned: int) -> Rows:
    if batch > 1:
        return Rows((True, True, True), False, 0)
    return Rows((True, False, True), False, 1) if is_turned else Rows((True, True, False), True, 3)


def _of_weighted_sums(batch: int, outer: int, *others: int) -> Rows:
    if batch > 1:
        return Rows((True, True), False, 0)
    return Rows((True, False), False, 1) if outer > 1 else Rows((True, True), True, 2)


_KNOWN: dict[str, Callable[..., Rows]] = {
    "squared_distances": _of_squares,
    "weighted_differences": _of_differences,
    "weighted_sums": _of_weighted_sums,
}
