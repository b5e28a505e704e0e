"""``lstm``: the loss of a recurrent network on a sequence of characters, with diagonal weight matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

import tape
from benchmarks.gradbench.evaluation import Function, Input

__all__ = ["FUNCTIONS", "example", "objective"]


def objective(main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    """Return the mean score of the predictions of each next character.

    Parameters
    ----------
    main : array
        For each layer, the weights and the biases of four gates: (2 layers, 4 bits).
    extra : array
        Weights of the input, weights and biases of the output: (3, bits).
    state : array
        For each layer, the hidden state and the cell: (2 layers, bits).
    sequence : array
        The characters, in bits: (characters, bits).
    """
    layers = len(main) // 2
    weights, biases = np.moveaxis(main.reshape(layers, 2, 4, -1), 1, 0)

    def step(states: Any, character: Any) -> tuple[Any, Any]:
        x, after = character * extra[0], []
        for weight, bias, (hidden, cell) in zip(weights, biases, states, strict=True):
            forget = tape.ops.sigmoid(x * weight[0] + bias[0])
            ingate = tape.ops.sigmoid(hidden * weight[1] + bias[1])
            outgate = tape.ops.sigmoid(x * weight[2] + bias[2])
            change = np.tanh(hidden * weight[3] + bias[3])
            cell = cell * forget + ingate * change
            x = outgate * np.tanh(cell)
            after.append((x, cell))
        return after, x * extra[1] + extra[2]

    states = list(zip(state[::2], state[1::2], strict=True))
    _, predicted = tape.scan(step, states, sequence[:-1])
    scores = predicted - np.log(np.sum(np.exp(predicted), axis=1, keepdims=True) + 2)
    return -np.mean(sequence[1:] * scores)


def example(seed: int = 0, layers: int = 2, c: int = 1024, bits: int = 14) -> Input:
    """Return an input: c characters of so many bits."""
    rng = np.random.default_rng(seed)
    return {
        "main_params": rng.random((2 * layers, 4 * bits)).tolist(),
        "extra_params": rng.random((3, bits)).tolist(),
        "state": rng.random((2 * layers, bits)).tolist(),
        "sequence": rng.integers(2, size=(c, bits)).tolist(),
    }


def _prepare(data: Input) -> tuple[np.ndarray, ...]:
    return tuple(np.array(data[name], float) for name in ("main_params", "extra_params", "state", "sequence"))


FUNCTIONS = {
    "objective": Function(_prepare, tape.compile(objective)),
    "jacobian": Function(
        _prepare,
        tape.compile(tape.grad(objective, argnums=(0, 1))),
        lambda gradients: [*gradients[0].ravel().tolist(), *gradients[1].ravel().tolist()],
    ),
}
