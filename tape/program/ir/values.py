"""`Value`: the array of a ``lower`` rule, which computes nothing but appends instructions."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tape.program.ir.builder import Builder

Shape = tuple[int, ...]


class CannotLower(Exception):
    """Raised where no instructions compute an operation: it becomes a callback."""


def _operator(ufunc: str) -> Callable[[Value, Any], Value]:
    return lambda self, other: self.builder.elementwise(ufunc, self, other)


def _reflected(ufunc: str) -> Callable[[Value, Any], Value]:
    return lambda self, other: self.builder.elementwise(ufunc, other, self)


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

    __add__, __radd__ = _operator("add"), _reflected("add")
    __sub__, __rsub__ = _operator("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _operator("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _operator("divide"), _reflected("divide")
    __gt__, __ge__ = _operator("greater"), _operator("greater_equal")
    __lt__, __le__ = _operator("less"), _operator("less_equal")
    __eq__, __ne__ = _operator("equal"), _operator("not_equal")  # type: ignore[assignment]
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError("no instruction is true or false: use `where`, or compare with None by `is`")

    def __matmul__(self, other: Value) -> Value:
        return self.builder.matmul(self, other)

    def __neg__(self) -> Value:
        return self.builder.elementwise("negative", self)
