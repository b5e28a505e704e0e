"""Type rules: result shape and dtype of each instruction, from its operands and attributes.

The builder calls a rule with values under construction, the checker with instructions of unknown origin:
rules trust neither the types nor the ranges of what they are called with. `tape.program.ir.table` says which
rule belongs to which instruction, `tape.program.ir.types` what a rule is.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np

from tape.kernels.codes import DTYPE_CODES, has_cast, has_fold, has_scan
from tape.kernels.registry import REGISTRY, needs_of
from tape.program.ir.conversions import PARTS
from tape.program.ir.loops import ALIGNMENT, BYTES, Block, Loop
from tape.program.ir.promotion import broadcast_shapes, broadcasts_to
from tape.program.ir.types import (
    MOST_BYTES,
    Attrs,
    Operands,
    Rule,
    Shape,
    Type,
    Typed,
    are_ints,
    index_below,
    is_int,
    is_shape,
    refuse,
    refuse_attrs,
    refuse_types,
    require_bools,
    require_copyable,
    types_of,
)
from tape.program.ir.values import CannotLower
from tape.program.native.functions import FOLDING, called_number, fold_number, gufunc_number, matmul_number
from tape.program.native.gufuncs import layout_of
from tape.program.native.ufuncs import UFUNCS

_BOOL, _INT64 = np.dtype(bool), np.dtype(np.int64)
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_COMPLEX = {part: dtype for dtype, part in PARTS.items()}
_NUMBERS = "?" + np.typecodes["AllInteger"] + np.typecodes["AllFloat"]
_MOST_OF_BLAS = 1 << 31
"""BLAS takes sizes as 32-bit integers."""


# ---- given values and effects ------------------------------------------------------------------------


def given(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Return the declared type: of arguments, of arrays closed over, and of what Python returns."""
    return shape, dtype


def same(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Return the type of the operand."""
    return operands[0].shape, operands[0].dtype


def pair(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type two operations at once: numbers and arrays of one shape."""
    return _broadcast(*[x.shape for x in operands]), operands[0].dtype


def pair_at(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type an array to a slice of which an operation on two operands is added."""
    total, *others = operands
    _within(attrs[1:], total.shape, _broadcast(*[x.shape for x in others]))
    return total.shape, total.dtype


def literal(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type a number, whose attributes are the character of a dtype, and bytes."""
    if len(attrs) != 2 or type(attrs[0]) is not str or type(attrs[1]) is not bytes:
        refuse("its attributes must be a dtype and bytes")
    dtype = _dtype_of(attrs[0])
    if dtype is None or len(attrs[1]) != dtype.itemsize:
        refuse("its bytes are not one number of its dtype")
    return (), dtype


@cache
def _dtype_of(char: str) -> np.dtype[Any] | None:
    return np.dtype(char) if len(char) == 1 and char in _NUMBERS else None


def guard(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type the check of one number."""
    (x,) = operands
    if prod(x.shape) != 1 or x.dtype not in DTYPE_CODES:
        refuse(f"it cannot read {types_of(operands)}: it reads one number")
    return (), _BOOL


# ---- elementwise -------------------------------------------------------------------------------------


def ufunc(name: str) -> Rule:
    """Return the rule of a ufunc, whose operands have the dtypes of one of its loops."""
    known: dict[str, Any] = {}  # the dtype of the result, by the characters of those of the operands

    def rule(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
        if attrs:
            refuse_attrs(attrs)
        if len(operands) == 1:
            (x,) = operands
            shape, chars = x.shape, x.dtype.char
        else:
            x, y = operands
            shape, chars = x.shape, x.dtype.char + y.dtype.char
            if shape != y.shape:
                shape = _broadcast(shape, y.shape)
        dtype = known.get(chars)
        if dtype is None:
            dtype = known[chars] = _loops(name).get(chars)
            if dtype is None:
                refuse_types(operands)
        return shape, dtype

    return rule


@cache
def _loops(name: str) -> dict[str, np.dtype[Any]]:
    """Return the dtypes of the results of a ufunc, by the characters of those of its operands."""
    loops = (types.split("->") for types in UFUNCS[name].types)
    return {
        chars: np.dtype(result) for chars, result in reversed(list(loops))
    }  # of two, NumPy takes the first


def where(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type a choice between elements of one dtype."""
    refuse_attrs(attrs)
    condition, x, y = operands
    if condition.dtype != _BOOL or x.dtype != y.dtype:
        refuse_types(operands)
    require_copyable(x)
    return _broadcast(condition.shape, x.shape, y.shape), x.dtype


def cast(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type a conversion to the declared dtype."""
    refuse_attrs(attrs)
    (x,) = operands
    if not has_cast(x.dtype, dtype):
        refuse(f"there is no conversion from {x.dtype} to {dtype}")
    return x.shape, dtype


def _broadcast(*shapes: Shape) -> Shape:
    try:
        return broadcast_shapes(*shapes)
    except CannotLower:
        refuse(f"shapes {', '.join([str(list(shape)) for shape in shapes])} do not broadcast together")


# ---- views -------------------------------------------------------------------------------------------


def reshape(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type the same elements, in C order, in the declared shape."""
    refuse_attrs(attrs)
    (x,) = operands
    if prod(x.shape) != prod(shape):
        refuse(f"{types_of(operands)} has another number of elements than {list(shape)}")
    return shape, x.dtype


def transpose(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type a permutation of axes."""
    shape = operands[0].shape
    order: Any = attrs[0] if len(attrs) == 1 else None
    if not are_ints(order) or len(order) != len(shape) or {*order} != {*range(len(shape))}:
        refuse("its attribute must be a permutation of the axes")
    return tuple([shape[axis] for axis in order]), operands[0].dtype


def broadcast(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type elements repeated to the declared shape."""
    refuse_attrs(attrs)
    (x,) = operands
    if not broadcasts_to(x.shape, shape):
        refuse(f"{types_of(operands)} does not broadcast to {list(shape)}")
    return shape, x.dtype


def slice_(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type regularly spaced elements, as many along each axis as the declared shape says."""
    (x,) = operands
    _within(attrs, x.shape, shape)
    return shape, x.dtype


def _within(attrs: tuple[Any, ...], shape: Shape, counts: Shape) -> None:
    """Check that starts and steps with these counts stay inside a shape."""
    if len(attrs) != 2 or not are_ints(attrs[0]) or not are_ints(attrs[1]):
        refuse("its attributes must be starts and steps")
    starts, steps = attrs
    if not len(starts) == len(steps) == len(shape) == len(counts):
        refuse("its starts and steps are of another number of axes")
    for start, step, length, count in zip(starts, steps, shape, counts, strict=True):
        last = start + (count - 1) * step
        fits = not count or (step and 0 <= start < length and 0 <= last < length)
        if not fits or abs(start) >= MOST_BYTES or abs(step) >= MOST_BYTES:
            refuse("it reaches outside of the array")


def reals(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type complex numbers as pairs of floats."""
    refuse_attrs(attrs)
    (x,) = operands
    if x.dtype not in PARTS:
        refuse_types(operands)
    return (*x.shape, 2), PARTS[x.dtype]


def complexes(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type pairs of floats as complex numbers."""
    refuse_attrs(attrs)
    (x,) = operands
    if x.dtype not in _FLOATS or x.shape[-1:] != (2,):
        refuse_types(operands)
    return x.shape[:-1], _COMPLEX[x.dtype]


def part(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type one of several results, of the declared type, in a block of bytes."""
    (block,) = operands
    if block.dtype != BYTES or len(block.shape) != 1 or len(attrs) != 1 or not is_int(attrs[0]):
        refuse("it takes a block of bytes, and an offset")
    (offset,) = attrs
    if offset < 0 or offset % ALIGNMENT or offset + prod(shape) * dtype.itemsize > block.shape[0]:
        refuse(f"there is no {dtype}{list(shape)} at byte {offset} of {block.shape[0]}")
    return shape, dtype


# ---- reductions and scans ----------------------------------------------------------------------------


def fold(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type a reduction over axes that follow each other."""
    x = operands[0]
    shape = _reduced(x, attrs, bool(attrs) and attrs[0] not in ("sum", "prod", "any", "all"))
    kind = attrs[0]
    if not has_fold(kind, x.dtype):
        refuse(f"there is no {kind} of {x.dtype}")
    is_integer = kind in ("argmax", "argmin") or (kind == "sum" and x.dtype == _BOOL)
    return shape, _INT64 if is_integer else x.dtype


def _reduced(x: Typed, attrs: Attrs, needs_one: bool) -> Shape:
    """Return the shape of a reduction, over axes with one element at least if it needs one."""
    if len(attrs) != 2 or not isinstance(attrs[0], str) or not are_ints(attrs[1]) or not attrs[1]:
        refuse("its attributes must be a kind and axes")
    kind, axes = attrs
    first, last = axes[0], axes[-1]
    if len(axes) > 1 and axes != tuple(range(first, first + len(axes))):
        refuse("its axes do not follow each other")
    if first < 0 or last >= len(x.shape):
        refuse("its axes are not those of its operand")
    if needs_one and 0 in x.shape[first : last + 1]:
        refuse(f"there is no {kind} of no elements")
    return x.shape[:first] + x.shape[last + 1 :]


def sum_product(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type the sum of a product of two arrays of one type."""
    x, y = operands
    if x.shape != y.shape or x.dtype != y.dtype or x.dtype not in _FLOATS:
        refuse_types(operands)
    if not attrs or attrs[0] != "sum":
        refuse("its kind must be sum")
    return fold([x], attrs, None, None)


def numpy_fold(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type a reduction by NumPy's own loop, of elements of a dtype that the result has, too."""
    (x,) = operands
    if not attrs or attrs[0] not in FOLDING or fold_number(attrs[0], x.dtype) is None:
        refuse(f"there is no loop for {types_of(operands)}")
    return _reduced(x, attrs, attrs[0] in ("max", "min")), x.dtype


def scan(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type an accumulation along an axis; a linear recurrence has factors as its second operand."""
    x = operands[0]
    if len(attrs) != 3 or not isinstance(attrs[0], str) or type(attrs[2]) is not bool:
        refuse("its attributes must be a kind, an axis and a direction")
    kind, axis, _ = attrs
    if not is_int(axis) or not 0 <= axis < len(x.shape):
        refuse("its axis is not one of its operand")
    if not has_scan(kind, x.dtype):
        refuse(f"there is no cumulative {kind} of {x.dtype}")
    if len(operands) != 1 + (kind == "linear"):
        refuse(f"it takes {1 + (kind == 'linear')} operands, and has {len(operands)}")
    if operands[-1].shape != x.shape or operands[-1].dtype != x.dtype:
        refuse("its operands must be of one type")
    return x.shape, x.dtype


# ---- products and systems of equations ---------------------------------------------------------------


def matmul(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type a product of matrices, or of stacks of them, times a factor if it has one."""
    a, b = operands
    if attrs and (len(attrs) != 1 or type(attrs[0]) is not float):
        refuse("its attribute must be a float")
    if a.dtype != b.dtype or a.dtype not in _FLOATS:
        refuse_types(operands)
    return _product(a, b), a.dtype


def _product(a: Typed, b: Typed) -> Shape:
    operands = (a, b)
    if not (2 <= len(a.shape) <= 4 and 2 <= len(b.shape) <= 4):
        refuse(f"{types_of(operands)} are no matrices, nor stacks along one or two axes")
    if a.shape[-1] != b.shape[-2]:
        refuse(f"{types_of(operands)} do not fit together")
    sizes = (*a.shape, *b.shape)
    if min(sizes) <= 0 or max(sizes) >= _MOST_OF_BLAS:
        refuse(f"{types_of(operands)} are too small or too large")
    stack = a.shape[:-2]
    if stack != b.shape[:-2]:
        stack = _broadcast(stack, b.shape[:-2])
    return (*stack, a.shape[-2], b.shape[-1])


def numpy_matmul(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type a product of matrices, or of stacks of them along one axis, as NumPy computes it."""
    refuse_attrs(attrs)
    if max(len(x.shape) for x in operands) > 3:
        refuse(f"{types_of(operands)} are stacks along more than one axis")
    a, b = operands
    if a.dtype != b.dtype or matmul_number(a.dtype) is None:
        refuse_types(operands)
    return _product(a, b), a.dtype


def matmul_add(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type an array with a product added that is as large."""
    total, *factors = operands
    if len(attrs) != 1:
        refuse("its attribute must be a float")
    shape, dtype = matmul(factors, attrs, None, None)
    if total.dtype != dtype or not broadcasts_to(total.shape, shape):
        refuse(f"{types_of([total])} cannot be added to a product of {types_of(factors)}")
    return shape, dtype


def solve(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type the solutions of systems of equations."""
    refuse_attrs(attrs)
    return _system(operands)


def triangular_solve(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type the solutions of triangular systems of equations."""
    require_bools(attrs, 3)
    return _system(operands)


def cholesky(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type triangular factors of square matrices."""
    require_bools(attrs, 1)
    return _system([*operands, *operands])


def _system(operands: Operands) -> Type:
    """Type solutions for the rows of the second operand, with the matrices of the first."""
    a, b = operands
    if a.dtype != b.dtype or a.dtype not in _FLOATS:
        refuse_types(operands)
    fits = 2 <= len(a.shape) <= 3 and a.shape[-2] == a.shape[-1] == b.shape[-1]
    fits = fits and a.shape[:-2] == b.shape[:-2] and len(a.shape) == len(b.shape)
    sizes = (*a.shape, *b.shape)
    if not fits or min(sizes) <= 0 or max(sizes) >= _MOST_OF_BLAS:
        refuse(f"{types_of(operands)} are no system of equations")
    return b.shape, b.dtype


def gufunc(name: str) -> Rule:
    """Return the rule of a generalised ufunc; several results are one block of bytes."""

    def rule(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
        if not are_ints(attrs):
            refuse("its attributes must be lengths")
        chars = "".join([x.dtype.char for x in operands])
        try:
            layout = layout_of(name, [x.shape for x in operands], chars, attrs)
        except ValueError as error:
            refuse(str(error))
        if gufunc_number(name, layout.types) is None:
            refuse(f"this NumPy has no such loop of {name}")
        if len(layout.results) == 1:
            return layout.results[0]
        block = Block(layout.results)
        if not is_shape((block.size,)):
            refuse("its results are too large")
        return (block.size,), BYTES

    return rule


def require(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type a value that depends on one bool."""
    refuse_attrs(attrs)
    x, is_right = operands
    if is_right.shape != () or is_right.dtype != _BOOL:
        refuse_types(operands)
    require_copyable(x)
    return x.shape, x.dtype


# ---- reading and writing parts -----------------------------------------------------------------------


def take(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type elements of one axis, by an array of indices."""
    x, index = operands
    axis = index_below(len(x.shape), attrs)
    require_copyable(x)
    return _taken(x, axis, index), x.dtype


def _taken(x: Typed, axis: int, index: Typed) -> Shape:
    if index.dtype != _INT64 or len(index.shape) != 1:
        refuse("its index must be a vector of int64")
    return (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])


def ravel_index(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type one index made of several, one for each axis."""
    if len(attrs) != 2 or type(attrs[1]) is not bool:
        refuse("its attributes must be lengths and a bool")
    if not is_shape(attrs[0]) or len(attrs[0]) != len(operands):
        refuse("its lengths must be as many as its operands")
    first = operands[0]
    for x in operands:
        if x.shape != first.shape or x.dtype != _INT64:
            refuse_types(operands)
    return first.shape, first.dtype


def add_at(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type an array with values added to a slice, or along an axis by an array of indices."""
    total, values, *index = operands
    if total.dtype != values.dtype or total.dtype not in _FLOATS:
        refuse_types(operands)
    if not index:
        _within(attrs, total.shape, values.shape)
    elif values.shape != _taken(total, index_below(len(total.shape), attrs), index[0]):
        refuse(f"its values {types_of([values])} do not fit")
    return total.shape, total.dtype


def put(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type an array with values written to a slice."""
    total, values = operands
    if total.dtype != values.dtype:
        refuse_types(operands)
    require_copyable(total)
    _within(attrs, total.shape, values.shape)
    return total.shape, total.dtype


def concatenate(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type arrays joined along an axis."""
    first = operands[0]
    require_copyable(first)
    axis = index_below(len(first.shape), attrs)
    before, after = first.shape[:axis], first.shape[axis + 1 :]
    total = 0
    for x in operands:
        fits = len(x.shape) == len(first.shape) and x.shape[:axis] == before and x.shape[axis + 1 :] == after
        if not fits or x.dtype != first.dtype:
            refuse(f"{types_of(operands)} do not fit together")
        total += x.shape[axis]
    return (*before, total, *after), first.dtype


# ---- loops -------------------------------------------------------------------------------------------


def loop(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type the results of a loop, in one block of bytes."""
    if len(attrs) != 1 or type(attrs[0]) is not Loop:
        refuse("its attribute must be a loop")
    (loop,) = attrs
    inputs, outputs = loop.inputs, loop.outputs
    stacked = len(inputs) - loop.constants - loop.states
    if min(loop.length, loop.constants, loop.states, stacked, len(outputs) - loop.states) < 0:
        refuse("it has fewer values than it says")
    if loop.ends_by == "flag" and not (loop.states and outputs[0].shape == () and outputs[0].dtype == bool):
        refuse("its first state does not say whether there is a next step")
    if loop.ends_by == "count":
        *operands, count = operands or refuse("it has no number of steps")
        if (count.shape, count.dtype) != ((), _INT64):
            refuse(f"its number of steps is {types_of([count])}")
    if len(operands) != len(inputs):
        refuse(f"its body has {len(inputs)} inputs, and it has {len(operands)} operands")
    for k, (x, input) in enumerate(zip(operands, inputs, strict=True)):
        state = k - loop.constants
        lead = (loop.length,) if state >= loop.states else ()
        fits = x.shape[: len(lead)] == lead
        if input is not None and fits:
            fits = (x.shape, x.dtype) == ((*lead, *input.shape), input.dtype)
        if 0 <= state < loop.states:
            fits = fits and (x.shape, x.dtype) == (outputs[state].shape, outputs[state].dtype)
        if not fits:
            refuse(f"operand {k} is {types_of([x])}, and its body takes or returns another type")
    if not is_shape((loop.block.size,)):
        refuse("its results are too large")
    return (loop.block.size,), BYTES


# ---- kernels of the registry -------------------------------------------------------------------------


def kernel(operands: Operands, attrs: Attrs, shape: Any, dtype: Any) -> Type:
    """Type a kernel of `tape.kernels.registry`, whose result has the declared shape."""
    if len(attrs) != 2 or not isinstance(attrs[0], str) or not are_ints(attrs[1]):
        refuse("its attributes must be a name and integers")
    try:
        needs = needs_of(*attrs)
    except ValueError as error:
        refuse(str(error))
    entry = REGISTRY[attrs[0]]
    indices = entry.indices
    dtype = next((x.dtype for k, x in enumerate(operands) if k not in indices), None)
    if DTYPE_CODES.get(dtype) not in entry.dtypes or len(operands) != len(needs.operands):
        refuse_types(operands)
    for k, (x, size) in enumerate(zip(operands, needs.operands, strict=True)):
        if prod(x.shape) != size or x.dtype != (_INT64 if k in indices else dtype):
            refuse_types(operands)
    if prod(shape) != needs.out:
        refuse(f"its result has {needs.out} elements, and not shape {list(shape)}")
    if 16 * needs.workspace >= MOST_BYTES:
        refuse("it needs too much memory")
    if called_number(entry, dtype) is None:
        refuse(f"this NumPy does not show its {entry.sorting} of {dtype}")
    return shape, _INT64 if entry.finds else dtype
