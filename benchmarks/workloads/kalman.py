"""A Kalman filter: 300 steps, each with small systems of equations and products of matrices of 2 and 4 rows.

The log-likelihood of a series of observations, by the model. What every contender computes is what a textbook
says, with `solve` in place of an inverse: as a Python loop, and as `scan`. JAX always scans, as it would take
half a minute to compile the loop.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders import gradients_by
from benchmarks.harness import Case
from benchmarks.registry import workload

_STEPS, _STATE, _OBSERVED = 300, 4, 2


@workload("kalman")
def kalman(seed: int) -> list[Case]:
    """Kalman filter, 300 steps, 4 states, 2 observed, float64: log-likelihood and gradient by the model."""
    rng = np.random.default_rng(seed)
    transition = np.eye(_STATE) + np.diag([0.1, 0.1], 2) - 0.02 * rng.random((_STATE, _STATE))
    observation = np.eye(_OBSERVED, _STATE) + 0.1 * rng.standard_normal((_OBSERVED, _STATE))
    params = [transition, observation, np.full(_STATE, -2.0), np.full(_OBSERVED, -1.0)]
    data = [0.2 * np.cumsum(rng.standard_normal((_STEPS, _OBSERVED)), axis=0)]
    by_scan = {"jax": lambda jax, *a: _scanned(jax.numpy, jax.lax.scan, *a)}
    loops = {
        "tape compiled": lambda tape, *a: _looped(np, *a),
        "torch": _torch_looped,
        "autograd": lambda autograd, *a: _looped(autograd.numpy, *a),
        **by_scan,
    }
    scans = {"tape compiled": lambda tape, *a: _scanned(np, tape.scan, *a), **by_scan}
    return [
        Case(label, gradients_by(losses, params, data), tolerance=1e-8, baseline="tape compiled")
        for label, losses in (("loop", loops), ("scan", scans))
    ]


def _step(numpy: Any, model: Any, carry: Any, y: Any) -> Any:
    """Predict the state, and correct it by an observation."""
    transition, observation, process, noise = model
    mean, covariance, total = carry
    mean = transition @ mean
    covariance = transition @ covariance @ transition.T + process
    residual = y - observation @ mean
    spread = observation @ covariance @ observation.T + noise
    gain = numpy.linalg.solve(spread, observation @ covariance).T
    _, logdet = numpy.linalg.slogdet(spread)
    total = total + 0.5 * (logdet + residual @ numpy.linalg.solve(spread, residual))
    return (mean + gain @ residual, covariance - gain @ observation @ covariance, total), None


def _start(numpy: Any, transition: Any, observation: Any, process: Any, noise: Any) -> Any:
    model = transition, observation, numpy.diag(numpy.exp(process)), numpy.diag(numpy.exp(noise))
    return model, (np.zeros(_STATE), np.eye(_STATE), 0.0)


def _looped(numpy: Any, *arguments: Any) -> Any:
    *params, observed = arguments
    model, carry = _start(numpy, *params)
    for y in observed:
        carry, _ = _step(numpy, model, carry, y)
    return carry[-1]


def _scanned(numpy: Any, scan: Any, *arguments: Any) -> Any:
    *params, observed = arguments
    model, carry = _start(numpy, *params)
    return scan(partial(_step, numpy, model), carry, observed)[0][-1]


def _torch_looped(torch: Any, transition: Any, observation: Any, process: Any, noise: Any, data: Any) -> Any:
    model = transition, observation, torch.diag(torch.exp(process)), torch.diag(torch.exp(noise))
    carry = torch.zeros(_STATE, dtype=torch.float64), torch.eye(_STATE, dtype=torch.float64), 0.0
    for y in data:
        carry, _ = _step(torch, model, carry, y)
    return carry[-1]
