"""Optimisers: updating a list of arrays in place, given their gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload

_STEPS = 10  # a call, so that the check sees momenta and corrections of the bias at work
_RATE = 1e-3
_MOMENTUM = 0.9
_LISTS = {
    "small": ((64, 32), (32,), (32, 10), (10,)),
    "large": ((784, 256), (256,), (256, 128), (128,), (128, 10), (10,)),
}

_MANY = ((32, 32), (32,)) * 50

Arrays = list[np.ndarray]


@workload("optim")
def optim(seed: int) -> list[Case]:
    """SGD with momentum and Adam on the params of two MLPs, float32."""
    rng = np.random.default_rng(seed)
    cases = []
    for size, shapes in _LISTS.items():
        params = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
        gradients = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
        for name, settings, by_hand in (
            ("SGD", {"lr": _RATE, "momentum": _MOMENTUM}, _sgd_by_hand),
            ("Adam", {"lr": _RATE}, _adam_by_hand),
        ):
            contenders = {
                "tape": partial(_with_tape, name, settings, params, gradients),
                "numpy": partial(_with_numpy, by_hand, params, gradients),
                "torch": partial(_with_torch, name, settings, params, gradients),
            }
            cases.append(Case(f"{name} {size}", contenders, unit="step", units=_STEPS))
    return cases


@workload("optim-many")
def optim_many(seed: int) -> list[Case]:
    """Adam on 100 small arrays, float32: in place, and pure in a program that reuses its memory."""
    rng = np.random.default_rng(seed)
    params = [rng.standard_normal(shape).astype(np.float32) for shape in _MANY]
    gradients = [rng.standard_normal(shape).astype(np.float32) for shape in _MANY]
    settings = {"lr": _RATE}
    contenders = {
        "tape": partial(_with_tape, "Adam", settings, params, gradients),
        "tape compiled": partial(_with_tape_compiled, settings, params, gradients),
        "numpy": partial(_with_numpy, _adam_by_hand, params, gradients),
        "torch": partial(_with_torch, "Adam", settings, params, gradients),
        "jax optax": partial(_with_optax, settings, params, gradients),
    }
    return [Case("Adam 100 arrays", contenders, unit="step", units=_STEPS)]


def _with_tape(name: str, settings: dict[str, float], params: Arrays, gradients: Arrays) -> Call:
    optim = load("tape.optim")
    params = [param.copy() for param in params]
    optimiser = getattr(optim, name)(params, **settings)

    def call() -> list[Any]:
        for _ in range(_STEPS):
            optimiser.step(gradients)
        return params

    return call


def _with_tape_compiled(settings: dict[str, float], params: Arrays, gradients: Arrays) -> Call:
    tape = load("tape")
    rule = tape.optim.adam(**settings)
    step = tape.compile(lambda grads, state, params: rule.update(grads, state, params), donate=(1, 2))
    held = [rule.init(params), [param.copy() for param in params]]

    def call() -> list[Any]:
        for _ in range(_STEPS):
            held[:] = step(gradients, *held)
        return held[1]

    return call


def _with_optax(settings: dict[str, float], params: Arrays, gradients: Arrays) -> Call:
    jax, optax = load("jax"), load("optax")
    rule = optax.adam(settings["lr"])
    arrays = [jax.numpy.asarray(gradient) for gradient in gradients]
    held = [rule.init(params), [jax.numpy.array(param) for param in params]]

    def update(grads: Any, state: Any, params: Any) -> Any:
        updates, state = rule.update(grads, state, params)
        return state, optax.apply_updates(params, updates)

    step = jax.jit(update, donate_argnums=(1, 2))

    def call() -> list[Any]:
        for _ in range(_STEPS):
            held[:] = step(arrays, *held)
        return jax.block_until_ready(held[1])

    return call


def _with_torch(name: str, settings: dict[str, float], params: Arrays, gradients: Arrays) -> Call:
    torch = load("torch")
    tensors = [torch.tensor(param, requires_grad=True) for param in params]
    for tensor, gradient in zip(tensors, gradients, strict=True):
        tensor.grad = torch.tensor(gradient)
    optimiser = getattr(torch.optim, name)(tensors, **settings)

    def call() -> list[Any]:
        for _ in range(_STEPS):
            optimiser.step()
        return [tensor.detach() for tensor in tensors]

    return call


def _with_numpy(
    by_hand: Callable[[Arrays, Arrays], Callable[[], None]], params: Arrays, gradients: Arrays
) -> Call:
    params = [param.copy() for param in params]
    step = by_hand(params, gradients)

    def call() -> list[Any]:
        for _ in range(_STEPS):
            step()
        return params

    return call


def _sgd_by_hand(params: Arrays, gradients: Arrays) -> Callable[[], None]:
    velocities = [np.zeros_like(param) for param in params]

    def step() -> None:
        for param, gradient, velocity in zip(params, gradients, velocities, strict=True):
            velocity *= _MOMENTUM
            velocity += gradient
            param -= _RATE * velocity

    return step


def _adam_by_hand(params: Arrays, gradients: Arrays) -> Callable[[], None]:
    """Kingma and Ba, Adam (2015), algorithm 1, with the defaults given there."""
    beta1, beta2, epsilon = 0.9, 0.999, 1e-8
    first = [np.zeros_like(param) for param in params]
    second = [np.zeros_like(param) for param in params]
    count = 0

    def step() -> None:
        nonlocal count
        count += 1
        rate = _RATE / (1 - beta1**count)
        correction = (1 - beta2**count) ** 0.5
        for param, gradient, m, v in zip(params, gradients, first, second, strict=True):
            m *= beta1
            m += (1 - beta1) * gradient
            v *= beta2
            v += (1 - beta2) * gradient * gradient
            scale = np.sqrt(v)
            scale /= correction
            scale += epsilon
            np.divide(m, scale, out=scale)
            scale *= rate
            param -= scale

    return step
