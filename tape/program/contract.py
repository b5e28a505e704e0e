"""Products that scale and add what they would otherwise hand on: one call of BLAS for several instructions.

Only products that nobody else uses are taken in. A sum of products becomes one accumulation in place.
"""

from __future__ import annotations

import numpy as np

from tape.program.instructions import Instruction, Listing

__all__ = ["contract"]


def contract(listing: Listing) -> None:
    """Turn ``factor * (a @ b)`` and ``total ± a @ b`` into single instructions.

    Parameters
    ----------
    listing : Listing
        Changed in place: ``matmul`` gets the attribute ``(factor,)``, and ``matmul_add`` with operands total,
        a, b appears.
    """
    instructions = listing.instructions
    if all(instruction.op != "matmul" for instruction in instructions):
        return
    uses = [0] * len(instructions)
    for instruction in instructions:
        for operand in instruction.operands:
            uses[operand] += 1
    for id in listing.outputs:
        uses[id] += 1
    for id, instruction in enumerate(instructions):
        for k, operand in enumerate(instruction.operands):
            product = instructions[operand]
            if product.op != "matmul" or uses[operand] != 1 or product.shape != instruction.shape:
                continue
            merged = _merged(instructions, instruction, k, product)
            if merged is not None:
                instructions[id] = merged
                break
    listing.drop_dead()


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
