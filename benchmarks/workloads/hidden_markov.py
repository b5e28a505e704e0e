"""A hidden Markov model: the forward algorithm over 500 observations, in logarithms.

The negative log-likelihood of a series of symbols, and its gradient by the logarithms of all probabilities:
as a Python loop, and as `scan`. JAX always scans. By hand, the gradient comes from the forward-backward
algorithm.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders import gradients_by
from benchmarks.harness import Case
from benchmarks.registry import workload

_STEPS, _STATES, _SYMBOLS = 500, 16, 32


@workload("hidden-markov")
def hidden_markov(seed: int) -> list[Case]:
    """Hidden Markov model, 500 steps, 16 states, 32 symbols, float64: log-likelihood and gradient."""
    rng = np.random.default_rng(seed)
    params = [rng.standard_normal(shape) for shape in ((_STATES,), (_STATES, _STATES), (_STATES, _SYMBOLS))]
    data = [rng.integers(_SYMBOLS, size=_STEPS)]
    by_scan = {"jax": lambda jax, *a: _scanned(jax.numpy, jax.lax.scan, *a)}
    loops = {"tape compiled": lambda tape, *a: _looped(np, *a), **by_scan}
    scans = {"tape compiled": lambda tape, *a: _scanned(np, tape.scan, *a), **by_scan}
    by_hand = {"numpy": lambda: partial(_by_hand, *params, *data)}
    return [
        Case(label, by_hand | gradients_by(losses, params, data), tolerance=1e-8, baseline="tape compiled")
        for label, losses in (("loop", loops), ("scan", scans))
    ]


def _logsumexp(numpy: Any, x: Any, axis: int | None = None) -> Any:
    largest = numpy.max(x, axis=axis)
    return numpy.log(numpy.sum(numpy.exp(x - largest), axis=axis)) + largest


def _normalised(numpy: Any, x: Any) -> Any:
    """Logarithms of probabilities along the last axis."""
    largest = numpy.max(x, axis=-1, keepdims=True)
    return x - largest - numpy.log(numpy.sum(numpy.exp(x - largest), axis=-1, keepdims=True))


def _looped(numpy: Any, start: Any, transition: Any, emission: Any, symbols: Any) -> Any:
    transition, emission = _normalised(numpy, transition), _normalised(numpy, emission).T[symbols]
    alpha = _normalised(numpy, start) + emission[0]
    for k in range(1, _STEPS):
        alpha = _logsumexp(numpy, alpha[:, None] + transition, 0) + emission[k]
    return -_logsumexp(numpy, alpha)


def _scanned(numpy: Any, scan: Any, start: Any, transition: Any, emission: Any, symbols: Any) -> Any:
    transition, emission = _normalised(numpy, transition), _normalised(numpy, emission).T[symbols]

    def step(alpha: Any, seen: Any) -> Any:
        return _logsumexp(numpy, alpha[:, None] + transition, 0) + seen, None

    alpha, _ = scan(step, _normalised(numpy, start) + emission[0], emission[1:])
    return -_logsumexp(numpy, alpha)


def _by_hand(start: Any, transition: Any, emission: Any, symbols: Any) -> list[Any]:
    logs = [_normalised(np, x) for x in (start, transition, emission)]
    first, between, seen = logs[0], logs[1], logs[2].T[symbols]
    alpha, beta = np.empty_like(seen), np.zeros_like(seen)
    alpha[0] = first + seen[0]
    for k in range(1, _STEPS):
        alpha[k] = _logsumexp(np, alpha[k - 1][:, None] + between, 0) + seen[k]
    for k in reversed(range(_STEPS - 1)):
        beta[k] = _logsumexp(np, (between + seen[k + 1] + beta[k + 1]).T, 0)
    total = _logsumexp(np, alpha[-1])
    states = np.exp(alpha + beta - total)
    pairs = np.exp(alpha[:-1, :, None] + between + (seen + beta)[1:, None] - total).sum(0)
    symbol_counts = np.zeros_like(logs[2])
    np.add.at(symbol_counts.T, symbols, states)
    counts = [states[0], pairs, symbol_counts]
    return [-total, *[np.exp(p) * n.sum(-1, keepdims=True) - n for p, n in zip(logs, counts, strict=True)]]
