"""A recurrent network: many small operations one after the other, and weights used at every step.

What the inputs contribute can be one product before the loop: a contender does that where it is faster so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.contenders import gradients_by
from benchmarks.harness import Case
from benchmarks.registry import workload

_STEPS, _BATCH, _INPUT, _HIDDEN = 50, 16, 16, 32


@workload("rnn")
def rnn(seed: int) -> list[Case]:
    """RNN with tanh, 50 steps, hidden 32, batch 16, float32: value and gradient by three weights."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int, scale: float = 1.0) -> np.ndarray:
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    params = [
        normal(_INPUT, _HIDDEN, scale=_INPUT**-0.5),
        normal(_HIDDEN, _HIDDEN, scale=_HIDDEN**-0.5),
        normal(_HIDDEN, scale=0.1),
    ]
    data = [normal(_STEPS, _BATCH, _INPUT), normal(_BATCH, _HIDDEN)]
    losses = {
        "tape compiled": _tape_loss,
        "tape": _tape_loss,
        "torch": _torch_loss,
        "jax": _jax_loss,
        "autograd": _autograd_loss,
    }
    by_hand = {"numpy": lambda: lambda: _by_hand(*params, *data)}
    return [Case("", by_hand | gradients_by(losses, params, data), baseline="tape compiled")]


def _by_hand(w_x: Any, w_h: Any, b: Any, x: Any, target: Any) -> list[Any]:
    """Backpropagation through time; what all steps share is one product before or after the loop."""
    inputs = x.reshape(-1, _INPUT)
    projected = inputs @ w_x
    projected += b
    projected = projected.reshape(_STEPS, _BATCH, _HIDDEN)
    hidden = np.zeros((_STEPS + 1, _BATCH, _HIDDEN), np.float32)
    for t in range(_STEPS):
        state = np.matmul(hidden[t], w_h, out=hidden[t + 1])
        state += projected[t]
        np.tanh(state, out=state)
    residual = hidden[-1] - target
    loss = np.square(residual).mean()
    slope = 1 - hidden[1:] ** 2
    d_sums = np.empty((_STEPS, _BATCH, _HIDDEN), np.float32)
    d_state = residual * np.float32(2 / residual.size)
    transposed = w_h.T
    for t in range(_STEPS - 1, -1, -1):
        d_sum = np.multiply(d_state, slope[t], out=d_sums[t])
        d_state = d_sum @ transposed
    rows = d_sums.reshape(-1, _HIDDEN)
    return [loss, inputs.T @ rows, hidden[:-1].reshape(-1, _HIDDEN).T @ rows, rows.sum(axis=0)]


def _tape_loss(tape: Any, w_x: Any, w_h: Any, b: Any, x: Any, target: Any) -> Any:
    state = np.zeros_like(target)
    for step in x:
        state = np.tanh(step @ w_x + state @ w_h + b)
    return np.mean((state - target) ** 2)


def _torch_loss(torch: Any, w_x: Any, w_h: Any, b: Any, x: Any, target: Any) -> Any:
    state = torch.zeros_like(target)
    projected = torch.addmm(b, x.reshape(-1, _INPUT), w_x).view(_STEPS, _BATCH, _HIDDEN)
    for step in projected.unbind():
        state = torch.tanh(torch.addmm(step, state, w_h))
    return torch.nn.functional.mse_loss(state, target)


def _jax_loss(jax: Any, w_x: Any, w_h: Any, b: Any, x: Any, target: Any) -> Any:
    def cell(state: Any, step: Any) -> tuple[Any, None]:
        return jax.numpy.tanh(step + state @ w_h), None

    # Unrolled loops, whole or in part, are no faster, and take seconds to compile.
    state, _ = jax.lax.scan(cell, jax.numpy.zeros_like(target), x @ w_x + b)
    return jax.numpy.mean((state - target) ** 2)


def _autograd_loss(autograd: Any, w_x: Any, w_h: Any, b: Any, x: Any, target: Any) -> Any:
    state = np.zeros_like(target)
    for step in x:
        state = autograd.numpy.tanh(autograd.numpy.dot(step, w_x) + autograd.numpy.dot(state, w_h) + b)
    return autograd.numpy.mean((state - target) ** 2)
