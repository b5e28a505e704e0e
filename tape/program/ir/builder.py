"""`Builder`: appends instructions to IR, and simplifies before it does.

An instruction that exists is not made twice, literals are computed at once, and algebraic identities and
chains of views collapse before they exist. The ``lower`` rule of an operation is its program in instructions:
it computes with a `Builder` and `Value`s in place of NumPy and arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tape.core.op import Op
from tape.kernels.codes import CAST_CODES, DTYPE_CODES
from tape.kernels.registry import REGISTRY
from tape.program.ir import conversions, exponential, folding, indexing, loops, matrices, ordering, parts
from tape.program.ir.identities import IDENTITIES, SPECIAL_IDENTITIES
from tape.program.ir.instructions import IR, Guard, Instruction
from tape.program.ir.promotion import broadcast_shapes, loop_dtypes
from tape.program.ir.table import INSTRUCTIONS
from tape.program.ir.values import CannotLower, Value
from tape.program.native.ufuncs import UFUNCS

Shape = tuple[int, ...]

_COMMUTATIVE_OPS = (
    "add multiply maximum minimum equal not_equal logical_and logical_or logical_xor bitwise_and bitwise_or "
    "bitwise_xor logaddexp hypot fmax fmin"
)
_COMMUTATIVE = frozenset(_COMMUTATIVE_OPS.split())
_COMPARISONS = frozenset({"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"})
_INT64 = np.dtype(np.int64)
_USUAL = {np.dtype(kind): np.dtype(kind) for kind in (np.int64, np.uint64, np.int32, np.uint32)}
"""Of equal dtypes, as those of C's long and long long may be, the one whose scalars have NumPy's usual class.
Programs and what is remembered by dtype are for both."""
_COPY = Op(np.array, name="copy")
NATIVE_DTYPES = frozenset({*CAST_CODES, *conversions.PARTS})
"""Dtypes that the machine computes with: by NumPy's loops."""
ALL_NATIVE = frozenset(DTYPE_CODES)
"""Those of them that all ``lower`` rules take."""
_SUMS_AND_PRODUCTS = frozenset({"add", "subtract", "multiply"})
_SIMPLIFIED = frozenset({"literal", "broadcast", "negative", "add_at"})
"""An identity of these applies to operands of one shape only if one of them is such an instruction."""
_TELLING = frozenset({"literal", "broadcast"})
"""Instructions that may be one known number."""


class Builder:
    """IR under construction; each method returns the `Value` of an instruction, or of a simpler one.

    Parameters
    ----------
    as_numpy : bool
        Whether to round as NumPy does: sums and products by its loops, and no identity that rounds otherwise.
    repeats : bool
        Whether what checkpoints compute once more is computed once more.
    """

    def __init__(self, *, as_numpy: bool = False, repeats: bool = True) -> None:
        self.as_numpy = as_numpy
        self.repeats = repeats
        self.ir = IR()
        self._values: list[Value] = []  # of each instruction
        self._made: dict[Any, Value] = {}  # by instruction: for finding equal ones
        self._constants: dict[Any, Value] = {}
        self.fixed_constants: set[int] = set()  # by number: those that nothing can change
        self._loops: dict[tuple[str, str], bool] = {}  # whether a ufunc has a loop for dtypes as they are
        self.counted: dict[int, np.ndarray] = {}  # 0, 1, 2, ...: one array of each length
        self.blocks: dict[int, loops.Block] = {}  # of several results, by the instruction that has them
        self.orders: dict[int, tuple[int, int]] = {}  # what an order sorts, and along which axis
        self.shape: Shape | None = None  # of the recorded result that is being lowered, if data decide
        self.length: tuple[Value, int] | None = None  # what it must be along an axis
        self.is_native = True  # whether all ``lower`` rules take all dtypes so far
        self.merged = self.folded = self.simplified = 0  # statistics, see `tape.program.ir.rewrite`

    # ---- where values come from ------------------------------------------------------------------

    def push(
        self,
        op: str,
        operands: Sequence[Value],
        attrs: tuple[Any, ...] = (),
        *,
        shape: Shape | None = None,
        dtype: Any = None,
    ) -> Value:
        """Return the value of an instruction, which is appended unless there is an equal one.

        Parameters
        ----------
        op : str
            Its name in `tape.program.ir.table`.
        operands : sequence of Value
            Its operands.
        attrs : tuple
            Its attributes.
        shape, dtype : optional
            Those of the result, for instructions that have them as a parameter: views, casts and kernels. All
            others are inferred.

        Raises
        ------
        CannotLower
            If the operands and attributes are not of types that it takes.
        """
        ids = tuple([operand.id for operand in operands])
        key = (op, ids, attrs, shape, dtype)
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = self._append(op, ids, operands, attrs, shape, dtype)
        elif op != "literal":
            self.merged += 1
        return made

    def _append(
        self,
        op: str,
        ids: tuple[int, ...],
        operands: Sequence[Value],
        attrs: tuple[Any, ...],
        shape: Any = None,
        dtype: Any = None,
    ) -> Value:
        """Append an instruction in any case, of the type that its rule infers."""
        shape, dtype = INSTRUCTIONS[op].rule(operands, attrs, shape, dtype)
        dtype = _USUAL.get(dtype, dtype)
        if dtype not in ALL_NATIVE:
            self.is_native = False
        values = self._values
        value = Value(self, len(values), op, shape, dtype)
        values.append(value)
        self.ir.instructions.append(Instruction(op, ids, attrs, shape, dtype))
        return value

    def input(self, shape: Shape, dtype: np.dtype[Any]) -> Value:
        """Return the next argument that is an array or a number."""
        value = self._append("input", (), (), (len(self.ir.inputs),), shape, dtype)
        self.ir.inputs.append(value.id)
        return value

    def constant(self, array: np.ndarray) -> Value:
        """Return an array that the function closed over; it is read by reference in every run."""
        if _is_uniform(array):
            return self.broadcast(self.literal(array.flat[0], array.dtype), array.shape)
        key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype)
        value = self._constants.get(key)
        if value is None:
            if not array.flags.aligned or any(stride % array.itemsize for stride in array.strides):
                value = self._call(_COPY, (array,), {}, (), array.shape, array.dtype)
            else:
                constants = self.ir.constants
                value = self._append("constant", (), (), (len(constants),), array.shape, array.dtype)
                constants.append(array)
            self._constants[key] = value
        return value

    def fixed(self, value: Any) -> Value:
        """Return an array that cannot change any more, or a number."""
        if isinstance(value, np.ndarray) and not value.size:
            return self.broadcast(self.literal(0, value.dtype), value.shape)
        if isinstance(value, np.ndarray) and value.dtype in ALL_NATIVE:
            one = value.flat[0]
            if (
                one == value.flat[-1]
                and (value == one).all()
                and (np.signbit(value) == np.signbit(one)).all()
            ):
                return self.broadcast(self.literal(one, value.dtype), value.shape)
        known = len(self.ir.constants)
        made = self.value(value)
        self.fixed_constants.update(range(known, len(self.ir.constants)))
        return made

    def literal(self, number: Any, dtype: Any = None) -> Value:
        """Return a number that is known now."""
        scalar = np.dtype(dtype).type(number) if dtype is not None else np.asarray(number)[()]
        kind = np.dtype(dtype) if dtype is not None else scalar.dtype
        return self.push("literal", (), (kind.char, scalar.tobytes()))

    def known(self, value: Value) -> Any:
        """Return the number that all elements of a value are known to be; None if it is not known."""
        if value.op not in _TELLING:
            return None
        instruction = self.ir.instructions[value.id]
        if value.op == "broadcast":
            instruction = self.ir.instructions[instruction.operands[0]]
        if instruction.op != "literal":
            return None
        return instruction.number

    def operands_if(self, value: Value, op: str) -> tuple[Value, ...] | None:
        """Return the operands of the instruction behind a value if it is this instruction, else None."""
        return self.operands_of(self.ir.instructions[value.id]) if value.op == op else None

    def operands_of(self, instruction: Instruction) -> tuple[Value, ...]:
        return tuple([self._values[id] for id in instruction.operands])

    def kind(self, operand: Any) -> Any:
        """Return what an operand counts as in type promotion."""
        if isinstance(operand, Value):
            return type(operand.dtype.type(0).item()) if operand.is_weak else operand.dtype
        if type(operand) in (float, complex, int):
            return type(operand)
        return np.result_type(operand)

    def value(self, operand: Any, dtype: Any = None) -> Value:
        """Return an operand as a `Value`, converted to a dtype if one is given."""
        if not isinstance(operand, Value):
            if np.ndim(operand) == 0:
                return self.literal(operand, dtype)
            operand = self.constant(operand)
        return operand if dtype is None or operand.dtype == dtype else self.cast(operand, dtype)

    # ---- elementwise -------------------------------------------------------------------------------

    def elementwise(self, name: str, *operands: Any) -> Value:
        """Apply a ufunc, with NumPy's type promotion and broadcasting."""
        if name in _SUMS_AND_PRODUCTS:
            x, y = operands
            if (
                type(x) is type(y) is Value
                and not (x.op in _SIMPLIFIED or y.op in _SIMPLIFIED or x.is_weak or y.is_weak)
                and x.dtype is y.dtype
                and x.shape == y.shape
                and x.dtype.kind == "f"
                and not (name == "add" and x.id == y.id)
            ):
                return self._elementwise(name, operands)
        if name == "positive":
            return self.value(operands[0])
        values = operands if self._is_loop(name, operands) else self._promoted(name, operands)
        if values is None:
            return self._beyond(name, operands)
        if name == "power" and values[0].dtype.kind not in "fc" and not (self.known(values[1]) or -1) > 0:
            raise CannotLower("NumPy refuses negative powers of integers, which the machine cannot")
        for value in values:
            if value.op == "broadcast":
                return self._spread(lambda *cores: self._simplified(name, cores), values)
        return self._simplified(name, values)

    def _is_loop(self, name: str, operands: tuple[Any, ...]) -> bool:
        """Return whether operands are values of the very dtypes that a loop of a ufunc takes."""
        chars = ""
        for x in operands:
            if type(x) is not Value or x.is_weak:
                return False
            chars += x.dtype.char
        known = self._loops.get((name, chars))
        if known is None:
            dtypes = loop_dtypes(name, tuple([x.dtype for x in operands]))
            known = chars == "".join([dtype.char for dtype in dtypes[: len(operands)]])
            self._loops[name, chars] = known
        return known

    def _promoted(self, name: str, operands: tuple[Any, ...]) -> tuple[Value, ...] | None:
        """Convert operands to the dtypes of the loop that NumPy chooses.

        Return None for a comparison with an int that the dtype does not have.
        """
        kinds = [self.kind(x) for x in operands]
        if all(isinstance(kind, type) for kind in kinds):  # NumPy compares ints of Python as objects
            kinds = list(map(np.dtype, kinds))
        dtypes = loop_dtypes(name, tuple(kinds))
        if name in _COMPARISONS and any(
            type(x) is int and dtype.kind in "iu" and not np.iinfo(dtype).min <= x <= np.iinfo(dtype).max
            for x, dtype in zip(operands, dtypes, strict=False)
        ):
            return None
        return tuple([self.value(x, dtype) for x, dtype in zip(operands, dtypes, strict=False)])

    def _beyond(self, name: str, operands: tuple[Any, ...]) -> Value:
        """Compare with an int that is beyond all numbers of a dtype, as NumPy does."""
        (other,) = (x for x in operands if type(x) is not int)
        numbers = [x if type(x) is int else other.dtype.type(0) for x in operands]
        return self.broadcast(self.literal(UFUNCS[name](*numbers)), other.shape)

    def where(self, condition: Any, x: Any, y: Any) -> Value:
        """Choose elements of ``x`` where the condition holds, else of ``y``."""
        kinds = [self.kind(operand) for operand in (x, y)]
        dtype = loop_dtypes("maximum", tuple(kinds))[-1]
        values = [self.value(condition, bool), *(self.value(_wrapped(z, dtype), dtype) for z in (x, y))]
        return self._spread(lambda *cores: self._where(cores), values)

    def _where(self, values: tuple[Value, ...]) -> Value:
        condition, x, y = values
        holds = self.known(condition)
        if holds is not None:
            return x if holds else y
        if x.id == y.id:
            return x
        return self.push("where", values)

    def cast(self, value: Value, dtype: Any) -> Value:
        """Convert to another dtype."""
        dtype = np.dtype(dtype)
        if value.dtype == dtype and not value.is_weak:
            return value
        number = self.known(value)
        if number is not None:
            number = number.real if number.dtype.kind == "c" and dtype.kind not in "cb" else number
            with np.errstate(all="ignore"):
                return self.broadcast(self.literal(np.asarray(number).astype(dtype)[()]), value.shape)
        if value.dtype == dtype:
            return self._values[value.id]
        return self._spread(lambda core: conversions.converted(self, core, dtype), [value])

    def real(self, value: Value) -> Value:
        """Return the real parts; of real numbers the numbers."""
        return conversions.real(self, value) if value.dtype.kind == "c" else value

    def imag(self, value: Value) -> Value:
        """Return the imaginary parts."""
        if value.dtype.kind == "c":
            return conversions.imag(self, value)
        return self.broadcast(self.literal(0, value.dtype), value.shape)

    reals, complexes = conversions.reals, conversions.complexes
    joined = conversions.joined

    def squares(self, value: Value) -> Value:
        """Return squares of absolute values."""
        if value.dtype.kind != "c":
            return value * value
        pairs = self.reals(value)
        squares = pairs * pairs
        first, second = (
            self.slice(squares, (*(0,) * value.ndim, k), (1,) * squares.ndim, (*value.shape, 1))
            for k in (0, 1)
        )
        return self.reshape(first + second, value.shape)

    def _spread(self, make: Callable[..., Value], values: Sequence[Value]) -> Value:
        """Compute on operands before they are broadcast, and broadcast the result."""
        shape = broadcast_shapes(*[value.shape for value in values])
        cores = [(self.operands_if(value, "broadcast") or (value,))[0] for value in values]
        result = make(*cores)
        return result if result.shape == shape else self.broadcast(result, shape)

    def _simplified(self, name: str, values: tuple[Value, ...]) -> Value:
        numbers = [self.known(value) if value.op in _TELLING else None for value in values]
        if None not in numbers:
            self.folded += 1
            with np.errstate(all="ignore"):
                return self.literal(UFUNCS[name](*numbers))
        rule = IDENTITIES.get(name)
        if rule is not None and values[0].dtype not in DTYPE_CODES:
            rule = SPECIAL_IDENTITIES.get(name)
        simpler = rule(self, values, numbers) if rule is not None else None
        if simpler is not None:
            self.simplified += 1
            return simpler
        return self._elementwise(name, values)

    def _elementwise(self, name: str, values: tuple[Value, ...]) -> Value:
        """Append an elementwise instruction, unless there is an equal one."""
        x, y = values[0], values[-1]
        if x.id > y.id and name in _COMMUTATIVE and x.dtype.kind != "c":  # a product may round otherwise
            values = x, y = y, x
        key = (name, x.id, y.id)
        made = self._made.get(key)
        if made is None:
            ids = (x.id,) if len(values) == 1 else (x.id, y.id)
            made = self._made[key] = self._append(name, ids, values, ())
        else:
            self.merged += 1
        return made

    # ---- folds ---------------------------------------------------------------------------------------

    fold = folding.fold
    position = folding.position
    scan = folding.scan

    # ---- order -----------------------------------------------------------------------------------------

    sort = ordering.sort
    argsort = ordering.argsort
    take_along = ordering.take_along
    ranked = ordering.ranked
    partition = ordering.partition
    refined_order = ordering.refined
    positions = ordering.positions
    search = ordering.search
    digitize = ordering.digitize
    flatnonzero = ordering.flatnonzero
    places = ordering.places
    bincount = ordering.bincount
    count = ordering.count_numbers
    runs = ordering.runs
    unless = ordering.unless

    def sum_to(self, value: Value, shape: Shape) -> Value:
        """Sum over the axes along which `broadcast` would repeat: its transpose."""
        if value.shape == shape:
            return value
        extra = value.ndim - len(shape)
        axes = tuple([i for i in range(value.ndim) if i < extra or shape[i - extra] != value.shape[i]])
        return self.reshape(self.fold("sum", value, axes), shape)

    # ---- views -----------------------------------------------------------------------------------------

    def reshape(self, value: Value, shape: Shape) -> Value:
        """Reshape, in C order."""
        while (source := self.operands_if(value, "reshape")) is not None:
            (value,) = source
        if value.shape == shape:
            return value
        if value.op == "literal":
            return self.broadcast(value, shape)
        if (source := self.operands_if(value, "broadcast")) is not None and source[0].size == 1:
            return self.broadcast(self.reshape(source[0], ()), shape)
        return self.push("reshape", (value,), shape=shape)

    def transpose(self, value: Value, axes: Sequence[int] | None = None) -> Value:
        """Permute the axes; by default, reverse them."""
        order = (
            tuple(range(value.ndim))[::-1] if axes is None else tuple([axis % value.ndim for axis in axes])
        )
        if value.op == "transpose":
            instruction = self.ir.instructions[value.id]
            order = tuple([instruction.attrs[0][axis] for axis in order])
            (value,) = self.operands_of(instruction)
        long = [axis for axis in order if value.shape[axis] != 1]
        if long == sorted(long):
            return self.reshape(value, tuple([value.shape[axis] for axis in order]))
        return self.push("transpose", (value,), (order,))

    def broadcast(self, value: Value, shape: Shape) -> Value:
        """Repeat along new axes and axes of length one."""
        if (source := self.operands_if(value, "broadcast")) is not None:
            (value,) = source
        if value.shape == shape:
            return value
        return self.push("broadcast", (value,), shape=shape)

    def again(self, value: Value) -> Value:
        """Return a value of which nothing is known, so that what is computed of it is computed once more."""
        value = self.value(value)
        if not self.repeats or value.op in ("literal", "broadcast"):
            return value
        result = self._append("again", (value.id,), (value,), ())
        return result.weakened() if value.is_weak else result

    def slice(self, value: Value, starts: Shape, steps: Shape, shape: Shape) -> Value:
        """Take regularly spaced elements: one start, step and count for each axis."""
        if shape == value.shape and not any(starts) and all(step == 1 for step in steps):
            return value
        if (source := self.operands_if(value, "broadcast")) is not None and source[0].size == 1:
            return self.broadcast(self.reshape(source[0], ()), shape)
        if value.op in parts.WRITES and (found := parts.read(self, value, starts, steps, shape)) is not None:
            return found
        if value.op == "concatenate" and 0 not in shape:
            joined = parts.read_joined(self, value, starts, steps, shape)
            if joined is not None:
                return joined
        return self.push("slice", (value,), (starts, steps), shape=shape)

    # ---- matrices ----------------------------------------------------------------------------------------

    matmul = matrices.matmul
    solve = matrices.solve
    triangular_solve = matrices.triangular_solve
    cholesky = matrices.cholesky

    @staticmethod
    def refuse(reason: str) -> NoReturn:
        """Raise `CannotLower`, from a ``lower`` rule: the operation becomes a callback."""
        raise CannotLower(reason)

    gufunc = matrices.gufunc
    numbers = matrices.numbers
    linalg = matrices.linalg
    transform = matrices.transform
    expm = exponential.expm

    def require(self, value: Value, is_right: Value) -> Value:
        """Return a value if all of ``is_right`` holds; else the program stops, for the function itself."""
        if value.size and is_right.size:
            return self.push("require", (value, self.fold("all", is_right)))
        return value

    # ---- loops, and several results -----------------------------------------------------------------------

    part = loops.part
    callback_with_several = loops.callback_with_several

    def loop(self, loop: loops.Loop, operands: Sequence[Any]) -> Value:
        """Run the body of a loop once for each step; `part` takes one of its results."""
        value = self.push("loop", [self.value(operand) for operand in operands], (loop,))
        self.blocks[value.id] = loop.block
        return value

    # ---- the rest ----------------------------------------------------------------------------------------

    read = indexing.read
    is_last = indexing.is_last
    picked = indexing.picked
    add_picked = indexing.add_picked
    put = parts.put

    def take(self, value: Value, index: Value, axis: int) -> Value:
        """Take elements along an axis by an array of indices; negative ones count from the end."""
        shape = (*value.shape[:axis], *index.shape, *value.shape[axis + 1 :])
        if index.dtype.kind not in "iu":
            raise CannotLower(f"an index of {index.dtype}")
        index = self.reshape(self.value(index, _INT64), (index.size,))
        return self.reshape(self.push("take", (value, index), (axis,)), shape)

    def add_at(self, total: Value, values: Value, index: Value | None, place: tuple[Any, ...]) -> Value:
        """Return ``total`` with values added to a slice ``(starts, steps)`` or by index to ``(axis,)``."""
        if total.dtype in conversions.PARTS:  # each part by itself
            total, values = (conversions.reals(self, x) for x in (total, values))
            place = ((*place[0], 0), (*place[1], 1)) if index is None else place
            return conversions.complexes(self, self.add_at(total, values, index, place))
        operands = (total, values) if index is None else (total, values, index)
        return self.push("add_at", operands, place)

    def set_at(self, total: Value, values: Value, index: tuple[Any, ...]) -> Value:
        """Return ``total`` with values of its dtype written at an index."""
        return indexing.updated(self, total, values, index, is_added=False)

    def added_at(self, total: Value, values: Value, index: tuple[Any, ...]) -> Value:
        """Return ``total`` with values of its dtype added at an index."""
        return indexing.updated(self, total, values, index, is_added=True)

    def written(self, values: Value, index: tuple[Any, ...], shape: Shape) -> Value:
        """Return zeros with values added at an index."""
        zeros = self.broadcast(self.literal(0, values.dtype), shape)
        return indexing.updated(self, zeros, values, index, is_added=True)

    def concatenate(self, values: Sequence[Value], axis: int) -> Value:
        """Join arrays of one dtype along an axis."""
        values = [value for value in values if value.shape[axis]] or list(values[:1])
        if len(values) == 1:
            return values[0]
        whole = parts.joined_again(self, values, axis)
        return self.push("concatenate", values, (axis,)) if whole is None else whole

    def kernel(
        self, name: str, operands: Sequence[Value], parameters: tuple[int, ...], shape: Shape, dtype: Any
    ) -> Value:
        """Call a kernel of `tape.kernels.registry`; operands are converted to a dtype, indices to int64."""
        indices = REGISTRY[name].indices
        given = [self.value(x, _INT64 if k in indices else dtype) for k, x in enumerate(operands)]
        return self.push("kernel", given, (name, parameters), shape=shape)

    def guard_length(self, value: Value, axis: int) -> None:
        """Take a number for the length along an axis of the result that is being lowered."""
        if self.as_numpy or self.shape is None:
            raise CannotLower("the length of the result depends on data")
        self.length = value, axis

    def guard(self, value: Value, kind: str, outcome: Any, length: tuple[Value, int] | None = None) -> None:
        """Check that a branch, or a shape or dtype that depends on data, is what was recorded.

        For the shape of what is no callback, the length along one axis is given, and the axis.
        """
        guards = self.ir.guards
        if length is not None:
            self._append("guard", (length[0].id,), length[:1], (len(guards), length[1]))
        elif kind == "type":  # checked by the callback whose result it is
            instruction = self.ir.instructions[value.id]
            instruction.attrs = (*instruction.attrs, len(guards))
        else:
            self._append("guard", (value.id,), (value,), (len(guards),))
        guards.append(Guard(kind, outcome))

    def callback(
        self, op: Any, operands: Sequence[Any], attrs: dict[str, Any], shape: Shape, dtype: Any
    ) -> Value:
        """Let Python run an operation."""
        places: list[Any] = []
        values: list[Value] = []
        for operand in operands:
            if isinstance(operand, np.ndarray):
                operand = self.constant(operand)
            if isinstance(operand, Value):
                values.append(operand)
                places.append(None)
            else:
                places.append(operand)
        return self._call(op, tuple(places), attrs, values, shape, dtype)

    def _call(
        self,
        op: Op,
        places: tuple[Any, ...],
        attrs: dict[str, Any],
        values: Sequence[Value],
        shape: Shape,
        dtype: Any,
    ) -> Value:
        calls = self.ir.callbacks
        calls.append((op, places, attrs))
        ids = tuple([value.id for value in values])
        return self._append("callback", ids, values, (len(calls) - 1,), shape, dtype)


def _is_uniform(array: np.ndarray) -> bool:
    """Return whether an array is one number, broadcast, which nothing else can write to."""
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


def _wrapped(number: Any, dtype: Any) -> Any:
    """Return an int as ``np.where`` converts it, without a check of its range; others as they are."""
    return np.asarray(number).astype(dtype)[()] if type(number) is int and dtype.kind in "iu" else number
