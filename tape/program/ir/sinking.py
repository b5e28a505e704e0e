"""Reading a few elements along an axis before they are computed, rather than all of them and then a few.

Each element of an elementwise instruction, of a product or of a reduction over other axes depends on the same
place along an axis: what is not read of a result need not be computed. Where nothing but `take` reads a
value, by indices that are shorter together than the axis, they move towards the operands, as far as nothing
else reads what is in between. A slice moves through elementwise instructions in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from tape.program.ir.costs import GROUPED_BYTES
from tape.program.ir.instructions import IR, Instruction
from tape.program.ir.table import ELEMENTWISE, VIEWS

__all__ = ["sink_slices", "sink_takes"]

_DEPTH = 100  # instructions that one moves through
_WORTH_IT = 1024
"""Elements that need not be computed, less those that are read in other places instead."""

Shape = tuple[int, ...]


def sink_takes(ir: IR) -> int:
    """Move reading by an index towards the operands of what it reads.

    Parameters
    ----------
    ir : IR
        Changed in place, without dead instructions.

    Returns
    -------
    int
        Number of instructions added.
    """
    if all(of.op != "take" for of in ir.instructions):
        return 0
    return _Takes(ir).sink()


def sink_slices(ir: IR) -> int:
    """Move slices towards the operands of what they are of, as long as that is a few neighbouring elements.

    Large elementwise instructions are left as they are: those of one shape are computed together.

    Parameters
    ----------
    ir : IR
        Changed in place, without dead instructions.

    Returns
    -------
    int
        Number of instructions added.
    """
    if all(of.op != "slice" for of in ir.instructions):
        return 0
    slices = _Slices(ir)
    return slices.sink() if slices.sunk else 0


class _Sinking:
    """Appends instructions anew, those that sink in another place.

    Attributes
    ----------
    old, new : list of Instruction
    uses : list of int
        How often each old one is read.
    place : list of int
        Where the result of each old one is among the new ones.
    """

    def __init__(self, ir: IR) -> None:
        self.ir = ir
        self.old, self.uses = ir.instructions, ir.uses()
        self.new: list[Instruction] = []
        self.place: list[int] = []

    def sink(self) -> int:
        """Do so for all that can sink, and return how many instructions that adds."""
        place = self.place
        for of in self.old:
            if self.try_to_sink(of):
                continue
            operands = tuple([place[x] for x in of.operands])
            place.append(len(self.new))
            if operands == of.operands:
                self.new.append(of)
            else:
                self.push(of, operands, of.shape)
        added = len(self.new) - len(self.old)
        self.ir.replace(self.new, self.place)
        self.ir.drop_dead()
        return added

    def try_to_sink(self, of: Instruction) -> bool:
        """Move an instruction, and note its place, if it can sink; return whether."""
        raise NotImplementedError

    def push(self, of: Instruction, operands: tuple[int, ...], shape: Shape) -> int:
        """Append an instruction with other operands; return where it is."""
        self.new.append(Instruction(of.op, operands, of.attrs, shape, of.dtype))
        return len(self.new) - 1


class _Slices(_Sinking):
    """Elementwise instructions of which one slice is read compute no more than that, where they are."""

    def __init__(self, ir: IR) -> None:
        super().__init__(ir)
        self.wanted: dict[int, tuple[Shape, Shape]] = {}  # starts and shape of all that is read
        self.sunk: set[int] = set()
        self.sliced: dict[Any, int] = {}
        for id in range(len(self.old) - 1, -1, -1):
            of = self.old[id]
            if of.op == "slice" and self._may_sink(of):
                self.sunk.add(id)
                self.wanted[of.operands[0]] = of.attrs[0], of.shape
            elif id in self.wanted:
                for x, part in zip(of.operands, self._parts(of, *self.wanted[id]), strict=True):
                    if self.uses[x] == 1 and self.old[x].op in ELEMENTWISE and part[1] != self.old[x].shape:
                        self.wanted[x] = part

    def try_to_sink(self, of: Instruction) -> bool:
        id = len(self.place)
        if id in self.sunk:
            self.place.append(self.place[of.operands[0]])
        elif id in self.wanted:
            starts, shape = self.wanted[id]
            parts = zip(of.operands, self._parts(of, starts, shape), strict=True)
            operands = [self._part(x, *part) for x, part in parts]
            self.place.append(self.push(of, tuple(operands), shape))
        return len(self.place) > id

    def _may_sink(self, slice_: Instruction) -> bool:
        """Return whether a slice is all that is read of something, a few elements side by side."""
        (x,), shape = slice_.operands, slice_.shape
        of = self.old[x]
        if self.uses[x] != 1 or of.op not in ELEMENTWISE or of.size * of.dtype.itemsize > GROUPED_BYTES:
            return False
        last_cut = max([axis for axis, n in enumerate(shape) if n != of.shape[axis]], default=0)
        is_run = prod(shape[:last_cut]) == 1
        return is_run and slice_.size > 0 and all(step == 1 for step in slice_.attrs[1])

    def _parts(self, of: Instruction, starts: Shape, shape: Shape) -> list[tuple[Shape, Shape]]:
        """Return what a part of a result depends on of each operand: starts and shape."""
        parts = []
        for x in of.operands:
            lengths = self.old[x].shape
            first = len(shape) - len(lengths)  # axes before it the operand has not
            is_whole = [n != of.shape[first + k] for k, n in enumerate(lengths)]  # one for all
            parts.append(
                (
                    tuple([0 if is_one else starts[first + k] for k, is_one in enumerate(is_whole)]),
                    tuple([1 if is_one else shape[first + k] for k, is_one in enumerate(is_whole)]),
                )
            )
        return parts

    def _part(self, x: int, starts: Shape, shape: Shape) -> int:
        if x in self.wanted or shape == self.old[x].shape:
            return self.place[x]
        key = x, starts, shape
        if key not in self.sliced:
            of = Instruction("slice", (), (starts, (1,) * len(shape)), shape, self.old[x].dtype)
            self.sliced[key] = self.push(of, (self.place[x],), shape)
        return self.sliced[key]


class _Takes(_Sinking):
    """Reading by indices moves towards the operands of what nothing else reads."""

    def __init__(self, ir: IR) -> None:
        super().__init__(ir)
        self.takes: dict[tuple[int, int], list[Instruction]] = {}  # by what they read, and the axis
        for of in self.old:
            if of.op == "take":
                self.takes.setdefault((of.operands[0], of.attrs[0]), []).append(of)

    def try_to_sink(self, of: Instruction) -> bool:
        return of.op == "take" and self._is_worth_it(of)

    def _is_worth_it(self, take: Instruction) -> bool:
        """Move a `take` if that is worth it, as it is then for others of the same value; return whether."""
        (x, index), (axis,) = take.operands, take.attrs
        others = self.takes[x, axis]
        length, read = self.old[x].shape[axis], sum(of.shape[axis] for of in others)
        if self.uses[x] != len(others) or not 0 < 3 * read <= 2 * length:
            return False
        start = len(self.new)
        self.index, self.count, self.share = self.place[index], take.shape[axis], take.shape[axis] / read
        self.gain = float(take.size)
        self.read: dict[tuple[int, int], int] = {}  # where elements are that are read of a value, by the axis
        at = self._taken(x, axis, _DEPTH, len(others))
        if min(of.shape[axis] for of in others) * self.gain >= _WORTH_IT * self.count:  # so it is for all
            self.place.append(at)
            return True
        del self.new[start:]
        return False

    def _taken(self, x: int, axis: int, depth: int, uses: int = 1) -> int:
        """Append the elements of a value that are read along an axis; return where they are."""
        of = self.old[x]
        shape = (*of.shape[:axis], self.count, *of.shape[axis + 1 :])
        axes = _axes_of(self.old, of, axis) if self.uses[x] == uses and depth else None
        if axes is None:
            if (x, axis) not in self.read:
                self.gain -= prod(shape)
                self.new.append(Instruction("take", (self.place[x], self.index), (axis,), shape, of.dtype))
                self.read[x, axis] = len(self.new) - 1
            return self.read[x, axis]
        if of.op not in VIEWS:
            self.gain += of.size * self.share - prod(shape)
        operands = [
            self.place[operand] if along is None else self._taken(operand, along, depth - 1)
            for operand, along in zip(of.operands, axes, strict=True)
        ]
        return self.push(of, tuple(operands), shape)


def _axes_of(instructions: list[Instruction], of: Instruction, axis: int) -> list[int | None] | None:
    """Return along which axis each operand is read for elements of a result, None for one read as a whole.

    Returns None if elements along this axis do not depend on elements along an axis alone.
    """
    if of.op in ELEMENTWISE:
        return [_aligned(instructions[x], of, axis) for x in of.operands]
    rule = _RULES.get(of.op)
    return None if rule is None else rule(instructions, of, axis)


def _aligned(x: Instruction, of: Instruction, axis: int) -> int | None:
    """Return the axis of an operand that broadcasts, None if it has one element for all."""
    k = axis - len(of.shape) + len(x.shape)
    return k if k >= 0 and x.shape[k] == of.shape[axis] else None


def _of_transpose(instructions: list[Instruction], of: Instruction, axis: int) -> list[int | None]:
    return [of.attrs[0][axis]]


def _of_broadcast(instructions: list[Instruction], of: Instruction, axis: int) -> list[int | None]:
    return [_aligned(instructions[of.operands[0]], of, axis)]


def _of_reshape(instructions: list[Instruction], of: Instruction, axis: int) -> list[int | None] | None:
    x, before = instructions[of.operands[0]], prod(of.shape[:axis])
    for k, length in enumerate(x.shape):
        if length == of.shape[axis] and prod(x.shape[:k]) == before:
            return [k]
    return None


def _of_reduction(instructions: list[Instruction], of: Instruction, axis: int) -> list[int | None]:
    first, count = of.attrs[1][0], len(of.attrs[1])
    return [axis if axis < first else axis + count] * len(of.operands)


def _of_matmul(instructions: list[Instruction], of: Instruction, axis: int) -> list[int | None]:
    a, b = (instructions[x] for x in of.operands)
    ndim = len(of.shape)
    if axis == ndim - 1:
        return [None, len(b.shape) - 1]
    if axis == ndim - 2:
        return [len(a.shape) - 2, None]
    return [_aligned(a, of, axis), _aligned(b, of, axis)]


def _of_concatenate(instructions: list[Instruction], of: Instruction, axis: int) -> list[int | None] | None:
    return None if of.attrs[0] == axis else [axis] * len(of.operands)


_RULES: dict[str, Callable[[list[Instruction], Instruction, int], list[int | None] | None]] = {
    "transpose": _of_transpose,
    "broadcast": _of_broadcast,
    "reshape": _of_reshape,
    "fold": _of_reduction,
    "sum_product": _of_reduction,
    "matmul": _of_matmul,
    "concatenate": _of_concatenate,
}
