"""Encoders of what is done to few elements: an entry of scalar code for each, or one for a short array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tape.kernels.codes import LETTERS, MOST_SHORT, SCALARS, SHORT
from tape.program.ir.instructions import Instruction
from tape.program.native.opcodes import opcode
from tape.program.plan.layouts import broadcast_strides, c_strides, offsets
from tape.program.plan.numbers import FEW

if TYPE_CHECKING:
    from tape.program.runtime.writer import Writer

Recipe = list[tuple[int, int, int, int, int, int]]
"""How an instruction is computed number by number. Of each entry: the operation; of two operands which one
it is, and how far from its first element, in bytes; how far from the first element of the result."""

_SCALAR = opcode("scalar")
_SHORT_LETTERS = {np.dtype(np.float64): "f", np.dtype(np.float32): "s"}
_SINGLE, _ARRAY = (0, 0), (1, 0)  # the stride of an operand, in elements, and what is left in bytes
_SHORT_FORMS = {
    (_ARRAY,): "arrays",
    (_ARRAY, _ARRAY): "arrays",
    (_SINGLE, _ARRAY): "first",
    (_ARRAY, _SINGLE): "second",
}
_MOST_BYTES = max(dtype.itemsize for dtype in LETTERS)  # of a number
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
        if x:
            recipe.append((_CONDITION, 0, given[0][k], 0, given[0][k], 0))
        recipe.append((code, x, given[x][k], y, given[y][k], out))
    return recipe


def _elements(w: Writer, x: int, reader: Instruction) -> tuple[int, ...]:
    """Return how far the elements of an operand are from its first one, in the order of the result."""
    shape, strides = w.plan.instructions[x].shape, w.place(x).strides
    return offsets(reader.shape, broadcast_strides(shape, strides, reader.shape))


def write(w: Writer, recipe: Recipe, operands: Sequence[int], out: int) -> bool:
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
    rows, count = [], len(recipe)
    written: set[int] = set()
    for code, i, x, j, y, at in recipe:
        first, second, end = operands[i] + x, operands[j] + y, out + at
        if count > 1:
            if first in written or second in written:
                return False
            if code != _CONDITION:
                written.add(end)
        rows.append([_SCALAR, code, first, second, first if code == _CONDITION else end])
    w.rows += rows
    w.origins += [w.origin] * count
    return True


def without_repeated_conditions(entries: Sequence[list[int]]) -> list[list[int]]:
    """Return entries of scalar code without conditions that hold already, as of elements chosen in turn."""
    kept, known = [], -1
    for entry in entries:
        kind, x, _, out = entry
        if kind != _CONDITION:
            if out <= known < out + _MOST_BYTES:  # it may be another one from here on
                known = -1
        elif x == known:
            continue
        else:
            known = x
        kept.append(entry)
    return kept


def short_code(name: str, dtypes: Sequence[np.dtype[Any]], count: int, strides: Sequence[int]) -> int | None:
    """Return the code of a ufunc on short arrays; None for others.

    Parameters
    ----------
    name : str
        Of the ufunc.
    dtypes : sequence of numpy.dtype
        Of its operands and its result.
    count : int
        Elements of the result.
    strides : sequence of int
        Of each operand in the order of the result, in bytes.
    """
    dtype = dtypes[-1]
    if dtype not in _SHORT_LETTERS or set(dtypes) != {dtype} or not 1 < count <= MOST_SHORT:
        return None
    form = _SHORT_FORMS.get(tuple([divmod(stride, dtype.itemsize) for stride in strides]))
    return None if form is None else SHORT.get((name, _SHORT_LETTERS[dtype], form))


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


def copy(w: Writer, source: int, instruction: Instruction, out: int) -> bool:
    """Write entries that fill a result of few elements with an operand, broadcast if it is smaller.

    Return False, and write nothing, if there are more elements, their dtype has no scalar code, or one would
    be overwritten before it is read.
    """
    if instruction.size > FEW:
        return False
    return _move(w, source, _elements(w, source, instruction), out, _in_order(instruction))


def put(w: Writer, x: int, strides: Sequence[int], out: int) -> bool:
    """Write entries that store a contiguous operand of few elements to a part of a result.

    Return False, and write nothing, where `copy` does, or where the part is not aligned.
    """
    source = w.plan.instructions[x]
    if source.size > FEW or out % source.dtype.itemsize:
        return False
    return _move(w, x, _in_order(source), out, offsets(source.shape, tuple(strides)))


def add(w: Writer, x: int, strides: Sequence[int], out: int) -> bool:
    """Write entries that add a contiguous operand of few elements to a part, as `put` stores it there."""
    source = w.plan.instructions[x]
    code = _ADDS.get(source.dtype)
    if code is None or source.size > FEW or out % source.dtype.itemsize:
        return False
    for step, end in zip(_in_order(source), offsets(source.shape, tuple(strides)), strict=True):
        w.number(code, w.at(x) + step, out + end, out + end)
    return True


def _in_order(value: Instruction) -> tuple[int, ...]:
    return offsets(value.shape, c_strides(value.shape, value.dtype.itemsize))


def _move(w: Writer, x: int, steps: Sequence[int], out: int, ends: Sequence[int]) -> bool:
    code = _MOVES.get(w.plan.instructions[x].dtype)
    if code is None:
        return False
    return write(w, [(code, 0, a, 0, a, b) for a, b in zip(steps, ends, strict=True)], (w.at(x),), out)
