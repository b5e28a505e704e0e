"""Encoders of what is done to few elements: an entry of scalar code for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tape.kernels.codes import LETTERS, SCALARS
from tape.program.ir.instructions import Instruction
from tape.program.plan.layouts import broadcast_strides, offsets
from tape.program.plan.numbers import FEW

if TYPE_CHECKING:
    from tape.program.runtime.writer import Writer

Recipe = list[tuple[int, int, int, int, int, int]]
"""How an instruction is computed number by number. Of each entry: the operation; of two operands which one
it is, and how far from its first element, in bytes; how far from the first element of the result."""

_CONDITION = SCALARS["condition", "b->"]
_MOVES = {dtype: SCALARS["positive", f"{letter}->{letter}"] for dtype, letter in LETTERS.items()}
_ADDS = {dtype: SCALARS.get(("add", f"{letter}{letter}->{letter}")) for dtype, letter in LETTERS.items()}
_ADD, _PLUS_ZERO = SCALARS["add", "ff->f"], SCALARS["plus_zero", "f->f"]
_MULTIPLY_ADD, _MULTIPLY_PLUS_ZERO = SCALARS["multiply_add", "ff->f"], SCALARS["multiply_plus_zero", "ff->f"]


def recipe_of(w: Writer, code: int, id: int, operands: Sequence[int]) -> Recipe:
    """Return the recipe of an elementwise instruction, which depends on shapes and layouts alone."""
    instruction = w.plan.instructions[id]
    given = [_elements(w, x, instruction) for x in operands]
    x, y = (1, 2) if instruction.op == "where" else (0, len(operands) - 1)
    recipe: Recipe = []
    for k, out in enumerate(offsets(instruction.shape, w.place(id).strides)):
        if x and (k == 0 or given[0][k] != given[0][k - 1]):
            recipe.append((_CONDITION, 0, given[0][k], 0, given[0][k], 0))
        recipe.append((code, x, given[x][k], y, given[y][k], out))
    return recipe


def _elements(w: Writer, x: int, reader: Instruction) -> tuple[int, ...]:
    """Return how far the elements of an operand are from its first one, in the order of the result."""
    shape, strides = w.plan.instructions[x].shape, w.place(x).strides
    return offsets(reader.shape, broadcast_strides(shape, strides, reader.shape))


def compute(w: Writer, recipe: Recipe, operands: Sequence[int], out: int) -> bool:
    """Write the entries of a recipe; return False if one would overwrite what a later one reads.

    Parameters
    ----------
    w : Writer
        Takes the rows.
    recipe : Recipe
        For these operands.
    operands, out : int
        Addresses of first elements, as operands of rows.
    """
    if len(recipe) > 1 and _overwrites(recipe, operands, out):
        return False
    for code, i, x, j, y, at in recipe:
        first = operands[i] + x
        w.number(code, first, operands[j] + y, first if code == _CONDITION else out + at)
    return True


def _overwrites(recipe: Recipe, operands: Sequence[int], out: int) -> bool:
    written: set[int] = set()
    for code, i, x, j, y, at in recipe:
        if operands[i] + x in written or operands[j] + y in written:
            return True
        if code != _CONDITION:
            written.add(out + at)
    return False


def add_up(w: Writer, id: int, instruction: Instruction, before: int, reduced: int, after: int) -> None:
    """Write the entries of a short sum of numbers, or of products."""
    x, y = (w.at(operand) for operand in (instruction.operands[0], instruction.operands[-1]))
    is_product = instruction.op == "sum_product"
    for k in range(reduced):
        for outer in range(before):
            for inner in range(after):
                out = w.at(id) + 8 * (outer * after + inner)
                at = 8 * ((outer * reduced + k) * after + inner)
                if is_product:
                    w.number(_MULTIPLY_ADD if k else _MULTIPLY_PLUS_ZERO, x + at, y + at, out)
                else:
                    w.number(_ADD if k else _PLUS_ZERO, x + at, out if k else x + at, out)


def move(w: Writer, source: Instruction, x: int, steps: Sequence[int], out: int, ends: Sequence[int]) -> bool:
    """Write entries that copy few elements; return whether there are such.

    Parameters
    ----------
    w : Writer
        Takes the rows.
    source : Instruction
        Its dtype is that of the elements.
    x, out : int
        Addresses of the first elements, as operands of rows.
    steps, ends : sequence of int
        How far each element is from the first one, in bytes: where it is, and where it goes.
    """
    code = _MOVES.get(source.dtype)
    if code is None:
        return False
    return compute(w, [(code, 0, a, 0, a, b) for a, b in zip(steps, ends, strict=True)], (x,), out)


def add_to(w: Writer, source: Instruction, x: int, out: int, ends: Sequence[int]) -> bool:
    """Write entries that add few elements, in order, to others; return whether there are such."""
    code, size = _ADDS.get(source.dtype), source.dtype.itemsize
    if code is None:
        return False
    for k, at in enumerate(ends):
        w.number(code, x + k * size, out + at, out + at)
    return True


def are_few(count: int) -> bool:
    """Return whether so many elements are copied number by number."""
    return 0 < count <= FEW
