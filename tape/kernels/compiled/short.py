"""Arithmetic on arrays of few elements, for the machine: a switch on the operation, and no call.

NumPy's loops take 5 ns to begin, and compute what is left after whole registers number by number.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tape.kernels.codes import SHORT

_BYTES = 64  # at a time: a register of AVX-512, or two of AVX2
_WORD, _LANE = ir.IntType(64), ir.IntType(32)
_ELEMENTS = {"f": ir.DoubleType(), "s": ir.FloatType()}
_OF_TWO = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
_OF_LLVM = {"sqrt": "sqrt", "absolute": "fabs"}


@intrinsic
def short(typing_context, kind, count, x, y, out):  # type: ignore[no-untyped-def]
    """Compute with ``count`` elements at the addresses ``x`` and ``y``, as NumPy's ufunc does.

    The kind is one of `SHORT`; of one operand, that is ``y``. Results may be where an operand is.
    """

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        number, *rest = values
        end = builder.append_basic_block("end")
        switch = builder.switch(number, end)
        for key, code in SHORT.items():
            block = builder.append_basic_block("_".join(key))
            switch.add_case(code, block)
            builder.position_at_end(block)
            _compute(builder, *key, *rest)
            builder.branch(end)
        builder.position_at_end(end)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), generate


def _compute(builder: Any, name: str, letter: str, form: str, count: Any, *addresses: Any) -> None:
    """Emit the loop of an operation over whole registers, and what is left in halves, quarters and so on."""
    element = _ELEMENTS[letter]
    lanes = _BYTES // _width(element)
    x, y, out = (builder.inttoptr(address, element.as_pointer()) for address in addresses)
    operands = [("first", x), ("second", y)] if name in _OF_TWO else [("second", y)]
    single = {key: builder.load(place) for key, place in operands if key == form}

    def compute_at(i: Any, lanes: int) -> None:
        given = [
            _repeated(builder, single[key], lanes)
            if key in single
            else _read(builder, builder.gep(place, [i]), lanes)
            for key, place in operands
        ]
        _write(builder, _found(builder, name, given), builder.gep(out, [i]))

    stop = builder.and_(count, _WORD(-lanes))
    with cgutils.for_range_slice(builder, _WORD(0), stop, _WORD(lanes), _WORD) as (i, _):
        compute_at(i, lanes)
    while lanes > 1:
        lanes //= 2
        some = builder.and_(count, _WORD(lanes))
        with builder.if_then(cgutils.is_not_null(builder, some)):
            compute_at(builder.and_(count, _WORD(-2 * lanes)), lanes)


def _found(builder: Any, name: str, given: list[Any]) -> Any:
    """Return the result of an operation on registers."""
    if name in _OF_TWO:
        return getattr(builder, _OF_TWO[name])(*given)
    (y,) = given
    if name == "negative":
        return builder.fneg(y)
    if name == "square":
        return builder.fmul(y, y)
    if name == "reciprocal":
        return builder.fdiv(ir.Constant(y.type, [1.0] * y.type.count), y)
    full_name = f"llvm.{_OF_LLVM[name]}.v{y.type.count}{y.type.element.intrinsic_name}"
    signature = ir.FunctionType(y.type, [y.type])
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, full_name), [y])


def _repeated(builder: Any, number: Any, lanes: int) -> Any:
    """Return a register with a number in all lanes."""
    empty = ir.Constant(ir.VectorType(number.type, lanes), ir.Undefined)
    first = builder.insert_element(empty, number, _LANE(0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(_LANE, lanes), [0] * lanes))


def _read(builder: Any, place: Any, lanes: int) -> Any:
    element = place.type.pointee
    pointer = builder.bitcast(place, ir.VectorType(element, lanes).as_pointer())
    return builder.load(pointer, align=_width(element))


def _write(builder: Any, found: Any, place: Any) -> None:
    pointer = builder.bitcast(place, found.type.as_pointer())
    builder.store(found, pointer, align=_width(found.type.element))


def _width(element: Any) -> int:
    return 8 if isinstance(element, ir.DoubleType) else 4
