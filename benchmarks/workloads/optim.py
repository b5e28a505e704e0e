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


def _with_tape(name: str, settings: dict[str, float], params: Arrays, gradients: Arrays) -> Call:
    optim = load("tape.optim")
    params = [param.copy() for param in params]
    optimiser = getattr(optim, name)(params, **settings)

    def call() -> list[Any]:
        for _ in range(_STEPS):
            optimiser.step(gradients)
        return params

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
