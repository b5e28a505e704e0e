"""The one way kernels are compiled: to disk, without the GIL, dividing by zero as NumPy does.

The only liberty kernels may take is adding in another order ("reassoc"), which lets LLVM use SIMD
for sums. NaN, infinity and signed zero keep their meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np
from numba.core import config as numba_config
from numba.core.compiler import Compiler

__all__ = ["AVOIDED", "KERNEL_DTYPES", "OPTIONS", "avoided", "exact", "inner", "kernel"]

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc"}}

KERNEL_DTYPES = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
"""What the kernels are compiled for; not the other byte order."""


AVOIDED: list[object] = []
"""Not empty while kernels give way to NumPy: what is done but once is not worth waking numba up, which takes
a third of a second in every process."""


@contextmanager
def avoided() -> Iterator[None]:
    """A stretch of code whose computations are done once, like the recording of a program."""
    AVOIDED.append(None)
    try:
        yield
    finally:
        AVOIDED.pop()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile at the first call for each combination of types, and keep the result on disk."""
    try:
        return numba.njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # no folder to cache in: neither the package's nor the user's is writable
        return numba.njit(**OPTIONS)(function)


class _Unoptimised(Compiler):
    """Numba's compiler without LLVM's optimisation: the kernel that takes the code in is optimised whole.

    Otherwise all code is optimised once for each function that contains it, half of the time in all. Numba
    compiles one function at a time, holding a lock, so nothing else is compiled with this setting.
    """

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        config: Any = numba_config
        level = config.OPT
        config.OPT = type(level)(0)
        try:
            return super().compile_extra(function)
        finally:
            config.OPT = level


_INNER_OPTIONS: dict[str, Any] = {
    **OPTIONS, "forceinline": True, "pipeline_class": _Unoptimised,
    "no_cpython_wrapper": True, "no_cfunc_wrapper": True,
}  # fmt: skip


def inner(function: Callable[..., Any]) -> Any:
    """Compile as a part of kernels that call it: they are kept on disk and contain it; Python cannot call it.

    Each call is another copy of the code. Arguments that are literals make versions of their own; a
    number of NumPy's does not.
    """
    return numba.njit(**_INNER_OPTIONS)(function)


def exact(function: Callable[..., Any]) -> Any:
    """As `inner`, but everything is added in the order written: what rounding takes can be found out."""
    return numba.njit(**{**_INNER_OPTIONS, "fastmath": False})(function)
