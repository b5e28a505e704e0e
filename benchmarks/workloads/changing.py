"""Arguments that change from call to call: ints, and arrays of many lengths; programs are made anew."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload


@workload("changing", is_default=False)
def changing(seed: int) -> list[Case]:
    """All calls of a new compiled function: a training step with 300 ints; episodes of 60 lengths."""
    rng = np.random.default_rng(seed)
    weights, data = rng.normal(size=(8, 4)) / 3, rng.normal(size=(32, 8))
    episodes = [rng.normal(size=(int(length), 8)) for length in rng.permutation(np.arange(20, 80))]
    recurrent = rng.normal(size=(8, 8)) / 3
    return [
        _case("a training step, 300 ints", _decaying_step, weights, [(data, i) for i in range(300)]),
        _case("episodes of 60 lengths, once each", _episode, recurrent, [(xs,) for xs in episodes]),
        _case("the same, five times each", _episode, recurrent, [(xs,) for xs in 5 * episodes]),
    ]


def _case(label: str, step: Callable[..., Any], weights: np.ndarray, calls: list[tuple[Any, ...]]) -> Case:
    def prepared(wrap: Callable[[Any], Any]) -> Call:
        tape = load("tape")

        def train() -> list[Any]:
            function = wrap(lambda w, *args: step(tape, w, *args))
            w = weights
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", tape.errors.PathLimitWarning)
                for args in calls:
                    w = function(w, *args)
            return [w]

        return train

    return Case(
        label,
        {
            "tape compiled": lambda: prepared(load("tape").compile),
            "tape": lambda: prepared(lambda function: function),
        },
        memory="none",
        baseline="tape compiled",
        is_large=True,
    )


def _decaying_step(tape: Any, w: Any, x: Any, i: int) -> Any:
    def loss(w: Any) -> Any:
        return np.mean(np.tanh(x @ w) ** 2) * 0.99**i

    return w - 0.1 / (1 - 0.9 ** (i + 1)) * tape.grad(loss)(w)


def _episode(tape: Any, w: Any, xs: Any) -> Any:
    def loss(w: Any) -> Any:
        state, total = np.zeros(8), 0.0
        for x in xs:
            state = np.tanh(state @ w + x)
            total = total + np.sum(state**2)
        return total / len(xs)

    return w - 0.01 * tape.grad(loss)(w)
