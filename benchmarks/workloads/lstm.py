"""The LSTM of ADBench and GradBench: a long loop over vectors of 14 numbers, weights used at every step.

All weight matrices are diagonal there. The formulas are those of ``src/python/modules/PyTorch/
lstm_objective.py`` in https://github.com/microsoft/ADBench, as GradBench took them over
(https://github.com/gradbench/gradbench, ``evals/lstm``): a cell makes its four gates from its input, its
hidden state, its input and its hidden state; predictions are scored by ``y - log(sum(exp(y)) + 2)``.

The sum over the sequence is taken after the loop, in one operation, by every contender. In the loop, each
computes the gates in its fastest way: together where a call costs more than its arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.contenders import gradients_by
from benchmarks.harness import Case
from benchmarks.registry import workload

_WIDTH = 14  # bits of a character


@workload("lstm")
def lstm(seed: int) -> list[Case]:
    """LSTM of GradBench, 2 layers, float64: value and gradient by all parameters."""
    return [_case(2, length, seed) for length in (32, 1024)]


def _case(layers: int, length: int, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    params = [rng.random((2 * layers, 4 * _WIDTH)), rng.random((3, _WIDTH))]
    state = rng.random((2 * layers, _WIDTH))
    sequence = rng.integers(2, size=(length, _WIDTH)).astype(float)
    losses = {
        "tape compiled": _tape_loss,
        "tape": _tape_loss,
        "torch": _torch_loss,
        "jax": _jax_loss,
    }
    contenders = {
        "numpy": lambda: lambda: _by_hand(*params, state, sequence),
        **gradients_by(losses, params, [state, sequence]),
    }
    return Case(
        f"l = {layers}, c = {length}",
        contenders,
        tolerance=1e-11,
        baseline="tape compiled",
        is_large=length > 100,
    )


def _tape_loss(tape: Any, main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    sigmoid = tape.ops.sigmoid
    rows = [list(row.reshape(4, _WIDTH)) for row in main]
    layers = list(zip(rows[::2], rows[1::2], strict=True))
    states = list(zip(state[::2], state[1::2], strict=True))
    scale, outputs = extra[0], []
    for step in sequence[:-1]:
        x = step * scale
        for i, ((w, b), (hidden, cell)) in enumerate(zip(layers, states, strict=True)):
            forget = sigmoid(x * w[0] + b[0])
            ingate = sigmoid(hidden * w[1] + b[1])
            outgate = sigmoid(x * w[2] + b[2])
            cell = cell * forget + ingate * np.tanh(hidden * w[3] + b[3])
            x = outgate * np.tanh(cell)
            states[i] = x, cell
        outputs.append(x)
    predicted = np.stack(outputs) * extra[1] + extra[2]
    norm = np.log(np.sum(np.exp(predicted), axis=1, keepdims=True) + 2)
    return -np.mean(sequence[1:] * (predicted - norm))


def _torch_loss(torch: Any, main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    rows, states = main.unbind(), list(state.unbind())
    scale, gain, offset = extra.unbind()
    outputs = []
    for x in (sequence[:-1] * scale).unbind():
        for i in range(0, len(rows), 2):
            hidden, cell = states[i : i + 2]
            gates = torch.addcmul(rows[i + 1], torch.cat((x, hidden, x, hidden)), rows[i])
            opening, change = gates.split((3 * _WIDTH, _WIDTH))
            forget, ingate, outgate = torch.sigmoid(opening).chunk(3)
            cell = torch.addcmul(cell * forget, ingate, torch.tanh(change))
            x = outgate * torch.tanh(cell)
            states[i : i + 2] = x, cell
        outputs.append(x)
    predicted = torch.addcmul(offset, torch.stack(outputs), gain)
    norm = torch.log(torch.exp(predicted).sum(dim=1, keepdim=True) + 2)
    return -torch.mean(sequence[1:] * (predicted - norm))


def _jax_loss(jax: Any, main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    numpy = jax.numpy
    weights, biases = main.reshape(-1, 2, 4, _WIDTH).swapaxes(0, 1)

    def step(states: Any, x: Any) -> tuple[Any, Any]:
        after = []
        for w, b, (hidden, cell) in zip(weights, biases, states, strict=True):
            gates = numpy.stack((x, hidden, x, hidden)) * w + b
            forget, ingate, outgate = jax.nn.sigmoid(gates[:3])
            cell = cell * forget + ingate * numpy.tanh(gates[3])
            x = outgate * numpy.tanh(cell)
            after.append((x, cell))
        return after, x

    states = list(zip(state[::2], state[1::2], strict=True))
    _, outputs = jax.lax.scan(step, states, sequence[:-1] * extra[0], unroll=4)  # 16 is slower
    predicted = outputs * extra[1] + extra[2]
    norm = numpy.log(numpy.exp(predicted).sum(axis=1, keepdims=True) + 2)
    return -numpy.mean(sequence[1:] * (predicted - norm))


def _by_hand(main: Any, extra: Any, state: Any, sequence: Any) -> list[Any]:
    """Backpropagation through time; what all steps share is one operation before or after the loop."""
    weights, biases = main.reshape(-1, 2, 4, _WIDTH).swapaxes(0, 1)
    steps, layers = len(sequence) - 1, len(weights)
    scale, gain, offset = extra
    hidden, cells = np.empty((2, steps + 1, layers, _WIDTH))
    hidden[0], cells[0] = state[::2], state[1::2]
    fed = np.empty((steps, layers, 4, _WIDTH))
    gates = np.empty_like(fed)
    bent = np.empty((steps, layers, _WIDTH))  # tanh of the cells
    inputs = sequence[:-1] * scale
    for t, x in enumerate(inputs):
        for i in range(layers):
            fed[t, i, ::2] = x
            fed[t, i, 1::2] = hidden[t, i]
            gate = np.multiply(fed[t, i], weights[i], out=gates[t, i])
            gate += biases[i]
            opening = gate[:3]
            np.exp(np.negative(opening, out=opening), out=opening)
            opening += 1
            np.divide(1, opening, out=opening)
            np.tanh(gate[3], out=gate[3])
            cells[t + 1, i] = cells[t, i] * gate[0] + gate[1] * gate[3]
            x = np.multiply(gate[2], np.tanh(cells[t + 1, i], out=bent[t, i]), out=hidden[t + 1, i])
    predicted = hidden[1:, -1] * gain + offset
    gold = sequence[1:]
    powers = np.exp(predicted)
    total = powers.sum(axis=1, keepdims=True) + 2
    loss = -np.mean(gold * (predicted - np.log(total)))

    d_predicted = (gold.sum(axis=1, keepdims=True) * powers / total - gold) / gold.size
    slope = gates * (1 - gates)
    slope[:, :, 3] = 1 - gates[:, :, 3] ** 2
    bend = gates[:, :, 2] * (1 - bent**2)
    d_gates = np.empty_like(gates)
    d_inputs = d_predicted * gain
    d_hidden, d_cells = np.zeros((2, layers, _WIDTH))
    for t in range(steps - 1, -1, -1):
        for i in range(layers - 1, -1, -1):
            gate, d_gate = gates[t, i], d_gates[t, i]
            d_out = d_hidden[i] + d_inputs[t]
            d_cell = d_cells[i] + d_out * bend[t, i]
            np.multiply(d_cell, cells[t, i], out=d_gate[0])
            np.multiply(d_cell, gate[3], out=d_gate[1])
            np.multiply(d_out, bent[t, i], out=d_gate[2])
            np.multiply(d_cell, gate[1], out=d_gate[3])
            d_gate *= slope[t, i]
            d_fed = d_gate * weights[i]
            np.add(d_fed[0], d_fed[2], out=d_inputs[t])
            np.add(d_fed[1], d_fed[3], out=d_hidden[i])
            np.multiply(d_cell, gate[0], out=d_cells[i])
    d_main = np.stack([(d_gates * fed).sum(axis=0), d_gates.sum(axis=0)], axis=1).reshape(main.shape)
    d_extra = [
        (d_inputs * sequence[:-1]).sum(axis=0),
        (d_predicted * hidden[1:, -1]).sum(axis=0),
        d_predicted.sum(axis=0),
    ]
    return [loss, d_main, np.stack(d_extra)]
