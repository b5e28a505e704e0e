"""The evaluations of GradBench, in tape as its documentation teaches, in C by hand, and in JAX under jit.

The functions are those of `benchmarks.gradbench`, which GradBench itself can run.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload

_TABLE = "derivatives of GradBench's evaluations"

_SMALL: list[tuple[str, str, dict[str, Any]]] = [
    ("llsq", "gradient", {"n": 1024}),
    ("llsq", "gradient", {"n": 4096}),
    ("lse", "gradient", {"n": 100_000}),
    ("gmm", "jacobian", {"d": 10, "k": 25}),
    ("det", "gradient", {"ell": 7}),
    ("ode", "gradient", {"n": 1000, "s": 100}),
    ("kmeans", "dir", {"k": 10, "n": 1000, "d": 8}),
    ("kmeans", "dir", {"k": 100, "n": 10_000, "d": 16}),
    ("lstm", "jacobian", {"layers": 2, "c": 1024}),
    ("ba", "jacobian", {"n": 49, "m": 7776, "p": 31_843}),
    ("ht", "jacobian", {"is_complicated": False}),
    ("ht", "jacobian", {"is_complicated": True}),
    ("particle", "rr", {}),
    ("saddle", "rr", {}),
]


@workload("gradbench")
def gradbench(seed: int) -> list[Case]:
    """Every evaluation of GradBench: its derivative by tape, by hand in C, and by JAX."""
    return [_case(*row, seed) for row in _SMALL]


def _case(name: str, function: str, sizes: dict[str, Any], seed: int) -> Case:
    module = importlib.import_module(f"benchmarks.gradbench.{name}")
    known = module.FUNCTIONS[function]
    arguments = known.prepare(module.example(seed, **sizes))
    compute = getattr(module, "compiled_jacobian", known.compute)

    def by_tape() -> list[np.ndarray]:
        return list(_leaves(compute(*arguments)))

    settings = ", ".join(f"{key}={value}" for key, value in sizes.items())
    return Case(
        f"{name} {settings}".strip(),
        {
            "tape": lambda: by_tape,
            "c": partial(_by_hand, name, arguments),
            "jax": partial(_with_jax, name, arguments),
        },
        reference=by_tape,
        tolerance=1e-6 if name in ("llsq", "particle", "saddle") else 1e-9,
        memory="none",
        is_large=name in ("lstm", "ba") or sizes.get("k") == 100,
        table=_TABLE,
    )


def _leaves(result: Any) -> Iterator[np.ndarray]:
    """Yield the arrays of a result."""
    if isinstance(result, dict):
        result = tuple(result.values())
    if isinstance(result, tuple | list):
        for part in result:
            yield from _leaves(part)
    else:
        yield result


def _by_hand(name: str, arguments: tuple[Any, ...]) -> Call:
    from benchmarks.gradbench.by_hand import CALLS

    return CALLS[name](*arguments)


def _with_jax(name: str, arguments: tuple[Any, ...]) -> Call:
    jax = load("jax")
    from benchmarks.gradbench.in_jax import FUNCTIONS

    make: Callable[..., Any] = FUNCTIONS[name]
    function, traced = make(jax, *arguments)
    compiled, on_device = jax.jit(function), [jax.numpy.asarray(array) for array in traced]

    def call() -> list[Any]:
        return jax.tree.leaves(jax.block_until_ready(compiled(*on_device)))

    return call
