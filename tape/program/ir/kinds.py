"""What each instruction makes of its operands, or why it is none: the rules of `tape.program.ir.check`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any, NoReturn

import numpy as np

from tape.kernels.copies import COPY_ITEMSIZES
from tape.kernels.folds import DTYPE_CODES, has_fold
from tape.kernels.registry import REGISTRY, needs_of
from tape.kernels.scans import has_scan
from tape.program.ir.instructions import ELEMENTWISE, Instruction
from tape.program.runtime.opcodes import OFFSET_BITS

__all__ = [
    "RULES",
    "Flaw",
    "Kind",
    "are_ints",
    "is_shape",
    "kind_of",
    "number_below",
    "number_of",
    "of_ufunc",
    "refuse",
    "told",
    "want",
]

Shape = tuple[int, ...]
Kind = tuple[Shape, "np.dtype[Any]"]
"""What a value is."""

_BOOL, _INT64 = np.dtype(bool), np.dtype(np.int64)
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_MOST_BYTES = 1 << OFFSET_BITS
_MOST_AXES = 64
_MOST_OF_BLAS = 1 << 31
"""Its sizes are 32-bit integers."""


class Flaw(Exception):
    """Why an instruction is none; becomes a ProgramError that says where."""


def refuse(why: str) -> NoReturn:
    """Say why an instruction is none."""
    raise Flaw(why)


def want(is_so: bool, why: str) -> None:
    """Refuse an instruction unless something is so."""
    if not is_so:
        raise Flaw(why)


def is_shape(shape: Any) -> bool:
    """Whether these are lengths, of no more elements than a program can hold."""
    if not are_ints(shape) or len(shape) > _MOST_AXES or min(shape, default=0) < 0:
        return False
    size = 16
    for length in shape:
        size *= max(length, 1)
    return size < _MOST_BYTES


def are_ints(numbers: Any) -> bool:
    """Whether this is a tuple of integers."""
    return type(numbers) is tuple and all(_is_int(number) for number in numbers)


def _is_int(number: Any) -> bool:
    return type(number) is int or isinstance(number, np.integer)


def kind_of(instruction: Instruction) -> Kind:
    """What an instruction says that it makes."""
    return instruction.shape, instruction.dtype


def number_of(instruction: Instruction, count: int) -> int:
    """The only attribute of an instruction, a position in a list."""
    want(len(instruction.attrs) == 1, "its attribute is no number")
    return number_below(count, instruction.attrs[0])


def number_below(count: int, number: Any) -> int:
    """A position in a list of this length."""
    want(are_ints((number,)), "its attribute is no number")
    want(0 <= number < count, f"there is no number {number}")
    return number


def _no_attrs(instruction: Instruction) -> None:
    want(instruction.attrs == (), "it takes no attributes")


# ---- elementwise -----------------------------------------------------------------------------------


def of_ufunc(instruction: Instruction, operands: list[Instruction]) -> Kind:
    """What an instruction makes that is a ufunc."""
    _no_attrs(instruction)
    chars = "".join([x.dtype.char for x in operands])
    want(f"{chars}->{instruction.dtype.char}" in _loops(instruction.op), f"it does not take {told(operands)}")
    return _together(operands), instruction.dtype


def _of_where(instruction: Instruction, operands: list[Instruction]) -> Kind:
    _no_attrs(instruction)
    condition, x, y = operands
    want(condition.dtype == _BOOL and x.dtype == y.dtype, f"it does not take {told(operands)}")
    _copyable(x)
    return _together(operands), x.dtype


def _of_cast(instruction: Instruction, operands: list[Instruction]) -> Kind:
    _no_attrs(instruction)
    (x,) = operands
    want(x.dtype in DTYPE_CODES and instruction.dtype in DTYPE_CODES, f"from {x.dtype} there is no way")
    return x.shape, instruction.dtype


@cache
def _loops(name: str) -> frozenset[str]:
    """The dtypes that a ufunc takes and makes."""
    return frozenset(ELEMENTWISE[name].types)


def _together(operands: list[Instruction]) -> Shape:
    first = operands[0].shape
    if all(x.shape == first for x in operands):
        return first
    try:
        return np.broadcast_shapes(*[x.shape for x in operands])
    except ValueError:
        refuse(f"{told(operands)} do not fit together")


def told(operands: Sequence[Instruction]) -> str:
    return ", ".join([f"{x.dtype}{list(x.shape)}" for x in operands])


def _copyable(x: Instruction) -> None:
    want(x.dtype.itemsize in COPY_ITEMSIZES, f"elements of {x.dtype} are not copied")


# ---- views -----------------------------------------------------------------------------------------


def _of_reshape(instruction: Instruction, operands: list[Instruction]) -> Kind:
    _no_attrs(instruction)
    (x,) = operands
    want(prod(x.shape) == prod(instruction.shape), f"{told(operands)} has another number of elements")
    return instruction.shape, x.dtype


def _of_transpose(instruction: Instruction, operands: list[Instruction]) -> Kind:
    (x,) = operands
    order: Any = instruction.attrs[0] if len(instruction.attrs) == 1 else None
    want(are_ints(order) and sorted(order) == list(range(len(x.shape))), "its order of axes is none")
    return tuple([x.shape[axis] for axis in order]), x.dtype


def _of_broadcast(instruction: Instruction, operands: list[Instruction]) -> Kind:
    _no_attrs(instruction)
    (x,) = operands
    shape = instruction.shape
    padded = (1,) * (len(shape) - len(x.shape)) + x.shape
    fits = len(padded) == len(shape) and all(a in (1, b) for a, b in zip(padded, shape, strict=True))
    want(fits, f"{told(operands)} does not broadcast to {list(shape)}")
    return shape, x.dtype


def _of_slice(instruction: Instruction, operands: list[Instruction]) -> Kind:
    (x,) = operands
    _within(instruction.attrs, x.shape, instruction.shape)
    return instruction.shape, x.dtype


def _within(attrs: tuple[Any, ...], shape: Shape, counts: Shape) -> None:
    """Starts and steps with which as many elements lie in a shape."""
    want(len(attrs) == 2 and all(map(are_ints, attrs)), "its starts and steps are none")
    starts, steps = attrs
    want(len(starts) == len(steps) == len(shape) == len(counts), "its starts and steps are of other axes")
    for start, step, length, count in zip(starts, steps, shape, counts, strict=True):
        last = start + (count - 1) * step
        fits = not count or (step and 0 <= start < length and 0 <= last < length)
        want(bool(fits) and abs(start) < _MOST_BYTES and abs(step) < _MOST_BYTES, "it reaches outside")


# ---- the rest --------------------------------------------------------------------------------------


def _of_fold(instruction: Instruction, operands: list[Instruction]) -> Kind:
    (x,) = operands
    want(len(instruction.attrs) == 2 and isinstance(instruction.attrs[0], str), "its attributes are none")
    kind, axes = instruction.attrs
    want(are_ints(axes) and bool(axes), "its axes are none")
    want(axes == tuple(range(axes[0], axes[0] + len(axes))), "its axes do not follow each other")
    want(axes[0] >= 0 and axes[-1] < len(x.shape), "it has other axes than its operand")
    want(has_fold(kind, x.dtype), f"there is no {kind} of {x.dtype}")
    if kind not in ("sum", "prod", "any", "all"):
        want(all(x.shape[axis] for axis in axes), "there is none of no elements")
    shape = x.shape[: axes[0]] + x.shape[axes[-1] + 1 :]
    return shape, _INT64 if kind in ("argmax", "argmin") else x.dtype


def _of_sum_product(instruction: Instruction, operands: list[Instruction]) -> Kind:
    x, y = operands
    want(x.shape == y.shape and x.dtype == y.dtype and x.dtype in _FLOATS, "its factors are not alike")
    want(bool(instruction.attrs) and instruction.attrs[0] == "sum", "it is no sum")
    return _of_fold(instruction, [x])


def _of_matmul(instruction: Instruction, operands: list[Instruction]) -> Kind:
    a, b = operands
    if instruction.attrs:
        want(len(instruction.attrs) == 1 and type(instruction.attrs[0]) is float, "its factor is no float")
    want(a.dtype == b.dtype and a.dtype in _FLOATS, f"it does not take {told(operands)}")
    want(2 <= len(a.shape) <= 4 and 2 <= len(b.shape) <= 4, f"{told(operands)} are no matrices")
    want(a.shape[-1] == b.shape[-2], f"{told(operands)} do not fit together")
    sizes = (*a.shape, *b.shape)
    want(min(sizes) > 0 and max(sizes) < _MOST_OF_BLAS, f"{told(operands)} are too small or too large")
    try:
        stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        refuse("the stacks differ")
    return (*stack, a.shape[-2], b.shape[-1]), a.dtype


def _of_matmul_add(instruction: Instruction, operands: list[Instruction]) -> Kind:
    total, *factors = operands
    want(len(instruction.attrs) == 1, "it takes a factor")
    shape, dtype = _of_matmul(instruction, factors)
    want(total.dtype == dtype and _together([total, instruction]) == shape, "its total does not fit")
    return shape, dtype


def _of_scan(instruction: Instruction, operands: list[Instruction]) -> Kind:
    attrs, x = instruction.attrs, operands[0]
    want(len(attrs) == 3 and isinstance(attrs[0], str) and type(attrs[2]) is bool, "its attributes are none")
    name, axis, _ = attrs
    want(_is_int(axis) and 0 <= axis < len(x.shape), "it has another axis than its operand")
    want(has_scan(name, x.dtype), f"there is no {name} of {x.dtype}")
    want(len(operands) == 1 + (name == "linear"), f"it has {len(operands)} operands")
    want(all(kind_of(y) == kind_of(x) for y in operands), "its operands are not alike")
    return kind_of(x)


def _of_solve(instruction: Instruction, operands: list[Instruction]) -> Kind:
    _no_attrs(instruction)
    return _of_systems(operands)


def _of_triangular_solve(instruction: Instruction, operands: list[Instruction]) -> Kind:
    _bools(instruction, 3)
    return _of_systems(operands)


def _of_cholesky(instruction: Instruction, operands: list[Instruction]) -> Kind:
    _bools(instruction, 1)
    return _of_systems([*operands, *operands])


def _of_systems(operands: list[Instruction]) -> Kind:
    """What solves for the rows of the second operand, with the matrices of the first."""
    a, b = operands
    want(a.dtype == b.dtype and a.dtype in _FLOATS, f"it does not take {told(operands)}")
    fits = 2 <= len(a.shape) <= 3 and a.shape[-2] == a.shape[-1] == b.shape[-1]
    fits = fits and a.shape[:-2] == b.shape[:-2] and len(a.shape) == len(b.shape)
    sizes = (*a.shape, *b.shape)
    want(fits and min(sizes) > 0 and max(sizes) < _MOST_OF_BLAS, f"{told(operands)} are no system")
    return b.shape, b.dtype


def _bools(instruction: Instruction, count: int) -> None:
    attrs = instruction.attrs
    want(len(attrs) == count and all(type(attr) is bool for attr in attrs), "its attributes are no bools")


def _of_take(instruction: Instruction, operands: list[Instruction]) -> Kind:
    x, index = operands
    axis = number_of(instruction, len(x.shape))
    _copyable(x)
    return (*x.shape[:axis], *_positions(index), *x.shape[axis + 1 :]), x.dtype


def _positions(index: Instruction) -> Shape:
    want(index.dtype == _INT64 and len(index.shape) == 1, "its index is no list of int64")
    return index.shape


def _of_ravel_index(instruction: Instruction, operands: list[Instruction]) -> Kind:
    want(len(instruction.attrs) == 2 and type(instruction.attrs[1]) is bool, "its attributes are none")
    lengths = instruction.attrs[0]
    want(is_shape(lengths) and len(lengths) == len(operands), "its lengths are none")
    for x in operands:
        want(kind_of(x) == kind_of(operands[0]) and x.dtype == _INT64, f"it does not take {told(operands)}")
    return kind_of(operands[0])


def _of_add_at(instruction: Instruction, operands: list[Instruction]) -> Kind:
    total, values, *index = operands
    want(total.dtype == values.dtype and total.dtype in _FLOATS, f"it does not take {told(operands)}")
    if index:
        axis = number_of(instruction, len(total.shape))
        shape = (*total.shape[:axis], *_positions(index[0]), *total.shape[axis + 1 :])
        want(values.shape == shape, "its values do not fit")
    else:
        _within(instruction.attrs, total.shape, values.shape)
    return kind_of(total)


def _of_put(instruction: Instruction, operands: list[Instruction]) -> Kind:
    total, values = operands
    want(total.dtype == values.dtype, f"it does not take {told(operands)}")
    _copyable(total)
    _within(instruction.attrs, total.shape, values.shape)
    return kind_of(total)


def _of_concatenate(instruction: Instruction, operands: list[Instruction]) -> Kind:
    first = operands[0]
    _copyable(first)
    axis = number_of(instruction, len(first.shape))
    rests = {(x.dtype, x.shape[:axis], x.shape[axis + 1 :], len(x.shape)) for x in operands}
    want(len(rests) == 1, f"{told(operands)} do not fit together")
    return (*first.shape[:axis], sum(x.shape[axis] for x in operands), *first.shape[axis + 1 :]), first.dtype


def _of_kernel(instruction: Instruction, operands: list[Instruction]) -> Kind:
    attrs, dtype = instruction.attrs, instruction.dtype
    want(len(attrs) == 2 and isinstance(attrs[0], str) and are_ints(attrs[1]), "its attributes are none")
    try:
        needs = needs_of(*attrs)
    except ValueError as error:
        refuse(str(error))
    indices = REGISTRY[attrs[0]].indices
    wanted = [(_INT64 if k in indices else dtype, size) for k, size in enumerate(needs.operands)]
    want([(x.dtype, prod(x.shape)) for x in operands] == wanted, f"it does not take {told(operands)}")
    want(dtype in _FLOATS and prod(instruction.shape) == needs.out, "it makes something else")
    want(16 * needs.workspace < _MOST_BYTES, "it needs too much memory")
    return kind_of(instruction)


_Rule = Callable[[Instruction, list[Instruction]], Kind]
RULES: dict[str, tuple[Sequence[int], _Rule]] = {
    "where": ((3,), _of_where),
    "cast": ((1,), _of_cast),
    "reshape": ((1,), _of_reshape),
    "transpose": ((1,), _of_transpose),
    "broadcast": ((1,), _of_broadcast),
    "slice": ((1,), _of_slice),
    "fold": ((1,), _of_fold),
    "sum_product": ((2,), _of_sum_product),
    "matmul": ((2,), _of_matmul),
    "matmul_add": ((3,), _of_matmul_add),
    "scan": ((1, 2), _of_scan),
    "solve": ((2,), _of_solve),
    "triangular_solve": ((2,), _of_triangular_solve),
    "cholesky": ((1,), _of_cholesky),
    "take": ((2,), _of_take),
    "ravel_index": (range(1, _MOST_AXES + 1), _of_ravel_index),
    "add_at": ((2, 3), _of_add_at),
    "put": ((2,), _of_put),
    "concatenate": (range(1, 1 << 31), _of_concatenate),
    "kernel": ((1, 2, 3), _of_kernel),
}
"""How many operands each instruction takes, and what it makes of them."""
