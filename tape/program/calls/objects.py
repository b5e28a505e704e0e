"""What dynamic leaves must be, so that the machine can read them where Python keeps them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tape.kernels.headers import CONTIGUOUS_ALIGNED, WRITEABLE

__all__ = ["Leaf"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a dynamic leaf must be: an array, a NumPy scalar or a Python float.

    Attributes
    ----------
    kind : type
        `numpy.ndarray`, a scalar type of NumPy's, or float.
    shape : tuple of int
    dtype : numpy.dtype
    """

    kind: type
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def like(cls, value: Any) -> Leaf:
        """What this value is."""
        if isinstance(value, np.ndarray) or np.result_type(value).itemsize > 8:
            return cls(np.ndarray, np.shape(value), np.dtype(np.result_type(value).str))
        kind = type(value) if isinstance(value, np.generic) else float
        return cls(kind, (), np.dtype(kind))

    @property
    def is_array(self) -> bool:
        """Whether it is an array."""
        return self.kind is np.ndarray

    def spec(self, slot: int, lengths_at: int, is_donated: bool) -> list[int]:
        """The same for the machine: see `tape.program.runtime.opcodes.LEAF`."""
        flags = CONTIGUOUS_ALIGNED | (WRITEABLE if is_donated else 0)
        numbers = [slot, int(self.is_array), id(self.kind), id(self.dtype), flags]
        return [*numbers, len(self.shape), lengths_at, math.prod(self.shape) * self.dtype.itemsize]

    def made_of(self, value: Any) -> Any:
        """A value as the machine can read it."""
        if self.is_array:
            return np.require(np.asarray(value, self.dtype), requirements=["C", "A"])
        return value if type(value) is self.kind else self.kind(value)
