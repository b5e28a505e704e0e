"""The configuration of tape: `show_config`, and the number of threads for large arrays.

Everything is determined on demand, nothing at import. Each kind of advice is a function of plain facts, so
that it can be tested on any machine.
"""

from __future__ import annotations

import math
import os
import platform
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tape.errors import OptionError
from tape.system.blas import AVX512_FLAGS, Library, are_older, cpu_flags, numpy_library, products_library
from tape.system.cache import cache_folder
from tape.system.memory import keep_freed

__all__ = ["Config", "num_threads", "show_config", "usable_cores"]

_MOST_THREADS = 8
"""The default limit: passes over large arrays wait for memory, which a few cores saturate."""

_SIMD_NAMES = {"X86_V2": "SSE4.2", "X86_V3": "AVX2", "X86_V4": "AVX-512"}
_CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, repr=False)
class Config:
    """The configuration of tape. It prints as a table.

    Attributes
    ----------
    tape, python, numpy, numba, scipy : str
        Versions.
    cores : int
        The number of cores that this process may use: its affinity and the CPU quota of its container.
    simd : str
        The widest instruction set that NumPy's loops use.
    products : tape.system.blas.Library
        The BLAS that products of compiled programs use.
    numpy_products : tape.system.blas.Library
        The BLAS of NumPy, used by code that is not compiled. Usually another copy.
    threads : int
        The number of threads for large arrays, by `num_threads`.
    kernel_cache : str or None
        The folder of compiled numba kernels and their index; None if there is none.
    keeps_freed : bool
        Whether freed memory stays in the process for the next arrays.
    holding_back : tuple of str
        Causes of lost speed, each with a remedy.
    """

    tape: str
    python: str
    numpy: str
    numba: str
    scipy: str
    cores: int
    simd: str
    products: Library
    numpy_products: Library
    threads: int
    kernel_cache: str | None
    keeps_freed: bool
    holding_back: tuple[str, ...]

    def __str__(self) -> str:
        freed = "kept for the next arrays" if self.keeps_freed else "left to the system's allocator"
        rows = {
            "tape": self.tape,
            "Python": self.python,
            "NumPy": self.numpy,
            "numba": self.numba,
            "SciPy": self.scipy,
            "cores": f"{self.cores}",
            "SIMD": self.simd,
            "threads": f"{self.threads} for large arrays",
            "compiled products": f"{self.products}",
            "NumPy's products": f"{self.numpy_products}",
            "kernel cache": self.kernel_cache or "none",
            "freed memory": freed,
        }
        table = [f"{name:<18} {text}" for name, text in rows.items()]
        holding_back = [f"  - {advice}" for advice in self.holding_back] or ["  nothing"]
        return "\n".join([*table, "holding speed back:", *holding_back])

    __repr__ = __str__


def show_config() -> Config:
    """Return what tape runs on, and what holds its speed back.

    Loads SciPy's BLAS if necessary, which takes about 0.3 s.

    Returns
    -------
    Config
        It prints as a table; programs read its attributes.

    Raises
    ------
    OptionError
        If TAPE_NUM_THREADS is not a positive number.

    Examples
    --------
    >>> from tape.config import show_config
    >>> print(show_config())
    tape               ...
    Python             ...
    holding speed back:
      ...
    >>> show_config().cores >= 1
    True
    """
    from importlib.metadata import version  # both take long

    import scipy

    products, numpy_products = products_library(), numpy_library()
    cores, threads, kernel_cache = usable_cores(), num_threads(), _kernel_cache()
    holding_back = [
        *_blas_advice(cpu_flags(), products, numpy_products, os.environ),
        *_thread_advice(cores, _affinity(), threads, products, numpy_products),
        *_kernel_advice(kernel_cache),
        *_simd_advice(cpu_flags(), os.environ),
        *_process_advice(_compiles_its_source(), os.environ),
    ]
    return Config(
        tape=sys.modules["tape"].__version__,  # an import would violate the layers
        python=platform.python_version(),
        numpy=np.__version__,
        numba=version("numba"),
        scipy=scipy.__version__,
        cores=cores,
        simd=_simd(),
        products=products,
        numpy_products=numpy_products,
        threads=threads,
        kernel_cache=kernel_cache,
        keeps_freed=keep_freed(),
        holding_back=tuple(holding_back),
    )


def num_threads() -> int:
    """Return the number of threads of a program, for large arrays and products.

    It is TAPE_NUM_THREADS from the environment; else OMP_NUM_THREADS, which job schedulers and process
    pools set; else the number of usable cores, at most 8. Small arrays use one thread.

    Raises
    ------
    OptionError
        If TAPE_NUM_THREADS is not a positive number.

    Examples
    --------
    >>> from tape.config import num_threads
    >>> num_threads() >= 1
    True
    """
    asked = os.environ.get("TAPE_NUM_THREADS")
    if asked is not None:
        if not asked.strip().isdecimal() or int(asked) < 1:
            raise OptionError(
                f"TAPE_NUM_THREADS={asked!r} is not a positive number. Set it to 1 or more, or unset it."
            )
        return int(asked)
    others = (
        os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    )  # it has a number per nesting level
    if others.isdecimal() and int(others) >= 1:
        return int(others)
    return min(usable_cores(), _MOST_THREADS)


def usable_cores() -> int:
    """Return the number of cores this process may use: its affinity, and its container's quota rounded up.

    Examples
    --------
    >>> from tape.config import usable_cores
    >>> usable_cores() >= 1
    True
    """
    quota = _cpu_quota(_CGROUPS)
    return _affinity() if quota is None else min(_affinity(), max(1, math.ceil(quota)))


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu_quota(cgroups: Path) -> float | None:
    """Return the CPU quota of the container, in cores, as it was within the last second; None if unlimited.

    Both versions of Linux's control groups are read, at the path where a container sees its own.
    """
    return _quota_in(cgroups, int(time.monotonic()))


@lru_cache(maxsize=1)
def _quota_in(cgroups: Path, second: int) -> float | None:
    with suppress(OSError, ValueError):
        quota, period = (cgroups / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    with suppress(OSError, ValueError):
        quota, period = ((cgroups / "cpu" / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        return None if int(quota) < 0 else int(quota) / int(period)
    return None


def _simd() -> str:
    """Return the widest instruction set that NumPy was built for and that this CPU has."""
    details: Any = np.show_config(mode="dicts")
    extensions = (details or {}).get("SIMD Extensions", {})
    names = [*extensions.get("baseline", ()), *extensions.get("found", ())]
    return _SIMD_NAMES.get(names[-1], names[-1]) if names else "unknown"


def _kernel_cache() -> str | None:
    """Return the folder of compiled code."""
    folder = cache_folder()
    return None if folder is None else str(folder)


def _compiles_its_source() -> bool:
    """Return whether Python may not write the bytecode of tape, and has none from before."""
    cached = sys.modules[__name__].__spec__
    path = cached.cached if cached else None
    return sys.dont_write_bytecode and not (path and Path(path).exists())


def _blas_advice(
    flags: frozenset[str], products: Library, numpy_products: Library, environment: Mapping[str, str]
) -> list[str]:
    users = {"compiled programs": products, "NumPy": numpy_products}
    slow = {name: library.kernels for name, library in users.items() if are_older(library.kernels)}
    if not slow or not flags >= AVX512_FLAGS:
        return []
    whose = " and ".join(f"{name} ({kernels})" for name, kernels in slow.items())
    if "OPENBLAS_CORETYPE" in environment:
        remedy = f"OPENBLAS_CORETYPE is {environment['OPENBLAS_CORETYPE']}, set it to SkylakeX"
    elif len(slow) == 1:  # NumPy was imported before tape, or only SciPy's BLAS does not know the CPU
        remedy = "start Python with OPENBLAS_CORETYPE=SkylakeX"
    elif environment.get("TAPE_BLAS_CORETYPE") == "0":
        remedy = "unset TAPE_BLAS_CORETYPE, or start Python with OPENBLAS_CORETYPE=SkylakeX"
    else:
        remedy = (
            "SciPy's BLAS was loaded before tape could choose: import tape before SciPy, "
            "or start Python with OPENBLAS_CORETYPE=SkylakeX, which helps NumPy, too"
        )
    return [f"this CPU has AVX-512, but products of {whose} do not use it: {remedy}"]


def _thread_advice(
    cores: int, affinity: int, threads: int, products: Library, numpy_products: Library
) -> list[str]:
    advice = []
    if cores < affinity:
        advice.append(f"the container's CPU quota allows {cores} of {affinity} cores: raise it")
    blas_threads = max(products.threads or 1, numpy_products.threads or 1)
    if blas_threads > cores:
        advice.append(f"BLAS uses {blas_threads} threads on {cores} cores: set OPENBLAS_NUM_THREADS={cores}")
    if threads > cores:
        advice.append(f"large arrays use {threads} threads on {cores} cores: set TAPE_NUM_THREADS={cores}")
    return advice


def _kernel_advice(kernel_cache: str | None) -> list[str]:
    if kernel_cache is not None and os.access(kernel_cache, os.W_OK):
        return []
    return [
        "there is no folder to keep compiled code in, so every process compiles it again: set "
        "TAPE_CACHE_DIR to a folder of your own, that you can write to and nobody else (chmod 700)"
    ]


def _simd_advice(flags: frozenset[str], environment: Mapping[str, str]) -> list[str]:
    advice = []
    if flags and "avx2" not in flags:
        advice.append("this CPU has no AVX2: use another machine, or another CPU model of the virtual one")
    if environment.get("NPY_DISABLE_CPU_FEATURES"):
        disabled = environment["NPY_DISABLE_CPU_FEATURES"]
        advice.append(f"NumPy's loops may not use {disabled}: unset NPY_DISABLE_CPU_FEATURES")
    return advice


def _process_advice(compiles_its_source: bool, environment: Mapping[str, str]) -> list[str]:
    advice = []
    if environment.get("TAPE_KEEP_FREED") == "0":
        advice.append("freed memory goes back to the system each time: unset TAPE_KEEP_FREED")
    if compiles_its_source:
        advice.append(
            "Python compiles tape's source in every process, a tenth of a second: unset "
            "PYTHONDONTWRITEBYTECODE, or run `python -m compileall` on the package once"
        )
    return advice
