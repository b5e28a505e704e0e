"""A few numbers at a time, for compiled code: 32 bytes of them, whatever the processor makes of that.

LLVM makes SIMD of long loops by itself; these are for loops of a few dozen elements, most of which it
would do one by one, and for arrays that are changed in place, where it does so for all. They read and write
without checks, at any element of an array behind a pointer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

VECTOR_BYTES = 32


class Vector(types.Type):
    """The type of a vector.

    Parameters
    ----------
    element : numba.types.Type
        A number type.
    """

    def __init__(self, element: Any) -> None:
        self.element = element
        self.lanes = VECTOR_BYTES * 8 // element.bitwidth
        super().__init__(name=f"Vector({element})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        element = manager.lookup(kind.element).get_value_type()
        super().__init__(manager, kind, ir.VectorType(element, kind.lanes))


def _pointer(context: Any, builder: Any, x: Any, i: Any, kind: Vector) -> Any:
    place = builder.gep(x, [i])
    return builder.bitcast(place, context.get_value_type(kind).as_pointer())


@intrinsic
def lanes(typing_context, x):  # type: ignore[no-untyped-def]
    """How many elements of the array ``x`` a vector has."""
    count = Vector(x.dtype).lanes

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        return context.get_constant(types.int64, count)

    return types.int64(x), generate


@intrinsic
def load(typing_context, x, i):  # type: ignore[no-untyped-def]
    """Elements ``x[i]`` and following."""
    kind = Vector(x.dtype)

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        return builder.load(_pointer(context, builder, *values, kind), align=kind.element.bitwidth // 8)

    return kind(x, types.int64), generate


@intrinsic
def store(typing_context, x, i, vector):  # type: ignore[no-untyped-def]
    """Write a vector to ``x[i]`` and following, whatever their dtype."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        place = _pointer(context, builder, *values[:2], vector)
        builder.store(values[2], place, align=x.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(x, types.int64, vector), generate


@intrinsic
def spread(typing_context, number):  # type: ignore[no-untyped-def]
    """The number in all lanes."""
    kind = Vector(number)

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        empty = ir.Constant(context.get_value_type(kind), ir.Undefined)
        first = builder.insert_element(empty, values[0], ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(first, empty, _lane_numbers([0] * kind.lanes))

    return kind(number), generate


@intrinsic
def behind(typing_context, vector, count):  # type: ignore[no-untyped-def]
    """The vector with 0 in all but its last ``count`` lanes."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        left = builder.trunc(values[1], ir.IntType(32))
        kind = ir.VectorType(ir.IntType(32), vector.lanes)
        empty = ir.Constant(kind, ir.Undefined)
        first = builder.insert_element(empty, left, ir.Constant(ir.IntType(32), 0))
        every = builder.shuffle_vector(first, empty, _lane_numbers([0] * vector.lanes))
        is_kept = builder.icmp_signed("<", _lane_numbers(list(range(vector.lanes))[::-1]), every)
        return builder.select(is_kept, values[0], ir.Constant(context.get_value_type(vector), None))

    return vector(vector, types.int64), generate


@intrinsic
def choose(typing_context, conditions, i, a, b):  # type: ignore[no-untyped-def]
    """Lanes of ``a`` where the bytes ``conditions[i]`` and following are not 0, of ``b`` elsewhere."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        kind = ir.VectorType(ir.IntType(8), a.lanes)
        place = builder.bitcast(builder.gep(values[0], [values[1]]), kind.as_pointer())
        is_first = builder.icmp_signed("!=", builder.load(place, align=1), ir.Constant(kind, None))
        return builder.select(is_first, values[2], values[3])

    return a(types.CPointer(types.int8), types.int64, a, a), generate


def _lane_numbers(numbers: list[int]) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(numbers)), numbers)


def _sum(builder: Any, element: Any, a: Any, b: Any) -> Any:
    return builder.fadd(a, b) if isinstance(element, types.Float) else builder.add(a, b)


def _difference(builder: Any, element: Any, a: Any, b: Any) -> Any:
    return builder.fsub(a, b) if isinstance(element, types.Float) else builder.sub(a, b)


def _product(builder: Any, element: Any, a: Any, b: Any) -> Any:
    return builder.fmul(a, b) if isinstance(element, types.Float) else builder.mul(a, b)


def _quotient(builder: Any, element: Any, a: Any, b: Any) -> Any:
    return builder.fdiv(a, b)


def _above(builder: Any, element: Any, a: Any, b: Any) -> Any:
    """Of floats; one instruction, which loses NaN."""
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _larger(builder: Any, element: Any, a: Any, b: Any) -> Any:
    """Of floats; NaN if one is.

    `_above` gives its last operand if one is NaN: so one of the two choices is NaN, and stays it
    whatever bits of the other are set.
    """
    bits = ir.IntType(element.bitwidth)
    wide = ir.VectorType(bits, a.type.count) if isinstance(a.type, ir.VectorType) else bits
    choices = (_above(builder, element, a, b), _above(builder, element, b, a))
    both = builder.or_(*[builder.bitcast(choice, wide) for choice in choices])
    return builder.bitcast(both, a.type)


def _combine(operation: Callable[..., Any]) -> Any:
    """Element by element, of two vectors."""

    @intrinsic
    def combine(typing_context, a, b):  # type: ignore[no-untyped-def]
        element = a.element if isinstance(a, Vector) else a

        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            return operation(builder, element, *values)

        return a(a, a), generate

    return combine


def _reduce(operation: Callable[..., Any]) -> Any:
    """All lanes of a vector to one number, half to half."""

    @intrinsic
    def reduce(typing_context, vector):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            (left,) = values
            count = vector.lanes
            while count > 1:
                count //= 2
                halves = [
                    builder.shuffle_vector(left, left, _lane_numbers(list(range(k, k + count))))
                    for k in (0, count)
                ]
                left = operation(builder, vector.element, *halves)
            return builder.extract_element(left, ir.Constant(ir.IntType(32), 0))

        return vector.element(vector), generate

    return reduce


add, subtract, multiply, divide, larger, above = map(
    _combine, (_sum, _difference, _product, _quotient, _larger, _above)
)
total, highest = map(_reduce, (_sum, _above))


@intrinsic
def have_nan(typing_context, a, b):  # type: ignore[no-untyped-def]
    """Not 0 if there is a NaN in one of two vectors."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        found = builder.bitcast(builder.fcmp_unordered("uno", *values), ir.IntType(a.lanes))
        return builder.zext(found, ir.IntType(64))

    return types.int64(a, a), generate


def _where(comparison: str) -> Any:
    """Lanes of ``x`` where a comparison of ``a`` with ``b`` holds, else of ``y``; with NaN it does not."""

    @intrinsic
    def choose(typing_context, a, b, x, y):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            return builder.select(builder.fcmp_ordered(comparison, *values[:2]), *values[2:])

        return x(a, a, x, x), generate

    return choose


where_greater, where_equal = map(_where, (">", "=="))


@intrinsic
def any_equal(typing_context, a, b):  # type: ignore[no-untyped-def]
    """Whether two vectors have the same number in a lane."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        found = builder.bitcast(builder.fcmp_ordered("==", *values), ir.IntType(a.lanes))
        return builder.icmp_unsigned("!=", found, ir.Constant(found.type, 0))

    return types.boolean(a, a), generate


def _shuffle(numbers: list[int]) -> Any:
    """Lanes of two vectors of four, by their numbers."""

    @intrinsic
    def shuffle(typing_context, a, b):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            return builder.shuffle_vector(*values, _lane_numbers(numbers))

        return a(a, a), generate

    return shuffle


even, odd = _shuffle([0, 4, 2, 6]), _shuffle([1, 5, 3, 7])
"""Lanes of these numbers, of both vectors in turn."""
first_halves, last_halves = _shuffle([0, 1, 4, 5]), _shuffle([2, 3, 6, 7])


def _of_one(name: str) -> Any:
    """A function of LLVM's, in each lane."""

    @intrinsic
    def apply(typing_context, vector):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            kind = values[0].type
            full_name = f"llvm.{name}.v{vector.lanes}f{vector.element.bitwidth}"
            function = builder.module.declare_intrinsic(full_name, (), ir.FunctionType(kind, [kind]))
            return builder.call(function, values)

        return vector(vector), generate

    return apply


magnitude, root = map(_of_one, ("fabs", "sqrt"))
