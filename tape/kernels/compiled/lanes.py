"""Loops of ufuncs made for SIMD: formulas on numbers side by side, compiled for the processor's registers.

Numba's own arithmetic calls the C library for each number; a formula of `Lanes` has no branches, and is
made of SIMD instructions. This file knows registers and the loops of ufuncs, and no function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import float32s, float64s, int32s, int64_at, int64s

_BYTES = 64  # at a time: a register of AVX-512, or two of AVX2
DOUBLE, SINGLE = ir.DoubleType(), ir.FloatType()


class Lanes:
    """Numbers side by side, with operators that make instructions: what NumPy's would compute."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder = builder
        self.value = value

    def _make(self, name: str, *operands: Any) -> Lanes:
        values = [
            x.value if isinstance(x, Lanes) else ir.Constant(self.value.type, [x] * self.value.type.count)
            for x in operands
        ]
        return Lanes(self.builder, getattr(self.builder, name)(*values))

    def _is_float(self) -> bool:
        return not isinstance(self.value.type.element, ir.IntType)

    def __add__(self, other: Any) -> Lanes:
        return self._make("fadd" if self._is_float() else "add", self, other)

    def __sub__(self, other: Any) -> Lanes:
        return self._make("fsub" if self._is_float() else "sub", self, other)

    def __rsub__(self, other: Any) -> Lanes:
        return self._make("fsub" if self._is_float() else "sub", other, self)

    def __mul__(self, other: Any) -> Lanes:
        return self._make("fmul", self, other)

    def __truediv__(self, other: Any) -> Lanes:
        return self._make("fdiv", self, other)

    def __rtruediv__(self, other: float) -> Lanes:
        return self._make("fdiv", other, self)

    def __and__(self, mask: Any) -> Lanes:
        return self._make("and_", self, mask)

    def __xor__(self, bits: Any) -> Lanes:
        return self._make("xor", self, bits)

    def __lshift__(self, bits: int) -> Lanes:
        return self._make("shl", self, bits)

    def __rshift__(self, bits: int) -> Lanes:
        return self._make("lshr", self, bits)

    def viewed(self, element: Any) -> Lanes:
        """The same bits."""
        kind = ir.VectorType(element, self.value.type.count)
        return Lanes(self.builder, self.builder.bitcast(self.value, kind))

    def at_most(self, bound: float) -> Lanes:
        """Where that is less, the bound; NaN stays."""
        limit = ir.Constant(self.value.type, [bound] * self.value.type.count)
        is_above = self.builder.fcmp_ordered(">", self.value, limit)
        return Lanes(self.builder, self.builder.select(is_above, limit, self.value))

    def at_least(self, bound: float) -> Lanes:
        """Where that is more, the bound; NaN stays."""
        limit = ir.Constant(self.value.type, [bound] * self.value.type.count)
        is_under = self.builder.fcmp_ordered("<", self.value, limit)
        return Lanes(self.builder, self.builder.select(is_under, limit, self.value))

    def is_below(self, bound: float) -> Choice:
        """Where these numbers are less than a bound; nowhere for NaN."""
        return self._compared("<", bound)

    def is_equal(self, number: float) -> Choice:
        """Where these numbers are equal to one."""
        return self._compared("==", number)

    def _compared(self, sign: str, number: float) -> Choice:
        constant = ir.Constant(self.value.type, [number] * self.value.type.count)
        return Choice(self.builder, self.builder.fcmp_ordered(sign, self.value, constant))

    def where_negative(self, x: Lanes, y: Lanes) -> Lanes:
        """``x`` where these integers are negative, else ``y``."""
        is_negative = self.builder.icmp_signed("<", self.value, ir.Constant(self.value.type, None))
        return Lanes(self.builder, self.builder.select(is_negative, x.value, y.value))

    def times_plus(self, factor: Any, term: Any) -> Lanes:
        """``self * factor + term``, rounded once where the processor can."""
        kind = self.value.type
        name = f"llvm.fmuladd.v{kind.count}{kind.element.intrinsic_name}"
        function = cgutils.get_or_insert_function(
            self.builder.module, ir.FunctionType(kind, [kind] * 3), name
        )
        values = [x.value if isinstance(x, Lanes) else ir.Constant(kind, [x] * kind.count)
                  for x in (self, factor, term)]  # fmt: skip
        return Lanes(self.builder, self.builder.call(function, values))


class Choice:
    """A bit for each number."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder = builder
        self.value = value

    def chosen(self, x: Lanes, y: Lanes) -> Lanes:
        """``x`` where the bit is set, else ``y``."""
        return Lanes(self.builder, self.builder.select(self.value, x.value, y.value))


def magnitude(x: Lanes, bits: Any) -> Lanes:
    """Return them without their sign; ``bits`` is the type of integers that are as wide."""
    return (x.viewed(bits) & (1 << bits.width - 1) - 1).viewed(x.value.type.element)


def polynomial(coefficients: Sequence[float], x: Lanes) -> Any:
    """Horner's rule, for even and odd powers apart if they are many: both are done at a time."""
    if len(coefficients) > 12:
        square = x * x
        even, odd = (polynomial(coefficients[k::2], square) for k in (0, 1))
        return x.times_plus(odd, even)
    total: Any = coefficients[-1]
    for k in range(len(coefficients) - 2, -1, -1):
        total = x.times_plus(total, coefficients[k])
    return total


def ufunc_loop(
    name: str, body: Callable[[Lanes], Lanes], number: Any, limit: float | None = None, beyond: Any = None
) -> Any:
    """Return a ufunc's loop ``void(char **args, intp *count, intp *strides, void *data)``.

    Parameters
    ----------
    name : str
        Of its code.
    body : callable
        The formula.
    number : llvmlite.ir.Type
        `DOUBLE` or `SINGLE`, of operand and result.
    limit : float, optional
        The largest absolute value that the formula takes.
    beyond : callable, optional
        A compiled function for larger ones, and for NaN, number by number.
    """
    width = 8 if number is DOUBLE else 4
    lanes = _BYTES // width
    vector, bits = ir.VectorType(number, lanes), ir.IntType(8 * width)
    numbers, words = (float64s, int64s) if width == 8 else (float32s, int32s)

    @intrinsic
    def compute(typing_context, x, out):  # type: ignore[no-untyped-def]
        """What is at an address, to another."""

        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            source, target = (builder.inttoptr(value, vector.as_pointer()) for value in values)
            found = body(Lanes(builder, builder.load(source, align=width)))
            builder.store(found.value, target, align=width)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    @intrinsic
    def beyond_limit(typing_context, x):  # type: ignore[no-untyped-def]
        """A bit for each number that the formula does not take."""

        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            if limit is None:
                return ir.Constant(ir.IntType(64), 0)
            (source,) = (builder.inttoptr(value, vector.as_pointer()) for value in values)
            size = magnitude(Lanes(builder, builder.load(source, align=width)), bits).value
            found = builder.fcmp_unordered(">", size, ir.Constant(vector, [limit] * lanes))
            return builder.zext(builder.bitcast(found, ir.IntType(lanes)), ir.IntType(64))

        return types.int64(types.int64), generate

    @intrinsic
    def zeros(typing_context):  # type: ignore[no-untyped-def]
        """The address of memory of the function's own."""

        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            return builder.ptrtoint(cgutils.alloca_once(builder, vector, zfill=True), ir.IntType(64))

        return types.int64(), generate

    @inner
    def compute_beyond(far, x, out):  # type: ignore[no-untyped-def]
        for k in range(lanes):
            if far >> k & 1:
                numbers(out)[k] = beyond(numbers(x)[k])

    @inner
    def leave(far, x, out):  # type: ignore[no-untyped-def]
        pass

    finish = leave if beyond is None else compute_beyond

    def loop(args, counts, strides, data):  # type: ignore[no-untyped-def]
        x, out, count = int64_at(args), int64_at(args + 8), int64_at(counts)
        x_stride, out_stride = int64_at(strides), int64_at(strides + 8)
        is_contiguous = x_stride == width and out_stride == width
        part, given = zeros(), zeros()
        while count > 0:
            some = min(count, lanes)
            is_direct = is_contiguous and some == lanes
            source, target = (x, out) if is_direct else (part, part)
            if not is_direct:
                for k in range(some):
                    words(part)[k] = words(x + k * x_stride)[0]
            far = beyond_limit(source)
            if far:
                for k in range(lanes):  # the result may go where the operand is
                    words(given)[k] = words(source)[k]
            compute(source, target)
            if far:
                finish(far, given, target)
            if not is_direct:
                for k in range(some):
                    words(out + k * out_stride)[0] = words(part)[k]
            x += some * x_stride
            out += some * out_stride
            count -= some

    loop.__qualname__ = name  # code of one name, though of two processes, would be taken for the same
    return inner(loop)
