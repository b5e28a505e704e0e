"""Programs of single numbers: a random graph of them, by tape's machine and by CasADi's."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload

_LENGTH, _STATES = 10**5, 500


@workload("scalars")
def scalars(seed: int) -> list[Case]:
    """100,000 operations + - * / and max on single numbers, of which 1,000 are live at any time."""
    rng = random.Random(seed)
    places = range(_STATES)
    steps = [(rng.randrange(5), rng.choice(places), rng.choice(places)) for _ in range(_LENGTH)]
    x = np.random.default_rng(seed).uniform(0.9, 1.1, 2 * _STATES)

    def graph(x: Any, maximum: Any) -> Any:
        given = [x[k] for k in range(2 * _STATES)]
        factors, states = given[:_STATES], given[_STATES:]
        for kind, i, j in steps:
            a, b = states[i], states[j]
            if kind == 0:
                states[i] = a + b
            elif kind == 1:
                states[i] = a - b
            elif kind == 2:
                states[i] = a * factors[j]
            elif kind == 3:
                states[i] = a / factors[j]
            else:
                states[i] = maximum(a, b)
        return sum(states)

    def with_tape() -> Call:
        compiled = load("tape").compile(lambda x: graph(x, np.maximum))
        return lambda: [compiled(x)]

    def with_casadi() -> Call:
        casadi = load("casadi")
        symbols = casadi.SX.sym("x", len(x))
        function = casadi.Function("graph", [symbols], [graph(symbols, casadi.fmax)])
        buffer, run = function.buffer()
        out = np.zeros(1)
        buffer.set_arg(0, memoryview(x.data))
        buffer.set_res(0, memoryview(out.data))

        def call() -> list[Any]:
            _ = buffer  # which run writes through
            run()
            return [out[0]]

        return call

    return [
        Case(
            "",
            {"tape": with_tape, "casadi": with_casadi},
            reference=lambda: [graph(x, max)],
            unit="operation",
            units=_LENGTH,
            memory="none",
        )
    ]
