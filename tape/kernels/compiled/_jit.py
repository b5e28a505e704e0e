"""The one way kernels are compiled: without the GIL, dividing by zero as NumPy does, in the order written.

LLVM must not choose another order: in ``x * c * d`` it would take ``c * d`` out of the loop, which rounds
otherwise than NumPy does, and overflows where NumPy does not. Kernels that sum say themselves what is summed
apart, in registers; only those of `summing` leave that to LLVM.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import binding as llvm
from numba.core import config
from numba.core.compiler import Compiler

# What to do next is found by comparisons and not by a jump table: processors learn the order in which
# hundreds of comparisons come out, but of one jump to many places little more than where it went last.
llvm.set_option("tape", "-min-jump-table-entries=1000")

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}

_config: Any = config  # which has names that are not declared

PROCESSOR: str = _config.CPU_NAME or llvm.get_host_cpu_name()
"""What is compiled for: this processor, unless numba's variables name another one."""
FEATURES: str = _config.CPU_FEATURES or llvm.get_host_cpu_features().flatten()


class _Unoptimised(Compiler):
    """Numba's compiler without LLVM's optimisation: the kernel that takes the code in is optimised whole.

    Otherwise all code is optimised once for each function that contains it, half of the time in all. Numba
    compiles one function at a time, holding a lock, so nothing else is compiled with this setting.
    """

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        level = _config.OPT
        _config.OPT = type(level)(0)
        try:
            return super().compile_extra(function)
        finally:
            _config.OPT = level


_INNER_OPTIONS: dict[str, Any] = {
    **OPTIONS, "forceinline": True, "pipeline_class": _Unoptimised,
    "no_cpython_wrapper": True, "no_cfunc_wrapper": True,
}  # fmt: skip


def inner(function: Callable[..., Any]) -> Any:
    """Compile as a part of kernels that call it: their code contains it; Python cannot call it.

    Each call is another copy of the code. Arguments that are literals make versions of their own; a
    number of NumPy's does not.
    """
    return numba.njit(**_INNER_OPTIONS)(function)


def summing(function: Callable[..., Any]) -> Any:
    """As `inner`, but LLVM may add and multiply in another order ("reassoc"), as SIMD does.

    For sums of terms that are one number or one product. NaN, infinity and signed zero keep their meaning.
    """
    return numba.njit(**_INNER_OPTIONS, fastmath={"reassoc"})(function)
