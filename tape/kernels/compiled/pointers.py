"""Addresses in compiled code: reading and writing through them, also between threads, and calling functions.

All take and return plain int64 numbers, so that a kernel has one signature whatever it works on. They
can be called in compiled code only, and check nothing: `tape.program.runtime.verify` has done so.
"""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _caller(count: int) -> Any:
    """Call the C function at an address with ``count`` 64-bit arguments; what it returns, if anything."""

    @intrinsic
    def call(typing_context, address, arguments):  # type: ignore[no-untyped-def]
        signature = types.int64(types.int64, types.UniTuple(types.int64, count))

        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            kind = ir.FunctionType(ir.IntType(64), [ir.IntType(64)] * count)
            function = builder.inttoptr(values[0], kind.as_pointer())
            return builder.call(function, [builder.extract_value(values[1], i) for i in range(count)])

        return signature, generate

    return call


call1, call2, call3, call4, call5, call6, call7, call8 = map(_caller, (1, 2, 3, 4, 5, 6, 7, 8))
call9, call10, call11, call13 = map(_caller, (9, 10, 11, 13))


def _reader(kind: Any) -> Any:
    """Read a number of this type at an address."""

    @intrinsic
    def read(typing_context, address):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            pointer = builder.inttoptr(values[0], context.get_value_type(kind).as_pointer())
            return builder.load(pointer)

        return kind(types.int64), generate

    return read


int64_at, int32_at, uint8_at = map(_reader, (types.int64, types.int32, types.uint8))


@intrinsic
def set_int64(typing_context, address, value):  # type: ignore[no-untyped-def]
    """Write an int64 at an address."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        builder.store(values[1], builder.inttoptr(values[0], ir.IntType(64).as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


def _prefetcher(to_write: bool) -> Any:
    """Bring the line of an address to the second cache; an address that is not ours does nothing."""

    @intrinsic
    def prefetch(typing_context, address):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
            function = builder.module.declare_intrinsic("llvm.prefetch", (pointer,), kind)
            second_cache, is_data = number(2), number(1)
            at = builder.inttoptr(values[0], pointer)
            builder.call(function, [at, number(int(to_write)), second_cache, is_data])
            return context.get_dummy_value()

        return types.void(types.int64), generate

    return prefetch


prefetch_to_read, prefetch_to_write = map(_prefetcher, (False, True))


@intrinsic
def bits_as_float64(typing_context, bits):  # type: ignore[no-untyped-def]
    """The number with these bits."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        return builder.bitcast(values[0], ir.DoubleType())

    return types.float64(types.int64), generate


def pointer_to(kind: Any) -> Any:
    @intrinsic
    def cast(typing_context, address):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            return builder.inttoptr(values[0], context.get_value_type(types.CPointer(kind)))

        return types.CPointer(kind)(types.int64), generate

    return cast


float64s, float32s = pointer_to(types.float64), pointer_to(types.float32)
int64s, int32s, int16s, int8s = map(pointer_to, (types.int64, types.int32, types.int16, types.int8))
uint8s = pointer_to(types.uint8)


# ---- between threads -----------------------------------------------------------------------------------


@intrinsic
def shared_int64_at(typing_context, address):  # type: ignore[no-untyped-def]
    """Read an int64 that another thread writes by `share_int64`: what it wrote before is there, too."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        pointer = builder.inttoptr(values[0], ir.IntType(64).as_pointer())
        return builder.load_atomic(pointer, "acquire", 8)

    return types.int64(types.int64), generate


@intrinsic
def share_int64(typing_context, address, value):  # type: ignore[no-untyped-def]
    """Write an int64 that other threads read by `shared_int64_at`."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        pointer = builder.inttoptr(values[0], ir.IntType(64).as_pointer())
        builder.store_atomic(values[1], pointer, "release", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def fetch_and_add(typing_context, address, value):  # type: ignore[no-untyped-def]
    """Add to an int64 that several threads add to; return what it was before."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        pointer = builder.inttoptr(values[0], ir.IntType(64).as_pointer())
        return builder.atomic_rmw("add", pointer, values[1], "acq_rel")

    return types.int64(types.int64, types.int64), generate


@intrinsic
def replace_int64(typing_context, address, expected, value):  # type: ignore[no-untyped-def]
    """Write an int64 if it is what is expected, in one step for all threads; return whether it was."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        pointer = builder.inttoptr(values[0], ir.IntType(64).as_pointer())
        found = builder.cmpxchg(pointer, values[1], values[2], "acq_rel", "acquire")
        return builder.extract_value(found, 1)

    return types.boolean(types.int64, types.int64, types.int64), generate


_IS_X86 = platform.machine().lower() in ("x86_64", "amd64")
_IS_ARM = platform.machine().lower() in ("aarch64", "arm64")


@intrinsic
def pause(typing_context):  # type: ignore[no-untyped-def]
    """Wait for some cycles, as processors wish it in loops that wait for another thread."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        nothing, number = ir.VoidType(), ir.IntType(32)
        if _IS_X86:
            kind = ir.FunctionType(nothing, [])
            builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), kind), [])
        elif _IS_ARM:
            kind = ir.FunctionType(nothing, [number])
            builder.call(builder.module.declare_intrinsic("llvm.aarch64.hint", (), kind), [number(1)])
        return context.get_dummy_value()

    return types.void(), generate
