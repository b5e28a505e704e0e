"""Bayesian logistic regression: its log-density, and Hamiltonian Monte Carlo on it.

The density is written as people write it, with `logaddexp`, and by the logarithm of the logistic function of
signed inputs. The sampler is that of `examples/bayesian_regression.py`, all transitions in one program; JAX's
is that of BlackJAX, all transitions in one `lax.scan` under ``jit``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders import gradients_by, load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload

_ROWS, _COLUMNS = 10_000, 10
_STEP, _LEAPS, _TRANSITIONS = 0.02, 8, 100
_SPREADS = (
    0.5  # how far the mean of so many draws may be from the mode, in standard deviations of the posterior
)


@workload("logistic-regression")
def logistic_regression(seed: int) -> list[Case]:
    """Logistic regression, 10,000 rows of 10, float64: log-density and gradient, and leaps of HMC."""
    data, weights = _data(np.random.default_rng(seed))
    losses = {
        "logaddexp": {
            "tape compiled": lambda tape, *a: _with_logaddexp(np, *a),
            "jax": lambda jax, *a: _with_logaddexp(jax.numpy, *a),
            "torch": _with_torch,
        },
        "log of logistic": {
            "tape compiled": lambda tape, *a: _with_log_logistic(tape.nn.logsigmoid, *a),
            "jax": lambda jax, *a: _with_log_logistic(jax.nn.log_sigmoid, *a),
        },
    }
    densities = [
        Case(
            label,
            {"numpy": lambda: partial(_by_hand, weights, *data)} | gradients_by(by, [weights], data),
            tolerance=1e-10,
            baseline="tape compiled",
        )
        for label, by in losses.items()
    ]
    mode, spread = _posterior(weights, *data)
    sampler = Case(
        "hmc",
        {
            "tape compiled": partial(_sampled_with_tape, mode, data, seed),
            "blackjax": partial(_sampled_with_blackjax, mode, data, seed),
        },
        reference=lambda: [mode],
        tolerance=float(_SPREADS * np.max(spread) / np.max(np.abs(mode))),
        baseline="tape compiled",
        unit="leap",
        units=_LEAPS * _TRANSITIONS,
        is_large=True,
    )
    return [*densities, sampler]


def _data(rng: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray]:
    x = rng.standard_normal((_ROWS, _COLUMNS))
    weights = rng.standard_normal(_COLUMNS)
    y = (rng.random(_ROWS) < 1 / (1 + np.exp(-x @ weights))).astype(float)
    return [x, y], weights


def _with_logaddexp(numpy: Any, w: Any, x: Any, y: Any) -> Any:
    z = x @ w
    return numpy.sum(y * z - numpy.logaddexp(0.0, z)) - 0.5 * numpy.sum(w**2)


def _with_torch(torch: Any, w: Any, x: Any, y: Any) -> Any:
    z = x @ w
    return torch.sum(y * z - torch.nn.functional.softplus(z)) - 0.5 * torch.sum(w**2)


def _with_log_logistic(log_sigmoid: Any, w: Any, x: Any, y: Any) -> Any:
    return log_sigmoid((2 * y - 1) * (x @ w)).sum() - 0.5 * (w**2).sum()


def _by_hand(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> list[Any]:
    z = x @ w
    value = np.sum(y * z - np.logaddexp(0.0, z)) - 0.5 * np.sum(w**2)
    return [value, (y - 1 / (1 + np.exp(-z))) @ x - w]


def _posterior(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mode by Newton's method, and the standard deviations of the normal density that fits there."""
    for _ in range(20):
        _, gradient = _by_hand(w, x, y)
        p = 1 / (1 + np.exp(-x @ w))
        precision = (x.T * (p * (1 - p))) @ x + np.eye(_COLUMNS)
        w = w + np.linalg.solve(precision, gradient)
    return w, np.sqrt(np.diag(np.linalg.inv(precision)))


def _sampled_with_tape(start: np.ndarray, data: list[np.ndarray], seed: int) -> Call:
    tape = load("tape")

    def transition(state: Any, rng: Any, x: Any, y: Any) -> Any:
        density = tape.value_and_grad(lambda w: _with_logaddexp(np, w, x, y))

        def leap(moved: Any, _: Any) -> Any:
            there, momentum, _, slope = moved
            momentum = momentum + _STEP / 2 * slope
            there = there + _STEP * momentum
            value, slope = density(there)
            return (there, momentum + _STEP / 2 * slope, value, slope), None

        momentum = rng.standard_normal(_COLUMNS)
        (there, end, value, slope), _ = tape.scan(leap, (state[0], momentum, *state[1:]), length=_LEAPS)
        gained = value - end @ end / 2 - state[1] + momentum @ momentum / 2
        is_taken = np.log(rng.random()) < gained
        state = tuple(
            np.where(is_taken, new, old) for new, old in zip((there, value, slope), state, strict=True)
        )
        return state, state[0]

    @tape.compile
    def chain(w: Any, rng: Any, x: Any, y: Any) -> Any:
        state = (w, *tape.value_and_grad(lambda w: _with_logaddexp(np, w, x, y))(w))
        _, draws = tape.scan(lambda s, _: transition(s, rng, x, y), state, length=_TRANSITIONS)
        return np.mean(draws, axis=0)

    rng = tape.random.default_rng(seed)
    return lambda: [chain(start, rng, *data)]


def _sampled_with_blackjax(start: np.ndarray, data: list[np.ndarray], seed: int) -> Call:
    jax, blackjax = load("jax"), load("blackjax")
    x, y = map(jax.numpy.asarray, data)

    @jax.jit
    def chain(w: Any, key: Any, x: Any, y: Any) -> Any:
        sampler = blackjax.hmc(
            lambda w: _with_logaddexp(jax.numpy, w, x, y),
            step_size=_STEP,
            inverse_mass_matrix=jax.numpy.ones(_COLUMNS),
            num_integration_steps=_LEAPS,
        )

        def transition(state: Any, key: Any) -> Any:
            state, _ = sampler.step(key, state)
            return state, state.position

        key, first = jax.random.split(key)
        _, draws = jax.lax.scan(transition, sampler.init(w), jax.random.split(first, _TRANSITIONS))
        return draws.mean(0), key

    held = [jax.random.key(seed)]

    def call() -> list[Any]:
        mean, held[0] = chain(start, held[0], x, y)
        return [mean.block_until_ready()]

    return call
