"""Perceptrons: the loss and its gradient by all params, as in one step of training.

The small one comes in two formulations: with the cross-entropy written out in NumPy, as most code has it, and
as one call of each framework's own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.contenders import gradients_by
from benchmarks.harness import Call, Case
from benchmarks.registry import workload

Data = tuple[list[np.ndarray], np.ndarray, np.ndarray]

_EVERY_TAPE = ("tape", "tape value_and_grad", "tape compiled")


@workload("mlp")
def mlp(seed: int) -> list[Case]:
    """MLP 64-32-10, tanh, cross-entropy, batch 32: value and gradient, the loss written out or one call."""
    written_out = {
        **dict.fromkeys(_EVERY_TAPE, _tape_written_out),
        "torch": _torch_written_out,
        "jax": _jax_written_out,
        "autograd": _autograd_written_out,
    }
    one_call = {
        **dict.fromkeys(_EVERY_TAPE, tape_tanh),
        "torch": _torch_tanh,
        "jax": jax_tanh,
        "autograd": _autograd_tanh,
    }
    return [
        _case(
            f"{formulation}, {np.dtype(dtype)}",
            make_data((64, 32, 10), 32, seed, dtype),
            by_hand_tanh,
            losses,
            takes_one_hot=takes_one_hot,
            baseline="numpy",
        )
        for formulation, losses, takes_one_hot in (
            ("written out", written_out, written_out.keys()),
            ("cross_entropy", one_call, {"autograd"}),
        )
        for dtype in (np.float32, np.float64)
    ]


@workload("mlp-large")
def mlp_large(seed: int) -> list[Case]:
    """Larger MLPs, relu, cross-entropy, float32: value and gradient."""
    losses = {
        "tape compiled": _tape_relu,
        "tape": _tape_relu,
        "torch": _torch_relu,
        "jax": _jax_relu,
        "autograd": _autograd_relu,
    }
    return [
        _case(
            f"{'-'.join(map(str, sizes))}, batch {batch}",
            make_data(sizes, batch, seed),
            _by_hand_relu,
            losses,
            takes_one_hot={"autograd"},
            baseline="tape compiled",
        )
        for sizes, batch in (((784, 256, 128, 10), 128), ((784, 1024, 1024, 10), 256))
    ]


def make_data(sizes: tuple[int, ...], batch: int, seed: int, dtype: Any = np.float32) -> Data:
    """Weights and biases in turns, inputs, and the labels they should get."""
    rng = np.random.default_rng(seed)
    params = []
    for fan_in, fan_out in pairwise(sizes):
        params.append((rng.standard_normal((fan_in, fan_out)) / fan_in**0.5).astype(dtype))
        params.append((0.1 * rng.standard_normal(fan_out)).astype(dtype))
    x = rng.standard_normal((batch, sizes[0])).astype(dtype)
    return params, x, rng.integers(sizes[-1], size=batch)


def _case(
    label: str,
    data: Data,
    by_hand: Callable[..., list[Any]],
    losses: dict[str, Callable[..., Any]],
    *,
    takes_one_hot: Collection[str],
    baseline: str,
) -> Case:
    """A case whose contenders get class indices, or one-hot labels if they are in ``takes_one_hot``."""
    params, x, labels = data

    def make_by_hand() -> Call:
        rows = np.arange(len(labels))
        return lambda: by_hand(*params, x, rows, labels)

    one_hot = np.eye(params[-1].size, dtype=x.dtype)[labels]
    contenders = {"numpy": make_by_hand}
    for name, loss in losses.items():
        contenders |= gradients_by({name: loss}, params, [x, one_hot if name in takes_one_hot else labels])
    return Case(label, contenders, baseline=baseline)


# ---- by hand: as few passes over memory as NumPy allows, everything in place that can be ----------


def _cross_entropy_by_hand(logits: Any, rows: Any, labels: Any) -> tuple[Any, Any]:
    """The mean loss and its derivative by the logits, which are overwritten."""
    logits -= logits.max(axis=1, keepdims=True)
    chosen = logits[rows, labels]
    np.exp(logits, out=logits)
    total = logits.sum(axis=1, keepdims=True)
    loss = (np.log(total[:, 0]) - chosen).mean()
    logits /= total
    logits[rows, labels] -= 1
    logits /= len(rows)
    return loss, logits


def by_hand_tanh(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, rows: Any, labels: Any) -> list[Any]:
    hidden = x @ w1
    hidden += b1
    np.tanh(hidden, out=hidden)
    logits = hidden @ w2
    logits += b2
    loss, d_logits = _cross_entropy_by_hand(logits, rows, labels)
    d_w2 = hidden.T @ d_logits
    d_hidden = d_logits @ w2.T
    hidden *= hidden
    np.subtract(1, hidden, out=hidden)
    d_hidden *= hidden
    return [loss, x.T @ d_hidden, d_hidden.sum(axis=0), d_w2, d_logits.sum(axis=0)]


def _by_hand_relu(
    w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any, rows: Any, labels: Any
) -> list[Any]:
    first = x @ w1
    first += b1
    np.maximum(first, 0, out=first)
    second = first @ w2
    second += b2
    np.maximum(second, 0, out=second)
    logits = second @ w3
    logits += b3
    loss, d_logits = _cross_entropy_by_hand(logits, rows, labels)
    d_second = d_logits @ w3.T
    d_second *= second > 0
    d_first = d_second @ w2.T
    d_first *= first > 0
    return [
        loss,
        x.T @ d_first,
        d_first.sum(axis=0),
        first.T @ d_second,
        d_second.sum(axis=0),
        second.T @ d_logits,
        d_logits.sum(axis=0),
    ]


# ---- the loss written out, in the same words for every framework -----------------------------------


def _written_out(numpy: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any, one_hot: Any) -> Any:
    logits = numpy.tanh(x @ w1 + b1) @ w2 + b2
    shifted = logits - numpy.max(logits, axis=1, keepdims=True)
    log_probabilities = shifted - numpy.log(numpy.sum(numpy.exp(shifted), axis=1, keepdims=True))
    return -numpy.mean(numpy.sum(log_probabilities * one_hot, axis=1))


def _tape_written_out(tape: Any, *operands: Any) -> Any:
    return _written_out(np, *operands)


def _jax_written_out(jax: Any, *operands: Any) -> Any:
    return _written_out(jax.numpy, *operands)


def _autograd_written_out(autograd: Any, *operands: Any) -> Any:
    return _written_out(autograd.numpy, *operands)


def _torch_written_out(torch: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any, one_hot: Any) -> Any:
    logits = torch.tanh(x @ w1 + b1) @ w2 + b2
    shifted = logits - torch.amax(logits, dim=1, keepdim=True)
    log_probabilities = shifted - torch.log(torch.sum(torch.exp(shifted), dim=1, keepdim=True))
    return -torch.mean(torch.sum(log_probabilities * one_hot, dim=1))


# ---- the frameworks, each in its own idiom ---------------------------------------------------------


def tape_tanh(tape: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any, labels: Any) -> Any:
    return tape.nn.cross_entropy(np.tanh(x @ w1 + b1) @ w2 + b2, labels)


def _tape_relu(tape: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any, labels: Any) -> Any:
    relu = tape.ops.relu
    return tape.nn.cross_entropy(relu(relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3, labels)


def _torch_tanh(torch: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any, labels: Any) -> Any:
    hidden = torch.tanh(torch.addmm(b1, x, w1))
    return torch.nn.functional.cross_entropy(torch.addmm(b2, hidden, w2), labels)


def _torch_relu(torch: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any, labels: Any) -> Any:
    first = torch.relu(torch.addmm(b1, x, w1))
    second = torch.relu(torch.addmm(b2, first, w2))
    return torch.nn.functional.cross_entropy(torch.addmm(b3, second, w3), labels)


def _jax_cross_entropy(jax: Any, logits: Any, labels: Any) -> Any:
    return -jax.nn.log_softmax(logits)[jax.numpy.arange(len(labels)), labels].mean()


def jax_tanh(jax: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any, labels: Any) -> Any:
    return _jax_cross_entropy(jax, jax.numpy.tanh(x @ w1 + b1) @ w2 + b2, labels)


def _jax_relu(jax: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any, labels: Any) -> Any:
    relu = jax.nn.relu
    return _jax_cross_entropy(jax, relu(relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3, labels)


def _autograd_cross_entropy(autograd: Any, logits: Any, one_hot: Any) -> Any:
    logsumexp = autograd.scipy.special.logsumexp
    return -((logits - logsumexp(logits, axis=1, keepdims=True)) * one_hot).sum() / len(one_hot)


def _autograd_tanh(autograd: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any, one_hot: Any) -> Any:
    hidden = autograd.numpy.tanh(autograd.numpy.dot(x, w1) + b1)
    return _autograd_cross_entropy(autograd, autograd.numpy.dot(hidden, w2) + b2, one_hot)


def _autograd_relu(
    autograd: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any, one_hot: Any
) -> Any:
    dot, maximum = autograd.numpy.dot, autograd.numpy.maximum
    second = maximum(dot(maximum(dot(x, w1) + b1, 0), w2) + b2, 0)
    return _autograd_cross_entropy(autograd, dot(second, w3) + b3, one_hot)
