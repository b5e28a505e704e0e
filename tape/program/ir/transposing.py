"""Elementwise arithmetic on transposed arrays, computed in the order that the arrays have in memory.

Reading an array across its rows takes several times as long as along them. Where several transposed arrays
meet in elementwise instructions, these are computed in the order of the arrays, and only their result is
transposed. Of a result that is transposed again, or that a product of matrices reads, nothing is moved at
all.
"""

from __future__ import annotations

from tape.program.ir.instructions import IR, Appending, Instruction
from tape.program.ir.regions import Regions
from tape.program.ir.table import ELEMENTWISE

__all__ = ["sink_transposes"]

_SMALLEST, _LARGEST = 1 << 10, 1 << 19
"""Bytes of results: larger ones are written to memory once more than they were before."""
_SHARE = 2
"""An operand with half of the elements of the result is transposed at little cost."""

Axes = tuple[int, ...]


def sink_transposes(ir: IR) -> int:
    """Move transpositions behind elementwise instructions, where there are fewer of them then.

    Parameters
    ----------
    ir : IR
        Changed in place, without dead instructions.

    Returns
    -------
    int
        Number of instructions added.
    """
    if not any(of.op == "transpose" and _may_move(of) for of in ir.instructions):
        return 0
    before = len(ir.instructions)
    movable = _Movable(ir)
    if movable.axes:
        _Sinking(movable).build()
    return len(ir.instructions) - before


def _may_move(transposition: Instruction) -> bool:
    """Return whether a transposition is one of rows and columns, of a size that is worth it."""
    (axes,) = transposition.attrs
    return axes[-1] != len(axes) - 1 and _is_worth_it(transposition)


def _is_worth_it(of: Instruction) -> bool:
    return _SMALLEST <= of.size * of.dtype.itemsize <= _LARGEST


class _Movable:
    """Elementwise instructions that can be computed in another order of axes, where that is worth it.

    Attributes
    ----------
    axes : dict of int to tuple of int
        The transposition that leads from what is computed instead to each result.
    """

    def __init__(self, ir: IR) -> None:
        self.ir, self.old, self.uses = ir, ir.instructions, ir.uses()
        self._transposed = {of.operands[0] for of in self.old if of.op == "transpose"}
        self.axes: dict[int, Axes] = {}
        self._regions = Regions()
        for id, of in enumerate(self.old):
            if of.op in ELEMENTWISE and _is_worth_it(of):
                self._add(id, of)
        self._drop_what_is_not_worth_it()

    def axes_of(self, x: int) -> Axes | None:
        """Return the transposition that a value is, or is computed by; else None."""
        of = self.old[x]
        if of.op == "transpose" and _may_move(of):
            axes: Axes = of.attrs[0]
            return axes
        return self.axes.get(x)

    def is_small(self, x: int, of: Instruction) -> bool:
        """Return whether an operand is transposed at little cost."""
        return self.old[x].size * _SHARE <= of.size

    def is_repeated(self, x: int, of: Instruction) -> bool:
        """Return whether an operand is computed from small ones for this instruction alone."""
        value = self.old[x]
        return (
            value.op in ELEMENTWISE
            and value.shape == of.shape
            and self.uses[x] == 1
            and all(self.is_small(y, of) for y in value.operands)
        )

    def _add(self, id: int, of: Instruction) -> None:
        found = set()
        for x in of.operands:
            axes = self.axes_of(x) if self.old[x].shape == of.shape else None
            if axes is not None:
                found.add(axes)
            elif not (self.is_small(x, of) or self.is_repeated(x, of)):
                return
        if len(found) != 1:
            return
        self._regions.add(id, [x for x in of.operands if x in self.axes])
        (self.axes[id],) = found

    def _drop_what_is_not_worth_it(self) -> None:
        """Keep what reads more transposed arrays than it leaves to be read so."""
        read: dict[int, set[int]] = {}
        left: dict[int, set[int]] = {}
        for id in self.axes:
            transposed = {
                x for x in self.old[id].operands if x not in self.axes and self.axes_of(x) is not None
            }
            read.setdefault(self._regions.root(id), set()).update(transposed)
        for id, of in enumerate(self.old):
            for x in of.operands:
                if x in self.axes and id not in self.axes and not self._is_transposed(id, of):
                    left.setdefault(self._regions.root(x), set()).add(x)
        for x in self.ir.outputs:
            if x in self.axes:
                left.setdefault(self._regions.root(x), set()).add(x)
        worthy = {root for root, arrays in read.items() if len(arrays) > len(left.get(root, ()))}
        self.axes = {id: axes for id, axes in self.axes.items() if self._regions.root(id) in worthy}

    def _is_transposed(self, id: int, of: Instruction) -> bool:
        """Return whether an instruction reads an array in any order, or is only read transposed itself."""
        if of.op == "reshape":
            return self.uses[id] == 1 and id in self._transposed
        return of.op in ("transpose", "matmul", "matmul_add")


class _Sinking(Appending):
    """IR in which transpositions stand behind elementwise instructions."""

    def __init__(self, movable: _Movable) -> None:
        super().__init__()
        self.movable, self.ir, self.old = movable, movable.ir, movable.old
        self.place: list[int] = []

    def build(self) -> None:
        """Append all instructions, and let them be those of the IR."""
        for id, of in enumerate(self.old):
            axes = self.movable.axes.get(id)
            if axes is not None:
                self.place.append(self._transposed(self._in_order(id, axes), axes))
            else:
                self.place.append(self._other(of))
        self.ir.replace(self.new, self.place)
        self.ir.drop_dead()

    def _other(self, of: Instruction) -> int:
        """Append an instruction that is computed as before, a transposition of what it is of in the end."""
        operands = [self.place[x] for x in of.operands]
        if of.op != "transpose":
            return self.push(of.op, operands, of.attrs, of.shape, of.dtype)
        merged = self._of_merged(of)
        return self._transposed(operands[0], of.attrs[0]) if merged is None else merged

    def _in_order(self, id: int, axes: Axes) -> int:
        """Append what an instruction computes, in the order of its transposed operands."""
        of = self.old[id]
        shape = _backwards(of.shape, axes)
        operands = []
        for x in of.operands:
            if self.movable.axes_of(x) == axes and self.old[x].shape == of.shape:
                operands.append(self._transposed(self.place[x], _inverse(axes)))
            elif self.movable.is_small(x, of):
                operands.append(self._small(x, axes))
            else:
                value = self.old[x]
                small = [self._small(y, axes) for y in value.operands]
                operands.append(self.push(value.op, small, value.attrs, shape, value.dtype))
        return self.push(of.op, operands, of.attrs, shape, of.dtype)

    def _small(self, x: int, axes: Axes) -> int:
        """Append a value that is broadcast, with its axes in another order."""
        of, at = self.old[x], self.place[x]
        if of.size == 1:
            return at
        shape = (1,) * (len(axes) - len(of.shape)) + of.shape
        if shape != of.shape:
            at = self.push("reshape", (at,), (), shape, of.dtype)
        return self._transposed(at, _inverse(axes))

    def _transposed(self, at: int, axes: Axes) -> int:
        """Append the transposition of a value, of what it is itself the transposition of at best."""
        of = self.new[at]
        shape = tuple([of.shape[k] for k in axes])
        if of.op == "transpose":
            (at,), (first,) = of.operands, of.attrs
            axes = tuple([first[k] for k in axes])
        if axes == tuple(range(len(axes))):
            return at
        return self.push("transpose", (at,), (axes,), shape, of.dtype)

    def _of_merged(self, of: Instruction) -> int | None:
        """Append a transposition before the merging of axes, if that is of a transposition too."""
        at = self.place[of.operands[0]]
        merged = self.new[at]
        if merged.op != "reshape" or self.new[merged.operands[0]].op != "transpose":
            return None
        (source,) = merged.operands
        groups = _groups(self.new[source].shape, merged.shape)
        if groups is None:
            return None
        axes = tuple([axis for k in of.attrs[0] for axis in groups[k]])
        return self.push("reshape", (self._transposed(source, axes),), (), of.shape, of.dtype)


def _groups(shape: Axes, merged: Axes) -> list[list[int]] | None:
    """Return which axes are merged into each one; None if axes are split.

    Examples
    --------
    >>> from tape.program.ir.transposing import _groups
    >>> _groups((2, 3, 4), (2, 12)), _groups((2, 6), (4, 3))
    ([[0], [1, 2]], None)
    """
    groups: list[list[int]] = []
    axis = 0
    for length in merged:
        group: list[int] = []
        left = length
        while left > 1 and axis < len(shape):
            if left % shape[axis]:
                return None
            left //= shape[axis]
            group.append(axis)
            axis += 1
        groups.append(group)
    if groups:
        groups[-1] += range(axis, len(shape))  # of length one
    return groups


def _backwards(shape: Axes, axes: Axes) -> Axes:
    """Return the shape of what has this shape once it is transposed."""
    return tuple([shape[k] for k in _inverse(axes)])


def _inverse(axes: Axes) -> Axes:
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))
