"""Products that scale and add what they would otherwise hand on: one call of BLAS for several instructions.

Only products that nobody else uses are taken in. A sum of products becomes one accumulation in place.
"""

from __future__ import annotations

import numpy as np

from tape.program.instructions import Instruction, Listing

__all__ = ["contract"]


_SMALL_BYTES = 16384  # of a product that is computed at once, not in blocks


def contract(listing: Listing) -> None:
    """Turn ``factor * (a @ b)``, ``total ± a @ b`` and ``sum(x * y)`` into single instructions.

    Parameters
    ----------
    listing : Listing
        Changed in place: ``matmul`` gets the attribute ``(factor,)``; ``matmul_add`` with operands total,
        a, b and ``sum_product`` with the attributes of a fold appear.
    """
    instructions = listing.instructions
    if all(instruction.op not in ("matmul", "fold") for instruction in instructions):
        return
    uses = [0] * len(instructions)
    for instruction in instructions:
        for operand in instruction.operands:
            uses[operand] += 1
    for id in listing.outputs:
        uses[id] += 1
    for id, instruction in enumerate(instructions):
        if instruction.op == "fold":
            instructions[id] = _summed(instructions, instruction, uses)
            continue
        for k, operand in enumerate(instruction.operands):
            product = instructions[operand]
            if product.op != "matmul" or uses[operand] != 1 or product.shape != instruction.shape:
                continue
            merged = _merged(instructions, instruction, k, product)
            if merged is not None:
                instructions[id] = merged
                break
    listing.drop_dead()


def _summed(instructions: list[Instruction], fold: Instruction, uses: list[int]) -> Instruction:
    """The sum of a product that nobody else wants, without the product."""
    (source,) = fold.operands
    product = instructions[source]
    if fold.attrs[0] != "sum" or product.op != "multiply" or uses[source] != 1:
        return fold
    factors = [instructions[x] for x in product.operands]
    if product.dtype.kind != "f" or any(factor.shape != product.shape for factor in factors):
        return fold
    if product.size * product.dtype.itemsize > _SMALL_BYTES:  # worth it if the factors are in memory anyway
        mine = product.operands.count
        for x, factor in zip(product.operands, factors, strict=True):
            if factor.is_elementwise and uses[x] == mine(x):
                return fold
    return Instruction("sum_product", product.operands, fold.attrs, fold.shape, fold.dtype)


def _merged(
    instructions: list[Instruction], user: Instruction, k: int, product: Instruction
) -> Instruction | None:
    """The user of a product, its operand ``k``, as one instruction with it."""
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
        char, data = other.attrs
        factor *= float(np.frombuffer(data, char)[0])
        limits = np.finfo(dtype)
        if factor and not limits.tiny <= abs(factor) <= limits.max:
            return None
        return Instruction("matmul", product.operands, (factor,), shape, dtype)
    if user.op == "subtract" and k == 0:
        return None
    sign = -1.0 if user.op == "subtract" else 1.0
    return Instruction("matmul_add", (other_id, *product.operands), (sign * factor,), shape, dtype)
