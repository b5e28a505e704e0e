"""Whole Hessians: Rosenbrock's function of n variables, of which the Hessian has three diagonals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload


@workload("hessian")
def hessian(seed: int) -> list[Case]:
    """The Hessian of Rosenbrock's function of 10, 100 and 1,000 variables, float64."""
    return [_case(n, seed) for n in (10, 100, 1000)]


def _case(n: int, seed: int) -> Case:
    x = np.random.default_rng(seed).uniform(-1, 1, n)
    contenders: dict[str, Callable[[np.ndarray], Call]] = {
        "tape": _with_tape,
        "numpy": lambda x: lambda: [_by_hand(x)],
        "autograd": _with_autograd,
        "torch loop": _with_torch_loop,
        "torch": _with_torch,
        "jax": _with_jax,
        "jax eager": _with_jax_eager,
    }
    if n > 100:
        del contenders["torch loop"]  # seconds a call
    makers = {name: partial(make, x) for name, make in contenders.items()}
    return Case(f"n = {n}", makers, is_large=n > 100)


def rosenbrock(x: Any) -> Any:
    """Return the function's value, for the arrays of any framework."""
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def _by_hand(x: np.ndarray) -> np.ndarray:
    n = len(x)
    result = np.zeros((n, n))
    diagonals = result.reshape(-1)
    main, above, below = diagonals[:: n + 1], diagonals[1 :: n + 1], diagonals[n :: n + 1]
    main[:-1] = 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    main[1:] += 200
    above[:] = below[:] = -400 * x[:-1]
    return result


def _with_tape(x: np.ndarray) -> Call:
    second = load("tape").hessian(rosenbrock)
    return lambda: [second(x)]


def _with_autograd(x: np.ndarray) -> Call:
    second = load("autograd").hessian(rosenbrock)
    return lambda: [second(x)]


def _with_torch_loop(x: np.ndarray) -> Call:
    """A gradient that is itself differentiated, row by row."""
    torch = load("torch")
    leaf = torch.tensor(x, requires_grad=True)

    def call() -> list[Any]:
        (gradient,) = torch.autograd.grad(rosenbrock(leaf), leaf, create_graph=True)
        rows = [torch.autograd.grad(element, leaf, retain_graph=True)[0] for element in gradient]
        return [torch.stack(rows)]

    return call


def _with_torch(x: np.ndarray) -> Call:
    torch = load("torch")
    second, tensor = torch.func.hessian(rosenbrock), torch.tensor(x)
    return lambda: [second(tensor)]


def _with_jax(x: np.ndarray) -> Call:
    jax = load("jax")
    second, array = jax.jit(jax.hessian(rosenbrock)), jax.numpy.asarray(x)
    return lambda: [jax.block_until_ready(second(array))]


def _with_jax_eager(x: np.ndarray) -> Call:
    jax = load("jax")
    second, array = jax.hessian(rosenbrock), jax.numpy.asarray(x)
    return lambda: [jax.block_until_ready(second(array))]
