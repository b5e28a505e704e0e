"""High derivatives of tanh: gradients of gradients, or one sweep of Taylor series."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload

_X = np.linspace(-2, 2, 200)


@workload("higher-order")
def higher_order(seed: int) -> list[Case]:
    """The n-th derivative of tanh at 200 points, float64, and how many operations are recorded for it."""
    return [_case(order) for order in (2, 4, 6, 8)]


def _case(order: int) -> Case:
    return Case(
        f"n = {order}",
        {
            "nested grad": partial(_with_nested_grad, order),
            "taylor": partial(_with_taylor, order),
            "numpy": partial(_by_hand, order),
            "autograd": partial(_with_autograd, order),
            "torch": partial(_with_torch, order),
            "jax": partial(_with_jax, order),
        },
        tolerance=1e-11,  # nested sweeps cancel digits
        baseline="nested grad",
        figures={
            "operations": {
                "nested grad": lambda: operations(_nested_grad(order)),
                "taylor": lambda: operations(_taylor(order)),
            }
        },
    )


def operations(f: Callable[[Any], Any]) -> int:
    """Return how many nodes ``f(x)`` records, sweeps included and leaves not."""
    with load("tape").Trace() as trace:
        f(trace.param(_X))
    return sum(node.op is not None for node in trace.nodes)


def _by_hand(order: int) -> Call:
    """A polynomial in tanh: p -> (1 - t**2) p' for each derivative; its coefficients are known beforehand."""
    polynomial = Polynomial([0.0, 1.0])
    for _ in range(order):
        polynomial = Polynomial([1.0, 0.0, -1.0]) * polynomial.deriv()
    return lambda: [polynomial(np.tanh(_X))]


def _nested(derivative: Callable[..., Any], f: Callable[..., Any], order: int) -> Callable[..., Any]:
    for _ in range(order):
        f = derivative(f)
    return f


def _nested_grad(order: int) -> Callable[[Any], Any]:
    return _nested(load("tape").elementwise_grad, np.tanh, order)


def _taylor(order: int) -> Callable[[Any], Any]:
    tape = load("tape")
    ones = np.ones_like(_X)
    return lambda x: tape.taylor(np.tanh, x, ones, order)[order]


def _with_nested_grad(order: int) -> Call:
    f = _nested_grad(order)
    return lambda: [f(_X)]


def _with_taylor(order: int) -> Call:
    f = _taylor(order)
    return lambda: [f(_X)]


def _with_autograd(order: int) -> Call:
    autograd = load("autograd")
    f = _nested(autograd.elementwise_grad, autograd.numpy.tanh, order)
    return lambda: [f(_X)]


def _with_torch(order: int) -> Call:
    torch = load("torch")
    x = torch.tensor(_X, requires_grad=True)

    def call() -> list[Any]:
        y = torch.tanh(x)
        for left in range(order, 0, -1):
            (y,) = torch.autograd.grad(y.sum(), x, create_graph=left > 1)
        return [y]

    return call


def _with_jax(order: int) -> Call:
    jax = load("jax")
    f = jax.jit(jax.vmap(_nested(jax.grad, jax.numpy.tanh, order)))
    x = jax.numpy.asarray(_X)
    return lambda: [jax.block_until_ready(f(x))]
