"""The overhead of a call: a function with next to no arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload


@workload("call")
def call(seed: int) -> list[Case]:
    """One small function of three arrays of three doubles, x * y + z: a whole call."""
    arrays = list(np.random.default_rng(seed).standard_normal((3, 3)))
    makers: dict[str, Callable[..., Call]] = {
        "tape compiled": _with_compiled_tape,
        "numpy": _with_numpy,
        "jax": _with_jax,
    }
    contenders = {name: partial(make, *arrays) for name, make in makers.items()}
    return [Case("", contenders, baseline="tape compiled")]


def _function(x: Any, y: Any, z: Any) -> Any:
    return x * y + z


def _with_numpy(x: Any, y: Any, z: Any) -> Call:
    return lambda: [_function(x, y, z)]


def _with_compiled_tape(x: Any, y: Any, z: Any) -> Call:
    function = load("tape").compile(_function)
    return lambda: [function(x, y, z)]


def _with_jax(*arrays: Any) -> Call:
    jax = load("jax")
    function = jax.jit(_function)
    x, y, z = map(jax.numpy.asarray, arrays)
    return lambda: [function(x, y, z).block_until_ready()]
