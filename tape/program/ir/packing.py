"""Factors that a loop multiplies with in every step, packed before it.

A product of few rows takes little longer than bringing the second factor into the order in which tiles read
it (`tape.kernels.matrices`). Where that is the same in every step, the loop gets a copy of it instead: a
stack of panels, each of as many columns as a tile has. The product is then one of a stack, whose results lie
in memory as those of the whole do.
"""

from __future__ import annotations

from typing import Any

from tape.kernels.matrices import are_worth_packing, columns_of_a_panel
from tape.program.ir.instructions import IR, Instruction
from tape.program.ir.loops import Loop
from tape.program.ir.prune import prune

__all__ = ["pack"]

_FEWEST_STEPS = 16
"""Packing takes as long as a few products."""

Factor = tuple[int, bool]
"""A constant of a loop, by its number, and whether its transpose is multiplied with."""


def pack(ir: IR) -> int:
    """Hand factors of products over to loops in panels.

    Parameters
    ----------
    ir : IR
        Changed in place; the bodies of its loops are not.

    Returns
    -------
    int
        Number of instructions added.
    """
    count = len(ir.instructions)
    factors = {id: _found(of.attrs[0]) for id, of in enumerate(ir.instructions) if of.op == "loop"}
    if not any(factors.values()):
        return 0
    new: list[Instruction] = []
    place: list[int] = []
    for id, of in enumerate(ir.instructions):
        operands, attrs = tuple([place[x] for x in of.operands]), of.attrs
        if found := factors.get(id):
            (loop,), first = attrs, attrs[0].constants
            panels = [_panels(new, operands[k], is_turned) for k, is_turned in found]
            operands, attrs = (*operands[:first], *panels, *operands[first:]), (_Packed(loop, found).loop,)
        place.append(len(new))
        new.append(Instruction(of.op, operands, attrs, of.shape, of.dtype))
    ir.replace(new, place)
    prune(ir)  # of the factors as they were
    ir.drop_dead()
    return len(ir.instructions) - count


def _found(loop: Loop) -> list[Factor]:
    """Return the factors that are worth packing."""
    if loop.length < _FEWEST_STEPS:
        return []
    factors, instructions = _factors(loop), loop.body.instructions
    found = [_factor_of(of, factors) for of in instructions if _is_worth_it(instructions, of)]
    return [factor for factor in dict.fromkeys(found) if factor is not None]


def _factors(loop: Loop) -> dict[int, Factor]:
    """Return which instructions of the body are matrices that are the same in every step."""
    factors: dict[int, Factor] = {}
    for id, of in enumerate(loop.body.instructions):
        if of.op == "input" and of.attrs[0] < loop.constants and len(of.shape) == 2:
            factors[id] = of.attrs[0], False
        elif of.op == "transpose" and of.operands[0] in factors and of.attrs[0] == (1, 0):
            number, is_turned = factors[of.operands[0]]
            factors[id] = number, not is_turned
    return factors


def _factor_of(of: Instruction, factors: dict[int, Factor]) -> Factor | None:
    """Return the second factor of a product if it, and it alone, is the same in every step."""
    return None if of.operands[-2] in factors else factors.get(of.operands[-1])


def _is_worth_it(instructions: list[Instruction], of: Instruction) -> bool:
    """Return whether this is a product that is worth packing its second factor."""
    if of.op not in ("matmul", "matmul_add") or len(of.shape) != 2:
        return False
    (m, n), k = of.shape, instructions[of.operands[-2]].shape[-1]
    return are_worth_packing(m, n, k, of.dtype.itemsize)


def _panels(instructions: list[Instruction], id: int, is_turned: bool) -> int:
    """Append the panels of a matrix, or of its transpose; return where they are."""
    of = instructions[id]
    while of.op == "transpose":
        (id,) = of.operands
        of, is_turned = instructions[id], not is_turned
    k, n = of.shape[::-1] if is_turned else of.shape
    columns = columns_of_a_panel(of.dtype.itemsize)
    split = (n // columns, columns)
    apart, order = ((*split, k), (0, 2, 1)) if is_turned else ((k, *split), (1, 0, 2))
    instructions.append(Instruction("reshape", (id,), (), apart, of.dtype))
    shape = tuple([apart[axis] for axis in order])
    instructions.append(Instruction("transpose", (len(instructions) - 1,), (order,), shape, of.dtype))
    return len(instructions) - 1


class _Packed:
    """A loop that gets factors in panels, as further constants.

    Attributes
    ----------
    loop : Loop
        The new one.
    """

    def __init__(self, loop: Loop, found: list[Factor]) -> None:
        old, factors = loop.body, _factors(loop)
        self.new: list[Instruction] = []
        self.numbers = {factor: loop.constants + k for k, factor in enumerate(found)}
        self.inputs: dict[int, int] = {}  # of factors, by the number
        place: list[int] = []
        for of in old.instructions:
            operands, attrs = [place[x] for x in of.operands], of.attrs
            if of.op == "input" and attrs[0] >= loop.constants:
                attrs = (attrs[0] + len(found),)
            factor = _factor_of(of, factors) if _is_worth_it(old.instructions, of) else None
            if factor is not None:
                place.append(self._product(of, operands, factor))
            else:
                place.append(self._push(of.op, operands, attrs, of.shape, of.dtype))
        inputs = [None if id is None else place[id] for id in old.inputs]
        panels = [self.inputs[number] for number in self.numbers.values()]
        inputs[loop.constants : loop.constants] = panels
        outputs = [place[id] for id in old.outputs]
        body = IR(self.new, inputs, old.constants, outputs, old.guards, old.callbacks)
        constants = loop.constants + len(found)
        self.loop = Loop(body, loop.length, constants, loop.states, loop.is_backwards, loop.ends_by)

    def _push(self, op: str, operands: Any, attrs: tuple[Any, ...], shape: Any, dtype: Any) -> int:
        self.new.append(Instruction(op, tuple(operands), attrs, shape, dtype))
        return len(self.new) - 1

    def _product(self, of: Instruction, operands: list[int], factor: Factor) -> int:
        """Append a product with a factor in panels."""
        *total, x, _ = operands
        (m, n), k, dtype = of.shape, self.new[x].shape[-1], of.dtype
        columns = columns_of_a_panel(dtype.itemsize)
        number = self.numbers[factor]
        if number not in self.inputs:
            self.inputs[number] = self._push("input", (), (number,), (n // columns, k, columns), dtype)
        split = (n // columns, m, columns)
        product = self._push("matmul", (x, self.inputs[number]), of.attrs, split, dtype)
        turned = self._push("transpose", (product,), ((1, 0, 2),), (m, n // columns, columns), dtype)
        found = self._push("reshape", (turned,), (), of.shape, dtype)
        return self._push("add", (*total, found), (), of.shape, dtype) if total else found
