"""The time from a function to its first gradient: every call records, traces and compiles again."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders import Loss, load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload
from benchmarks.workloads.mlp import by_hand_tanh, jax_tanh, make_data, tape_tanh

_STEP = 0.001

Arrays = list[np.ndarray]


@workload("compile-time", is_default=False)
def compile_time(seed: int) -> list[Case]:
    """A fresh compiled function and its first gradient: MLP 64-32-10, and chains of operations."""
    return [_mlp_case(seed), *(_chain_case(iterations, seed) for iterations in (50, 1000))]


def _mlp_case(seed: int) -> Case:
    params, x, labels = make_data((64, 32, 10), 32, seed)
    by_hand = partial(by_hand_tanh, *params, x, np.arange(len(labels)), labels)
    return _case("MLP 64-32-10", tape_tanh, jax_tanh, params, [x, labels], reference=by_hand)


def _chain_case(iterations: int, seed: int) -> Case:
    def tape_loss(tape: Any, x: Any) -> Any:
        return _chain(np, iterations, x)

    def jax_loss(jax: Any, x: Any) -> Any:
        return _chain(jax.numpy, iterations, x)

    start = np.random.default_rng(seed).standard_normal(16)
    return _case(
        f"chain of {3 * iterations:,}",
        tape_loss,
        jax_loss,
        [start],
        [],
        reference=partial(_chain_by_hand, iterations, start),
        tolerance=1e-11,
        is_large=iterations > 100,
    )


def _case(label: str, tape_loss: Loss, jax_loss: Loss, params: Arrays, data: Arrays, **settings: Any) -> Case:
    return Case(
        label,
        {
            "tape compiled": lambda: lambda: _first_with_tape(tape_loss, params, data)[1],
            "jax": partial(_with_jax, jax_loss, params, data),
        },
        memory="none",
        baseline="tape compiled",
        figures={"instructions": {"tape compiled": partial(_instructions, tape_loss, params, data)}},
        **settings,
    )


def _first_with_tape(loss: Loss, params: Arrays, data: Arrays) -> tuple[Any, list[Any]]:
    """Return a new compiled function, and the result of its first call."""
    tape = load("tape")
    function = tape.compile(tape.value_and_grad(partial(loss, tape), tuple(range(len(params)))))
    value, gradients = function(*params, *data)
    return function, [value, *gradients]


def _instructions(loss: Loss, params: Arrays, data: Arrays) -> int:
    function, _ = _first_with_tape(loss, params, data)
    (program,) = function.programs.values()
    return len(program)


def _with_jax(loss: Loss, params: Arrays, data: Arrays) -> Call:
    jax = load("jax")
    arguments = [jax.numpy.asarray(array) for array in (*params, *data)]

    def call() -> list[Any]:
        # JAX caches by the identity of the function: a new partial is compiled again.
        function = jax.jit(jax.value_and_grad(partial(loss, jax), tuple(range(len(params)))))
        value, gradients = function(*arguments)
        return [value.block_until_ready(), *gradients]

    return call


def _chain(numpy: Any, iterations: int, x: Any) -> Any:
    for _ in range(iterations):
        x = x + _STEP * numpy.sin(x)
    return x.sum()


def _chain_by_hand(iterations: int, x: np.ndarray) -> list[Any]:
    gradient = np.ones_like(x)
    for _ in range(iterations):
        gradient *= 1 + _STEP * np.cos(x)
        x = x + _STEP * np.sin(x)
    return [x.sum(), gradient]
