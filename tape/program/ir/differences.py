"""Sums over the differences of pairs, by kernels that write none of the differences to memory.

The differences between all rows of one array and all rows of another, ``x[:, None] - y``, are as many times
larger than the arrays as these have rows. Often nothing but sums is asked of them: those of their squares,
which are the distances, and the derivatives of those by either array, which are sums with weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tape.program.ir.contract import MOST_SCALE
from tape.program.ir.instructions import IR, Appending, Instruction, source_of
from tape.program.ir.promotion import aligned, broadcast_shapes
from tape.program.ir.table import typed

__all__ = ["sum_differences"]

_WORTH_IT = 1 << 10
"""Differences from which on a kernel is worth it."""
_LONGEST = 1 << 12
"""Squares that are summed up, at most: beyond that float32 would lose digits."""

FIRST, SECOND, BOTH, NEITHER = range(4)
"""Which operands of a difference have an axis, of more elements than one."""

Axes = tuple[int, ...]


def sum_differences(ir: IR) -> int:
    """Replace sums of differences that nothing else is asked of by kernels.

    A difference ``d`` is one of arrays of which each has an axis that the other one does not. The sums are
    those of ``d * d`` over axes that both have, and those of ``weights * d`` over all axes that one operand
    has alone, where the weights do not have some axis of both. Numbers and signs may be among the factors.

    Parameters
    ----------
    ir : IR
        Changed in place.

    Returns
    -------
    int
        Number of instructions added.
    """
    old = ir.instructions
    found = [pairs for id in _subtractions(old) if (pairs := _pairs(id, old)) is not None]
    if not found:
        return 0
    readers: list[list[int]] = [[] for _ in old]
    for id, of in enumerate(old):
        for x in dict.fromkeys(of.operands):
            readers[x].append(id)
    sums: dict[int, _Sum] = {}
    for pairs in found:
        sums.update(_sums(pairs, old, readers, frozenset(ir.outputs)))
    if not sums:
        return 0
    _Replacing(ir, sums).run()
    added = len(ir.instructions) - len(old)
    ir.drop_dead()
    return added


class _Pairs(NamedTuple):
    """A difference: where it is, its operands without axes that are only repeated, and who has each axis."""

    id: int
    operands: tuple[int, int]
    owners: tuple[int, ...]

    def axes(self, *owners: int) -> Axes:
        return tuple([axis for axis, owner in enumerate(self.owners) if owner in owners])


class _Sum(NamedTuple):
    """A sum over axes, of squares where there are no weights; numbers are in the scale."""

    pairs: _Pairs
    axes: Axes
    weights: tuple[int, ...]
    scale: float


# ---- finding them --------------------------------------------------------------------------------------


def _subtractions(instructions: Sequence[Instruction]) -> list[int]:
    return [id for id, of in enumerate(instructions) if of.op == "subtract" and of.size >= _WORTH_IT]


def _pairs(id: int, instructions: Sequence[Instruction]) -> _Pairs | None:
    """Return the pairs that a subtraction is of, None if one operand has all axes."""
    of = instructions[id]
    if of.dtype not in (np.float64, np.float32):
        return None
    sources = [source_of(instructions, x) for x in of.operands]
    first, second = (aligned(instructions[x].shape, len(of.shape)) for x in sources)
    owners = [
        NEITHER if length == 1 else BOTH if a == b else FIRST if a > 1 else SECOND
        for length, a, b in zip(of.shape, first, second, strict=True)
    ]
    if not {FIRST, SECOND, BOTH} <= set(owners):
        return None
    return _Pairs(id, (sources[0], sources[1]), tuple(owners))


def _sums(
    pairs: _Pairs,
    instructions: Sequence[Instruction],
    readers: Sequence[Sequence[int]],
    outputs: frozenset[int],
) -> dict[int, _Sum]:
    """Return all sums that are asked of differences; none if anything else is."""
    products: dict[int, tuple[int, tuple[int, ...], float]] = {pairs.id: (1, (), 1.0)}
    sums: dict[int, _Sum] = {}
    waiting = [pairs.id]
    while waiting:
        id = waiting.pop()
        if id in outputs:
            return {}
        power, weights, scale = products[id]
        for reader in readers[id]:
            of = instructions[reader]
            if of.op == "fold":
                found = _Sum(pairs, _long(of.attrs[1], pairs), weights, scale)
                if of.attrs[0] != "sum" or not _is_known(found, power, instructions):
                    return {}
                sums[reader] = found
                continue
            product = _product(id, of, instructions, power, weights, scale)
            if product is None or of.shape != instructions[pairs.id].shape:
                return {}
            products[reader] = product
            waiting.append(reader)
    return sums


def _product(
    id: int, of: Instruction, instructions: Sequence[Instruction], power: int, weights: Axes, scale: float
) -> tuple[int, Axes, float] | None:
    """Return the power of the difference, the weights and the number in a product with this value."""
    if of.op == "negative":
        return power, weights, -scale
    if of.op == "square" or (of.op == "multiply" and of.operands == (id, id)):
        return (2, (), 1.0) if power == 1 and not weights and scale == 1.0 else None
    if of.op != "multiply":
        return None
    (other,) = [x for x in of.operands if x != id]
    while (scaled := _multiple_of(instructions, other)) is not None and _is_moderate(scale * scaled[1]):
        other, scale = scaled[0], scale * scaled[1]
    factor = instructions[source_of(instructions, other)]
    if factor.op == "literal":
        return power, weights, scale * float(factor.number)
    return power, (*weights, other), scale


def _multiple_of(instructions: Sequence[Instruction], x: int) -> tuple[int, float] | None:
    """Return what a value is a multiple of, and the number; None if it is none."""
    of = instructions[source_of(instructions, x)]
    if of.op == "negative":
        return of.operands[0], -1.0
    if of.op == "multiply":
        for number, other in (of.operands, of.operands[::-1]):
            literal = instructions[source_of(instructions, number)]
            if literal.op == "literal" and instructions[other].shape == of.shape:
                return other, float(literal.number)
    return None


def _is_moderate(scale: float) -> bool:
    return 1 / MOST_SCALE <= abs(scale) <= MOST_SCALE


def _long(axes: Axes, pairs: _Pairs) -> Axes:
    return tuple([axis for axis in axes if pairs.owners[axis] != NEITHER])


def _is_known(of: _Sum, power: int, instructions: Sequence[Instruction]) -> bool:
    """Return whether there is a kernel for a sum."""
    pairs, shape = of.pairs, instructions[of.pairs.id].shape
    if power == 2:
        is_of_both = bool(of.axes) and set(of.axes) <= set(pairs.axes(BOTH))
        return is_of_both and of.scale == 1.0 and not of.weights and _count(shape, of.axes) <= _LONGEST
    if of.axes not in (pairs.axes(FIRST), pairs.axes(SECOND)) or not of.weights:
        return False
    if not _is_moderate(of.scale):
        return False
    weights = _weights_shape(of, instructions)
    return any(weights[axis] == 1 for axis in pairs.axes(BOTH))


def _weights_shape(of: _Sum, instructions: Sequence[Instruction]) -> tuple[int, ...]:
    """Return the shape of the product of the weights, with an axis for each of the difference."""
    shapes = [instructions[source_of(instructions, x)].shape for x in of.weights]
    return aligned(broadcast_shapes(*shapes), len(of.pairs.owners))


def _count(shape: Sequence[int], axes: Axes) -> int:
    return prod([shape[axis] for axis in axes])


# ---- replacing them ------------------------------------------------------------------------------------


class _Replacing(Appending):
    """The IR with kernels in place of sums."""

    def __init__(self, ir: IR, sums: dict[int, _Sum]) -> None:
        self.ir, self.old, self.sums = ir, ir.instructions, sums
        super().__init__()
        self.place: list[int] = []

    def run(self) -> None:
        for id, of in enumerate(self.old):
            if id in self.sums:
                self.place.append(self._kernel(self.sums[id], of))
                continue
            self.place.append(len(self.new))
            operands = tuple([self.place[x] for x in of.operands])
            self.new.append(Instruction(of.op, operands, of.attrs, of.shape, of.dtype))
        self.ir.replace(self.new, self.place)

    def _kernel(self, of: _Sum, fold: Instruction) -> int:
        """Append a kernel, and views of its operands and its result; return where the result is."""
        found, axes = self._weighted(of, fold.dtype) if of.weights else self._squares(of, fold.dtype)
        return self._reshaped(self._transposed(found, axes, sorted(axes)), fold.shape)

    def _squares(self, of: _Sum, dtype: Any) -> tuple[int, Axes]:
        """Append the sums of squares; return where they are, and their axes."""
        pairs, (x, y) = of.pairs, of.pairs.operands
        batch = tuple([axis for axis in pairs.axes(BOTH) if axis not in of.axes])
        rows, columns = pairs.axes(FIRST), pairs.axes(SECOND)
        if columns < rows:  # as the result is to lie in memory
            (x, y), rows, columns = (y, x), columns, rows
        operands = (
            self._arranged(x, pairs, (*batch, *rows, *of.axes)),
            self._arranged(y, pairs, (*batch, *of.axes, *columns)),
        )
        parts = (batch, rows, columns, of.axes)
        return self._call("squared_distances", operands, parts, (), pairs, dtype)

    def _weighted(self, of: _Sum, dtype: Any) -> tuple[int, Axes]:
        """Append the sums with weights; return where they are, and their axes."""
        pairs, (x, y), scale = of.pairs, of.pairs.operands, of.scale
        rows = pairs.axes(SECOND)
        if of.axes == rows:
            (x, y), rows, scale = (y, x), pairs.axes(FIRST), -scale
        shape = _weights_shape(of, self.old)
        batch = tuple([axis for axis in pairs.axes(BOTH) if shape[axis] > 1])
        columns = tuple([axis for axis in pairs.axes(BOTH) if shape[axis] == 1])
        is_turned = rows < of.axes
        last = (*rows, *of.axes) if is_turned else (*of.axes, *rows)
        lengths = self.old[pairs.id].shape
        is_less_before = prod(shape) <= _count(lengths, (*batch, *rows, *columns))
        weights = self._weights(of.weights, dtype, scale if is_less_before else 1.0)
        operands = (
            self._repeated(weights, pairs, (*batch, *last)),
            self._arranged(x, pairs, (*batch, *of.axes, *columns)),
            self._arranged(y, pairs, (*batch, *rows, *columns)),
        )
        parts = (batch, rows, columns, of.axes)
        found, axes = self._call("weighted_differences", operands, parts, (int(is_turned),), pairs, dtype)
        if not is_less_before:
            found = self._scaled(found, abs(scale), dtype)
            if scale < 0:  # and 0 stays 0, as of terms that are negative themselves
                found = self._of_two("subtract", self._number(0.0, dtype), found)
        return found, axes

    def _call(
        self,
        name: str,
        operands: tuple[int, ...],
        parts: tuple[Axes, ...],
        others: Axes,
        pairs: _Pairs,
        dtype: Any,
    ) -> tuple[int, Axes]:
        batch, rows, columns, _ = parts
        shape = self.old[pairs.id].shape
        parameters = (*[_count(shape, axes) for axes in parts], *others)
        axes = (*batch, *rows, *columns)
        lengths = tuple([shape[axis] for axis in axes])
        return self.push("kernel", operands, (name, parameters), lengths, dtype), axes

    def _weights(self, factors: Axes, dtype: Any, scale: float) -> int:
        """Append the product of weights and a number."""
        first, *others = [self.place[source_of(self.old, x)] for x in factors]
        found = self._scaled(first, scale, dtype)
        for x in others:
            found = self._of_two("multiply", found, x)
        return found

    def _scaled(self, x: int, scale: float, dtype: Any) -> int:
        """Append the product of a number and a value."""
        if scale == 1.0:
            return x
        if scale == -1.0:
            of = self.new[x]
            return self.push("negative", (x,), (), of.shape, of.dtype)
        return self._of_two("multiply", self._number(scale, dtype), x)

    def _number(self, number: float, dtype: Any) -> int:
        return self.push("literal", (), (dtype.char, dtype.type(number).tobytes()), (), dtype)

    def _of_two(self, name: str, x: int, y: int) -> int:
        of = typed(name, (x, y), [self.new[x], self.new[y]])
        return self.push(name, of.operands, (), of.shape, of.dtype)

    def _repeated(self, x: int, pairs: _Pairs, axes: Axes) -> int:
        """Append weights with these axes in this order, repeated along those that they do not have."""
        shape = self.old[pairs.id].shape
        given = aligned(self.new[x].shape, len(shape))
        order = sorted(axes)
        x = self._reshaped(x, tuple([given[axis] for axis in order]))
        if any(given[axis] != shape[axis] for axis in order):
            x = self.push("broadcast", (x,), (), tuple([shape[axis] for axis in order]), self.new[x].dtype)
        return self._transposed(x, order, axes)

    def _arranged(self, x: int, pairs: _Pairs, axes: Axes) -> int:
        """Append an operand of a difference with its axes in this order."""
        shape, order = self.old[pairs.id].shape, sorted(axes)
        x = self._reshaped(self.place[x], tuple([shape[axis] for axis in order]))
        return self._transposed(x, order, axes)

    def _transposed(self, x: int, given: Sequence[int], wanted: Sequence[int]) -> int:
        """Append a value whose axes are given, with the wanted order of them."""
        order = tuple([given.index(axis) for axis in wanted])
        if order == tuple(range(len(order))):
            return x
        of = self.new[x]
        return self.push("transpose", (x,), (order,), tuple([of.shape[k] for k in order]), of.dtype)

    def _reshaped(self, x: int, shape: tuple[int, ...]) -> int:
        of = self.new[x]
        while of.op == "reshape":
            (x,) = of.operands
            of = self.new[x]
        return x if of.shape == shape else self.push("reshape", (x,), (), shape, of.dtype)
