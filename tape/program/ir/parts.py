"""Arrays that are written part by part: store-to-load forwarding and removal of dead stores.

A part is a slice with one start, step and count for each axis. Reading a part that was just written returns
the value that was written, and a value that is overwritten before it is read is not written at all: a loop
over the elements of an array becomes arithmetic on numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import TYPE_CHECKING, NamedTuple

from tape.program.ir.instructions import IR, Instruction
from tape.program.ir.table import VIEWS
from tape.program.ir.values import Value

if TYPE_CHECKING:
    from tape.program.ir.builder import Builder

Shape = tuple[int, ...]
Part = list[tuple[int, int, int]]
"""Start, step and count for each axis."""

WRITES = frozenset({"put", "add_at"})
"""Instructions whose result is an array with a part of it written or added to."""
_DEPTH = 64  # writes that reading looks behind: reading all of a long loop takes time quadratic in its length
_GIVEN = frozenset({"input", "constant", "literal", "broadcast"})


def put(b: Builder, total: Value, values: Value, starts: Shape, steps: Shape) -> Value:
    """Return ``total`` with values of its dtype written to a part of their shape.

    Parameters
    ----------
    b : Builder
        Appends the instructions.
    total, values : Value
        Of as many axes.
    starts, steps : tuple of int
        Of each axis.
    """
    if not values.size:
        return total
    if values.shape == total.shape:  # every element, in the other order where a step is -1
        return b.slice(values, starts, steps, total.shape)
    return b.push("put", (total, values), (starts, steps))


def read(b: Builder, value: Value, starts: Shape, steps: Shape, shape: Shape) -> Value | None:
    """Return a part of an array without reading the array, where its writes tell; else None.

    An earlier state of the array is not read: that would keep the writes from happening in place.

    Parameters
    ----------
    b : Builder
        Appends the instructions.
    value : Value
        Any.
    starts, steps, shape : tuple of int
        The part.
    """
    part = list(zip(starts, steps, shape, strict=True))
    added: list[Value] = []
    for _ in range(_DEPTH):
        instruction = b.ir.instructions[value.id]
        if value.op in _GIVEN:
            return _sum(b.slice(value, *_columns(part)), added)
        if value.op not in WRITES or len(instruction.attrs) != 2:
            return None
        total, values = b.operands_of(instruction)
        written = _written(instruction, values.shape)
        if not _is_apart(part, written):
            inner = _inside(part, written)
            if inner is None:
                return None
            found = b.slice(values, *_columns(inner))
            if value.op == "put":
                return _sum(found, added)
            added.append(found)
        value = total
    return None


def read_joined(b: Builder, value: Value, starts: Shape, steps: Shape, shape: Shape) -> Value | None:
    """Return the slice of a `concatenate` from the operand that it lies in; None if it lies in several."""
    (axis,) = b.ir.instructions[value.id].attrs
    start = starts[axis]
    last = start + (shape[axis] - 1) * steps[axis]
    for x in b.operands_of(b.ir.instructions[value.id]):
        length = x.shape[axis]
        if 0 <= start < length and 0 <= last < length:
            return b.slice(x, (*starts[:axis], start, *starts[axis + 1 :]), steps, shape)
        start, last = start - length, last - length
    return None


def joined_again(b: Builder, values: Sequence[Value], axis: int) -> Value | None:
    """Return the slice that slices of one array, side by side, are parts of; None if they are others.

    They may have been transposed alike, as derivatives by several arguments are that become columns.
    """
    instructions = b.ir.instructions
    order: tuple[int, ...] | None = None
    if values[0].op == "transpose":
        (order,) = instructions[values[0].id].attrs
        if any(value.op != "transpose" or instructions[value.id].attrs != (order,) for value in values):
            return None
        values, axis = [b.operands_of(instructions[value.id])[0] for value in values], order[axis]
    if any(value.op != "slice" for value in values):
        return None
    slices = [instructions[value.id] for value in values]
    starts, steps = slices[0].attrs
    end = starts[axis]
    for of in slices:
        if of.operands != slices[0].operands or of.attrs[1] != steps:
            return None
        if of.attrs[0] != (*starts[:axis], end, *starts[axis + 1 :]):
            return None
        end += of.shape[axis] * steps[axis]
    shape = list(slices[0].shape)
    shape[axis] = sum([of.shape[axis] for of in slices])
    whole = b.slice(b.operands_of(slices[0])[0], starts, steps, tuple(shape))
    return whole if order is None else b.transpose(whole, order)


def _sum(found: Value, added: list[Value]) -> Value:
    for part in reversed(added):
        found = found + part
    return found


def _columns(part: Part) -> tuple[Shape, Shape, Shape]:
    starts, steps, counts = zip(*part, strict=True) if part else ((), (), ())
    return starts, steps, counts


def _written(instruction: Instruction, shape: Shape) -> Part:
    return list(zip(*instruction.attrs, shape, strict=True))


def _is_apart(one: Part, other: Part) -> bool:
    """Return whether two parts have no element in common: no index along one axis at least."""
    for (start, step, count), (first, stride, number) in zip(one, other, strict=True):
        here = range(start, start + step * count, step)
        there = range(first, first + stride * number, stride)
        if not here or not there:
            return True
        if count == 1 or number == 1:
            if (start not in there) if count == 1 else (first not in here):
                return True
        elif (
            max(here[0], here[-1]) < min(there[0], there[-1])
            or max(there[0], there[-1]) < min(here[0], here[-1])
            or (start - first) % gcd(step, stride)
        ):
            return True
    return False


def _inside(part: Part, whole: Part) -> Part | None:
    """Return where the elements of a part are among those of another; None if they are not all there."""
    found = []
    for (start, step, count), (first, stride, number) in zip(part, whole, strict=True):
        place, left = divmod(start - first, stride)
        pace, over = divmod(step, stride) if count > 1 else (1, 0)
        if left or over or not (0 <= place < number and 0 <= place + pace * (count - 1) < number):
            return None
        found.append((place, pace, count))
    return found


# ---- passes over a whole ir -------------------------------------------------------------------


def skip_overwritten(ir: IR) -> None:
    """Remove writes to a part that the next write overwrites before anything reads it.

    Parameters
    ----------
    ir : IR
        Dead instructions stay in it; see `IR.drop_dead`.
    """
    instructions = ir.instructions
    writes = [id for id, instruction in enumerate(instructions) if instruction.op == "put"]
    if not writes:
        return
    readers = ir.uses()
    for id in writes:
        later = instructions[id]
        total, values = later.operands
        over = _written(later, instructions[values].shape)
        while readers[total] == 1:
            earlier = instructions[total]
            if earlier.op not in WRITES or len(earlier.attrs) != 2:
                break
            if _inside(_written(earlier, instructions[earlier.operands[1]].shape), over) is None:
                break
            total = earlier.operands[0]
        later.operands = (total, values)


def join_parts(ir: IR) -> int:
    """Replace what fills zeros part by part along an axis by a `concatenate`.

    Zeros may be left before and behind the parts: a slice along the first axis has such a derivative.

    Parameters
    ----------
    ir : IR
        Dead instructions stay in it; see `IR.drop_dead`.

    Returns
    -------
    int
        Number of instructions added, zeros.
    """
    instructions = ir.instructions
    if not any(instruction.op in WRITES for instruction in instructions):
        return 0
    readers = ir.uses()
    taken: set[int] = set()
    gaps: dict[int, _Gaps] = {}
    for id in range(len(instructions) - 1, -1, -1):
        chain = [] if id in taken else _filling(instructions, readers, id)
        if not chain:
            continue
        taken.update(chain)
        parts = [_written(instructions[k], instructions[instructions[k].operands[1]].shape) for k in chain]
        found = _along_an_axis(parts, instructions[id].shape)
        if found is None:
            continue
        axis, lengths = found
        if any(lengths) and prod(instructions[id].shape[:axis]) != 1:  # many parts: adding takes less time
            continue
        order = sorted(range(len(chain)), key=lambda k: parts[k][axis][0])
        values = tuple([instructions[chain[k]].operands[1] for k in order])
        of = instructions[id]
        if any(lengths):
            (zero,) = instructions[instructions[chain[-1]].operands[0]].operands
            before, behind = ((*of.shape[:axis], length, *of.shape[axis + 1 :]) for length in lengths)
            is_added = [instructions[chain[k]].op == "add_at" for k in order]
            gaps[id] = _Gaps(zero, before, behind, is_added)
        instructions[id] = Instruction("concatenate", values, (axis,), of.shape, of.dtype)
    return _fill_gaps(ir, gaps) if gaps else 0


class _Gaps(NamedTuple):
    """What parts of zeros are joined to: the zero, the shapes on either side; and which parts are added."""

    zero: int
    before: Shape
    behind: Shape
    is_added: list[bool]


def _fill_gaps(ir: IR, gaps: dict[int, _Gaps]) -> int:
    """Join zeros before and behind what instructions join, unless there are none; return how many are new.

    Parts that were added to zero are so all the same: that makes negative zeros positive.
    """
    new: list[Instruction] = []
    place: list[int] = []
    for id, of in enumerate(ir.instructions):
        operands = [place[x] for x in of.operands]
        gap = gaps.get(id)
        if gap is not None:
            zero = place[gap.zero]
            for k, x in enumerate(operands):
                if gap.is_added[k] and of.dtype.kind in "fc":
                    operands[k] = len(new)
                    new.append(Instruction("add", (x, zero), (), new[x].shape, of.dtype))
            for at, shape in ((0, gap.before), (len(operands) + 1, gap.behind)):
                if 0 not in shape:
                    operands.insert(at, len(new))
                    new.append(Instruction("broadcast", (zero,), (), shape, of.dtype))
        of.operands = tuple(operands)
        place.append(len(new))
        new.append(of)
    added = len(new) - len(ir.instructions)
    ir.replace(new, place)
    return added


def join_nested(ir: IR) -> None:
    """Let arrays that are joined to one that is only joined to others be joined at once.

    Parameters
    ----------
    ir : IR
        Dead instructions stay in it; see `IR.drop_dead`.
    """
    instructions = ir.instructions
    if sum([of.op == "concatenate" for of in instructions]) < 2:
        return
    readers = ir.uses()
    taken: set[int] = set()
    for id in range(len(instructions) - 1, -1, -1):
        of = instructions[id]
        if of.op != "concatenate" or id in taken:
            continue
        parts: list[int] = []
        waiting = list(of.operands[::-1])
        while waiting:
            x = waiting.pop()
            part = instructions[x]
            if part.op == "concatenate" and part.attrs == of.attrs and readers[x] == 1:
                taken.add(x)
                waiting += part.operands[::-1]
            else:
                parts.append(x)
        of.operands = tuple(parts)


def _filling(instructions: list[Instruction], readers: list[int], id: int) -> list[int]:
    """Return the additions that lead from zeros to this one and that nothing else reads.

    The first of them may be written there instead.
    """
    chain: list[int] = []
    while instructions[id].op in WRITES and len(instructions[id].attrs) == 2:
        if chain and (readers[id] != 1 or instructions[chain[-1]].op == "put"):
            return []
        chain.append(id)
        id = instructions[id].operands[0]
    base = instructions[id]
    if base.op == "broadcast":
        base = instructions[base.operands[0]]
    is_zero = base.op == "literal" and not base.number
    return chain if is_zero else []


def _along_an_axis(parts: list[Part], shape: Shape) -> tuple[int, tuple[int, int]] | None:
    """Return the axis along which parts follow each other, and how much there is before and behind them.

    Returns None if they do not, or not along the whole of all other axes.
    """
    for axis, length in enumerate(shape):
        before = at = min([part[axis][0] for part in parts])
        for part in sorted(parts, key=lambda part: part[axis][0]):
            wanted = [(0, 1, n) for n in shape]
            wanted[axis] = (at, 1, part[axis][2])
            if any((a, b if n > 1 else 1, n) != want for (a, b, n), want in zip(part, wanted, strict=True)):
                break
            at += part[axis][2]
        else:
            return axis, (before, length - at)
    return None


def held_slices(ir: IR) -> set[int]:
    """Return slices that would keep an array from being written in place, and are small enough to be copied.

    Parameters
    ----------
    ir : IR
        In the order in which it will run.

    Returns
    -------
    set of int
        Positions of slices that are still needed when the array they are of is written to.
    """
    instructions = ir.instructions
    writes = {id: of.operands[0] for id, of in enumerate(instructions) if of.op in WRITES}
    if not writes:
        return set()
    last = [-1] * len(instructions)  # when a value, or a view of it, is read
    for output in ir.outputs:
        last[output] = len(instructions)
    outputs = set(ir.outputs)
    readers: dict[int, list[int]] = {total: [] for total in writes.values()}
    for id in range(len(instructions) - 1, -1, -1):
        at = last[id] if instructions[id].op in VIEWS else id
        for operand in instructions[id].operands:
            last[operand] = max(last[operand], at)
            if operand in readers:
                readers[operand].append(id)
    held: set[int] = set()
    for id, total in writes.items():
        late = [
            x for x in readers[total] if x != id and (last[x] if instructions[x].op in VIEWS else x) >= id
        ]
        if total in outputs or not all(instructions[x].op == "slice" and x < id for x in late):
            continue
        if 2 * sum(instructions[x].size for x in late) <= instructions[total].size:
            held.update(late)
    return held
