"""Sums with weights that repeat along some axes, of products of matrices that nothing else reads: one kernel.

The products are written nowhere, as those with the weights are not. They have few terms each: products of
many are left to BLAS.
"""

from __future__ import annotations

import numpy as np

from tape.kernels.kernel import PARTIAL
from tape.program.ir.instructions import IR, Appending, Instruction

__all__ = ["sum_products"]

_MOST_TERMS = 16


def sum_products(ir: IR) -> int:
    """Compute products with the weighted sum that is asked of them, where they have few terms.

    Parameters
    ----------
    ir : IR
        Changed in place, without dead instructions. Weighted sums are kernels already.

    Returns
    -------
    int
        Number of instructions added.
    """
    old = ir.instructions
    sums = [id for id, of in enumerate(old) if of.op == "kernel" and of.attrs[0] == "weighted_sums"]
    if not sums:
        return 0
    uses = ir.uses()
    products = {id: product for id in sums if (product := _product(old, uses, id)) is not None}
    if not products:
        return 0
    made = _Products(old)
    made.build(products)
    ir.replace(made.new, made.place)
    ir.drop_dead()
    return len(ir.instructions) - len(old)


def _product(instructions: list[Instruction], uses: list[int], id: int) -> Instruction | None:
    """Return the product that a weighted sum is all that is asked of; else None."""
    batch, _, length, _, columns = instructions[id].attrs[1]
    x = instructions[id].operands[0]
    while instructions[x].op == "reshape" and uses[x] == 1:
        (x,) = instructions[x].operands
    product = instructions[x]
    if product.op != "matmul" or product.attrs or uses[x] != 1 or len(product.shape) != 2:
        return None
    terms = instructions[product.operands[0]].shape[1]
    is_one = batch == 1 and product.shape[1] == columns and length <= PARTIAL and terms <= _MOST_TERMS
    return product if is_one and product.dtype in (np.float64, np.float32) else None


class _Products(Appending):
    """IR in which kernels compute the products that they sum up."""

    def __init__(self, old: list[Instruction]) -> None:
        super().__init__()
        self.old = old
        self.place: list[int] = []

    def build(self, products: dict[int, Instruction]) -> None:
        """Append all instructions; ``products`` are those of weighted sums, by their positions."""
        for id, of in enumerate(self.old):
            if id in products:
                self.place.append(self._sum(of, products[id]))
            else:
                self.place.append(self.push_again(of, self.place))

    def _sum(self, of: Instruction, product: Instruction) -> int:
        """Append the kernel for a weighted sum of a product."""
        _, outer, length, rows, columns = of.attrs[1]
        a, b = product.operands
        terms, dtype = self.old[a].shape[1], of.dtype
        at = self.place[a]
        if outer > 1:
            at = self.push("reshape", (at,), (), (outer, length, rows, terms), dtype)
            at = self.push("transpose", (at,), ((1, 0, 2, 3),), (length, outer, rows, terms), dtype)
        at = self.push("reshape", (at,), (), (length, outer * rows, terms), dtype)
        attrs = ("weighted_products", (length, outer * rows, terms, columns))
        return self.push("kernel", (at, self.place[b], self.place[of.operands[1]]), attrs, of.shape, dtype)
