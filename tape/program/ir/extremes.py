"""What goes to the largest or smallest elements of rows, by a kernel that makes no arrays of bools.

The rule of such an element compares all of them with it, counts those that are equal, and gives each its
share: ``where(x == m, g / count, 0)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from tape.kernels.codes import KERNEL_DTYPES
from tape.kernels.extremes import LONGEST
from tape.program.ir.instructions import IR, Appending, Instruction, source_of
from tape.program.ir.promotion import broadcasts_to

__all__ = ["share_extremes"]

_WORTH_IT = 1 << 8
"""Elements from which on a kernel is worth it."""
_FEWEST_BYTES = 32
"""Of a row: over fewer the kernel takes longer than the instructions."""


def share_extremes(ir: IR) -> int:
    """Replace choices of what is equal to an extreme, which shares a number with its equals, by kernels.

    Parameters
    ----------
    ir : IR
        Changed in place, without dead instructions.

    Returns
    -------
    int
        Number of instructions added.
    """
    old = ir.instructions
    found = {id: match for id in range(len(old)) if (match := _match(old, id)) is not None}
    if not found:
        return 0
    replacing = _Replacing(old)
    replacing.build(found)
    ir.replace(replacing.new, replacing.place)
    added = len(ir.instructions) - len(old)
    ir.drop_dead()
    return added


class _Match(NamedTuple):
    """What is shared, the elements and the extremes; and how many rows of which length."""

    given: int
    x: int
    extremes: int
    lengths: tuple[int, int]
    kept: tuple[int, ...]
    """The shape of the extremes, with axes of length one in place of those that are reduced."""


def _match(old: Sequence[Instruction], id: int) -> _Match | None:
    """Return what an instruction shares among extremes of rows; None if it is another one."""
    of = old[id]
    if of.op != "where" or of.size < _WORTH_IT or of.dtype not in KERNEL_DTYPES:
        return None
    mask, value, nothing = of.operands
    quotient = old[source_of(old, value)]
    if quotient.op != "divide" or old[mask].op != "equal" or old[mask].shape != of.shape:
        return None
    axes = _axes_counted(old, quotient.operands[1], mask)
    if axes is None or not _is_literal(old, nothing, 0.0):
        return None
    first, last = axes[0], axes[-1] + 1
    rows, length = prod(of.shape[:first]), prod(of.shape[first:last])
    kept = (*of.shape[:first], *(1,) * len(axes), *of.shape[last:])
    are_rows = rows * length == of.size and length <= LONGEST
    if not are_rows or length * of.dtype.itemsize < _FEWEST_BYTES or not broadcasts_to(quotient.shape, kept):
        return None
    given = source_of(old, quotient.operands[0])
    if old[given].dtype != of.dtype:
        return None
    for x, extremes in (old[mask].operands, old[mask].operands[::-1]):
        extremes = source_of(old, extremes)
        are_known = old[x].shape == of.shape and old[x].dtype == of.dtype == old[extremes].dtype
        if are_known and broadcasts_to(old[extremes].shape, kept):
            return _Match(given, x, extremes, (rows, length), kept)
    return None


def _axes_counted(old: Sequence[Instruction], id: int, mask: int) -> tuple[int, ...] | None:
    """Return the axes along which a value counts what holds, as a float and one at least; else None."""
    at_least_one = _operand(old, id, "cast")
    if at_least_one is None or old[at_least_one].op != "where":
        return None
    is_none, one, ties = old[at_least_one].operands
    compared = [x for x in old[is_none].operands if x != ties]
    if old[is_none].op != "equal" or len(compared) != 1 or not _is_literal(old, compared[0], 0):
        return None
    if not _is_literal(old, one, 1):
        return None
    while old[ties].op in ("reshape", "broadcast") and old[ties].size == old[old[ties].operands[0]].size:
        (ties,) = old[ties].operands
    counted = _operand(old, ties, "fold")
    if counted != mask or old[ties].attrs[0] != "sum":
        return None
    return tuple(old[ties].attrs[1])


def _operand(old: Sequence[Instruction], id: int, op: str) -> int | None:
    """Return the operand of an instruction if it is of this kind; else None."""
    return old[id].operands[0] if old[id].op == op else None


def _is_literal(old: Sequence[Instruction], id: int, number: float) -> bool:
    of = old[id]
    return of.op == "literal" and bool(of.number == number) and not np.signbit(of.number)


class _Replacing(Appending):
    """IR with kernels in place of choices."""

    def __init__(self, old: Sequence[Instruction]) -> None:
        super().__init__()
        self.old = old
        self.place: list[int] = []

    def build(self, found: dict[int, _Match]) -> None:
        """Append all instructions; of some it is known what they share."""
        for id, of in enumerate(self.old):
            self.place.append(self._kernel(of, found[id]) if id in found else self.push_again(of, self.place))

    def _kernel(self, of: Instruction, match: _Match) -> int:
        is_one = self.old[match.given].size == 1
        given = self.place[match.given] if is_one else self._spread(match.given, match.kept)
        operands = given, self.place[match.x], self._spread(match.extremes, match.kept)
        attrs = ("share_extremes", (*match.lengths, int(is_one)))
        return self.push("kernel", operands, attrs, of.shape, of.dtype)

    def _spread(self, x: int, shape: tuple[int, ...]) -> int:
        """Append a value as one of a shape that it broadcasts to."""
        of = self.old[x]
        if of.size == prod(shape):
            return self.place[x]
        return self.push("broadcast", (self.place[x],), (), shape, of.dtype)
