"""A recurrent network: many small operations one after the other, and weights used at every step.

Natural code takes one step of the sequence at a time and puts the states in a list. Beside it stands what an
expert would write: what the inputs contribute is one product before the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contenders import gradients_by
from benchmarks.harness import Case
from benchmarks.registry import workload

_STEPS, _BATCH, _INPUT, _HIDDEN = 50, 16, 16, 32
_EVERY_TAPE = ("tape", "tape value_and_grad", "tape compiled")


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
    data = [normal(_STEPS, _BATCH, _INPUT), normal(_STEPS, _BATCH, _HIDDEN)]
    natural = {
        **dict.fromkeys(_EVERY_TAPE, _tape_natural),
        "torch": _torch_natural,
        "jax": _jax_natural,
        "autograd": _autograd_natural,
    }
    arranged = {
        **dict.fromkeys(_EVERY_TAPE, _tape_arranged),
        "torch": _torch_arranged,
        "jax": _jax_arranged,
        "autograd": _autograd_arranged,
    }
    return [
        _case("natural", params, data, _by_hand, natural),
        _case("natural, by the sequence too", [*params, data[0]], data[1:], _by_hand_with_inputs, natural),
        _case("arranged", params, data, _by_hand, arranged),
    ]


def _case(
    label: str,
    params: list[np.ndarray],
    data: list[np.ndarray],
    by_hand: Callable[..., list[Any]],
    losses: dict[str, Callable[..., Any]],
) -> Case:
    contenders = {
        "numpy": lambda: lambda: by_hand(*params, *data),
        **gradients_by(losses, params, data),
    }
    return Case(label, contenders, baseline="numpy")


# ---- by hand: what all steps share is one product before or after the loop --------------------------


def _by_hand(w_x: Any, w_h: Any, b: Any, x: Any, target: Any) -> list[Any]:
    loss, d_weights, _ = _backpropagation(w_x, w_h, b, x, target)
    return [loss, *d_weights]


def _by_hand_with_inputs(w_x: Any, w_h: Any, b: Any, x: Any, target: Any) -> list[Any]:
    loss, d_weights, d_sums = _backpropagation(w_x, w_h, b, x, target)
    return [loss, *d_weights, d_sums @ w_x.T]


def _backpropagation(w_x: Any, w_h: Any, b: Any, x: Any, target: Any) -> tuple[Any, list[Any], Any]:
    """The loss, its derivatives by the weights, and those by what each step gives to tanh."""
    inputs = x.reshape(-1, _INPUT)
    projected = inputs @ w_x
    projected += b
    projected = projected.reshape(_STEPS, _BATCH, _HIDDEN)
    hidden = np.zeros((_STEPS + 1, _BATCH, _HIDDEN), np.float32)
    for t in range(_STEPS):
        state = np.matmul(hidden[t], w_h, out=hidden[t + 1])
        state += projected[t]
        np.tanh(state, out=state)
    residual = hidden[1:] - target
    loss = np.square(residual).mean()
    residual *= np.float32(2 / residual.size)
    slope = 1 - hidden[1:] ** 2
    d_sums = np.empty((_STEPS, _BATCH, _HIDDEN), np.float32)
    d_state = np.zeros((_BATCH, _HIDDEN), np.float32)
    transposed = w_h.T
    for t in range(_STEPS - 1, -1, -1):
        d_state += residual[t]
        d_sum = np.multiply(d_state, slope[t], out=d_sums[t])
        d_state = d_sum @ transposed
    rows = d_sums.reshape(-1, _HIDDEN)
    d_weights = [inputs.T @ rows, hidden[:-1].reshape(-1, _HIDDEN).T @ rows, rows.sum(axis=0)]
    return loss, d_weights, d_sums


# ---- natural: the sequence by index, the states in a list -------------------------------------------


def _natural(numpy: Any, w_x: Any, w_h: Any, b: Any, x: Any, target: Any) -> Any:
    state = numpy.zeros((_BATCH, _HIDDEN), dtype=numpy.float32)
    states = []
    for t in range(_STEPS):
        state = numpy.tanh(x[t] @ w_x + state @ w_h + b)
        states.append(state)
    return numpy.mean((numpy.stack(states) - target) ** 2)


def _tape_natural(tape: Any, *operands: Any) -> Any:
    return _natural(np, *operands)


def _torch_natural(torch: Any, *operands: Any) -> Any:
    return _natural(torch, *operands)


def _jax_natural(jax: Any, *operands: Any) -> Any:
    return _natural(jax.numpy, *operands)


def _autograd_natural(autograd: Any, *operands: Any) -> Any:
    return _natural(autograd.numpy, *operands)


# ---- arranged: one product for all inputs, and each framework's own way to take turns ----------------


def _tape_arranged(tape: Any, w_x: Any, w_h: Any, b: Any, x: Any, target: Any) -> Any:
    state = np.zeros_like(target[0])
    states = []
    for step in x @ w_x + b:
        state = np.tanh(step + state @ w_h)
        states.append(state)
    return np.mean((np.stack(states) - target) ** 2)


def _torch_arranged(torch: Any, w_x: Any, w_h: Any, b: Any, x: Any, target: Any) -> Any:
    state = torch.zeros_like(target[0])
    projected = torch.addmm(b, x.reshape(-1, _INPUT), w_x).view(_STEPS, _BATCH, _HIDDEN)
    states = []
    for step in projected.unbind():
        state = torch.tanh(torch.addmm(step, state, w_h))
        states.append(state)
    return torch.nn.functional.mse_loss(torch.stack(states), target)


def _jax_arranged(jax: Any, w_x: Any, w_h: Any, b: Any, x: Any, target: Any) -> Any:
    def cell(state: Any, step: Any) -> tuple[Any, Any]:
        state = jax.numpy.tanh(step + state @ w_h)
        return state, state

    # Unrolled loops, whole or in part, are no faster, and take seconds to compile.
    _, states = jax.lax.scan(cell, jax.numpy.zeros_like(target[0]), x @ w_x + b)
    return jax.numpy.mean((states - target) ** 2)


def _autograd_arranged(autograd: Any, w_x: Any, w_h: Any, b: Any, x: Any, target: Any) -> Any:
    state = np.zeros_like(target[0])
    states = []
    for step in autograd.numpy.dot(x, w_x) + b:
        state = autograd.numpy.tanh(step + autograd.numpy.dot(state, w_h))
        states.append(state)
    return autograd.numpy.mean((autograd.numpy.stack(states) - target) ** 2)
