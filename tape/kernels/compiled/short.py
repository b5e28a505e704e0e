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
from tape.kernels.compiled.registers import ELEMENTS, over_registers, read, repeated, width, write

_BYTES = 64  # at a time: a register of AVX-512, or two of AVX2
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
    """Emit the loop of an operation."""
    element = ELEMENTS[letter]
    x, y, out = (builder.inttoptr(address, element.as_pointer()) for address in addresses)
    operands = [("first", x), ("second", y)] if name in _OF_TWO else [("second", y)]
    single = {key: builder.load(place) for key, place in operands if key == form}

    def compute_at(i: Any, lanes: int) -> None:
        given = [
            repeated(builder, single[key], lanes)
            if key in single
            else read(builder, builder.gep(place, [i]), lanes)
            for key, place in operands
        ]
        write(builder, _found(builder, name, given), builder.gep(out, [i]))

    over_registers(builder, count, _BYTES // width(element), compute_at)


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
