"""Cost models of instructions: arithmetic, and two estimates of the time.

The estimates serve different decisions. The machine has to return to Python for signals in time, whatever
happens: that needs an upper bound. Whether a run is worth giving up Python's lock is decided by what is
typical.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tape.kernels.registry import needs_of
from tape.program.native.gufuncs import GUFUNCS, layout_of

if TYPE_CHECKING:
    from tape.program.ir.instructions import Instruction

Count = Callable[["Instruction", Sequence["Instruction"]], int]
Estimate = Callable[["Instruction", Sequence["Instruction"]], float]
"""Both take the instruction, and the list in which its operands are."""

_FAST_ELEMENT, _SLOW_ELEMENT, _SPECIAL_ELEMENT = 2.0, 20.0, 100.0  # nanoseconds, out of every cache
_CACHED_ELEMENT, _CACHED_SPECIAL = 0.3, 50.0  # nanoseconds, in cache; most special functions take 10 to 100
GROUPED_BYTES = 16384
"""Elementwise results above this size are computed in groups, block by block."""
_PRODUCT = 0.2  # nanoseconds a multiplication in a product of matrices takes at most


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of an instruction, as functions of it and of the list in which its operands are.

    Attributes
    ----------
    flops : callable
        One for each element of an elementwise instruction and each element that a reduction reads; 2 m n k
        for a product of matrices.
    typical : callable
        Nanoseconds that it takes with its operands in cache.
    longest : callable
        Nanoseconds that it takes at most.
    """

    flops: Count
    typical: Estimate
    longest: Estimate


def _none(out: Instruction, values: Sequence[Instruction]) -> int:
    return 0


def _elements(out: Instruction, values: Sequence[Instruction]) -> int:
    return out.size


def _read(out: Instruction, values: Sequence[Instruction]) -> int:
    return len(out.operands) * values[out.operands[0]].size


def _per_element(
    longest: float, flops: Count = _elements, elements: Count = _elements, typical: float = _CACHED_ELEMENT
) -> Cost:
    """Return a cost in proportion to the number of elements."""
    return Cost(
        flops,
        lambda out, values: typical * out.size,
        lambda out, values: longest * elements(out, values),
    )


def _largest(out: Instruction, values: Sequence[Instruction]) -> int:
    return max([out.size, *[values[x].size for x in out.operands]])


def _inner(out: Instruction, values: Sequence[Instruction]) -> int:
    """Return how many products are summed for an element of a product of matrices."""
    return values[out.operands[-1]].shape[-2]


def _system(flops: Callable[[int, int, int], int]) -> Cost:
    """Return the cost of systems of equations.

    ``flops`` takes the size of all matrices, the size of the result, and the order of a matrix.
    """

    def sizes(out: Instruction, values: Sequence[Instruction]) -> tuple[int, int, int]:
        return values[out.operands[0]].size, out.size, out.shape[-1]

    def typical(out: Instruction, values: Sequence[Instruction]) -> float:
        matrices, _, order = sizes(out, values)
        return _CACHED_ELEMENT * matrices * (order // 10 + 1)

    def longest(out: Instruction, values: Sequence[Instruction]) -> float:
        matrices, result, order = sizes(out, values)
        return (_PRODUCT * order + _SLOW_ELEMENT) * (matrices + result)

    return Cost(lambda out, values: flops(*sizes(out, values)), typical, longest)


def gufunc(name: str) -> Cost:
    """Return the cost of a generalised ufunc."""

    def work(out: Instruction, values: Sequence[Instruction]) -> tuple[int, float]:
        """Return the number of matrices, and the arithmetic for one."""
        operands = [values[x] for x in out.operands]
        chars = "".join([x.dtype.char for x in operands])
        layout = layout_of(name, [x.shape for x in operands], chars, out.attrs)
        return prod(layout.stack), GUFUNCS[name].flops(layout.lengths)

    def nanoseconds(each: float, flop: float) -> Estimate:
        def estimate(out: Instruction, values: Sequence[Instruction]) -> float:
            count, flops = work(out, values)
            return count * (each + flop * flops)

        return estimate

    return Cost(
        lambda out, values: int(prod(work(out, values))), nanoseconds(500, 0.2), nanoseconds(20_000, 2)
    )


FREE = _per_element(_FAST_ELEMENT, _none)
"""Copies, views and values that are given: no arithmetic."""
QUICK = _per_element(_FAST_ELEMENT)
"""Elementwise arithmetic that vector registers do."""
PAIR = _per_element(_FAST_ELEMENT, lambda out, values: 2 * out.size)
"""Two operations of arithmetic at once."""
SLOW = _per_element(_SLOW_ELEMENT)
SPECIAL = _per_element(_SPECIAL_ELEMENT, typical=_CACHED_SPECIAL)
"""SciPy's special functions."""
REDUCTION = _per_element(_FAST_ELEMENT, _read, _largest)
SCAN = _per_element(_SLOW_ELEMENT, lambda out, values: len(out.operands) * out.size)
GATHER = _per_element(_SLOW_ELEMENT, _none, _largest)
SCATTER = _per_element(_SLOW_ELEMENT, lambda out, values: values[out.operands[1]].size, _largest)
PAIR_AT = _per_element(
    _FAST_ELEMENT, lambda out, values: 2 * max([values[x].size for x in out.operands[1:]]), _largest
)
"""An operation of arithmetic whose result is added to a part."""
MATMUL = Cost(
    lambda out, values: 2 * out.size * _inner(out, values),
    lambda out, values: _CACHED_ELEMENT * out.size * (_inner(out, values) // 10 + 1),
    lambda out, values: _PRODUCT * out.size * _inner(out, values) + _FAST_ELEMENT * out.size,
)
SOLVE = _system(lambda matrices, result, order: 2 * matrices * order // 3 + 2 * result * order)
TRIANGULAR_SOLVE = _system(lambda matrices, result, order: result * order)
CHOLESKY = _system(lambda matrices, result, order: result * order // 3)
KERNEL = Cost(
    lambda out, values: needs_of(*out.attrs).work,
    lambda out, values: _CACHED_ELEMENT * (needs_of(*out.attrs).work // 4),
    lambda out, values: _FAST_ELEMENT * needs_of(*out.attrs).work,
)
