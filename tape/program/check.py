"""The type checker of listings: every instruction fits its operands, whoever has written it.

For each kind of instruction there is a rule, which works out the shape and dtype of the result from those of
the operands, or says why there is none. A listing that was read from a file is checked before anything else
looks at it; one that was recorded needs no check, and must pass it. Where values lie in memory is not known
here: that is for `tape.program.verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any, NoReturn

import numpy as np

from tape import errors
from tape.kernels.copies import COPY_ITEMSIZES
from tape.kernels.folds import DTYPE_CODES, has_fold
from tape.kernels.registry import REGISTRY, needs_of
from tape.kernels.scans import has_scan
from tape.program.instructions import ELEMENTWISE, Instruction, Listing
from tape.program.opcodes import OFFSET_BITS

__all__ = ["check"]

Shape = tuple[int, ...]
Kind = tuple[Shape, "np.dtype[Any]"]
"""What a value is."""

_BOOL, _INT64 = np.dtype(bool), np.dtype(np.int64)
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_MOST_BYTES = 1 << OFFSET_BITS
_MOST_AXES = 64
_MOST_OF_BLAS = 1 << 31
"""Its sizes are 32-bit integers."""


class _Flaw(Exception):
    """Why an instruction is none; becomes a ProgramError that says where."""


def check(listing: Listing) -> None:
    """See that a listing is sound.

    Parameters
    ----------
    listing : Listing
        Of any origin.

    Raises
    ------
    ProgramError
        If an operand does not come before its use, a shape or dtype is not that of the result, an attribute
        is out of range, or anything is not of the type it should be.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.builder import Builder
    >>> from tape.program.check import check
    >>> b = Builder()
    >>> x = b.input((2, 3), np.dtype(float))
    >>> b.listing.outputs = [b.transpose(x).id]
    >>> check(b.listing)
    >>> b.listing.instructions[-1].shape = (2, 3)
    >>> check(b.listing)
    Traceback (most recent call last):
    tape.errors.ProgramError: instruction 1, transpose: it says float64[2, 3], and makes float64[3, 2]
    """
    instructions = listing.instructions
    for id, instruction in enumerate(instructions):
        try:
            _check_form(instruction)
            operands = [_operand(instructions, x, id) for x in instruction.operands]
            shape, dtype = _kind_of(instruction, operands, listing)
            if instruction.shape != shape or instruction.dtype != dtype:
                said, made = (f"{d}{list(s)}" for s, d in (_kind(instruction), (shape, dtype)))
                _refuse(f"it says {said}, and makes {made}")
        except _Flaw as flaw:
            raise errors.ProgramError(f"instruction {id}, {instruction.op}: {flaw}") from None
    _check_ends(listing)


def _check_form(instruction: Instruction) -> None:
    """The types of the fields, and that the result is no larger than a program can be."""
    if not isinstance(instruction.op, str) or type(instruction.operands) is not tuple:
        _refuse("the fields are of other types")
    if type(instruction.attrs) is not tuple or not isinstance(instruction.dtype, np.dtype):
        _refuse("the fields are of other types")
    if instruction.dtype.kind not in "biufc":
        _refuse(f"there is no arithmetic on {instruction.dtype}")
    if not _is_shape(instruction.shape):
        _refuse("its shape is none")


def _is_shape(shape: Any) -> bool:
    if not _are_ints(shape) or len(shape) > _MOST_AXES or min(shape, default=0) < 0:
        return False
    size = 16
    for length in shape:
        size *= max(length, 1)
    return size < _MOST_BYTES


def _are_ints(numbers: Any) -> bool:
    return type(numbers) is tuple and all(_is_int(number) for number in numbers)


def _is_int(number: Any) -> bool:
    return type(number) is int or isinstance(number, np.integer)


def _operand(instructions: Sequence[Instruction], x: Any, id: int) -> Instruction:
    if type(x) is not int or not 0 <= x < id:
        _refuse(f"its operand {errors.describe(x)} does not come before it")
    if instructions[x].op == "guard":
        _refuse(f"its operand {x} is a guard, which has no value")
    return instructions[x]


def _kind_of(instruction: Instruction, operands: list[Instruction], listing: Listing) -> Kind:
    """What the result is."""
    op = instruction.op
    if op in ELEMENTWISE:
        return _of_ufunc(instruction, operands)
    if op in _SOURCES:
        _want(not operands, "it takes no operands")
        return _SOURCES[op](instruction, listing)
    if op == "guard":
        return _of_guard(instruction, operands, listing)
    if op == "callback":
        return _of_callback(instruction, listing)
    rule = _RULES.get(op)
    if rule is None:
        _refuse("there is no such instruction")
    counts, of = rule
    _want(len(operands) in counts, f"it has {len(operands)} operands")
    return of(instruction, operands)


def _refuse(why: str) -> NoReturn:
    raise _Flaw(why)


def _want(is_so: bool, why: str) -> None:
    if not is_so:
        raise _Flaw(why)


def _kind(instruction: Instruction) -> Kind:
    return instruction.shape, instruction.dtype


def _number(instruction: Instruction, count: int) -> int:
    """The only attribute of an instruction, a position in a list."""
    _want(len(instruction.attrs) == 1 and _are_ints(instruction.attrs), "its attribute is no number")
    (number,) = instruction.attrs
    _want(0 <= number < count, f"there is no number {number}")
    return number


def _no_attrs(instruction: Instruction) -> None:
    _want(instruction.attrs == (), "it takes no attributes")


# ---- where values come from -------------------------------------------------------------------------


def _of_input(instruction: Instruction, listing: Listing) -> Kind:
    number = _number(instruction, len(listing.inputs))
    place = listing.inputs[number]
    _want(
        type(place) is int
        and 0 <= place < len(listing.instructions)
        and listing.instructions[place] is instruction,
        f"input {number} is elsewhere",
    )
    return _kind(instruction)


def _of_constant(instruction: Instruction, listing: Listing) -> Kind:
    array = listing.constants[_number(instruction, len(listing.constants))]
    return array.shape, array.dtype


def _of_literal(instruction: Instruction, listing: Listing) -> Kind:
    _want(len(instruction.attrs) == 2, "it is a dtype and bytes")
    char, data = instruction.attrs
    dtype = instruction.dtype
    _want(
        char == dtype.char and type(data) is bytes and len(data) == dtype.itemsize, "its bytes are no number"
    )
    return (), dtype


_SOURCES: dict[str, Callable[[Instruction, Listing], Kind]] = {
    "input": _of_input,
    "constant": _of_constant,
    "literal": _of_literal,
}


# ---- elementwise -----------------------------------------------------------------------------------


def _of_ufunc(instruction: Instruction, operands: list[Instruction]) -> Kind:
    _no_attrs(instruction)
    chars = "".join([x.dtype.char for x in operands])
    _want(
        f"{chars}->{instruction.dtype.char}" in _loops(instruction.op), f"it does not take {_told(operands)}"
    )
    return _together(operands), instruction.dtype


def _of_where(instruction: Instruction, operands: list[Instruction]) -> Kind:
    _no_attrs(instruction)
    condition, x, y = operands
    _want(condition.dtype == _BOOL and x.dtype == y.dtype, f"it does not take {_told(operands)}")
    _copyable(x)
    return _together(operands), x.dtype


def _of_cast(instruction: Instruction, operands: list[Instruction]) -> Kind:
    _no_attrs(instruction)
    (x,) = operands
    _want(x.dtype in DTYPE_CODES and instruction.dtype in DTYPE_CODES, f"from {x.dtype} there is no way")
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
        _refuse(f"{_told(operands)} do not fit together")


def _told(operands: Sequence[Instruction]) -> str:
    return ", ".join([f"{x.dtype}{list(x.shape)}" for x in operands])


def _copyable(x: Instruction) -> None:
    _want(x.dtype.itemsize in COPY_ITEMSIZES, f"elements of {x.dtype} are not copied")


# ---- views -----------------------------------------------------------------------------------------


def _of_reshape(instruction: Instruction, operands: list[Instruction]) -> Kind:
    _no_attrs(instruction)
    (x,) = operands
    _want(prod(x.shape) == prod(instruction.shape), f"{_told(operands)} has another number of elements")
    return instruction.shape, x.dtype


def _of_transpose(instruction: Instruction, operands: list[Instruction]) -> Kind:
    (x,) = operands
    order: Any = instruction.attrs[0] if len(instruction.attrs) == 1 else None
    _want(_are_ints(order) and sorted(order) == list(range(len(x.shape))), "its order of axes is none")
    return tuple([x.shape[axis] for axis in order]), x.dtype


def _of_broadcast(instruction: Instruction, operands: list[Instruction]) -> Kind:
    _no_attrs(instruction)
    (x,) = operands
    shape = instruction.shape
    padded = (1,) * (len(shape) - len(x.shape)) + x.shape
    fits = len(padded) == len(shape) and all(a in (1, b) for a, b in zip(padded, shape, strict=True))
    _want(fits, f"{_told(operands)} does not broadcast to {list(shape)}")
    return shape, x.dtype


def _of_slice(instruction: Instruction, operands: list[Instruction]) -> Kind:
    (x,) = operands
    _within(instruction.attrs, x.shape, instruction.shape)
    return instruction.shape, x.dtype


def _within(attrs: tuple[Any, ...], shape: Shape, counts: Shape) -> None:
    """Starts and steps with which as many elements lie in a shape."""
    _want(len(attrs) == 2 and all(map(_are_ints, attrs)), "its starts and steps are none")
    starts, steps = attrs
    _want(len(starts) == len(steps) == len(shape) == len(counts), "its starts and steps are of other axes")
    for start, step, length, count in zip(starts, steps, shape, counts, strict=True):
        last = start + (count - 1) * step
        fits = not count or (step and 0 <= start < length and 0 <= last < length)
        _want(bool(fits) and abs(start) < _MOST_BYTES and abs(step) < _MOST_BYTES, "it reaches outside")


# ---- the rest --------------------------------------------------------------------------------------


def _of_fold(instruction: Instruction, operands: list[Instruction]) -> Kind:
    (x,) = operands
    _want(len(instruction.attrs) == 2 and isinstance(instruction.attrs[0], str), "its attributes are none")
    kind, axes = instruction.attrs
    _want(_are_ints(axes) and bool(axes), "its axes are none")
    _want(axes == tuple(range(axes[0], axes[0] + len(axes))), "its axes do not follow each other")
    _want(axes[0] >= 0 and axes[-1] < len(x.shape), "it has other axes than its operand")
    _want(has_fold(kind, x.dtype), f"there is no {kind} of {x.dtype}")
    if kind not in ("sum", "prod", "any", "all"):
        _want(all(x.shape[axis] for axis in axes), "there is none of no elements")
    shape = x.shape[: axes[0]] + x.shape[axes[-1] + 1 :]
    return shape, _INT64 if kind in ("argmax", "argmin") else x.dtype


def _of_sum_product(instruction: Instruction, operands: list[Instruction]) -> Kind:
    x, y = operands
    _want(x.shape == y.shape and x.dtype == y.dtype and x.dtype in _FLOATS, "its factors are not alike")
    _want(bool(instruction.attrs) and instruction.attrs[0] == "sum", "it is no sum")
    return _of_fold(instruction, [x])


def _of_matmul(instruction: Instruction, operands: list[Instruction]) -> Kind:
    a, b = operands
    if instruction.attrs:
        _want(len(instruction.attrs) == 1 and type(instruction.attrs[0]) is float, "its factor is no float")
    _want(a.dtype == b.dtype and a.dtype in _FLOATS, f"it does not take {_told(operands)}")
    _want(2 <= len(a.shape) <= 3 and 2 <= len(b.shape) <= 3, f"{_told(operands)} are no matrices")
    _want(a.shape[-1] == b.shape[-2], f"{_told(operands)} do not fit together")
    sizes = (*a.shape, *b.shape)
    _want(min(sizes) > 0 and max(sizes) < _MOST_OF_BLAS, f"{_told(operands)} are too small or too large")
    (*stack_a, rows, _), (*stack_b, _, columns) = a.shape, b.shape
    _want(not stack_a or not stack_b or stack_a == stack_b or 1 in (*stack_a, *stack_b), "the stacks differ")
    return (*np.broadcast_shapes(tuple(stack_a), tuple(stack_b)), rows, columns), a.dtype


def _of_matmul_add(instruction: Instruction, operands: list[Instruction]) -> Kind:
    total, *factors = operands
    _want(len(instruction.attrs) == 1, "it takes a factor")
    shape, dtype = _of_matmul(instruction, factors)
    _want(total.dtype == dtype and _together([total, instruction]) == shape, "its total does not fit")
    return shape, dtype


def _of_scan(instruction: Instruction, operands: list[Instruction]) -> Kind:
    attrs, x = instruction.attrs, operands[0]
    _want(len(attrs) == 3 and isinstance(attrs[0], str) and type(attrs[2]) is bool, "its attributes are none")
    kind, axis, _ = attrs
    _want(_is_int(axis) and 0 <= axis < len(x.shape), "it has another axis than its operand")
    _want(has_scan(kind, x.dtype), f"there is no {kind} of {x.dtype}")
    _want(len(operands) == 1 + (kind == "linear"), f"it has {len(operands)} operands")
    _want(all(_kind(y) == _kind(x) for y in operands), "its operands are not alike")
    return _kind(x)


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
    _want(a.dtype == b.dtype and a.dtype in _FLOATS, f"it does not take {_told(operands)}")
    fits = 2 <= len(a.shape) <= 3 and a.shape[-2] == a.shape[-1] == b.shape[-1]
    fits = fits and a.shape[:-2] == b.shape[:-2] and len(a.shape) == len(b.shape)
    sizes = (*a.shape, *b.shape)
    _want(fits and min(sizes) > 0 and max(sizes) < _MOST_OF_BLAS, f"{_told(operands)} are no system")
    return b.shape, b.dtype


def _bools(instruction: Instruction, count: int) -> None:
    attrs = instruction.attrs
    _want(len(attrs) == count and all(type(attr) is bool for attr in attrs), "its attributes are no bools")


def _of_take(instruction: Instruction, operands: list[Instruction]) -> Kind:
    x, index = operands
    axis = _number(instruction, len(x.shape))
    _copyable(x)
    return (*x.shape[:axis], *_positions(index), *x.shape[axis + 1 :]), x.dtype


def _positions(index: Instruction) -> Shape:
    _want(index.dtype == _INT64 and len(index.shape) == 1, "its index is no list of int64")
    return index.shape


def _of_ravel_index(instruction: Instruction, operands: list[Instruction]) -> Kind:
    _want(len(instruction.attrs) == 2 and type(instruction.attrs[1]) is bool, "its attributes are none")
    lengths = instruction.attrs[0]
    _want(_is_shape(lengths) and len(lengths) == len(operands), "its lengths are none")
    for x in operands:
        _want(_kind(x) == _kind(operands[0]) and x.dtype == _INT64, f"it does not take {_told(operands)}")
    return _kind(operands[0])


def _of_add_at(instruction: Instruction, operands: list[Instruction]) -> Kind:
    total, values, *index = operands
    _want(total.dtype == values.dtype and total.dtype in _FLOATS, f"it does not take {_told(operands)}")
    if index:
        axis = _number(instruction, len(total.shape))
        shape = (*total.shape[:axis], *_positions(index[0]), *total.shape[axis + 1 :])
        _want(values.shape == shape, "its values do not fit")
    else:
        _within(instruction.attrs, total.shape, values.shape)
    return _kind(total)


def _of_put(instruction: Instruction, operands: list[Instruction]) -> Kind:
    total, values = operands
    _want(total.dtype == values.dtype, f"it does not take {_told(operands)}")
    _copyable(total)
    _within(instruction.attrs, total.shape, values.shape)
    return _kind(total)


def _of_concatenate(instruction: Instruction, operands: list[Instruction]) -> Kind:
    first = operands[0]
    _copyable(first)
    axis = _number(instruction, len(first.shape))
    rests = {(x.dtype, x.shape[:axis], x.shape[axis + 1 :], len(x.shape)) for x in operands}
    _want(len(rests) == 1, f"{_told(operands)} do not fit together")
    return (*first.shape[:axis], sum(x.shape[axis] for x in operands), *first.shape[axis + 1 :]), first.dtype


def _of_kernel(instruction: Instruction, operands: list[Instruction]) -> Kind:
    attrs, dtype = instruction.attrs, instruction.dtype
    _want(len(attrs) == 2 and isinstance(attrs[0], str) and _are_ints(attrs[1]), "its attributes are none")
    try:
        needs = needs_of(*attrs)
    except ValueError as error:
        _refuse(str(error))
    indices = REGISTRY[attrs[0]].indices
    wanted = [(_INT64 if k in indices else dtype, size) for k, size in enumerate(needs.operands)]
    _want([(x.dtype, prod(x.shape)) for x in operands] == wanted, f"it does not take {_told(operands)}")
    _want(dtype in _FLOATS and prod(instruction.shape) == needs.out, "it makes something else")
    _want(16 * needs.workspace < _MOST_BYTES, "it needs too much memory")
    return _kind(instruction)


def _of_guard(instruction: Instruction, operands: list[Instruction], listing: Listing) -> Kind:
    guard = listing.guards[_number(instruction, len(listing.guards))]
    is_one = len(operands) == 1 and prod(operands[0].shape) == 1 and operands[0].dtype in DTYPE_CODES
    _want(is_one, f"it does not read {_told(operands)}")
    if guard.kind == "bool":
        _want(type(guard.outcome) is bool, "it reads a bool")
    else:
        is_int = guard.kind == "int" and type(guard.outcome) is int
        _want(is_int and -(2**63) <= guard.outcome < 2**63, "it reads an integer")
    return (), _BOOL


def _of_callback(instruction: Instruction, listing: Listing) -> Kind:
    _, places, _ = listing.callbacks[_number(instruction, len(listing.callbacks))]
    count = sum(place is None for place in places)
    _want(len(instruction.operands) == count, f"it has {len(instruction.operands)} operands")
    return _kind(instruction)


_Rule = Callable[[Instruction, list[Instruction]], Kind]
_RULES: dict[str, tuple[Sequence[int], _Rule]] = {
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


# ---- what goes in and comes out ---------------------------------------------------------------------


def _check_ends(listing: Listing) -> None:
    """Inputs, outputs and guards are where the listing says."""
    instructions = listing.instructions
    for number, id in enumerate(listing.inputs):
        if id is None:
            continue
        if type(id) is not int or not 0 <= id < len(instructions) or instructions[id].op != "input":
            raise errors.ProgramError(f"input {number} is no instruction that is one")
        if instructions[id].attrs != (number,):
            raise errors.ProgramError(f"instruction {id} is another input than {number}")
    for id in listing.outputs:
        if type(id) is not int or not 0 <= id < len(instructions) or instructions[id].op == "guard":
            raise errors.ProgramError(f"the output {errors.describe(id)} is no instruction with a value")
    numbers = [instruction.attrs[0] for instruction in instructions if instruction.op == "guard"]
    if numbers != list(range(len(listing.guards))):
        raise errors.ProgramError("the guards are not in order, each of them once")
