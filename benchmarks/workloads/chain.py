"""Long chains of scalar operations: the cost of a node, with next to no arithmetic in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contenders import gradients_by, load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload

_LENGTH = 10**4
_DOUBLINGS = 1000
_START = (1.5, 0.9999, 1e-4)  # v, a, b: v tends to one, slowly, whatever the length


@workload("chain")
def chain(seed: int) -> list[Case]:
    """10,000 scalar operations, v * a and v + b in turns: value and gradient by all three."""
    return [
        Case(
            "",
            _contenders(
                _chain_loss(_LENGTH), [np.float64(x) for x in _START], lambda: _chain_by_hand(_LENGTH)
            ),
            tolerance=1e-11,  # 10,000 roundings
            unit="node",
            units=_LENGTH,
            memory="unit",
        )
    ]


@workload("doubling")
def doubling(seed: int) -> list[Case]:
    """Scalar v = v + v, 1,000 times: exponential for an engine that walks paths instead of nodes."""

    def loss(framework: Any, v: Any) -> Any:
        for _ in range(_DOUBLINGS):
            v = v + v
        return v

    def by_hand() -> list[Any]:
        v = gradient = 1.0
        for _ in range(_DOUBLINGS):
            v = v + v
        for _ in range(_DOUBLINGS):
            gradient = gradient + gradient
        return [v, gradient]

    contenders = _contenders(loss, [np.float64(1.0)], by_hand)
    return [Case("", contenders, unit="node", units=_DOUBLINGS, memory="unit")]


@workload("chain-million", is_default=False)
def chain_million(seed: int) -> list[Case]:
    """The chain at 10**4, 10**5 and 10**6: recording (and freeing) it, and sweeping over it."""
    cases = []
    for power in (4, 5, 6):
        for label, make, by_hand in (
            ("record", _recording, _record_by_hand),
            ("sweep", _sweeping, _sweep_by_hand),
        ):
            contenders = {
                "tape": lambda make=make, length=10**power: make(length),
                "numpy": lambda by_hand=by_hand, length=10**power: by_hand(length),
            }
            case = Case(
                f"{label} 10**{power}",
                contenders,
                tolerance=10.0 ** (power - 15),
                unit="node",
                units=10**power,
                memory="unit",
                is_large=power > 4,
            )
            cases.append(case)
    return cases


def _contenders(
    loss: Callable[..., Any], params: list[Any], by_hand: Callable[[], list[Any]]
) -> dict[str, Callable[[], Call]]:
    """Return the contenders. JAX is left out: XLA needs minutes to compile a chain that is not a loop."""
    frameworks = ("tape", "torch", "autograd")
    return {"numpy": lambda: by_hand, **gradients_by(dict.fromkeys(frameworks, loss), params, [])}


def _chain_loss(length: int) -> Callable[..., Any]:
    def loss(framework: Any, v: Any, a: Any, b: Any) -> Any:
        for _ in range(length // 2):
            v = v * a
            v = v + b
        return v

    return loss


# ---- by hand: Python floats, which beat NumPy's scalars ---------------------------------------------


def _chain_by_hand(length: int) -> list[Any]:
    value, before = _forward_by_hand(length)
    return [value, *_backward_by_hand(before)]


def _forward_by_hand(length: int) -> tuple[float, list[float]]:
    """Return the last value, and the operand of each product."""
    v, a, b = _START
    before = []
    for _ in range(length // 2):
        before.append(v)
        v = v * a + b
    return v, before


def _backward_by_hand(before: list[float]) -> list[float]:
    _, a, _ = _START
    d_v, d_a, d_b = 1.0, 0.0, 0.0
    for v in reversed(before):
        d_b += d_v
        d_a += d_v * v
        d_v *= a
    return [d_v, d_a, d_b]


def _record_by_hand(length: int) -> Call:
    return lambda: [_forward_by_hand(length)[0]]


def _sweep_by_hand(length: int) -> Call:
    _, before = _forward_by_hand(length)
    return lambda: _backward_by_hand(before)


# ---- the two halves of tape -------------------------------------------------------------------------


def _recording(length: int) -> Call:
    tape = load("tape")
    loss = _chain_loss(length)

    def call() -> list[Any]:
        trace = tape.Trace()
        return [loss(tape, *map(trace.param, _START)).value]

    return call


def _sweeping(length: int) -> Call:
    tape = load("tape")
    trace = tape.Trace()
    root = _chain_loss(length)(tape, *map(trace.param, _START))
    return lambda: trace.backward_param_grads(root)
