"""`Value`: the array of a ``lower`` rule, which computes nothing but appends instructions."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tape.program.ir.builder import Builder

Shape = tuple[int, ...]


class CannotLower(Exception):
    """Raised where no instructions compute an operation: it becomes a callback."""


class Value:
    """The result of an instruction, with the operators of an array."""

    __slots__ = ("builder", "dtype", "id", "is_weak", "op", "shape")

    def __init__(self, builder: Builder, id: int, op: str, shape: Shape, dtype: np.dtype[Any]) -> None:
        self.builder = builder
        self.id = id
        self.op = op  # that of the instruction
        self.shape = shape
        self.dtype = dtype
        self.is_weak = False  # a Python number, which does not widen others

    def weakened(self) -> Value:
        """Return the same value as a Python number, which does not widen other dtypes."""
        weak = Value(self.builder, self.id, self.op, self.shape, self.dtype)
        weak.is_weak = True
        return weak

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    def __add__(self, other: Any) -> Value:
        return self.builder.elementwise("add", self, other)

    def __radd__(self, other: Any) -> Value:
        return self.builder.elementwise("add", other, self)

    def __sub__(self, other: Any) -> Value:
        return self.builder.elementwise("subtract", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self.builder.elementwise("subtract", other, self)

    def __mul__(self, other: Any) -> Value:
        return self.builder.elementwise("multiply", self, other)

    def __rmul__(self, other: Any) -> Value:
        return self.builder.elementwise("multiply", other, self)

    def __truediv__(self, other: Any) -> Value:
        return self.builder.elementwise("divide", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.builder.elementwise("divide", other, self)

    def __neg__(self) -> Value:
        return self.builder.elementwise("negative", self)

    def __gt__(self, other: Any) -> Value:
        return self.builder.elementwise("greater", self, other)

    def __ge__(self, other: Any) -> Value:
        return self.builder.elementwise("greater_equal", self, other)

    def __lt__(self, other: Any) -> Value:
        return self.builder.elementwise("less", self, other)

    def __le__(self, other: Any) -> Value:
        return self.builder.elementwise("less_equal", self, other)
