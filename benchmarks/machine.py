"""The machine that is measured on, and the number of threads that libraries may use.

Thread counts are read once, when a library loads: `limit_threads` comes before the first import of
NumPy, so this file imports the standard library alone.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["facts", "header", "limit_threads", "load_warning", "thread_limit"]

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NPROC",  # the size of XLA's pool
)
_limit: int | None = None
_STEADY = 0.15
_SPINS = 40
_PACKAGES = ("tape", "numpy", "numba", "scipy", "torch", "jax", "autograd")


def limit_threads(count: int) -> None:
    """Let every library use ``count`` threads.

    Raises
    ------
    RuntimeError
        If NumPy has been imported already, and with it BLAS.
    """
    global _limit
    if "numpy" in sys.modules:
        raise RuntimeError("limit_threads after the import of NumPy: its BLAS has its threads already")
    _limit = count
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, str(count)))
    if count == 1:
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = f"{flags} --xla_cpu_multi_thread_eigen=false".strip()


def thread_limit() -> int | None:
    """Return the number of threads that libraries are limited to; None if each chooses its own."""
    return _limit


def facts() -> dict[str, Any]:
    """Return the machine and the versions of libraries, as plain data for JSON."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "threads": thread_limit(),
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "spin_variation": _spin_variation(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in _PACKAGES},
        "blas": _blas(),
    }


def header(machine: dict[str, Any]) -> str:
    """Return the facts as a few lines of text."""
    count = machine["threads"]
    threads = (
        "threads as each library chooses" if count is None else f"{count} thread{'s' * (count > 1)} used"
    )
    load = machine["load_average"]
    versions = [f"{name} {version or 'not installed'}" for name, version in machine["versions"].items()]
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores, {threads}"
        + (f", load average {load:.1f}" if load is not None else ""),
        f"Python {machine['python']}, {', '.join(versions)}",
    ]
    if machine["blas"]:
        lines.append(f"BLAS: {machine['blas']}")
    return "\n".join(lines)


def load_warning(machine: dict[str, Any]) -> str | None:
    """Return a warning if other work takes cores or slows this one down; None on a quiet machine.

    A load average looks back over a minute, and is unknown on some systems; so a loop that always takes
    the same time is timed as well, as ``machine["spin_variation"]``.
    """
    load, cores = machine["load_average"], machine["cores"] or 1
    reasons = []
    if load is not None and load > 0.5 * cores:
        reasons.append(f"the load average is {load:.1f} on {cores} cores")
    if machine["spin_variation"] > _STEADY:
        reasons.append(f"a loop that does the same takes {machine['spin_variation']:.0%} longer at times")
    if not reasons:
        return None
    return f"WARNING: the machine is busy: {', and '.join(reasons)}. Small differences mean nothing"


def _spin_variation() -> float:
    """Return by how much the upper quartile of the times of a fixed loop is above the fastest one."""
    times = []
    for _ in range(_SPINS):
        start = time.perf_counter()
        for _ in range(100_000):
            pass
        times.append(time.perf_counter() - start)
    return sorted(times)[3 * _SPINS // 4] / min(times) - 1


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:  # not Linux
        pass
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _blas() -> str | None:
    """Return the BLAS of NumPy and of SciPy with their kernels; None without threadpoolctl."""
    if importlib.util.find_spec("threadpoolctl") is None:
        return None
    for package in ("numpy", "scipy.linalg"):
        importlib.import_module(package)  # this loads it
    threadpoolctl = importlib.import_module("threadpoolctl")
    found: dict[str, None] = {}
    for library in threadpoolctl.threadpool_info():
        if library["user_api"] == "blas":
            parts = (library["internal_api"], library["version"], library.get("architecture"))
            found[" ".join(part for part in parts if part)] = None
    return ", ".join(found) or None
