"""Tiles of products of matrices: instructions for a few rows and vectors, whose sums stay in registers.

Sums of squared or weighted differences and weighted sums have the form of products, and tiles of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tape.kernels.compiled._jit import FEATURES

VECTOR_BYTES = 64 if "+avx512f" in FEATURES.split(",") else 32
"""Of a register."""
_INTEGER, _LANE = ir.IntType(64), ir.IntType(32)
_integer, _lane = partial(ir.Constant, _INTEGER), partial(ir.Constant, _LANE)


class _Arguments(NamedTuple):
    """What a tile is called with: int64, but for the factor. Strides are in bytes, others are addresses."""

    rows: Any  # how many there are; if that is less than a tile has, the last is computed more than once
    k: Any  # the length that is summed over
    a: Any
    a_row: Any
    a_column: Any
    b: Any
    b_row: Any
    out: Any
    out_row: Any
    total: Any  # what is added, and read before anything is written; 0 for nothing
    total_row: Any
    total_column: Any  # 0 if there is one number for each row
    last: Any  # how many elements of the last vector there are
    factor: Any


def tile(number: Any, rows: int, widths: Sequence[int], kind: type[Tile] | None = None) -> Any:
    """Return the compiled function that computes so many rows of a product, in vectors of so many bytes.

    Parameters
    ----------
    number : numba.types.Float
        The dtype.
    rows : int
        How many; fewer are computed where fewer are left.
    widths : sequence of int
        Bytes of the vectors.
    kind : type, optional
        What is summed up; products if that is not given.
    """
    made_by = kind or Tile

    @intrinsic
    def compute(  # type: ignore[no-untyped-def]
        typing_context, rows_left, k, a, a_row, a_column, b, b_row, out, out_row, total, total_row,
        total_column, last, factor,
    ):  # fmt: skip
        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            code = made_by(builder, context.get_value_type(number), widths, _Arguments(*values))
            numbers = [_integer(r) for r in range(rows)]
            are_all = builder.icmp_signed(">=", code.of.rows, _integer(rows))
            with builder.if_else(are_all) as (with_all, with_some):
                with with_all:
                    code.compute(numbers)
                with with_some:  # other addresses, which take more registers
                    end = builder.sub(code.of.rows, _integer(1))
                    code.compute([builder.select(builder.icmp_signed("<", r, end), r, end) for r in numbers])
            return context.get_dummy_value()

        return types.void(*[types.int64] * 13, number), generate

    return compute


class Tile:
    """The instructions of a tile of a product."""

    def __init__(self, builder: Any, element: Any, widths: Sequence[int], of: _Arguments) -> None:
        self.builder, self.element, self.of = builder, element, of
        self.size = 8 if isinstance(element, ir.DoubleType) else 4
        self.vectors = [ir.VectorType(element, width // self.size) for width in widths]
        self.places = [_integer(sum(widths[:v])) for v in range(len(widths))]
        lanes = self.vectors[-1].count
        kind = ir.VectorType(_LANE, lanes)
        every = self.spread(builder.trunc(of.last, _LANE), kind)
        self.mask = builder.icmp_signed("<", ir.Constant(kind, list(range(lanes))), every)
        self.is_whole = builder.icmp_signed("==", of.last, _integer(lanes))

    def compute(self, steps: Sequence[Any]) -> None:
        """Compute the rows with these numbers."""
        builder = self.builder
        sums = [[cgutils.alloca_once(builder, kind) for kind in self.vectors] for _ in steps]
        for place in chain(*sums):
            builder.store(ir.Constant(place.type.pointee, None), place)
        self.multiply(steps, sums)
        self.finish(steps, sums)
        with builder.if_else(self.is_whole) as (whole, part):
            with whole:  # memory that is in no cache takes several times as long with a mask
                self.write(steps, sums, False)
            with part:
                self.write(steps, sums, True)

    def finish(self, steps: Sequence[Any], sums: Sequence[Sequence[Any]]) -> None:
        """Multiply the sums with the factor, and add the total."""
        builder, of = self.builder, self.of
        with builder.if_then(builder.fcmp_unordered("!=", of.factor, ir.Constant(self.element, 1.0))):
            for place in chain(*sums):
                factor = self.spread(of.factor, place.type.pointee)
                builder.store(builder.fmul(builder.load(place), factor), place)
        with builder.if_then(builder.icmp_signed("!=", of.total, _integer(0))):
            is_row = builder.icmp_signed("!=", of.total_column, _integer(0))
            totals = [self.along(of.total, step, of.total_row) for step in steps]
            with builder.if_else(is_row) as (with_rows, with_numbers):
                with with_rows:
                    self.add([partial(self.load, at) for at in totals], sums)
                with with_numbers:
                    self.add([partial(self.spread_at, at) for at in totals], sums)

    def multiply(self, steps: Sequence[Any], sums: Sequence[Sequence[Any]]) -> None:
        """Sum up the products of numbers of these rows and of vectors."""
        builder, of = self.builder, self.of
        starts = [self.along(of.a, step, of.a_row) for step in steps]
        others = self.others(steps)
        with cgutils.for_range(builder, of.k) as loop:
            below, ahead = self.along(of.b, loop.index, of.b_row), builder.mul(loop.index, of.a_column)
            right = [self.load(below, v) for v in range(len(self.vectors))]
            for start, of_row, there in zip(starts, sums, others, strict=True):
                lefts = self.lefts(builder.add(start, ahead))
                for left, x, place, other in zip(lefts, right, of_row, there, strict=True):
                    self.add_product(*self.factors(left, x, other), place)

    def add_product(self, x: Any, y: Any, place: Any) -> None:
        """Add the product of two vectors to the sum at a place."""
        kind = place.type.pointee
        add = self.function("fmuladd", kind, kind, (kind,) * 3)
        self.builder.store(self.builder.call(add, [x, y, self.builder.load(place)]), place)

    def lefts(self, address: Any) -> list[Any]:
        """Return the first factor of each vector: a number of the row."""
        number = self.number_at(address)
        return [self.spread(number, kind) for kind in self.vectors]

    def others(self, steps: Sequence[Any]) -> list[list[Any]]:
        """Return what each row and vector has beside the factors."""
        return [[None] * len(self.vectors) for _ in steps]

    def factors(self, left: Any, right: Any, other: Any) -> tuple[Any, Any]:
        """Return the factors of a term."""
        return left, right

    def add(self, read: Sequence[Any], sums: Sequence[Sequence[Any]]) -> None:
        """Add what is read for each row and vector."""
        for read_part, of_row in zip(read, sums, strict=True):
            for v, place in enumerate(of_row):
                self.builder.store(self.builder.fadd(self.builder.load(place), read_part(v)), place)

    def write(self, steps: Sequence[Any], sums: Sequence[Sequence[Any]], is_masked: bool) -> None:
        builder = self.builder
        for step, of_row in zip(steps, sums, strict=True):
            at = self.along(self.of.out, step, self.of.out_row)
            for v, place in enumerate(of_row):
                value, target, kind = builder.load(place), self.vector_at(at, v), self.vectors[v]
                if is_masked and v == len(of_row) - 1:
                    arguments = (kind, target.type, _LANE, self.mask.type)
                    store = self.function("masked.store", kind, ir.VoidType(), arguments, ".p0")
                    builder.call(store, [value, target, _lane(self.size), self.mask])
                else:
                    builder.store(value, target, align=self.size)

    def along(self, start: Any, count: Any, stride: Any) -> Any:
        return self.builder.add(start, self.builder.mul(count, stride))

    def vector_at(self, address: Any, v: int) -> Any:
        """A pointer to one of the vectors that begin at an address."""
        place = self.builder.add(address, self.places[v])
        return self.builder.inttoptr(place, self.vectors[v].as_pointer())

    def load(self, address: Any, v: int) -> Any:
        source, kind = self.vector_at(address, v), self.vectors[v]
        if v < len(self.vectors) - 1:
            return self.builder.load(source, align=self.size)
        arguments = (source.type, _LANE, self.mask.type, kind)
        load = self.function("masked.load", kind, kind, arguments, ".p0")
        return self.builder.call(load, [source, _lane(self.size), self.mask, ir.Constant(kind, None)])

    def number_at(self, address: Any) -> Any:
        source = self.builder.inttoptr(address, self.element.as_pointer())
        return self.builder.load(source, align=self.size)

    def spread_at(self, address: Any, v: int) -> Any:
        return self.spread(self.number_at(address), self.vectors[v])

    def spread(self, x: Any, kind: Any) -> Any:
        empty = ir.Constant(kind, ir.Undefined)
        first = self.builder.insert_element(empty, x, _lane(0))
        return self.builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(_LANE, kind.count), None))

    def function(self, name: str, kind: Any, result: Any, arguments: Any, suffix: str = "") -> Any:
        """A function of LLVM's on vectors."""
        full = f"llvm.{name}.v{kind.count}{kind.element.intrinsic_name}{suffix}"
        return cgutils.get_or_insert_function(self.builder.module, ir.FunctionType(result, arguments), full)


class TileOfVectors(Tile):
    """Sums of the products of vectors of each row and of vectors that all rows have."""

    def lefts(self, address: Any) -> list[Any]:
        return [self.load(address, v) for v in range(len(self.vectors))]


class TileOfSquares(Tile):
    """Sums of the squares of the differences between numbers of a row and vectors."""

    def factors(self, left: Any, right: Any, other: Any) -> tuple[Any, Any]:
        difference = self.builder.fsub(left, right)
        return difference, difference


class TileOfDifferences(Tile):
    """Sums of the differences between vectors and rows of the total, with weights; the result takes them up.

    The rows of the total stay in registers.
    """

    def others(self, steps: Sequence[Any]) -> list[list[Any]]:
        starts = [self.along(self.of.total, step, self.of.total_row) for step in steps]
        return [[self.load(start, v) for v in range(len(self.vectors))] for start in starts]

    def factors(self, left: Any, right: Any, other: Any) -> tuple[Any, Any]:
        return left, self.builder.fsub(right, other)

    def finish(self, steps: Sequence[Any], sums: Sequence[Sequence[Any]]) -> None:
        starts = [self.along(self.of.out, step, self.of.out_row) for step in steps]
        self.add([partial(self.load, start) for start in starts], sums)


class TileOfWeightedProducts(Tile):
    """Sums of products of matrices with weights: of ``k`` matrices, and one at ``total`` for all of them.

    That one has ``total_column`` rows.
    """

    def multiply(self, steps: Sequence[Any], sums: Sequence[Sequence[Any]]) -> None:
        builder, of = self.builder, self.of
        starts = [self.along(of.a, step, of.a_row) for step in steps]
        products = [[cgutils.alloca_once(builder, kind) for kind in self.vectors] for _ in steps]
        with cgutils.for_range(builder, of.k) as each:
            for place in chain(*products):
                builder.store(ir.Constant(place.type.pointee, None), place)
            ahead = builder.mul(each.index, of.a_column)
            with cgutils.for_range(builder, of.total_column) as loop:
                row = self.along(of.total, loop.index, of.total_row)
                right = [self.load(row, v) for v in range(len(self.vectors))]
                column = self.along(ahead, loop.index, _integer(self.size))
                for start, of_row in zip(starts, products, strict=True):
                    for factors in zip(self.lefts(builder.add(start, column)), right, of_row, strict=True):
                        self.add_product(*factors)
            weights = self.along(of.b, each.index, of.b_row)
            for of_row, places in zip(products, sums, strict=True):
                for v, (product, place) in enumerate(zip(of_row, places, strict=True)):
                    self.add_product(builder.load(product), self.load(weights, v), place)

    def finish(self, steps: Sequence[Any], sums: Sequence[Sequence[Any]]) -> None:
        """Leave the sums as they are."""


def turning(number: Any) -> Any:
    """Return the compiled function that transposes four by four numbers, whose rows are strides apart."""
    size = number.bitwidth // 8

    @intrinsic
    def turn(typing_context, x, x_row, out, out_row):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            x, x_row, out, out_row = values
            kind, order = ir.VectorType(context.get_value_type(number), 4), ir.VectorType(_LANE, 4)

            def pick(first, second, lanes):  # type: ignore[no-untyped-def]
                return builder.shuffle_vector(first, second, ir.Constant(order, lanes))

            rows = []
            for _ in range(4):
                rows.append(builder.load(builder.inttoptr(x, kind.as_pointer()), align=size))
                x = builder.add(x, x_row)
            for halves in ([0, 4, 1, 5], [2, 6, 3, 7]):
                pair = [pick(rows[r], rows[r + 1], halves) for r in (0, 2)]
                for lanes in ([0, 1, 4, 5], [2, 3, 6, 7]):
                    place = builder.inttoptr(out, kind.as_pointer())
                    builder.store(pick(*pair, lanes), place, align=size)
                    out = builder.add(out, out_row)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 4), generate

    return turn
