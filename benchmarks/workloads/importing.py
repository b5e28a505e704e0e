"""The first moments of a process: importing the package, and its first gradient, in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from benchmarks.contenders import require
from benchmarks.harness import Call, Case
from benchmarks.registry import workload


@workload("import")
def importing(seed: int) -> list[Case]:
    """Importing tape in a fresh interpreter, the whole process, against NumPy alone, numba and peers."""
    modules = ("tape", "numba", "numpy", "autograd", "jax")
    contenders = {module: partial(_in_a_process, module, f"import {module}") for module in modules}
    return [Case("", contenders, unit="process", memory="none")]


_NETWORK = """
rng = np.random.default_rng(0)
shapes = ((64, 32), (32,), (32, 10), (10,))
params = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
x = rng.normal(size=(32, 64)).astype(np.float32)
y = np.eye(10, dtype=np.float32)[rng.integers(0, 10, 32)]

def loss(params, x, y):
    w1, b1, w2, b2 = params
    z = xp.tanh(x @ w1 + b1) @ w2 + b2
    z = z - xp.max(z, axis=1, keepdims=True)
    return xp.mean(xp.log(xp.sum(xp.exp(z), axis=1)) - xp.sum(z * y, axis=1))
"""
_FIRST = {
    "tape": ("tape", "import tape, numpy as np; xp = np", "tape.compile(tape.grad(loss))(params, x, y)"),
    "JAX": (
        "jax",
        "import jax, numpy as np; xp = jax.numpy",
        "jax.block_until_ready(jax.jit(jax.grad(loss))(params, x, y))",
    ),
    "autograd": (
        "autograd",
        "import autograd, autograd.numpy as np; xp = np",
        "autograd.grad(loss)(params, x, y)",
    ),
}


@workload("first-gradient")
def first_gradient(seed: int) -> list[Case]:
    """The first gradient of a small network in a fresh interpreter, the whole process, imports included."""
    contenders = {
        name: partial(_in_a_process, module, f"{imports}\n{_NETWORK}\n{gradient}")
        for name, (module, imports, gradient) in _FIRST.items()
    }
    return [Case("", contenders, unit="process", memory="none")]


def _in_a_process(module: str, code: str) -> Call:
    require(module)
    command = [sys.executable, "-c", code]

    def call() -> list[object]:
        subprocess.run(command, check=True)
        return []

    return call
