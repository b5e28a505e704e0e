"""Two operations of arithmetic at once, as in ``x * y + z``: what lies between them stays in a register.

Each of them rounds as it does alone: the results are those of NumPy's loops, one after the other.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

from tape.kernels.codes import PAIRS
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.registers import ELEMENTS, WORD, over_registers, read, repeated, width, write

_BYTES = 64  # at a time: a register of AVX-512, or two of AVX2
_OPERATIONS = {"add": "fadd", "subtract": "fsub", "multiply": "fmul"}


@inner
def pair(kind, itemsize, count, x, y, z, out):  # type: ignore[no-untyped-def]
    """Combine elements of two operands, and what that gives with those of a third.

    Parameters
    ----------
    kind : int64
        One of `PAIRS`.
    itemsize : int64
        8 for float64, 4 for float32.
    count : int64
        Elements of the result.
    x, y, z, out : int64
        Addresses. The result may be where an operand is.
    """
    if itemsize == 8:
        _doubles(kind, count, x, y, z, out)
    else:
        _singles(kind, count, x, y, z, out)


def _of(element: Any) -> Any:
    """Return the function for elements of a type."""

    @intrinsic
    def pair(typing_context, kind, count, x, y, z, out):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            kind, count, *addresses = values
            places = [builder.inttoptr(address, element.as_pointer()) for address in addresses]
            end = builder.append_basic_block("end")
            switch = builder.switch(kind, end)
            for key, code in PAIRS.items():
                block = builder.append_basic_block("_".join(key))
                switch.add_case(WORD(code), block)
                builder.position_at_end(block)
                _compute(builder, *key, count, *places)
                builder.branch(end)
            builder.position_at_end(end)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 6), generate

    return pair


def _compute(builder: Any, first: str, second: str, form: str, count: Any, *places: Any) -> None:
    """Emit the loop of two operations."""
    *operands, out = places
    single = [
        builder.load(place) if is_one == "n" else None for place, is_one in zip(operands, form, strict=True)
    ]
    name, is_reversed = second.removesuffix("_from"), second.endswith("_from")

    def compute_at(i: Any, lanes: int) -> None:
        x, y, z = [
            read(builder, builder.gep(place, [i]), lanes)
            if number is None
            else repeated(builder, number, lanes)
            for place, number in zip(operands, single, strict=True)
        ]
        between = getattr(builder, _OPERATIONS[first])(x, y)
        found = getattr(builder, _OPERATIONS[name])(*((z, between) if is_reversed else (between, z)))
        write(builder, found, builder.gep(out, [i]))

    over_registers(builder, count, _BYTES // width(out.type.pointee), compute_at)


_doubles, _singles = map(_of, ELEMENTS.values())
