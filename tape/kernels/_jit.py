"""The one way kernels are compiled: to disk, without the GIL, dividing by zero as NumPy does.

The only liberty kernels may take is adding in another order ("reassoc"), which lets LLVM use SIMD
for sums. NaN, infinity and signed zero keep their meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

__all__ = ["KERNEL_DTYPES", "kernel"]

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc"}}

KERNEL_DTYPES = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
"""What the kernels are compiled for; not the other byte order."""


def kernel(function: Callable[..., Any]) -> Any:
    """Compile at the first call for each combination of types, and keep the result on disk."""
    try:
        return numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # no folder to cache in: neither the package's nor the user's is writable
        return numba.njit(**_OPTIONS)(function)
