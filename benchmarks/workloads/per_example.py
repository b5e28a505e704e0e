"""The gradient of each example of a batch, as private training and influence functions need it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload
from benchmarks.workloads.mlp import Data, make_data

_WRT = (0, 1, 2, 3)
_AXES = (None, None, None, None, 0, 0)


@workload("per-example")
def per_example(seed: int) -> list[Case]:
    """MLP 64-32-10, tanh, cross-entropy: the gradient of each of 32 or 256 examples, float32 and float64."""
    return [
        _case(f"batch {batch}, {np.dtype(dtype)}", make_data((64, 32, 10), batch, seed, dtype))
        for batch in (32, 256)
        for dtype in (np.float32, np.float64)
    ]


def _case(label: str, data: Data) -> Case:
    makers: dict[str, Callable[[Data], Call]] = {
        "numpy": _by_hand,
        "tape compiled": _with_vmap,
        "tape": partial(_with_vmap, is_compiled=False),
        "tape compiled in a loop": _in_a_loop,
        "jax": _with_jax,
        "torch": _with_torch,
    }
    contenders = {name: partial(make, data) for name, make in makers.items()}
    return Case(label, contenders, baseline="tape compiled")


def _loss(np_: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any, label: Any, one_hot: Any) -> Any:
    logits = np_.tanh(x @ w1 + b1) @ w2 + b2
    shifted = logits - np_.max(logits)
    return np_.log(np_.sum(np_.exp(shifted))) - np_.sum(shifted * one_hot(label))


def _tape_loss(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, label: Any) -> Any:
    tape = load("tape")
    return _loss(np, w1, b1, w2, b2, x, label, lambda k: tape.nn.one_hot(k, 10, w1.dtype))


def _with_vmap(data: Data, *, is_compiled: bool = True) -> Call:
    tape = load("tape")
    params, x, labels = data
    function = tape.vmap(tape.grad(_tape_loss, _WRT), in_axes=_AXES)
    if is_compiled:
        function = tape.compile(function)
    return lambda: list(function(*params, x, labels))


def _in_a_loop(data: Data) -> Call:
    tape = load("tape")
    params, x, labels = data
    function = tape.compile(tape.grad(_tape_loss, _WRT))

    def call() -> list[Any]:
        found = [function(*params, *example) for example in zip(x, labels, strict=True)]
        return [np.stack(column) for column in zip(*found, strict=True)]

    return call


def _with_jax(data: Data) -> Call:
    jax = load("jax")
    params, x, labels = data

    def loss(*args: Any) -> Any:
        return _loss(jax.numpy, *args, lambda k: jax.nn.one_hot(k, 10, dtype=args[0].dtype))

    function = jax.jit(jax.vmap(jax.grad(loss, _WRT), in_axes=_AXES))
    arguments = [jax.numpy.asarray(array) for array in (*params, x, labels)]

    def call() -> list[Any]:
        found = function(*arguments)
        found[0].block_until_ready()
        return list(found)

    return call


def _with_torch(data: Data) -> Call:
    torch = load("torch")
    params, x, labels = data

    def loss(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, label: Any) -> Any:
        return torch.nn.functional.cross_entropy(torch.tanh(x @ w1 + b1) @ w2 + b2, label)

    function = torch.func.vmap(torch.func.grad(loss, _WRT), in_dims=_AXES)
    arguments = [torch.tensor(array) for array in (*params, x, labels)]
    return lambda: list(function(*arguments))


def _by_hand(data: Data) -> Call:
    (w1, b1, w2, b2), x, labels = data

    def call() -> list[Any]:
        hidden = np.tanh(x @ w1 + b1)
        logits = hidden @ w2 + b2
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        weights[np.arange(len(labels)), labels] -= 1
        by_hidden = (weights @ w2.T) * (1 - hidden**2)
        by_w1 = x[:, :, None] * by_hidden[:, None]
        return [by_w1, by_hidden, hidden[:, :, None] * weights[:, None], weights]

    return call
