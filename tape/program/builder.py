"""Builds a list of instructions, and simplifies on the way.

Every instruction goes through a constructor here that first looks whether it is needed at all: the
same instruction on the same operands is not made twice, literals are computed at once, and algebraic
identities and chains of views collapse before they exist. Operations say how they are made of
instructions in their ``lower`` rule, with a `Builder` and `Value`s in place of NumPy and arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tape.kernels.registry import REGISTRY, needs_of
from tape.kernels.scans import has_scan
from tape.op import Op
from tape.program import folding, indexing, matrices, parts
from tape.program.identities import IDENTITIES
from tape.program.instructions import ELEMENTWISE, Guard, Instruction, Listing
from tape.program.promotion import broadcast_shapes, loop_dtypes
from tape.program.values import CannotLower, Value

__all__ = ["CASTABLE", "Builder", "CannotLower", "Value"]

Shape = tuple[int, ...]

_COMMUTATIVE_OPS = (
    "add multiply maximum minimum equal not_equal logical_and logical_or logical_xor bitwise_and bitwise_or "
    "bitwise_xor logaddexp hypot fmax fmin"
)
_COMMUTATIVE = frozenset(_COMMUTATIVE_OPS.split())
_BOOL, _INT64 = np.dtype(bool), np.dtype(np.int64)
_COPY = Op(np.array, name="copy")
CASTABLE = frozenset(map(np.dtype, (np.float64, np.float32, np.int64, np.int32, bool)))
"""What the machine converts from and to."""
_SUMS_AND_PRODUCTS = frozenset({"add", "subtract", "multiply"})
_SIMPLIFIED = frozenset({"literal", "broadcast", "negative", "add_at"})
"""What one operand must be for an identity to apply to these, if shapes are alike; most are nothing of it."""
_TELLING = frozenset({"literal", "broadcast"})
"""What instructions are whose value may be known."""


class Builder:
    """A list of instructions in the making."""

    def __init__(self) -> None:
        self.listing = Listing()
        self._values: list[Value] = []  # of each instruction
        self._made: dict[Any, Value] = {}
        self._constants: dict[Any, Value] = {}
        self.counted: dict[int, np.ndarray] = {}  # 0, 1, 2, ...: one array of each length
        self.is_native = True  # whether the machine knows numbers of all kinds that came in
        self.merged = self.folded = self.simplified = 0  # what was not made: see `tape.program.rewrite`

    # ---- where values come from ------------------------------------------------------------------

    def push(
        self, op: str, operands: Sequence[Value], attrs: tuple[Any, ...], shape: Shape, dtype: Any
    ) -> Value:
        """Append an instruction, unless there is one like it."""
        ids = tuple([operand.id for operand in operands])
        key = (op, ids, attrs, dtype, shape)
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = self.append(op, ids, attrs, shape, dtype)
        elif op != "literal":
            self.merged += 1
        return made

    def append(
        self, op: str, ids: tuple[int, ...], attrs: tuple[Any, ...], shape: Shape, dtype: Any
    ) -> Value:
        """Append an instruction in any case."""
        values = self._values
        value = Value(self, len(values), op, shape, dtype)
        values.append(value)
        self.listing.instructions.append(Instruction(op, ids, attrs, shape, dtype))
        return value

    def input(self, shape: Shape, dtype: np.dtype[Any]) -> Value:
        """The next dynamic leaf."""
        self.is_native = self.is_native and dtype in CASTABLE
        value = self.append("input", (), (len(self.listing.inputs),), shape, dtype)
        self.listing.inputs.append(value.id)
        return value

    def constant(self, array: np.ndarray) -> Value:
        """An array that the function closed over."""
        if _is_uniform(array):
            return self.broadcast(self.literal(array.flat[0], array.dtype), array.shape)
        key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype)
        value = self._constants.get(key)
        if value is None:
            self.is_native = self.is_native and array.dtype in CASTABLE
            if not array.flags.aligned or any(stride % array.itemsize for stride in array.strides):
                value = self._call(_COPY, (array,), {}, (), array.shape, array.dtype)
            else:
                constants = self.listing.constants
                value = self.append("constant", (), (len(constants),), array.shape, array.dtype)
                constants.append(array)
            self._constants[key] = value
        return value

    def fixed(self, value: Any) -> Value:
        """An array that nobody can write to any more, or a number."""
        if isinstance(value, np.ndarray) and value.size and value.dtype in CASTABLE:
            one = value.flat[0]
            if (
                one == value.flat[-1]
                and (value == one).all()
                and (np.signbit(value) == np.signbit(one)).all()
            ):
                return self.broadcast(self.literal(one, value.dtype), value.shape)
        return self.value(value)

    def literal(self, number: Any, dtype: Any = None) -> Value:
        """A number known now."""
        scalar = np.dtype(dtype).type(number) if dtype is not None else np.asarray(number)[()]
        kind = np.dtype(dtype) if dtype is not None else scalar.dtype
        return self.push("literal", (), (kind.char, scalar.tobytes()), (), kind)

    def known(self, value: Value) -> Any:
        """The number that a value is known to be everywhere; None if it is not known."""
        if value.op not in _TELLING:
            return None
        instruction = self.listing.instructions[value.id]
        if value.op == "broadcast":
            instruction = self.listing.instructions[instruction.operands[0]]
        if instruction.op != "literal":
            return None
        return instruction.number

    def made_by(self, value: Value, op: str) -> tuple[Value, ...] | None:
        """The operands of the instruction behind a value, if it is of this kind."""
        return self.operands_of(self.listing.instructions[value.id]) if value.op == op else None

    def operands_of(self, instruction: Instruction) -> tuple[Value, ...]:
        return tuple([self._values[id] for id in instruction.operands])

    def _kind(self, operand: Any) -> Any:
        """What an operand counts as in promotion."""
        if isinstance(operand, Value):
            return type(operand.dtype.type(0).item()) if operand.is_weak else operand.dtype
        if type(operand) in (float, complex, int):
            return type(operand)
        return np.result_type(operand)

    def value(self, operand: Any, dtype: Any = None) -> Value:
        """An operand as a value, converted to a dtype."""
        if not isinstance(operand, Value):
            if np.ndim(operand) == 0:
                return self.literal(operand, dtype)
            operand = self.constant(operand)
        return operand if dtype is None or operand.dtype == dtype else self.cast(operand, dtype)

    # ---- elementwise -------------------------------------------------------------------------------

    def elementwise(self, name: str, *operands: Any) -> Value:
        """A ufunc of NumPy's, with its promotion and broadcasting."""
        if name in _SUMS_AND_PRODUCTS:
            x, y = operands
            if (
                type(x) is type(y) is Value
                and not (x.op in _SIMPLIFIED or y.op in _SIMPLIFIED or x.is_weak or y.is_weak)
                and x.dtype is y.dtype
                and x.shape == y.shape
                and x.dtype.kind == "f"
            ):
                return self._elementwise(name, operands, x.dtype)
        if name == "positive":
            return self.value(operands[0])
        kinds = [x.dtype if type(x) is Value and not x.is_weak else self._kind(x) for x in operands]
        dtypes = loop_dtypes(name, tuple(kinds))
        if name == "power" and dtypes[-1].kind != "f":
            raise CannotLower("NumPy refuses negative powers of integers, which the machine cannot")
        values = tuple(
            [
                operand if type(operand) is Value and operand.dtype is dtype else self.value(operand, dtype)
                for operand, dtype in zip(operands, dtypes, strict=False)
            ]
        )
        for value in values:
            if value.op == "broadcast":
                return self._spread(lambda *cores: self._simplified(name, cores, dtypes[-1]), values)
        return self._simplified(name, values, dtypes[-1])

    def where(self, condition: Any, x: Any, y: Any) -> Value:
        """``x`` where the condition holds, else ``y``."""
        kinds = [self._kind(operand) for operand in (x, y)]
        dtype = loop_dtypes("maximum", tuple(kinds))[-1]
        values = [self.value(condition, _BOOL), self.value(x, dtype), self.value(y, dtype)]
        return self._spread(lambda *cores: self._where(cores, dtype), values)

    def _where(self, values: tuple[Value, ...], dtype: np.dtype[Any]) -> Value:
        condition, x, y = values
        holds = self.known(condition)
        if holds is not None:
            return x if holds else y
        if x.id == y.id:
            return x
        return self.push("where", values, (), broadcast_shapes(*(value.shape for value in values)), dtype)

    def cast(self, value: Value, dtype: Any) -> Value:
        """Conversion to another dtype."""
        dtype = np.dtype(dtype)
        if value.dtype == dtype and not value.is_weak:
            return value
        number = self.known(value)
        if number is not None:
            with np.errstate(all="ignore"):
                return self.broadcast(self.literal(number, dtype), value.shape)
        if value.dtype == dtype:
            return self._values[value.id]
        if value.dtype not in CASTABLE or dtype not in CASTABLE:
            raise CannotLower(f"{value.dtype} to {dtype}")
        return self._spread(lambda core: self.push("cast", (core,), (), core.shape, dtype), [value])

    def _spread(self, make: Callable[..., Value], values: Sequence[Value]) -> Value:
        """Compute on what was broadcast before it was, where that is smaller."""
        shape = broadcast_shapes(*[value.shape for value in values])
        cores = [(self.made_by(value, "broadcast") or (value,))[0] for value in values]
        result = make(*cores)
        return result if result.shape == shape else self.broadcast(result, shape)

    def _simplified(self, name: str, values: tuple[Value, ...], dtype: np.dtype[Any]) -> Value:
        numbers = [self.known(value) if value.op in _TELLING else None for value in values]
        if None not in numbers:
            self.folded += 1
            with np.errstate(all="ignore"):
                return self.literal(ELEMENTWISE[name](*numbers), dtype)
        rule = IDENTITIES.get(name)
        simpler = rule(self, values, numbers) if rule is not None else None
        if simpler is not None:
            self.simplified += 1
            return simpler
        return self._elementwise(name, values, dtype)

    def _elementwise(self, name: str, values: tuple[Value, ...], dtype: np.dtype[Any]) -> Value:
        """The instruction, unless there is one like it."""
        x, y = values[0], values[-1]
        if x.id > y.id and name in _COMMUTATIVE:
            x, y = y, x
        key = (name, x.id, y.id)  # that says it all: the loop depends on the dtypes of the operands alone
        made = self._made.get(key)
        if made is None:
            shape = x.shape if x.shape == y.shape else broadcast_shapes(x.shape, y.shape)
            ids = (x.id,) if len(values) == 1 else (x.id, y.id)
            made = self._made[key] = self.append(name, ids, (), shape, dtype)
        else:
            self.merged += 1
        return made

    # ---- folds ---------------------------------------------------------------------------------------

    def fold(
        self, kind: str, value: Value, axes: Any = None, keepdims: bool = False, dtype: Any = None
    ) -> Value:
        """A reduction over axes: sum, prod, max, min, any, all, argmax or argmin."""
        return folding.fold(self, kind, value, axes, keepdims, dtype)

    def sum_to(self, value: Value, shape: Shape) -> Value:
        """The transpose of `broadcast`."""
        if value.shape == shape:
            return value
        extra = value.ndim - len(shape)
        axes = tuple([i for i in range(value.ndim) if i < extra or shape[i - extra] != value.shape[i]])
        return self.reshape(self.fold("sum", value, axes), shape)

    def scan(
        self, kind: str, x: Value, axis: int, backwards: bool = False, factors: Value | None = None
    ) -> Value:
        """What accumulates along an axis: "min", or of a kind in `tape.kernels.scans.SCANS`."""
        if kind == "min":
            return -self.scan("max", -x, axis, backwards)
        given = (x,) if factors is None else (x, factors)
        dtype = np.result_type(*[value.dtype for value in given])
        if kind in ("sum", "prod") and dtype.kind in "bi":
            dtype = _INT64
        if not has_scan(kind, dtype):
            raise CannotLower(f"accumulating {dtype}")
        shape = broadcast_shapes(*[value.shape for value in given])
        operands = [self.broadcast(self.value(value, dtype), shape) for value in given]
        if not prod(shape) or shape[axis] == 1:
            return operands[0]
        return self.push("scan", operands, (kind, axis % len(shape), backwards), shape, dtype)

    # ---- views -----------------------------------------------------------------------------------------

    def reshape(self, value: Value, shape: Shape) -> Value:
        """The same elements in C order."""
        while (source := self.made_by(value, "reshape")) is not None:
            (value,) = source
        if value.shape == shape:
            return value
        if value.op == "literal":
            return self.broadcast(value, shape)
        if (source := self.made_by(value, "broadcast")) is not None and source[0].size == 1:
            return self.broadcast(self.reshape(source[0], ()), shape)
        return self.push("reshape", (value,), (), shape, value.dtype)

    def transpose(self, value: Value, axes: Sequence[int] | None = None) -> Value:
        """A permutation of the axes."""
        order = (
            tuple(range(value.ndim))[::-1] if axes is None else tuple([axis % value.ndim for axis in axes])
        )
        if value.op == "transpose":
            instruction = self.listing.instructions[value.id]
            order = tuple([instruction.attrs[0][axis] for axis in order])
            (value,) = self.operands_of(instruction)
        long = [axis for axis in order if value.shape[axis] != 1]
        shape = tuple([value.shape[axis] for axis in order])
        if long == sorted(long):
            return self.reshape(value, shape)
        return self.push("transpose", (value,), (order,), shape, value.dtype)

    def broadcast(self, value: Value, shape: Shape) -> Value:
        """Repeated along new axes and axes of length one."""
        if (source := self.made_by(value, "broadcast")) is not None:
            (value,) = source
        if value.shape == shape:
            return value
        return self.push("broadcast", (value,), (), shape, value.dtype)

    def slice(self, value: Value, starts: Shape, steps: Shape, shape: Shape) -> Value:
        """Regularly spaced elements: one start, step and count for each axis."""
        if shape == value.shape and not any(starts) and all(step == 1 for step in steps):
            return value
        if (source := self.made_by(value, "broadcast")) is not None and source[0].size == 1:
            return self.broadcast(self.reshape(source[0], ()), shape)
        if value.op in parts.WRITES and (found := parts.read(self, value, starts, steps, shape)) is not None:
            return found
        return self.push("slice", (value,), (starts, steps), shape, value.dtype)

    # ---- the rest ----------------------------------------------------------------------------------------

    def matmul(self, x: Value, y: Value) -> Value:
        """Stacks of matrices; two axes at least, NumPy's rules for the rest."""
        return matrices.matmul(self, x, y)

    def solve(self, a: Value, right: Value) -> Value:
        """The x for which ``a @ x`` is ``right``: matrices, or stacks of them."""
        return matrices.solve(self, a, right)

    def triangular_solve(
        self, a: Value, right: Value, lower: bool, transposed: bool, unit_diagonal: bool
    ) -> Value:
        """As `solve`, where only a triangle of ``a`` is looked at, which may be transposed first."""
        return matrices.triangular_solve(self, a, right, lower, transposed, unit_diagonal)

    def cholesky(self, a: Value, upper: bool = False) -> Value:
        """The triangular factors of positive definite matrices."""
        return matrices.cholesky(self, a, upper)

    def take(self, value: Value, index: Value, axis: int) -> Value:
        """Elements of one axis by an array of positions; negative ones count from the end."""
        shape = (*value.shape[:axis], *index.shape, *value.shape[axis + 1 :])
        if index.dtype.kind not in "iu" or value.dtype.itemsize not in (4, 8):
            raise CannotLower(f"an index of {index.dtype}")
        index = self.reshape(self.value(index, _INT64), (index.size,))
        flat = (*value.shape[:axis], index.size, *value.shape[axis + 1 :])
        return self.reshape(self.push("take", (value, index), (axis,), flat, value.dtype), shape)

    def add_at(self, total: Value, values: Value, index: Value | None, place: tuple[Any, ...]) -> Value:
        """``total`` with values added at a slice ``(starts, steps)``, or along ``(axis,)`` by an index."""
        if total.dtype not in (np.float64, np.float32):
            raise CannotLower(f"adding to {total.dtype}")
        operands = (total, values) if index is None else (total, values, index)
        return self.push("add_at", operands, place, total.shape, total.dtype)

    def put(self, total: Value, values: Value, starts: Shape, steps: Shape) -> Value:
        """``total`` with values of its dtype written to a slice."""
        return parts.put(self, total, values, starts, steps)

    def set_at(self, total: Value, values: Value, index: tuple[Any, ...]) -> Value:
        """``total`` with values of its dtype written at an index."""
        return indexing.updated(self, total, values, index, is_added=False)

    def added_at(self, total: Value, values: Value, index: tuple[Any, ...]) -> Value:
        """``total`` with values of its dtype added at an index."""
        return indexing.updated(self, total, values, index, is_added=True)

    def read(self, value: Value, index: tuple[Any, ...]) -> Value:
        """``value[index]``."""
        return indexing.read(self, value, index)

    def written(self, values: Value, index: tuple[Any, ...], shape: Shape) -> Value:
        """Zeros with values added at an index."""
        zeros = self.broadcast(self.literal(0, values.dtype), shape)
        return indexing.updated(self, zeros, values, index, is_added=True)

    def picked(self, rows: Value, index: Value) -> Value:
        """One element of each row."""
        return indexing.picked(self, rows, index)

    def add_picked(self, rows: Value, index: Value, number: float) -> Value:
        """Rows with a number added to one element of each."""
        return indexing.add_picked(self, rows, index, number)

    def position(self, kind: str, value: Value, axis: int | None, keepdims: bool) -> Value:
        """Where the largest or smallest element is: argmax or argmin."""
        if not value.size:
            raise CannotLower("no elements")
        if axis is not None:
            return self.fold(kind, value, axis, keepdims, dtype=_INT64)
        flat = self.fold(kind, self.reshape(value, (value.size,)), 0, dtype=_INT64)
        return self.reshape(flat, (1,) * value.ndim) if keepdims else flat

    def concatenate(self, values: Sequence[Value], axis: int) -> Value:
        """Arrays of one dtype joined along an axis."""
        values = [value for value in values if value.shape[axis]] or list(values[:1])
        if len(values) == 1:
            return values[0]
        first = values[0]
        total = sum(value.shape[axis] for value in values)
        shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
        return self.push("concatenate", values, (axis,), shape, first.dtype)

    def kernel(
        self, name: str, operands: Sequence[Value], parameters: tuple[int, ...], shape: Shape, dtype: Any
    ) -> Value:
        """What a kernel of `tape.kernels.registry` makes of its operands, which are of its dtype or int64."""
        indices, dtype = REGISTRY[name].indices, np.dtype(dtype)
        if dtype not in (np.float64, np.float32):
            raise CannotLower(f"{name} of {dtype}")
        given = [self.value(x, _INT64 if k in indices else dtype) for k, x in enumerate(operands)]
        needs_of(name, parameters)
        return self.push("kernel", given, (name, parameters), shape, dtype)

    def guard(self, value: Value, kind: str, outcome: Any) -> None:
        """Check that a branch, or a shape or dtype that depends on data, comes out as it did."""
        guards = self.listing.guards
        if kind == "type":  # which the callback that made the value looks at itself
            instruction = self.listing.instructions[value.id]
            instruction.attrs = (*instruction.attrs, len(guards))
        else:
            self.append("guard", (value.id,), (len(guards),), (), _BOOL)
        guards.append(Guard(kind, outcome))

    def callback(
        self, op: Any, operands: Sequence[Any], attrs: dict[str, Any], shape: Shape, dtype: Any
    ) -> Value:
        """An operation that Python runs."""
        places: list[Any] = []
        ids = []
        for operand in operands:
            if isinstance(operand, np.ndarray):
                operand = self.constant(operand)
            if isinstance(operand, Value):
                ids.append(operand.id)
                places.append(None)
            else:
                places.append(operand)
        return self._call(op, tuple(places), attrs, tuple(ids), shape, dtype)

    def _call(
        self,
        op: Op,
        places: tuple[Any, ...],
        attrs: dict[str, Any],
        ids: tuple[int, ...],
        shape: Shape,
        dtype: Any,
    ) -> Value:
        self.is_native = self.is_native and dtype in CASTABLE
        calls = self.listing.callbacks
        calls.append((op, places, attrs))
        return self.append("callback", ids, (len(calls) - 1,), shape, dtype)


def _is_uniform(array: np.ndarray) -> bool:
    """Whether it is one number repeated that nobody can change any more: what broadcasting a scalar makes."""
    return (
        array.size > 0
        and not any(array.strides)
        and array.ndim > 0
        and not array.flags.writeable
        and isinstance(array.base, np.ndarray)
        and array.base.size == 1
        and array.base.base is None
        and sys.getrefcount(array.base) <= 2  # the array and this expression: nobody else can write to it
    )
