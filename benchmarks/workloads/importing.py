"""The time of importing the package: whole processes, each a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from benchmarks.contenders import require
from benchmarks.harness import Call, Case
from benchmarks.registry import workload


@workload("import")
def importing(seed: int) -> list[Case]:
    """Importing tape in a fresh interpreter, the whole process, against importing numba or NumPy alone."""
    contenders = {module: partial(_in_a_process, module) for module in ("tape", "numba", "numpy")}
    return [Case("", contenders, unit="process", memory="none")]


def _in_a_process(module: str) -> Call:
    require(module)
    command = [sys.executable, "-c", f"import {module}"]

    def call() -> list[object]:
        subprocess.run(command, check=True)
        return []

    return call
