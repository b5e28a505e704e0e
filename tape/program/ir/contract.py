"""`contract`: merges scaling, transposition and addition into products of matrices, one call of BLAS each.

Only products with a single use are merged. A sum of products becomes accumulation in place.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from tape.program.ir.costs import GROUPED_BYTES
from tape.program.ir.instructions import IR, Instruction
from tape.program.ir.promotion import aligned
from tape.program.ir.table import ELEMENTWISE, VIEWS, typed

MOST_SCALE = 1e6
"""Largest scale that moves from the factors to the product: sums that are scaled later overflow earlier."""
_FEWEST_COLUMNS, _WORTH_A_KERNEL = 8, 1 << 10  # of weighted sums


def contract(ir: IR) -> int:
    """Merge products of matrices with their scaling, transposition and addition, and sums with a product.

    These are ``factor * (a @ b)``, ``(factor * a) @ b``, ``(a @ b).T``, ``total ± a @ b``, ``sum(x * y)`` and
    ``sum(x * weights)``.

    Parameters
    ----------
    ir : IR
        Changed in place: ``matmul`` gets the attribute ``(factor,)``; ``matmul_add`` with operands total,
        a, b and ``sum_product`` with the attributes of a fold appear.

    Returns
    -------
    int
        Number of views added.
    """
    added = 0
    instructions = ir.instructions
    if all(instruction.op not in ("matmul", "fold") for instruction in instructions):
        return added
    if any(instruction.op == "matmul" for instruction in instructions):
        _move_scales(ir)
        _merge_transposes(ir)
        added = _transpose_products(ir)
        instructions = ir.instructions
    uses = ir.uses()
    for id, instruction in enumerate(instructions):
        if instruction.op == "fold":
            instructions[id] = _summed(instructions, instruction, uses)
            continue
        for k, operand in enumerate(instruction.operands):
            product = instructions[operand]
            if product.op != "matmul" or uses[operand] != 1 or product.shape != instruction.shape:
                continue
            if is_of_vectors(product):
                continue
            merged = _merged(instructions, instruction, k, product)
            if merged is not None:
                instructions[id] = merged
                break
    ir.drop_dead()
    return added


def is_of_vectors(product: Instruction) -> bool:
    """Return whether a product is a row or a column: gemv takes a fraction of gemm's time, without adding."""
    return len(product.shape) == 2 and min(product.shape) == 1


def _summed(instructions: list[Instruction], fold: Instruction, uses: list[int]) -> Instruction:
    """Return a `sum_product` for the sum of a product with no other use; else the fold itself."""
    (source,) = fold.operands
    product = instructions[source]
    if fold.attrs[0] != "sum" or product.op != "multiply" or uses[source] != 1:
        return fold
    factors = [instructions[x] for x in product.operands]
    if product.dtype not in (np.float64, np.float32):
        return fold
    if any(factor.shape != product.shape for factor in factors):
        return _weighted(instructions, fold, product, uses)
    if product.size * product.dtype.itemsize > GROUPED_BYTES:  # worth it only if the factors are in memory
        mine = product.operands.count
        for x, factor in zip(product.operands, factors, strict=True):
            if factor.op in ELEMENTWISE and uses[x] == mine(x):
                return fold
    return Instruction("sum_product", product.operands, fold.attrs, fold.shape, fold.dtype)


def _weighted(
    instructions: list[Instruction], fold: Instruction, product: Instruction, uses: list[int]
) -> Instruction:
    """Return a kernel for a sum of an array times weights that repeat along some axes; else the fold."""
    for x, y in (product.operands, product.operands[::-1]):
        array, weights = instructions[x], instructions[y]
        if weights.op == "broadcast":
            (y,) = weights.operands
            weights = instructions[y]
        is_in_memory = array.op != "broadcast" and (array.op not in ELEMENTWISE or uses[x] > 1)
        if array.shape != product.shape or not is_in_memory:
            continue
        lengths = _lengths_of_weighted(product.shape, weights.shape, fold.attrs[1])
        if lengths is not None:
            return Instruction("kernel", (x, y), ("weighted_sums", lengths), fold.shape, fold.dtype)
    return fold


def _lengths_of_weighted(
    shape: tuple[int, ...], weights: tuple[int, ...], axes: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Return the parameters of the kernel for a weighted sum; None if there is none, or it is not worth it.

    Weights have the axes that are summed, and the last one. They repeat along axes side by side before those,
    behind them, or both.
    """
    has = [length > 1 for length in aligned(weights, len(shape))]
    long = [axis for axis, length in enumerate(shape) if length > 1]
    before = [axis for axis in long if axis < axes[0]]
    behind = [axis for axis in long if axis > axes[-1]]
    groups = [
        [axis for axis in before if has[axis]],
        [axis for axis in before if not has[axis]],
        [axis for axis in long if axes[0] <= axis <= axes[-1]],
        [axis for axis in behind if not has[axis]],
        [axis for axis in behind if has[axis]],
    ]
    lengths = tuple([prod([shape[axis] for axis in group]) for group in groups])
    _, outer, _, rows, columns = lengths
    is_in_order = [axis for group in groups for axis in group] == long
    if not is_in_order or not all(has[axis] for axis in groups[2]) or outer * rows == 1:
        return None
    return lengths if columns >= _FEWEST_COLUMNS and prod(shape) >= _WORTH_A_KERNEL else None


def _merged(
    instructions: list[Instruction], user: Instruction, k: int, product: Instruction
) -> Instruction | None:
    """Return one instruction for a product and its only user, of which it is operand ``k``; else None."""
    (factor,) = product.attrs or (1.0,)
    shape, dtype = user.shape, user.dtype
    if user.op == "negative":
        return Instruction("matmul", product.operands, (-factor,), shape, dtype)
    if user.op not in ("multiply", "add", "subtract"):
        return None
    other_id = user.operands[1 - k]
    other = instructions[other_id]
    if user.op == "multiply":
        if other.op != "literal":
            return None
        factor *= float(other.number)
        if not _is_exact(factor, dtype):
            return None
        return Instruction("matmul", product.operands, (factor,), shape, dtype)
    if user.op == "subtract" and k == 0:
        return None
    sign = -1.0 if user.op == "subtract" else 1.0
    return Instruction("matmul_add", (other_id, *product.operands), (sign * factor,), shape, dtype)


def _is_exact(factor: float, dtype: np.dtype[Any]) -> bool:
    """Return whether a factor is normal in this dtype: no digits are lost."""
    limits = np.finfo(dtype)
    return not factor or bool(limits.tiny <= abs(factor) <= limits.max)


# ---- scaled factors --------------------------------------------------------------------------------


def _move_scales(ir: IR) -> None:
    """Move the scaling of factors into products, where only products read the factor or views of it."""
    instructions = ir.instructions
    scaled: dict[int, tuple[int, float]] = {}  # what is scaled, and by what
    for instruction in instructions:
        if instruction.op != "matmul" or is_of_vectors(instruction):
            continue
        for id in instruction.operands:
            while instructions[id].op in VIEWS and instructions[id].op != "reals":
                (id,) = instructions[id].operands
            found = _scale(instructions, id)
            if found is not None:
                scaled[id] = found
    if not scaled:
        return
    readers: list[list[int]] = [[] for _ in instructions]
    for id, instruction in enumerate(instructions):
        for operand in instruction.operands:
            readers[operand].append(id)
    outputs = set(ir.outputs)
    for id, (source, factor) in scaled.items():
        products = list(_products_of(instructions, readers, outputs, id))
        if None in products:
            continue
        factors: dict[int, float] = {}
        for product in products:
            assert product is not None
            before = instructions[product].attrs or (1.0,)
            factors[product] = factors.get(product, before[0]) * factor
        if not all(1 / MOST_SCALE <= abs(new) <= MOST_SCALE for new in factors.values()):
            continue
        for reader in readers[id]:
            of = instructions[reader]
            of.operands = tuple([source if operand == id else operand for operand in of.operands])
        for product, new in factors.items():
            instructions[product].attrs = (new,)


def _scale(instructions: list[Instruction], id: int) -> tuple[int, float] | None:
    """Return the value and the number of which this is the product, else None."""
    instruction = instructions[id]
    if instruction.op != "multiply":
        return None
    for literal, source in (instruction.operands, instruction.operands[::-1]):
        if instructions[literal].op == "literal" and instructions[source].shape == instruction.shape:
            return source, float(instructions[literal].number)
    return None


def _products_of(
    instructions: list[Instruction], readers: list[list[int]], outputs: set[int], id: int
) -> Iterator[int | None]:
    """Yield the products that read a value or a view of it, once for each read; None for other readers."""
    seen = [id]
    while seen:
        value = seen.pop()
        if value in outputs:
            yield None
        for reader in readers[value]:
            op = instructions[reader].op
            if op in VIEWS:
                seen.append(reader)
            else:
                yield reader if op == "matmul" and not is_of_vectors(instructions[reader]) else None


def _merge_transposes(ir: IR) -> None:
    """Let one transpose stand for all of a value: without its scale, a factor may be another one."""
    first: dict[tuple[int, ...], int] = {}
    same: dict[int, int] = {}
    for id, instruction in enumerate(ir.instructions):
        instruction.operands = tuple([same.get(x, x) for x in instruction.operands])
        if _is_transpose(instruction) and first.setdefault(instruction.operands, id) != id:
            same[id] = first[instruction.operands]
    ir.outputs = [same.get(id, id) for id in ir.outputs]


# ---- transposed products -----------------------------------------------------------------------------


def _transpose_products(ir: IR) -> int:
    """Compute products that are only used transposed as products of transposes; return how many are new."""
    old, uses = ir.instructions, ir.uses()
    turned = {
        id
        for id, of in enumerate(old)
        if _is_transpose(of) and old[of.operands[0]].op == "matmul" and uses[of.operands[0]] == 1
    }
    if not turned:
        return 0
    new: list[Instruction] = []
    place: list[int] = []
    turns: dict[int, int] = {}  # where the transpose of each is
    for id, instruction in enumerate(old):
        if id in turned:
            product = new[place[instruction.operands[0]]]
            factors = [_transposed(new, x, turns) for x in product.operands[::-1]]
            instruction = Instruction(
                "matmul", tuple(factors), product.attrs, instruction.shape, instruction.dtype
            )
        else:
            instruction.operands = tuple([place[x] for x in instruction.operands])
            if _is_transpose(instruction) and turns.setdefault(instruction.operands[0], len(new)) < len(new):
                place.append(turns[instruction.operands[0]])  # a product has needed it before
                continue
        place.append(len(new))
        new.append(instruction)
    ir.replace(new, place)
    return len(new) - len(old)


def _transposed(instructions: list[Instruction], id: int, turns: dict[int, int]) -> int:
    """Return the transpose of a matrix, or of each of a stack."""
    x = instructions[id]
    if _is_transpose(x):
        return x.operands[0]
    if id in turns:
        return turns[id]
    turns[id] = len(instructions)
    ndim = len(x.shape)
    order = (*range(ndim - 2), ndim - 1, ndim - 2)
    instructions.append(typed("transpose", (id,), [x], (order,)))
    return len(instructions) - 1


def _is_transpose(instruction: Instruction) -> bool:
    """Return whether this is the transpose of a matrix, or of each of a stack."""
    if instruction.op != "transpose":
        return False
    (order,) = instruction.attrs
    ndim = len(order)
    return tuple(order) == (*range(ndim - 2), ndim - 1, ndim - 2)
