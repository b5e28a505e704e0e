"""The cost of ``sites=True`` (the line of every node) and ``check=True`` (a search for NaN)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload

_LENGTH = 1000
_KINDS: dict[str, dict[str, bool]] = {"tape": {}, "sites": {"sites": True}, "check": {"check": True}}


@workload("watching", is_default=False)
def watching(seed: int) -> list[Case]:
    """Recording and gradients with ``sites=True`` and ``check=True``, a small network and scalar chains."""
    rng = np.random.default_rng(seed)
    params = [rng.normal(size=shape).astype(np.float32) / 4 for shape in ((64, 32), (32,), (32, 10))]
    x = rng.normal(size=(32, 64)).astype(np.float32)
    return [
        _case("record a chain", _chain, unit="node", units=_LENGTH, memory="unit"),
        _case("gradient of a chain", _chain_gradient, unit="node", units=_LENGTH, memory="unit"),
        _case("gradient of an MLP", lambda trace: _mlp_gradient(trace, params, x)),
    ]


def _case(label: str, run: Callable[[Any], list[Any]], **options: Any) -> Case:
    """Return the case; the reference is the result without either."""
    contenders = {kind: lambda how=how: _watched(run, how) for kind, how in _KINDS.items()}
    return Case(label, contenders, reference=lambda: _watched(run, {})(), **options)


def _watched(run: Callable[[Any], list[Any]], options: dict[str, bool]) -> Call:
    tape = load("tape")
    return lambda: run(tape.Trace(**options))


def _root_of_chain(trace: Any) -> Any:
    y = trace.param(0.5)
    for _ in range(_LENGTH // 2):
        y = np.sin(y) * 0.99
    return y


def _chain(trace: Any) -> list[Any]:
    return [_root_of_chain(trace).value]


def _chain_gradient(trace: Any) -> list[Any]:
    return trace.backward_param_grads(_root_of_chain(trace))


def _mlp_gradient(trace: Any, params: list[Any], x: np.ndarray) -> list[Any]:
    w, b, v = map(trace.param, params)
    out = np.tanh(x @ w + b) @ v
    return trace.backward_param_grads((out * out).mean())
