"""Whole training steps: loss, gradients, clipping and optimiser, written with layers as a user would."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload

_STEPS = 10  # a call, so that the check sees momenta and corrections of the bias at work
_RATE = 1e-3
_LARGEST = 1.0  # norm of a gradient
_SIZES = [(64, 32, 10), (64, 256, 10)]
_BATCH = 32

Arrays = list[np.ndarray]


@workload("train-step")
def train_step(seed: int) -> list[Case]:
    """One step of the digits MLP: forward, backward, clipping by the norm, Adam; float32."""
    return [_of_sizes(sizes, np.random.default_rng(seed)) for sizes in _SIZES]


def _of_sizes(sizes: tuple[int, ...], rng: np.random.Generator) -> Case:
    params = []
    for inputs, outputs in pairwise(sizes):
        params.append((rng.standard_normal((outputs, inputs)) / inputs**0.5).astype(np.float32))
        params.append(np.zeros(outputs, np.float32))
    images = rng.random((_BATCH, sizes[0]), np.float32)
    labels = rng.integers(0, sizes[-1], _BATCH)
    contenders: dict[str, Callable[[], Call]] = {
        name: partial(step, params, images, labels)
        for name, step in (
            ("tape", _with_layers),
            ("tape lists", _with_lists),
            ("numpy", _with_numpy),
            ("torch", _with_torch),
            ("jax optax", _with_optax),
        )
    }
    return Case("-".join(map(str, sizes)), contenders, unit="step", units=_STEPS)


def _with_layers(params: Arrays, images: np.ndarray, labels: np.ndarray) -> Call:
    tape = load("tape")
    nn, optim = tape.nn, tape.optim
    sizes = [images.shape[1], *(len(bias) for bias in params[1::2])]
    model = nn.MLP(sizes, nn.relu, rng=np.random.default_rng(0))
    structure = tape.tree.structure(model)
    model = tape.tree.unflatten(structure, [param.copy() for param in params])
    rule = optim.adam(lr=_RATE)

    def loss(model: Any, images: Any, labels: Any) -> Any:
        return nn.cross_entropy(model(images), labels)

    def step(model: Any, state: Any, images: Any, labels: Any) -> Any:
        value, gradient = tape.value_and_grad(loss)(model, images, labels)
        gradient, _ = optim.clip_by_global_norm(gradient, _LARGEST)
        state, model = rule.update(gradient, state, model)
        return model, state, value

    compiled = tape.compile(step, donate=(0, 1))
    held = [model, rule.init(model)]

    def call() -> list[Any]:
        for _ in range(_STEPS):
            *held[:], _ = compiled(*held, images, labels)
        return tape.tree.leaves(held[0])

    return call


def _with_lists(params: Arrays, images: np.ndarray, labels: np.ndarray) -> Call:
    tape = load("tape")
    nn, optim = tape.nn, tape.optim
    rule = optim.adam(lr=_RATE)

    def loss(params: Any, images: Any, labels: Any) -> Any:
        w1, b1, w2, b2 = params
        return nn.cross_entropy(np.maximum(images @ w1.T + b1, 0) @ w2.T + b2, labels)

    def step(params: Any, state: Any, images: Any, labels: Any) -> Any:
        value, gradient = tape.value_and_grad(loss)(params, images, labels)
        gradient, _ = optim.clip_by_global_norm(gradient, _LARGEST)
        state, params = rule.update(gradient, state, params)
        return params, state, value

    compiled = tape.compile(step, donate=(0, 1))
    held = [[param.copy() for param in params], rule.init(params)]

    def call() -> list[Any]:
        for _ in range(_STEPS):
            *held[:], _ = compiled(*held, images, labels)
        return held[0]

    return call


def _with_torch(params: Arrays, images: np.ndarray, labels: np.ndarray) -> Call:
    torch = load("torch")
    (hidden, inputs), (outputs, _) = (weight.shape for weight in params[::2])
    layers = [torch.nn.Linear(inputs, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, outputs)]
    model = torch.nn.Sequential(*layers)
    with torch.no_grad():
        for held, param in zip(model.parameters(), params, strict=True):
            held.copy_(torch.tensor(param))
    optimiser = torch.optim.Adam(model.parameters(), lr=_RATE)
    x, y = torch.tensor(images), torch.tensor(labels)

    def call() -> list[Any]:
        for _ in range(_STEPS):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), _LARGEST)
            optimiser.step()
        return [param.detach() for param in model.parameters()]

    return call


def _with_optax(params: Arrays, images: np.ndarray, labels: np.ndarray) -> Call:
    jax, optax = load("jax"), load("optax")
    rule = optax.chain(optax.clip_by_global_norm(_LARGEST), optax.adam(_RATE))

    def loss(params: Any, images: Any, labels: Any) -> Any:
        w1, b1, w2, b2 = params
        scores = jax.nn.relu(images @ w1.T + b1) @ w2.T + b2
        return optax.softmax_cross_entropy_with_integer_labels(scores, labels).mean()

    def step(params: Any, state: Any, images: Any, labels: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(params, images, labels)
        updates, state = rule.update(gradient, state, params)
        return optax.apply_updates(params, updates), state, value

    compiled = jax.jit(step, donate_argnums=(0, 1))
    held = [[jax.numpy.array(param) for param in params], rule.init(params)]
    x, y = jax.numpy.asarray(images), jax.numpy.asarray(labels)

    def call() -> list[Any]:
        for _ in range(_STEPS):
            *held[:], _ = compiled(*held, x, y)
        return jax.block_until_ready(held[0])

    return call


def _with_numpy(params: Arrays, images: np.ndarray, labels: np.ndarray) -> Call:
    """Kingma and Ba, Adam (2015), algorithm 1, with the defaults given there."""
    params = [param.copy() for param in params]
    first, second = ([np.zeros_like(param) for param in params] for _ in range(2))
    beta1, beta2, epsilon = 0.9, 0.999, 1e-8
    rows, count = np.arange(len(labels)), 0

    def gradients() -> Arrays:
        w1, b1, w2, b2 = params
        inner = images @ w1.T + b1
        hidden = np.maximum(inner, 0)
        scores = hidden @ w2.T + b2
        scores -= scores.max(axis=1, keepdims=True)
        out = np.exp(scores)
        out /= out.sum(axis=1, keepdims=True)
        out[rows, labels] -= 1
        out /= len(labels)
        below = (out @ w2) * (inner > 0)
        return [below.T @ images, below.sum(axis=0), out.T @ hidden, out.sum(axis=0)]

    def call() -> list[Any]:
        nonlocal count
        for _ in range(_STEPS):
            found = gradients()
            norm = sum(float(np.vdot(gradient, gradient)) for gradient in found) ** 0.5
            scale = np.float32(min(1.0, _LARGEST / norm))
            count += 1
            rate = np.float32(_RATE * (1 - beta2**count) ** 0.5 / (1 - beta1**count))
            small = np.float32(epsilon * (1 - beta2**count) ** 0.5)
            for param, gradient, m, v in zip(params, found, first, second, strict=True):
                gradient *= scale
                m *= beta1
                m += (1 - beta1) * gradient
                v *= beta2
                v += (1 - beta2) * gradient * gradient
                param -= rate * m / (np.sqrt(v) + small)
        return params

    return call
